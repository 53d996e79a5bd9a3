"""The seq2seq family against its slow restatement, and what must never change a result."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.errors import HeedfulError
from heedful.models import check
from heedful.specs import ModelSpec
from reference.seq2seq import translate
from tiny_pairs import SPECS, close, parameters_of, rows_of, tiny_pairs, tiny_writer
from writers import everything_a_writer_promises

NAMES = ["additive", "dot", "general2", "additive2"]


@pytest.mark.parametrize("name", NAMES)
def test_forward_is_what_the_papers_say(name: str) -> None:
    model, spec = tiny_writer(name), SPECS[name]
    batch = tiny_pairs((4, 1, 6), (3, 5, 1))
    trace = model(batch)
    assert trace.step_logits is not None
    for i, (source, target) in enumerate(
        zip(rows_of(batch, "a"), rows_of(batch, "b"), strict=True)
    ):
        logits, weights = translate(
            parameters_of(model), spec.attention, spec.layers, source, target
        )
        close(trace.step_logits[i, : len(target)], torch.tensor(logits, dtype=torch.float64))
        close(trace.logits[i], torch.tensor(logits[-1], dtype=torch.float64))
        found = trace.weights["attention"][i, 0, : len(target), 1 : len(source) - 1]
        close(found, torch.tensor(weights, dtype=torch.float64))


@settings(max_examples=4)
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4),
       st.integers(0, 4), st.integers(0, 99))  # fmt: skip
@pytest.mark.parametrize("name", [*NAMES, "prenorm", "postnorm"])
def test_the_contract(name: str, sizes: list[tuple[int, int]], pad: int, seed: int) -> None:
    batch = tiny_pairs(*zip(*sizes, strict=True), seed=seed, pad=pad)  # type: ignore[arg-type]
    everything_a_writer_promises(tiny_writer(name), batch)


def test_bahdanau_asks_before_and_luong_after_the_token() -> None:
    """Another last token changes where Luong's decoder looks then, and not where Bahdanau's."""
    batch = tiny_pairs((5,), (3,))
    text = batch.texts["b"]
    tokens = text.tokens.clone()
    tokens[0, -1] = 7
    other = replace(batch, texts={**batch.texts, "b": replace(text, tokens=tokens)})
    for name, moves in (("additive", False), ("dot", True)):
        model = tiny_writer(name)
        one, two = (model(each).weights["attention"][0, 0, -1] for each in (batch, other))
        assert torch.equal(one, two) != moves


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (ModelSpec(family="seq2seq", encoder="cnn"), "encoder"),
        (ModelSpec(family="seq2seq", attention="gate"), "attention"),
        (ModelSpec(family="seq2seq", layers=3), "1 or 2"),
        (ModelSpec(family="seq2seq", decoder="query"), "one decoder"),
    ],
)
def test_wrong_specs_are_refused(spec: ModelSpec, sentence: str) -> None:
    with pytest.raises(HeedfulError, match=sentence):
        check(spec)
