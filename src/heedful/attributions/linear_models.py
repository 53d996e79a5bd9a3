"""Linear models of the output over words that are on or off: LIME and KernelSHAP.

Both run the model on texts without some of their words, and fit a weight of each word to the
results. Numbers are drawn by key, and words are removed by an operator of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.entries import ANY, NOT_NEGATIVE, Attribution, by_name
from heedful.errors import HeedfulError
from heedful.models import probability
from heedful.perturbations import WordRemoval
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Batch, Model, Target

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
    """LIME: the weights of a linear model of the output near the text, over words on and off.

    The neighbourhood, distance and regression are those of the package's text explainer. As in
    the package, texts of two or three words show little but differences between their words'
    weights: its kernel all but forgets a text that lost most of them. `samples` texts are run, the
    whole one among them; words are removed by the `operator`, and `penalty` is the ridge's. Weights
    are signed; zero where no word is (Ribeiro et al. 2016).
    """
    try:
        from lime.lime_base import LimeBase
    except ImportError as error:
        raise HeedfulError("LIME needs lime: pip install 'heedful[explain]'.") from error
    base = LimeBase(proximity, random_state=0)
    removal = WordRemoval(model, batch, label, operator, target)
    there = removal.mask.cpu()
    gone = neighbourhood(batch.ids, there, checked_samples(samples), seed)

    def weights(example: int, values: Tensor) -> Tensor:
        return _weights(base, ~gone[example][:, there[example]], values, penalty)

    return fitted_weights(removal, gone, weights)


def fitted_weights(
    removal: WordRemoval,
    gone: Bool[Tensor, "b m w"],
    weights: Callable[[int, Float[Tensor, " m"]], Float[Tensor, " n"]],
) -> Float[Tensor, "b w"]:
    """What `weights` makes of each example's results, for the words that are there."""
    device = removal.mask.device
    values = removal.answers(gone.to(device)).value.cpu()
    scores = torch.zeros(removal.mask.shape, dtype=torch.float64)
    for example, words in enumerate(removal.mask.cpu()):
        if words.any():
            scores[example, words] = weights(example, values[example])
    return scores.to(device)


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


def kernel_shap(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    samples: int = 1000,
    operator: str = "mask",
    seed: int = 0,
) -> Float[Tensor, "b w"]:
    """KernelSHAP: Shapley values of words by a weighted regression over subsets of them.

    Our own few lines: the packages draw from a global generator and talk while they work. Where
    all subsets fit into the `samples` the values are exact. Words are removed by the `operator`.
    Values are signed; a text's add up to f(whole text) − f(no word left) (Lundberg & Lee 2017).
    """
    removal = WordRemoval(model, batch, label, operator, target)
    there = removal.mask.cpu()
    parts = [
        coalitions(name, words, checked_samples(samples), seed)
        for name, words in zip(batch.ids, there, strict=True)
    ]

    def shapley(example: int, values: Tensor) -> Tensor:
        return _solve(parts[example], there[example], values)

    return fitted_weights(removal, _with_ends(parts, there), shapley)


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


@dataclass(frozen=True)
class Coalitions:
    """Subsets of the words, neither empty nor whole, and their weights."""

    kept: Bool[Tensor, "s w"]
    weights: Float[Tensor, " s"]


def coalitions(name: str, words: Bool[Tensor, " w"], samples: int, seed: int) -> Coalitions:
    """At most `samples` subsets of one text's words.

    Small and large subsets weigh most and are few: they are taken whole, from the ends inwards,
    while the samples last. The rest of the samples is drawn among the sizes left, each subset
    with its complement.
    """
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


ENTRIES = by_name(
    Attribution(
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
        higher=(
            "the word raises the explained number more in texts near this one; below 0 it lowers it"
        ),
        cost="1,000 runs for a text",
        limits=(
            "A line through something that is none; it depends on the kernel and the draws, and "
            "shows little of texts of two or three words."
        ),
    ),
    Attribution(
        name="kernel_shap",
        description="Shapley values of words by a weighted regression; exact where all subsets fit",
        make=kernel_shap,
        uses=("=operator",),
        bounds={"samples": (2, MOST_SAMPLES)},
        signed=True,
        paper="Lundberg & Lee 2017",
        level="words",
        citation=(
            "Lundberg & Lee 2017, A Unified Approach to Interpreting Model Predictions, NeurIPS"
        ),
        formula=(
            "φ_i = Σ_{S without i} |S|! (n − |S| − 1)! / n! · (f(S + i) − f(S)); the scores of a "
            "text sum to f(all) − f(none)"
        ),
        range=ANY,
        higher=(
            "the word raises the explained number more, on average over all orders of adding "
            "words; below 0 it lowers it"
        ),
        cost="up to 1,000 runs for a text; exact where all subsets fit",
        limits=(
            "Most subsets are no language. What words do together is shared out among them and no "
            "longer seen."
        ),
    ),
)
