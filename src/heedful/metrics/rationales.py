"""Scores against words that are marked: AUPRC, F1 of words and spans, mass, precision at k."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from heedful.entries import NOT_NEGATIVE, Entries, Measure, Metric, share
from heedful.metrics.correlation import TOLERANCE, tied_ranks

ENTRIES = Entries(Metric)


@ENTRIES.entry(
    share("average precision: area under the precision-recall curve, by steps", True),
    paper="deyoung2020",
    formula=(
        "Σ_i (R_i − R_{i−1}) P_i over the distinct scores from the highest on: recall R and "
        "precision P"
    ),
    higher="marked words stand nearer to the top",
    cost="sorting the words of each text",
    limits=(
        "Not ERASER's, which takes trapezoids (`eraser_auprc`). "
        "Chance gets about the rationale's share of the words, so long rationales score higher. "
        "It says what people find plausible, nothing about the model."
    ),
)
def auprc(
    scores: Num[Tensor, "n k"], rationale: Bool[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """Average precision, Σ (R_i − R_{i−1}) P_i over the distinct scores (equal to
    scikit-learn's): no trapezoids, and words that tie come at once. NaN for a rationale of
    no word or of every word: all orders are then alike."""
    hits, precision, _ = _curve(scores, rationale, mask)
    size = hits.sum(-1)
    area = (hits * precision).sum(-1) / size
    return torch.where((size == 0) | (size == mask.sum(-1)) | _nan(scores, mask), torch.nan, area)


def auprc_by_trapezoids(
    scores: Num[Tensor, "n k"], rationale: Bool[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """Trapezoids between the points of the curve, which begins at recall 0 and precision 1: the
    AUPRC of DeYoung et al. 2020. NaN for a rationale of no word; 1 for one of every word."""
    hits, precision, recall = _curve(scores, rationale, mask)
    pad = torch.nn.functional.pad
    area = torch.trapezoid(pad(precision, (1, 0), value=1.0), pad(recall, (1, 0)), dim=-1)
    return torch.where((hits.sum(-1) == 0) | _nan(scores, mask), torch.nan, area)


def _curve(scores: Tensor, rationale: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """From the highest score on: whether each word is marked, and precision and recall once all
    words of its score are there. Where no word is, both stay as they were."""
    inside = rationale & mask
    shown = torch.where(mask, scores.double(), -torch.inf)
    ordered, order = shown.sort(dim=-1, descending=True, stable=True)
    hits = inside.gather(-1, order).double()
    seen = mask.gather(-1, order).double().cumsum(-1).clamp_min(1)
    precision = _at_last_of_ties(ordered, hits.cumsum(-1) / seen)
    recall = _at_last_of_ties(ordered, hits.cumsum(-1) / hits.sum(-1, keepdim=True).clamp_min(1))
    return hits, precision, recall


def _at_last_of_ties(ordered: Tensor, values: Tensor) -> Tensor:
    """Each place takes the value at the end of its run of equal scores."""
    k = ordered.shape[1]
    place = torch.arange(k, device=ordered.device).expand(ordered.shape)
    goes_on = torch.nn.functional.pad(ordered[:, 1:] == ordered[:, :-1], (0, 1))[:, :k]
    ends = torch.where(goes_on, k, place).flip(-1).cummin(-1).values.flip(-1) if k else place
    return values.gather(-1, ends)


def _nan(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores.double().isnan() & mask).any(-1)


# F1 of chosen words against the words of a rationale.


@ENTRIES.entry(
    share("F1 of the top words against a rationale of as many words", True),
    paper="deyoung2020",
    formula="2 |chosen ∩ rationale| / (|chosen| + |rationale|)",
    higher="more of the top words are marked",
    cost="the number of words",
    limits=(
        "It depends on how many words are chosen; here as many as the rationale has, which a "
        "real explanation would not know."
    ),
)
def token_f1(
    chosen: Bool[Tensor, "n k"], rationale: Bool[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """2 |both| / (|chosen| + |rationale|); NaN where the rationale is empty. Where as many
    words are chosen as the rationale has, precision, recall and F1 are the same number."""
    both = (chosen & rationale & mask).sum(-1).double()
    size = (rationale & mask).sum(-1)
    f1 = 2 * both / ((chosen & mask).sum(-1) + size)
    return torch.where(size == 0, torch.nan, f1)


# F1 of spans: how many runs of chosen words meet a run of the rationale well enough.


@ENTRIES.entry(
    share("F1 of spans of the top words against the rationale's, matched at IOU ≥ 0.5", True),
    paper="deyoung2020",
    formula=(
        "2 M / (S + R): of S spans of top words and R of the rationale, M pairs have |∩| / |∪| ≥ ½"
    ),
    higher="more spans are found nearly whole",
    cost="the number of words",
    limits="A span counts whole or not at all: single words inside a long rationale get nothing.",
)
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
    """Spans of chosen words beside those of the rationale, text by text."""
    if threshold < 0.5:
        raise ValueError(f"a span could match several below 0.5: threshold is {threshold}")
    reading = (~mask).to(torch.int8).argsort(dim=-1, stable=True)  # existing words first
    ours, theirs = (_Spans(words.gather(1, reading)) for words in (chosen & mask, rationale & mask))
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


# The share of an explanation's mass that lies inside a rationale.


@ENTRIES.entry(
    share("share of the scores' magnitude inside the rationale", True),
    paper="mohankumar2020",
    formula="Σ_{t in rationale} |s_t| / Σ_t |s_t|",
    higher="more of the explanation lies on marked words",
    cost="the number of words",
    limits=(
        "Even scores have the rationale's share of the words. It depends on how sharp a map is, "
        "not on its order alone."
    ),
)
def mass_inside(
    scores: Float[Tensor, "n k"], rationale: Bool[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """Σ |score| inside over Σ |score|. NaN for an empty rationale, or where all scores are 0."""
    size = scores.double().abs().masked_fill(~mask, 0.0)
    share = (size * (rationale & mask)).sum(-1) / size.sum(-1)  # 0/0 = NaN
    return torch.where((rationale & mask).any(-1), share, torch.nan)


# Whether an explanation finds the words that are known to decide (Bastings et al. 2022).


@ENTRIES.entry(
    share("share of the k highest words that are among the k words known to decide", True),
    paper="bastings2022",
    measures={
        "precision": share("share of the top k that is true", True),
        "rank": Measure("mean rank of the true words, 1 is the highest", False, range=NOT_NEGATIVE),
    },
    formula="|top_k(|s|) ∩ truth| / k, k = |truth|; rank = mean of the ranks of the true words",
    higher="more of the words that decide are at the top",
    cost="comparing the words of each text with each other",
    limits="It needs to be known which words decide, as where a shortcut was planted.",
)
def precision_at_k(
    scores: Float[Tensor, "n w"], truth: Bool[Tensor, "n w"], mask: Bool[Tensor, "n w"]
) -> Float[Tensor, " n"]:
    """The share of the k words with the largest |score| that are among the k true ones. Of words
    that tie any is as likely to come first: the expectation. NaN where no word is true."""
    above, level = _standing(scores, mask)
    true = truth & mask
    k = true.sum(-1, keepdim=True)
    chance = ((k - above).double() / level.clamp_min(1)).clamp(0.0, 1.0)
    return (chance * true).sum(-1) / k[:, 0]


def mean_rank(
    scores: Float[Tensor, "n w"], truth: Bool[Tensor, "n w"], mask: Bool[Tensor, "n w"]
) -> Float[Tensor, " n"]:
    """The mean rank of the true words by |score|, 1 for the largest; words that tie share the
    mean of their ranks. The best is (k + 1) / 2. NaN where no word is true."""
    above, level = _standing(scores, mask)
    true = truth & mask
    return ((above + (level + 1).double() / 2) * true).sum(-1) / true.sum(-1)


def best_of_true(
    scores: Float[Tensor, "n w"], truth: Bool[Tensor, "n w"], mask: Bool[Tensor, "n w"]
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Whether the word with the largest |score| is a true one, and the rank of the best true word.
    Of words that tie any is as likely to come first, and they share the mean of their ranks. NaN
    where no word is true."""
    above, level = _standing(scores, mask)
    true = truth & mask
    known = true.any(-1)
    first = ((above == 0) & true).sum(-1) / ((above == 0) & mask).sum(-1).clamp_min(1)
    rank = (above + (level + 1).double() / 2).masked_fill(~true, torch.inf).amin(-1)
    missing = torch.full_like(rank, torch.nan)
    return torch.where(known, first.double(), missing), torch.where(known, rank, missing)


def _standing(scores: Tensor, mask: Tensor) -> tuple[Int[Tensor, "n w"], Int[Tensor, "n w"]]:
    """For each word how many words score more, and how many as much, itself among them."""
    ranks = tied_ranks(scores.double().abs(), mask, TOLERANCE[torch.float32])
    there = mask[:, None, :]
    above = ((ranks[:, None, :] > ranks[:, :, None]) & there).sum(-1)
    return above, ((ranks[:, None, :] == ranks[:, :, None]) & there).sum(-1)
