"""F1 of spans: how many runs of chosen words meet a run of the rationale well enough."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.catalogue import SHARE, Piece


def iou_f1(
    chosen: Bool[Tensor, "n k"],
    rationale: Bool[Tensor, "n k"],
    mask: Bool[Tensor, "n k"],
    threshold: float = 0.5,
) -> Float[Tensor, " n"]:
    """2 · matches / (spans chosen + spans of the rationale); a match is a pair of spans whose
    intersection is at least `threshold` of their union (DeYoung et al. 2020, §4.1).

    From one half on no span can match two others, so precision and recall count the same
    matches. Words that are not there join their neighbours. NaN for an empty rationale.
    """
    found = span_matches(chosen, rationale, mask, threshold)
    f1 = 2 * found.matches / (found.chosen + found.marked)
    return torch.where(found.marked == 0, torch.nan, f1)


class SpanMatches(NamedTuple):
    """How many spans of each text are chosen, how many are marked, and how many pairs match."""

    matches: Float[Tensor, " n"]
    chosen: Int[Tensor, " n"]
    marked: Int[Tensor, " n"]


def span_matches(
    chosen: Bool[Tensor, "n k"],
    rationale: Bool[Tensor, "n k"],
    mask: Bool[Tensor, "n k"],
    threshold: float = 0.5,
) -> SpanMatches:
    if threshold < 0.5:
        raise ValueError(f"a span could match several below 0.5: threshold is {threshold}")
    rows = _together(mask)
    ours, theirs = (_Spans(each.gather(1, rows)) for each in (chosen & mask, rationale & mask))
    matches = torch.zeros(len(mask), dtype=torch.float64, device=mask.device)
    pairs, shared = _meetings(ours, theirs)
    union = ours.sizes[pairs[0]] + theirs.sizes[pairs[1]] - shared
    met = (shared / union >= threshold).double()
    return SpanMatches(matches.scatter_add(0, ours.row[pairs[0]], met), ours.count, theirs.count)


class _Spans:
    """Runs of True, numbered over the whole batch."""

    def __init__(self, inside: Tensor) -> None:
        before = torch.nn.functional.pad(inside, (1, 0))[:, : inside.shape[1]]
        starts = inside & ~before
        self.inside = inside
        self.number = starts.flatten().long().cumsum(0).reshape(inside.shape) - 1
        self.sizes = torch.bincount(self.number[inside], minlength=int(starts.sum()))
        self.row = starts.nonzero()[:, 0]
        self.count = starts.sum(-1)


def _meetings(ours: _Spans, theirs: _Spans) -> tuple[Tensor, Tensor]:
    """Pairs of spans with a word in common, and how many: in reading order a pair's words
    follow each other."""
    both = ours.inside & theirs.inside
    pairs = torch.stack([ours.number[both], theirs.number[both]])
    new = torch.ones_like(pairs[0], dtype=torch.bool)
    new[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(0)
    return pairs[:, new], torch.bincount(new.long().cumsum(0) - 1)


def _together(mask: Tensor) -> Tensor:
    """Existing words first, in the order of reading."""
    return (~mask).to(torch.int8).argsort(dim=-1, stable=True)


PIECE = Piece(
    name="iou_f1",
    description="F1 of spans of the top words against the rationale's, matched at IOU ≥ 0.5",
    make=iou_f1,
    paper="deyoung2020",
    higher_is_better=True,
    formula=(
        "2 M / (S + R): of S spans of top words and R of the rationale, M pairs have |∩| / |∪| ≥ ½"
    ),
    range=SHARE,
    higher="more spans are found nearly whole",
    cost="the number of words",
    limits="A span counts whole or not at all: single words inside a long rationale get nothing.",
)
