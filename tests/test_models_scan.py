"""Our LSTM steps against torch's own layer: states, slopes, weights' slopes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from heedful.models import lstm_steps, run_packed, scan_layer

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


def test_who_asks_for_the_slopes_of_inputs_pays_for_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the recurrent weights' slopes were computed")

    monkeypatch.setattr(lstm_steps._Share, "backward", staticmethod(never))
    layer = nn.LSTM(2, 2, batch_first=True, bidirectional=True)
    x = torch.ones(4, 5, 2, requires_grad=True)
    total = sum(side.states.sum() for side in scan_layer(layer, x, LENGTHS))
    assert torch.autograd.grad(total, x, retain_graph=True)[0].any()
    with pytest.raises(AssertionError, match="recurrent"):
        torch.autograd.grad(total, layer.weight_hh_l0)


def test_a_step_is_exactly_that_of_a_scan() -> None:
    """From half the state and twice the cell, in single precision."""
    torch.manual_seed(2)
    layer = nn.LSTM(4, 3, batch_first=True)
    side = scan_layer(layer, torch.randn(4, 5, 4), LENGTHS)[0].detach()
    state = side.states[0] / 2, side.cells[0] * 2
    h, c = lstm_steps.step(side.inputs[1].clone(), *state, side.recurrent * 2)
    torch.testing.assert_close(2 * h[0], side.states[1, 0], atol=1e-7, rtol=0)
    torch.testing.assert_close(c[0] / 2, side.cells[1, 0], atol=1e-7, rtol=0)
