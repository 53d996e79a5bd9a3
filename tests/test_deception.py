"""Deceiving by attention: the penalty, the probe, the detector; each against a restatement."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.attributions import gradient_input, integrated_gradients, leave_one_out
from heedful.data import Blinded, Prepared, Split, blinded, default_spec, prepare
from heedful.errors import HeedfulError
from heedful.experiments import METHODS, PROBES, Evidence, Findings, decide, overlooked
from heedful.interventions import erase, weights_by_id
from heedful.models import build, probabilities
from heedful.runner import (
    Choice,
    Machine,
    Reading,
    Recipe,
    Skipped,
    estimate,
    grid,
    probed,
    recipes,
    run_study,
    trained,
    unfit,
)
from heedful.specs import ModelSpec, ProbeSpec, TermSpec, TrainSpec
from heedful.store import Run, Store
from heedful.studies import LAMBDAS
from heedful.studies.papers import PRUTHI2020 as STUDY
from heedful.targets import open_target
from heedful.training import Objective, TermContext, exposure, impermissible, loss_of, train
from probing import LENGTHS, evidence, find, table
from reference.deception import penalty, share_on, zeroed
from test_probes_families import WRITERS, seen
from tiny import tiny_model, tiny_split
from tiny_pairs import tiny_writer
from translations import tiny_translations, writing_evidence

SLOW = [("prenorm", "detector"), ("pair-query", "detector")]
DECEIVING = TermSpec("impermissible", 1.0)


def corpus(folder: Path, name: str, **sizes: int) -> Prepared:
    spec = replace(default_spec(name), params=sizes)
    return Prepared(prepare(spec, Store(folder)))


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("store")
    return corpus(folder, "deception", n_train=200, n_dev=40, n_test=60)


def test_half_of_the_attention_costs_log_two() -> None:
    weights = torch.tensor([[[[0.5, 0.3, 0.2, 0.0]], [[0.1, 0.2, 0.7, 0.0]]]])
    inside = torch.tensor([[[True, False, False, False]]])
    mask = torch.tensor([[[[True, True, True, False]]]])
    both = math.log(2), -math.log(0.9)
    assert exposure(weights, inside, mask).item() == pytest.approx(sum(both) / 2)
    assert exposure(weights, inside, mask, "max").item() == pytest.approx(both[0])
    assert exposure(weights, torch.zeros_like(inside), mask).item() == 0


def test_all_of_the_attention_costs_a_finite_number_and_is_pulled_away() -> None:
    logits = torch.tensor([[[[30.0, 0.0, 0.0]]], [[[90.0, 0.0, 0.0]]]], requires_grad=True)
    weights = logits.softmax(-1)
    inside = torch.tensor([[[True, False, False]]] * 2)
    loss = exposure(weights, inside, torch.ones(2, 1, 1, 3, dtype=torch.bool))
    loss.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(loss).all() and loss[0] > 25
    assert logits.grad is not None and torch.isfinite(logits.grad).all()
    assert logits.grad[0, 0, 0].tolist() == pytest.approx([1.0, -0.5, -0.5], abs=1e-3)


@settings(max_examples=30, deadline=None)
@given(
    shape=st.tuples(*(st.integers(1, 4) for _ in range(3)), st.integers(2, 5)),
    seed=st.integers(0, 999),
    how=st.sampled_from(["mean", "max"]),
)
def test_the_penalty_is_the_papers(shape: tuple[int, int, int, int], seed: int, how: str) -> None:
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(shape, generator=generator, dtype=torch.float64).softmax(-1)
    inside = torch.rand(shape[0], *shape[2:], generator=generator) < 0.4
    inside[..., 0] = False
    found = exposure(weights, inside, torch.ones(shape[0], 1, 1, shape[3]).bool(), how)
    for row in range(shape[0]):
        marks = [set(step.nonzero().flatten().tolist()) for step in inside[row]]
        assert found[row].item() == pytest.approx(penalty(weights[row].tolist(), marks, how))


def test_the_term_reads_the_marks_of_both_splits(generated: Prepared) -> None:
    model = build(ModelSpec(hidden=8), generated.vectors, 2, 0)
    loss = loss_of(
        model, generated, TrainSpec(), Objective(terms=(replace(DECEIVING, weight=0.5),))
    )
    for name in ("train", "dev"):
        split = generated.split(name)
        batch = split.batch([3, 0, 5])
        weights = model(batch).weights["attention"]
        expected = []
        for row, i in enumerate((3, 0, 5)):
            own = set(np.flatnonzero(split.impermissible(i)).tolist())  # type: ignore[arg-type]
            real = weights[row, :, :, 1 : int(split.lengths[i]) + 1]
            expected.append(penalty(real.tolist(), [own], "mean"))
        part = loss(batch)[1]["impermissible0.5"].item()
        assert part == pytest.approx(0.5 * sum(expected) / 3, rel=1e-5)


def test_a_writers_steps_have_marks_of_their_own(tmp_path: Path) -> None:
    data = corpus(tmp_path, "toy_reverse", n_train=8, n_dev=2, n_test=2)
    spec = ModelSpec("bilstm", "additive", family="seq2seq", hidden=8)
    model = build(spec, data.vectors, data.classes, 0)
    batch = data.split("train").batch(range(4))
    trace = model(batch)
    value = impermissible(TermContext(model, data)).value(batch, trace)
    weights, expected = next(iter(trace.weights.values())), []
    for row, n in enumerate(data.split("train").lengths[:4]):
        marks = [{n - 1 - step} for step in range(n)]  # the end has none
        expected.append(penalty(weights[row, :, :, 1 : n + 1].tolist(), marks, "mean"))
    assert value.item() == pytest.approx(sum(expected) / 4, rel=1e-5)


@pytest.mark.parametrize("how", ["mean", "max"])
@pytest.mark.parametrize("family", ["additive", "prenorm"])
def test_marked_words_count_at_the_steps_a_target_has(family: str, how: str) -> None:
    """From the start to the last token; neither the step after the end nor a padded one."""
    split, model = marked(tiny_translations()), tiny_writer(family)
    data: Any = SimpleNamespace(split=lambda name: split)
    term, every = impermissible(TermContext(model, data), how), range(len(split))
    (site,) = (site.name for site in model.sites if site.main)
    with torch.no_grad():
        alone = [float(term.value(split.batch([i]), model(split.batch([i])))) for i in every]
        whole = term.value(split.batch(every), model(split.batch(every)))
        for i in every:
            steps = len(split.sides["b"].starts[i]) + 1
            weights = model(split.batch([i])).weights[site][0, :, :steps, 1:-1].tolist()
            marks = [places(split, i)] * steps
            if len(marks[0]) < split.lengths[i]:
                assert alone[i] == pytest.approx(penalty(weights, marks, how))
    assert float(whole) == pytest.approx(sum(alone) / len(alone), rel=1e-9)


def test_what_the_term_refuses(generated: Prepared, tmp_path: Path) -> None:
    model = build(ModelSpec(hidden=8), generated.vectors, 2, 0)
    plain = corpus(tmp_path, "planted", n_train=8, n_dev=4, n_test=4)
    with pytest.raises(HeedfulError, match=r"corpus marks none: name them \(--param"):
        impermissible(TermContext(model, plain))
    with pytest.raises(HeedfulError, match="way to put heads together"):
        impermissible(TermContext(model, generated), heads="median")
    for spec in (ModelSpec("bilstm", "gate"), ModelSpec("bigru", family="hierarchical")):
        other = build(replace(spec, hidden=8), generated.vectors, 2, 0)
        with pytest.raises(HeedfulError, match="over tokens whose weights sum to 1"):
            impermissible(TermContext(other, generated))


def marked(split: Split, seed: int = 0, share: float = 0.35) -> Split:
    """The same texts, some tokens marked; the second text has none, and one is marked whole."""
    rng = np.random.default_rng(seed)
    side = split.sides["a"]
    marks: list[Any] = [rng.random(len(starts)) < share for starts in side.starts]
    marks[0][0] = True
    marks[1], marks[2] = None, np.ones_like(marks[2])
    return replace(split, sides={**split.sides, "a": replace(side, impermissible=marks)})


def places(split: Split, i: int) -> set[int]:
    found = split.impermissible(i)
    return set() if found is None else set(np.flatnonzero(found).tolist())


@pytest.mark.parametrize("encoder", ["none", "bilstm"])
def test_the_probe_is_the_restatement(encoder: str) -> None:
    split = marked(tiny_split(LENGTHS, classes=3))
    base, control = (tiny_model(encoder, classes=3, double=True, seed=s) for s in (0, 1))
    given = replace(evidence(base, split), models={"base": base, "control": control})
    found: Findings = PROBES["deception"].make(given)
    rows, shown = table(found, split), blinded(split)
    for i, name in enumerate(split.ids):
        batch, own, label = split.batch([i]), places(split, i), int(split.labels[i])
        trace, row = base(batch), rows.loc[name]
        alpha = trace.weights["attention"][0, 0, 0, 1:-1].tolist()
        positions = {name: [p + 1 for p in own]}
        less = base(batch, {"attention": erase(positions=positions)})
        given_less = less.weights["attention"][0, 0, 0, 1:-1].tolist()
        assert given_less == pytest.approx(zeroed(alpha, own))
        right = [decided(x) == label for x in (trace.logits, less.logits)]
        right.append(decided(control(shown.batch([i])).logits) == label)
        named = [row["accuracy"], row["accuracy:zeroed"], row["accuracy:control"]]
        assert named == right
        assert row["delta:zeroed"] == right[1] - right[0]
        assert row["delta:control"] == right[2] - right[0]
        if own:
            assert row["mass"] == pytest.approx(share_on(alpha, own))
            assert row["share"] == pytest.approx(len(own) / len(alpha))
        else:
            assert np.isnan(row["mass"]) and np.isnan(row["share"])


def decided(logits: Tensor) -> int:
    return int(probabilities(logits).argmax())


@pytest.mark.parametrize("encoder", ["none", "bilstm"])
def test_the_detector_is_the_restatement(encoder: str) -> None:
    split = marked(tiny_split(LENGTHS, classes=3))
    model = tiny_model(encoder, classes=3, double=True)
    rows = table(find("detector", model, split), split)
    for i, name in enumerate(split.ids):
        batch, own, row = split.batch([i]), places(split, i), rows.loc[name]
        trace = model(batch)
        alpha = trace.weights["attention"][0, 0, 0, 1:-1].tolist()
        label = probabilities(trace.logits).argmax(-1)
        scores = {
            "loo": leave_one_out(model, batch),
            "gradient": gradient_input(model, batch, label),
            "integrated": integrated_gradients(model, batch, label, tolerance=0.05, max_steps=16),
        }
        for method, found in scores.items():
            if own:
                share = share_on(found[0, 1:-1].tolist(), own)
                assert row[f"importance:{method}"] == pytest.approx(share)
                assert row[f"hidden:{method}"] == pytest.approx(share - share_on(alpha, own))
            else:
                assert np.isnan(row[f"hidden:{method}"])
        if len(alpha) > 1:
            top = int(scores["loo"][0, 1:-1].argmax())
            assert row["overlooked"] == (alpha[top] < 1 / len(alpha))
        even = model(batch, {"attention": lambda call: call.mask / call.mask.sum(-1, True)})
        gold = int(split.labels[i])
        change = (decided(even.logits) == gold) - (int(label) == gold)
        assert row["delta:uniform"] == change


def test_what_is_overlooked() -> None:
    weights = torch.tensor([[0.2, 0.8], [0.5, 0.5], [0.2, 0.8], [1.0, 0.0]])
    importance = torch.tensor([[3.0, 1.0], [3.0, 1.0], [0.0, 0.0], [3.0, 9.0]])
    mask = torch.tensor([[True, True], [True, True], [True, True], [True, False]])
    found = overlooked(weights, importance, mask).tolist()
    assert found[:2] == [1.0, 0.0] and all(map(math.isnan, found[2:]))


def summary(excess: float, **low: float) -> pd.DataFrame:
    lines = [("excess", math.nan, excess), *((f"hidden:{k}", v, 1.0) for k, v in low.items())]
    frame = pd.DataFrame(lines, columns=["measure", "low", "high"])
    return frame.assign(site="attention", group="all")


@pytest.mark.parametrize(
    ("excess", "low", "flagged"),
    [
        (-0.01, (0.11, 0.2, 0.0), True),
        (-0.01, (0.11, 0.1, 0.0), False),  # one method is not enough, and 0.1 is not above 0.1
        (0.01, (0.5, 0.5, 0.5), False),  # what may have even attention is not hidden
        (-0.1, (math.nan,) * 3, False),
        (math.nan, (0.5, 0.5, 0.5), False),
    ],
)
def test_a_flag_and_its_reason(excess: float, low: tuple[float, ...], flagged: bool) -> None:
    bounds = dict(zip(METHODS, low, strict=True))
    found, reason = decide(summary(excess, **bounds), list(METHODS))
    assert found is flagged
    assert reason.startswith("flagged: " if flagged else "not flagged: ")
    assert f"loo {low[0]:+.2f}" in reason


def test_one_site_that_hides_is_enough() -> None:
    clean, hides = summary(0.2, loo=0.0, gradient=0.0), summary(-0.2, loo=0.5, gradient=0.5)
    both = pd.concat([clean, hides.assign(site="other")])
    assert decide(both, ["loo", "gradient"])[0]


FAMILIES = [
    pytest.param(family, name, marks=[pytest.mark.slow] * ((family, name) in SLOW))
    for family in ("pair-linear", "pair-query", *WRITERS)
    for name in ("deception", "detector")
]


@pytest.mark.parametrize(("family", "name"), FAMILIES)
def test_every_family_it_fits_and_batches_do_not_matter(family: str, name: str) -> None:
    found = [of_family(family, name, size).rows for size in (2, 64)]
    assert found[0]["measure"].tolist() == found[1]["measure"].tolist()
    np.testing.assert_allclose(found[0]["value"], found[1]["value"], atol=1e-7, rtol=0)
    assert not found[0]["value"].isna().all()


def of_family(family: str, name: str, size: int) -> Findings:
    given = seen(family, size)
    if family in WRITERS:
        split = tiny_translations((4, 1, 6, 3, 5, 2), (3, 5, 1, 4, 8, 2))
        links = [np.array([[0, j] for j in range(len(split.sides["b"].starts[i]))]).reshape(-1)
                 for i in range(len(split))]  # fmt: skip
        given = writing_evidence(tiny_writer(family), replace(split, alignments=links), size)
    else:
        given = replace(given, data=marked(given.data))
    assert unfit(name, given) is None
    findings: Findings = PROBES[name].make(given)
    return findings


def test_of_a_target_the_step_looked_at_counts() -> None:
    """Every target token is aligned with the first source word."""
    given = of_family("additive", "deception", 64).rows
    mass = given[given["measure"] == "mass"].set_index("example")["value"]
    split = tiny_translations((4, 1, 6, 3, 5, 2), (3, 5, 1, 4, 8, 2))
    evidence_ = writing_evidence(tiny_writer("additive"), split)
    for each in evidence_.passes(""):
        view = each.rows(evidence_.sites[0])
        for row, i in enumerate(view.example.tolist()):
            assert mass[each.batch.ids[i]] == pytest.approx(float(view.weights[row, 1]))


def test_where_it_does_not_fit_the_reason_is_told() -> None:
    bare = evidence(tiny_model(), tiny_split(LENGTHS))
    assert "impermissible tokens: name them" in str(unfit("deception", bare))
    gate = evidence(tiny_model("none", "gate"), marked(tiny_split(LENGTHS)))
    assert "gate" in str(unfit("detector", gate))
    assert "gold" not in str(unfit("deception", seen("additive", 64)))


def test_the_control_is_honest_and_blind() -> None:
    kept = TermSpec("tying", 10)
    model = ModelSpec(terms=(kept, DECEIVING))
    base = Recipe(model, TrainSpec(), 3)
    (control,) = recipes(base, ProbeSpec("deception")).values()
    assert control == replace(base, model=replace(model, terms=(kept,), blind=True))
    assert not recipes(base, ProbeSpec("deception", {"control": False}))


FEW = {"n_train": 40, "n_dev": 8, "n_test": 8}


def probed_once(
    store: Store, name: str, model: ModelSpec, probe: str, **params: Any
) -> tuple[Run, Run | Skipped]:
    """The corpus, and what came of the probe, by the runner's own way."""
    data = prepare(replace(default_spec(name), params=FEW), store)
    base = Recipe(replace(model, hidden=8), TrainSpec(epochs=1), 0)
    asked = [ProbeSpec(probe, params)]

    def run_of(recipe: Recipe) -> Run:
        return trained(store, data, recipe, Machine())

    ((_, found),) = probed(store, base, asked, Reading(0), Machine(), run_of)
    return data, found


def test_where_only_steps_are_marked_there_is_no_control(tmp_path: Path) -> None:
    model = ModelSpec(family="seq2seq", terms=(DECEIVING,))
    _, found = probed_once(Store(tmp_path), "toy_reverse", model, "deception")
    assert isinstance(found, Run)
    assert set(found.table("rows")["measure"]) == {
        "mass", "share", "accuracy", "accuracy:zeroed", "delta:zeroed",
    }  # fmt: skip
    assert "control" not in found.upstream


def test_what_it_costs_is_told_without_a_control_too(tmp_path: Path) -> None:
    store = Store(tmp_path)
    setting = STUDY.setting("toy_reverse", "generation")
    models = (replace(setting.models[-1], hidden=8),)
    few = replace(setting, models=models, probes=(ProbeSpec("deception"),))
    spec = replace(default_spec("toy_reverse"), params=FEW)
    chosen = Choice(train=(("epochs", 1),))
    plan = grid(replace(STUDY, settings=(few,)), [spec], chosen, seeds=[0])
    assert estimate(plan, plan.cells[0], store, Machine()).probe_seconds > 0
    run_study(plan, store, Machine())
    cost = estimate(plan, plan.cells[0], store, Machine())
    assert (cost.train_seconds, cost.probe_seconds) == (0, 0)


def test_with_marked_words_there_is_a_control(tmp_path: Path) -> None:
    store = Store(tmp_path)
    _, found = probed_once(store, "deception", ModelSpec("none"), "deception")
    assert isinstance(found, Run) and "accuracy:control" in set(found.table("rows")["measure"])
    assert store.open(found.upstream["control"]).facts["model"]["blind"]


def test_a_blind_model_is_probed_on_what_it_sees(tmp_path: Path) -> None:
    store = Store(tmp_path)
    model = ModelSpec("none", blind=True)
    data, found = probed_once(store, "deception", model, "reachability")
    assert isinstance(found, Run)
    rows = found.table("rows").drop_duplicates("example").set_index("example")
    shown = blinded(Prepared(data).split("test"))
    assert rows["length"].loc[list(shown.ids)].tolist() == shown.lengths.tolist()
    run = store.open(found.upstream["base"])
    given = weights_by_id(run)
    for name, size in zip(shown.ids, shown.lengths, strict=True):
        assert given[name].shape[-1] == size
    with pytest.raises(HeedfulError, match="audit a model that is not blind"), open_target(run):
        pass


# probe: (version, digest for two classes, digest for three)
GOLDEN: dict[str, tuple[int, str, str]] = {
    "deception": (1, "f1ce0a7c8f510eb1", "af8046dce693a238"),
    "detector": (2, "6acfe62a01eda880", "5208d05243a9ea52"),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_rows_change_with_the_version_only(name: str) -> None:
    found = (PROBES[name].version, *(digest(name, classes) for classes in (2, 3)))
    assert GOLDEN[name] == found


def digest(name: str, classes: int) -> str:
    split = marked(tiny_split(LENGTHS, classes=classes))
    rows = find(name, tiny_model("bilstm", "dot", classes, double=True), split).rows
    numbers = rows.select_dtypes("float").columns
    rounded = rows.assign(**{column: rows[column].round(6) + 0.0 for column in numbers})
    text = rounded.to_csv(index=False, float_format="%.6f")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_the_study_has_every_weight_of_the_penalty() -> None:
    models = [model for setting in STUDY.settings for model in setting.models]
    weights = {(m.encoder, m.family): set() for m in models}  # type: ignore[var-annotated]
    for model in models:
        weight = model.terms[0].weight if model.terms else 0.0
        weights[model.encoder, model.family].add(weight)
    assert all(found == set(LAMBDAS) == {0.0, 0.1, 1.0} for found in weights.values())
    assert models[2].name == "none-additive+impermissible1"


@pytest.mark.slow
def test_a_model_learns_to_deceive_and_is_found_out(tmp_path: Path) -> None:
    data = corpus(tmp_path, "deception", n_train=600, n_dev=100, n_test=150)
    spec = TrainSpec(epochs=12, learning_rate=5e-3, class_weights=False, select="loss")
    found = {}
    for name, terms in (("honest", ()), ("deceptive", (DECEIVING,))):
        fresh = build(ModelSpec(hidden=32), data.vectors, 2, 0)
        made = train(fresh, data, spec, 0, objective=Objective(terms=terms)).model.eval()
        given = Evidence({"base": made}, data.split("test"), 0)
        lines = PROBES["detector"].make(given).summary.query("group == 'all'")
        lines = pd.concat([lines, rows_mean(PROBES["deception"].make(given).rows)])
        found[name] = lines.drop_duplicates("measure").set_index("measure")["mean"]
    honest, told = found["honest"], found["deceptive"]
    assert told["mass"] < 0.01 and told["accuracy"] > honest["accuracy"] - 0.02
    assert (honest["flagged"], told["flagged"]) == (0, 1)


def rows_mean(rows: pd.DataFrame) -> pd.DataFrame:
    means = rows.groupby("measure")["value"].mean().reset_index()
    return means.rename(columns={"value": "mean"})


def test_a_blind_model_is_shown_the_rest(generated: Prepared) -> None:
    shown = Blinded(generated.run)
    assert shown.words == generated.words and shown.classes == 2
    assert shown.split("dev").lengths.sum() < generated.split("dev").lengths.sum()
