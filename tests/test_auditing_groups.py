"""Groups of measurements by their names, and what each explanation uses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import heedful
from heedful.attributions import SALIENCIES, check_uses
from heedful.auditing import (
    BASELINES,
    GROUPS,
    NUMBERS,
    Audit,
    AuditSpec,
    Decisions,
    asked,
    compare,
    explained,
    identity,
    named,
    spec_digest,
)
from heedful.auditing import measure as measuring
from heedful.cli import main
from heedful.data import prepare
from heedful.entries import Piece
from heedful.errors import HeedfulError
from heedful.experiments import ERASER_MEASURES, SINK_MEASURES
from heedful.metrics import f1_of_means
from heedful.parameters import parameters_of
from heedful.runner import Machine, Recipe, trained
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store
from heedful.targets import open_target
from heedful.verdict import Settings, importance_cells, tabulate_blocks

pytest.importorskip("transformers")

from audited import (
    ERASURE,
    IMPORTANCE,
    MOVED,
    PLANTED,
    PLAUSIBLE,
    SMALL,
    audit,
    bert,
    planted_run,
    texts,
    values,
)
from tiny_hf import tiny_hf
from tiny_tokenizers import word_pieces


@pytest.fixture(scope="module")
def run(store: Store) -> Run:
    return planted_run(store)


@pytest.fixture(scope="module")
def of_run(run: Run) -> Audit:
    return audit(run, spec=SMALL)


def test_two_names_of_one_operator_count_once(run: Run) -> None:
    """A model without a mask token is shown its unknown word by both."""
    erased = replace(SMALL, only=("importance",))
    found = audit(run, spec=replace(erased, operators=("mask", "unk")))
    assert found.facts["operators"] == ["mask"]
    assert set(found.rows["operator"]) == {"", "mask"}
    assert any("mask and unk are the same" in note for note in found.facts["notes"])
    assert "at least 2 removal operators" in found.verdict["importance"].blocked
    renamed = audit(run, spec=replace(erased, operators=("unk", "delete")))
    assert renamed.facts["operators"] == ["mask", "delete"]
    usual = audit(run, spec=erased)
    assert not any("mask" in note for note in usual.facts["notes"])
    pd.testing.assert_frame_equal(renamed.rows, usual.rows)


def test_a_mask_of_its_own_is_another_operator() -> None:
    spec = replace(SMALL, only=("erasure",), operators=("mask", "unk", "mask"))
    found = audit(bert(), texts(3), spec)
    assert found.facts["operators"] == ["mask", "unk"] and not found.facts["notes"]


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("attention", ()),
        ("gradient_input", ()),
        ("leave_one_out", ("delete",)),
        ("occlusion", ("delete",)),
        ("occlusion:operator=zero", ("zero",)),
        ("occlusion:magnitude=true,operator=mask", ("mask",)),
        ("lime", ("mask",)),
        ("kernel_shap:samples=20,operator=delete", ("delete",)),
        ("integrated_gradients", ("mask",)),
        ("integrated_gradients:baseline=zero", ("zero",)),
        ("integrated_gradients:baseline=pad", ("zero",)),  # padding's embedding is zero
    ],
)
def test_what_an_explanation_uses(name: str, uses: tuple[str, ...]) -> None:
    assert named(name).uses == uses


def test_every_explanation_of_ours_says_what_it_uses() -> None:
    for name in SALIENCIES.modules:
        piece = SALIENCIES[name]
        check_uses(piece)
        ways = {"operator", "baseline"} & set(parameters_of(piece.make))
        assert {f"={way}" for way in ways} <= set(piece.uses or ()), name


def test_no_explanation_is_scored_by_what_made_it(run: Run) -> None:
    """Integrated gradients by their baseline, a stranger's by what it declares; a model without
    a mask of its own masks with its unknown word."""
    mine = Piece("mine", "", SALIENCIES["gradient"].make, uses=("delete",))
    heedful.extend("saliency", mine)
    try:
        unknown = "integrated_gradients:baseline=unk"
        names = ("attention", "integrated_gradients", unknown, "occlusion", "mine")
        spec = replace(SMALL, explanations=names, only=("importance",))
        of_run, of_bert = audit(run, spec=spec, n=4), audit(bert(), texts(4), spec)
    finally:
        SALIENCIES.added.clear()
    uses = {"integrated_gradients": ["mask"], "occlusion": ["delete"], "mine": ["delete"]}
    assert of_run.verdict.settings["uses"] == {**uses, unknown: ["mask"]}
    assert of_bert.verdict.settings["uses"] == {**uses, unknown: ["unk"]}
    chosen, table = Settings.from_dict(of_run.verdict.settings), tabulate_blocks([of_run.rows])
    scored = {
        name: {cell.operator for cell in importance_cells(table, "base", name, chosen)}
        for name in names
    }
    assert scored == {
        "attention": {"delete", "mask"},
        "integrated_gradients": {"delete"},
        unknown: {"delete"},
        "occlusion": {"mask"},
        "mine": {"mask"},
    }
    ranked = {each.explanation for each in of_run.verdict.recommendation.ranked}
    assert ranked <= set(names)


def test_usual_explanations_are_asked_of_models_and_units_that_they_are_for(run: Run) -> None:
    usual = AuditSpec().explanations
    with open_target(bert(double=True), texts(2)) as of_words:
        assert asked(of_words, usual, ()) == usual
        of_sentences = replace(of_words, unit="sentence")
        longer = [name for name in usual if name != "decompx"]
        assert list(asked(of_sentences, usual, ())) == longer
        assert asked(of_sentences, usual, {"decompx"}) == usual
    with open_target(run, None, n=2) as ours:
        plain = [name for name in longer if name != "attnlrp"]
        assert list(asked(ours, usual, ())) == plain
        assert identity(ours, AuditSpec()) == identity(ours, AuditSpec(tuple(plain)))
        assert identity(ours, AuditSpec(), {"attnlrp"}) != identity(ours, AuditSpec())


def test_every_run_of_a_hugging_face_model_counts() -> None:
    with open_target(bert(double=True), texts(3)) as subject:
        batch = subject.encode(np.arange(3))
        made = Decisions(subject.model, batch, batch.labels)
        names = ("attnlrp", "decompx", "leave_one_out")
        costs = explained(made, [named(name) for name in names], "logit", {}).costs
    tokens = batch.texts["a"].tokens.shape[1]
    assert costs["attnlrp"].passes == 3
    assert costs["decompx"].passes == 3 * (tokens + 1) + 3  # its copies, and the text itself
    assert costs["leave_one_out"].passes > 3  # runs that need the logits alone, too


def test_groups_are_known_by_their_earlier_names() -> None:
    """And audits that were stored under them are found."""
    spec = AuditSpec(only=("exclusivity", "erasure", "health", "sanity"))
    assert spec == AuditSpec(only=("uniqueness", "erasure", "randomization_check", "map_sanity"))
    assert spec_digest(AuditSpec()) == "5d5d6c0b7a3abe5d"
    assert spec_digest(AuditSpec(only=("map_sanity", "erasure", "health"))) == "eb3252eee9ffb655"


def test_only_some_groups() -> None:
    rows = [{**row, "why": [[0, 2]]} for row in texts(4)]
    groups = {
        "interventions": {"correct", "tvd", "tvd_permuted"}
        | {f"{by}_{item}" for by in ("js", "tvd") for item in ("top", "random", "best")},
        "agreement": {"tau:occlusion", "tau:integrated_gradients"},
        "erasure": ERASURE,
        "plausibility": PLAUSIBLE,
        "uniqueness": {"jsd_same_output", "jsd_same_output_ratio", "jsd_entropy_matched"},
    }
    assert set(groups) <= set(GROUPS)
    for group, measures in groups.items():
        spec = replace(SMALL, only=(group,))
        found = audit(bert(), rows, spec, rationale_column="why")
        assert set(found.rows["measure"]) - {*SINK_MEASURES, "tie_rate"} == measures, group
        assert found.verdict.decision == "INCONCLUSIVE"


def test_what_needs_weights_that_sum_to_one_is_left_out_for_gates(store: Store) -> None:
    gate, softmax = (
        trained(
            store,
            prepare(PLANTED, store),
            Recipe(ModelSpec("average", attention, hidden=8), TrainSpec(epochs=1), 0),
            Machine(),
        )
        for attention in ("gate", "additive")
    )
    spec = replace(MOVED, only=("interventions", "uniqueness", "null_space"))
    whole, found = (audit(each, spec=spec, n=4) for each in (softmax, gate))
    needed = {"js_top", "tvd_best", "jsd_same_output", "jsd_entropy_matched", "reachable"}
    needed.add("null_space_jsd")
    assert needed <= set(whole.rows["measure"]) and not whole.facts["skipped"]
    assert not needed & set(found.rows["measure"])
    assert {"tvd", "tvd_permuted"} <= set(found.rows["measure"])
    skipped = found.facts["skipped"]
    assert set(skipped) == {"erasure of an item of attention", "uniqueness", "null_space"}
    assert all("this model has a gate" in why for why in skipped.values())


def test_importance_can_be_measured_alone(store: Store) -> None:
    """Of every explanation and the oracle, by each operator; a random order finds nothing."""
    corpus = prepare(PLANTED, store)
    run = trained(store, corpus, Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 0), Machine())
    maps = {"attention", "gradient_input", "occlusion"}
    spec = replace(SMALL, explanations=tuple(sorted(maps)), only=("importance",))
    found = audit(run, spec=spec, n=8).rows
    held = found[found["measure"] == "importance_captured"]
    sinks = {"attention:sinks=first", "attention:sinks=punctuation"}  # one head: no special
    assert set(held["explanation"]) == {*maps, *BASELINES, "search", *sinks}
    assert set(held["operator"]) == {"delete", "mask"} and held["value"].between(-1, 1).all()
    means = held.groupby("explanation")["value"].mean()
    assert means["search"] > 0.1 and abs(means["random"]) < 0.1
    tau = found[found["measure"] == "importance_tau"]
    assert set(tau["explanation"]) == {*maps, *BASELINES, "search"}


def test_layers_and_heads_are_scored_by_the_importance_they_capture(of_run: Audit) -> None:
    """As if each had been asked for by name; the last layer's mean is `attention` itself."""
    spec = replace(SMALL, explanations=("attention",), only=("importance", "heads"))
    free = values(audit(bert(), texts(5), spec, dtype="float64"))
    sites = sorted({name for name in free.index.get_level_values(2) if "layer" in name})
    heads = [f"attention:layer={layer},head={head}" for layer in (0, 1) for head in (0, 1)]
    assert sites == sorted(["attention:layer=0", *heads])
    asked = replace(spec, explanations=("attention", *sites), only=("importance",))
    named = values(audit(bert(), texts(5), asked, dtype="float64"))
    chosen = named[named.index.get_level_values("measure") == "importance_captured"]
    assert np.allclose(free.reindex(chosen.index), chosen, rtol=0, atol=1e-9, equal_nan=True)
    alone = replace(spec, only=("importance",))
    assert not values(audit(bert(), texts(2), alone)).index.get_level_values(2).isin(sites).any()
    held = of_run.rows.query("measure == 'importance_captured'")
    assert not held["explanation"].str.contains("layer=").any()  # one layer of one head


def test_only_so_many_heads_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MOST_SITES", 2)
    spec = replace(SMALL, explanations=("attention",), only=("importance", "heads"))
    found = audit(bert(), texts(2), spec)
    rows = found.rows.query("measure == 'importance_captured'")
    sites = {name for name in rows["explanation"] if "layer" in name}
    assert sites == {"attention:layer=0", "attention:layer=0,head=0"}
    assert "only the first 2 were scored" in found.facts["skipped"]["other layers and heads"]


@pytest.mark.parametrize(("target", "size"), [("probability", 1e-3), ("logit", 1e-3)])
def test_where_no_word_matters_nothing_is_captured(target: str, size: float) -> None:
    model, tokenizer = tiny_hf(), word_pieces()
    spec = replace(SMALL, target=target, explanations=("attention",), only=("importance",))
    usual = audit((model, tokenizer), texts(3), spec).rows.query("operator != ''")
    with torch.no_grad():
        model.classifier.weight.mul_(size)
    found = audit((model, tokenizer), texts(3), spec).rows.query("operator != ''")
    assert set(found["measure"]) == IMPORTANCE and found["value"].isna().all()
    assert usual["value"].notna().any()


def test_candidates_are_measured_on_request() -> None:
    """Of every map by each operator; with importance they ask for no drawn set again."""
    spec = replace(SMALL, explanations=("attention", "gradient_input"), only=("candidates",))
    found = audit(bert(), texts(3), spec).rows.query("operator != ''")
    assert set(found["measure"]) == set(NUMBERS["candidates"])
    assert set(found["explanation"]) == {"attention", "gradient_input", *BASELINES}
    assert set(found["operator"]) == {"delete", "mask"} and set(found["model"]) == {"base"}
    with_both = audit(bert(), texts(3), replace(spec, only=("importance", "candidates")))
    same = with_both.rows[with_both.rows["measure"].isin(set(found["measure"]))]
    assert np.allclose(same["value"], found["value"], equal_nan=True)


def test_infidelity_is_measured_on_request(store: Store) -> None:
    """Random sets by each operator, and noise for the maps that take the text as it is."""
    corpus = prepare(PLANTED, store)
    run = trained(store, corpus, Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 0), Machine())
    maps = ("attention", "gradient_input", "occlusion")
    found = audit(run, spec=replace(SMALL, explanations=maps, only=("infidelity",)), n=4).rows
    gaps = found[found["measure"] == "infidelity"]
    assert set(gaps["explanation"]) == {*maps, *BASELINES}
    assert set(gaps["operator"]) == {"delete", "mask"} and (gaps["value"] >= 0).all()
    noisy = found[found["measure"] == "max_sensitivity"]
    assert set(noisy["explanation"]) == {"attention", "gradient_input"}
    assert noisy["value"].between(0, 5).all() and (noisy["value"] > 0).any()


def test_eraser_is_measured_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Words that people marked: the first of six and the first two of four, so a third of the
    words on average. Precision and recall are joined by `compare`."""
    rows = [
        {"text": "good film the plot it was", "label": 1, "why": [[0, 4]]},
        {"text": "good film is great", "label": 0, "why": [[0, 9]]},
        {"text": "dull story", "label": 0, "why": []},
    ]
    spec = replace(SMALL, explanations=("attention", "occlusion"), only=("eraser",))
    with open_target(bert(), rows, rationale_column="why") as subject:
        assert subject.marked_share == pytest.approx(1 / 3)
    found = audit(bert(), rows, spec, rationale_column="why")
    names = set(ERASER_MEASURES)
    assert set(found.rows["measure"]) - SINK_MEASURES.keys() == names
    erased = found.rows[found.rows["measure"] == "eraser_sufficiency"]
    assert set(erased["operator"]) == {"delete", "mask"} and set(erased["model"]) == {"base"}
    mine = found.rows.query("explanation == 'attention' and operator == ''")
    wide = mine.pivot(index="example", columns="measure", values="value")
    marked = wide.dropna(subset=["eraser_auprc"])
    assert len(marked) == 2
    tokens = marked[["eraser_token_precision", "eraser_token_recall"]]
    assert tokens.isin([0.0, 0.5, 1.0]).all(axis=None)  # two words of each are chosen
    found.save(tmp_path / "one")
    assert main(["compare", str(tmp_path / "one"), "--measure", "eraser_iou_f1", "--json"]) == 0
    compared = {row["explanation"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    parts = (marked[f"eraser_iou_{part}"].to_numpy() for part in ("precision", "recall"))
    assert compared["attention"]["mean"] == pytest.approx(f1_of_means(*parts))
    assert compared["attention"]["n"] == 2
    with pytest.raises(HeedfulError, match="did you mean 'eraser_iou_f1'"):
        compare({"one": found}, "eraser_iou_f")


def test_eraser_without_rationales_is_about_erasure_and_always_of_probabilities() -> None:
    spec = replace(SMALL, explanations=("attention",), only=("erasure", "eraser"))
    plain, logits = (
        audit(bert(), texts(3), replace(spec, target=target)).rows
        for target in ("probability", "logit")
    )
    names = {"eraser_comprehensiveness", "eraser_sufficiency"}
    assert {name for name in plain["measure"] if name.startswith("eraser")} == names
    one, two = (
        rows[rows["measure"].isin(names)].reset_index(drop=True) for rows in (plain, logits)
    )
    pd.testing.assert_frame_equal(one, two)
    ours = [rows[rows["measure"] == "comprehensiveness"]["value"] for rows in (plain, logits)]
    assert not np.allclose(*ours)
