"""Any explanation as one score per word: by name, by its entry, or a function of one's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attributions.registry import SALIENCIES
from heedful.entries import Attribution
from heedful.errors import HeedfulError
from heedful.models import probability
from heedful.perturbations import attempt
from heedful.types import Batch, Model, Target
from heedful.words import to_words, word_mask

Explanation = str | Attribution | Callable[..., Any]


def explain(
    explanation: Explanation,
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    **params: Any,
) -> Float[Tensor, "b w"]:
    """Scores of words, float64, without gradients; zero where no word is.

    Scores of a word's tokens are added up, with their signs: a magnitude that was taken before
    is that of tokens, and `Attribution.signed` says which maps have signs. A function of your own
    scores tokens; wrap it in an `Attribution` with `level="words"` where it scores words. A batch
    too large for memory is split in halves.
    """
    piece = as_attribution(explanation)
    there = word_mask(batch.texts["a"])
    scores = there.new_zeros(there.shape, dtype=torch.float64)
    waiting = [torch.arange(len(batch), device=there.device)] if len(batch) else []
    while waiting:
        rows = waiting.pop()
        some = batch if len(rows) == len(batch) else batch.take(rows)
        found = attempt(partial(_words, piece, model, some, label, target, params), rows)
        if found is None:
            waiting += rows.tensor_split(2)
        else:
            scores[rows, : found.shape[1]] = found
    scores = scores.masked_fill(~there, 0.0)
    bad = (~scores.isfinite()).any(-1).nonzero().flatten().tolist()
    if bad:
        raise HeedfulError(
            f"the explanation {piece.name!r} of example {batch.ids[bad[0]]!r} is not finite: check "
            "the model's outputs for it, or leave the example out."
        )
    return scores


def as_attribution(explanation: Explanation) -> Attribution:
    """An attribution by its name, as it is, or around a function."""
    if isinstance(explanation, str):
        return SALIENCIES[explanation]
    if isinstance(explanation, Attribution):
        return explanation
    name = getattr(explanation, "__name__", "explanation")
    return Attribution(name, "", explanation, uses=(), signed=False)


def _words(
    piece: Attribution,
    model: Model,
    batch: Batch,
    label: Tensor,
    target: Target,
    params: dict[str, Any],
    rows: Tensor,
) -> Tensor:
    """Gradients may be taken whatever is outside, and leave nothing behind."""
    explained = {"label": label[rows], "target": target}
    known = signature(piece.make).parameters
    # leave-one-out compares whole outputs: it has no class and no quantity to explain
    wanted = {name: value for name, value in explained.items() if name in known}
    with torch.enable_grad():
        scores = piece.make(model, batch, **wanted, **params)
    text = batch.texts["a"]
    shape = tuple((word_mask(text) if piece.level == "words" else text.mask).shape)
    if not isinstance(scores, Tensor) or scores.shape != shape:
        got = f"a {type(scores).__name__}"
        if isinstance(scores, Tensor):
            got = f"scores of shape {tuple(scores.shape)}"
        raise HeedfulError(
            f"the explanation {piece.name!r} gave {got}: give a tensor of {shape}, a "
            f"score for each of a text's {piece.level} (level={piece.level!r})."
        )
    scores = scores.detach()
    return scores.double() if piece.level == "words" else to_words(scores, text)
