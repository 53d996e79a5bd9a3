"""From a spec to a model: seeds, sizes and refusals."""

from __future__ import annotations

import pytest
import torch

from heedful.errors import HeedfulError
from heedful.models import build
from heedful.specs import ModelSpec
from tiny import FAMILIES

VECTORS = torch.arange(60.0).reshape(12, 5)


@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_weights_depend_on_the_seed_alone(encoder: str, attention: str) -> None:
    spec = ModelSpec(encoder, attention, layers=2, hidden=8)
    torch.manual_seed(1)
    first = build(spec, VECTORS, 3, 7).state_dict()
    torch.manual_seed(2)
    torch.rand(5)
    again, other = build(spec, VECTORS, 3, 7).state_dict(), build(spec, VECTORS, 3, 8).state_dict()
    assert all(torch.equal(value, again[name]) for name, value in first.items())
    changed = {name for name, value in first.items() if not torch.equal(value, other[name])}
    assert changed == set(first) - {"embedding.weight"}


def test_the_global_generator_is_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    build(ModelSpec(hidden=8), VECTORS, 2, 99)
    assert torch.equal(torch.rand(3), expected)


def test_the_vectors_are_copied() -> None:
    vectors = VECTORS.clone()
    model = build(ModelSpec(hidden=8), vectors, 2, 0)
    with torch.no_grad():
        model.embedding.weight += 1
    assert torch.equal(vectors, VECTORS)


@pytest.mark.parametrize("trainable", [True, False])
def test_the_embedding_is_trained_only_if_asked(trainable: bool) -> None:
    model = build(ModelSpec(hidden=8, train_embedding=trainable), VECTORS, 2, 0)
    assert model.embedding.weight.requires_grad is trainable


def test_two_classes_have_one_logit_and_three_have_three() -> None:
    outputs = [build(ModelSpec(hidden=8), VECTORS, n, 0).decoder.out_features for n in (2, 3, 5)]
    assert outputs == [1, 3, 5]


def test_dot_attention_starts_from_a_standard_normal_query() -> None:
    query = build(ModelSpec(attention="dot"), VECTORS, 2, 0).attention.query
    assert 0.8 < query.std().item() < 1.2


@pytest.mark.parametrize(
    ("spec", "classes", "message"),
    [
        (ModelSpec(encoder="transformer"), 2, "bilstm, cnn, conv, lstm, none, orthogonal"),
        (
            ModelSpec(encoder="bilstm+glue"),
            2,
            "wrapper of an encoder 'glue'.*concat, rationale, residual",
        ),
        (ModelSpec(encoder="glue+concat"), 2, "unknown encoder 'glue'"),
        (ModelSpec(encoder="bilstm+"), 2, "wrapper of an encoder ''"),
        (ModelSpec(attention="sparse"), 2, "additive, dot"),
        (ModelSpec(layers=0), 2, "choose 1, 2 or 3"),
        (ModelSpec(layers=4), 2, "choose 1, 2 or 3"),
        (ModelSpec(sizes="huge"), 2, "code or paper"),
        (ModelSpec(hidden=7), 2, "an even number from 4 to 4096"),
        (ModelSpec(hidden=0), 2, "an even number from 4 to 4096"),
        (ModelSpec("cnn", hidden=6), 2, "a multiple of the 4 kernels"),
        (ModelSpec(), 1, "at least two"),
    ],
)
def test_a_wrong_spec_is_named(spec: ModelSpec, classes: int, message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        build(spec, VECTORS, classes, 0)


def test_names_are_those_of_the_published_tables() -> None:
    assert ModelSpec().name == "bilstm-additive"
    assert ModelSpec("cnn", "dot", 2).name == "cnn2-dot"
