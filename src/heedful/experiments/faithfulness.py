"""What happens to a prediction as words go, in the order an explanation gives them.

Two curves: the text without its top words, and the text of nothing but them. All
explanations go through the model together, so a set of words that several of them name
is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.entries import SHARE, SIGNED, Measure
from heedful.metrics import TOLERANCE, tied_ranks
from heedful.perturbations import WordRemoval
from heedful.randomness import example_keys, keyed_uniform


@dataclass(frozen=True)
class Grid:
    """How many words go at a time. `shares` are the bins that are averaged, `points` the steps of
    the whole curve (0: none); texts of at most `single` words are also walked word by word, to
    find flips. `seed` orders words that tie."""

    shares: tuple[float, ...] = (0.05, 0.1, 0.2, 0.5)
    points: int = 10
    single: int = 32
    seed: int = 0


@dataclass(frozen=True)
class Points:
    """`removed[b, s]` is the explained quantity without the top `counts[b, s]` words, `kept`
    that of these words alone. Short texts have equal counts in several columns."""

    counts: Int[Tensor, "b s"]
    removed: Float[Tensor, "b s"]
    kept: Float[Tensor, "b s"]


@dataclass(frozen=True)
class Curves:
    """One explanation of each text. NaN where there is no word, or a score is no number.

    `first_flip` is the smallest number of words tried whose removal changes the decision, ∞
    where none does; removing every word is not counted.
    """

    words: Int[Tensor, " b"]
    whole: Float[Tensor, " b"]
    bins: Points
    curve: Points
    first_flip: Float[Tensor, " b"]

    @property
    def shares(self) -> Float[Tensor, "b s"]:
        """The share of words at each point of the whole curve."""
        return self.curve.counts / self.words.clamp(min=1)[:, None].double()


def curves_of(
    removal: WordRemoval, explanations: Mapping[str, Float[Tensor, "b w"]], grid: Grid = Grid()
) -> dict[str, Curves]:
    """The curves of several explanations: one pass for each set of words that any of them
    names, and none for those in the removal's memory."""
    if not explanations:
        return {}
    mask, ids = removal.mask, removal.batch.ids
    counts = counts_at(mask.sum(-1), grid)
    places = [ranking(scores, mask, ids, grid.seed) for scores in explanations.values()]
    sets = [_sets(place, mask, counts) for place in places]
    gone = torch.cat([torch.zeros_like(mask)[:, None], *sets], 1)
    found = removal.answers(gone)
    # the columns after the first, which is the whole text, by explanation: [b, maps, s]
    shape = (len(mask), len(sets), -1)
    values, decided = (part[:, 1:].reshape(shape) for part in (found.value, found.decision))
    whole, flipped = found.value[:, 0], decided != found.decision[:, :1, None]
    curves = {}
    for i, (name, scores) in enumerate(explanations.items()):
        defined = mask.any(-1) & (scores.to(mask.device).isfinite() | ~mask).all(-1)
        curves[name] = _read(counts, whole, values[:, i], flipped[:, i], defined)
    return curves


def ranking(
    scores: Float[Tensor, "b w"], mask: Bool[Tensor, "b w"], ids: tuple[str, ...], seed: int = 0
) -> Int[Tensor, "b w"]:
    """Each word's place in the order, 0 for the highest score; what is no word comes last.

    Equal scores (to the precision of a single-precision model) are put in a random order of
    the example's own: the order of reading would give position away as importance.
    """
    if not mask.shape[1]:
        return mask.long()
    scores = scores.to(mask.device)
    ranks = tied_ranks(scores, mask, TOLERANCE[torch.float32])
    chance = keyed_uniform(example_keys(seed, ids, "order").to(mask.device), (mask.shape[1],))
    return (ranks + chance).argsort(dim=-1, descending=True).argsort(dim=-1)


def counts_of(words: Int[Tensor, " b"], shares: tuple[float, ...]) -> Int[Tensor, "b s"]:
    """⌈share · n⌉, whatever rounding makes of 0.07 · 100."""
    exact = words[:, None].double() * torch.tensor(shares, dtype=torch.float64).to(words.device)
    return (exact - 1e-9).ceil().long()


@dataclass(frozen=True)
class Counts:
    """How many words are gone, or left, at each point; `singles` are one by one."""

    words: Tensor
    bins: Tensor
    curve: Tensor
    singles: Tensor

    @property
    def both(self) -> Tensor:
        """Where words are removed and where they are kept alone."""
        return torch.cat([self.bins, self.curve], 1)

    @property
    def all(self) -> Tensor:
        return torch.cat([self.both, self.singles], 1)


def counts_at(words: Int[Tensor, " b"], grid: Grid) -> Counts:
    """Long texts have zeros for singles: nothing is removed there, which costs nothing."""
    steps = tuple(i / grid.points for i in range(grid.points + 1) if grid.points)
    one_by_one = torch.arange(1, max(1, grid.single), device=words.device)
    singles = torch.where((words <= grid.single)[:, None], one_by_one, 0)
    singles = torch.minimum(singles, words[:, None])
    return Counts(words, counts_of(words, grid.shares), counts_of(words, steps), singles)


def _sets(place: Tensor, mask: Tensor, counts: Counts) -> Tensor:
    """The words gone at every point, `[b, m, w]`: the top ones, then all but the top ones."""
    top = place[:, None] < counts.all[..., None]
    rest = place[:, None] >= counts.both[..., None]
    return torch.cat([top, rest], 1) & mask[:, None]


def _read(counts: Counts, whole: Tensor, values: Tensor, flipped: Tensor, ok: Tensor) -> Curves:
    """Cut the columns of `_sets` apart again."""
    values = torch.where(ok[:, None], values, torch.nan)
    a, b, m = counts.bins.shape[1], counts.both.shape[1], counts.all.shape[1]
    removed, kept = values[:, :b], values[:, m:]
    counted = flipped[:, :m] & (counts.all >= 1) & (counts.all < counts.words[:, None])
    first = torch.where(counted, counts.all.double(), torch.inf).amin(-1)
    return Curves(
        counts.words,
        whole,
        Points(counts.bins, removed[:, :a], kept[:, :a]),
        Points(counts.curve, removed[:, a:], kept[:, a:]),
        torch.where(ok, first, torch.nan),
    )


# How faithful an explanation is to the model, by erasing what it calls important.
#
# All of it hangs on the removal operator: erasure leaves the data the model was trained on,
# so numbers of different operators are never mixed. Every measure reads the same curves.


_BINS = ", ".join(f"{share:.0%}" for share in Grid().shares)
_STEPS = f"trapezoids at {Grid().points + 1} points"

ERASURE_MEASURES = {
    "comprehensiveness": Measure(
        "mean fall of p when the top words go",
        True,
        range=SIGNED,
        formula=f"mean over s = {_BINS} of f(x) − f(x without the top s of its words)",
        papers=("deyoung2020",),
    ),
    "sufficiency": Measure(
        "mean fall of p when only the top words stay",
        False,
        range=SIGNED,
        formula=f"mean over s = {_BINS} of f(x) − f(the top s of its words alone)",
        papers=("deyoung2020",),
    ),
    "deletion_auc": Measure(
        "area under p as words go, the top ones first",
        False,
        range=SHARE,
        formula=f"∫ f(x without the top s of its words) ds from 0 to 1, {_STEPS}",
        papers=("petsiuk2018",),
    ),
    "insertion_auc": Measure(
        "area under p as words come, the top ones first",
        True,
        range=SHARE,
        formula=f"∫ f(the top s of its words alone) ds from 0 to 1, {_STEPS}",
        papers=("petsiuk2018",),
    ),
    "flip_share": Measure(
        "share of words gone when the decision flips; NaN: never",
        False,
        range=SHARE,
        formula="(least k < n for which x without its top k words is decided otherwise) / n",
        papers=("serrano2019", "kaplan1958"),
    ),
    "flip_censored": Measure(
        "1 where no number of words flips the decision",
        False,
        range=SHARE,
        formula="[no k < n flips the decision]",
    ),
}


def faithfulness(curves: Curves) -> dict[str, Float[Tensor, " b"]]:
    """Every measure of one explanation. Of decisions that never flip the share is NaN and they are
    censored, not dropped (`metrics/flips.py`); without an explanation all are NaN."""
    share, first = curves.first_flip / curves.words, curves.first_flip
    return {
        "comprehensiveness": comprehensiveness(curves),
        "sufficiency": sufficiency(curves),
        "deletion_auc": torch.trapezoid(curves.curve.removed, curves.shares, dim=-1),
        "insertion_auc": torch.trapezoid(curves.curve.kept, curves.shares, dim=-1),
        "flip_share": torch.where(share.isfinite(), share, torch.nan),
        "flip_censored": torch.where(first.isnan(), torch.nan, first.isinf().double()),
    }


def comprehensiveness(curves: Curves) -> Float[Tensor, " b"]:
    """Mean over the shares of p(text) − p(text without the top words), after DeYoung et al. 2020,
    whose own has a share of 1% too (`experiments/rationale.py`). Shares that come to the same
    number of words in a short text count once each, as there."""
    return (curves.whole[:, None] - curves.bins.removed).mean(-1)


def sufficiency(curves: Curves) -> Float[Tensor, " b"]:
    """Mean over the shares of p(text) − p(the top words alone); the lower the better."""
    return (curves.whole[:, None] - curves.bins.kept).mean(-1)
