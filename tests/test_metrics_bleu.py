"""BLEU against its slow restatement and, where it is installed, against sacreBLEU itself."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.errors import HeedfulError
from heedful.metrics import bleu, bleu_signature, bleu_statistics
from reference.bleu import corpus_bleu, row

WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "mat", "."]), max_size=9)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5)


@settings(max_examples=200)
@given(PAIRS)
def test_the_score_is_what_the_papers_say(pairs: list[tuple[list[str], list[str]]]) -> None:
    rows = np.array([row(one, other) for one, other in pairs])
    wanted = corpus_bleu(*(list(side) for side in zip(*pairs, strict=True)))
    assert bleu(rows) == pytest.approx(wanted, abs=1e-9)


def test_scores_that_can_be_worked_out_by_hand() -> None:
    same = ["a", "b", "c", "d", "e"]
    assert bleu(np.array([row(same, same)])) == pytest.approx(100)
    # 4/4 · 3/3 · 2/2 · 1/1 of a sentence that is one word short: exp(1 − 5/4)
    assert bleu(np.array([row(same[:4], same)])) == pytest.approx(100 * math.exp(-0.25))
    # 4/5 · 3/4 · 2/3 · 1/2 = 1/5
    assert bleu(np.array([row(["a", "b", "c", "d", "x"], same)])) == pytest.approx(100 * 0.2**0.25)
    # 3/4 · 2/3 · 1/2, and no 4-gram of the one there is: half of one
    assert bleu(np.array([row(["a", "b", "c", "x"], ["a", "b", "c", "d"])])) == pytest.approx(
        100 * (0.25 * 0.5) ** 0.25
    )
    assert bleu(np.array([row(["x"], same)])) == 0
    assert math.isnan(bleu(np.zeros((0, 10), dtype=np.int64)))


SENTENCES = st.text(st.sampled_from("ab ,.'-1&ü\n\"Z"), max_size=25)


@settings(max_examples=100)
@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6))
def test_sentences_add_up_to_sacrebleus_score(pairs: list[tuple[str, str]]) -> None:
    sacrebleu = pytest.importorskip("sacrebleu", reason="sacreBLEU is not installed")
    hypotheses, references = (list(side) for side in zip(*pairs, strict=True))
    statistics = bleu_statistics(hypotheses, references)
    metric = sacrebleu.BLEU(force=True)
    wanted = metric.corpus_score(hypotheses, [references])
    assert statistics.sum(0).tolist() == [
        wanted.sys_len, wanted.ref_len, *wanted.counts, *wanted.totals,
    ]  # fmt: skip
    assert bleu(statistics) == pytest.approx(wanted.score, abs=1e-9)
    assert bleu(statistics) == pytest.approx(
        sacrebleu.corpus_bleu(hypotheses, [references], force=True).score, abs=1e-9
    )
    assert bleu_signature() == metric.get_signature().format()


def test_counts_are_of_whole_sentences() -> None:
    pytest.importorskip("sacrebleu", reason="sacreBLEU is not installed")
    assert bleu_statistics(["a b c d x"], ["a b c d e"]).tolist() == [
        [5, 5, 4, 3, 2, 1, 5, 4, 3, 2]
    ]
    assert bleu_statistics([], []).shape == (0, 10)


def test_without_sacrebleu_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(HeedfulError, match=r"heedful\[hf\]"):
        bleu_statistics(["a"], ["a"])
    with pytest.raises(HeedfulError, match="1 translations and 2 references"):
        bleu_statistics(["a"], ["a", "b"])
