"""How far an imported model's logits are from its source's, on random tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import HeedfulError

EXACT, ROUGH = 1e-3, 0.25
"""How far logits may be from the file's, as a share of their spread (root mean squares). Files that
round the inputs of their products as they come are allowed more."""
AGREEING = 0.95
"""The share of probes that must be decided alike."""
PROBES, LONGEST = 32, 24


@dataclass(frozen=True)
class Imported:
    """A model's new folder, and how far its logits are from the source's.

    `difference` is the largest one over probes and classes, `agreement` the share of probes that
    both decide alike; `compared` names what the folder was compared with.
    """

    folder: str
    architecture: str
    parameters: int
    difference: float
    agreement: float
    compared: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Probes:
    """Random tokens; `seen` says which are no padding."""

    tokens: Int[Tensor, "n t"]
    seen: Bool[Tensor, "n t"]


def random_probes(vocabulary: int) -> Probes:
    random = np.random.default_rng(0)
    tokens = random.integers(min(5, vocabulary - 1), vocabulary, (PROBES, LONGEST))
    lengths = random.integers(3, LONGEST + 1, PROBES)
    return Probes(
        torch.from_numpy(tokens), torch.arange(LONGEST) < torch.from_numpy(lengths)[:, None]
    )


@torch.no_grad()
def logits_of(model: Any, probes: Probes) -> Float[Tensor, "*logits"]:
    tokens = probes.tokens.masked_fill(~probes.seen, 0)
    output = model(input_ids=tokens, attention_mask=probes.seen.long())
    logits: Tensor = output.logits.float()
    return logits


@dataclass(frozen=True)
class Fit:
    """The root mean square of differences as a share of the logits' own, the largest difference,
    and how often the largest logit is the same."""

    share: float
    largest: float
    agreement: float


def compared(
    ours: Float[Tensor, "*logits"], theirs: Float[Tensor, "*logits"], seen: Bool[Tensor, "n t"]
) -> Fit:
    if ours.shape != theirs.shape:
        return Fit(float("inf"), float("inf"), 0.0)
    if ours.ndim == 3:
        ours, theirs = ours[seen], theirs[seen]
    off = (ours - theirs).double()
    spread = (theirs - theirs.mean()).double()
    alike = (ours.argmax(-1) == theirs.argmax(-1)).double().mean()
    share = off.norm() / spread.norm().clamp_min(1e-12)
    return Fit(float(share), float(off.abs().max()), float(alike))


def check_fit(source: Path, fit: Fit, allowed: float) -> None:
    if not fit.share <= allowed or fit.agreement < AGREEING:
        raise HeedfulError(
            f"the weights of {source.name} were read and give other logits (by up to "
            f"{fit.largest:.3g}, {fit.agreement:.0%} decided alike): its layers or its "
            f"head are not among the known ones, so save the model with save_pretrained."
        )
