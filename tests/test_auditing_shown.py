"""What an audit keeps to show single texts: exact enough to drag, and no explanation of its own."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from heedful.auditing import BASELINES, Audit, AuditSpec, PageData, Plan, audit, over_seeds
from heedful.auditing import page_data as showing
from heedful.data import default_spec, prepare
from heedful.experiments import ExclusivityParams, ForwardBatch, base_trace, exclusivity
from heedful.metrics import jsd
from heedful.models import probabilities
from heedful.report import audit_cells, beside, evidence_of, gather, put_examples, study_cells
from heedful.runner import Machine, Reading, Recipe, probed, trained
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store
from heedful.targets import open_target
from heedful.words import word_mask
from tiny import tiny_batch, tiny_model
from word_batches import with_words

pytest.importorskip("transformers")

from tiny_hf import tiny_hf
from tiny_tokenizers import word_pieces

PLANTED = default_spec("planted", n_train=120, n_dev=20, n_test=16, dimension=8)
SPEC = AuditSpec(
    ("attention", "gradient_input", "occlusion"), ("occlusion",), permutations=2, ceiling=4,
    search_steps=3,
)  # fmt: skip
PROBES = [ProbeSpec(n) for n in ("correlation", "permutation", "reachability", "token_logits")]
TEXTS = [{"text": f"the film is {w} and {v}", "label": 0} for w in ("good", "bad") for v in "ab"]


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return Recipe(ModelSpec(hidden=8), TrainSpec(epochs=4, learning_rate=0.02), 0)


@pytest.fixture(scope="module")
def run(store: Store, recipe: Recipe) -> Run:
    return trained(store, prepare(PLANTED, store), recipe, Machine())


@pytest.fixture(scope="module")
def of_run(run: Run) -> Audit:
    return audit(run, None, SPEC)


@pytest.fixture(scope="module")
def of_bert() -> Audit:
    return audit((tiny_hf(), word_pieces()), TEXTS, SPEC)


def lists(found: Audit, kind: str, name: str) -> dict[str, np.ndarray]:
    table = found.shown
    chosen = table[(table["kind"] == kind) & (table["name"] == name)]
    return dict(zip(chosen["example"], chosen["scores"], strict=True))


def test_a_linear_model_is_repeated_to_a_millionth(run: Run, of_run: Audit) -> None:
    weights, said = lists(of_run, "weights", "attention"), lists(of_run, "logit", "0")
    with open_target(run) as subject, torch.no_grad():
        for index, document in enumerate(subject.documents):
            p = float(probabilities(subject.model(subject.encode([index])).logits)[0, 1])
            logit = float(np.dot(weights[document.id], said[document.id]))
            assert 1 / (1 + math.exp(-logit)) == pytest.approx(p, abs=1e-6)
    assert len(weights) == len(said) == 16


def test_the_furthest_attention_keeps_the_output_and_is_as_far_as_was_measured(
    of_run: Audit,
) -> None:
    far = lists(of_run, "furthest", "exact")
    weights, said = lists(of_run, "weights", "attention"), lists(of_run, "logit", "0")
    rows = of_run.rows
    apart = rows[rows["measure"] == "jsd_same_output"].set_index("example")["value"]
    for name, other in far.items():
        p, q = (1 / (1 + math.exp(-float(np.dot(w, said[name])))) for w in (weights[name], other))
        assert abs(p - q) <= SPEC.epsilon + 1e-6
        distance = float(jsd(torch.tensor(other), torch.tensor(weights[name])))
        assert distance == pytest.approx(apart[name], abs=1e-6)
    assert len(far) == 16


def test_of_other_models_what_was_searched_is_kept(of_bert: Audit) -> None:
    kinds = set(of_bert.shown["kind"])
    assert kinds == {"furthest", "removed", "curve"}
    far = lists(of_bert, "furthest", "searched")
    assert len(far) == 4 and all(0 < scores.sum() <= 1 + 1e-9 for scores in far.values())


def test_the_map_of_a_search_is_as_far_away_as_it_says() -> None:
    model, batch = tiny_model(double=True), tiny_batch((4, 9, 2))
    found = exclusivity(
        ForwardBatch(model, batch, base_trace(model, batch)), ExclusivityParams(steps=5)
    )
    own = base_trace(model, batch).weights["attention"][:, 0, 0]
    np.testing.assert_allclose(found.map, found.weights[:, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found.jsd, jsd(found.map, own), atol=1e-12)
    assert (found.tvd <= 0.01).all()


def test_curves_are_those_the_measures_were_made_of(of_run: Audit) -> None:
    """The area under what is recorded is the deletion AUC."""
    (operator,) = set(of_run.shown.loc[of_run.shown["kind"] == "removed", "name"])
    assert operator == SPEC.operators[0]
    shares = lists(of_run, "removed", operator)
    rows = of_run.rows
    for name in ("attention", "occlusion"):
        points = lists(of_run, "curve", name)
        chosen = (rows["measure"] == "deletion_auc") & (rows["explanation"] == name)
        base = rows[chosen & (rows["operator"] == operator) & (rows["model"] == "base")]
        areas = base.set_index("example")["value"]
        for text, values in points.items():
            area = np.trapezoid(values, shares[text])
            assert area == pytest.approx(areas[text], abs=1e-9)
    assert not set(BASELINES) & set(of_run.shown["name"])


def test_the_first_point_is_the_prediction(of_bert: Audit) -> None:
    confidence = of_bert.rows.drop_duplicates("example").set_index("example")["confidence"]
    for name, values in lists(of_bert, "curve", "attention").items():
        assert values[0] == pytest.approx(confidence[name], abs=1e-6) and len(values) == 6


def test_logits_have_no_curve_of_probabilities() -> None:
    found = audit((tiny_hf(), word_pieces()), TEXTS, replace(SPEC, target="logit"))
    assert set(found.shown["kind"]) == {"furthest"}


def test_an_adversary_is_no_explanation(of_run: Audit, of_bert: Audit) -> None:
    for found in (of_run, of_bert):
        named = set(found.maps["explanation"])
        assert named == {*SPEC.explanations, *BASELINES}
        assert beside(evidence_of(found.as_parts())) in named - {"attention"}
        assert "furthest" not in {str(name) for name in found.rows["explanation"]}
    together = over_seeds([of_run, of_run])
    pd.testing.assert_frame_equal(together.shown, of_run.shown)


def test_words_stand_where_they_are_said_to(of_bert: Audit, of_run: Audit) -> None:
    for found in (of_bert, of_run):
        for line in found.documents.to_dict("records"):
            spans = zip(line["starts"], line["ends"], strict=True)
            assert [line["text"][a:b] for a, b in spans] == list(line["words"])
            assert line["words_a"] == len(line["words"])


def test_of_very_many_texts_only_the_first_measured_are_kept(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("heedful.auditing.trial"), "MOST_TEXTS", 3)
    least = replace(SPEC, only=("uniqueness",), explanations=("attention",))
    found = audit(run, None, least)
    assert found.rows["example"].nunique() == 16
    assert found.shown["example"].nunique() == 3


def test_it_is_stored_saved_and_found_again(run: Run, tmp_path: Path) -> None:
    least = replace(SPEC, only=("uniqueness",), explanations=("attention",))
    kept = Store(tmp_path / "store")
    first = audit(run, None, least, plan=Plan(kept))
    again = audit(run, None, least, plan=Plan(kept))
    loaded = Audit.load(first.save(tmp_path / "folder"))
    for other in (again, loaded):
        assert other.shown["kind"].tolist() == first.shown["kind"].tolist()
        for one, two in zip(other.shown["scores"], first.shown["scores"], strict=True):
            assert np.array_equal(one, two)  # to the last bit
    (tmp_path / "folder" / "shown.parquet").unlink()
    assert Audit.load(tmp_path / "folder").shown.empty


def test_batches_change_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    least = replace(SPEC, only=("erasure",), explanations=("attention",), ceiling=0)
    whole = audit(run, None, least, dtype="float64").shown
    monkeypatch.setattr(import_module("heedful.auditing.schedule"), "TOKENS_AT_ONCE", 40)
    small = audit(run, None, least, dtype="float64").shown
    assert small[["example", "kind", "name"]].equals(whole[["example", "kind", "name"]])
    for one, two in zip(small["scores"], whole["scores"], strict=True):
        np.testing.assert_allclose(one, two, atol=1e-9)


def test_a_word_of_several_tokens_keeps_their_proportions() -> None:
    model = tiny_model(classes=3, double=True)
    batch = with_words(tiny_batch((6, 9), classes=3), gap=0)
    assert word_mask(batch.texts["a"]).sum() < 15  # a word with several tokens, one with none
    trace = base_trace(model, batch)
    seen = PageData(batch)
    seen.linear(model, trace)
    table = seen.table().set_index(["example", "kind", "name"])["scores"]
    for row, name in enumerate(batch.ids):
        weights = table[name, "weights", "attention"]
        said = np.stack([table[name, "logit", str(c)] for c in range(3)], axis=1)
        there = ~np.isnan(weights)
        assert (there == ~np.isnan(said).any(1)).all() and there.all() == (row != 0)
        np.testing.assert_allclose(weights[there] @ said[there], trace.logits[row], atol=1e-10)


def test_too_many_logits_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = tiny_model(classes=3), tiny_batch((4, 2), classes=3)
    monkeypatch.setattr(showing, "MOST_LOGITS", 2)
    seen = PageData(batch)
    seen.linear(model, base_trace(model, batch))
    assert seen.table().empty and list(seen.table()) == list(showing.COLUMNS)


class Kept(dict[str, Any]):
    def put(self, name: str, value: Any) -> None:
        self[name] = json.loads(json.dumps(value, allow_nan=False))


def test_a_study_and_an_audit_of_one_model_stand_side_by_side(
    store: Store, recipe: Recipe, run: Run, of_run: Audit
) -> None:
    found = probed(store, recipe, PROBES, Reading(0), Machine(), lambda _: run)
    runs = [each for _, each in found if isinstance(each, Run)]
    assert len(runs) == len(PROBES)
    cells = [*study_cells(gather(store, runs)), *audit_cells(evidence_of(of_run.as_parts()))]
    sheet = Kept()
    assert put_examples(sheet, cells)
    (corpus,) = sheet["examples"]["corpora"]
    assert corpus["name"] == "planted" and len(sheet["texts-c0"]["texts"]) == 16
    examples = [sheet[each["blob"]]["examples"] for each in sheet["examples"]["cells"]]
    for one, other in zip(*examples, strict=True):
        for each in (one, other):
            pairs = zip(each["maps"]["attention"], each["z"], strict=True)
            p = 1 / (1 + math.exp(-sum(a * z for a, (z,) in pairs)))
            assert (p if each["p"] == 1 else 1 - p) == pytest.approx(each["c"], abs=1e-6)
        assert one["maps"]["attention"] == pytest.approx(other["maps"]["attention"], abs=1e-7)
        assert one["reach"] == pytest.approx(other["reach"], abs=1e-4)
        assert set(other["curves"]) == set(SPEC.explanations)
