"""Other words in a word's place, drawn from a masked language model (Kim et al. 2020; Harbecke &
Alt 2020): a text without some words still reads like one.

The two models may have different tokenizers, so this is done by words. Each word that is gone is
one mask to the masked language model, and one whole word is drawn for it among those that both
models have as a single token. All are drawn at once, given what is left. Draws are hashes of the
example and the word's place: a word has the same draw in every set of words that is gone, so sets
differ by what they lack and not by luck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.randomness import example_keys, keyed_uniform
from heedful.targets.options import Loading
from heedful.targets.pretrained import (
    MASKED,
    Loaded,
    SingleTokens,
    load,
    longest,
    tokenizer_tokens,
)
from heedful.targets.target import AuditTarget, weights_digest
from heedful.types import Batch, Text
from heedful.units import WORD
from heedful.words import without_tokens, word_numbers

AT_ONCE = 1 << 24
"""Numbers that the masked language model may say at a time; there is one for each of its words."""
LEAST = 2
Place = tuple[int, int]


def with_infill(subject: AuditTarget, loading: Loading) -> AuditTarget:
    """The target, whose words can be replaced where a masked language model was named."""
    if loading.infill is None:
        return subject
    if subject.unit != WORD:
        raise HeedfulError(f"infill replaces words, and the unit is {subject.unit}: leave it out.")
    if subject.single_tokens is None:
        raise HeedfulError("infill needs a model whose words are known: leave it (--infill) out.")
    plain = Loading(device=loading.device, dtype=loading.dtype)
    masked = masked_model(loading.infill, plain)
    shared = shared_words(masked, subject.single_tokens)
    infill = Infill(masked, shared, longest(masked, None))
    digest = weights_digest(masked.module)
    return replace(subject, infill=infill, key={**subject.key, "infill": digest})


def masked_model(folder: str | Path, loading: Loading) -> Loaded:
    """A masked language model with a mask."""
    loaded = load(folder, loading, asked=False)
    if loaded.kind != MASKED or loaded.tokenizer.mask_token_id is None:
        raise HeedfulError(
            f"{loaded.name} is no masked language model: give one to --infill (infill=), such as "
            f"a BERT that was not fine-tuned."
        )
    return loaded


def shared_words(
    masked: Loaded, single_tokens: SingleTokens
) -> tuple[Int[Tensor, " m"], Int[Tensor, " m"]]:
    """The tokens of both models for each word that is a single token to both; in the order of the
    masked one's."""
    tokenizer = masked.tokenizer
    special = set(tokenizer.all_special_ids)
    plain = [n for n in range(len(tokenizer)) if n not in special]
    words = [text.strip() for text in tokenizer.batch_decode([[n] for n in plain])]
    own = tokenizer_tokens(tokenizer)(words)
    whole = [(n, word) for n, word, token in zip(plain, words, own, strict=True) if n == token]
    theirs = single_tokens([word for _, word in whole])
    pairs = [(n, token) for (n, _), token in zip(whole, theirs, strict=True) if token is not None]
    if len(pairs) < LEAST:
        raise HeedfulError(
            f"{masked.name} and the model share no words that are single tokens to both: give "
            f"--infill (infill=) another masked language model."
        )
    first, second = torch.tensor(pairs).unbind(1)
    return first, second


@dataclass(frozen=True)
class Infill:
    """`tokens` are those of the masked language model and of the model under audit, by word;
    `limit` is the longest text that the former reads."""

    masked: Loaded
    tokens: tuple[Int[Tensor, " m"], Int[Tensor, " m"]]
    limit: int
    pieces: dict[str, list[int]] = field(default_factory=dict, repr=False)

    def about(self, words: Mapping[str, Sequence[str]]) -> Filling:
        """For examples with these words."""
        return Filling(self, words)

    def __deepcopy__(self, memo: dict[int, Any]) -> Infill:
        return self  # nothing in it changes

    @cached_property
    def edges(self) -> tuple[list[int], list[int]]:
        """The special tokens before and after a text."""
        tokenizer = self.masked.tokenizer
        mask = tokenizer.mask_token
        row = tokenizer(mask)["input_ids"]
        place = row.index(tokenizer.mask_token_id)
        return row[:place], row[place + 1 :]

    def tokens_of(self, word: str) -> list[int]:
        """In the middle of a text."""
        if word not in self.pieces:
            tokenizer = self.masked.tokenizer
            self.pieces[word] = tokenizer(f" {word}", add_special_tokens=False)["input_ids"]
        return self.pieces[word]

    def windows(self, words: Sequence[str], gone: Sequence[bool]) -> list[Window]:
        """The text as the masked language model sees it, in as many parts as it needs; parts in
        which no word is gone are left out."""
        room = self.limit - sum(map(len, self.edges))
        mask = [self.masked.tokenizer.mask_token_id]
        parts: list[Window] = [Window([], [])]
        for number, (word, lost) in enumerate(zip(words, gone, strict=True)):
            tokens = mask if lost else self.tokens_of(word)[:room]
            if len(parts[-1].tokens) + len(tokens) > room:
                parts.append(Window([], []))
            if lost:
                parts[-1].places.append((len(parts[-1].tokens) + len(self.edges[0]), number))
            parts[-1].tokens.extend(tokens)
        before, after = self.edges
        return [
            Window([*before, *part.tokens, *after], part.places) for part in parts if part.places
        ]

    @torch.no_grad()
    def chances(self, windows: Sequence[Window]) -> Float[Tensor, "n m"]:
        """Of each shared word in the place of each word that is gone, window by window."""
        module, padding = self.masked.module, self.masked.tokenizer.pad_token_id or 0
        size = module.config.get_text_config().vocab_size
        longest_one = max(len(window.tokens) for window in windows)
        at_once = max(1, AT_ONCE // (size * longest_one))
        found = []
        for start in range(0, len(windows), at_once):
            some = windows[start : start + at_once]
            width = max(len(window.tokens) for window in some)
            ids = [[*each.tokens, *[padding] * (width - len(each.tokens))] for each in some]
            seen = [[1] * len(e.tokens) + [0] * (width - len(e.tokens)) for e in some]
            given = {"input_ids": ids, "attention_mask": seen}
            inputs = {n: torch.tensor(v, device=module.device) for n, v in given.items()}
            logits = module(**inputs).logits
            rows = [(row, place) for row, window in enumerate(some) for place, _ in window.places]
            row, place = torch.tensor(rows, device=logits.device).unbind(1)
            chosen = self.tokens[0].to(logits.device)
            found.append(torch.softmax(logits[row, place][:, chosen].double(), -1).cpu())
        return torch.cat(found)


@dataclass(frozen=True)
class Window:
    """A part of a text, and where in it each of its words that are gone stands."""

    tokens: list[int]
    places: list[Place]


@dataclass(frozen=True)
class Filling:
    """`heedful.types.Infiller`: by example, its words as they stand in the text."""

    infill: Infill
    words: Mapping[str, Sequence[str]]

    def __call__(self, batch: Batch, gone: Bool[Tensor, "b t"]) -> Text:
        text = batch.texts["a"]
        numbers = word_numbers(text)
        lost = (gone & (numbers >= 0)).cpu()
        if not bool(lost.any()):
            return text
        tokens, drop = text.tokens.cpu().clone(), torch.zeros_like(lost)
        numbers = numbers.cpu()
        rows: list[int] = []
        windows: list[Window] = []
        for row in lost.any(1).nonzero().flatten().tolist():
            words = self.words[batch.ids[row]]
            away = set(numbers[row][lost[row]].tolist())
            found = self.infill.windows(words, [number in away for number in range(len(words))])
            windows += found
            rows += [row for window in found for _ in window.places]
        places = [number for window in windows for _, number in window.places]
        drawn = self._drawn(batch, rows, places, self.infill.chances(windows))
        for row, number, token in zip(rows, places, drawn.tolist(), strict=True):
            there = (numbers[row] == number).nonzero().flatten()
            tokens[row, there[0]] = token
            drop[row, there[1:]] = True
        filled = replace(text, tokens=tokens.to(text.tokens.device))
        return without_tokens(filled, drop.to(text.tokens.device)) if drop.any() else filled

    def _drawn(
        self, batch: Batch, rows: list[int], places: list[int], chances: Float[Tensor, "n m"]
    ) -> Int[Tensor, " n"]:
        """By inversion: the word at which the sum of chances passes the draw."""
        keys = example_keys(0, batch.ids, "infill")
        draws = keyed_uniform(keys, (max(places) + 1,))[rows, places]
        number = torch.searchsorted(chances.cumsum(-1), draws[:, None])[:, 0]
        return self.infill.tokens[1][number.clamp_max(chances.shape[1] - 1)]
