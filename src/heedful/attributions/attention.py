"""Attention itself, as a reader sees it, and what else is made of its weights.

A model of many layers and heads has many weights. Shown is one row: the last site that
attends to the text, the mean over its heads, at the queries the prediction is read from.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.entries import ANY, NOT_NEGATIVE, SHARE, Attribution, by_name
from heedful.errors import HeedfulError, unknown_name
from heedful.interventions import custom, renormalised
from heedful.models import probability
from heedful.types import Batch, Keep, Model, SiteSpec, Target, Trace
from heedful.words import word_numbers


def attention(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    layer: int = -1,
    head: int | None = None,
    sinks: str = "with",
) -> Float[Tensor, "b t"]:
    """The weight on each token (jain2019): of the last site over the text, or that of another
    `layer`; the mean over its heads, or one `head`.

    The weight on tokens outside of the text is left out, so a row may sum to less than 1. With
    `sinks=special` each head's weights are made to sum to 1 over words before the mean is taken: a
    head that puts most weight on tokens of no word then counts as much as the others. With
    `sinks=first` the first word is left out, too. Neither class nor target matters: attention is
    the same for all.
    """
    if sinks not in SINKS:
        raise unknown_name("way to treat sinks", sinks, list(SINKS))
    site, trace, readout = _attended(model, batch, layer)
    rows = readout_rows(trace.weights[site.name], readout)
    if sinks != "with":
        rows = without_sinks(rows, batch, first_word(batch) & (sinks == "first"))
    return on_text(one_map(rows, head), batch)


SINKS = ("with", "special", "first")
"""What `attention` does with tokens that take weight whatever the text says."""


def without_sinks(
    rows: Float[Tensor, "b h k"], batch: Batch, sinks: Bool[Tensor, "b k"]
) -> Float[Tensor, "b h k"]:
    """Each head's weights over words alone, less these of them, summing to 1. A text that is left
    without a word keeps them all, and a head without weight on words stays at zero."""
    words = word_numbers(batch.texts["a"]) >= 0
    rest = words & ~sinks
    kept = torch.where(rest.any(-1, keepdim=True), rest, words)
    return renormalised(rows * kept[:, None])


def first_word(batch: Batch) -> Bool[Tensor, "b t"]:
    """The tokens of the first word of each text."""
    numbers = word_numbers(batch.texts["a"])
    least = numbers.masked_fill(numbers < 0, numbers.shape[1]).amin(-1, keepdim=True)
    return numbers == least


def mass_outside(
    model: Model, batch: Batch, layer: int = -1, head: int | None = None
) -> Float[Tensor, " b"]:
    """The share of attention on tokens of no word (start, end, separators), which no map over
    words can show; NaN where nothing is attended."""
    weights = _row(model, batch, layer, head)
    outside = weights.masked_fill(word_numbers(batch.texts["a"]) >= 0, 0.0)
    return outside.sum(-1) / weights.sum(-1)


def text_sites(model: Model) -> tuple[SiteSpec, ...]:
    """The sites that attend to the tokens of the text, first to last; `layer` counts these."""
    found = tuple(site for site in model.sites if site.keys == "a" and site.level == "tokens")
    if not found:
        raise HeedfulError("no site of this model attends to tokens of its text: give another.")
    return found


def text_site(model: Model, layer: int = -1) -> SiteSpec:
    """The attention over the text that a reader is shown: the last one, or that of another
    layer. In a hierarchy it is the one within sentences, and not the main site."""
    sites = text_sites(model)
    if not -len(sites) <= layer < len(sites):
        raise HeedfulError(f"there is no layer {layer}: choose one from 0 to {len(sites) - 1}.")
    return sites[layer]


def readout_weights(trace: Trace, site: SiteSpec) -> Float[Tensor, "b q"]:
    """How much each query of a site counts for the prediction, float64."""
    if site.name not in trace.readout_weights:
        raise HeedfulError(f"nothing is read directly from site {site.name!r}: choose a later one.")
    return trace.readout_weights[site.name].double()


def values_of(trace: Trace, site: SiteSpec) -> Float[Tensor, "b h k d"]:
    """What each head of a site mixes."""
    if site.name not in trace.values:
        raise HeedfulError(
            f"this model does not show the values that {site.name!r} mixes: leave this explanation "
            "out, or keep them in Trace.values."
        )
    return trace.values[site.name]


def readout_rows(
    weights: Float[Tensor, "b h q k"], readout: Float[Tensor, "b q"]
) -> Float[Tensor, "b h k"]:
    """Each head's row for the prediction, float64; mostly few queries are read."""
    read = (readout > 0).any(0)
    rows = weights[:, :, read].double()
    return torch.einsum("bq,bhqk->bhk", readout[:, read].double(), rows)


def one_map(rows: Float[Tensor, "b h k"], head: int | None = None) -> Float[Tensor, "b k"]:
    """The mean over heads, or one head."""
    if head is None:
        return rows.mean(1)
    if not -rows.shape[1] <= head < rows.shape[1]:
        raise HeedfulError(f"there is no head {head}: choose one from 0 to {rows.shape[1] - 1}.")
    return rows[:, head]


def on_text(scores: Float[Tensor, "b t"], batch: Batch) -> Float[Tensor, "b t"]:
    """Zero on all that is no token of the text."""
    return scores.masked_fill(~batch.texts["a"].mask, 0.0)


def _attended(
    model: Model, batch: Batch, layer: int, keep: Keep = Keep(), every: bool = False
) -> tuple[SiteSpec, Trace, Float[Tensor, "b q"]]:
    """The site a reader is shown, a pass of the batch with its weights or those of every site, and
    how much each query of it counts."""
    site = text_site(model, layer)
    with torch.no_grad():
        weights = True if every else (site.name,)
        trace = model(batch, keep=replace(keep, readout_weights=True, weights=weights))
    return site, trace, readout_weights(trace, site)


def _row(model: Model, batch: Batch, layer: int, head: int | None) -> Float[Tensor, "b k"]:
    site, trace, readout = _attended(model, batch, layer)
    return one_map(readout_rows(trace.weights[site.name], readout), head)


def rollout(
    model: Model, batch: Batch, label: Int[Tensor, " b"], target: Target = probability
) -> Float[Tensor, "b t"]:
    """Attention rollout (Abnar & Zuidema 2020): attention followed back to the input.

    What a position of layer l sees of the text is ½ (the mean over heads) + ½ (itself, through
    the residual), times what those positions saw one layer below. The result is the reader's row
    of the product over layers. Where the last site is no self-attention (one query, or a decoder's
    cross-attention), its own row is followed back instead; so a model of one such site gives its
    attention. Neither class nor target matters.
    """
    row, means = followed_back(model, batch)
    for mean in means:
        row = 0.5 * (torch.einsum("bq,bqk->bk", row, mean) + row)
    return on_text(row, batch)


def followed_back(
    model: Model, batch: Batch
) -> tuple[Float[Tensor, "b k"], list[Float[Tensor, "b k k"]]]:
    """The reader's row, and each layer's mean over heads, from the last layer to the first.

    Where the last site is no self-attention, its own row is the reader's, float64."""
    last, trace, readout = _attended(model, batch, -1, every=True)
    within = self_sites(model, trace)
    row = readout if last in within else one_map(readout_rows(trace.weights[last.name], readout))
    sites = [site for site in reversed(text_sites(model)) if site in within]
    return row, [trace.weights[site.name].double().mean(1) for site in sites]


def self_sites(model: Model, trace: Trace) -> tuple[SiteSpec, ...]:
    """The sites in which the text attends to itself: as many queries as keys.

    In an encoder-decoder they come before the decoder's own (whose keys are another side);
    what attends to the text after those is cross-attention, of whatever shape."""
    first = takewhile(lambda site: site.keys == "a", model.sites)
    shapes = {name: weights.shape[-2:] for name, weights in trace.weights.items()}
    return tuple(s for s in first if s.level == "tokens" and len(set(shapes[s.name])) == 1)


def value_norm(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    layer: int = -1,
) -> Float[Tensor, "b t"]:
    """The norm of what attention brings from each token (Kobayashi et al. 2020): ‖Σ_h α_h f_h(x)‖.

    A weight says how much of a vector is mixed in, not how long the vector is. The norm is taken
    at each query the prediction is read from, and weighted by how much is read there. f is the
    value after the output projection (the heads' vectors are summed first: they may cancel); at a
    site of one head that has none it is the value itself, so the score is α‖v‖. Neither class nor
    target matters.
    """
    site, trace, readout = _attended(model, batch, layer, Keep(values=True))
    weights = trace.weights[site.name].double()
    values, projection = values_of(trace, site).double(), _projection(trace, site)
    scores = readout.new_zeros(len(batch), weights.shape[-1])
    for row, read in enumerate(readout):
        seen = weights[row][:, read > 0]
        scores[row] = summed_norm(seen, values[row], projection, read[read > 0])
    return on_text(scores, batch)


def summed_norm(
    weights: Float[Tensor, "h q k"],
    values: Float[Tensor, "h k d"],
    projection: Float[Tensor, "h d e"] | None,
    readout: Float[Tensor, " q"],
) -> Float[Tensor, " k"]:
    """Of one text. The squared norm of a sum over heads is the sum over pairs of heads of their
    products, which need not be made again for each query."""
    vectors = values if projection is None else values @ projection
    products = torch.einsum("hke,gke->khg", vectors, vectors)
    squares = (torch.einsum("hqk,khg->gqk", weights, products) * weights).sum(0)
    return readout @ squares.clamp_min(0).sqrt()


def _projection(trace: Trace, site: SiteSpec) -> Tensor | None:
    found = trace.projections.get(site.name)
    if found is None and (site.name in trace.projections or trace.weights[site.name].shape[1] > 1):
        raise HeedfulError(
            f"value_norm needs the output projection of {site.name!r}, which this model does not "
            "show: leave value_norm out."
        )
    return None if found is None else found.double()


def effective_attention(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    layer: int = -1,
    head: int | None = None,
) -> Float[Tensor, "b t"]:
    """The part of the weights the output can feel (Brunner et al. 2020); the mean over heads.

    A head gives α·V. Whatever of α lies in the left null space of V vanishes in that product and
    is taken away, which leaves α·V·V⁺: it may be negative, and need not sum to 1. A text of at
    most as many tokens as a head has dimensions has (unless values repeat) no such space: nothing
    changes there. V has all keys that any reading query may attend. Neither class nor target
    matters.
    """
    site, trace, readout = _attended(model, batch, layer, Keep(values=True))
    # a mask may be shared by heads or queries
    seen = (trace.masks[site.name] & (readout > 0)[:, None, :, None]).any(2)
    rows, values = readout_rows(trace.weights[site.name], readout), values_of(trace, site)
    return on_text(one_map(felt(rows, values, seen), head), batch)


def felt(
    rows: Float[Tensor, "b h k"], values: Float[Tensor, "b h k d"], seen: Bool[Tensor, "b g k"]
) -> Float[Tensor, "b h k"]:
    """The rows projected onto the column space of the seen values, float64.

    Singular values below the precision the values were computed in count as zero. For values
    of full row rank the projection is the identity, and the rows are given back as they are."""
    shown = values.double() * seen[..., None]
    left, sizes, _ = torch.linalg.svd(shown, full_matrices=False)
    keys = seen.sum(-1).expand(rows.shape[:2])
    # numpy's tolerance for a rank, by the seen keys only: padding must not change a rank
    least = keys.clamp_min(values.shape[-1]).double() * torch.finfo(values.dtype).eps
    real = sizes > least[..., None] * sizes[..., :1]
    basis = left * real[..., None, :]
    projected = torch.einsum("bhkr,bhr->bhk", basis, torch.einsum("bhk,bhkr->bhr", rows, basis))
    return torch.where((real.sum(-1) == keys)[..., None], rows, projected * seen)


def gradient_attention(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    layer: int = -1,
    magnitude: bool = False,
) -> Float[Tensor, "b t"]:
    """α·∂f/∂α: how the explained quantity answers to each weight (serrano2019).

    It is summed over heads and over the queries the prediction is read from (each query's share
    in the prediction is already in its slope), and signed unless its `magnitude` is asked for.
    The weights are taken as free numbers: renormalisation is ignored, as in the paper.
    """
    site, trace, readout = _attended(model, batch, layer, Keep(states=True))
    free = trace.weights[site.name].detach().clone().requires_grad_()
    with torch.enable_grad():
        logits = model.resume(
            batch, trace, {site.name: custom(lambda call: call.queries(free))}
        ).logits
        (slopes,) = torch.autograd.grad(target(logits, label).sum(), free)
    products = trace.weights[site.name].double() * slopes.double()
    scores = on_text(torch.einsum("bq,bhqk->bk", (readout > 0).double(), products), batch)
    return scores.abs() if magnitude else scores


ENTRIES = by_name(
    Attribution(
        name="attention",
        description="the attention weights the prediction is read through, mean over heads",
        make=attention,
        uses=(),
        signed=False,
        paper="jain2019",
        formula="(1/H) Σ_h Σ_q r_q α_hqt: r_q is how much of the prediction is read from query q",
        range=SHARE,
        higher="the token has more of the weight the prediction is read through",
        cost="one forward pass",
        limits=(
            "A weight says how much of a state is mixed in: not what the state holds, nor whether "
            "the rest of the model reads it."
        ),
    ),
    Attribution(
        name="rollout",
        description="attention followed back through all layers, half of each being the residual",
        make=rollout,
        uses=(),
        signed=False,
        paper="Abnar & Zuidema 2020",
        citation="Abnar & Zuidema 2020, Quantifying Attention Flow in Transformers, ACL",
        formula="r · Π_l ½ (A_l + I), from the last layer to the first; A_l is the mean over heads",
        range=SHARE,
        higher="more paths of attention lead to the token",
        cost="one forward pass, and a product for each layer",
        limits=(
            "The residual is taken for half of everything, and what happens between attentions for "
            "nothing."
        ),
    ),
    Attribution(
        name="value_norm",
        description="norm of what attention brings from a token, heads projected and summed",
        make=value_norm,
        uses=(),
        signed=False,
        version=2,
        paper="Kobayashi et al. 2020",
        citation=(
            "Kobayashi et al. 2020, Attention is Not Only a Weight: Analyzing Transformers with "
            "Vector Norms, EMNLP"
        ),
        formula="Σ_q r_q ‖Σ_h α_hqt v_ht W_h‖₂: W_h is the output projection's part for head h",
        range=NOT_NEGATIVE,
        higher="attention brings a longer vector from the token",
        cost="one forward pass",
        limits=(
            "A long vector need not matter: what follows may ignore its direction, and the "
            "residual beside attention is left out."
        ),
    ),
    Attribution(
        name="effective_attention",
        description="attention less what its values cancel; unchanged for short texts",
        make=effective_attention,
        uses=(),
        signed=False,
        paper="Brunner et al. 2020",
        citation="Brunner et al. 2020, On Identifiability in Transformers, ICLR",
        formula=(
            "(1/H) Σ_h α_h V_h V_h⁺: what of the weights does not vanish in the product with the "
            "values"
        ),
        range=ANY,
        higher="more of the weight on the token reaches the output",
        cost="one forward pass, and a singular value decomposition for each head",
        limits=(
            "The same as attention for texts that have no more tokens than a head has dimensions; "
            "it may be negative, and the sign says nothing about a class."
        ),
    ),
    Attribution(
        name="gradient_attention",
        description="attention times the derivative of the output by it, summed over heads",
        make=gradient_attention,
        uses=(),
        paper="serrano2019",
        signed=True,
        formula="Σ_h Σ_q α_hqt · ∂f/∂α_hqt over the queries the prediction is read from",
        range=ANY,
        higher="more weight there would raise the explained number more",
        cost="one forward and one backward pass of what follows attention",
        limits=(
            "Weights are taken as free numbers that need not sum to 1. A slope speaks of small "
            "changes."
        ),
    ),
)
