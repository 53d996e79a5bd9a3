"""tutek2020's wrappers and mohankumar2020's orthogonal LSTM: by hand, restated, with deletions."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType

import pytest
import torch
from torch import Tensor

from heedful.data import Prepared
from heedful.errors import HeedfulError
from heedful.metrics import conicity
from heedful.models import (
    WRAPPERS,
    Concat,
    Hierarchical,
    OneSequence,
    Orthogonal,
    PassThrough,
    Recurrent,
    Residual,
    build,
)
from heedful.registry import Registry
from heedful.runner import Recipe
from heedful.runner import train as runner
from heedful.specs import ModelSpec, TrainSpec
from heedful.types import Batch, Keep
from reference.deletion import delete_each
from reference.encoders import wrapped
from reference.one_text import forward
from tiny import WORDS, pick, rows_of, tiny_batch, tiny_model

WIDTH = 8
ENCODERS = [
    "bilstm+concat",
    "bilstm+residual",
    "bilstm+residual+concat",
    "bilstm+concat+concat",
    "lstm+residual",
    "cnn+residual",
    "conv+concat",
    "bigru+residual",
    "average+concat",
    "none+residual",
    "orthogonal+residual",
]
LENGTHS = (4, 1, 9, 2, 13)


def wrapped_model(encoder: str, layers: int = 1, attention: str = "additive") -> OneSequence:
    """States as wide as embeddings, in double precision; attention is uneven."""
    vectors = torch.randn(WORDS, WIDTH, generator=torch.Generator().manual_seed(0))
    hidden = WIDTH // 2 if encoder.startswith("bi") else WIDTH
    model = build(ModelSpec(encoder, attention, layers, hidden=hidden), vectors, 3, 0)
    assert isinstance(model, OneSequence)
    with torch.no_grad():
        for parameter in model.encoder.parameters():
            parameter *= 1.5
        for parameter in model.attention.parameters():
            parameter *= 3
    return model.double().eval()


def states_of(model: OneSequence, batch: Batch) -> Tensor:
    return model(batch, keep=Keep(states=True)).states["attention"].detach()


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_states_are_what_the_paper_says(encoder: str, layers: int) -> None:
    model, batch = wrapped_model(encoder, layers), tiny_batch(LENGTHS)
    parameters = {name: value.tolist() for name, value in model.state_dict().items()}
    found = states_of(model, batch)
    assert found.shape[-1] == model.encoder.size
    for example, tokens in enumerate(rows_of(batch)):
        x = [parameters["embedding.weight"][token] for token in tokens]
        expected = torch.tensor(wrapped(parameters, encoder, x, layers), dtype=torch.float64)
        torch.testing.assert_close(found[example, : len(tokens)], expected, atol=1e-9, rtol=0)


def test_by_hand() -> None:
    """No encoder below: concat says everything twice, residual doubles it."""
    x, lengths = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]]), torch.tensor([2])
    inner = PassThrough(2, 1, "code", None)
    twice = Concat(inner, 2)(x, lengths).states
    assert twice.tolist() == [[[1, 2, 1, 2], [3, 4, 3, 4], [0, 0, 0, 0]]]
    assert Residual(inner, 2)(x, lengths).states.tolist() == [[[2, 4], [6, 8], [0, 0]]]
    both = Concat(Residual(inner, 2), 2)
    assert both.size == 4
    assert both(x, lengths).states[0, 0].tolist() == [2, 4, 1, 2]


@pytest.mark.parametrize("encoder", [*ENCODERS, "orthogonal"])
def test_padding_and_batching_change_nothing(encoder: str) -> None:
    model, batch = wrapped_model(encoder, 2), tiny_batch(LENGTHS, pad=3)
    whole = states_of(model, batch)
    for example, tokens in enumerate(rows_of(batch)):
        alone = states_of(model, pick(batch, [example]))[0]
        torch.testing.assert_close(whole[example, : len(tokens)], alone, atol=1e-12, rtol=0)
        if not encoder.startswith(("average", "cnn", "conv")):
            assert not whole[example, len(tokens) :].any()


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("encoder", [*ENCODERS, "orthogonal"])
def test_deletions_equal_really_deleting(encoder: str, layers: int) -> None:
    model, batch = wrapped_model(encoder, layers), tiny_batch(LENGTHS, pad=2)
    with torch.no_grad():
        deleted, expected = model.leave_one_out_logits(batch), delete_each(model, batch)
        whole = model(batch).logits
        again = model.leave_one_out_logits(batch, model(batch, keep=Keep(encoding=True)))
    torch.testing.assert_close(deleted.less, expected, atol=1e-10, rtol=0, equal_nan=True)
    torch.testing.assert_close(deleted.whole, whole, atol=1e-10, rtol=0)
    torch.testing.assert_close(again.less, deleted.less, equal_nan=True)


@pytest.mark.parametrize(
    ("encoder", "width", "message"),
    [
        ("bilstm+residual", 100, "embeddings to states, and they are 100 and 256 wide: "),
        ("bilstm+residual", 100, "give --hidden 50"),
        ("bigru+residual", 300, "give --hidden 150"),
        ("lstm+residual", 100, "give --hidden 100"),
        ("orthogonal+residual", 100, "give --hidden 100"),
        ("cnn+residual", 60, "give --hidden 60"),
        ("cnn+residual", 50, "no --hidden makes them equal"),
        ("bilstm+residual", 25, "no --hidden makes them equal"),
        ("bilstm+residual", 50, "no --hidden makes them equal"),  # 25 is odd
        ("bilstm+concat+residual", 100, "no --hidden makes them equal"),
    ],
)
def test_unequal_widths_are_refused_with_what_mends_them(
    encoder: str, width: int, message: str
) -> None:
    with pytest.raises(HeedfulError, match=message) as error:
        build(ModelSpec(encoder), torch.zeros(9, width), 2, 0)
    if "--hidden " in (text := str(error.value)) and "no --hidden" not in text:
        hidden = int(text.rstrip(".").split()[-1])
        model = build(ModelSpec(encoder, hidden=hidden), torch.zeros(9, width), 2, 0)
        assert model.encoder.size == width


def test_levels_of_a_hierarchy_may_be_wrapped() -> None:
    spec = ModelSpec("bilstm+residual+concat", hidden=4, family="hierarchical")
    with pytest.raises(HeedfulError, match="16 and 8 wide: give --hidden 8"):
        build(spec, torch.randn(WORDS, WIDTH), 3, 0)  # sentence vectors are twice as wide
    spec = replace(spec, encoder="bilstm+concat")
    model = build(spec, torch.randn(WORDS, WIDTH), 3, 0)
    assert isinstance(model, Hierarchical) and model.sentences.encoder.size == 8 + 16
    assert model(tiny_batch((3, 2))).logits.isfinite().all()


def test_pairs_refuse_wrapped_encoders() -> None:
    with pytest.raises(HeedfulError, match="unknown encoder of pairs 'bilstm\\+concat'"):
        build(ModelSpec("bilstm+concat", family="pair", decoder="query"), torch.zeros(9, 8), 2, 0)


def test_versions_of_wrappers_name_a_model(
    planted: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Recipe(ModelSpec("bilstm+residual+concat", hidden=8), TrainSpec(), 0)
    plain = Recipe(ModelSpec(hidden=8), TrainSpec(), 0)
    versions = runner.model_facts(planted.run, recipe)["versions"]
    assert versions["encoder"] == versions["residual"] == versions["concat"] == 1
    own = set(versions) - set(runner.model_facts(planted.run, plain)["versions"])
    assert own == {"residual", "concat"}
    before, other = (runner.model_key(planted.run, each) for each in (recipe, plain))
    piece = replace(WRAPPERS["residual"], version=2)
    newer = _Newer("wrapper", WRAPPERS.entry_class, WRAPPERS.modules, piece)
    monkeypatch.setattr(runner, "WRAPPERS", newer)
    assert runner.model_key(planted.run, recipe) != before
    assert runner.model_key(planted.run, plain) == other


class _Newer(Registry):
    """One piece is another than it was."""

    def __init__(  # type: ignore[no-untyped-def]
        self, kind: str, entry_class: type, modules: MappingProxyType, piece
    ) -> None:
        super().__init__(kind, entry_class, modules)
        object.__setattr__(self, "piece", piece)

    def __getitem__(self, name: str):  # type: ignore[no-untyped-def]
        piece = self.__dict__["piece"]
        return piece if name == piece.name else super().__getitem__(name)


def constant_walk(*candidates: float) -> Orthogonal:
    """All weights 0 but the candidates' biases: gates are ½, and no state looks at another."""
    encoder = Orthogonal(1, 1, "code", len(candidates)).double()
    size = len(candidates)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.zero_()
        bias = dict(encoder.stack[0].named_parameters())["bias_ih_l0"]
        bias[2 * size : 3 * size] = torch.tensor(candidates)
    return encoder


def test_an_orthogonal_lstm_by_hand() -> None:
    """Cells are ½ tanh b, then ¾ tanh b; the second state loses its part along the first."""
    encoder = constant_walk(1.0, 3.0)
    states = encoder(torch.zeros(1, 3, 1).double(), torch.tensor([2])).states[0]
    first, second = (
        [0.5 * math.tanh(share * math.tanh(bias)) for bias in (1.0, 3.0)] for share in (0.5, 0.75)
    )
    along = (second[0] * first[0] + second[1] * first[1]) / (first[0] ** 2 + first[1] ** 2)
    assert states[0].tolist() == pytest.approx(first)
    assert states[1].tolist() == pytest.approx(
        [s - along * f for s, f in zip(second, first, strict=True)]
    )
    assert not states[2].any()


def test_on_a_line_only_the_first_state_is_not_zero() -> None:
    states = constant_walk(2.0)(torch.zeros(1, 4, 1).double(), torch.tensor([4])).states
    assert states[0, 0, 0] > 0.1 and states[0, 1:].abs().max() < 1e-15


def test_nothing_is_subtracted_where_the_mean_is_zero() -> None:
    """No state before the third is anything: the third is the LSTM's own."""
    encoder = constant_walk(0.0, 0.0)
    weight = dict(encoder.stack[0].named_parameters())["weight_ih_l0"]
    with torch.no_grad():
        weight[4:6] = 1.0
    x = torch.tensor([0.0, 0.0, 1.0]).double().reshape(1, 3, 1).requires_grad_()
    states = encoder(x, torch.tensor([3])).states
    states.square().sum().backward()
    assert not states[0, :2].any()
    assert states[0, 2].tolist() == pytest.approx([0.5 * math.tanh(0.5 * math.tanh(1))] * 2)
    assert x.grad is not None and x.grad.isfinite().all()


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_states_are_orthogonal_to_the_mean_of_the_earlier_ones(layers: int) -> None:
    model, batch = tiny_model("orthogonal", layers=layers, double=True), tiny_batch((20, 7))
    for states, length in zip(states_of(model, batch), batch.texts["a"].lengths, strict=True):
        for place in range(1, int(length)):
            mean = states[:place].mean(0)
            assert abs(float(states[place] @ mean)) < 1e-12
            assert float(states[place].norm()) > 1e-3


def test_what_is_left_goes_on_to_the_next_step() -> None:
    """Taking parts away from an LSTM's states afterwards is something else."""
    model, batch = tiny_model("orthogonal", double=True), tiny_batch((6,))
    other = Recurrent(5, 1, 8, bidirectional=False).double()
    other.load_state_dict(model.encoder.state_dict())
    lengths = batch.texts["a"].lengths
    plain = other(model.embed(batch)["a"], lengths).states[0].detach()
    afterwards = [plain[0]]
    for h in plain[1:]:
        mean = torch.stack(afterwards).mean(0)
        afterwards.append(h - (h @ mean) / (mean @ mean) * mean)
    found = states_of(model, batch)[0]
    torch.testing.assert_close(found[0], plain[0])
    torch.testing.assert_close(found[1], afterwards[1])
    assert (found[2:] - torch.stack(afterwards)[2:]).abs().max() > 1e-3


def test_conicity_is_lower_than_that_of_the_same_lstm() -> None:
    model, plain = tiny_model("orthogonal"), tiny_model("lstm")
    assert all(
        torch.equal(a, b)
        for a, b in zip(model.encoder.parameters(), plain.encoder.parameters(), strict=True)
    )
    batch = tiny_batch((30, 25, 20))
    mask = batch.texts["a"].mask
    low, high = (conicity(states_of(each, batch), mask) for each in (model, plain))
    assert bool((low < 0.7 * high).all())


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("attention", ["additive", "dot"])
def test_an_orthogonal_model_is_what_the_paper_says(layers: int, attention: str) -> None:
    model, batch = tiny_model("orthogonal", attention, 3, layers, True), tiny_batch(LENGTHS)
    parameters = {name: value.tolist() for name, value in model.state_dict().items()}
    found = model(batch).logits
    for example, tokens in enumerate(rows_of(batch)):
        logits, _ = forward(parameters, "orthogonal", attention, layers, tokens)
        assert found[example].tolist() == pytest.approx(logits, abs=1e-9)


def test_its_size_is_that_of_an_lstm() -> None:
    sizes = [build(ModelSpec(name), torch.zeros(9, 6), 2, 0) for name in ("lstm", "orthogonal")]
    assert [model.encoder.size for model in sizes] == [128, 128]
    assert isinstance(sizes[1].encoder, Orthogonal)
