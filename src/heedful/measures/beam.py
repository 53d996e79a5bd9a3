"""Beam search for the order of words whose removal, or whose company alone, does the most.

The value of a beginning counts the bins it has reached, and for those still to come what it
has won so far. Equal sets reached by different ways are one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.models import probability
from heedful.randomness import example_keys, keyed_bits
from heedful.removal import Memory, Operator, answers
from heedful.types import Batch, Model, Target
from heedful.words import word_mask


@dataclass(frozen=True)
class Hunt:
    """What is asked of the model. `keep`: the chosen words stay and the others go; the fall of
    the explained quantity is then to be small, else large."""

    model: Model
    batch: Batch
    label: Int[Tensor, " b"]
    operator: str | Operator
    keep: bool
    target: Target = probability
    seed: int = 0
    memory: Memory = field(default_factory=Memory)

    def gains(self, chosen: Bool[Tensor, "b m w"]) -> Float[Tensor, "b m"]:
        """The quantity of the changed texts, turned so that more is better."""
        mask = word_mask(self.batch.texts["a"])[:, None]
        gone = mask & ~chosen if self.keep else mask & chosen
        explained = (self.target, self.label)
        found = answers(self.model, self.batch, explained, gone, self.operator, self.memory)
        return found.value if self.keep else -found.value


@dataclass(frozen=True)
class Beams:
    """`step[b, v, w]` is when a word was chosen, from 0; `NEVER` for the others. A beam that
    is not alive holds nothing (the first has to grow before there are others)."""

    step: Int[Tensor, "b v w"]
    banked: Float[Tensor, "b v"]
    alive: Bool[Tensor, "b v"]

    @property
    def chosen(self) -> Bool[Tensor, "b v w"]:
        return self.step < NEVER


NEVER = 1 << 30


def beam_search(
    hunt: Hunt,
    pool: Bool[Tensor, "b w"],
    depth: Int[Tensor, " b"],
    counts: Int[Tensor, "b s"],
    width: int,
) -> Beams:
    """Orders of `depth` words out of each text's pool; `counts` are the bins' sizes."""
    words, there = _columns(pool)
    beams = _start(pool, width)
    for step in range(int(depth.max())):
        grown, valid = _grow(beams, words, there & (step < depth)[:, None], step)
        gain = hunt.gains((grown < NEVER) & valid[..., None])
        reached, ahead = (counts == step + 1).sum(-1), (counts > step + 1).sum(-1)
        banked = beams.banked.repeat_interleave(words.shape[1], 1) + reached[:, None] * gain
        value = torch.where(valid, banked + ahead[:, None] * gain, -torch.inf)
        best, alive = _best(hunt, grown < NEVER, value, width)
        found = Beams(_rows(grown, best), banked.gather(1, best), alive)
        beams = _where(step < depth, found, beams)
    return beams


def _columns(pool: Tensor) -> tuple[Tensor, Tensor]:
    """The pool's words, side by side, and which columns hold one."""
    size = max(1, int(pool.sum(-1).max()))
    order = (~pool).to(torch.int8).argsort(dim=-1, stable=True)[:, :size]
    return order, pool.gather(1, order)


def _start(pool: Tensor, width: int) -> Beams:
    b, w = pool.shape
    alive = torch.zeros(b, width, dtype=torch.bool, device=pool.device)
    alive[:, 0] = True
    step = torch.full((b, width, w), NEVER, device=pool.device)
    return Beams(step, torch.zeros(b, width, dtype=torch.float64, device=pool.device), alive)


def _grow(beams: Beams, words: Tensor, there: Tensor, step: int) -> tuple[Tensor, Tensor]:
    """Every beam with each of the pool's words added: `[b, v·p, w]`, and which are new."""
    b, v, w = beams.step.shape
    p = words.shape[1]
    index = words[:, None, :, None].expand(b, v, p, 1)
    before = beams.step[:, :, None].expand(b, v, p, w)
    new = there[:, None] & beams.alive[..., None] & (before.gather(3, index)[..., 0] == NEVER)
    return before.scatter(3, index, step).flatten(1, 2), new.flatten(1, 2)


def _best(hunt: Hunt, chosen: Tensor, value: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The best rows with different sets, and which of them are real. Differences that rounding
    could have made are ties, and ties fall by chance, not by position."""
    keys = example_keys(hunt.seed, hunt.batch.ids, "beam").to(value.device)
    sets = (chosen * keyed_bits(keys, (chosen.shape[2],))[:, None]).sum(-1)
    chance = ((keyed_bits(sets.flatten(), (1,)) >> 10).double() / (1 << 53)).reshape(sets.shape)
    order = ((value * _RESOLUTION).round() + chance).argsort(dim=-1, descending=True)
    sets, ordered = sets.gather(1, order), value.gather(1, order)
    again = (sets[:, :, None] == sets[:, None]).tril(-1).any(-1)
    lost = again | ordered.isinf()
    kept = lost.to(torch.int8).argsort(dim=-1, stable=True)[:, :width]
    return order.gather(1, kept), ~lost.gather(1, kept)


_RESOLUTION = 1e6


def _rows(values: Tensor, index: Tensor) -> Tensor:
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[2]))


def _where(going: Tensor, found: Beams, before: Beams) -> Beams:
    """Texts that are done stay as they are. Narrow pools give fewer beams than wanted."""
    short = before.alive.shape[1] - found.alive.shape[1]
    pad = torch.nn.functional.pad
    step = pad(found.step, (0, 0, 0, short), value=NEVER)
    banked, alive = pad(found.banked, (0, short)), pad(found.alive, (0, short))
    return Beams(
        torch.where(going[:, None, None], step, before.step),
        torch.where(going[:, None], banked, before.banked),
        torch.where(going[:, None], alive, before.alive),
    )
