"""Leave one out: how far the output moves when a word is deleted (jain2019, experiment 2).

jain2019's words are tokens. Where a tokenizer cuts a word into pieces, all of them are deleted
together: without one piece of "wonderful" the others still say it.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.entries import SHARE, Attribution
from heedful.errors import unknown_name
from heedful.metrics import tvd
from heedful.models import probabilities
from heedful.perturbations import removed, removed_many
from heedful.types import Batch, Model, Trace
from heedful.words import to_words, word_mask, words_are_tokens

UNITS = ("words", "tokens")


def leave_one_out(model: Model, batch: Batch, trace: Trace | None = None) -> Float[Tensor, "b t"]:
    """TVD between the outputs with and without each token; zero where no token is."""
    with torch.no_grad():
        deleted = model.leave_one_out_logits(batch, trace)
        whole, less = probabilities(deleted.whole), probabilities(deleted.less)
    return tvd(less, whole[:, None]).masked_fill(~batch.texts["a"].mask, 0.0)


def words_left_out(model: Model, batch: Batch, unit: str = "words") -> Float[Tensor, "b w"]:
    """Scores of words: TVD between the outputs with and without each. With `unit="tokens"` one
    token is deleted at a time, and the scores of a word's tokens are added up."""
    if unit not in UNITS:
        raise unknown_name("unit of leave-one-out", unit, list(UNITS))
    text = batch.texts["a"]
    if unit == "tokens" or words_are_tokens(text):
        return to_words(leave_one_out(model, batch), text)
    there = word_mask(text)
    p = probabilities(removed(model, batch, torch.zeros_like(there)))

    def moved(logits: Tensor, example: Tensor) -> Tensor:
        return tvd(probabilities(logits), p[example])[:, None]

    each = torch.eye(there.shape[1], dtype=torch.bool, device=there.device)
    gone = each.expand(len(there), -1, -1) & there[:, None]
    return removed_many(model, batch, gone, "delete", read=moved)[..., 0].masked_fill(~there, 0.0)


ENTRY = Attribution(
    name="leave_one_out",
    description="change of the output (TVD) when a word is deleted; the text gets shorter",
    make=words_left_out,
    uses=("delete",),
    signed=False,
    version=2,
    paper="jain2019",
    level="words",
    formula="TVD(p(x), p(x without w))",
    range=SHARE,
    higher="the output moves further without the word",
    cost="a run for each word, less where an encoder has a shortcut",
    limits=(
        "Words that say the same thing twice both get little; the text without a word is out of "
        "the training distribution."
    ),
)
