"""Candidates for an unsigned measure of faithfulness: which words matter, in either direction.

`importance_captured` and `importance_tau` are two of them (`measures/importance.py`); here are the
others. All look at magnitudes of scores alone, and all ask the same memory. What a benchmark with
known truth says of each decides which are used.

Words of both signs can cancel: a set that holds one for and one against the prediction may change
nothing, though both matter. A measure that looks at whole sets, or that lets a word's own changes
cancel, then prefers an explanation that leaves out words that matter. `REJECTED` says which do and
why; a test shows each.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.catalogue import SHARE, SIGNED, Measure
from heedful.measures.curves import Grid, counts_of, ranking
from heedful.measures.importance import EVENLY, LOGARITHMIC, Draws, captured, importance
from heedful.measures.infidelity import random_sets
from heedful.metrics import kendall_tau_b
from heedful.models import probability
from heedful.removal import Memory, Operator, answers
from heedful.types import Batch, Model, Target
from heedful.words import word_mask

CANDIDATE_MEASURES = {
    "importance_evenly": Measure(
        "importance among the top words, averaged over how many those are (0: a random order)",
        True,
        range=SIGNED,
        formula="as importance_captured, all k weighing the same",
        papers=("lundberg2017",),
    ),
    "importance_gain": Measure(
        "discounted gain of importance (0: a random order)",
        True,
        range=SIGNED,
        formula="as importance_captured, place p counting 1/log2(p + 1), as in nDCG",
        papers=("lundberg2017",),
    ),
    "path_variation": Measure(
        "share of the output's movement at early steps, as words go one by one (0.5: no step is "
        "special)",
        True,
        range=SHARE,
        formula="Σ_k (1 − (k − 1)/(n − 1)) |Δ_k| / Σ_k |Δ_k|: Δ_k is the change as the k-th goes",
    ),
    "removed_change": Measure(
        "mean size of the output's change when the top words go",
        True,
        range=SHARE,
        formula="mean over s of |f(x) − f(x without the top s of its words by magnitude)|",
    ),
    "subset_correlation": Measure(
        "correlation of summed magnitudes with the size of the change, over random sets of words",
        True,
        range=SIGNED,
        formula="Pearson's r over random sets S of Σ_{w∈S} |score_w| and |f(x) − f(x without S)|",
    ),
    "shapley_captured": Measure(
        "size of Shapley values among the top words, as importance_captured has it",
        True,
        range=SIGNED,
        papers=("lundberg2017",),
    ),
    "shapley_tau": Measure(
        "Kendall τ-b of magnitudes with those of Shapley values",
        True,
        range=SIGNED,
        papers=("lundberg2017",),
    ),
    "magnitude_comprehensiveness": Measure(
        "mean fall of p when the words of largest magnitude go",
        True,
        range=SIGNED,
        formula="mean over s of f(x) − f(x without the top s of its words by magnitude)",
        papers=("deyoung2020",),
    ),
}
_SET = (
    "a word for and a word against the prediction cancel when both are gone, so an explanation "
    "that leaves out one of them scores higher"
)
REJECTED: Mapping[str, str] = {
    "removed_change": _SET,
    "magnitude_comprehensiveness": _SET,
    "subset_correlation": "sets that hold a word for and a word against the prediction change "
    "little, so an explanation that names neither scores higher",
    "shapley_captured": "a word that speaks for the prediction beside some words and against it "
    "beside others (XOR) cancels itself: its Shapley value is 0 though it matters",
    "shapley_tau": "as shapley_captured",
}
"""Candidates that reward cancellation, each with the reason."""

SETS = 32
"""Random sets of words for a correlation."""
Scores = Float[Tensor, "b w"]
Values = Float[Tensor, " b"]


def unsigned_measures(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    explanations: Mapping[str, Scores],
    operator: str | Operator,
    target: Target = probability,
    draws: Draws = Draws(),
    memory: Memory | None = None,
    least: float = 0.0,
) -> dict[str, dict[str, Values]]:
    """Every candidate of every explanation. NaN where all words together matter less than `least`,
    as for importance. Takes a pass for each word of each explanation that the `memory` lacks."""
    memory = Memory() if memory is None else memory
    mask, asked = word_mask(batch.texts["a"]), (target, label)
    found = importance(model, batch, label, operator, target, draws, memory)
    sets = random_sets(mask, batch.ids, SETS, draws.seed)
    whole = torch.zeros_like(sets[:, :1])
    said = answers(model, batch, asked, torch.cat([whole, sets], 1), operator, memory).value
    moved = (said[:, :1] - said[:, 1:]).abs()
    shapley = found.shapley.abs().round(decimals=7)  # what cancels is 0, whatever rounding says
    enough = found.words.sum(-1) >= least
    measures: dict[str, dict[str, Values]] = {}
    for name, scores in explanations.items():
        sizes = scores.abs().to(found.words)
        place = ranking(sizes, mask, batch.ids, draws.seed)
        path = answers(model, batch, asked, _prefixes(place, mask), operator, memory).value
        values = _along(path, mask.sum(-1))
        values["subset_correlation"] = _correlation((sets * sizes[:, None]).sum(-1), moved)
        values["importance_evenly"] = captured(sizes, found.words, mask, EVENLY)
        values["importance_gain"] = captured(sizes, found.words, mask, LOGARITHMIC)
        values["shapley_captured"] = captured(sizes, shapley, mask)
        values["shapley_tau"] = kendall_tau_b(sizes, shapley, mask).tau
        known = enough & (sizes.isfinite() | ~mask).all(-1) & (mask.sum(-1) > 1)
        measures[name] = {
            each: torch.where(known, values[each], torch.nan) for each in CANDIDATE_MEASURES
        }
    return measures


def _prefixes(place: Int[Tensor, "b w"], mask: Bool[Tensor, "b w"]) -> Bool[Tensor, "b k w"]:
    """The sets of the first 0, 1, … words of an order."""
    steps = torch.arange(mask.shape[1] + 1, device=mask.device)
    return (place[:, None] < steps[:, None]) & mask[:, None]


def _along(path: Float[Tensor, "b k"], words: Int[Tensor, " b"]) -> dict[str, Values]:
    """What is read off the path of one order."""
    steps = path.diff(dim=-1).abs()
    place = torch.arange(steps.shape[1], dtype=torch.float64, device=path.device)
    weight = (1 - place / (words - 1).clamp(min=1)[:, None]).clamp(min=0)
    total = steps.sum(-1)
    early = (weight * steps).sum(-1) / torch.where(total > 0, total, torch.nan)
    fall = path[:, :1] - path.gather(1, counts_of(words, Grid().shares))
    return {
        "path_variation": early,
        "removed_change": fall.abs().mean(-1),
        "magnitude_comprehensiveness": fall.mean(-1),
    }


def _correlation(one: Float[Tensor, "b m"], other: Float[Tensor, "b m"]) -> Values:
    """Pearson's; NaN where one of them does not vary."""
    a, b = (each - each.mean(-1, keepdim=True) for each in (one, other))
    size = a.norm(dim=-1) * b.norm(dim=-1)
    varied = size > 1e-12
    return torch.where(varied, (a * b).sum(-1) / torch.where(varied, size, 1.0), torch.nan)
