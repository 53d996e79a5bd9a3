"""Tying (tutek2020): states stay near the embeddings of their own tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.catalogue import Piece
from heedful.training.term import Lesson, Term, attended_states
from heedful.training.token_states import check_tokens, check_widths
from heedful.types import Batch, Keep, Trace


def tying(lesson: Lesson) -> Term:
    """(1/T) Σ_t ‖h_t − e_t‖². Embeddings stand still in it: states come to them."""
    model = lesson.model
    check_tokens("tying", model)

    def value(batch: Batch, trace: Trace) -> Tensor:
        states, mask = attended_states(model, trace)
        embeddings = model.embed(batch)["a"]
        check_widths("tying", model, states.shape[-1], embeddings.shape[-1])
        apart = (states - embeddings).square().sum(-1)
        return (torch.where(mask, apart, 0.0).sum(-1) / mask.sum(-1).clamp_min(1)).mean()

    return Term(value, Keep(states=True))


PIECE = Piece(
    name="tying",
    description="squared distance of the attended states from their tokens' embeddings",
    make=tying,
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP",
)
