"""A hash that is the same everywhere: splits, samples and random numbers are drawn by it.

Apart from `heedful.randomness`, since whoever reads a table needs no torch.
"""

from __future__ import annotations

import hashlib

__all__ = ["stable_hash"]


def stable_hash(*parts: object) -> int:
    """A 63-bit hash that is the same in every process and version."""
    text = "\x1f".join(str(part) for part in parts).encode("utf8")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1
