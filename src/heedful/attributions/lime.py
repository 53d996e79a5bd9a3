"""LIME: the weights of a linear model of the output near the text, over words on and off.

The neighbourhood, distance and regression are those of the package's text explainer, only
the numbers are drawn by key and words are removed by an operator of ours. As in the package,
texts of two or three words show little but differences between their words' weights: its
kernel all but forgets a text that lost most of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.entries import ANY, NOT_NEGATIVE, Attribution
from heedful.errors import HeedfulError
from heedful.models import probability
from heedful.perturbations import WordRemoval
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Batch, Model, Target
from heedful.words import word_mask

MOST_SAMPLES = 100_000
"""Of a text: its subsets are held at once."""
KERNEL_WIDTH = 25.0  # the package's, for distances from 0 to 100


def lime(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    samples: int = 1000,
    operator: str = "mask",
    seed: int = 0,
    penalty: float = 1.0,
) -> Float[Tensor, "b w"]:
    """The weight of each word, signed; zero where no word is."""
    base = _lime_base()
    there = word_mask(batch.texts["a"])
    gone = neighbourhood(batch.ids, there.cpu(), checked_samples(samples), seed)
    removal = WordRemoval(model, batch, label, operator, target)
    values = removal.answers(gone.to(there.device)).value.cpu()
    scores = torch.zeros(there.shape, dtype=torch.float64)
    for example, words in enumerate(there.cpu()):
        if words.any():
            kept = ~gone[example][:, words]
            scores[example, words] = _weights(base, kept, values[example], penalty)
    return scores.to(there.device)


def neighbourhood(
    ids: tuple[str, ...], there: Bool[Tensor, "b w"], samples: int, seed: int
) -> Bool[Tensor, "b m w"]:
    """What is removed: first nothing, then a random set of 1 … n words, n of each size alike."""
    drawn = keyed_uniform(example_keys(seed, ids, "lime", "size"), (samples - 1,))
    sizes = 1 + (drawn * there.sum(-1, keepdim=True)).long()
    gone = keyed_subsets(example_keys(seed, ids, "lime", "words"), sizes, there)
    return torch.cat([torch.zeros_like(gone[:, :1]), gone], 1)


def proximity(distances: np.ndarray) -> np.ndarray:
    """The package's kernel."""
    weights: np.ndarray = np.sqrt(np.exp(-(distances**2) / KERNEL_WIDTH**2))
    return weights


def _weights(base: Any, kept: Tensor, values: Tensor, penalty: float) -> Tensor:
    from sklearn.linear_model import Ridge

    n = kept.shape[1]
    # 100 × cosine distance to the whole text, a row of ones
    distances = 100 * (1 - (kept.double().mean(-1)).sqrt())
    _, pairs, _, _ = base.explain_instance_with_data(
        kept.double().numpy(),
        values[:, None].numpy(),
        distances.numpy(),
        label=0,
        num_features=n,
        feature_selection="none",
        model_regressor=Ridge(alpha=penalty),
    )
    weights = dict(pairs)
    return torch.tensor([float(weights[word]) for word in range(n)], dtype=torch.float64)


def _lime_base() -> Any:
    try:
        from lime.lime_base import LimeBase
    except ImportError as error:
        raise HeedfulError("LIME needs lime: pip install 'heedful[explain]'.") from error
    return LimeBase(proximity, random_state=0)


def keyed_subsets(
    keys: Int[Tensor, " b"], sizes: Int[Tensor, "b m"], there: Bool[Tensor, "b w"]
) -> Bool[Tensor, "b m w"]:
    """Subsets of these sizes, each equally likely, of the words that are there."""
    order = keyed_uniform(keys, (sizes.shape[1], there.shape[1]))
    order = order.masked_fill(~there[:, None], 2.0)
    rank = order.argsort(dim=-1, stable=True).argsort(dim=-1, stable=True)
    return (rank < sizes[..., None]) & there[:, None]


def checked_samples(samples: int) -> int:
    if samples < 2:
        raise HeedfulError(f"samples is {samples}: choose 2 or more.")
    return samples


ENTRY = Attribution(
    name="lime",
    description="weights of a linear model of the output over words on and off, near the text",
    make=lime,
    uses=("=operator",),
    bounds={"samples": (2, MOST_SAMPLES), "penalty": NOT_NEGATIVE},
    signed=True,
    paper="Ribeiro et al. 2016",
    level="words",
    citation=(
        'Ribeiro et al. 2016, "Why Should I Trust You?": Explaining the Predictions of Any '
        "Classifier, KDD"
    ),
    formula=(
        "argmin_w Σ_S π(S) (f(x_S) − w₀ − Σ_{i in S} w_i)² + ‖w‖²: x_S has only the words S, "
        "π(S) is large near the whole text"
    ),
    range=ANY,
    higher="the word raises the explained number more in texts near this one; below 0 it lowers it",
    cost="1,000 runs for a text",
    limits=(
        "A line through something that is none; it depends on the kernel and the draws, and "
        "shows little of texts of two or three words."
    ),
)
