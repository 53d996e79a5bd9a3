"""wiegreffe2019: adversarial losses, seeds, guides and the frontier."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np
import pytest
import torch

from heedful.data import Prepared, Side, Split
from heedful.errors import HeedfulError
from heedful.experiments import MLP, PROBES, Evidence
from heedful.interventions import edited, restored, weights_by_id
from heedful.models import Family, OneSequence, build, probabilities
from heedful.runner import Machine, Recipe, recipes, trained
from heedful.specs import ModelSpec, ProbeSpec, TermSpec, TrainSpec
from heedful.store import Store
from heedful.training import TERMS, Data, Objective, TermContext, loss_of, train
from heedful.types import Batch, Trace
from killing import Killed, dies_in
from probing import LENGTHS, Bent, accompanied, evidence, table
from reference import apart as reference
from reference import distance
from tiny import tiny_batch, tiny_model, tiny_split
from tiny_pairs import tiny_pairs, tiny_writer

NOTHING = cast(Data, None)


def term(model: Family, teacher: Family | None, batch: Batch, **params: Any) -> torch.Tensor:
    made = TERMS["apart"].make(TermContext(model, NOTHING, teacher), **params)
    value: torch.Tensor = made.value(batch, model(batch, keep=made.keep))
    return value


@pytest.mark.parametrize("kind", ["kl", "jsd"])
@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_the_whole_loss_is_that_of_slow_loops(kind: str, lam: float) -> None:
    batch = tiny_batch((4, 1, 9, 2, 6))
    model, teacher = (tiny_model(double=True, seed=seed) for seed in (0, 1))
    spec = TermSpec("apart", lam, (("divergence", kind),))
    loss, parts = loss_of(model, NOTHING, TrainSpec(), Objective("teacher", (spec,), teacher))(
        batch
    )
    with torch.no_grad():
        own, theirs = model(batch), teacher(batch)
    outputs = [probabilities(trace.logits).tolist() for trace in (own, theirs)]
    weights = (own.weights["attention"], theirs.weights["attention"], own.masks["attention"])
    far = reference.divergence(kind, *weights, steps=[1] * 5)
    assert far > 0.01
    assert loss.item() == pytest.approx(reference.imitation(*outputs) - lam * far, abs=1e-9)
    assert parts["goal"].item() == pytest.approx(reference.imitation(*outputs), abs=1e-9)


@pytest.mark.parametrize("name", ["additive", "prenorm"])
@pytest.mark.parametrize("kind", ["kl", "jsd"])
def test_heads_and_steps_of_targets_are_averaged_first(name: str, kind: str) -> None:
    """Padding of targets and sources takes no part: the term is that of slow loops over the
    steps after which a token comes."""
    batch, wide = (tiny_pairs((4, 1, 6), (3, 5, 1), pad=pad) for pad in (0, 3))
    model, teacher = tiny_writer(name), tiny_writer(name, seed=1)
    (site,) = [site.name for site in model.sites if site.main]
    with torch.no_grad():
        own, theirs = model(batch), teacher(batch)
    steps = (batch.texts["b"].lengths - 1).tolist()
    far = reference.divergence(
        kind, own.weights[site], theirs.weights[site], own.masks[site], steps
    )
    found = term(model, teacher, batch, divergence=kind).item()
    assert found == pytest.approx(-far, abs=1e-9) and found < 0
    assert term(model, teacher, wide, divergence=kind).item() == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("kind", ["kl", "jsd"])
def test_nothing_times_log_nothing_is_nothing(kind: str) -> None:
    """A teacher that gives nothing to most tokens, and a text without any: finite, slopes too."""
    batch = tiny_batch((4, 0, 1, 9))
    peaked = {name: torch.eye(1, n)[0] for name, n in zip(batch.ids, (4, 0, 1, 9), strict=True)}
    teacher = edited(tiny_model(seed=1), ModelSpec(train_edit="frozen"), 0, peaked)
    model = tiny_model()
    value = term(model, teacher, batch, divergence=kind)
    value.backward()  # type: ignore[no-untyped-call]
    slopes = [p.grad for p in model.attention.parameters() if p.grad is not None]
    assert torch.isfinite(value) and any(bool(slope.any()) for slope in slopes)
    assert all(torch.isfinite(slope).all() for slope in slopes)
    assert term(teacher, teacher, batch, divergence=kind).item() == pytest.approx(0, abs=1e-6)


def test_what_cannot_be_compared_is_refused() -> None:
    model, batch = tiny_model(), tiny_batch((4, 2))
    with pytest.raises(HeedfulError, match="needs a teacher"):
        term(model, None, batch)
    with pytest.raises(HeedfulError, match="divergence"):
        term(model, model, batch, divergence="cosine")
    with pytest.raises(HeedfulError, match="gate"):
        term(tiny_model(attention="gate"), model, batch)
    pairs = tiny_pairs((4, 2), (3, 3))
    with pytest.raises(HeedfulError, match="same family"):
        term(tiny_writer("prenorm"), tiny_writer("additive"), pairs)


def test_the_teacher_reads_a_batch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, teacher, batch = tiny_model(), tiny_model(seed=1), tiny_batch((4, 2))
    read: list[Batch] = []
    whole = OneSequence.forward

    def forward(self: OneSequence, batch: Batch, *rest: Any, **more: Any) -> Any:
        read.extend([batch] * (self is teacher))
        return whole(self, batch, *rest, **more)

    monkeypatch.setattr(OneSequence, "forward", forward)
    objective = Objective("teacher", (TermSpec("apart"),), teacher)
    lossy, again = loss_of(model, NOTHING, TrainSpec(), objective), tiny_batch((4, 2))
    for one in (batch, again, batch):
        lossy(one)
    assert [one is batch for one in read] == [True, False, True]


def test_seeds_are_medians_over_models() -> None:
    split, base = tiny_split(LENGTHS, classes=3), tiny_model(classes=3, double=True)
    others = [tiny_model(classes=3, double=True, seed=seed) for seed in (1, 2, 3, 4)]
    models = {"base": base, **{f"seed{i}": one for i, one in enumerate(others, 1)}}
    seen = Evidence(models, split, 0, batch_size=3)
    rows = table(PROBES["seeds"].make(seen, count=4), split)
    for index, name in enumerate(split.ids):
        batch = split.batch([index])
        alpha, p = _seen(base, batch)
        pairs = [_seen(other, batch) for other in others]
        far = [distance.jsd(alpha, weights) for weights, _ in pairs]
        moved = [distance.tvd(p, said) for _, said in pairs]
        assert rows.loc[name, "jsd_seeds"] == pytest.approx(median(far), abs=1e-9)
        assert rows.loc[name, "jsd_seeds_max"] == pytest.approx(max(far), abs=1e-9)
        assert rows.loc[name, "delta_seeds"] == pytest.approx(median(moved), abs=1e-9)


def _seen(model: Family, batch: Batch) -> tuple[list[float], list[float]]:
    with torch.no_grad():
        trace = model(batch)
    return trace.weights["attention"].flatten().tolist(), probabilities(trace.logits)[0].tolist()


def test_an_interval_over_seeds_needs_two() -> None:
    seen = evidence(tiny_model(), tiny_split(LENGTHS))
    for asked in (lambda: PROBES["seeds"].make(seen), lambda: PROBES["seeds"].roles(count=1)):
        with pytest.raises(HeedfulError, match="an interval over seeds needs at least 2"):
            asked()
    for name in ("guides", "frontier"):
        with pytest.raises(HeedfulError, match="by a study"):
            PROBES[name].make(seen)


def test_roles_are_what_the_paper_trains() -> None:
    base = Recipe(ModelSpec(), TrainSpec(), 3)
    found = recipes(base, ProbeSpec("frontier", {"weights": [0.0, 0.5], "labels": [0.1]}))
    assert list(found) == ["0", "0.5", "labels0.1"]
    assert found["0.5"].model == ModelSpec(goal="teacher", terms=(TermSpec("apart", 0.5),))
    assert found["0.5"].train == TrainSpec(epochs=80, patience=10, select="loss")
    assert found["labels0.1"].model.goal == "labels" and found["labels0.1"].teacher == base
    assert {recipe.seed for recipe in found.values()} == {4}
    guides = recipes(base, ProbeSpec("guides", {"weight": 0.5}))
    assert guides["adversary"] == found["0.5"]  # trained once for both
    assert guides["mlp_adversary"].teacher == found["0.5"] and guides["mlp_base"].teacher == base
    assert guides["mlp_own"].model == ModelSpec("average") and guides["mlp_own"].teacher is None
    wide = replace(base, model=ModelSpec(hidden=512, dropout=0.3))
    assert recipes(wide, ProbeSpec("guides"))["mlp_own"].model == ModelSpec("average")
    tied = replace(base, model=ModelSpec(terms=(TermSpec("tying", 10),)))
    both = recipes(tied, ProbeSpec("frontier", {"weights": [0.5], "labels": []}))["0.5"].model
    assert both.terms == (TermSpec("tying", 10), TermSpec("apart", 0.5))
    seeds = recipes(base, ProbeSpec("seeds", {"count": 2}))
    assert [recipe.seed for recipe in seeds.values()] == [4, 5]
    assert all(recipe.model == base.model for recipe in seeds.values())
    with pytest.raises(HeedfulError, match="at least 0"):
        recipes(base, ProbeSpec("frontier", {"weights": [-1.0]}))


def test_the_frontier_tells_alternatives_from_counterfactuals() -> None:
    split, base = tiny_split((3, 3)), tiny_model(double=True)
    marks = [np.array([True, False, False]), None]
    split = replace(split, sides={"a": replace(split.sides["a"], rationales=marks)})
    given = {"text-0": torch.tensor([0.6, 0.4, 0.0]), "text-1": torch.tensor([0.0, 0.0, 1.0])}
    far = {**given, "text-0": torch.tensor([0.1, 0.1, 0.8])}
    models = {
        "base": base,
        "0": base,
        "1": edited(base, ModelSpec(train_edit="frozen"), 0, given),
        "labels1": edited(base, ModelSpec(train_edit="frozen"), 0, far),
    }
    probe = PROBES["frontier"]
    rows = table(probe.make(Evidence(models, split, 0), weights=(0.0, 1.0), labels=(1.0,)), split)
    assert rows.loc["text-0", "jsd:0"] == rows.loc["text-0", "tvd:0"] == 0
    alpha, p = _seen(base, split.batch([0]))
    expected = distance.jsd(alpha, [0.0, 0.6, 0.4, 0.0, 0.0])
    assert rows.loc["text-0", "jsd:1"] == pytest.approx(expected, abs=1e-6)
    said = _seen(cast(Family, models["1"]), split.batch([0]))[1]
    assert rows.loc["text-0", "tvd:1"] == pytest.approx(distance.tvd(p, said), abs=1e-9)
    assert rows.loc["text-0", "mass_inside:1"] == pytest.approx(0.6)
    assert rows.loc["text-0", ["alternative:1", "alternative:labels1"]].tolist() == [1, 0]
    assert np.isnan(rows.loc["text-1", "alternative:1"])


def test_guides_are_compared_in_pairs() -> None:
    split, model = tiny_split((*LENGTHS, *LENGTHS), seed=3), tiny_model(double=True)
    seen = accompanied(evidence(model, split), "guides")
    same = {**seen.models, "mlp_own": model, "mlp_base": model}
    found = PROBES["guides"].make(replace(seen, models=same), resamples=30, metric="accuracy")
    lines = found.summary.set_index("measure")
    assert lines.loc["delta:base:own", ["mean", "low", "high"]].tolist() == [0, 0, 0]
    rows = table(found, split)
    for name in ("own", "uniform", "base", "adversary"):
        assert lines.loc[f"score:{name}", "mean"] == pytest.approx(rows[f"correct:{name}"].mean())
    apart = lines.loc["score:adversary", "mean"] - lines.loc["score:own", "mean"]
    assert lines.loc["delta:adversary:own", "mean"] == pytest.approx(apart)


class Attending(Bent):
    """The same model, all of whose attention is where it is told to be."""

    def __init__(self, model: OneSequence, place: Callable[[Batch], torch.Tensor]) -> None:
        super().__init__(model)
        self.place = place

    def __call__(self, batch: Batch, *given: Any, **more: Any) -> Trace:
        trace = super().__call__(batch, *given, **more)
        (site,) = trace.weights
        weights = torch.zeros_like(trace.weights[site])
        weights[torch.arange(len(batch)), 0, 0, self.place(batch)] = 1.0
        return replace(trace, weights={site: weights})


def texts_of_two_classes(labels: list[int], words: tuple[int, int]) -> Split:
    """Each begins with 10 and ends with 11, whatever its class, and has a word of it second."""
    rows = [[2, 10, words[label], 30 + place, 11, 3] for place, label in enumerate(labels)]
    tokens = [np.array(row, dtype=np.int32) for row in rows]
    none = [np.zeros(4, dtype=np.int32)] * len(rows)
    side = Side(tokens, [""] * len(rows), none, none, [None] * len(rows), none)
    return Split(tuple(f"text-{i}" for i in range(len(rows))), torch.tensor(labels), {"a": side})


def test_weights_that_give_the_label_away_are_told_from_informative_words() -> None:
    """The base attends the word of the class. The adversary attends the first word or the last
    one, which say nothing. In the third texts nobody has seen the words of the classes."""
    model = tiny_model(double=True)
    shown = {
        "base": Attending(model, lambda batch: torch.full((len(batch),), 2)),
        "adversary": Attending(model, lambda batch: torch.where(batch.labels == 0, 1, 4)),
    }
    training = texts_of_two_classes([0, 1, 1, 0, 1], (20, 21))
    seen = {}
    for name, words in (("known", (20, 21)), ("new", (22, 23))):
        data = texts_of_two_classes([0, 1, 0, 0, 1, 0], words)
        given = replace(evidence(model, data), training=training)
        models = {**accompanied(given, "guides").models, **shown}
        found = PROBES["guides"].make(
            replace(given, models=models), resamples=20, metric="accuracy"
        )
        seen[name] = found.summary.set_index("measure")["mean"]
    largest = 2 / 6  # class 1 in training, which has the fewer texts here
    for lines, informative in ((seen["known"], 1.0), (seen["new"], largest)):
        assert lines["attended:majority"] == pytest.approx(largest)
        assert lines["attended:base"] == lines["occurring:base"] == pytest.approx(informative)
        assert lines["leak:base"] == 0
        assert lines["attended:adversary"] == 1.0
        assert lines["occurring:adversary"] == pytest.approx(largest)
        assert lines["leak:adversary"] == pytest.approx(1 - largest)


def test_without_the_texts_of_training_guides_are_refused() -> None:
    seen = accompanied(evidence(tiny_model(double=True), tiny_split(LENGTHS)), "guides")
    with pytest.raises(HeedfulError, match="texts of training"):
        PROBES["guides"].make(replace(seen, training=None), resamples=2)


def test_a_large_weight_leads_away_and_none_stays(
    planted: Prepared, trained_model: OneSequence
) -> None:
    """λ = 0 imitates; attention is the further the more the distance counts."""
    spec = TrainSpec(epochs=16, learning_rate=0.02, select="loss")
    found = {}
    for weight in (0.0, 0.01, 1.0):
        fresh = build(ModelSpec(hidden=8), planted.vectors, len(planted.labels), 1)
        objective = Objective("teacher", (TermSpec("apart", weight),), trained_model)
        model = train(fresh, planted, spec, 1, objective=objective).model
        seen = Evidence({"base": trained_model, "0": model}, planted.split("train"), 0)
        rows = PROBES["frontier"].make(seen, weights=(0.0,), labels=()).rows
        found[weight] = rows.groupby("measure")["value"].mean()
    assert found[0.0]["tvd:0"] < 0.05
    far = [found[weight]["jsd:0"] for weight in found]
    assert far[0] + 0.1 < far[1] < far[2] - 0.1 and far[2] > 0.6


@pytest.fixture(scope="module")
def guided(planted: Prepared, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Recipe]:
    """A store with the corpus and a trained teacher, and the recipe of an MLP under it."""
    root = tmp_path_factory.mktemp("guided")
    shutil.copytree(planted.run.path.parent.parent, root, dirs_exist_ok=True)
    spec = TrainSpec(epochs=2, learning_rate=0.02)
    base = Recipe(ModelSpec("lstm", hidden=8), spec, 0)
    mlp = replace(base.model, **{**MLP, "train_edit": "frozen"})
    store = Store(root)
    trained(store, store.open(planted.run.key), base, Machine())
    return store, Recipe(mlp, replace(spec, epochs=3), 0, base)


def test_a_killed_guided_training_ends_like_one_that_was_not(
    guided: tuple[Store, Recipe], planted: Prepared, tmp_path: Path
) -> None:
    store, recipe = guided
    shutil.copytree(store.root, tmp_path, dirs_exist_ok=True)
    other = Store(tmp_path)
    whole = trained(store, store.open(planted.run.key), recipe, Machine())
    corpus = other.open(planted.run.key)
    with pytest.raises(Killed):
        trained(other, corpus, recipe, Machine(), dies_in(2))
    resumed = trained(other, corpus, recipe, Machine())
    assert resumed.key == whole.key
    assert resumed.weights("weights").read_bytes() == whole.weights("weights").read_bytes()


def test_transplanted_weights_survive_order_and_padding(
    guided: tuple[Store, Recipe], planted: Prepared
) -> None:
    """Whatever else is in the batch: the teacher's attention, and the same outputs."""
    store, recipe = guided
    corpus = store.open(planted.run.key)
    assert recipe.teacher is not None
    run, teacher = (trained(store, corpus, one, Machine()) for one in (recipe, recipe.teacher))
    model, given, split = restored(run), weights_by_id(teacher), planted.split("test")
    order = np.random.default_rng(0).permutation(len(split))
    with torch.no_grad():
        many = model(split.batch(order))
        for row, index in enumerate(order[:20]):
            alone = model(split.batch([index]))
            torch.testing.assert_close(many.logits[row], alone.logits[0], atol=1e-5, rtol=0)
            mask = many.masks["attention"][row, 0, 0]
            put = many.weights["attention"][row, 0, 0]
            assert torch.equal(put[mask], given[split.ids[index]][0, 0])
            assert not put[~mask].any()


def test_weights_of_another_corpus_are_refused(guided: tuple[Store, Recipe]) -> None:
    store, recipe = guided
    (teacher,) = [run for run in store.runs("model") if not run.facts["model"]["train_edit"]]
    other = edited(tiny_model(), recipe.model, 0, weights_by_id(teacher))
    with pytest.raises(HeedfulError, match="no frozen weights for example 'text-0'"):
        other(tiny_batch((4, 2)))
