"""Terms of the loss that are about the attended states: diversity, tying, mlm."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from heedful.entries import SHARE, LossTerm
from heedful.errors import HeedfulError
from heedful.interventions import Edited
from heedful.metrics import conicity
from heedful.models import Family, OneSequence, Pair, Separate, how_to_fit, main_site
from heedful.specs import END
from heedful.training.loss import Term, TermContext, attended_states
from heedful.types import Batch, Keep, Trace

_STATES = Keep(states=True)


def diversity(context: TermContext) -> Term:
    """Diversity of the states (mohankumar2020): the loss grows with their conicity."""

    def value(batch: Batch, trace: Trace) -> Tensor:
        return conicity(*attended_states(context.model, trace)).mean()

    return Term(value, Keep(states=True))


DIVERSITY = LossTerm(
    name="diversity",
    description="conicity of the attended states, so that they point different ways",
    make=diversity,
    paper="mohankumar2020",
    citation="Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models, ACL",
)


def tying(context: TermContext) -> Term:
    """(1/T) Σ_t ‖h_t − e_t‖² (tutek2020): states come to the embeddings of their own tokens, which
    stand still."""
    model = context.model
    check_tokens("tying", model)

    def value(batch: Batch, trace: Trace) -> Tensor:
        states, mask = attended_states(model, trace)
        embeddings = model.embed(batch)["a"]
        check_widths("tying", model, states.shape[-1], embeddings.shape[-1])
        apart = (states - embeddings).square().sum(-1)
        return (torch.where(mask, apart, 0.0).sum(-1) / mask.sum(-1).clamp_min(1)).mean()

    return Term(value, Keep(states=True))


TYING = LossTerm(
    name="tying",
    description="squared distance of the attended states from their tokens' embeddings",
    make=tying,
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP",
)


HIDDEN, EXCHANGED = 0.8, 0.1  # of the chosen tokens; the rest stay as they are


def mlm(context: TermContext, share: float = 0.15) -> Term:
    """Masked language modelling beside the task (tutek2020): states must know their words.

    A second pass, with some tokens exchanged as in BERT, has to find them again. The scores of
    words are products of state and word vector, and the vectors are the corpus's own: they are
    not trained, so the states have to come to them. The value is the mean cross-entropy over the
    chosen tokens of a batch, 0 where none was chosen.
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
        told: Trace = model(_disguised(model, batch, chosen, len(vectors)), keep=_STATES)
        states = attended_states(model, told)[0][chosen]
        check_widths("mlm", model, states.shape[-1], vectors.shape[-1])
        return F.cross_entropy(states @ vectors.t(), batch.texts["a"].tokens[chosen])

    return Term(value)


def _disguised(model: Family, batch: Batch, chosen: Bool[Tensor, "b t"], words: int) -> Batch:
    text = batch.texts["a"]
    fate = torch.rand(chosen.shape, device=chosen.device)
    tokens = text.tokens.masked_fill(chosen & (fate < HIDDEN), model.fillers["unk"])
    others = _words(text.tokens, words)
    tokens = torch.where(chosen & (fate >= HIDDEN) & (fate < HIDDEN + EXCHANGED), others, tokens)
    return replace(batch, texts={**batch.texts, "a": replace(text, tokens=tokens)})


def _words(like: Int[Tensor, "b t"], words: int) -> Int[Tensor, "b t"]:
    """Any words of the vocabulary, not padding and its like unless there is nothing else."""
    return torch.randint(min(END + 1, words - 1), words, like.shape, device=like.device)


MLM = LossTerm(
    name="mlm",
    description="a second pass has to find exchanged words again, by the corpus's vectors",
    make=mlm,
    bounds={"share": SHARE},
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP; Devlin et al. 2019",
)


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


@singledispatch
def remedy(model: object, width: int) -> str:
    """What makes a model's attended states so wide: `hidden`, where it says just that."""
    return f"give --hidden {width}"


@remedy.register
def remedy_of_one(model: OneSequence, width: int) -> str:
    return how_to_fit(model.encoder, width)


@remedy.register
def remedy_of_pairs(model: Pair, width: int) -> str:
    encoder = model.encoder
    return how_to_fit(encoder.a, width) if isinstance(encoder, Separate) else remedy(encoder, width)


@remedy.register
def remedy_inside(model: Edited, width: int) -> str:
    return remedy(model.model, width)
