"""Removal operators: what a model is shown of a batch without some tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool
from torch import Tensor

from heedful.entries import Perturbation, by_name
from heedful.errors import HeedfulError
from heedful.registry import Registry, places
from heedful.types import Batch, Embeddings, Model, Text
from heedful.words import without_tokens, word_numbers

REMOVALS = Registry(
    "removal operator",
    Perturbation,
    places("heedful.perturbations", {"operators": "delete mask unk zero attention infill"}),
)


@dataclass(frozen=True)
class Removed:
    """What the model is shown; `embeddings` where token ids cannot say it."""

    batch: Batch
    embeddings: Embeddings | None = None


Apply = Callable[[Model, Batch, Bool[Tensor, "b t"]], Removed]


@dataclass(frozen=True)
class Operator:
    """`apply(model, batch, gone[b, t])`; texts that get shorter are worth sorting by length."""

    name: str
    apply: Apply
    shortens: bool = False


def with_text(batch: Batch, text: Text) -> Batch:
    """The batch with another side `a`."""
    return replace(batch, texts={**batch.texts, "a": text})


def filler(model: Model, name: str) -> int:
    """The model's own; a model that was never shown a mask has its unknown word instead."""
    if name in model.fillers:
        return model.fillers[name]
    if name == "mask" and "unk" in model.fillers:
        return model.fillers["unk"]
    known = ", ".join(sorted(model.fillers)) or "none at all"
    raise HeedfulError(
        f"this model has no {name!r} token (its fillers: {known}): choose one of those, or zero."
    )


def _deleted(model: Model, batch: Batch, gone: Tensor) -> Removed:
    """The word is cut out: the text gets shorter, and what follows moves up."""
    text = batch.texts["a"]
    bare = gone.sum(-1) == text.lengths
    if bool(bare.any()):
        first = torch.zeros_like(gone).index_fill(1, gone.new_zeros(1, dtype=torch.long), True)
        stay = first & bare[:, None]
        text, gone = _filled(text, stay, filler(model, "unk")), gone & ~stay
    return Removed(with_text(batch, without_tokens(text, gone)))


def _filled(text: Text, stay: Tensor, token: int) -> Text:
    """A model must have something to read: where a text without special tokens loses all it
    had, one unknown word is left, and it belongs to no word."""
    return replace(
        text,
        tokens=text.tokens.masked_fill(stay, token),
        mask=text.mask & ~stay,
        words=word_numbers(text).masked_fill(stay, -1),
    )


def _by_filler(name: str) -> Apply:
    """The word's tokens become the model's mask token, or the unknown word."""
    return lambda model, batch, gone: replaced(batch, gone, filler(model, name))


def replaced(batch: Batch, gone: Tensor, token: int) -> Removed:
    """The same token in place of all that is gone."""
    text = batch.texts["a"]
    return Removed(with_text(batch, replace(text, tokens=text.tokens.masked_fill(gone, token))))


def _zeroed(model: Model, batch: Batch, gone: Tensor) -> Removed:
    """The word's embeddings become zero; positions and segments stay."""
    embedded = model.embed(batch)
    silenced = embedded["a"].masked_fill(gone[..., None], 0.0)
    return Removed(batch, {**embedded, "a": silenced})


def _hidden(model: Model, batch: Batch, gone: Tensor) -> Removed:
    """The word keeps its place, but no attention may see it."""
    text = batch.texts["a"]
    hidden = gone if text.hidden is None else gone | text.hidden
    return Removed(with_text(batch, replace(text, hidden=hidden)))


def _infilled(model: Model, batch: Batch, gone: Tensor) -> Removed:
    """Another word stands in its place, drawn from a masked language model."""
    if batch.infiller is None:
        raise HeedfulError(
            "infill draws words from a masked language model: name its folder with --infill "
            "(infill=), or choose another perturbation."
        )
    return Removed(with_text(batch, batch.infiller(batch, gone)))


ENTRIES = by_name(
    Perturbation(
        name="delete",
        description="the text gets shorter",
        make=lambda: Operator("delete", _deleted, shortens=True),
        paper="jain2019",
    ),
    Perturbation(
        name="mask",
        description="the mask token in place of each token (the unknown word where there is no "
        "mask)",
        make=lambda: Operator("mask", _by_filler("mask")),
    ),
    Perturbation(
        name="unk",
        description="the unknown word in place of each token",
        make=lambda: Operator("unk", _by_filler("unk")),
    ),
    Perturbation(
        name="zero",
        description="a zero vector in place of each token's embedding",
        make=lambda: Operator("zero", _zeroed),
        paper="bastings2020",
    ),
    Perturbation(
        name="attention",
        description="hidden from every attention; an encoder without attention still reads it",
        make=lambda: Operator("attention", _hidden),
    ),
    Perturbation(
        name="infill",
        description="another word in its place, drawn from a masked language model (--infill DIR)",
        make=lambda: Operator("infill", _infilled),
        citation="Kim et al. 2020, Interpretation of NLP Models through Input Marginalization, "
        "EMNLP; Harbecke and Alt 2020",
    ),
)
