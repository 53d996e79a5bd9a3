"""KernelSHAP: Shapley values of words by a weighted regression over subsets of them.

Our own few lines: the packages draw from a global generator and talk while they work. Where
all subsets fit into the samples the values are exact.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.catalogue import ANY, Piece
from heedful.models import probability
from heedful.saliency.shap_subsets import Coalitions, coalitions
from heedful.saliency.word_subsets import MOST_SAMPLES, checked_samples, subset_values
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
    values = subset_values(model, batch, (target, label), gone, operator).cpu()
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


PIECE = Piece(
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
