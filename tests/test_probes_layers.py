"""Layers edited one after the other: groups by name, effects by running the model."""

from __future__ import annotations

import pandas as pd
import pytest
import torch

from counted import count_by_blanks, counts
from heedful.errors import HeedfulError
from heedful.experiments import (
    PROBES,
    Evidence,
    Findings,
    ForwardBatch,
    Intervention,
    base_trace,
    cumulative,
    edits_of,
    group_of,
    groups,
    stacks,
    written_texts,
)
from heedful.metrics import bleu, tvd
from heedful.models import probabilities
from heedful.types import SiteSpec
from layered import Layered, layered_batch
from tiny import tiny_split
from tiny_hf import attached_bert
from tiny_pairs import tiny_writer
from translations import tiny_translations, writing_evidence


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    count_by_blanks(monkeypatch)


@pytest.mark.parametrize(
    ("site", "group"),
    [
        ("encoder.3", "encoder"),
        ("decoder.0.cross", "decoder.cross"),
        ("layer11", "layer"),
        ("bert.encoder.layer.3.attention.self", "bert.encoder.layer.attention.self"),
        ("albert.groups.0.layers.0.attention#4", "albert.groups.layers.attention"),
        ("0.attention", "attention"),
        ("sentences", "sentences"),
    ],
)
def test_layers_of_a_kind_differ_in_numbers_only(site: str, group: str) -> None:
    assert group_of(site) == group


def test_stacks_grow_from_both_ends() -> None:
    names = ["encoder.0", "decoder.0.self", "encoder.1", "decoder.1.self", "encoder.2"]
    sites = [SiteSpec(name, "a", "tokens", False) for name in names]
    assert groups(sites)["decoder.self"] == ("decoder.0.self", "decoder.1.self")
    found = {stack.name: stack.sites for stack in stacks(sites)}
    assert found == {
        "encoder:first=1": ("encoder.0",),
        "encoder:first=2": ("encoder.0", "encoder.1"),
        "encoder:first=3": ("encoder.0", "encoder.1", "encoder.2"),
        "encoder:last=1": ("encoder.2",),
        "encoder:last=2": ("encoder.1", "encoder.2"),
        "decoder.self:first=1": ("decoder.0.self",),
        "decoder.self:first=2": ("decoder.0.self", "decoder.1.self"),
        "decoder.self:last=1": ("decoder.1.self",),
    }


@pytest.mark.parametrize("mode", ["recomputed", "held"])
@pytest.mark.parametrize("edit", ["permute", "uniform"])
def test_effects_are_what_the_edited_model_gives(edit: str, mode: str) -> None:
    model, batch = Layered(layers=3), layered_batch((4, 1, 6))
    trace = base_trace(model, batch)
    before = probabilities(trace.logits)
    for stack, found in cumulative(ForwardBatch.of(model, batch), edit, mode, seed=7).items():
        edits = edits_of(
            ForwardBatch(model, batch, trace), Intervention(edit, stack.sites, mode, seed=7)
        )
        with torch.no_grad():
            after = probabilities(model(batch, edits).logits)
        torch.testing.assert_close(found.tvd, tvd(after, before), atol=1e-12, rtol=0)
        assert found.predicted.tolist() == after.argmax(-1).tolist()
        if mode == "recomputed":
            assert set(edits) == set(stack.sites)


def test_the_probe_scores_every_stack() -> None:
    model, split = Layered(layers=2), tiny_split((4, 1, 6, 3, 5), classes=3)
    model.sites = tuple(
        SiteSpec(site.name, site.keys, site.level, False, main=i == 1)
        for i, site in enumerate(model.sites)
    )
    results = [_layers(Evidence({"base": model}, split, 5, batch_size=n)) for n in (2, 64)]
    pd.testing.assert_frame_equal(results[0].rows, results[1].rows)
    rows = results[0].rows
    wide = rows[rows["head"] == 0].pivot(index="example", columns="measure", values="value")
    batch = split.batch(range(len(split)))
    lines = _all(results[0])
    for stack, effect in cumulative(ForwardBatch.of(model, batch), "permute", seed=5).items():
        order = list(split.ids)
        assert wide.loc[order, f"tvd:{stack.name}"].tolist() == pytest.approx(effect.tvd.tolist())
        right = (effect.predicted == split.labels).double()
        assert lines.loc[f"score:{stack.name}", "mean"] == pytest.approx(right.mean().item())
    assert lines.loc["score", "mean"] == wide["correct"].mean()
    assert lines.loc["score", "low"] <= lines.loc["score", "mean"] <= lines.loc["score", "high"]


def _layers(seen: Evidence, **params: object) -> Findings:
    found: Findings = PROBES["layers"].make(seen, resamples=10, **params)
    return found


def _all(found: Findings) -> pd.DataFrame:
    assert found.summary is not None
    return found.summary[found.summary["group"] == "all"].set_index("measure")


@pytest.mark.usefixtures("counted")
def test_a_writing_model_is_scored_by_what_it_writes() -> None:
    model, split = tiny_writer("prenorm"), tiny_translations()
    seen = writing_evidence(model, split)
    lines = _all(_layers(seen, edit="uniform"))
    kinds = {stack.group for stack in stacks(model.sites)}
    assert kinds == {"encoder", "decoder.self", "decoder.cross"}
    stack = next(s for s in stacks(model.sites) if s.name == "decoder.cross:first=2")
    edits = edits_of(
        ForwardBatch.of(model, seen.data.batch([0])),
        Intervention("uniform", stack.sites),
    )
    texts = written_texts(seen, model, edits)
    references = [split.text(i, "b") for i in range(len(split))]
    expected = bleu(counts(texts, references))
    assert lines.loc["score:decoder.cross:first=2", "mean"] == pytest.approx(expected)
    with pytest.raises(HeedfulError, match="mode=recomputed"):
        _layers(seen, mode="held")


def test_hugging_face_models_are_taken_apart_the_same_way() -> None:
    with attached_bert() as (model, batch):
        found = cumulative(ForwardBatch.of(model, batch))
    assert len({stack.group for stack in found}) == 1
    assert [len(stack.sites) for stack in found] == [1, 2, 1]
    assert all(float(effect.tvd.max()) > 0 for effect in found.values())
