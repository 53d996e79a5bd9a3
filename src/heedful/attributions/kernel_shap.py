"""KernelSHAP: Shapley values of words by a weighted regression over subsets of them.

Our own few lines: the packages draw from a global generator and talk while they work. Where
all subsets fit into the samples the values are exact.

Small and large subsets weigh most and are few: they are taken whole, from the ends inwards,
while the samples last. The rest of the samples is drawn among the sizes left, each subset
with its complement.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attributions.lime import (
    MOST_SAMPLES,
    checked_samples,
    keyed_subsets,
)
from heedful.entries import ANY, Attribution
from heedful.models import probability
from heedful.perturbations import WordRemoval
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Batch, Model, Target
from heedful.words import word_mask


def kernel_shap(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    samples: int = 1000,
    operator: str = "mask",
    seed: int = 0,
) -> Float[Tensor, "b w"]:
    """Shapley values, signed; a text's add up to f(whole text) − f(no word left)."""
    there = word_mask(batch.texts["a"])
    parts = [
        coalitions(name, words, checked_samples(samples), seed)
        for name, words in zip(batch.ids, there.cpu(), strict=True)
    ]
    gone = _with_ends(parts, there.cpu()).to(there.device)
    removal = WordRemoval(model, batch, label, operator, target)
    values = removal.answers(gone).value.cpu()
    scores = torch.zeros(there.shape, dtype=torch.float64)
    for example, (part, words) in enumerate(zip(parts, there.cpu(), strict=True)):
        if words.any():
            scores[example, words] = _solve(part, words, values[example])
    return scores.to(there.device)


def _with_ends(parts: list[Coalitions], there: Bool[Tensor, "b w"]) -> Bool[Tensor, "b m w"]:
    """The whole text, no word at all, then each text's subsets; filled up with whole texts,
    which cost nothing as equal sets are computed once."""
    longest = max(len(part.kept) for part in parts)
    gone = torch.zeros(len(parts), longest + 2, there.shape[1], dtype=torch.bool)
    gone[:, 1] = there
    for example, part in enumerate(parts):
        gone[example, 2 : 2 + len(part.kept)] = there[example] & ~part.kept
    return gone


def _solve(part: Coalitions, words: Bool[Tensor, " w"], values: Float[Tensor, " m"]) -> Tensor:
    """Least squares of v(S) − v(∅) on membership, the values' sum given.

    Less their even share, the values are orthogonal to the row of ones; centred rows see
    nothing else, and the shortest solution stays there.
    """
    whole, nothing = float(values[0]), float(values[1])
    kept = part.kept[:, words].double().numpy()
    share = kept.mean(1)
    root = part.weights.sqrt().numpy()
    rest = values[2 : 2 + len(kept)].numpy() - nothing - (whole - nothing) * share
    centred = kept - share[:, None]
    found = np.linalg.lstsq(centred * root[:, None], rest * root, rcond=1e-10)[0]
    shapley: Tensor = torch.from_numpy(found) + (whole - nothing) / kept.shape[1]
    return shapley


ENTRY = Attribution(
    name="kernel_shap",
    description="Shapley values of words by a weighted regression; exact where all subsets fit",
    make=kernel_shap,
    uses=("=operator",),
    bounds={"samples": (2, MOST_SAMPLES)},
    signed=True,
    paper="Lundberg & Lee 2017",
    level="words",
    citation=("Lundberg & Lee 2017, A Unified Approach to Interpreting Model Predictions, NeurIPS"),
    formula=(
        "φ_i = Σ_{S without i} |S|! (n − |S| − 1)! / n! · (f(S + i) − f(S)); the scores of a "
        "text sum to f(all) − f(none)"
    ),
    range=ANY,
    higher=(
        "the word raises the explained number more, on average over all orders of adding words; "
        "below 0 it lowers it"
    ),
    cost="up to 1,000 runs for a text; exact where all subsets fit",
    limits=(
        "Most subsets are no language. What words do together is shared out among them and no "
        "longer seen."
    ),
)


@dataclass(frozen=True)
class Coalitions:
    """Subsets of the words, neither empty nor whole, and their weights."""

    kept: Bool[Tensor, "s w"]
    weights: Float[Tensor, " s"]


def coalitions(name: str, words: Bool[Tensor, " w"], samples: int, seed: int) -> Coalitions:
    """At most `samples` subsets of one text's words."""
    n = int(words.sum())
    kept, weights = [words.new_zeros((0, len(words)))], [torch.zeros(0, dtype=torch.float64)]
    size, left, all_fit = 1, samples, 2**n - 2 <= samples
    while size <= n - size and (all_fit or _count(n, size) <= left * _fraction(n, size)):
        kept.append(_all_of(words, size))
        weights.append(torch.full((len(kept[-1]),), _mass(n, size) / _count(n, size)).double())
        left -= len(kept[-1])
        size += 1
    if size <= n - size and left >= 2:
        kept.append(_drawn(name, words, size, left // 2, seed))
        mass = sum(_mass(n, each) for each in range(size, n // 2 + 1))
        weights.append(torch.full((len(kept[-1]),), mass / len(kept[-1])).double())
    return Coalitions(torch.cat(kept), torch.cat(weights))


def _mass(n: int, size: int) -> float:
    """The kernel's weight of all subsets of this size and of their complements."""
    return (n - 1) / (size * (n - size)) * (1 if 2 * size == n else 2)


def _fraction(n: int, size: int) -> float:
    """This size's part of the weight of all sizes from here to the middle."""
    return _mass(n, size) / sum(_mass(n, each) for each in range(size, n // 2 + 1))


def _count(n: int, size: int) -> int:
    return comb(n, size) * (1 if 2 * size == n else 2)


def _all_of(words: Bool[Tensor, " w"], size: int) -> Bool[Tensor, "s w"]:
    places = words.nonzero().flatten()
    chosen = torch.combinations(places, size)
    kept = words.new_zeros((len(chosen), len(words))).scatter(1, chosen, True)
    half = 2 * size == len(places)
    return kept if half else torch.cat([kept, words & ~kept])


def _drawn(
    name: str, words: Bool[Tensor, " w"], smallest: int, pairs: int, seed: int
) -> Bool[Tensor, "s w"]:
    n = int(words.sum())
    masses = torch.tensor([_mass(n, size) for size in range(smallest, n // 2 + 1)]).double()
    uniform = keyed_uniform(example_keys(seed, (name,), "kernel_shap", "size"), (pairs,))
    edges = masses.cumsum(0) / masses.sum()
    sizes = smallest + torch.searchsorted(edges[:-1], uniform, right=True)
    keys = example_keys(seed, (name,), "kernel_shap", "words")
    kept = keyed_subsets(keys, sizes, words[None])[0]
    return torch.cat([kept, words & ~kept])
