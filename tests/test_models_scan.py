"""Our LSTM steps against torch's own layer: states, slopes, weights' slopes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from heedful.models.encoders.packed import run_packed
from heedful.models.encoders.scan import scan_layer

LENGTHS = torch.tensor([5, 1, 3, 5])


@pytest.mark.parametrize("bidirectional", [False, True])
def test_states_and_slopes_are_those_of_torch(bidirectional: bool) -> None:
    torch.manual_seed(0)
    layer = nn.LSTM(4, 3, batch_first=True, bidirectional=bidirectional).double()
    x = torch.randn(4, 5, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(4, 5, 6 if bidirectional else 3, dtype=torch.float64)
    wanted = run_packed(layer, x, LENGTHS)
    found = torch.cat([d.states for d in scan_layer(layer, x, LENGTHS)], -1).transpose(0, 1)
    torch.testing.assert_close(found, wanted)
    inputs = [x, *layer.parameters()]
    slopes = torch.autograd.grad((found * weight).sum(), inputs)
    for mine, theirs in zip(
        slopes, torch.autograd.grad((wanted * weight).sum(), inputs), strict=True
    ):
        torch.testing.assert_close(mine, theirs)


def test_slopes_pass_a_numerical_check() -> None:
    torch.manual_seed(1)
    layer = nn.LSTM(2, 2, batch_first=True).double()
    x = torch.randn(4, 5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: scan_layer(layer, x, LENGTHS)[0].states, (x,))


def test_padding_holds_zeros() -> None:
    layer = nn.LSTM(2, 2, batch_first=True, bidirectional=True)
    for side in scan_layer(layer, torch.ones(4, 5, 2), LENGTHS):
        assert not side.states[1:, 1].any() and not side.cells[3:, 2].any()
