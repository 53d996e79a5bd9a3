"""Does it matter which token has which weight? (jain2019, §4.2.1)"""

from __future__ import annotations

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attributions import text_site
from heedful.entries import ANY, NOT_NEGATIVE, Experiment, Measure, share
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Evidence, Findings, ForwardBatch, SiteRows, by_rows
from heedful.experiments.outputs import effect_of, outputs, reduced, token_logits_of
from heedful.hashing import stable_hash
from heedful.interventions import permute, reordered
from heedful.metrics import tvd
from heedful.randomness import example_keys, keyed_bits
from heedful.types import AttentionRows

_DRAWS_AT_ONCE = 1 << 18  # numbers; bounds the memory
_LAST = (1 << 63) - 1  # what no draw exceeds


def permutation(evidence: Evidence, permutations: int = 100) -> Findings:
    """Median change of the output over random permutations of the real tokens' weights."""
    if permutations < 1:
        raise HeedfulError("the probe 'permutation' needs at least 1 permutation.")

    def measured(view: SiteRows) -> dict[str, Tensor]:
        found = _sampled(view, evidence.seed, permutations)
        return found | _moments(view) if view.site.linear else found

    return by_rows(evidence, evidence.resumable("permutation"), measured)


def permuted_weights(
    view: AttentionRows, keys: Tensor, permutations: int
) -> Float[Tensor, "n m k"]:
    """The weights of each row in `permutations` random orders; masked places stay zero."""
    shape = (permutations, view.weights.shape[1])
    order = keyed_bits(keys, shape).masked_fill(~view.mask[:, None], _LAST).argsort(-1)
    return reordered(view.weights[:, None].expand_as(order), view.mask[:, None], order)


def _sampled(view: SiteRows, seed: int, permutations: int) -> dict[str, Tensor]:
    keys = row_keys(view, seed, "permutation")
    parts = []
    with torch.no_grad():
        # through the same arithmetic, so that what is not moved is at distance 0
        original = outputs(view, view.weights[:, None].double())[:, 0]
        width = max(view.weights.shape[1], original.shape[1])
        step = max(1, _DRAWS_AT_ONCE // (permutations * width))
        every = torch.arange(len(keys), device=keys.device)
        for rows in torch.split(every, step if view.site.linear else len(keys)):
            part = view.take(rows)
            weights = permuted_weights(part, keys[rows], permutations).double()
            compare = partial(_changes, original=original[rows, None])
            changed, flips = reduced(part, weights, compare).unbind(-1)
            # the midpoint median: torch's own takes the lower of the two middle values
            median = changed.quantile(0.5, dim=-1)
            parts.append(torch.stack([median, changed.mean(-1), flips.mean(-1)]))
    median, mean, flips = torch.cat(parts, 1)
    return {"tvd_median": median, "tvd_mean": mean, "flips": flips}


def tvd_permuted(
    forward: ForwardBatch, permutations: int | None = None, seed: int = 0
) -> Float[Tensor, " b"]:
    """By example, the median TVD over random permutations of the main site's weights: by default
    100 for a linear site, where they cost one product, and 20 elsewhere, where all queries are
    permuted, not only those the prediction is read from."""
    site = text_site(forward.model)
    draws = permutations if permutations is not None else (100 if site.linear else 20)
    if draws < 1:
        raise HeedfulError("the measure 'tvd_permuted' needs at least 1 permutation.")
    if site.linear:
        view = forward.rows(site)
        median = _sampled(view, seed, draws)["tvd_median"]
        return median.new_zeros(len(forward.batch)).index_copy(0, view.example, median)
    edits = (permute(stable_hash(seed, "tvd_permuted", draw)) for draw in range(draws))
    moved = [effect_of(forward, {site.name: edit}).tvd for edit in edits]
    return torch.stack(moved, 1).quantile(0.5, dim=-1)


def _changes(p: Tensor, original: Tensor) -> Tensor:
    """How far each output moved, and whether the decision flipped."""
    flips = (p.argmax(-1) != original.argmax(-1)).double()
    return torch.stack([tvd(p, original), flips], -1)


def _moments(view: SiteRows) -> dict[str, Tensor]:
    """Mean and standard deviation of the predicted class's logit over *all* permutations."""
    values, bias = token_logits_of(view)
    top = view.forward.trace.logits.argmax(-1)[view.example]
    z = values.gather(2, top[:, None, None].expand(-1, values.shape[1], 1)).squeeze(2)
    n = view.mask.sum(-1).double()  # 1 / integer would be single precision
    z_mean = (z * view.mask).sum(-1) / n
    weights = view.weights.double()
    spread_z = (((z - z_mean[:, None]) * view.mask) ** 2).sum(-1)
    w_mean = weights.sum(-1) / n  # 1/n, but for a gate's weights
    spread_w = (((weights - w_mean[:, None]) * view.mask) ** 2).sum(-1)
    variance = spread_w * spread_z / (n - 1).clamp_min(1)
    mean = z_mean * weights.sum(-1) + bias[top]
    return {"logit_mean_exact": mean, "logit_sd_exact": variance.sqrt()}


def row_keys(view: SiteRows, seed: int, purpose: str) -> Tensor:
    """One key per row, from its example, head and query."""
    h, q = view.forward.trace.weights[view.site.name].shape[1:3]
    keys = example_keys(seed, view.forward.batch.ids, purpose, view.site.name)
    keys = keyed_bits(keys.to(view.weights.device), (h, q))
    return keys[view.example, view.head, view.query]


ENTRY = Experiment(
    name="permutation",
    description="change of the output under random permutations of the attention weights",
    make=permutation,
    bounds={"permutations": (1, 10**5)},
    by_text=True,
    version=2,
    paper="jain2019",
    measures={
        "tvd_median": share("median TVD over the permutations", True),
        "tvd_mean": share("mean TVD over the permutations", True),
        "flips": share("share of permutations that change the decision"),
        "logit_mean_exact": Measure(
            "mean logit over all permutations, closed form", signed=True, range=ANY
        ),
        "logit_sd_exact": Measure(
            "sd of the logit over all permutations, closed form", range=NOT_NEGATIVE
        ),
    },
    formula="median over random orders π of TVD(p(α), p(π α)), over real tokens",
    higher="it matters more to the output which token has which weight",
    cost="100 permutations of what follows attention; a product after a linear site",
    limits=(
        "Nearly even weights hardly change by permuting. States are held fixed, so the model "
        "meets mixtures that training never made."
    ),
)
