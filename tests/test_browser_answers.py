"""An answer token by token: the page of one text, and what a notebook shows of it."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("altair")

from browsing import PHONE, WIDE, accessibility, sideways, visiting
from heedful.auditing import Explanation
from heedful.report import explanation_page, matrix_panels
from parsed_page import parse

EVIL = "<img src=x onerror=alert(1)>\u202e</script>"
WORDS = ("the", "attic", "the", EVIL, "cut")
TOKENS = ("gold", EVIL, "gold")
NAN = float("nan")
BY_TOKEN = {
    "occlusion": ((0.2, 0.8, 0.0, -0.2, NAN), (0.1, 0, 0, -0.4, NAN), (0, 0, 0, 0, NAN)),
    "attention": ((0.1, 0.6, 0.2, 0.1, NAN), (0.3, 0.3, 0.2, 0.2, NAN), (0.0, 0.0, 0.0, 1.0, NAN)),
}
TEXT = Explanation(
    WORDS,
    predicted="anything else",
    explained="gold gold",
    probability=0.25,
    scores={name: rows[0] for name, rows in BY_TOKEN.items()},
    answer=" gold gold",
    tokens=TOKENS,
    by_token=BY_TOKEN,
)
PLAIN = Explanation(("a", "film"), "good", "good", 0.9, {"attention": (0.25, 0.75)})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return TEXT.to_html(tmp_path_factory.mktemp("page") / "page.html")


def cells(panel: Any) -> list[dict[str, Any]]:
    (rows,) = panel.bare["datasets"].values()
    return list(rows)


def test_attention_is_the_first_matrix_and_repeated_words_are_told_apart() -> None:
    first, second = matrix_panels(TEXT.to_dict())
    assert (first.title, second.title) == ("attention", "occlusion")
    assert first.says.startswith("attention, words by tokens of the answer.")
    assert f"gold: attic {0.6:.3f}" in first.says
    drawn = cells(second)
    assert len(drawn) == 4 * 3  # nothing of the word that was cut off
    names = list(dict.fromkeys(each["word"] for each in drawn))
    assert names[:3] == ["the", "attic", "the (2)"] and len(names) == 4
    assert [each["answer"] for each in drawn[:3:2]] == ["gold", "gold (2)"]


def test_what_has_no_score_has_no_matrix() -> None:
    """The only word may be the one that is asked about."""
    masked = replace(
        TEXT,
        words=("[MASK]",),
        scores={"attention": (NAN,)},
        by_token={"attention": ((NAN,),) * 3},
        about=(0,),
    )
    assert matrix_panels(masked.to_dict()) == []
    assert "Matrices of words" not in explanation_page(masked.to_dict())


def test_a_numbered_word_takes_no_name_that_is_there() -> None:
    rows = ((0.1, 0.2, 0.3),)
    one = replace(TEXT, words=("a (2)", "a", "a"), tokens=("x",), by_token={"attention": rows})
    (panel,) = matrix_panels(one.to_dict())
    assert {each["word"]: each["score"] for each in cells(panel)} == {
        "a (2)": 0.1, "a": 0.2, "a (3)": 0.3
    }  # fmt: skip


def test_a_cell_is_as_dark_as_the_root_of_its_share() -> None:
    drawn = {
        (each["word"], each["answer"]): each for each in cells(matrix_panels(TEXT.to_dict())[1])
    }
    for place, word in enumerate(("the", "attic", "the (2)")):
        score = BY_TOKEN["occlusion"][0][place]
        found = drawn[word, "gold"]
        assert found["score"] == score and found["shade"] == pytest.approx(math.sqrt(score / 0.8))
    colours = {np.sign(each["score"]): each["colour"] for each in drawn.values()}
    assert colours[1.0] == colours[0.0] != colours[-1.0]


def test_a_text_without_an_answer_has_no_tokens_and_no_matrix() -> None:
    page = explanation_page(PLAIN.to_dict())
    assert matrix_panels(PLAIN.to_dict()) == []
    assert "<div data-answers" not in page and '<div class="chart"' not in page
    assert "data-blob" not in page.partition("<footer>")[2].partition("<script>")[0]


def test_a_notebook_shows_the_matrices_without_a_script() -> None:
    html = TEXT._repr_html_()
    assert html.count("<figure>") == 2 and 'aria-label="attention, words by tokens' in html
    assert "<script" not in html and "<img src=x" not in html and parse(html)
    assert "<figure>" not in PLAIN._repr_html_()


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (PHONE, True)])
def test_a_token_shows_what_it_rests_on(
    browser: Any, file: Path, size: tuple[int, int], dark: bool
) -> None:
    """By a click and by the arrow keys; hostile words and tokens stay text."""
    with visiting(browser, file.as_uri(), size, dark) as page:
        view = page.locator(".answer-view")
        view.locator(".answer-says").filter(has_text="The whole answer").wait_for()
        assert view.get_by_role("radio").count() == 4
        view.get_by_role("radio", name="token 1: gold").click()
        assert (
            view.locator(".answer-says").inner_text().startswith("gold rests most on attic 0.800")
        )
        assert [each.get_attribute("title") for each in view.locator(".words bdi").all()[:4]] == [
            "0.2000",
            "0.8000",
            "0.0000",
            "-0.2000",
        ]
        page.keyboard.press("End")
        assert view.locator(".answer-says").inner_text() == "gold rests on no word."
        view.get_by_label("Explanation").select_option("attention")
        assert "1.000" in view.locator(".answer-says").inner_text()
        assert view.locator("[aria-checked=true]").get_attribute("aria-label") == "token 3: gold"
        assert page.evaluate("() => document.querySelectorAll('main img').length") == 0
        assert accessibility(page) == [] and sideways(page) <= 0


def test_a_matrix_can_be_taken_along(browser: Any, file: Path) -> None:
    with visiting(browser, file.as_uri()) as page:
        menu = page.locator(".matrices .menu").nth(1)
        menu.locator("summary").click()
        with page.expect_download() as download:
            menu.get_by_role("button", name="CSV").click()
        text = Path(download.value.path()).read_text(encoding="utf-8")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 12 and list(lines[0]) == ["series", "word", "answer", "score"]
    found = {(each["word"], each["answer"]): float(each["score"]) for each in lines}
    assert found["attic", "gold"] == 0.8 and download.value.suggested_filename.endswith(".csv")
