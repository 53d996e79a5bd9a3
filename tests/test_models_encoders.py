"""serrano2019's encoders by hand: sizes, windows, one step of a GRU."""

from __future__ import annotations

import math

import pytest
import torch

from heedful.models import ENCODERS, ConvolutionLayer, Convolutions, Gru, PassThrough, build
from heedful.specs import ModelSpec

VECTORS = torch.arange(72.0).reshape(12, 6)


@pytest.mark.parametrize("sizes", ["code", "paper"])
@pytest.mark.parametrize(("encoder", "size"), [("bigru", 100), ("conv", 100), ("none", 6)])
def test_sizes(encoder: str, sizes: str, size: int) -> None:
    model = build(ModelSpec(encoder, sizes=sizes), VECTORS, 5, 0)
    assert model.encoder.size == size and model.decoder.weight.shape == (5, size)


def test_half_of_the_channels_see_three_tokens_and_half_see_five() -> None:
    encoder = Convolutions(1, 1, 4, (3, 5))
    with torch.no_grad():
        for conv in encoder.stack[0].convolutions:
            conv.weight.fill_(1.0)
            conv.bias.zero_()
    x = torch.tensor([1.0, 10.0, 100.0, 1000.0, -7.0])[None, :, None]
    states = encoder(x, torch.tensor([4])).states  # the fifth is padding
    assert states[0, 0].tolist() == [11, 11, 111, 111]
    assert states[0, 3].tolist() == [1100, 1100, 1110, 1110]


def test_the_serrano_convolution_has_its_kernels() -> None:
    encoder = ENCODERS["conv"].make(6, 1, "code", None)
    shapes = [tuple(conv.weight.shape) for conv in encoder.stack[0].convolutions]
    assert shapes == [(50, 6, 3), (50, 6, 5)]


def test_a_gru_by_hand() -> None:
    """All weights 0: gates ½, candidate tanh 1 by its bias: h = ½ tanh 1, then ¾ tanh 1."""
    encoder = Gru(1, 1, "code", 4)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.zero_()
        encoder.stack[0].bias_ih_l0[8:12] = 1.0
        encoder.stack[0].bias_ih_l0_reverse[8:12] = 2.0
    states = encoder(torch.zeros(1, 3, 1), torch.tensor([2])).states[0]
    one, two = math.tanh(1), math.tanh(2)
    assert states[:2, 0].tolist() == pytest.approx([0.5 * one, 0.75 * one])
    assert states[:2, 4].tolist() == pytest.approx([0.75 * two, 0.5 * two])
    assert not states[2].any()


def test_no_encoder_hands_on_embeddings_and_keeps_padding_out() -> None:
    x = torch.arange(12.0).reshape(1, 4, 3)
    states = PassThrough(3, 1, "code", None)(x, torch.tensor([3])).states
    assert torch.equal(states[:, :3], x[:, :3]) and not states[:, 3].any()


@pytest.mark.parametrize("length", [1, 2, 3, 9])
def test_convolutions_by_products_are_convolutions(length: int) -> None:
    """What a card is given, gradients too; in float64 the order of sums is no difference."""
    layer = ConvolutionLayer(5, 12, (1, 3, 5, 7)).double()
    found = []
    for way in (layer, layer.by_products):
        x = torch.randn(3, length, 5, generator=torch.manual_seed(0), dtype=torch.float64)
        states = way(x.requires_grad_())
        grads = torch.autograd.grad((states**2).sum(), [x, *layer.parameters()])
        found.append((states, *grads))
    for expected, other in zip(*found, strict=True):
        torch.testing.assert_close(other, expected)
