"""Digests of weights, tokenizers and tokens: results belong to exactly these."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from heedful.subjects.row import Row


def weights_digest(module: nn.Module) -> str:
    """The same for equal parameters and buffers, wherever they were loaded from."""
    total = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        plain = tensor.detach().cpu().contiguous()
        total.update(f"{name} {plain.dtype} {tuple(plain.shape)}".encode())
        total.update(plain.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()[:16]


def tokenizer_digest(tokenizer: Any) -> str:
    """Without truncation and padding, which a call sets."""
    facts = json.loads(tokenizer.backend_tokenizer.to_str())
    kept = {name: value for name, value in facts.items() if name not in ("truncation", "padding")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def tokens_digest(rows: Iterable[Row]) -> str:
    """For tokenizers that cannot be read: what they made of the texts."""
    total = hashlib.sha256()
    for row in rows:
        total.update(row.tokens.tobytes() + b"/" + row.words.tobytes() + b"\n")
    return total.hexdigest()[:16]
