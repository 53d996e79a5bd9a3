"""Terms of the loss that are about states, for the models Heedful builds: diversity, tying, mlm."""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from heedful.entries import SHARE, Entries, LossTerm
from heedful.errors import HeedfulError
from heedful.interventions import Edited
from heedful.metrics import conicity
from heedful.models import (
    BiAttention,
    Family,
    OneSequence,
    Pair,
    Separate,
    how_to_fit,
    main_site,
)
from heedful.specs import END
from heedful.training.loss import Term, TermContext, attended_states, masked_mean
from heedful.types import Batch, Keep, Trace

ENTRIES = Entries(LossTerm)
_MOHANKUMAR = "Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models, ACL"

HIDDEN, EXCHANGED = 0.8, 0.1  # of the tokens chosen for mlm; the rest stay as they are
_STATES = Keep(states=True)
TINY = 1e-12
"""Added under a root: at a distance of 0 it would have no slope."""


@ENTRIES.entry(
    "conicity of the attended states, so that they point different ways",
    paper="mohankumar2020",
    citation=_MOHANKUMAR,
)
def diversity(context: TermContext) -> Term:
    """Diversity of the states (mohankumar2020): the loss grows with their conicity."""

    def value(batch: Batch, trace: Trace) -> Tensor:
        return conicity(*attended_states(context.model, trace)).mean()

    return Term(value, _STATES)


@ENTRIES.entry(
    "squared distance of the attended states from their tokens' embeddings, or the distance itself",
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP",
)
def tying(context: TermContext, squared: bool = True, still: bool = True) -> Term:
    """(1/T) Σ_t ‖h_t − e_t‖² (tutek2020): states come to the embeddings of their own tokens, which
    stand `still`, or come to the states too where they are trained. Not squared, tokens far away
    pull no harder than near ones."""
    model = context.model
    check_tokens("tying", model)

    def value(batch: Batch, trace: Trace) -> Tensor:
        states, mask = attended_states(model, trace)
        moving = None if still else model.embedded(batch, Keep(), None)
        embeddings = (moving or model.embed(batch))["a"]
        check_widths("tying", model, states.shape[-1], embeddings.shape[-1])
        distance = (states - embeddings).square().sum(-1)
        distance = distance if squared else (distance + TINY).sqrt()
        return masked_mean(distance, mask).mean()

    return Term(value, _STATES)


@ENTRIES.entry(
    "a second pass has to find exchanged words again, by the corpus's vectors",
    bounds={"share": SHARE},
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP; Devlin et al. 2019",
)
def mlm(context: TermContext, share: float = 0.15) -> Term:
    """Masked language modelling beside the task (tutek2020): states must know their words.

    A second pass, with some tokens exchanged as in BERT, has to find them again. The scores of
    words are products of state and word vector; the vectors are the corpus's own and not trained,
    so the states have to come to them. The value is the mean cross-entropy over the chosen tokens
    of a batch, 0 where none was chosen.
    """
    model = context.model
    check_tokens("mlm", model)
    if not 0 < share <= 1:
        raise HeedfulError(f"mlm's share is {share}: give a number above 0, up to 1.")
    vectors = context.corpus.vectors.to(next(model.parameters()))

    def value(batch: Batch, trace: Trace) -> Tensor:
        seen = trace.masks[main_site(model).name].any(1).any(1)
        chosen = seen & (torch.rand(seen.shape, device=seen.device) < share)
        if not chosen.any():
            return trace.logits.new_zeros(())
        second: Trace = model(_disguised(model, batch, chosen, len(vectors)), keep=_STATES)
        states = attended_states(model, second)[0][chosen]
        check_widths("mlm", model, states.shape[-1], vectors.shape[-1])
        return F.cross_entropy(states @ vectors.t(), batch.texts["a"].tokens[chosen])

    return Term(value)


def _disguised(model: Family, batch: Batch, chosen: Bool[Tensor, "b t"], words: int) -> Batch:
    # random words of the vocabulary; padding and its like only if there is nothing else
    span = (min(END + 1, words - 1), words)
    text = batch.texts["a"]
    tokens = exchanged(text.tokens, chosen, model.fillers["unk"], span)
    return replace(batch, texts={**batch.texts, "a": replace(text, tokens=tokens)})


def exchanged(
    tokens: Int[Tensor, "b t"], chosen: Bool[Tensor, "b t"], filler: int, span: tuple[int, int]
) -> Int[Tensor, "b t"]:
    """Most of the chosen tokens become the filler, some any token of the span, and the rest stay
    (Devlin et al. 2019)."""
    fate = torch.rand(chosen.shape, device=chosen.device)
    hidden = tokens.masked_fill(chosen & (fate < HIDDEN), filler)
    others = torch.randint(*span, tokens.shape, device=tokens.device)
    return torch.where(chosen & (fate >= HIDDEN) & (fate < HIDDEN + EXCHANGED), others, hidden)


def check_tokens(term: str, model: Family) -> None:
    """Refuse attention over anything but the tokens of side a."""
    site = main_site(model)
    if site.level != "tokens" or site.keys != "a":
        raise HeedfulError(
            f"{term} is about states of the tokens of side a, and this model's main attention "
            f"is over {site.level} of side {site.keys}: choose another family."
        )


def check_widths(term: str, model: Family, states: int, embeddings: int) -> None:
    if states != embeddings:
        raise HeedfulError(
            f"{term} needs states as wide as the embeddings, and they are {states} and "
            f"{embeddings}: {remedy(model, embeddings)}."
        )


def remedy(model: Family, width: int) -> str:
    """How to get attended states of that width: `hidden`, where it is that width."""
    if isinstance(model, Edited):
        return remedy(model.model, width)
    if isinstance(model, OneSequence):
        return how_to_fit(model.encoder, width)
    if isinstance(model, Pair) and isinstance(model.encoder, Separate):
        return how_to_fit(model.encoder.a, width)
    if isinstance(model, BiAttention):
        return "choose the family pair"
    return f"give --hidden {width}"
