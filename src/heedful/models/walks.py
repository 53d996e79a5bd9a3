"""Recurrent layers after many deletions at once, each read on from where the token is gone.

States before the deleted token (in reading direction) stay what they were, so a deletion starts
from what the layer carried there, and its walk ends where the layer is again as it was with the
token: at the end of the text at the latest, mostly long before, as layers forget. Walks are taken
in blocks of a few steps, those with equally far to go together. A block is given away before the
next begins: memory does not grow with the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.models.encoders import Changed, Readout
from heedful.models.hf.linear import linear

Carried = tuple[Float[Tensor, "*n h"], ...]
BLOCK = 8
"""Steps. After each block it is asked who has arrived."""
AT_ONCE = {"cpu": 512, "cuda": 1 << 14}
"""Walks; bounds the memory of a block."""
SAME = 2.0
"""In units of rounding: the root mean square by which what is carried may be off where a walk ends.
Two passes over one text that differ in nothing but their batch are about one such unit apart."""


@dataclass(frozen=True)
class Reading:
    """One direction of a layer that has read texts, and how it reads on: `step(inputs, carried)`.
    Time comes first; padding holds zeros.

    `carried` is what goes from each token to the next, the state first, in units of `unit`."""

    inputs: Float[Tensor, "t b g"]
    carried: Carried
    step: Callable[[Tensor, Carried], Carried]
    reverse: bool = False
    unit: float = 1.0

    @property
    def states(self) -> Float[Tensor, "t b h"]:
        return self.carried[0] * self.unit


def lstm_readings(
    layer: nn.Module, x: Tensor, states: Tensor, lengths: Int[Tensor, " b"]
) -> list[Reading]:
    """Of an `nn.LSTM` with these states. Cells follow from the states: all gates at once, then
    one product and sum a step."""
    live = _live(x, lengths)
    found = []
    for suffix, h in _directions(layer, states):
        inputs, recurrent = lstm_inputs(layer, x, suffix)
        reverse = suffix != ""
        gates = torch.empty_like(inputs)
        before = _shifted(h, reverse).flatten(0, 1)
        torch.addmm(inputs.flatten(0, 1), before, recurrent.t(), out=gates.flatten(0, 1))
        gates.sigmoid_().mul_(live)
        enter, forget, candidate, _ = gates.chunk(4, -1)
        fresh = (2 * candidate - 1) * enter
        cells = torch.empty_like(fresh)
        c = torch.zeros_like(fresh[0])
        for place in reversed(range(len(cells))) if reverse else range(len(cells)):
            c = torch.addcmul(fresh[place], forget[place], c, out=cells[place])
        walk = partial(lstm_walk, recurrent=recurrent * 2)
        found.append(Reading(inputs, (h / 2, cells * 2), walk, reverse, unit=2.0))
    return found


def lstm_inputs(layer: nn.Module, x: Tensor, suffix: str = "") -> tuple[Tensor, Tensor]:
    """What an LSTM makes of its inputs, time first, and its recurrent weights; for `lstm_walk`. The
    candidate's are doubled: tanh(x) = 2σ(2x) − 1, and one σ does for all. On CPUs σ is several
    times faster than tanh; the absolute error is the same."""
    weights = _weights(layer, suffix)
    size = weights["hh"].shape[1]
    double = x.new_ones(4 * size)
    double[2 * size : 3 * size] = 2  # PyTorch's order: input, forget, candidate, output
    bias = (weights["bias_ih"] + weights["bias_hh"]) * double
    inputs = F.linear(x.transpose(0, 1).contiguous(), weights["ih"] * double[:, None], bias)
    return inputs, weights["hh"] * double[:, None]


def lstm_walk(inputs: Tensor, carried: Carried, recurrent: Tensor) -> Carried:
    """From half the state and twice the cell to the same; `recurrent` is for half a state. Halves
    and doubles are exact and save passes over memory, which cost more here than arithmetic."""
    h, c = carried
    gates = mapped(h, recurrent).add_(inputs).sigmoid_()
    enter, forget, candidate, leave = gates.chunk(4, -1)
    c = (forget * c).sub_(enter, alpha=2).addcmul_(enter, candidate, value=4)
    return c.sigmoid().sub_(0.5).mul_(leave), c


def mapped(h: Float[Tensor, "n h"], recurrent: Float[Tensor, "g h"]) -> Float[Tensor, "n g"]:
    """By oneDNN where a chunk is whole: it prepares a kernel for every number of rows."""
    whole = len(h) in (AT_ONCE["cpu"], BLOCK * AT_ONCE["cpu"])
    return (linear if whole else F.linear)(h, recurrent)


def gru_readings(
    layer: nn.Module, x: Tensor, states: Tensor, lengths: Int[Tensor, " b"]
) -> list[Reading]:
    """Of an `nn.GRU` with these states."""
    found = []
    for suffix, h in _directions(layer, states):
        weights = _weights(layer, suffix)
        size = weights["hh"].shape[1]
        own = weights["bias_hh"]
        bias = weights["bias_ih"] + torch.cat([own[: 2 * size], torch.zeros_like(own[:size])])
        inputs = F.linear(x.transpose(0, 1).contiguous(), weights["ih"], bias)
        walk = partial(_gru_walk, recurrent=weights["hh"], bias=own[2 * size :])
        found.append(Reading(inputs, (h.contiguous(),), walk, suffix != ""))
    return found


def _gru_walk(inputs: Tensor, carried: Carried, recurrent: Tensor, bias: Tensor) -> Carried:
    (h,) = carried
    size = len(bias)
    own = mapped(h, recurrent)
    reset, update = (inputs[:, : 2 * size] + own[:, : 2 * size]).sigmoid_().chunk(2, -1)
    new = (own[:, 2 * size :] + bias).mul_(reset).add_(inputs[:, 2 * size :]).tanh_()
    return (torch.lerp(new, h, update),)


def _directions(layer: nn.Module, states: Tensor) -> Iterator[tuple[str, Tensor]]:
    """By the suffix of its weights, the states of each direction, time first."""
    suffixes = ("", "_reverse") if layer.bidirectional else ("",)
    halves = states.detach().transpose(0, 1).chunk(len(suffixes), -1)
    return zip(suffixes, halves, strict=True)


def _weights(layer: nn.Module, suffix: str) -> dict[str, Tensor]:
    names = {"ih": "weight_ih", "hh": "weight_hh", "bias_ih": "bias_ih", "bias_hh": "bias_hh"}
    return {key: getattr(layer, f"{name}_l0{suffix}").detach() for key, name in names.items()}


def _live(x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Float[Tensor, "t b 1"]:
    return (torch.arange(x.shape[1], device=x.device)[:, None] < lengths)[..., None].to(x.dtype)


def _shifted(states: Float[Tensor, "t b h"], reverse: bool) -> Float[Tensor, "t b h"]:
    """What each token finds: the state of the one read before it."""
    zero = torch.zeros_like(states[:1])
    return torch.cat([states[1:], zero] if reverse else [zero, states[:-1]])


class Walks:
    """What deletions change in a layer. With a readout they give readouts; without, states."""

    def __init__(
        self, readings: Sequence[Reading], lengths: Int[Tensor, " b"], readout: Readout | None
    ) -> None:
        self.lengths = lengths
        states = torch.cat([each.states for each in readings], -1).flatten(0, 1)
        weight = torch.eye(states.shape[-1]).to(states) if readout is None else readout.weight
        whole = states if readout is None else readout(states)
        self.walks = []
        # each direction's share of the map from states to results, and what a position's result
        # is less that share
        for reading, share in zip(readings, weight.chunk(len(readings), 1), strict=True):
            other = whole - F.linear(reading.states.flatten(0, 1), share)
            self.walks.append(_Direction(reading, share * reading.unit, other))

    def changed(
        self, examples: Int[Tensor, " m"], positions: Int[Tensor, " m"]
    ) -> Iterator[Changed]:
        for direction in self.walks:
            yield from direction.walk(examples, positions, self.lengths[examples])


@dataclass(frozen=True)
class _Direction:
    reading: Reading
    weight: Float[Tensor, "f h"]
    other: Float[Tensor, "tb f"]

    def walk(self, examples: Tensor, positions: Tensor, lengths: Tensor) -> Iterator[Changed]:
        """From each deletion on, in step."""
        reading = self.reading
        ahead = -1 if reading.reverse else 1
        todo = positions if reading.reverse else lengths - 1 - positions
        todo, rows = torch.sort(todo, descending=True, stable=True)
        examples, place = examples[rows], positions[rows] + ahead
        # it starts from what was carried before the deleted token: nothing at the edge of the text
        before = place - 2 * ahead
        there = ((before >= 0) & (before < lengths[rows]))[:, None]
        start = before.clamp(0, len(reading.inputs) - 1), examples
        carried = tuple(part[start] * there for part in reading.carried)
        size = AT_ONCE[todo.device.type]
        columns = (rows, examples, place, todo, *carried)
        chunks = zip(*(torch.split(column, size) for column in columns), strict=True)
        for row, text, begin, left, *start_with in chunks:
            yield from self._steps(row, text, begin, left, tuple(start_with))

    def _steps(
        self, rows: Tensor, examples: Tensor, place: Tensor, todo: Tensor, carried: Carried
    ) -> Iterator[Changed]:
        """Block after block. Who comes to the end of the text inside of one goes on the spot."""
        reading = self.reading
        ahead = -1 if reading.reverse else 1
        texts = reading.inputs.shape[1]
        inputs = reading.inputs.flatten(0, 1)
        places = torch.arange(BLOCK, device=todo.device)[:, None]
        while len(todo) and (most := min(BLOCK, int(todo[0]))):
            here = places[:most] < todo
            index = torch.where(here, place + ahead * places[:most], -1)
            token = torch.where(here, index, place - ahead) * texts + examples
            states = []
            for each in token:
                carried = reading.step(inputs.index_select(0, each), carried)
                states.append(carried[0])
            readouts = mapped(torch.cat(states), self.weight)
            readouts += self.other.index_select(0, token.flatten())
            yield Changed(rows, index, readouts.view(*index.shape, -1))
            going = self._going(carried, token[-1], todo)
            carried = tuple(part[going] for part in carried)
            rows, examples = rows[going], examples[going]
            place, todo = place[going] + ahead * BLOCK, todo[going] - BLOCK

    def _going(self, carried: Carried, token: Tensor, todo: Tensor) -> Int[Tensor, " n"]:
        """Those that have neither come to the end of the text nor to what the layer carried at
        the same token of the whole text, as far as rounding can tell."""
        wanted = [part.flatten(0, 1).index_select(0, token) for part in self.reading.carried]
        apart = [mine - whole for mine, whole in zip(carried, wanted, strict=True)]
        gap = torch.stack([each.square().sum(-1) for each in apart]).sum(0)
        size = torch.stack([each.square().sum(-1) + each.shape[-1] for each in wanted]).sum(0)
        unit = SAME * torch.finfo(carried[0].dtype).eps
        return ((todo > BLOCK) & (gap > unit**2 * size)).nonzero()[:, 0]
