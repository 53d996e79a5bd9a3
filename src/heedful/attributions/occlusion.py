"""Occlusion: what the explained quantity loses when a word is taken out (bastings2020)."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.entries import SIGNED, Attribution
from heedful.models import probability
from heedful.perturbations import Operator, WordRemoval, as_operator
from heedful.types import Batch, Model, Target, Text
from heedful.words import to_words, word_mask, words_are_tokens


def occlusion(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    operator: str | Operator = "delete",
    magnitude: bool = False,
) -> Float[Tensor, "b w"]:
    """f(x) − f(x without the word), signed unless its magnitude is asked for."""
    text = batch.texts["a"]
    fast = as_operator(operator).name == "delete" and _shortcut_applies(model, text)
    scores = (
        _token_by_token(model, batch, label, target)
        if fast
        else _word_by_word(model, batch, label, target, operator)
    )
    return scores.abs() if magnitude else scores


def _word_by_word(
    model: Model, batch: Batch, label: Tensor, target: Target, operator: str | Operator
) -> Tensor:
    """The last set is empty: the whole text, by the same way as the others. So is the set of
    a word that is not there, which makes its score zero."""
    there = word_mask(batch.texts["a"])
    width = there.shape[1]
    each = torch.eye(width + 1, width, dtype=torch.bool, device=there.device)
    gone = each.expand(len(there), -1, -1) & there[:, None]
    values = WordRemoval(model, batch, label, operator, target).answers(gone).value
    return values[:, -1:] - values[:, :-1]


def _token_by_token(model: Model, batch: Batch, label: Tensor, target: Target) -> Tensor:
    """The same where the model can go on from what two neighbouring deletions share."""
    with torch.no_grad():
        deleted = model.leave_one_out_logits(batch)
        whole = _target(deleted.whole[:, None], label, target)
        scores = whole - _target(deleted.less, label, target)
    return to_words(scores.masked_fill(~batch.texts["a"].mask, 0.0), batch.texts["a"])


def _shortcut_applies(model: Model, text: Text) -> bool:
    """Every site linear, nothing hidden, every token a word of its own."""
    linear = all(site.linear for site in model.sites)
    return linear and text.hidden is None and words_are_tokens(text)


def _target(logits: Tensor, label: Tensor, target: Target) -> Float[Tensor, "b m"]:
    """The target of many outputs of one example."""
    b, m, _ = logits.shape
    return target(logits.flatten(0, 1), label.repeat_interleave(m)).double().reshape(b, m)


ENTRY = Attribution(
    name="occlusion",
    description="f(x) − f(x without the word); a removal operator says how it is taken out",
    make=occlusion,
    uses=("=operator",),
    paper="bastings2020",
    signed=True,
    level="words",
    formula="f(x) − f(x without w), f the probability of the explained class",
    range=SIGNED,
    higher="the explained number falls further without the word; below 0 it rises",
    cost="a run for each word, less where an encoder has a shortcut",
    limits=(
        "Words that say the same thing twice both get little; it depends on how a word is taken "
        "out."
    ),
)
