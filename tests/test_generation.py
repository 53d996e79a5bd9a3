"""Search against enumeration and a beam kept as a list, and models that learn to write."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.interventions import custom, edited, uniform
from heedful.models import Search, Writer, beam_search, generate, greedy
from heedful.specs import END, START, ModelSpec
from heedful.types import Batch, SiteCall
from reference.beam import beam, best_of_all
from tiny import tiny_batch, tiny_model
from tiny_pairs import SPECS, one_pair, pairs_of, rows_of, tiny_pairs, tiny_writer

FEW = 6
"""Padding, unknown, start, end and two words: all there is to write can be listed."""


def log_p(model: Writer, source: list[int], known: dict[Any, list[float]]) -> Any:
    """What a target may go on with, by running the model on all that is written so far."""

    def after(target: tuple[int, ...]) -> list[float]:
        if target not in known:
            logits = model(pairs_of([source], [[START, *target]])).logits[0].tolist()
            allowed = [
                x if token not in (0, START) else -math.inf for token, x in enumerate(logits)
            ]
            top = max(allowed)
            total = top + math.log(math.fsum(math.exp(x - top) for x in allowed))
            known[target] = [x - total for x in allowed]
        return known[target]

    return after


@pytest.mark.parametrize("name", ["additive", "dot", "prenorm"])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_beam_that_holds_everything_finds_the_best_there_is(name: str, penalty: float) -> None:
    for seed in range(2):
        model = tiny_writer(name, seed, FEW)
        batch = tiny_pairs((3,), (1,), seed, words=FEW)
        (found,) = beam_search(model, batch, None, Search(40, 3, penalty))
        (source,) = rows_of(batch, "a")
        after = log_p(model, source, {})
        assert found == best_of_all(after, [1, 4, 5], 3, penalty)


@pytest.mark.parametrize("name", ["additive", "general2", "postnorm"])
@pytest.mark.parametrize("width", [1, 2])
def test_a_beam_is_what_it_is_for_one_source(name: str, width: int) -> None:
    model = tiny_writer(name, 1, FEW)
    batch = tiny_pairs((3, 1, 5, 2), (1, 1, 1, 1), seed=width, words=FEW)
    search = Search(width, 1.5, 0.7)
    found = beam_search(model, batch, None, search)
    limits = search.limits(batch).tolist()
    assert limits == [5, 2, 8, 3]
    for source, limit, mine in zip(rows_of(batch, "a"), limits, found, strict=True):
        assert mine == beam(log_p(model, source, {}), width, limit, 0.7)


@settings(max_examples=2)
@given(st.lists(st.integers(1, 6), min_size=2, max_size=5), st.integers(0, 99))
@pytest.mark.parametrize("name", ["additive", "prenorm"])
def test_company_changes_nothing_and_a_beam_of_one_is_greedy(
    name: str, sizes: list[int], seed: int
) -> None:
    model = tiny_writer(name, seed % 3)
    batch = tiny_pairs(sizes, [1] * len(sizes), seed, pad=seed % 4)
    search = Search(1, 2.0)
    alone = [greedy(model, one_pair(batch, i), None, search)[0] for i in range(len(batch))]
    assert greedy(model, batch, None, search) == alone == beam_search(model, batch, None, search)
    wide = Search(3, 2.0)
    one_by_one = [generate(model, one_pair(batch, i), search=wide)[0] for i in range(len(batch))]
    assert generate(model, batch, search=wide) == one_by_one


@pytest.mark.parametrize("name", ["dot", "prenorm"])
def test_greedy_writes_what_teacher_forcing_finds_likeliest(name: str) -> None:
    model, batch = tiny_writer(name), tiny_pairs((4, 2, 6), (1, 1, 1))
    for i, target in enumerate(generate(model, batch, search=Search(longest=7))):
        source = rows_of(batch, "a")[i]
        logits = model(pairs_of([source], [[START, *target]])).step_logits
        assert logits is not None
        logits[..., [0, START]] = -math.inf
        written = logits[0].argmax(-1).tolist()
        assert written[: len(target)] == target and len(target) <= 7
        assert written[-1] == END or len(target) == 7


@pytest.mark.parametrize("name", ["additive", "prenorm"])
@pytest.mark.parametrize("width", [1, 2])
def test_edits_act_at_every_step(name: str, width: int) -> None:
    """By its own call, and as the model's own in a model that is always edited."""
    model, batch = tiny_writer(name), tiny_pairs((4, 3, 6), (1, 1, 1))
    main = model.sites[-1].name
    steps: list[int] = []

    def even(call: SiteCall) -> Tensor:
        steps.append(call.step)
        return uniform()(call)

    search = Search(width, 5)
    found = generate(model, batch, {main: custom(even)}, search)
    assert steps == list(range(len(steps))) and len(steps) >= max(map(len, found))
    assert found == generate(model, batch, {main: uniform()}, search)
    spec = ModelSpec(**{**SPECS[name].__dict__, "train_edit": "uniform"})
    always = edited(model, spec, 0)
    everywhere = {site.name: uniform() for site in model.sites}
    assert generate(always, batch, search=search) == generate(model, batch, everywhere, search)
    same = {site.name: custom(lambda call: call.weights) for site in model.sites}
    assert generate(always, batch, same, search) == generate(always, batch, search=search)


def test_a_target_of_the_batch_is_not_looked_at() -> None:
    model = tiny_writer("additive")
    one, two = (tiny_pairs((4, 2), lengths) for lengths in ((1, 1), (5, 3)))
    two = Batch(one.ids, {"a": one.texts["a"], "b": two.texts["b"]}, one.labels)
    assert generate(model, one) == generate(model, two)


def test_writing_is_done_without_dropout_and_leaves_the_mode_alone() -> None:
    model, batch = tiny_writer("prenorm"), tiny_pairs((4, 2), (1, 1))
    model.dropout.p = 0.9
    wanted = generate(model, batch)
    model.train()
    assert generate(model, batch) == wanted and model.training


def test_wrong_searches_are_refused() -> None:
    for wrong in ({"beam": 0}, {"longest": 0}, {"longest": math.inf}, {"length_penalty": -1.0}):
        with pytest.raises(HeedfulError, match="give"):
            Search(**wrong)  # type: ignore[arg-type]
    with pytest.raises(HeedfulError, match="writes no text"):
        generate(tiny_model(), tiny_batch((3,)))


TRANSFORMER = ModelSpec("prenorm", "dot", 2, hidden=64, family="transformer")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "size", "rate", "least"),
    [
        (ModelSpec(family="seq2seq", attention="additive", hidden=64), 2000, 5e-3, 95),
        (ModelSpec(family="seq2seq", attention="dot", hidden=64), 2000, 5e-3, 95),
        (TRANSFORMER, 4000, 1e-3, 90),
    ],
    ids=lambda value: value.name if isinstance(value, ModelSpec) else None,
)
def test_a_toy_language_is_learned(
    spec: ModelSpec, size: int, rate: float, least: float, tmp_path: Path
) -> None:
    from heedful.data import Prepared, at_a_quarter, default_spec, prepare
    from heedful.experiments import PROBES, Evidence
    from heedful.models import build
    from heedful.specs import TrainSpec
    from heedful.store import Store
    from heedful.training import train
    from reference.bleu import corpus_bleu

    toy = default_spec("toytranslation", n_train=size, n_test=200)
    corpus = Prepared(prepare(toy, Store(tmp_path)))
    model = build(spec, corpus.vectors, corpus.classes, 0)
    training = TrainSpec(epochs=8, learning_rate=rate, clip=1.0)
    best = train(model, corpus, training, 0).model
    test = corpus.split("test")
    found, wanted = [], []
    for index, batch in test.batches(64):
        for i, ids in zip(index, generate(best, batch), strict=True):
            found.append([corpus.words[token] for token in ids])
            wanted.append(test.text(int(i), "b").split())
    score = corpus_bleu(found, wanted)
    assert score >= least, f"BLEU {score:.1f}"
    assert torch.is_grad_enabled()
    if spec.attention == "additive":  # and it looks where it translates from
        evidence = Evidence({"base": best}, at_a_quarter(test), 0, task="generation", whole=test)
        summary = PROBES["alignment"].make(evidence).summary
        error = summary.set_index("measure")["mean"]["aer"]
        assert error < 0.25, f"alignment error rate {error:.2f}"
