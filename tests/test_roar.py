"""ROAR: RACU and masks by hand, what a masked model saw, and the whole of it on a tiny corpus."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.attributions import explain
from heedful.data import Masked, Prepared, default_spec, masked, prepare
from heedful.interventions import restored
from heedful.metrics import ROAR_COLUMNS, racu, racus, roar_curves
from heedful.models import explained_class
from heedful.report import roar_page, roar_sentence
from heedful.runner import Machine, Masking, Recipe, probe_facts, trained
from heedful.runner.masking import chosen, seen_by
from heedful.runner.probe import Reading, probed
from heedful.specs import UNKNOWN, ModelSpec, PrepareSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store
from kept_schemas import check_verb
from parsed_page import loads_nothing, parse
from reference import roar as slow
from verbs import run

RECIPE = Recipe(ModelSpec("average", "additive", hidden=8), TrainSpec(epochs=2), 3)


# RACU


def test_racu_by_hand() -> None:
    """The explanation is 0.2 below in the middle: an area of 0.1 of the 0.25 that can be lost."""
    shares, random = np.array([0.0, 0.5, 1.0]), np.array([0.9, 0.8, 0.5])
    assert racu(shares, np.array([0.9, 0.6, 0.5]), random) == pytest.approx(0.4)
    assert racu(shares, random, random) == 0
    assert racu(shares, np.array([0.9, 0.9, 0.5]), random) == pytest.approx(-0.2)
    assert math.isnan(racu(shares, random, np.array([0.5, 0.5, 0.5])))


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 2, st.integers(1, 9)), min_size=2, max_size=8))
def test_racu_is_the_papers_sum(points: list[tuple[float, float, int]]) -> None:
    explained, random, steps = map(np.array, zip(*points, strict=True))
    shares = np.cumsum(steps) / steps.sum()
    wanted = slow.racu(list(shares), list(explained), list(random))
    found = racu(shares, explained, random)
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9, nan_ok=True) or abs(wanted) > 1e9


def curve(explanation: str, seed: int, scores: list[float]) -> pd.DataFrame:
    percents = [round(100 * i / (len(scores) - 1)) for i in range(len(scores))]
    lines = [(explanation, p, seed, s) for p, s in zip(percents, scores, strict=True)]
    return pd.DataFrame(lines, columns=ROAR_COLUMNS)


def test_seeds_are_paired_and_bounded() -> None:
    """RACU 0.4 and 0.2 in two seeds: 0.3 ± t(0.975, 1) · 0.1."""
    rows = pd.concat(
        [
            curve("random", 0, [0.9, 0.8, 0.5]),
            curve("gradient", 0, [0.9, 0.6, 0.5]),
            curve("random", 1, [0.9, 0.8, 0.5]),
            curve("gradient", 1, [0.9, 0.7, 0.5]),
        ]
    )
    (line,) = racus(rows).to_dict("records")
    assert line["explanation"] == "gradient" and line["seeds"] == 2
    half = 12.7062047 * 0.1
    assert [line["racu"], line["low"], line["high"]] == pytest.approx([0.3, 0.3 - half, 0.3 + half])
    table = roar_curves(rows).set_index(["explanation", "percent"])
    assert table.loc[("gradient", 50), "mean"] == pytest.approx(0.65)
    assert "missed most: RACU 0.30" in roar_sentence(rows)
    assert "no explanation is clearly above" in roar_sentence(rows)


# masks


@given(st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), unique=True), st.integers(1, 100))
def test_the_largest_scores_are_masked_after_those_before(
    words: list[tuple[int, bool]], percent: int
) -> None:
    scores = np.array([2.0 * score + already for score, already in words])
    before = np.array([already for _, already in words], dtype=bool)
    found = chosen(scores, before, percent, np.zeros(len(words)))
    assert found.tolist() == slow.masked_next(scores, before, percent)


def test_equal_scores_are_broken_by_chance_alone() -> None:
    found = chosen(np.ones(4), np.zeros(4, dtype=bool), 50, np.array([0.9, 0.1, 0.5, 0.2]))
    assert found.tolist() == [False, True, False, True]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Run]:
    store = Store(tmp_path_factory.mktemp("roar"))
    spec = default_spec("planted", {"n_train": 60, "n_dev": 20, "n_test": 20})
    small = type(spec)(spec.name, spec.params, PrepareSpec(tokenizer="words", dimension=8))
    return store, prepare(small, store)


def test_masked_texts_keep_their_places(place: tuple[Store, Run]) -> None:
    whole = Prepared(place[1]).split("test")
    n = int(whole.lengths[0])
    marks = np.arange(n) % 2 == 0
    half = masked(whole, {whole.ids[0]: marks})
    old, new = whole.sides["a"].tokens, half.sides["a"].tokens
    assert (new[0][1:-1][marks] == UNKNOWN).all()
    assert (new[0][1:-1][~marks] == old[0][1:-1][~marks]).all()
    assert (new[0][0], new[0][-1]) == (old[0][0], old[0][-1])
    assert np.array_equal(new[1], old[1])
    assert half.surface(0) == whole.surface(0)


def test_each_step_masks_more_and_explains_the_step_before(place: tuple[Store, Run]) -> None:
    store, corpus = place
    first = Recipe(*_parts(RECIPE), masking=Masking("gradient", 30, RECIPE))
    second = Recipe(*_parts(RECIPE), masking=Masking("gradient", 60, first))
    run = trained(store, corpus, second, Machine())
    explained = store.open(run.source("explained"))
    seen, before = seen_by(run), seen_by(explained)
    assert isinstance(seen, Masked) and isinstance(before, Masked)
    assert run.facts["masking"]["percent"] == 60
    for name in ("train", "dev", "test"):
        whole = Prepared(corpus).split(name)
        for example, n in zip(whole.ids, whole.lengths, strict=True):
            assert before.masks[example].sum() == 30 * n // 100
            assert seen.masks[example].sum() == 60 * n // 100
            assert (seen.masks[example] | ~before.masks[example]).all()
    split = before.split("dev")  # the second step explains masked texts by the retrained model
    model, batch = restored(explained), split.batch([0])
    label = explained_class(model(batch).logits, batch)
    scores = explain("gradient", model, batch, label)[0].numpy()
    wanted = slow.masked_next(scores, before.masks[split.ids[0]], 60)
    assert seen.masks[split.ids[0]].tolist() == wanted


def test_probes_see_the_masked_texts(place: tuple[Store, Run]) -> None:
    """Where all words are masked, a model that takes averages says one thing of every text."""
    store, corpus = place
    recipe = Recipe(*_parts(RECIPE), masking=Masking("random", 100, RECIPE))
    reading = Reading(recipe.seed)

    def run_of(some: Recipe) -> Run:
        return trained(store, corpus, some, Machine())

    probe = ProbeSpec("score", {"resamples": 10})
    ((_, run),) = probed(store, recipe, [probe], reading, Machine(), run_of)
    rows = run.table("rows")  # type: ignore[union-attr]
    said = rows.loc[rows["measure"] == "probability", "value"]
    assert said.max() - said.min() < 1e-6
    base = probe_facts(run_of(RECIPE), probe, reading, {})
    assert base["upstream"]["base"] != run.facts["upstream"]["base"]  # type: ignore[union-attr]


def test_other_models_are_named_as_before(place: tuple[Store, Run]) -> None:
    """Nothing that is kept is trained again because masks exist."""
    store, corpus = place
    facts = trained(store, corpus, RECIPE, Machine()).facts
    assert "masking" not in facts and set(facts["upstream"]) == {"corpus"}


def test_random_words_differ_by_seed_and_nest(place: tuple[Store, Run]) -> None:
    store, corpus = place
    found = {}
    for seed, percent in ((3, 20), (3, 50), (4, 20)):
        base = Recipe(RECIPE.model, RECIPE.train, seed)
        recipe = Recipe(*_parts(base), masking=Masking("random", percent, base))
        seen = seen_by(trained(store, corpus, recipe, Machine()))
        assert isinstance(seen, Masked)
        found[seed, percent] = np.concatenate(list(seen.masks.values()))
    assert (found[3, 50] | ~found[3, 20]).all()
    assert (found[3, 20] != found[4, 20]).any()


def _parts(recipe: Recipe) -> tuple[ModelSpec, TrainSpec, int]:
    return recipe.model, recipe.train, recipe.seed


# the command

TINY = [
    *("--corpus", "planted", "--param", "n_train=40", "--param", "n_dev=12"),
    *("--param", "n_test=12", "--param", "dimension=8", "--param", "tokenizer=words"),
    *("--encoder", "average", "--hidden", "4", "--epochs", "1", "--seeds", "2", "--steps", "40,80"),
    *("--explanations", "attention"),
]


def test_the_command_trains_each_model_once_and_resumes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("altair")
    options = [*TINY, "--store", tmp_path / "store"]
    code, out, _ = run(capsys, "roar", *options, "--dry-run", "--json")
    cost = json.loads(out)
    assert code == 0 and (cost["models"], cost["missing"]) == (12, 12) and cost["seconds"] > 0
    check_verb(cost)
    code, out, _ = run(capsys, "roar", *options, "-o", tmp_path / "out", "--json")
    found = json.loads(out)
    assert code == 0
    check_verb(found)
    assert len(found["scores"]) == 2 * 4 * 2 and len(found["racu"]) == 1
    store = Store(tmp_path / "store")
    models = store.keys("model")
    assert len(models) == 2 * (2 + 2 * 2)  # of each seed: none, all, and two steps of two
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "heedful-manifest.json", "roar.csv", "roar.html", "roar.svg",
    ]  # fmt: skip
    rows = pd.read_csv(tmp_path / "out" / "roar.csv")
    assert list(rows) == ROAR_COLUMNS and len(rows) == len(found["scores"])
    page = (tmp_path / "out" / "roar.html").read_text(encoding="utf8")
    assert loads_nothing(parse(page)) and found["sentence"] in page
    code, out, _ = run(capsys, "roar", *options)
    assert code == 0 and out.splitlines()[0].split() == ["explanation", "0%", "40%", "80%", "100%"]
    assert store.keys("model") == models
    code, out, _ = run(capsys, "roar", *options, "--once")
    assert code == 0
    assert len(store.keys("model")) == len(models) + 2  # the last steps, of the first model
    retrained = next(k for k in models if "masking" in store.open(k).facts)
    code, _, err = run(capsys, "audit", retrained, "--store", tmp_path / "store", "--n", "10")
    assert code == 2 and "masked words" in err and err.count("\n") == 1


def test_the_page_says_when_seeds_are_few() -> None:
    pytest.importorskip("altair")
    rows = pd.concat([curve("random", 0, [0.9, 0.8, 0.5]), curve("<b>", 0, [0.9, 0.6, 0.5])])
    facts = {
        "corpus": "c", "model": "m", "mode": "recursive", "score": "accuracy", "majority": 0.5,
        "seeds": [0], "steps": [50], "epochs": 1, "texts": 9,
    }  # fmt: skip
    page = roar_page(rows, facts)
    assert "fewer than three seeds" in page and "<b></th>" not in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--explanations", "gradiant"], "did you mean 'gradient'"),
        (["--steps", "30,10"], "give rising percentages"),
        (["--steps", "0,10"], "from 1 to 99"),
        (["--steps", "ten"], "give rising percentages"),
        (["--score", "bleu"], "choose one of accuracy"),
        (["--corpus", "toytranslation"], "choose a corpus with classes"),
        (["--explanations", "value_zeroing"], "value_zeroing"),
    ],
)
def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], message: str
) -> None:
    code, _, err = run(capsys, "roar", *TINY, *options, "--store", tmp_path)
    assert code == 2
    assert message in err and err.count("\n") == 1
    assert not any(path.name.startswith("model") for path in tmp_path.glob("runs/*"))
