"""Charts in a browser, from a file, under the real policy: what they tell and give away."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import charted
from browsing import PHONE, WIDE, accessibility, sideways, unreadable, visiting

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
FIGURES = ("tau_gradient", "permutation", "importance_sets", "frontier", "dots", "repair")
POINT = '.chart[data-chart="repair-0-0"]'
LABELS = """() => [...document.querySelectorAll("dialog .role-axis-label text")]
  .filter((each) => each.getAttribute("opacity") !== "0")
  .map((each) => each.textContent).sort().join()"""
SPEAKING = "frontier-bilstm-additive"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return charted.page(tmp_path_factory.mktemp("charts"), FIGURES).as_uri()


def figure(page: Any, name: str) -> Any:
    """A chart with its tools, once it is alive."""
    found = page.locator("figure", has=page.locator(f'.chart[data-chart="{name}"]'))
    found.scroll_into_view_if_needed()
    page.wait_for_selector(f'.chart[data-chart="{name}"][data-state="live"]')
    return found


def taken(page: Any, place: Any, kind: str) -> tuple[str, bytes]:
    """The file that a menu gives: its name and contents."""
    place.locator(".menu > summary").click()
    with page.expect_download() as coming:
        place.get_by_role("button", name=kind, exact=True).click()
    return coming.value.suggested_filename, Path(coming.value.path()).read_bytes()


def test_charts_wake_without_moving_the_page(browser: Any, url: str) -> None:
    with visiting(browser, url) as page:
        before = page.evaluate("() => document.documentElement.scrollHeight")
        charts = page.locator(".chart")
        for i in range(charts.count()):
            name = charts.nth(i).get_attribute("data-chart")
            figure(page, name)
            picture = charts.nth(i).locator("svg")
            assert picture.get_attribute("role") == "img" and picture.get_attribute("aria-label")
        assert page.evaluate("() => document.documentElement.scrollHeight") == before
        assert charts.count() == len(FIGURES) and sideways(page) == 0


def test_a_mark_tells_its_numbers(browser: Any, url: str) -> None:
    with visiting(browser, url) as page:
        figure(page, "repair-0-0")
        page.locator(f"{POINT} .mark-symbol.role-mark path").first.hover()
        note = page.locator(".chart-note").inner_text()
        assert "sufficiency: 0.45" in note and "accuracy: 0.95" in note
        assert "<img src=x onerror=alert(1)>" in note and page.locator("img").count() == 0
        page.mouse.move(0, 0)
        assert not page.locator(".chart-note").is_visible()


def test_four_files_of_a_chart(browser: Any, url: str) -> None:
    with visiting(browser, url) as page:
        one = figure(page, "frontier-0-0")
        name, text = taken(page, one, "CSV")
        rows = list(csv.reader(io.StringIO(text.decode("utf8"))))
        assert name == f"{SPEAKING}.csv" and rows[0][:2] == [
            "series",
            "change of the output (TVD)",
        ]
        assert [row[1] for row in rows[1:]] == ["0.02", "0.09", "0.4", "0.2", "0.1", "0.01"]
        assert [row[0] for row in rows[1:]][3:5] == ["trained on the labels", "other seeds"]
        name, text = taken(page, one, "LaTeX")
        assert name == f"{SPEAKING}.tex" and b"trained on the labels & 0.200 & 0.185" in text
        name, text = taken(page, one, "SVG")
        words = "".join(ElementTree.fromstring(text).itertext())
        assert name == f"{SPEAKING}.svg" and "other seeds" in words and "bilstm-additive" in words
        name, image = taken(page, one, "PNG")
        width, height = (int.from_bytes(image[at : at + 4], "big") for at in (16, 20))
        assert name == f"{SPEAKING}.png" and image.startswith(PNG)
        assert width > 500 and height > 500


def test_the_png_is_drawn_on_white(browser: Any, url: str) -> None:
    with visiting(browser, url, dark=True) as page:
        one = figure(page, "tau_gradient-0-0")
        image = list(taken(page, one, "PNG")[1])
        corner = page.evaluate(
            """async (bytes) => {
              const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
              const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
              canvas.drawImage(image, 0, 0);
              return [...canvas.getImageData(2, 2, 1, 1).data];
            }""",
            image,
        )
        assert corner == [255, 255, 255, 255]


def test_enlarged_by_keyboard_zoomed_and_closed(browser: Any, url: str) -> None:
    with visiting(browser, url) as page:
        one = figure(page, "repair-0-0")
        opener = one.get_by_role("button", name="Enlarge")
        opener.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog svg")
        assert page.locator("dialog svg").bounding_box()["width"] > 700
        before = page.evaluate(LABELS)
        page.get_by_role("button", name="Zoom in").click()
        page.wait_for_function(f"(old) => ({LABELS})() !== old", arg=before)
        page.get_by_role("button", name="Reset").click()
        page.wait_for_function(f"(old) => ({LABELS})() === old", arg=before)
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")  # removed by an event of its own
        assert opener.evaluate("(element) => element === document.activeElement")


def test_what_is_dragged_follows_the_pointer(browser: Any, url: str) -> None:
    with visiting(browser, url) as page:
        figure(page, "repair-0-0").get_by_role("button", name="Enlarge").click()
        dot = page.locator("dialog .mark-symbol.role-mark path").first
        dot.wait_for()
        start = dot.bounding_box()
        frame = page.locator("dialog .chart-large svg").bounding_box()
        x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 60, y + 40, steps=4)
        page.mouse.up()
        page.wait_for_timeout(100)
        end = dot.bounding_box()
        assert end["x"] - start["x"] == pytest.approx(-60, abs=2)
        assert end["y"] - start["y"] == pytest.approx(40, abs=2)


def test_ranks_are_enlarged_without_zoom(browser: Any, url: str) -> None:
    with visiting(browser, url, PHONE) as page:
        figure(page, "importance_sets-0-0").get_by_role("button", name="Enlarge").click()
        page.wait_for_selector("dialog svg")
        assert page.get_by_role("button", name="Zoom in").count() == 0 and sideways(page) == 0


def test_a_legend_lets_one_series_stand_out(browser: Any, url: str) -> None:
    with visiting(browser, url) as page:
        card = page.locator(".group", has=figure(page, "tau_gradient-0-0"))
        faded, every = (
            card.locator(f".role-mark {kind}") for kind in (".faded", "[fill], [stroke]")
        )
        toggle = card.locator(".legend button").nth(1)
        toggle.click()
        assert toggle.get_attribute("aria-pressed") == "true"
        colours = faded.evaluate_all(
            "(all) => all.map((one) => one.getAttribute('fill') + one.getAttribute('stroke'))"
        )
        assert colours and all("#3f88c5" in each and "#d2781a" not in each for each in colours)
        assert 0 < faded.count() < every.count()
        toggle.click()
        assert faded.count() == 0


def test_tables_are_sorted_and_taken_along(browser: Any, url: str) -> None:
    with visiting(browser, url) as page:
        card = page.locator("section", has=page.locator("table"))
        name, text = taken(page, card, "CSV")
        assert name == "some-numbers.csv"
        assert list(csv.reader(io.StringIO(text.decode("utf8"))))[2] == ["'=1+1", "−0.30 ± 0.10"]
        card.get_by_role("button", name="Value").click()
        first = page.locator("tbody th").all_text_contents()
        assert first == ["=1+1", "e", "a", "<b>d</b>", "c"]
        card.get_by_role("button", name="Value").click()
        assert page.locator("thead th").nth(1).get_attribute("aria-sort") == "descending"
        assert page.locator("tbody th").all_text_contents() == ["<b>d</b>", "a", "e", "=1+1", "c"]


def test_a_menu_is_left_by_escape(browser: Any, url: str) -> None:
    with visiting(browser, url) as page:
        summary = figure(page, "dots-0-0").locator(".menu > summary")
        summary.focus()
        page.keyboard.press("Enter")
        assert page.get_by_role("button", name="SVG", exact=True).is_visible()
        page.keyboard.press("Escape")
        assert not page.get_by_role("button", name="SVG", exact=True).is_visible()
        assert summary.evaluate("(element) => element === document.activeElement")


def test_without_vega_the_still_drawing_stays(browser: Any, url: str, tmp_path: Path) -> None:
    text = Path(url.removeprefix("file://")).read_text(encoding="utf8")
    start = text.index('data-blob="vega">') + len('data-blob="vega">')
    broken = tmp_path / "broken.html"
    broken.write_text(text[:start] + text[text.index("</script>", start) :], encoding="utf8")
    with visiting(browser, broken.as_uri()) as page:
        page.wait_for_selector('.chart[data-state="kept"]')
        assert page.locator(".chart svg").first.is_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_everybody_can_use_them(browser: Any, url: str, dark: bool) -> None:
    with visiting(browser, url, PHONE, dark) as page:
        figure(page, "tau_gradient-0-0")
        assert accessibility(page) == [] and sideways(page) == 0


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_no_label_is_cut_in_any_figure(browser: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    """Of every figure that a report can have, as it stands there and once it is alive."""
    names = tuple(charted.every_figure(tmp_path / "made"))
    with visiting(browser, charted.page(tmp_path, names).as_uri(), size) as page:
        assert unreadable(page) == []
        charts = page.locator(".chart")
        for i in range(charts.count()):
            figure(page, charts.nth(i).get_attribute("data-chart"))
        assert len(names) > 15 and unreadable(page) == [] and sideways(page) == 0
