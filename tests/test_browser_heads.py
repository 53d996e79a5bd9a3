"""The head view in a real browser: for every kind of model, by mouse and by keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiny_hf import tiny_hf  # sets HF_HUB_OFFLINE, which must come before transformers

pytest.importorskip("transformers")
pytest.importorskip("jinja2", reason="pages need jinja2 (heedful[report])")

import heedful
from browsing import PHONE, WIDE, accessibility, sideways, visiting
from tiny_tokenizers import byte_pairs, word_pieces

TEXT, OTHER = "The film is unlikely good.", "It was a dull plot"
HOSTILE = (
    "unlikely film <script>window.ran=1</script> <img src=x onerror=window.ran=2> \u202egood 🙂"
)
MANY = {"num_hidden_layers": 6, "num_attention_heads": 12, "hidden_size": 48}
BYTES = {"vocab_size": 300, "pad_token_id": 0}
VIEWS: dict[str, Callable[[], heedful.HeadView]] = {
    "BERT": lambda: heedful.head_view((tiny_hf("Bert", **MANY), word_pieces()), TEXT),
    "GPT-2": lambda: heedful.head_view(
        (tiny_hf("GPT2", "language", **BYTES), byte_pairs()), "a good film is bad, é"
    ),
    "Marian": lambda: heedful.head_view(
        (tiny_hf("Marian", "language"), word_pieces()), TEXT, target=OTHER
    ),
    "a pair": lambda: heedful.head_view((tiny_hf(), word_pieces()), TEXT, OTHER),
}
TOLD = re.compile(r"\.\d\d\b|\b1$|\b1(?=,)")


@pytest.fixture(scope="module", params=list(VIEWS))
def view(request: pytest.FixtureRequest) -> heedful.HeadView:
    return VIEWS[request.param]()


@pytest.fixture
def url(view: heedful.HeadView, tmp_path: Path) -> str:
    return view.to_html(tmp_path / "heads.html").as_uri()


def pressed(page: Any) -> str:
    return str(page.locator(".head-cell[aria-pressed=true]").get_attribute("aria-label"))


def says(page: Any) -> str:
    return str(page.locator(".head-says").inner_text())


def tokens(page: Any, column: int) -> Any:
    return page.locator(".head-tokens").nth(column).locator(".head-token")


def numbers(page: Any, column: int) -> list[float]:
    found = page.locator(".head-tokens").nth(column).locator(".head-number").all_inner_texts()
    return [float(text or 0) for text in found]


@pytest.mark.parametrize("size", [WIDE, PHONE])
@pytest.mark.parametrize("dark", [False, True])
def test_a_head_is_chosen_and_a_token_shows_its_weights(
    browser: Any, view: heedful.HeadView, url: str, size: tuple[int, int], dark: bool
) -> None:
    site = view.sites[-1]
    with visiting(browser, url, size, dark) as page:
        page.wait_for_selector(".head-cell")
        assert page.locator(".head-cell").count() == sum(map(len, view.weights.values()))
        last = page.locator(".head-group").nth(-1).locator(".head-cell").nth(-1)
        last.click()
        assert pressed(page) == last.get_attribute("aria-label")
        assert pressed(page).split(", ")[1] == page.inner_text(".head-title").split(", ")[1]
        weights = view.weights[site.name][-1]
        tokens(page, 0).nth(2).hover()
        assert numbers(page, 1) == pytest.approx(weights[2].tolist(), abs=0.01)
        assert view.sides[site.queries].tokens[2] in says(page) and "attends to" in says(page)
        assert page.locator(".head-lines path").count() <= weights.shape[1]
        tokens(page, 1).nth(1).hover()
        assert numbers(page, 0) == pytest.approx(weights[:, 1].tolist(), abs=0.01)
        assert "attended by" in says(page)
        assert sideways(page) <= 0 and accessibility(page) == []


def test_keys_reach_every_head_and_token(browser: Any, view: heedful.HeadView, url: str) -> None:
    with visiting(browser, url) as page:
        page.wait_for_selector(".head-cell")
        page.locator(".head-cell[aria-pressed=true]").focus()
        before = pressed(page)
        page.keyboard.press("ArrowRight")
        assert pressed(page) != before and "head 1" in pressed(page)
        page.keyboard.press("ArrowUp")
        assert "head 1" in pressed(page)
        assert page.evaluate("() => document.activeElement.ariaPressed") == "true"
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("() => document.activeElement.classList.contains('head-token')"):
                break
        first = says(page)
        assert "attends to" in first
        page.keyboard.press("ArrowDown")
        assert "attends to" in says(page) and says(page) != first
        page.keyboard.press("Enter")
        held = page.locator(".head-token[aria-pressed=true]")
        assert held.count() == 1 and held.inner_text().split()[0] in says(page)


def test_words_and_matrix(browser: Any, tmp_path: Path) -> None:
    """On the page words are made of tokens as `by_words` does; a cell of the matrix is a weight."""
    view = VIEWS["a pair"]()
    words = view.by_words()
    weights = words.weights[view.sites[-1].name][0]
    with visiting(browser, view.to_html(tmp_path / "heads.html").as_uri()) as page:
        page.wait_for_selector(".head-cell")
        page.get_by_label("between").select_option("words")
        assert tokens(page, 0).locator("bdi").all_inner_texts() == list(words.tokens)
        at = words.tokens.index("unlikely")
        tokens(page, 0).nth(at).hover()
        assert numbers(page, 1) == pytest.approx(weights[at].tolist(), abs=0.02)
        assert page.locator(".head-token.part-1").count() == 2 * sum(words.sides["a"].parts)
        page.get_by_label("Drawn as").select_option("matrix")
        box = page.locator(".head-matrix").bounding_box()
        page.mouse.move(box["x"] + 26 * 2.5, box["y"] + 26 * 4.5)
        told = float(says(page).rsplit(": ", 1)[1])
        assert told == pytest.approx(float(weights[4, 2]), abs=0.01)
        assert f"{words.tokens[4]} attends to {words.tokens[2]}" in says(page)
        assert accessibility(page) == []
        page.get_by_label("hide special tokens").check()
        shown = tokens(page, 0).locator("bdi").all_inner_texts()
        assert shown == [token for token in words.tokens if not token.startswith("[")]


def test_heads_by_a_number(browser: Any, tmp_path: Path) -> None:
    view = VIEWS["a pair"]()
    weights = view.weights[view.sites[0].name][1]
    special = np.array(view.sides["a"].special)
    parts = np.array(view.sides["a"].parts)
    other = (parts[:, None] != parts) & ~special
    wanted = {
        "largest": weights.max(-1),
        "special": weights[:, special].sum(-1),
        "previous": np.append(0, np.diag(weights, -1)),
        "itself": np.diag(weights),
        "next": np.append(np.diag(weights, 1), 0),
        "other": (weights * other).sum(-1),
    }
    with visiting(browser, view.to_html(tmp_path / "heads.html").as_uri()) as page:
        page.wait_for_selector(".head-cell")
        for kind, rows in wanted.items():
            page.get_by_label("Heads by").select_option(kind)
            label = page.locator(".head-cell").nth(1).get_attribute("aria-label")
            told = float(label.rsplit(" ", 1)[1])
            assert told == pytest.approx(float(rows[~special].mean()), abs=0.011), kind
        assert accessibility(page) == []


def test_a_notebooks_frame_is_closed_and_hostile_texts_do_nothing(
    browser: Any, tmp_path: Path
) -> None:
    view = heedful.head_view((tiny_hf(), word_pieces()), HOSTILE, "</textarea></iframe><b>x")
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><title>n</title>{view._repr_html_()}", encoding="utf8")
    with visiting(browser, notebook.as_uri()) as page:
        frame = page.frame_locator("iframe")
        frame.locator(".head-cell").first.wait_for()
        frame.locator(".head-cell").nth(1).click()
        frame.locator(".head-token").nth(3).hover()
        assert "attends to" in frame.locator(".head-says").inner_text()
        inside = page.frames[1]
        assert (
            inside.evaluate("() => window.ran") is None
            and page.evaluate("() => window.ran") is None
        )
        assert inside.evaluate("() => origin") == "null"
        assert (
            inside.evaluate("() => document.querySelectorAll('.heads :is(script, img, b)').length")
            == 0
        )
        frame.get_by_label("between").select_option("words")
        assert "script" in frame.locator(".head-tokens").first.inner_text().split("\n")
