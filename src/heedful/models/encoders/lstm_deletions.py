"""The first LSTM layer after deleting one token, for many deletions at once.

States before the deleted token (in reading direction) stay what they were, so each
deletion starts from a cached state and only walks the rest; input projections are
computed once for all. Deletions march in step, the longest first, so that those still
walking are always the first rows of one matrix.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.models.encoders.encoder import Readout


class FirstLayer:
    """With a readout, deletions give readouts; without, states."""

    def __init__(
        self,
        layer: nn.Module,
        x: Float[Tensor, "b t e"],
        lengths: Tensor,
        readout: Readout | None,
    ) -> None:
        self.lengths = lengths
        weights: dict[str, Tensor] = dict(layer.named_parameters())
        suffixes = ("", "_reverse") if "weight_ih_l0_reverse" in weights else ("",)
        self.directions = [
            _Direction(x, lengths, weights, suffix, reverse=suffix != "") for suffix in suffixes
        ]
        self.states = torch.cat([side.states for side in self.directions], -1)
        self.maps = self._maps(readout)
        self.whole = self.states if readout is None else readout(self.states)
        # what a position's result is less the part of one direction
        self.others = [
            self.whole - nn.functional.linear(side.states, weight)
            for side, weight in zip(self.directions, self.maps, strict=True)
        ]

    def _maps(self, readout: Readout | None) -> tuple[Tensor, ...]:
        """Each direction's share of the map from states to results."""
        size = self.states.shape[-1]
        weight = torch.eye(size).to(self.states) if readout is None else readout.weight
        return weight.chunk(len(self.directions), 1)

    def delete(
        self, examples: Int[Tensor, " m"], positions: Int[Tensor, " m"]
    ) -> tuple[Float[Tensor, "m w f"], Int[Tensor, "m w"]]:
        """Results for the shortened texts, and the original position of each."""
        width = int(self.lengths[examples].max()) - 1
        places = torch.arange(width, device=positions.device).expand(len(positions), width)
        index = places + (places >= positions[:, None])
        if len(self.directions) == 1:
            out = self.whole[examples[:, None], index]
        else:  # each place is after the token or before it, so one direction walks over it
            out = self.whole.new_zeros(*index.shape, self.whole.shape[-1])
        for side, weight, other in zip(self.directions, self.maps, self.others, strict=True):
            side.rewrite(out, examples, positions, weight.t(), other)
        return out, torch.where(index < self.lengths[examples, None], index, -1)


class _Direction:
    """One reading direction with all its states, cells and input projections cached."""

    def __init__(
        self, x: Tensor, lengths: Tensor, weights: dict[str, Tensor], suffix: str, reverse: bool
    ) -> None:
        self.lengths, self.reverse = lengths, reverse
        double = _double_candidate(weights[f"weight_hh_l0{suffix}"].shape[1], x)
        self.recurrent = (weights[f"weight_hh_l0{suffix}"] * double[:, None]).t().contiguous()
        bias = weights[f"bias_ih_l0{suffix}"] + weights[f"bias_hh_l0{suffix}"]
        self.inputs = nn.functional.linear(
            x, weights[f"weight_ih_l0{suffix}"] * double[:, None], bias * double
        )
        self.states, self.cells = self._scan()

    def _scan(self) -> tuple[Tensor, Tensor]:
        """All states and cells of the whole texts."""
        b, t, _ = self.inputs.shape
        h = self.inputs.new_zeros(b, self.recurrent.shape[0])
        c = torch.zeros_like(h)
        states, cells = h.new_zeros(b, t, h.shape[1]), h.new_zeros(b, t, h.shape[1])
        for place in reversed(range(t)) if self.reverse else range(t):
            live = (place < self.lengths)[:, None]
            h, c = _cell(self.inputs[:, place].clone(), h, c, self.recurrent)
            h, c = h * live, c * live  # reading backwards starts at each text's own end
            states[:, place], cells[:, place] = h, c
        return states, cells

    def rewrite(
        self,
        out: Float[Tensor, "m w f"],
        examples: Tensor,
        positions: Tensor,
        weight: Float[Tensor, "h f"],
        other: Float[Tensor, "b t f"],
    ) -> None:
        """Walk on from each deletion and put the new results into `out`."""
        t = self.states.shape[1]
        step = -1 if self.reverse else 1
        todo = positions if self.reverse else self.lengths[examples] - 1 - positions
        order = torch.argsort(todo, descending=True, stable=True)
        examples, positions, todo = examples[order], positions[order], todo[order]
        h, c = self._before(examples, positions, step)
        inputs = self.inputs.view(-1, self.inputs.shape[-1])
        other = other.reshape(-1, other.shape[-1])
        source = examples * t + positions + step
        # position p + 1 of the text is place p of the shortened one, p - 1 stays p - 1
        place = positions - (1 if self.reverse else 0)
        ahead = torch.arange(int(todo.max()), device=todo.device)
        walking = (todo > ahead[:, None]).sum(1).tolist()
        for taken, n in enumerate(walking):
            token = source[:n] + step * taken
            h, c = _cell(inputs.index_select(0, token), h[:n], c[:n], self.recurrent)
            out[order[:n], place[:n] + step * taken] = other.index_select(0, token).addmm_(
                h, weight
            )

    def _before(self, examples: Tensor, positions: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """The state the walk starts from: zero at the edge of the text."""
        before = positions - step
        there = ((before >= 0) & (before < self.lengths[examples]))[:, None]
        before = before.clamp(0, self.states.shape[1] - 1)
        return self.states[examples, before] * there, self.cells[examples, before] * there


def _double_candidate(size: int, like: Tensor) -> Tensor:
    """2 for the candidate's rows, 1 for the gates': tanh(x) = 2σ(2x) − 1, and one σ does all.

    On CPUs σ is several times faster than tanh; the absolute error is the same.
    """
    double = like.new_ones(4 * size)
    double[2 * size : 3 * size] = 2  # PyTorch's order: input, forget, candidate, output
    return double


def _cell(inputs: Tensor, h: Tensor, c: Tensor, recurrent: Tensor) -> tuple[Tensor, Tensor]:
    """One step; `inputs` is overwritten. Fresh memory costs more here than arithmetic."""
    enter, forget, candidate, leave = inputs.addmm_(h, recurrent).sigmoid_().chunk(4, -1)
    c = (forget * c).sub_(enter).addcmul_(enter, candidate, value=2)
    return (2 * c).sigmoid_().mul_(2).sub_(1).mul_(leave), c
