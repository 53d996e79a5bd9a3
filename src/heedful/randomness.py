"""Random numbers keyed by what they are for, not by the order of drawing.

Each number is a hash of (seed, example, site, step, …, position), so batching, padding
and devices never change it. The hash is splitmix64's finaliser on 64-bit integers.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.hashing import stable_hash


def example_keys(seed: int, ids: tuple[str, ...], *context: object) -> Int[Tensor, " b"]:
    """One 64-bit key per example, for a purpose named by `context` (site, step, …)."""
    return torch.tensor([stable_hash(seed, name, *context) for name in ids], dtype=torch.int64)


def keyed_bits(keys: Int[Tensor, " b"], shape: tuple[int, ...]) -> Int[Tensor, "b ..."]:
    """63 random bits for each coordinate of `[b, *shape]`.

    A coordinate's bits depend on its key and its own indices only, so growing a
    dimension (more padding, more draws) leaves the others as they were.
    """
    state = keys.reshape(-1, *([1] * len(shape)))
    for axis, size in enumerate(shape):
        index = torch.arange(size, dtype=torch.int64, device=keys.device)
        index = index.reshape([1] * (axis + 1) + [size] + [1] * (len(shape) - axis - 1))
        state = _mix(state + (index + 1) * _GOLDEN)
    return state & _MASK63


def keyed_uniform(keys: Int[Tensor, " b"], shape: tuple[int, ...]) -> Float[Tensor, "b ..."]:
    """Numbers in (0, 1), float64, one for each coordinate of `[b, *shape]`."""
    return ((keyed_bits(keys, shape) >> 10).to(torch.float64) + 0.5) / float(1 << 53)


def keyed_normal(keys: Int[Tensor, " b"], shape: tuple[int, ...]) -> Float[Tensor, "b ..."]:
    """Standard normal numbers, float64."""
    numbers: Tensor = torch.special.ndtri(keyed_uniform(keys, shape))
    return numbers


_MASK63 = (1 << 63) - 1


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


_GOLDEN = _signed(0x9E3779B97F4A7C15)
_M1 = _signed(0xBF58476D1CE4E5B9)
_M2 = _signed(0x94D049BB133111EB)


def _mix(x: Tensor) -> Tensor:
    x = (x ^ _shift(x, 30)) * _M1
    x = (x ^ _shift(x, 27)) * _M2
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    """A logical right shift: torch's is arithmetic, so the sign bits are cut off."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
