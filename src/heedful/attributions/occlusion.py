"""What changes when a word is taken out: leave-one-out and occlusion."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.entries import SHARE, SIGNED, Attribution, by_name
from heedful.errors import unknown_name
from heedful.metrics import tvd
from heedful.models import probabilities, probability
from heedful.perturbations import Operator, WordRemoval, as_operator, removed, removed_many
from heedful.types import Batch, Model, Target, Trace
from heedful.words import to_words, word_mask, words_are_tokens


def leave_one_out(model: Model, batch: Batch, trace: Trace | None = None) -> Float[Tensor, "b t"]:
    """How far the output moves when a token is deleted (jain2019, experiment 2).

    Returns the TVD between the outputs with and without each token; zero where no token is. A
    trace of the batch that kept its encoding saves making it again.
    """
    with torch.no_grad():
        deleted = model.leave_one_out_logits(batch, trace)
        whole, less = probabilities(deleted.whole), probabilities(deleted.less)
    return tvd(less, whole[:, None]).masked_fill(~batch.texts["a"].mask, 0.0)


def words_left_out(model: Model, batch: Batch, unit: str = "words") -> Float[Tensor, "b w"]:
    """Leave one out, by words: the TVD between the outputs with and without each.

    jain2019's words are tokens. Where a tokenizer cuts a word into pieces, all of them are deleted
    together: without one piece of "wonderful" the others still say it. With `unit="tokens"` one
    token is deleted at a time, and the scores of a word's tokens are added up.
    """
    if unit not in ("words", "tokens"):
        raise unknown_name("unit of leave-one-out", unit, ["words", "tokens"])
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


def occlusion(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    operator: str | Operator = "delete",
    magnitude: bool = False,
) -> Float[Tensor, "b w"]:
    """What the explained quantity loses when a word is taken out (bastings2020).

    Returns f(x) − f(x without the word), signed unless its `magnitude` is asked for. The `operator`
    is a perturbation, by its name or as it is.
    """
    text = batch.texts["a"]
    # every site linear, nothing hidden, every token a word of its own
    linear = all(site.linear for site in model.sites)
    plain = linear and text.hidden is None and words_are_tokens(text)
    if plain and as_operator(operator).name == "delete":
        scores = _token_by_token(model, batch, label, target)
    else:
        scores = _word_by_word(model, batch, label, target, operator)
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


def _target(logits: Tensor, label: Tensor, target: Target) -> Float[Tensor, "b m"]:
    """The target of many outputs of one example."""
    b, m, _ = logits.shape
    return target(logits.flatten(0, 1), label.repeat_interleave(m)).double().reshape(b, m)


ENTRIES = by_name(
    Attribution(
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
            "Words that say the same thing twice both get little; the text without a word is out "
            "of the training distribution."
        ),
    ),
    Attribution(
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
            "Words that say the same thing twice both get little; it depends on how a word is "
            "taken out."
        ),
    ),
)
