"""The texts of a page in a real browser: pairs, merged words, searched adversaries, long texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsing import visiting
from heedful.report import Cell, Document, Map, Span, build_report, reach_of
from heedful.report.cells import Reading
from test_report_examples import by_blanks, by_characters, cell
from test_report_fake import Fake, fake_study

READY = "() => document.querySelector('.x-id') !== null"
FAR = Map("far", "furthest found by search (a lower bound)", "furthest", "apart", True, True)
MAPS = (Map("attention", "attention", "attention", weights=True), Map("lrp", "lrp"), FAR)


def read_by(model: str, spans: Sequence[Span], linear: bool, measured: float | None) -> Cell:
    """A model of the pair "ab cd" and "ef", which attends to the given spans."""
    document = Document("ab cd", "ef", tuple(spans), 1)
    size = len(spans)
    even, first = np.full(size, 1 / size), np.eye(size)[0]
    logits = np.arange(size, dtype=float)[:, None] if linear else None
    curves = {} if linear else {"attention": [(0.0, 0.9), (1.0, 0.4)], "lrp": [(0.0, 0.9)]}
    reading = Reading(
        1,
        0.75,
        {"attention": even, "lrp": -np.arange(size, dtype=float), "far": first},
        logits,
        {} if measured is None else {"apart": measured},
        reach_of(logits, 1) if logits is not None else None,
        curves,
        "mask",
    )
    return cell(
        {"t": "ab cd"},
        by_blanks,
        model=model,
        maps=MAPS,
        documents=lambda names: dict.fromkeys(names, document),
        readings=lambda names: dict.fromkeys(names, reading),
    )


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both texts in one sequence; a native model that reads the second beside the first, by
    characters; and a long text."""
    native = by_characters("ab cd")
    cells = [
        read_by("whole", [*by_blanks("ab cd"), (6, 8)], False, 0.1234),
        read_by("native", native, True, None),
        replace(cell({"long": "w " * 2500 + "end"}, by_blanks, corpus="long"), model="long"),
    ]
    monkeypatch.setattr("heedful.report.page.study_cells", lambda evidence: cells)
    store, run = fake_study(tmp_path / "store", Fake(texts=8))
    return build_report(store, [run], tmp_path / "page.html").page.as_uri()


def test_both_texts_of_a_sequence_are_told_apart(browser: Any, url: str) -> None:
    with visiting(browser, f"{url}#model=m0&text=t") as page:
        page.wait_for_function(READY)
        assert page.inner_text(".x-side .words >> nth=0") == "ab cd ‖ ef"
        assert page.locator(".x-snippet .next-text").count() == 1
        assert page.locator(".x-other").count() == 0
        assert "the words with the highest scores first" in page.inner_text(".x-example")


def test_a_distance_is_the_one_measured_and_found_ones_are_named_so(browser: Any, url: str) -> None:
    with visiting(browser, f"{url}#model=m0&text=t") as page:
        page.wait_for_function(READY)
        instead = page.inner_text(".x-instead")
        assert "The prediction stays with attention that is 0.12 away" in instead
        assert "90.0% → 40.0%" in instead and "not linear" in page.inner_text(".x-example")
        far = page.inner_text(".x-far")
        assert "It is 0.12 away from the learned attention (JSD, at most 0.69)" in far
        assert "The prediction" not in far


def test_merged_words_say_nothing_of_the_furthest_attention(browser: Any, url: str) -> None:
    with visiting(browser, f"{url}#model=m1&text=t") as page:
        page.wait_for_function(READY)
        far = page.inner_text(".x-far")
        assert "(JSD over words, at most 0.69)" in far and "The prediction" not in far
        buttons = page.locator(".x-drag .x-tools").inner_text()
        assert "Uniform" in buttons and "Furthest" not in buttons
        assert "Read beside it: ef" in page.inner_text(".x-other")
        words = page.locator(".x-side .words >> nth=0").locator("bdi")
        assert words.nth(2).get_attribute("title") == "not attended to"
        assert "words with the highest scores are removed" in page.inner_text(".x-example")


def test_a_text_that_was_cut_says_so(browser: Any, url: str) -> None:
    with visiting(browser, f"{url}#model=m2&text=long") as page:
        page.wait_for_function(READY)
        assert "The first 2,000 of 2,501 words." in page.inner_text(".x-said")
