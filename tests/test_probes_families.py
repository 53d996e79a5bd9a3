"""Every probe on every family it fits: many classes, candidates, heads, steps, sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from counted import count_by_blanks
from heedful.experiments import PROBES, Evidence, Findings
from heedful.models import build, probabilities
from heedful.runner import unfit
from heedful.specs import ModelSpec
from probing import accompanied
from tiny_pairs import WIDTH, WORDS, rows_of, tiny_pairs, tiny_writer
from translations import classified, side_of, tiny_translations, writing_evidence

CLASSES = 5
SPECS = {
    "pair-linear": ModelSpec("bilstm", hidden=8, family="pair", decoder="context"),
    "pair-query": ModelSpec("bilstm", hidden=8, family="pair", decoder="query"),
    "pair-both": ModelSpec("bilstm", "trilinear", hidden=8, family="biattention"),
    "hierarchical": ModelSpec("bigru", hidden=8, family="hierarchical"),
    "gate": ModelSpec("bilstm", "gate", hidden=8),
    "sparsemax": ModelSpec("bilstm", "sparsemax", hidden=8),
    "structured": ModelSpec("bilstm", "structured", hidden=8),
    "hard": ModelSpec("bilstm", "hard", hidden=8),
}
WRITERS = ("additive", "prenorm")
PARAMS: dict[str, dict[str, Any]] = {
    "extracted": {"epochs": 30},
    "adversarial": {"search_steps": 2, "search_candidates": 2},
    "permutation": {"permutations": 5},
    **{
        name: {"resamples": 5}
        for name in ("score", "substitution", "layers", "translation", "guides")
    },
    "alignment": {"resamples": 5},
    "seeds": {"count": 2},
    "frontier": {"weights": (0.0,), "labels": (1.0,)},
    "mutual_information": {"resamples": 5},
}
LONG = ("adversarial", "layers", "substitution", "translation")
CASES = [
    pytest.param(family, name, marks=[pytest.mark.slow] * (family in WRITERS and name in LONG))
    for family in (*SPECS, *WRITERS)
    for name in PROBES
]


def seen(family: str, batch_size: int) -> Evidence:
    split = tiny_translations((4, 1, 6, 3, 5, 2), (3, 5, 1, 4, 8, 2))
    if family in WRITERS:
        return writing_evidence(tiny_writer(family), split, batch_size)
    vectors = torch.randn(WORDS, WIDTH, generator=torch.Generator().manual_seed(0))
    model = build(SPECS[family], vectors, CLASSES, 0).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 2
    if not family.startswith("pair"):
        rows = rows_of(tiny_pairs((4, 1, 6, 3, 5, 2), (1,) * 6), "a")
        split = type(split)(split.ids, split.labels, {"a": side_of(rows, sentences=3)})
    split = classified(split, CLASSES, candidates=family.startswith("pair"))
    return Evidence({"base": model}, split, 5, batch_size=batch_size, training=split)


def run(family: str, name: str, batch_size: int) -> Findings:
    params = PARAMS.get(name, {})
    evidence = accompanied(seen(family, batch_size), name, **params)
    found: Findings = PROBES[name].make(evidence, **params)
    return found


@pytest.mark.parametrize(("family", "name"), CASES)
def test_it_runs_or_says_why_not_and_batches_do_not_matter(
    family: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_by_blanks(monkeypatch)
    if unfit(name, seen(family, 64)):
        assert PROBES[name].needs
        return
    one, many = (run(family, name, size).rows for size in (2, 64))
    assert one["measure"].tolist() == many["measure"].tolist()
    np.testing.assert_allclose(one["value"], many["value"], atol=1e-8, rtol=0)
    assert not one["value"].isna().all()


def test_what_does_not_apply_is_told() -> None:
    skipped = {family: _skipped(family) for family in (*SPECS, *WRITERS)}
    writing = {"translation", "alignment"}
    assert skipped["pair-linear"] >= {"rationale", "layers", *writing}
    assert "correlation" in skipped["hierarchical"] and "layers" not in skipped["hierarchical"]
    assert skipped["gate"] >= {"erasure", "flips", "importance_sets", "adversarial"}
    assert {"mutual_information", "token_probability"} <= skipped["hierarchical"]
    assert "conicity" not in skipped["hierarchical"] and "conicity" in skipped["prenorm"]
    assert "score" in skipped["prenorm"] and "translation" not in skipped["prenorm"]


def _skipped(family: str) -> set[str]:
    return {name for name in PROBES if unfit(name, seen(family, 64))}


@pytest.mark.parametrize("name", ["erasure", "permutation"])
def test_impossible_classes_stay_so(name: str) -> None:
    """Whatever the weights, a class that is no candidate has no probability."""
    found = run("pair-linear", name, 64).rows
    assert np.isfinite(found["value"].dropna()).all()
    evidence = seen("pair-linear", 64)
    (each,) = evidence.passes("")
    candidates = each.batch.candidates
    assert candidates is not None
    assert float(probabilities(each.trace.logits)[~candidates].max()) == 0


def test_one_row_for_each_head_of_the_step_looked_at() -> None:
    rows = run("prenorm", "erasure", 64).rows
    top = rows[rows["measure"] == "js_top"]
    assert set(top["site"]) == {"decoder.1.cross"} and len(top) == 6 * 4
    evidence = seen("prenorm", 64)
    last = {
        i: len(ids) - 1 for i, ids in zip(evidence.data.ids, evidence.data.tokens["b"], strict=True)
    }
    assert all(
        query == last[example] for example, query in zip(top["example"], top["query"], strict=True)
    )
