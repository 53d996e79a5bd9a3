"""An LSTM layer step by step, with every state and cell kept, and again without one token.

On a CPU this is as fast as a packed `nn.LSTM` forwards and faster backwards (a packed layer's
backward pass fills a tensor as large as all its inputs at every step), and what it keeps is what
deletions go on from: states before the deleted token (in reading direction) stay what they were,
so each deletion starts from a cached state and only walks the rest; input projections are computed
once for all. Deletions march in step, the longest first, so that those still walking are always the
first rows of one matrix. Results stay in the order in which they are made, step after step; a table
says where each is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.models.encoders import Readout, Window


@dataclass(frozen=True)
class Direction:
    """Time comes first. `recurrent` is transposed; padding holds zeros."""

    inputs: Float[Tensor, "t b g"]
    states: Float[Tensor, "t b h"]
    cells: Float[Tensor, "t b h"]
    recurrent: Float[Tensor, "h g"]
    reverse: bool

    def detach(self) -> Direction:
        states, cells = self.states.detach(), self.cells.detach()
        recurrent = self.recurrent.detach()
        return Direction(self.inputs.detach(), states, cells, recurrent, self.reverse)


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
    # 2 for the candidate's rows, 1 for the gates': tanh(x) = 2σ(2x) − 1, and one σ does all. On
    # CPUs σ is several times faster than tanh; the absolute error is the same
    size = hidden.shape[1]
    double = x.new_ones(4 * size)
    double[2 * size : 3 * size] = 2  # PyTorch's order: input, forget, candidate, output
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


def lstm_step(gates: Float[Tensor, "b g"], c: Float[Tensor, "b h"]) -> tuple[Tensor, Tensor]:
    """State and cell after one step, from gates in PyTorch's order."""
    enter, forget, candidate, leave = gates.chunk(4, -1)
    c = forget.sigmoid() * c + enter.sigmoid() * candidate.tanh()
    return leave.sigmoid() * c.tanh(), c


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


class FirstLayer:
    """A layer after many deletions at once. With a readout they give readouts; without, states."""

    def __init__(
        self, directions: tuple[Direction, ...], lengths: Tensor, readout: Readout | None
    ) -> None:
        self.lengths = lengths
        self.directions = [side.detach() for side in directions]
        states = torch.cat([side.states for side in self.directions], -1).flatten(0, 1)
        weight = torch.eye(states.shape[-1]).to(states) if readout is None else readout.weight
        # each direction's share of the map from states to results
        self.maps = [share.t() for share in weight.chunk(len(self.directions), 1)]
        self.whole = states if readout is None else readout(states)
        # what a position's result is less the part of one direction
        self.others = [
            self.whole - side.states.flatten(0, 1) @ weight
            for side, weight in zip(self.directions, self.maps, strict=True)
        ]

    def delete(self, examples: Int[Tensor, " m"], positions: Int[Tensor, " m"]) -> Window:
        """Results in any order, for the whole of each shortened text."""
        lengths = self.lengths[examples]
        places = torch.arange(int(lengths.max()) - 1, device=positions.device)
        index = places + (places >= positions[:, None])
        walks = [_Walk(side, examples, positions, lengths) for side in self.directions]
        # what two directions have not passed; where there is one, it leaves what is before it
        kept = self.whole if len(walks) == 1 else self.whole[:0]
        row, done = index * len(self.lengths) + examples[:, None], len(kept)
        results = kept.new_empty(done + sum(walk.total for walk in walks), kept.shape[1])
        results[:done] = kept
        for walk, weight, other in zip(walks, self.maps, self.others, strict=True):
            row = torch.where(walk.passes(index), walk.rows(index) + done, row)
            walk.write(results[done:], weight, other)
            done += walk.total
        there = index < lengths[:, None]
        row, index = torch.where(there, row, 0), torch.where(there, index, -1)
        return Window(torch.zeros_like(positions), lengths, index, results, row)


class _Walk:
    """One direction from each deletion to the end of its text, in step."""

    def __init__(
        self, side: Direction, examples: Tensor, positions: Tensor, lengths: Tensor
    ) -> None:
        self.side, self.positions = side, positions
        self.ahead = -1 if side.reverse else 1
        todo = positions if side.reverse else lengths - 1 - positions
        order = torch.argsort(todo, descending=True, stable=True)
        self.rank = torch.empty_like(order)
        self.rank[order] = torch.arange(len(order), device=order.device)
        self.examples, self.begin = examples[order], positions[order]
        self.lengths = lengths[order]
        steps = torch.arange(int(todo.max()), device=todo.device)
        walking = (todo[:, None] > steps).sum(0)
        self.starts = walking.cumsum(0) - walking
        self.walking: list[int] = walking.tolist()
        self.total = sum(self.walking)

    def passes(self, index: Int[Tensor, "m w"]) -> Tensor:
        """Whether the walk comes to a position of the original text."""
        return (index - self.positions[:, None]) * self.ahead > 0

    def rows(self, index: Int[Tensor, "m w"]) -> Int[Tensor, "m w"]:
        """Where the result is, for positions that the walk passes."""
        taken = (index - self.positions[:, None]) * self.ahead - 1
        if not self.walking:
            return torch.zeros_like(index)
        return self.starts[taken.clamp(0, len(self.walking) - 1)] + self.rank[:, None]

    def write(self, out: Tensor, weight: Float[Tensor, "h f"], other: Tensor) -> None:
        """Results, step after step."""
        # it starts from the states before the deleted token: zero at the edge of the text
        before = self.begin - self.ahead
        there = ((before >= 0) & (before < self.lengths))[:, None]
        start = before.clamp(0, len(self.side.states) - 1), self.examples
        h, c = self.side.states[start] * there / 2, self.side.cells[start] * there * 2
        weight, recurrent = weight * 2, self.side.recurrent * 2
        inputs, texts = self.side.inputs.flatten(0, 1), self.side.inputs.shape[1]
        token = (self.begin + self.ahead) * texts + self.examples
        done = 0
        for n in self.walking:
            token = token[:n]
            h, c = step(inputs.index_select(0, token), h[:n], c[:n], recurrent)
            block = out[done : done + n]
            torch.index_select(other, 0, token, out=block)
            block.addmm_(h, weight)
            token, done = token + self.ahead * texts, done + n
