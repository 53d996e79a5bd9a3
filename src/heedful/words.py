"""From tokens to words and back.

Models see tokens, people read words, and models with different tokenizers can only be
compared on words. A text's words are numbered once, by characters (`Text.words`); scores
of a word's tokens are added up, and what is done to a word is done to all its tokens.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.types import Text


def word_numbers(text: Text) -> Int[Tensor, "b t"]:
    """The word of each token; −1 for tokens of no word."""
    if text.words is not None:
        return text.words
    return (text.mask.long().cumsum(-1) - 1).masked_fill(~text.mask, -1)


def word_mask(text: Text) -> Bool[Tensor, "b w"]:
    """Which words are there: every text has words 0 … n − 1, some of them maybe without a
    token (truncated, or nothing but blanks to the tokenizer), and those are False."""
    numbers = word_numbers(text)
    width = int(numbers.max()) + 1 if numbers.numel() else 0
    there = torch.zeros(len(numbers), width + 1, dtype=torch.bool, device=numbers.device)
    return there.scatter(1, _slot(numbers, width), True)[:, :width]


def to_words(scores: Float[Tensor, "b t"], text: Text) -> Float[Tensor, "b w"]:
    """The sum over each word's tokens, float64; tokens of no word are left out."""
    numbers = word_numbers(text)
    width = int(numbers.max()) + 1 if numbers.numel() else 0
    total = scores.new_zeros((len(numbers), width + 1), dtype=torch.float64)
    return total.scatter_add(1, _slot(numbers, width), scores.double())[:, :width]


def words_are_tokens(text: Text) -> bool:
    """Whether every token is a word of its own, so that to take out one is to take out the
    other."""
    if text.words is None:
        return True
    sizes = to_words(text.mask.double(), text)
    return bool((sizes <= 1).all()) and torch.equal(text.words >= 0, text.mask)


def to_tokens(words: Bool[Tensor, "b w"], text: Text) -> Bool[Tensor, "b t"]:
    """The tokens of the chosen words."""
    padded = torch.nn.functional.pad(words, (0, 1))
    return padded.gather(1, _slot(word_numbers(text), words.shape[1]))


def _slot(numbers: Tensor, width: int) -> Tensor:
    """Tokens of no word go to a slot after the last word."""
    return torch.where(numbers < 0, width, numbers)


def present(text: Text) -> Bool[Tensor, "b t"]:
    """What is not padding: start, end and separators among it."""
    place = torch.arange(text.tokens.shape[1], device=text.tokens.device)
    return place < text.lengths[:, None]


def without_tokens(text: Text, gone: Bool[Tensor, "b t"]) -> Text:
    """The rest moves together. Words keep their numbers, where they are numbered."""
    dropped = gone | ~present(text)
    lengths = (~dropped).sum(-1)
    order = dropped.to(torch.int8).argsort(dim=-1, stable=True)[:, : int(lengths.max())]
    padding = dropped.gather(1, order)
    shorter = text.map(lambda t: t.gather(1, order) if t.ndim == 2 else t)
    words, sentences = shorter.words, shorter.sentences
    return replace(
        shorter,
        tokens=shorter.tokens.masked_fill(padding, 0),
        lengths=lengths,
        mask=shorter.mask & ~padding,
        words=None if words is None else words.masked_fill(padding, -1),
        sentences=None if sentences is None else sentences.masked_fill(padding, -1),
    )
