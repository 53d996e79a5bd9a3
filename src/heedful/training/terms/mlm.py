"""Masked language modelling beside the task (tutek2020): states must know their words.

A second pass, with some tokens exchanged as in BERT, has to find them again. The scores of
words are products of state and word vector, and the vectors are the corpus's own: they are
not trained, so the states have to come to them.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from heedful.catalogue import SHARE, Piece
from heedful.errors import HeedfulError
from heedful.models import Family, main_site
from heedful.specs import END
from heedful.training.term import Lesson, Term, attended_states
from heedful.training.token_states import check_tokens, check_widths
from heedful.types import Batch, Keep, Trace

HIDDEN, EXCHANGED = 0.8, 0.1  # of the chosen tokens; the rest stay as they are


def mlm(lesson: Lesson, share: float = 0.15) -> Term:
    """Mean cross-entropy over the chosen tokens of a batch, 0 where none was chosen."""
    model = lesson.model
    check_tokens("mlm", model)
    if not 0 < share <= 1:
        raise HeedfulError(f"mlm's share is {share}: give a number above 0, up to 1.")
    vectors = lesson.corpus.vectors.to(next(model.parameters()))

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


_STATES = Keep(states=True)


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


PIECE = Piece(
    name="mlm",
    description="a second pass has to find exchanged words again, by the corpus's vectors",
    make=mlm,
    bounds={"share": SHARE},
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP; Devlin et al. 2019",
)
