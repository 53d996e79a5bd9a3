"""`bench.gpu`: operations counted, kernels summed, bounds named, rows kept; no card needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from bench.audit_time import row as audit_time
from bench.gpu import command
from bench.gpu_audit import measures, rankings
from bench.gpu_rates import (
    ARITHMETIC,
    HOST,
    MEMORY,
    STEPS,
    Kernels,
    bound,
    counted,
    kernels,
    rates,
    recurrent,
    recurrent_backward,
    summed,
    timed,
)
from bench.gpu_training import Run, _row, deletion_bytes
from bench.made_up_models import Shape, made
from bench.report import Report, markdown

from heedful.auditing import AuditSpec
from heedful.experiments import Evidence
from heedful.models import Recurrent, build
from heedful.specs import ModelSpec
from tiny_hf import tiny_hf
from tiny_tokenizers import word_pieces

CARD = {"fp32_flops": 100.0, "bf16_flops": 400.0, "copy_bytes": 1000.0}


def test_products_are_counted_in_place_too() -> None:
    a, b, out = torch.rand(2, 3), torch.rand(3, 5), torch.rand(2, 5)
    assert counted(lambda: a @ b) == counted(lambda: out.addmm_(a, b)) == 2 * 2 * 3 * 5


def test_slopes_are_counted_where_a_gradient_is_asked_for() -> None:
    a, b = torch.rand(2, 3, requires_grad=True), torch.rand(3, 5)
    assert counted(lambda: torch.autograd.grad((a @ b).sum(), a)) == 2 * (2 * 2 * 3 * 5)


def test_the_formula_of_a_recurrent_layer_is_what_its_steps_are_counted_as() -> None:
    # in double precision torch has no fused layer on a CPU
    encoder, tokens = Recurrent(6, 1, 4, bidirectional=True).double(), 7
    x = torch.rand(1, tokens, 6).double()
    written_out = counted(lambda: encoder(x, torch.tensor([tokens])))
    weights = [each.detach() for each in encoder.stack[0].parameters()]
    assert recurrent(x[0], weights) == written_out == 2 * tokens * 2 * 16 * (6 + 4)
    assert recurrent_backward(x[0], weights, [True, False, False, True]) == 2 * written_out
    assert recurrent_backward(x[0], weights, [True, False, False, False]) == written_out


def test_the_least_bytes_of_deletions_go_with_the_steps() -> None:
    """T·(T + 1) steps of a text of T tokens between a start and an end, as none ends early."""
    data = made(Shape(length=4, vocabulary=30, dimension=6), {"test": 3})
    model = build(ModelSpec(hidden=8), data.vectors, 2, 0)
    evidence = Evidence({"base": model}, data.split("test"), 0)
    steps = sum(n * (n + 1) for n in data.split("test").lengths.tolist())
    readout = model.attention.linear()[0].shape[0] + model.decoder.out_features  # type: ignore[operator]
    assert deletion_bytes(evidence) == steps * 4 * (8 * 8 + 2 * readout)


def test_walks_that_end_early_move_less() -> None:
    data = made(Shape(length=200, vocabulary=30, dimension=6), {"test": 1})
    model = build(ModelSpec(hidden=8), data.vectors, 2, 0)
    evidence = Evidence({"base": model}, data.split("test"), 0)
    readout = model.attention.linear()[0].shape[0] + model.decoder.out_features  # type: ignore[operator]
    (n,) = data.split("test").lengths.tolist()
    assert 0 < deletion_bytes(evidence) < n * (n + 1) * 4 * (8 * 8 + 2 * readout) / 2


def test_kernels_that_overlap_count_once() -> None:
    found = summed([("a", 0.0, 10.0), ("b", 5.0, 12.0), ("a", 6.0, 7.0), ("b", 20.0, 30.0)])
    assert found == Kernels(pytest.approx(22e-6), 4, "b", pytest.approx(17 / 28))
    assert kernels(lambda: None, "cpu") is None
    assert timed(lambda: None, "cpu") >= 0


@pytest.mark.parametrize(
    ("busy", "peak", "moved", "expected"),
    [
        (0.1, 0.0, 0.0, HOST),
        (0.9, 0.1, 0.1, STEPS),
        (0.9, 0.6, 0.5, ARITHMETIC),
        (0.9, 0.1, 0.6, MEMORY),
    ],
)
def test_what_bounds(busy: float, peak: float, moved: float, expected: str) -> None:
    assert bound(busy, peak, moved) == expected


def test_shares_are_of_the_precisions_own_peak() -> None:
    seen = Kernels(1.0, 5, "k", 0.5)
    found = rates(CARD, 2.0, 100.0, 500.0, seen)
    assert (found["peak_share"], found["bandwidth_share"], found["busy"]) == (0.5, 0.25, 0.5)
    assert rates(CARD, 2.0, 100.0, 0.0, None, "bf16")["peak_share"] == 0.125


def test_rankings_and_measures_beside_another_precision() -> None:
    first = pd.DataFrame(
        {"example": ["x", "y"], "explanation": "a", "scores": [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]}
    )
    other = first.assign(scores=[[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    assert rankings(first, first) == {"a": 1.0}
    assert rankings(first, other) == {"a": pytest.approx(0.0)}
    keys = {"model": "base", "explanation": "a", "operator": "", "measure": "m"}
    rows = pd.DataFrame({"example": ["x", "y"], "value": [0.0, 1.0], **keys})
    gaps = measures(rows, rows.assign(value=[0.5, 0.5]))["m"]
    assert (gaps["each"], gaps["mean"]) == (0.5, 0.0)


def test_rows_are_on_disk_before_the_next_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    report = Report(path, "bench.gpu", 99.0, keep=False)

    def work() -> Iterator[dict[str, Any]]:
        yield {"n": 1}
        assert json.loads(path.read_text())["part"] == [{"n": 1}]
        raise RuntimeError("the card is gone")

    report.collect("part", work)
    found = json.loads(path.read_text())
    assert found["part"] == [{"n": 1}]
    assert found["left_out"] == {"part": "RuntimeError: the card is gone"}
    again = Report(path, "bench.gpu", 0.0, keep=True)
    again.collect("other", lambda: iter([{"n": 2}, {"n": 3}]))
    found = json.loads(path.read_text())
    assert (found["part"], found["other"]) == ([{"n": 1}], [{"n": 2}])  # and no time for a third
    assert "stopped" in found["left_out"]["other"]


def test_texts_have_the_marks_and_lengths_that_were_asked_for() -> None:
    shape = Shape("generation", 10, 6, 40, 8, marks=("alignment",))
    split = made(shape, {"test": 20}).split("test")
    assert split.alignments is not None and split.sides["a"].impermissible is None
    assert split.lengths.min() >= 5 and split.lengths.max() <= 15
    side = split.sides["a"]
    words = [side.texts[0][s:e] for s, e in zip(side.starts[0], side.ends[0], strict=True)]
    assert words == [f"w{number}" for number in side.tokens[0][1:-1]]


def test_a_row_of_training_and_the_page_that_shows_it() -> None:
    row = _row(Run("average", "SST", 4, quick=True), CARD, "cpu")
    assert row["texts_per_second"] == pytest.approx(4000 / row["ms_per_update"])
    assert row["flops"] > 0 and row["busy"] is None
    shown = markdown({"training": [row], "left_out": {"audits": "no time"}})
    assert "| average | SST | 4 |" in shown and "Left out: audits: no time." in shown
    assert "### The battery" not in shown


def test_the_grid_is_asked_for_as_a_user_would(tmp_path: Path) -> None:
    words = command(4, "cuda", tmp_path, quick=False)
    asked = dict(pairwise(words))
    assert (asked["--workers"], asked["--gpu-fraction"]) == ("4", "0.25")
    assert (asked["--engine"], asked["--device"]) == ("local", "cuda")
    assert "--gpu-fraction" not in command(4, "cpu", tmp_path, quick=True)


def test_an_audit_is_timed() -> None:
    rows = [{"text": "the film is good", "label": 1}, {"text": "it is a bad film", "label": 0}]
    spec = AuditSpec(("attention",), only=("interventions", "heads"))
    found = audit_time((tiny_hf(), word_pieces()), rows, 2, spec, device="cpu")
    assert found["texts"] == 2 and found["rows"] > 20 and 0 < found["first_seconds"] < 60
    assert found["peak_rss_bytes"] > 10**7 and "device_busy" not in found
