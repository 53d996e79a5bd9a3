"""One direction of an LSTM layer, step by step, with every state and cell kept.

On a CPU this is as fast as a packed `nn.LSTM` forwards and faster backwards (a packed
layer's backward pass fills a tensor as large as all its inputs at every step), and what
it keeps is what deletions go on from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


@dataclass(frozen=True)
class Direction:
    """Time comes first. `recurrent` is transposed; padding holds zeros."""

    inputs: Float[Tensor, "t b g"]
    states: Float[Tensor, "t b h"]
    cells: Float[Tensor, "t b h"]
    recurrent: Float[Tensor, "h g"]
    reverse: bool

    def detach(self) -> Direction:
        return Direction(
            self.inputs.detach(),
            self.states.detach(),
            self.cells.detach(),
            self.recurrent.detach(),
            self.reverse,
        )


def scan_layer(
    layer: nn.Module, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]
) -> tuple[Direction, ...]:
    """Both directions of an `nn.LSTM` of one layer, or the one it has."""
    weights: dict[str, Tensor] = dict(layer.named_parameters())
    x = x.transpose(0, 1)
    live = (torch.arange(len(x), device=x.device)[:, None] < lengths)[..., None].to(x.dtype)
    suffixes = ("", "_reverse") if "weight_ih_l0_reverse" in weights else ("",)
    return tuple(_scan(x, live, weights, suffix) for suffix in suffixes)


def _scan(x: Tensor, live: Tensor, weights: dict[str, Tensor], suffix: str) -> Direction:
    hidden = weights[f"weight_hh_l0{suffix}"]
    double = _double_candidate(hidden.shape[1], x)
    recurrent = (hidden * double[:, None]).t()
    bias = weights[f"bias_ih_l0{suffix}"] + weights[f"bias_hh_l0{suffix}"]
    inputs = nn.functional.linear(
        x, weights[f"weight_ih_l0{suffix}"] * double[:, None], bias * double
    )
    reverse = suffix != ""
    walked: list[Tensor] = []
    share = _Share.apply(  # type: ignore[no-untyped-call]
        recurrent, inputs.detach(), walked, reverse
    )
    states, cells = _Scan.apply(  # type: ignore[no-untyped-call]
        inputs, share, recurrent.detach().contiguous(), live, reverse
    )
    walked.append(states.detach())
    return Direction(inputs, states, cells, recurrent, reverse)


def step(inputs: Tensor, h: Tensor, c: Tensor, recurrent: Tensor) -> tuple[Tensor, Tensor]:
    """One step without gradients, from half the state and twice the cell to the same; `recurrent`
    is for half a state, `inputs` is overwritten. Halves and doubles are exact and save passes
    over memory, which costs more here than arithmetic."""
    enter, forget, candidate, leave = inputs.addmm_(h, recurrent).sigmoid_().chunk(4, -1)
    c = (forget * c).sub_(enter, alpha=2).addcmul_(enter, candidate, value=4)
    return c.sigmoid().sub_(0.5).mul_(leave), c


class _Share(torch.autograd.Function):
    """`(recurrent, inputs, walked, reverse) -> zeros`, which a scan takes beside its inputs: the
    slopes that come back are the gates', and the recurrent weights' follow from them. It is a
    node of its own so that autograd leaves it out where only the inputs' slopes are asked for.
    """

    @staticmethod
    def forward(
        ctx: Any, recurrent: Tensor, inputs: Tensor, walked: list[Tensor], reverse: bool
    ) -> Tensor:
        ctx.walked, ctx.reverse = walked, reverse
        return inputs.new_zeros(()).expand(inputs.shape)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        (states,) = ctx.walked
        if ctx.reverse:  # as they were walked over: the order of a sum is seen in its last bits
            states, slopes = states.flip(0), slopes.flip(0)
        weight = states[:-1].flatten(0, 1).t() @ slopes[1:].flatten(0, 1)
        return weight, None, None, None


class _Scan(torch.autograd.Function):
    """`(inputs, share, recurrent, live, reverse) -> (states, cells)`; no gradient enters by
    cells, and none leaves by `recurrent`."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, share: Tensor, recurrent: Tensor, live: Tensor, reverse: bool
    ) -> tuple[Tensor, Tensor]:
        t, b, _ = inputs.shape
        h, c = (inputs.new_zeros(b, len(recurrent)) for _ in range(2))
        states, cells, squashed = (inputs.new_empty(t, b, len(recurrent)) for _ in range(3))
        gates = torch.empty_like(inputs)
        padded = _padded(live)
        for place in _places(t, reverse):
            gate = torch.addmm(inputs[place], h, recurrent, out=gates[place]).sigmoid_()
            enter, forget, candidate, leave = gate.chunk(4, -1)
            candidate.mul_(2).sub_(1)
            c = torch.mul(forget, c, out=cells[place]).addcmul_(enter, candidate)
            if padded[place]:
                c.mul_(live[place])
            tanh = torch.mul(c, 2, out=squashed[place]).sigmoid_().mul_(2).sub_(1)
            h = torch.mul(leave, tanh, out=states[place])
        ctx.save_for_backward(gates, recurrent, live, cells, squashed)
        ctx.reverse = reverse
        ctx.mark_non_differentiable(cells)
        return states, cells

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, states_slope: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gates, recurrent, live, cells, squashed = ctx.saved_tensors
        back, padded = recurrent.t().contiguous(), _padded(live)
        order = _places(len(gates), ctx.reverse)
        zero = torch.zeros_like(cells[0])
        slopes = torch.empty_like(gates)
        dh, dc = zero.clone(), zero.clone()
        for number in reversed(range(len(order))):
            place = order[number]
            enter, forget, candidate, leave = gates[place].chunk(4, -1)
            d_enter, d_forget, d_candidate, d_leave = slopes[place].chunk(4, -1)
            tanh = squashed[place]
            dh += states_slope[place]
            dc.addcmul_(dh * leave, 1 - tanh * tanh)
            if padded[place]:
                dc.mul_(live[place])
            before = cells[order[number - 1]] if number else zero
            torch.mul(dc * candidate, enter * (1 - enter), out=d_enter)
            torch.mul(dc * before, forget * (1 - forget), out=d_forget)
            torch.mul(dc * enter, (1 - candidate * candidate).mul_(0.5), out=d_candidate)
            torch.mul(dh * tanh, leave * (1 - leave), out=d_leave)
            dc.mul_(forget)
            dh = slopes[place] @ back
        return slopes, slopes, None, None, None


def _padded(live: Float[Tensor, "t b 1"]) -> list[bool]:
    """The steps at which some text has ended."""
    ended: list[bool] = (live == 0).any(1)[:, 0].tolist()
    return ended


def _places(t: int, reverse: bool) -> list[int]:
    return list(reversed(range(t)) if reverse else range(t))


def _double_candidate(size: int, like: Tensor) -> Tensor:
    """2 for the candidate's rows, 1 for the gates': tanh(x) = 2σ(2x) − 1, and one σ does all.

    On CPUs σ is several times faster than tanh; the absolute error is the same.
    """
    double = like.new_ones(4 * size)
    double[2 * size : 3 * size] = 2  # PyTorch's order: input, forget, candidate, output
    return double
