"""Removal one text and one set of words at a time, on plain lists of token ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from heedful.types import Batch, Text


def logits_without(model: Any, batch: Batch, example: int, words: set[int], how: str) -> Tensor:
    """Logits `[c]` of one text whose tokens of the given words are deleted, replaced, zeroed or
    hidden."""
    text = batch.texts["a"]
    length = int(text.lengths[example])
    tokens = text.tokens[example, :length].tolist()
    mask = text.mask[example, :length].tolist()
    gone = [number in words for number in numbers(text, example)]
    if how == "delete":
        tokens, mask = (
            [value for value, out in zip(column, gone, strict=True) if not out]
            for column in (tokens, mask)
        )
    if how in ("mask", "unk"):
        token = model.fillers.get(how, model.fillers["unk"])
        tokens = [token if out else value for value, out in zip(tokens, gone, strict=True)]
    one = Text(torch.tensor([tokens]), torch.tensor([len(tokens)]), torch.tensor([mask]).bool())
    if how == "attention":
        one = replace(one, hidden=torch.tensor([gone]))
    if text.segments is not None:
        kept = [s for s, out in zip(text.segments[example].tolist(), gone) if not out]  # noqa: B905
        row = kept if how == "delete" else text.segments[example, :length].tolist()
        one = replace(one, segments=torch.tensor([row]))
    shown = Batch((batch.ids[example],), {"a": one}, batch.labels[example : example + 1])
    embeddings = None
    if how == "zero":
        embedded = model.embed(shown)["a"].clone()
        for place, out in enumerate(gone):
            if out:
                embedded[0, place] = 0
        embeddings = {"a": embedded}
    with torch.no_grad():
        logits: Tensor = model(shown, embeddings=embeddings).logits[0].double()
    return logits


def numbers(text: Text, example: int) -> list[int]:
    """The word of each token of one text, −1 for none, padding left out."""
    length = int(text.lengths[example])
    if text.words is not None:
        return [int(number) for number in text.words[example, :length]]
    found, last = [], -1
    for real in text.mask[example, :length].tolist():
        last += real
        found.append(last if real else -1)
    return found
