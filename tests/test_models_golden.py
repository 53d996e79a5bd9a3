"""Answers derived on paper: two tokens, integer weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from heedful.models import Additive, Average, Cnn, Dot, Encoder, OneSequence, Recurrent, build
from heedful.specs import ModelSpec
from heedful.types import Batch
from tiny import batch_of

# Tokens 4 and 5 are embedded as (1, 0) and (0, 2); start and end as large numbers that must
# not be attended to, padding as NaN.
VECTORS = torch.tensor(
    [[math.nan] * 2, [9.0, 9.0], [50.0, 60.0], [70.0, 80.0], [1.0, 0.0], [0.0, 2.0]]
)


def two_tokens() -> Batch:
    return batch_of([[2, 4, 5, 3]], ("both",), [1], 0)


def model_of(encoder: Encoder, attention: nn.Module) -> OneSequence:
    """h = (1, 0, 0, 0) and (0, 2, 0, 0); the decoder takes 3·h₁ − h₂ + 1."""
    model = OneSequence(ModelSpec(), VECTORS, 2)
    model.encoder, model.attention, model.decoder = encoder, attention, nn.Linear(4, 1)
    with torch.no_grad():
        model.decoder.weight.copy_(torch.tensor([[3.0, -1.0, 0.0, 0.0]]))
        model.decoder.bias.fill_(1.0)
    return model


def identity() -> Average:
    encoder = Average(2, 1, "paper", 4)
    with torch.no_grad():
        encoder.layers[0].weight.copy_(torch.eye(4, 2))
        encoder.layers[0].bias.zero_()
    return encoder


def test_dot_attention() -> None:
    """q = (0, 2, 0, 0), so the scores are 0 and 2·2/√4 = 2; the tokens' logits are 3 and −2."""
    attention = Dot(4)
    with torch.no_grad():
        attention.query.copy_(torch.tensor([0.0, 2.0, 0.0, 0.0]))
    model = model_of(identity(), attention)
    e2 = math.exp(2)
    trace = model(two_tokens())
    expected = [0.0, 1 / (1 + e2), e2 / (1 + e2), 0.0]
    assert trace.weights["attention"].flatten().tolist() == pytest.approx(expected)
    assert trace.logits.item() == pytest.approx((3 - 2 * e2) / (1 + e2) + 1)
    deleted = model.leave_one_out_logits(two_tokens()).less[0, :, 0]
    assert deleted[1:3].tolist() == pytest.approx([-2 + 1, 3 + 1])
    assert deleted.isnan().tolist() == [True, False, False, True]


def test_additive_attention() -> None:
    """Far out tanh is ±1: W h + b = (50, −50) and (−50, 50), v = (2, 1): scores 1 and −1."""
    attention = Additive(4)
    with torch.no_grad():
        weight = torch.tensor([[100.0, 0.0, 0.0, 0.0], [-100.0, 0.0, 0.0, 0.0]])
        attention.project.weight.copy_(weight)
        attention.project.bias.copy_(torch.tensor([-50.0, 50.0]))
        attention.score.weight.copy_(torch.tensor([[2.0, 1.0]]))
    trace = model_of(identity(), attention)(two_tokens())
    share = 1 / (1 + math.exp(-2))
    weights = trace.weights["attention"][0, 0, 0, 1:3].tolist()
    assert weights == pytest.approx([share, 1 - share])
    assert trace.logits.item() == pytest.approx(3 * share - 2 * (1 - share) + 1)


def test_convolutions_sum_their_windows() -> None:
    """All kernels are ones, all biases 0: state f of a token is the sum of its window."""
    encoder = Cnn(1, 1, "code", 4)
    with torch.no_grad():
        for conv in encoder.stack[0].convolutions:
            conv.weight.fill_(1.0)
            conv.bias.zero_()
    x = torch.tensor([1.0, 10.0, 100.0, 1000.0, 10000.0, -7.0])[None, :, None]
    states = encoder(x, torch.tensor([5])).states  # the sixth is padding
    assert states[0, 0].tolist() == [1, 11, 111, 1111]
    assert states[0, 2].tolist() == [100, 1110, 11111, 11111]
    assert states[0, 4].tolist() == [10000, 11000, 11100, 11110]


def test_lstm_of_one_token() -> None:
    """All weights 0: gates ½, candidate tanh 1 by its bias, so c = ½ tanh 1, then ¾ tanh 1."""
    encoder = Recurrent(1, 1, 4, bidirectional=False)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.zero_()
        encoder.stack[0].bias_ih_l0[8:12] = 1.0
    states = encoder(torch.zeros(1, 2, 1), torch.tensor([2])).states[0, :, 0].tolist()
    cells = [0.5 * math.tanh(1), 0.75 * math.tanh(1)]
    assert states == pytest.approx([0.5 * math.tanh(cell) for cell in cells])


def test_both_directions_start_at_their_own_end() -> None:
    encoder = Recurrent(1, 1, 4, bidirectional=True)
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            parameter.copy_(dict(encoder.named_parameters())[name.removesuffix("_reverse")])
    x = torch.tensor([[1.0, 2.0, 3.0, 0.0], [3.0, 2.0, 1.0, 9.0]])[..., None]
    states = encoder(x, torch.tensor([3, 3])).states[:, :3]
    torch.testing.assert_close(states[0, :, 4:], states[1].flip(0)[:, :4])


SIZES = {
    ("bilstm", "code"): 256,
    ("bilstm", "paper"): 256,
    ("lstm", "code"): 128,
    ("lstm", "paper"): 128,
    ("cnn", "code"): 128,
    ("cnn", "paper"): 256,
    ("average", "code"): 128,
    ("average", "paper"): 256,
}


@pytest.mark.parametrize(("encoder", "sizes"), SIZES)
def test_sizes_of_the_code_and_of_the_paper(encoder: str, sizes: str) -> None:
    model = build(ModelSpec(encoder, sizes=sizes), VECTORS, 2, 0)
    assert model.encoder.size == SIZES[encoder, sizes]
    assert model.attention.project.weight.shape == (model.encoder.size // 2, model.encoder.size)
    assert model.attention.score.bias is None
    assert model.decoder.weight.shape == (1, model.encoder.size)


def test_the_paper_squashes_by_relu_and_the_code_by_tanh() -> None:
    x, lengths = torch.full((1, 1, 2), 1e3), torch.tensor([1])
    code, paper = (Average(2, 1, sizes, None)(x, lengths).states for sizes in ("code", "paper"))
    assert code.min() < 0 and code.abs().max() <= 1
    assert paper.min() == 0 and paper.max() > 1


def test_a_narrow_query_starts_as_a_linear_layer_does() -> None:
    """Within 1/√d, where the usual one is a standard normal; scores are alike otherwise."""
    torch.manual_seed(0)
    narrow, wide = Dot(400, narrow=True), Dot(400)
    assert float(narrow.query.detach().abs().max()) <= 400**-0.5
    assert float(wide.query.detach().std()) == pytest.approx(1, rel=0.1)
    assert float(narrow.query.detach().std()) == pytest.approx((400 * 3) ** -0.5, rel=0.1)
    assert narrow.scale == wide.scale == 20
    spec = ModelSpec(attention="narrow_dot")
    assert isinstance(build(spec, torch.zeros(9, 4), 2, 0).attention, Dot)
