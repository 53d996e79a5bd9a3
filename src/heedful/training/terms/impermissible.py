"""Attention that is not to be seen on impermissible tokens (pruthi2020)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxtyping import Bool, Float
from torch import Tensor

from heedful.catalogue import Piece
from heedful.corpora import Forbidden, forbidden, has_forbidden, laid_out
from heedful.errors import HeedfulError, unknown_name
from heedful.models import main_site
from heedful.training.term import Data, Lesson, Term, read_rows
from heedful.types import Batch, SiteMask, SiteSpec, Trace

LEAST = 1e-30
"""Of the permitted attention, so that none at all is a finite loss; above it there is a slope."""


def impermissible(lesson: Lesson, heads: str = "mean") -> Term:
    """`heads` is what counts of several: their `mean`, or the one that shows most (`max`)."""
    if heads not in HEADS:
        raise unknown_name("way to put heads together", heads, list(HEADS))
    site = _checked(main_site(lesson.model))
    marks = _marks(lesson.corpus)

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


def _marks(corpus: Data) -> Forbidden:
    splits = [corpus.split(name) for name in ("train", "dev")]
    if not all(map(has_forbidden, splits)):
        raise HeedfulError(
            "the term 'impermissible' needs marked tokens, and the corpus marks none: name them "
            "(--param impermissible=…)."
        )
    return {**forbidden(splits[0]), **forbidden(splits[1])}


def _checked(site: SiteSpec) -> SiteSpec:
    if site.level != "tokens" or not site.normalised:
        raise HeedfulError(
            "the term 'impermissible' needs attention over tokens whose weights sum to 1: choose "
            "another family or attention."
        )
    return site


PIECE = Piece(
    name="impermissible",
    description="−log of the attention that is not on impermissible tokens",
    make=impermissible,
    paper="pruthi2020",
    citation="Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations, ACL",
)
