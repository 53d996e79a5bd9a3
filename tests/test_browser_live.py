"""The live page in a real browser: dragged weights are the model's, and nothing else happens."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import torch

pytest.importorskip("fastapi", reason="the live page needs fastapi (heedful[web])")
pytest.importorskip("uvicorn", reason="the live page needs uvicorn (heedful[web])")

import heedful
from browsing import PHONE, WIDE, accessibility, served, sideways, visiting
from heedful.apps.live import Opened, live_app
from heedful.data import default_spec, prepare
from heedful.interventions import frozen
from heedful.models import probabilities
from heedful.runner import Machine, Recipe, trained
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store
from heedful.targets import open_asked, open_target

TEXT = "This film was wonderful, and our neighbour opened a window on Monday."
HOSTILE = (
    "film <script>window.ran=1</script> <img src=x onerror=window.ran=2> <b onclick=x>bold</b> "
    "\u202egnp.exe\u202c \u2066film\u2069 🙂 👩‍👩‍👧 &amp; </textarea> ${window.ran=3} "
    + "x"
    * 20_000
)
NAME, LABELS = "<b>bert<b>", ("<img src=x onerror=window.ran=4>", "<b>bold</b>")
MOVED = "() => document.querySelector('.says').textContent.includes('moved')"
LINKED = "() => location.hash.includes('weights0')"
Size = tuple[int, int]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    store = Store(tmp_path_factory.mktemp("store"))
    planted = default_spec("planted", n_train=120, n_dev=20, n_test=20, dimension=16)
    recipe = Recipe(ModelSpec(hidden=16), TrainSpec(epochs=4, learning_rate=0.02), 0)
    return trained(store, prepare(planted, store), recipe, Machine())


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    from tiny_tokenizers import saved

    folder = tmp_path_factory.mktemp("bert") / NAME
    return saved(folder, id2label=dict(enumerate(LABELS)))


@pytest.fixture(scope="module")
def url(run: Run) -> Iterator[str]:
    with ExitStack() as stack:
        model = Opened(stack.enter_context(open_asked(run)))
        yield stack.enter_context(served(live_app([model])))


@pytest.fixture(scope="module")
def two(run: Run, bert: Path) -> Iterator[str]:
    with ExitStack() as stack:
        models = [Opened(stack.enter_context(open_asked(each))) for each in (run, bert)]
        yield stack.enter_context(served(live_app(models)))


class Edits:
    """What a page asks of /api/edit from now on, and what it is answered."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.asked: list[Any] = []
        self.answered: list[Any] = []
        page.on("request", self._count)
        page.on("requestfinished", self._hear)

    def last(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The latest, once nothing is under way: body and answer."""
        before = -1
        for _ in range(100):
            if len(self.asked) == len(self.answered) == before:
                break
            before = len(self.asked)
            self.page.wait_for_timeout(150)
        request = self.answered[-1]
        return json.loads(request.post_data), request.response().json()

    def _count(self, request: Any) -> None:
        if request.url.endswith("/api/edit"):
            self.asked.append(request)

    def _hear(self, request: Any) -> None:
        if request in self.asked:
            self.answered.append(request)


def ask(page: Any, text: str) -> None:
    """The page begins with an example of its own; the text's bars take the place of its bars."""
    page.wait_for_selector(".steps")
    page.fill("#text", text)
    with page.expect_response(re.compile("/api/predict")):
        page.press("#text", "Enter")
    page.wait_for_function("() => !document.getElementById('status').textContent")


def drag(page: Any, word: str, to: float) -> None:
    """A word's bar is taken by the mouse to a part of the height."""
    track = page.get_by_role("slider", name=word, exact=True).first
    track.scroll_into_view_if_needed()
    box = track.bounding_box()
    middle, foot = box["x"] + box["width"] / 2, box["y"] + box["height"]
    page.mouse.move(middle, foot - 2)
    page.mouse.down()
    page.mouse.move(middle, foot - to * box["height"], steps=6)
    page.mouse.up()


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_a_dragged_prediction_is_the_models(browser: Any, url: str, run: Run, size: Size) -> None:
    """A bar is dragged, and what the page then says comes from the model with these weights."""
    with visiting(browser, url, size) as page:
        ask(page, TEXT)
        edits = Edits(page)
        drag(page, "wonderful", 0.7)
        page.wait_for_function(MOVED)
        page.wait_for_function(LINKED)
        body, answer = edits.last()
        assert body["text"] == TEXT and sum(body["weights"]) == pytest.approx(1, abs=1e-9)
        assert max(body["weights"]) == pytest.approx(0.49, abs=0.02)  # heights are square roots
        now = [each["probability"] for each in answer["classes"]]
        assert now == pytest.approx(by_the_model(run, body["weights"]), abs=1e-6)
        assert now != pytest.approx([each["before"] for each in answer["classes"]], abs=1e-4)
        assert chances(page) == [shown(each) for each in now]
        assert weights_in(page.url) == pytest.approx(body["weights"], abs=1e-6)
        assert sideways(page) <= 0


def test_buttons_keys_undo_and_a_link_that_restores(browser: Any, url: str) -> None:
    with visiting(browser, url) as page:
        ask(page, TEXT)
        learned, edits = heights(page), Edits(page)
        page.click("button:text-is('Even')")
        page.wait_for_function(MOVED)
        even = heights(page)
        assert max(even) == min(even) and even != learned
        page.locator(".track").first.focus()
        page.keyboard.press("End")
        alone = heights(page)
        assert alone[0] == 100 and max(alone[1:]) == 0
        page.keyboard.press("ArrowDown")
        body, _ = edits.last()
        assert body["weights"][0] == pytest.approx(0.99)
        link, said, last = page.url, page.inner_text(".says"), heights(page)
        for wanted in (alone, even, learned):
            page.click("button:text-is('Undo')")
            assert heights(page) == wanted
        assert page.is_disabled("button:text-is('Undo')")
        page.click("button:text-is('Shuffled')")
        body, answer = edits.last()
        assert body["kind"] == "shuffled" and heights(page) != learned
        assert sorted(heights(page)) == sorted(learned)
        page.click("button:text-is('Furthest, same prediction')")
        body, answer = edits.last()
        assert body["kind"] == "furthest" and answer["moved"] <= 0.01 < answer["jsd"]
        page.wait_for_function(LINKED)
        page.click("button:text-is('Reset')")
        page.wait_for_function("() => !location.hash.includes('weights0')")
        assert heights(page) == learned
    with visiting(browser, link) as again:
        again.wait_for_selector(".steps")
        again.wait_for_function(MOVED)
        assert heights(again) == last and again.input_value("#text") == TEXT
        assert again.inner_text(".says") == said


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_a_hostile_text_is_text(browser: Any, two: str, size: Size) -> None:
    """Typed, or from a link, and labels that are no better; `visiting` fails on any dialog,
    error or request to elsewhere."""
    link = f"{two}#text={quote(HOSTILE)}&weights0=<b>1</b>&site0=__proto__&beside=<img src=x>"
    with visiting(browser, two if size == WIDE else link, size) as page:
        if size == WIDE:
            ask(page, HOSTILE)
        page.get_by_role("slider", name="script", exact=True).first.wait_for()
        page.wait_for_function("() => document.querySelectorAll('.steps').length === 2")
        assert page.evaluate("() => window.ran === undefined")
        assert page.locator("main :is(script, img, b)").count() == 0
        assert page.input_value("#text") == HOSTILE
        words = page.locator(".words").first.locator("bdi").all_inner_texts()
        assert "script" in words and "x" * 20_000 in words
        assert page.locator("h2").last.inner_text() == NAME
        assert page.locator(".class > bdi").all_inner_texts()[2:] == list(LABELS)
        assert sideways(page) <= 0 and accessibility(page) == []


def test_two_models_stand_side_by_side(browser: Any, two: str, run: Run) -> None:
    """An edit of the one leaves the other as it is; the link restores both."""
    with visiting(browser, two) as page:
        ask(page, TEXT)
        page.wait_for_function("() => document.querySelectorAll('.steps').length === 2")
        one, other = page.locator(".model").all()
        assert one.bounding_box()["x"] + one.bounding_box()["width"] <= other.bounding_box()["x"]
        before, edits = other.inner_text(), Edits(page)
        drag(page, "wonderful", 0.9)
        body, answer = edits.last()
        wanted = by_the_model(run, body["weights"])
        assert [each["probability"] for each in answer["classes"]] == pytest.approx(
            wanted, abs=1e-6
        )
        assert other.inner_text() == before
        other.get_by_label("head").select_option("1")
        other.get_by_role("button", name="Even").click()
        body, _ = edits.last()
        assert (body["model"], body["head"]) == (1, 1)
        page.wait_for_function("() => location.hash.includes('head1=1')")
        page.wait_for_function("() => location.hash.includes('weights1')")
        link, bars = page.url, heights(page)
        said = [each.locator(".says").inner_text() for each in (one, other)]
        assert sideways(page) <= 0 and accessibility(page) == []
    with visiting(browser, link, PHONE) as again:
        again.wait_for_function(
            "() => [...document.querySelectorAll('.says')].filter("
            "(each) => each.textContent.includes('moved')).length === 2"
        )
        assert [each.inner_text() for each in again.locator(".says").all()] == said
        assert heights(again) == bars and sideways(again) <= 0


def test_attention_taken_apart_sums_to_the_prediction(browser: Any, url: str, run: Run) -> None:
    with visiting(browser, url) as page:
        ask(page, TEXT)
        closed = page.locator("details.card:has(.steps) > summary")
        closed.click()
        assert not page.locator(".apart").first.is_visible()
        with page.expect_response(re.compile("/api/explain")) as explained:
            closed.click()
        page.locator(".apart").wait_for()
        found = explained.value.json()["contributions"]
        assert sum(found["products"]) + found["bias"] == pytest.approx(found["sum"], abs=1e-6)
        rows = page.locator(".apart tbody tr td:last-child").all_inner_texts()
        bias, total = page.locator(".apart tfoot td").all_inner_texts()
        assert sum(map(number, rows)) + number(bias) == pytest.approx(number(total), abs=0.01)
        p = 1 / (1 + math.exp(-found["sum"]))
        assert max(by_the_model(run)) == pytest.approx(p, abs=1e-6)
        assert shown(p) in page.inner_text(".steps li:last-child")


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_every_head_of_both_models(browser: Any, two: str, bert: Path, size: Size) -> None:
    """Weights are the model's own; a new text begins with the head that was looked at."""
    with visiting(browser, two, size) as page:
        ask(page, HOSTILE)
        one, other = page.locator(".model").all()
        for column in (one, other):
            column.get_by_text("Every layer and head").click()
            column.locator(".head-cell").first.wait_for()
        assert one.locator(".head-cell").count() == 1 and other.locator(".head-cell").count() == 4
        other.locator(".head-cell").nth(1).click()
        assert page.locator("main :is(script, img, b)").count() == 0
        assert page.evaluate("() => window.ran === undefined")
        ask(page, "a dull film")
        page.wait_for_function("() => document.querySelectorAll('.head-token').length < 40")
        other.locator(".head-token").nth(2).hover()
        assert other.locator(".head-title").inner_text() == "layer 0, head 1"
        found = [float(each or 0) for each in other.locator(".head-number").all_inner_texts()]
        view = heedful.head_view(bert, "a dull film")
        wanted = view.weights[view.sites[0].name][1, 2]
        assert found[-5:] == pytest.approx(wanted.tolist(), abs=0.01)
        assert sideways(page) <= 0 and accessibility(page) == []


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Asked about documents, under an answer of several tokens."""
    pytest.importorskip("transformers")
    from tiny_hf import tiny_hf
    from tiny_tokenizers import byte_pairs

    known = {"vocab_size": 290, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
    folder = tmp_path_factory.mktemp("writer")
    tiny_hf("GPT2", "language", **known).save_pretrained(folder)
    byte_pairs().save_pretrained(folder)
    with ExitStack() as stack:
        asked = open_asked(folder, answer=" good and bad", unit="document")
        yield stack.enter_context(served(live_app([Opened(stack.enter_context(asked))])))


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (PHONE, True)])
def test_documents_and_the_tokens_of_an_answer(
    browser: Any, writer: str, size: Size, dark: bool
) -> None:
    """Documents are added and removed; a token shows what it rests on; nothing speaks of words."""
    with visiting(browser, writer, size, dark) as page:
        page.wait_for_selector(".answer-token")
        page.get_by_role("button", name="Add a document").click()
        page.keyboard.type("<b>A third one.</b>")
        with page.expect_response(re.compile("/api/predict")) as asked:
            page.keyboard.press("Enter")
        assert len(json.loads(asked.value.request.post_data)["text"]) == 3
        page.wait_for_function("() => !document.getElementById('status').textContent")
        page.get_by_role("radio", name=re.compile("^token 2")).click()
        says = page.locator(".answer-says").filter(has_text="<b>A third one.</b>")
        says.wait_for()
        page.keyboard.press("ArrowRight")
        assert page.locator(".answer-token").nth(3).get_attribute("aria-checked") == "true"
        assert page.locator(".model").get_by_text(re.compile(r"\b[Ww]ords?\b")).count() == 0
        assert accessibility(page) == [] and sideways(page) <= 0
        assert page.url.count("&text=") == 2
        with page.expect_response(re.compile("/api/predict")) as asked:
            page.get_by_role("button", name="Remove document 2").click()
        assert json.loads(asked.value.request.post_data)["text"] == [
            "This is a first text.",
            "<b>A third one.</b>",
        ]


def test_a_refusal_is_a_sentence_that_goes_away(browser: Any, url: str) -> None:
    with visiting(browser, url, PHONE, pardoned="422") as page:
        ask(page, "word " * 600)
        problem = page.get_by_role("alert")
        problem.wait_for()
        assert problem.inner_text() == "the text has 600 words: at most 512 are read here."
        assert accessibility(page) == [] and sideways(page) <= 0
        ask(page, TEXT)
        assert not problem.is_visible()


@pytest.mark.parametrize(("size", "dark"), [(WIDE, True), (PHONE, False), (PHONE, True)])
def test_everybody_can_read_and_reach_it(browser: Any, two: str, size: Size, dark: bool) -> None:
    """Two models, one with layers and heads, all explanations open to be chosen."""
    with visiting(browser, two, size, dark) as page:
        ask(page, TEXT)
        page.wait_for_function("() => document.querySelectorAll('.steps').length === 2")
        page.locator("summary:text-is('Choose')").first.click()
        page.get_by_role("button", name="Even").first.click()
        page.wait_for_function(MOVED)
        assert accessibility(page) == []
        assert sideways(page) <= 0
        ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 150) == dark


# --- what is read off the page, and what it should be ----------------------------------------


def heights(page: Any) -> list[float]:
    tracks = page.locator(".track").all()
    return [float(track.get_attribute("aria-valuenow")) for track in tracks]


def chances(page: Any) -> list[str]:
    return list(page.locator(".class strong").all_inner_texts())


def weights_in(address: str) -> list[float]:
    found = re.search("weights0=([^&]*)", address)
    assert found is not None
    return [float(each) for each in found[1].split("_")]


def number(text: str) -> float:
    return float(text.strip().replace("−", "-"))


def shown(p: float) -> str:
    """As the page writes a probability."""
    if p > 0.9999 or p < 0.0001:
        return ">99.99%" if p > 0.5 else "<0.01%"
    return f"{100 * p:.{2 if p > 0.99 or p < 0.01 else 1}f}%"


def by_the_model(run: Run, weights: list[float] | None = None) -> list[float]:
    """The model's own forward pass, with the weights laid over the text's tokens."""
    with open_target(run, [{"text": TEXT}], label_column=None) as subject:
        batch, model = subject.encode([0]), subject.model
        edits = {} if weights is None else {"attention": frozen({batch.ids[0]: weights})}
        with torch.no_grad():
            return list(probabilities(model(batch, edits).logits)[0].tolist())
