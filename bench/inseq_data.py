"""A small GPT-2 with random weights, prompts, and what it writes after them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from heedful.types import Batch, Text

UNKNOWN, PAD, START, END, FIRST = range(5)
FILLERS = {"unk": UNKNOWN}


@dataclass(frozen=True)
class Size:
    """`prompts` of `length` tokens, each continued by `written`; all of one length, so that no
    library has to pad."""

    prompts: int
    length: int
    written: int
    layers: int
    width: int
    repeats: int

    @property
    def words(self) -> str:
        model = f"GPT-2 of {self.layers} layers of {self.width}"
        return f"{self.prompts} prompts of {self.length} tokens, {self.written} more each, {model}"


FULL, QUICK = Size(8, 24, 4, 4, 256, 3), Size(2, 5, 2, 2, 32, 1)
VOCABULARY = 200


def decoder(size: Size) -> Any:
    import transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=size.width,
        n_layer=size.layers,
        n_head=4,
        n_positions=size.length + size.written,
        initializer_range=0.07,  # likely next tokens, and a path without cliffs
        bos_token_id=START,
        eos_token_id=END,
        pad_token_id=PAD,
    )
    return transformers.GPT2LMHeadModel(config).eval()


def written(module: Any, size: Size) -> Tensor:
    """Prompts and their likeliest continuation, token by token; special tokens are not written,
    as a library would stop there."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(FIRST, VOCABULARY, (size.prompts, size.length), generator=generator)
    tokens = tokens.to(module.device)
    with torch.no_grad():
        for _ in range(size.written):
            scores = module(tokens).logits[:, -1]
            scores[:, :FIRST] = float("-inf")
            tokens = torch.cat([tokens, scores.argmax(-1)[:, None]], 1)
    return tokens


def steps(tokens: Tensor, size: Size) -> list[Batch]:
    """One batch for each token written: what came before it, the token as the class."""
    return [_step(tokens, length) for length in range(size.length, tokens.shape[1])]


def _step(tokens: Tensor, length: int) -> Batch:
    before = tokens[:, :length]
    mask = torch.ones_like(before, dtype=torch.bool)
    text = Text(before, torch.full_like(tokens[:, 0], length), mask)
    ids = tuple(f"{row}-{length}" for row in range(len(tokens)))
    return Batch(ids, {"a": text}, tokens[:, length])
