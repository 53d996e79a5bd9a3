"""The report page in a real browser, from disk: what is dragged is what the model says."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from browsing import PHONE, WIDE, accessibility, sideways, unreadable, violations, visiting
from heedful.auditing import AuditSpec, Plan, audit
from heedful.data import default_spec
from heedful.interventions import custom
from heedful.models import probabilities
from heedful.report import build_report
from heedful.runner import Choice, Machine, grid, run_study
from heedful.store import Run, Store
from heedful.studies.papers import JAIN2019 as STUDY
from heedful.targets import open_target
from parsed_page import parse
from test_report_fake import Fake, fake_study

LAST = ("layers", "papers", "methods")
SEEN_IN_LINE = """line => {
  const frame = line.querySelector(".x-snippet").getBoundingClientRect();
  const words = [...line.querySelectorAll(".x-snippet bdi")];
  const weight = (word) => Number(word.title) || 0;
  const heaviest = words.reduce((most, word) => (weight(word) > weight(most) ? word : most));
  const box = heaviest.getBoundingClientRect();
  return box.bottom <= frame.bottom + 2 && box.right <= frame.right + 2;
}"""
SEEN_IN_BARS = """() => {
  const tracks = [...document.querySelectorAll(".bars .track")];
  const weight = (track) => Number(track.getAttribute("aria-valuenow"));
  const heaviest = tracks.reduce((most, track) => (weight(track) > weight(most) ? track : most));
  const box = heaviest.getBoundingClientRect();
  const frame = document.querySelector(".bars-scroll").getBoundingClientRect();
  return box.left >= frame.left - 1 && box.right <= frame.right + 1;
}"""
READY = "() => document.querySelector('.x-id') !== null"
HOSTILE = (
    "<script>window.ran=1</script>",
    "<img/src=x/onerror=window.ran=2>",
    "a\u202eb",
    '"><b/onclick=alert(3)>',
    "javascript:alert(4)",
    "🙂",
    "&lt;i&gt;",
    "x" * 20_000,
)


@dataclass(frozen=True)
class Made:
    """A page, and the model, the store and the runs behind it: audits, and last a study."""

    page: Path
    store: Store
    model: Run
    runs: list[Run]

    @property
    def url(self) -> str:
        return self.page.as_uri()

    @property
    def examples(self) -> str:
        return f"{self.url}#examples"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A study of two models, and two audits of one of them."""
    folder = tmp_path_factory.mktemp("made")
    store = Store(folder / "store")
    spec = default_spec("planted", n_train=200, n_dev=40, n_test=40, dimension=16)
    training = (("epochs", 4), ("learning_rate", 0.02))
    choice = Choice(["bilstm", "average"], ["additive"], (("hidden", 16),), training)
    study = run_study(grid(STUDY, [spec], choice, [0]), store, Machine())
    model = store.open(str(study.table("cells")["model_run"].iloc[0]))
    quick = AuditSpec(explanations=("attention", "gradient_input"), ceiling=8, search_steps=20)
    keys = [
        audit(model, spec=quick, n=n, store=store, plan=Plan(store)).facts["key"] for n in (12, 16)
    ]
    runs = [*map(store.open, keys), study]
    return Made(build_report(store, runs, folder / "page.html").page, store, model, runs)


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_a_dragged_prediction_is_the_models(
    browser: Any, made: Made, size: tuple[int, int]
) -> None:
    with visiting(browser, made.examples, size) as page:
        page.wait_for_function(READY)
        _drag(page, page.locator(".bars .track").nth(3))
        moved, link = _shown(page), page.url
        assert "moved by" in page.inner_text(".x-says") and sideways(page) <= 0
    with visiting(browser, link, size) as again:
        again.wait_for_function(READY)
        assert _shown(again) == pytest.approx(moved, abs=1e-4)
        _check(made, again)


def test_every_button_gives_what_the_model_says(browser: Any, made: Made) -> None:
    with visiting(browser, made.examples) as page:
        page.wait_for_function(READY)
        learned = _shown(page)
        for name in ("Uniform", "Shuffled", "Furthest with the same prediction", "Human rationale"):
            page.click(f".x-drag button:text-is('{name}')")
            _check(made, page)
            if name.startswith("Furthest"):
                assert _shown(page) == pytest.approx(learned, abs=0.0101)
                assert float(page.inner_text(".x-says").split("attention by ")[1].split()[0]) > 0.05
        page.locator(".bars .track").first.focus()
        page.keyboard.press("End")
        _check(made, page)
        for _ in range(4):
            page.keyboard.press("Control+z")
        page.click(".x-drag button:text-is('Undo')")
        assert _shown(page) == learned and page.locator("button:text-is('Undo')").is_disabled()


def test_texts_are_searched_sorted_and_filtered(browser: Any, made: Made) -> None:
    with visiting(browser, made.examples) as page:
        page.wait_for_function(READY)
        word = page.locator(".x-example .words bdi").nth(1).inner_text()
        page.fill("input[type=search]", word)
        page.wait_for_function("() => document.querySelector('.x-hits').innerText !== '12 texts.'")
        for line in page.locator(".x-line").all()[:5]:
            assert word.lower() in line.inner_text().lower()
        page.fill("input[type=search]", "nothing has this word")
        page.wait_for_function("() => document.querySelector('.x-hits').innerText.startsWith('No')")


def test_the_heaviest_word_is_in_sight_and_all_others_in_reach(browser: Any, made: Made) -> None:
    """In the bars of each text, with whichever weights, and in each line of the list."""
    with visiting(browser, made.examples, PHONE) as page:
        page.wait_for_function(READY)
        for line in page.locator(".x-line").all()[:6]:
            assert line.evaluate(SEEN_IN_LINE), line.inner_text()
        for name in ("Learned", "Furthest with the same prediction"):
            page.click(f".x-drag button:text-is('{name}')")
            assert page.evaluate(SEEN_IN_BARS)
        words = page.locator(".bars .column").count()
        hint = page.locator(".bars-hint")
        assert f"of {words}: scroll" in hint.inner_text()
        for _ in range(20):
            page.click(".bars-more button[aria-label='Words after these']")
        page.wait_for_function(
            f"() => /to {words} of/.test(document.querySelector('.bars-hint').innerText)"
        )


def test_a_file_is_named_after_its_model_and_figure(browser: Any, made: Made) -> None:
    with visiting(browser, f"{made.url}#explanations") as page:
        tools = page.locator("[data-slot=explanations] .chart-tools").first
        tools.get_by_text("Download").click()
        with page.expect_download() as saved:
            tools.get_by_text("CSV").click()
        name = saved.value.suggested_filename
        assert name.startswith("bilstm-additive-by-measure-and-by-perturbation-"), name


def test_models_and_runs_are_picked(browser: Any, made: Made) -> None:
    """The grid has a cell for each model and run; picking one shows its texts."""
    with visiting(browser, made.examples) as page:
        page.wait_for_function(READY)
        cells = page.locator(".x-cell")
        assert cells.count() == 4
        for i in range(4):
            cells.nth(i).click()
            page.wait_for_function(
                "i => document.querySelectorAll('.x-cell')[i].ariaPressed === 'true'", arg=i
            )
            _check(made, page) if "bilstm" in cells.nth(i).get_attribute("aria-label") else None


def test_the_agreement_shown_is_the_one_measured(browser: Any, made: Made) -> None:
    """Of attention with importance measures, in an audit and in a study, text by text."""
    with visiting(browser, made.examples) as page:
        page.wait_for_function(READY)
        for source, key, taus in _measured(made):
            for name in list(taus.index)[:8]:
                link = f"text={name}&model={_cell(made, source)['key']}&left=attention&right={key}"
                page.evaluate("hash => { location.hash = hash; }", link)
                page.wait_for_function(
                    f"() => document.querySelector('.x-id').innerText === '{name}'"
                )
                page.wait_for_function(f"() => location.hash.includes('{name}')")
                said = page.inner_text(".x-verdict").replace("−", "-")
                assert float(said.split("is ")[1].split()[0]) == pytest.approx(
                    taus[name], abs=0.0051
                )


def test_the_distance_shown_is_the_one_measured(browser: Any, made: Made) -> None:
    with visiting(browser, made.examples) as page:
        page.wait_for_function(READY)
        tags = parse(made.page.read_text(encoding="utf8"))
        cell, name = _cell(made, "audit"), _text(page)
        texts = [each["id"] for each in tags.blob(f"texts-{cell['corpus']}")["texts"]]
        examples = tags.blob(cell["blob"])["examples"]
        (found,) = (each for each in examples if texts[each["t"]] == name)
        said = page.inner_text(".x-far >> nth=0")
        assert f"It is {found['m']['furthest']:.2f} away from the learned" in said
        assert "(JSD, at most 0.69)" in said and "The prediction stays" in said


def test_a_link_to_what_is_not_there_says_so_and_moves_nothing(browser: Any, made: Made) -> None:
    with visiting(browser, made.examples) as page:
        page.wait_for_function(READY)
        weights = page.evaluate("() => document.querySelector('.x-drag').dataset.weights")
        count = len(weights.split(","))
        given = "_".join(["1", *["0"] * (count - 1)])
    for link, lost in (
        (f"text=gone&model=m0&weights={given}", "text"),
        (f"text={_known(made)}&model=m99&weights={given}", "model"),
    ):
        with visiting(browser, f"{made.url}#{link}") as page:
            page.wait_for_function(READY)
            page.wait_for_selector(".x-note:not([hidden])")
            assert f"The {lost} that the link names is not in this page" in page.inner_text(
                ".x-note"
            )
            assert "with the attention the model learned" in page.inner_text(".x-says")


def test_of_several_audits_one_is_read_at_a_time(browser: Any, made: Made) -> None:
    with visiting(browser, made.examples) as page:
        assert "12 texts" in page.text_content(".scope")
        page.click("button.pick >> nth=1")
        page.wait_for_function(
            "() => document.querySelector('.scope').textContent.includes('16 texts')"
        )
        chosen = ".x-cell[aria-pressed=true]"
        page.wait_for_selector(f"{chosen}[aria-label*='audit of 16 texts']")
        text = _text(page)
        page.click("button.pick >> nth=0")
        page.wait_for_selector(f"{chosen}[aria-label*='audit of 12 texts']")
        assert _text(page) == text
        page.click("button.pick >> nth=1")
        page.wait_for_function(
            "() => document.querySelector('.scope').textContent.includes('16 texts')"
        )
        page.click("nav.chapters a[href='#explanations']")
        assert page.locator("h1").count() == 1 and accessibility(page) == []
        tools = page.locator("[data-slot=explanations] .chart-tools").first
        tools.get_by_text("Download").click()
        with page.expect_download() as saved:
            tools.get_by_text("CSV").click()
        lines = list(csv.reader(Path(saved.value.path()).read_text("utf8").splitlines()))
        assert len(lines) > 1 and all(len(line) == len(lines[0]) for line in lines)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_anybody_can_use_it(browser: Any, made: Made, size: tuple[int, int], dark: bool) -> None:
    """Each section is one click away, and shown alone; nothing in it keeps anybody out."""
    with visiting(browser, made.examples, size, dark) as page:
        page.wait_for_function(READY)
        assert _sections(page) == ["examples"]
        links = page.locator("nav.chapters li:not([hidden]) a")
        names = [each.get_attribute("href")[1:] for each in links.all()]
        assert names == ["verdict", "examples", "explanations", "interventions", *LAST]
        for place, name in enumerate(names):
            if size == PHONE:
                page.click(".chapters-open")
            links.nth(place).click()
            assert _sections(page) == [name] and page.evaluate("() => scrollY") == 0
            assert links.nth(place).get_attribute("aria-current") == "page"
            assert page.evaluate("() => document.activeElement.id") == name
            assert accessibility(page) == [] and sideways(page) <= 0, name
            assert unreadable(page) == [], name
        page.go_back()
        assert _sections(page) == [names[-2]]


@pytest.mark.parametrize(
    ("size", "dark"),
    [
        (WIDE, False),
        (PHONE, True),
        pytest.param(WIDE, True, marks=pytest.mark.slow),
        pytest.param(PHONE, False, marks=pytest.mark.slow),
    ],
)
def test_axe_finds_no_violation(
    browser: Any, made: Made, size: tuple[int, int], dark: bool
) -> None:
    with visiting(browser, made.examples, size, dark) as page:
        page.wait_for_function(READY)
        for name in ("examples", "verdict", "explanations", "interventions", *LAST):
            page.evaluate("name => { location.hash = name; }", name)
            page.wait_for_function("name => document.body.dataset.chapter === name", arg=name)
            assert violations(page) == [], name


def test_tables_keep_their_first_column_on_a_phone(browser: Any, made: Made) -> None:
    with visiting(browser, f"{made.url}#methods", PHONE) as page:
        page.evaluate(
            "() => document.querySelectorAll('details').forEach((one) => one.open = true)"
        )
        table = page.locator("#methods .scroll:has(thead)").last
        table.evaluate("frame => { frame.scrollLeft = 200; }")
        first = table.locator("tbody tr > :first-child").first.bounding_box()
        assert table.evaluate("frame => frame.scrollLeft") > 100
        assert first["x"] == pytest.approx(table.bounding_box()["x"], abs=1)


def test_terms_are_explained_where_they_stand(browser: Any, made: Made) -> None:
    with visiting(browser, made.url) as page:
        term = page.locator(".item h3 .term:text-is('importance')")
        term.focus()
        note = page.locator(".term-note")
        assert "0 is a random order of words" in note.inner_text()
        described = page.locator(f"#{term.get_attribute('aria-describedby')}")
        assert described.text_content() == note.inner_text()
        page.keyboard.press("Escape")
        assert not note.is_visible()
        term.hover()
        assert note.is_visible()
        page.emulate_media(media="print")
        assert term.is_visible()


def test_a_link_to_a_heading_opens_its_section(browser: Any, made: Made) -> None:
    with visiting(browser, f"{made.url}#choice") as page:
        assert _sections(page) == ["explanations"]
        page.evaluate("() => { location.hash = 'provenance'; }")
        page.wait_for_function("() => document.body.dataset.chapter === 'methods'")
        assert page.locator("#provenance").bounding_box()["y"] < WIDE[1]


def test_sections_are_chosen_by_keyboard_on_a_phone(browser: Any, made: Made) -> None:
    with visiting(browser, made.url, PHONE) as page:
        opener = page.locator(".chapters-open")
        opener.press("Enter")
        assert opener.get_attribute("aria-expanded") == "true"
        page.keyboard.press("Escape")
        assert not page.locator("#chapters").is_visible()
        opener.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert _sections(page) == ["examples"] and opener.inner_text().strip() == "Examples"


def test_the_answer_and_its_example_are_on_the_first_screen(browser: Any, made: Made) -> None:
    with visiting(browser, made.url, (1400, 900)) as page:
        for part in (".badge.large", "h1", ".telling .outcome >> nth=1"):
            box = page.locator(part).bounding_box()
            assert box["y"] + box["height"] <= 900, part
    with visiting(browser, made.url, PHONE) as page:
        assert page.locator(".telling .words").first.bounding_box()["y"] < PHONE[1]


def test_a_theme_is_chosen_and_remembered(browser: Any, made: Made) -> None:
    ground = "() => getComputedStyle(document.body).backgroundColor"
    with visiting(browser, made.url) as page:
        light = page.evaluate(ground)
        page.get_by_role("combobox", name="Theme").select_option("dark")
        dark = page.evaluate(ground)
        assert dark != light
        page.reload()
        assert page.evaluate(ground) == dark and accessibility(page) == []
        page.emulate_media(media="print")
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        page.emulate_media(media="screen", color_scheme="dark")
        page.get_by_role("combobox", name="Theme").select_option("light")
        assert page.evaluate(ground) == light
        page.get_by_role("combobox", name="Theme").select_option("auto")
        assert page.evaluate(ground) == dark


def test_it_is_there_without_scripts_and_on_paper(browser: Any, made: Made, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(made.url)
    text = page.inner_text("main")
    assert "In five lines" in text and "Importance" in text
    assert "verdict" in (sections := _sections(page)) and len(sections) == 4 + len(LAST)
    assert page.locator(".chart svg").first.is_visible()
    page.emulate_media(media="print")
    paper = tmp_path / "page.pdf"
    page.pdf(path=paper)
    assert paper.stat().st_size > 50_000 and not page.locator("nav").first.is_visible()
    context.close()


def test_paper_has_every_section(browser: Any, made: Made) -> None:
    with visiting(browser, made.url) as page:
        page.emulate_media(media="print")
        assert len(_sections(page)) == 4 + len(LAST)
        assert page.locator("#texts + *, details.fold .heat").first.is_visible()


def test_paper_keeps_what_only_looks_like_a_button(browser: Any, made: Made) -> None:
    """Heads of columns, legends and verdicts are buttons on a screen; tools are gone."""
    with visiting(browser, made.examples) as page:
        page.wait_for_function(READY)
        page.emulate_media(media="print")
        drawn = "name => getComputedStyle(document.querySelector(name)).display !== 'none'"
        for kept in (".pick", "th button.sort", ".legend button"):
            assert page.evaluate(drawn, kept), kept
        for gone in (".x-drag button", ".chart-tools", "nav"):
            assert not page.locator(gone).first.is_visible(), gone


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_hostile_texts_are_text(browser: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    store, run = fake_study(tmp_path / "store", Fake(words=HOSTILE, texts=30))
    url = build_report(store, [run], tmp_path / "page.html").page.as_uri()
    with visiting(browser, f"{url}#examples", size) as page:
        page.wait_for_function(READY)
        seen = page.inner_text("#example-browser")
        assert "<script>window.ran=1</script>" in seen and "a⟨U+202E⟩b" in seen
        assert page.evaluate("() => window.ran ?? null") is None
        assert page.locator("#example-browser :is(img, script, b)").count() == 0
        assert sideways(page) <= 0


def test_data_are_in_the_page_once_and_small(made: Made) -> None:
    tags = parse(made.page.read_text(encoding="utf8"))
    index = tags.blob("examples")
    assert len(index["corpora"]) == 1 and len(index["cells"]) == 4
    texts = tags.blob(index["corpora"][0]["texts"])["texts"]
    assert len(texts) == 40 and made.page.stat().st_size < 1_500_000
    assert json.dumps(index).count("planted-test") == 0


def _sections(page: Any) -> list[str]:
    """Those that can be read."""
    return [
        each.get_attribute("id")
        for each in page.locator(".chapter").all()
        if each.is_visible() and each.locator("*").first.is_visible()
    ]


def _measured(made: Made) -> Iterator[tuple[str, str, Any]]:
    """Where, with which map, and by text."""
    rows = made.runs[0].table("rows")
    chosen = rows[rows["measure"].str.startswith("tau:") & (rows["explanation"] == "attention")]
    for measure, part in chosen.groupby("measure"):
        yield "audit", str(measure)[4:], part.set_index("example")["value"].dropna()
    cells = made.runs[-1].table("cells")
    own = cells[(cells["probe"] == "correlation") & (cells["model_run"] == made.model.key)]
    rows = made.store.open(str(own["run"].iloc[0])).table("rows")
    for measure, key in (("tau_gradient", "gradient_fixed"), ("tau_loo", "leave_one_out")):
        chosen = rows[rows["measure"] == measure].set_index("example")["value"].dropna()
        yield "study", key, chosen


def _cell(made: Made, source: str) -> Any:
    """The first of the model that was audited."""
    cells = parse(made.page.read_text(encoding="utf8")).blob("examples")["cells"]
    return next(each for each in cells if each["source"] == source and "bilstm" in each["model"])


def _known(made: Made) -> str:
    index = parse(made.page.read_text(encoding="utf8"))
    return str(index.blob("texts-c0")["texts"][0]["id"])


def _drag(page: Any, track: Any) -> None:
    track.scroll_into_view_if_needed()
    box = track.bounding_box()
    middle = box["x"] + box["width"] / 2
    page.mouse.move(middle, box["y"] + box["height"] - 2)
    page.mouse.down()
    page.mouse.move(middle, box["y"] + box["height"] / 3, steps=4)
    page.mouse.up()


def _shown(page: Any) -> list[float]:
    rows = page.locator(".x-drag [data-p]").all()
    return [float(row.get_attribute("data-p")) for row in rows]


def _check(made: Made, page: Any) -> None:
    """What the page says is what the model says of the weights in the page."""
    state = parse_qs(urlsplit(page.url).fragment)
    weights = page.evaluate("() => document.querySelector('.x-drag').dataset.weights")
    found = [float(each) for each in weights.split(",")]
    assert sum(found) == pytest.approx(1, abs=1e-6)
    expected = _by_the_model(made, state["text"][0] if state else _text(page), found)
    assert _shown(page) == pytest.approx(expected, abs=1e-6)


def _text(page: Any) -> str:
    return str(page.inner_text(".x-id"))


def _by_the_model(made: Made, example: str, weights: list[float]) -> list[float]:
    """The model's own forward pass with the weights laid over the text's tokens."""
    with open_target(made.model, store=made.store) as subject:
        place = [each.id for each in subject.documents].index(example)
        batch = subject.encode([place])
        given = subject.model(batch).weights["attention"].clone()
        given[0, 0, 0, batch.texts["a"].mask[0]] = given.new_tensor(weights)
        trace = subject.model(batch, {"attention": custom(lambda call: given)})
        return list(probabilities(trace.logits.detach())[0].tolist())
