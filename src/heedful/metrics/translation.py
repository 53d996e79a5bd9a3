"""Translations: BLEU of a corpus as sacreBLEU defines it (Post 2018), and gold alignments.

Counts come from sacreBLEU, one row a sentence; the score is a function of their sum. So a
bootstrap over sentences adds up rows again and never counts n-grams twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from heedful.entries import PERCENT, Entries, Measure, Metric, share
from heedful.errors import HeedfulError

ENTRIES = Entries(Metric)

ORDERS = 4


def bleu_statistics(
    hypotheses: Sequence[str], references: Sequence[str]
) -> Int[np.ndarray, "n 10"]:
    """For each sentence: its length and its reference's, then how many of its 1- to 4-grams
    are in the reference, then how many it has."""
    if len(hypotheses) != len(references):
        raise HeedfulError(
            f"there are {len(hypotheses)} translations and {len(references)} references: "
            f"give as many of the one as of the other."
        )
    # effective_order changes a sentence's score but no count; force keeps it from warning
    metric = _sacrebleu().BLEU(effective_order=True, force=True)
    pairs = zip(hypotheses, references, strict=True)
    scores = [metric.sentence_score(one, [other]) for one, other in pairs]
    rows = [[each.sys_len, each.ref_len, *each.counts, *each.totals] for each in scores]
    return np.array(rows, dtype=np.int64).reshape(-1, 2 + 2 * ORDERS)


@ENTRIES.entry(
    Measure("corpus BLEU of translations, from sacreBLEU's counts", True, range=PERCENT),
    paper="vashishth2019",
    citation="Papineni et al. 2002; Post 2018",
    formula=(
        "100 · exp(min(0, 1 − r/c)) · (p₁ p₂ p₃ p₄)^¼: n-gram precisions p, reference length r, "
        "written length c"
    ),
    higher="more of what was written is in the reference",
    cost="the length of the texts",
    limits=(
        "It counts words in common, not meaning, and can only be compared under the same signature."
    ),
)
def bleu(statistics: Shaped[np.ndarray, "n 10"]) -> float:
    """0 to 100. A precision of zero counts as half, a quarter, … of one n-gram (`exp`); NaN
    without a sentence."""
    if len(statistics) == 0:
        return float("nan")
    total = statistics.sum(axis=0)
    length, wanted = float(total[0]), float(total[1])
    correct, tried = total[2 : 2 + ORDERS].tolist(), total[2 + ORDERS :].tolist()
    if not any(correct) or not all(tried):
        return 0.0
    brevity = min(0.0, 1 - wanted / length)
    missed = 0
    logs = []
    for right, all_ in zip(correct, tried, strict=True):
        missed += right == 0
        logs.append(math.log(right / all_ if right else 0.5**missed / all_))
    return 100 * math.exp(brevity + sum(logs) / ORDERS)


def bleu_signature() -> str:
    """What sacreBLEU's users state with a score."""
    version = _sacrebleu().__version__
    return f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"


def _sacrebleu() -> Any:
    try:
        import sacrebleu
    except ImportError as error:
        raise HeedfulError('BLEU needs sacreBLEU: `pip install "heedful[hf]"`.') from error
    return sacrebleu


# Hard links of attention against gold alignments (Och & Ney 2003), all gold links sure.


@ENTRIES.entry(
    share("alignment error rate, precision and recall of attention's hard links"),
    name="aligned",
    paper="och2003",
    measures={
        "aer": share("alignment error rate, all gold links sure", False),
        "precision": share("share of the hard links that are gold", True),
        "recall": share("share of the gold links that are hard links", True),
        "mass": share("attention on the gold links, mean over linked target tokens", True),
    },
    formula=(
        "AER = 1 − 2 |A ∩ S| / (|A| + |S|): links A from each target token to its heaviest "
        "source token, gold links S"
    ),
    higher="of `aer`: fewer links are right; of the others: more are",
    cost="source tokens × target tokens",
    limits=(
        "All gold links count as sure, and a target token has one link. Attention may serve a "
        "translation and not align."
    ),
)
def link_counts(
    weights: Float[Tensor, "n s t"],
    gold: Bool[Tensor, "n s t"],
    there: Bool[Tensor, "n s"],
    real: Bool[Tensor, "n t"],
) -> Float[Tensor, "n 5"]:
    """|A ∩ S|, |A|, |S|, the attention on gold links, and the target tokens that have one.

    A links each target token that is `there` to its heaviest `real` source token, the first
    of equals. Of weights that sum to less over the real tokens, the share among them counts.
    """
    there = there & real.any(-1, keepdim=True)
    gold = gold & there[..., None] & real[:, None]
    shown = weights.double().masked_fill(~real[:, None], -1.0)
    hit = gold.gather(-1, shown.argmax(-1, keepdim=True)).squeeze(-1)
    mass = shown.clamp_min(0.0)
    share = (mass * gold).sum(-1) / mass.sum(-1).clamp_min(1e-300)
    linked = gold.any(-1)
    parts = (hit, there, gold.flatten(1), share, linked)
    return torch.stack([part.double().sum(-1) for part in parts], -1)


def error_rate(counts: Float[Tensor, "*n 5"]) -> Float[Tensor, "*n"]:
    """AER = 1 − 2|A ∩ S| / (|A| + |S|); NaN for no link at all."""
    return 1 - 2 * counts[..., 0] / (counts[..., 1] + counts[..., 2])


def precision(counts: Float[Tensor, "*n 5"]) -> Float[Tensor, "*n"]:
    """|A ∩ S| / |A|: the share of the links that are gold."""
    return counts[..., 0] / counts[..., 1]


def recall(counts: Float[Tensor, "*n 5"]) -> Float[Tensor, "*n"]:
    """|A ∩ S| / |S|: the share of the gold links that are found."""
    return counts[..., 0] / counts[..., 2]


def mass(counts: Float[Tensor, "*n 5"]) -> Float[Tensor, "*n"]:
    """Mean attention on the gold links, over the target tokens that have one."""
    return counts[..., 3] / counts[..., 4]


SCORES = {"aer": error_rate, "precision": precision, "recall": recall, "mass": mass}
