"""Terms of the loss that are about attention: apart, impermissible, sparsity, supervised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from heedful.data import forbidden, has_forbidden, heads_by_id, laid_out, load_conllu
from heedful.entries import SHARE, Entries, LossTerm
from heedful.errors import HeedfulError, unknown_name
from heedful.metrics import jsd, kl
from heedful.models import Hard, Rationale, Transformer, main_site
from heedful.training.loss import (
    Term,
    TermContext,
    attended_states,
    masked_mean,
    read_rows,
    said_by,
    teacher_of,
)
from heedful.types import Batch, Keep, SiteMask, SiteSpec, Trace

ENTRIES = Entries(LossTerm)

FLOOR = 1e-10
"""The least a teacher's weight counts for: KL would reward a token it gave nothing without end."""

Rows = Float[Tensor, "b h q k"]
Divergence = Callable[[Rows, Rows, Bool[Tensor, "b h q k"]], Float[Tensor, "b h q"]]


LEAST = 1e-30
"""Of the permitted attention, so that none at all is a finite loss; above it there is a slope."""
SPLITS = ("train", "dev")
_FLOOR = 1e-12


@ENTRIES.entry(
    "minus the divergence from a teacher's attention: kl (of the model's) or jsd",
    needs=("teacher",),
    paper="wiegreffe2019",
    citation="Wiegreffe & Pinter 2019, Attention is not not Explanation, EMNLP",
)
def apart(context: TermContext, divergence: str = "kl") -> Term:
    """Attention far from a teacher's (wiegreffe2019): minus the mean divergence from the teacher's
    main attention on the same batch. An example's heads and steps are averaged first."""
    if divergence not in DIVERGENCES:
        raise unknown_name("divergence", divergence, list(DIVERGENCES))
    site, other = main_site(context.model), main_site(teacher_of(context)).name
    if not site.normalised:
        raise HeedfulError("the term apart needs weights that sum to 1, and this model has a gate.")
    measure = DIVERGENCES[divergence]

    def value(batch: Batch, trace: Trace) -> Tensor:
        own, theirs = trace.weights[site.name], said_by(context, batch).weights[other]
        if own.shape != theirs.shape:
            raise HeedfulError(
                f"the teacher's attention has the shape {tuple(theirs.shape)}, the model's "
                f"{tuple(own.shape)}: take a teacher of the same family and tokens."
            )
        mask = trace.masks[site.name].expand_as(own)
        distances = measure(own.double(), theirs.double(), mask)
        there = read_rows(trace, batch, mask)
        kept = torch.where(there, distances, 0.0).sum((1, 2))
        return -(kept / there.sum((1, 2)).clamp_min(1)).mean()

    return Term(value)


DIVERGENCES: dict[str, Divergence] = {
    "kl": lambda own, theirs, mask: kl(own, theirs.clamp_min(FLOOR), mask),
    "jsd": lambda own, theirs, mask: jsd(own * mask, theirs * mask),
}


@ENTRIES.entry(
    "−log of the attention that is not on impermissible tokens",
    paper="pruthi2020",
    citation="Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations, ACL",
)
def impermissible(context: TermContext, heads: str = "mean") -> Term:
    """Attention that is not to be seen on impermissible tokens (pruthi2020).

    `heads` is what counts of several: their `mean`, or the one that shows most (`max`).
    """
    if heads not in HEADS:
        raise unknown_name("way to put heads together", heads, list(HEADS))
    site = main_site(context.model)
    if site.level != "tokens" or not site.normalised:
        raise HeedfulError(
            "the term 'impermissible' needs attention over tokens whose weights sum to 1: choose "
            "another family or attention."
        )
    splits = [context.corpus.split(name) for name in SPLITS]
    if not all(map(has_forbidden, splits)):
        raise HeedfulError(
            "the term 'impermissible' needs marked tokens, and the corpus marks none: name them "
            "(--param impermissible=…)."
        )
    marks = {**forbidden(splits[0]), **forbidden(splits[1])}

    def value(batch: Batch, trace: Trace) -> Tensor:
        weights = trace.weights[site.name]
        mask = trace.masks[site.name]
        read = read_rows(trace, batch, mask.expand_as(weights)).any(1)
        inside = laid_out(marks, batch, weights.shape[2]) & read[..., None]
        return exposure(weights, inside, mask, heads).mean()

    return Term(value)


def exposure(
    weights: Float[Tensor, "b h q k"],
    inside: Bool[Tensor, "b q k"],
    mask: SiteMask,
    heads: str = "mean",
) -> Float[Tensor, " b"]:
    """−log(1 − Σ_I α), the mean over an example's steps that have marks; 0 where none has.

    1 − Σ_I α is taken as the sum of what is permitted: it keeps its gradient where nearly all
    attention is on I, and a difference from 1 would not."""
    permitted = (weights * (mask & ~inside[:, None])).sum(-1)
    each = HEADS[heads](-permitted.clamp_min(LEAST).log())
    counts = inside.any(-1)
    return (each * counts).sum(-1) / counts.sum(-1).clamp_min(1)


HEADS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda each: each.mean(1),
    "max": lambda each: each.amax(1),
}


@ENTRIES.entry(
    "distance of the expected share of selected tokens from a target",
    bounds={"target": SHARE},
    needs=("attention",),
    citation="Bastings et al. 2019, Interpretable Neural Predictions with Differentiable Binary "
    "Variables, ACL",
)
def sparsity(context: TermContext, target: float = 0.1) -> Term:
    """Distance of the share of tokens a hard attention takes from `target` (Bastings et al. 2019).

    The expected number of gates that are not 0 is known in closed form, Σ 1 − P(0), so nothing is
    drawn; the gates that were drawn for the forward pass need not be known.
    """
    if not 0 <= target <= 1:
        raise HeedfulError(f"the term sparsity has the target {target}: give a share from 0 to 1.")
    open_gates, keep = _selection(context, "sparsity")

    def value(batch: Batch, trace: Trace) -> Tensor:
        taken, seen = open_gates(batch, trace)
        return (masked_mean(taken, seen) - target).abs().mean()

    return Term(value, keep)


@ENTRIES.entry(
    "expected changes between taken and left tokens, as a share of a text's neighbours",
    needs=("attention",),
    paper="lei2016",
)
def coherence(context: TermContext) -> Term:
    """Rationales of few runs (Lei et al. 2016): the expected number of neighbours of which one is
    taken and the other left, over the number of neighbours. Gates are drawn independently, so the
    expectation is Σ p(1 − q) + (1 − p)q."""
    open_gates, keep = _selection(context, "coherence")

    def value(batch: Batch, trace: Trace) -> Tensor:
        taken, seen = open_gates(batch, trace)
        one, other = taken[:, :-1], taken[:, 1:]
        changes = one * (1 - other) + (1 - one) * other
        return masked_mean(changes, seen[:, :-1] & seen[:, 1:]).mean()

    return Term(value, keep)


OpenGates = Callable[[Batch, Trace], tuple[Float[Tensor, "b t"], Bool[Tensor, "b t"]]]


def _selection(context: TermContext, term: str) -> tuple[OpenGates, Keep]:
    """How probably each token is taken, by the gates of a hard attention or of a rationale."""
    attention = context.model.attentions.get(main_site(context.model).name)
    if isinstance(getattr(context.model, "encoder", None), Rationale):

        def by_rationale(batch: Batch, trace: Trace) -> tuple[Tensor, Tensor]:
            return 1 - trace.encoding.cache.p_zero(), batch.texts["a"].mask

        return by_rationale, Keep(encoding=True)
    if isinstance(attention, Hard):

        def by_attention(batch: Batch, trace: Trace) -> tuple[Tensor, Tensor]:
            states, seen = attended_states(context.model, trace)
            return 1 - attention.p_zero(states.masked_fill(~seen[..., None], 0.0)), seen

        return by_attention, Keep(states=True)
    raise HeedfulError(
        f"the term {term} is about tokens that are taken or left, and this model weighs them: "
        f"choose --attention hard, or an encoder such as bilstm+rationale."
    )


Marks = Mapping[str, NDArray[np.bool_]]
"""By example: what is right, for its real tokens."""


@ENTRIES.entry(
    "−log of attention's share on human rationales, or on syntactic heads (arcs=FILE)",
    bounds={"head": (0, 10_000)},
    citation="rationales: Zhong et al. 2019; syntactic heads: Strubell et al. 2018",
)
def supervised(context: TermContext, arcs: str = "", site: str = "", head: int = 0) -> Term:
    """Attention that is told where to look: at human rationales, or at syntactic heads.

    Taught by the corpus's rationales; or, with the CoNLL-U file `arcs`, one `head` of one `site`
    of a Transformer's encoder is to attend from each word to its syntactic head.

    The loss is −log of the share of a row's weight that lies on the right tokens. A divergence from
    equal weights on them would ask more than people said: that every word they marked counts
    alike; and it is infinite as soon as a sparse attention leaves one of them out. A share below
    1e-12 counts as that much. There no slope is left, as sparse weights of 0 have none anyway: what
    they leave out altogether they learn from the task alone.
    """
    if arcs:
        return _by_arcs(context, arcs, site, head)
    if site or head:
        raise HeedfulError(
            "the term supervised takes site and head with arcs only: leave them out."
        )
    return _by_rationales(context)


def missed(weights: Float[Tensor, "b q k"], right: Bool[Tensor, "b q k"]) -> Float[Tensor, " b"]:
    """The mean of −log share over the queries that have right keys; 0 where none has. Gates are
    compared with their own sum."""
    total = weights.sum(-1).clamp_min(_FLOOR)
    share = torch.where(right, weights, 0.0).sum(-1) / total
    told = right.any(-1)
    logs = torch.where(told, share.clamp_min(_FLOOR), 1.0).log()
    return -logs.sum(-1) / told.sum(-1).clamp_min(1)


def _by_rationales(context: TermContext) -> Term:
    site, marks = _text_site(context), _rationales(context)

    def value(batch: Batch, trace: Trace) -> Tensor:
        weights = trace.weights[site.name].mean(1)
        row = torch.einsum(
            "bq,bqk->bk", trace.readout_weights[site.name].to(weights.dtype), weights
        )
        right = torch.zeros_like(batch.texts["a"].mask)
        for example, places, known in _known(marks, batch):
            right[example, places] = known
        return missed(row[:, None], right[:, None]).mean()

    return Term(value, Keep(readout_weights=True))


def _by_arcs(context: TermContext, arcs: str, site: str, head: int) -> Term:
    name, marks = _encoder_site(context, site), _heads(context, arcs)

    def value(batch: Batch, trace: Trace) -> Tensor:
        weights = trace.weights[name]
        if not 0 <= head < weights.shape[1]:
            raise HeedfulError(f"there is no head {head}: choose one below {weights.shape[1]}.")
        right = torch.zeros_like(weights[:, head], dtype=torch.bool)
        for example, places, known in _known(marks, batch):
            right[example, places[:, None], places] = known
        return missed(weights[:, head], right).mean()

    return Term(value)


def _rationales(context: TermContext) -> Marks:
    splits = [context.corpus.split(name) for name in SPLITS]
    found = {
        name: marks
        for split in splits
        for i, name in enumerate(split.ids)
        if (marks := split.rationale(i)) is not None
    }
    if not any(name in found for name in splits[0].ids):
        raise HeedfulError(
            "the term supervised needs human rationales, and the training texts have none: "
            "choose a corpus with rationales (movies, hatexplain, planted), or give arcs."
        )
    return found


def _heads(context: TermContext, arcs: str) -> Marks:
    sentences = load_conllu(Path(arcs))
    train, dev = (heads_by_id(context.corpus.split(name), sentences) for name in SPLITS)
    if not train:
        raise HeedfulError(
            f"no sentence of {arcs} is a text of the training split: parse the corpus's own "
            "texts, one sentence each."
        )
    return {**dev, **train}


def _text_site(context: TermContext) -> SiteSpec:
    """The last attention over the text's tokens: in a hierarchy, that within sentences."""
    sites = [s for s in context.model.sites if s.keys == "a" and s.level == "tokens"]
    if context.corpus.task != "classification" or not sites:
        raise HeedfulError(
            "rationales are reasons for a class, and this corpus has none: choose a corpus for "
            "classification, or give arcs."
        )
    return sites[-1]


def _encoder_site(context: TermContext, site: str) -> str:
    if not isinstance(context.model, Transformer):
        raise HeedfulError(
            "arcs lead from word to word, and this model has no self-attention: choose the "
            "family transformer."
        )
    names = [each.name for each in context.model.encoder.sites]
    if site and site not in names:
        raise unknown_name("site of the encoder", site, names)
    return site or names[0]


def _known(marks: Marks, batch: Batch) -> Iterator[tuple[int, Tensor, Tensor]]:
    """For each example that has any: its row, where its real tokens stand, and its marks."""
    mask = batch.texts["a"].mask
    for row, name in enumerate(batch.ids):
        if name in marks:
            places = mask[row].nonzero().squeeze(-1)
            yield row, places, torch.tensor(np.asarray(marks[name]), device=mask.device)
