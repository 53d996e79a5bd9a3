"""Maps that are right or wrong by construction, and how well a number tells them apart.

`truth` has each word's known effect. `truth_shuffled` has the same numbers on other words, and
`truth_noise=p` has a share p of them moved: how wrong a map is, is then known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

from heedful.auditing import Named
from heedful.entries import Attribution
from heedful.metrics import mean_rank, precision_at_k
from heedful.randomness import stable_hash
from heedful.types import Batch, Model

NOISES = (0.25, 0.5, 0.75)
TRUTH, SHUFFLED = "truth", "truth_shuffled"
TIES = 1e-6
"""Words without any effect come in a random order, not in the text's."""

Numbers = NDArray[np.float64]


def constructed(effects: Mapping[str, Numbers], seed: int) -> list[Named]:
    """By example id, as explanations that a `Measurer` can be asked for."""
    shares = {TRUTH: 0.0, **{f"truth_noise={share}": share for share in NOISES}, SHUFFLED: 1.0}
    return [
        Named(name, _piece(name, {key: moved(row, share, f"{seed} {key}") for key, row in
                                  effects.items()}), {})
        for name, share in shares.items()
    ]  # fmt: skip


def moved(effects: Numbers, share: float, key: str) -> Numbers:
    """With a share of the words permuted among themselves; the words are drawn once for all
    shares, so that more noise moves all that less noise moved."""
    draw = np.random.default_rng(stable_hash("benchmark", key))
    order = draw.permutation(len(effects))
    found: Numbers = effects + draw.uniform(0, TIES, len(effects))
    some = order[: round(share * len(effects))]
    found[some] = found[np.roll(some, 1)]
    return found


def precision_and_rank(scores: Sequence[float], effects: Numbers) -> tuple[float, float] | None:
    """Of the k words that decide: how many are among the k of the largest magnitude, and their
    mean rank (1 is the top). None where no word decides."""
    deciding = effects >= 0.1 * effects.max()
    if not effects.max() > 0 or deciding.all():
        return None
    size = torch.tensor(scores, dtype=torch.float64).nan_to_num()[None]
    truth, there = torch.from_numpy(deciding)[None], torch.ones_like(size, dtype=torch.bool)
    return float(precision_at_k(size, truth, there)), float(mean_rank(size, truth, there))


def _piece(name: str, scores: Mapping[str, Numbers]) -> Attribution:
    def make(model: Model, batch: Batch, label: Tensor, target: object = None) -> Tensor:
        mask = batch.texts["a"].mask
        out = torch.zeros(mask.shape, dtype=torch.float64)
        for row, example in enumerate(batch.ids):
            out[row, mask[row]] = torch.from_numpy(scores[example])
        return out

    return Attribution(name, "known by construction", make, uses=(), signed=True)


# How well a number tells two groups apart, and whether it falls with a dose.


LOWER = ("sufficiency", "deletion_auc", "flip_share", "infidelity", "max_sensitivity")
IGNORED = ("tie_rate", "special_mass", "flip_censored", "moved_by_shift", "tau_randomised")
"""Numbers of a map that do not say how faithful it is."""


def orientation(measure: str) -> int:
    """+1 where a more faithful map scores higher, −1 where it scores lower, 0 for other numbers."""
    if measure.startswith(LOWER):
        return -1
    return 0 if measure.startswith(IGNORED) else 1


def area_under_curve(high: NDArray[np.float64], low: NDArray[np.float64]) -> float:
    """The chance that a number of the first group is above one of the second; ties count half.
    That is the area under the ROC curve. NaN where a group is empty."""
    if not len(high) or not len(low):
        return float("nan")
    ranks = stats.rankdata(np.concatenate([high, low]))
    above = ranks[: len(high)].sum() - len(high) * (len(high) + 1) / 2
    return float(above / (len(high) * len(low)))


def response(dose: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Kendall τ-b of a score with the share of the decision that is shown (1 − dose): 1 where it
    falls with every step of the dose."""
    if len(dose) < 3 or np.ptp(values) == 0:
        return float("nan")
    return float(stats.kendalltau(-dose, values).statistic)
