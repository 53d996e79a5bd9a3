"""Keyed random numbers: tied to what they are for, and random enough for what they are for."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
import torch
from scipy import stats

from heedful.hashing import stable_hash
from heedful.randomness import example_keys, keyed_bits, keyed_normal, keyed_uniform

IDS = tuple(f"example-{i}" for i in range(6))


def test_hashes_are_the_same_in_every_process() -> None:
    code = "from heedful.hashing import stable_hash; print(stable_hash(7, 'a', 'site', 0))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert int(answer.stdout) == stable_hash(7, "a", "site", 0)
    assert 0 <= stable_hash("x") < 1 << 63


def test_hashes_keep_their_parts_apart() -> None:
    hashes = {stable_hash(1, "ab"), stable_hash(1, "a", "b"), stable_hash(1, "a"), stable_hash(2)}
    assert len(hashes) == 4


def test_the_bits_are_splitmix64() -> None:
    # 0xE220A8397B1DCDAF is the published first output for seed 0; its top bit is cut off.
    assert keyed_bits(torch.tensor([0]), (1,)).item() == 0xE220A8397B1DCDAF & (1 << 63) - 1
    expected = [[splitmix64(key, step) for step in (1, 2, 3)] for key in (0, 1, (1 << 63) - 1)]
    keys = torch.tensor([0, 1, (1 << 63) - 1])
    assert keyed_bits(keys, (3,)).tolist() == [[v & (1 << 63) - 1 for v in row] for row in expected]


def splitmix64(key: int, step: int) -> int:
    """Steele, Lea & Flood 2014, in whole numbers modulo 2^64."""
    z = (key + step * 0x9E3779B97F4A7C15) % (1 << 64)
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
    z = (z ^ z >> 27) * 0x94D049BB133111EB % (1 << 64)
    return z ^ z >> 31


@pytest.mark.parametrize("draw", [keyed_bits, keyed_uniform, keyed_normal])
def test_growing_a_dimension_leaves_the_rest(draw: object) -> None:
    keys = example_keys(3, IDS, "attention", 0)
    small = draw(keys, (4, 7))  # type: ignore[operator]
    for shape in [(4, 20), (9, 7), (11, 13)]:
        assert torch.equal(draw(keys, shape)[:, :4, :7], small)  # type: ignore[operator]


def test_batching_and_order_change_nothing() -> None:
    whole = keyed_uniform(example_keys(3, IDS, "attention"), (5,))
    order = [4, 0, 5, 2, 1, 3]
    permuted = keyed_uniform(example_keys(3, tuple(IDS[i] for i in order), "attention"), (5,))
    assert torch.equal(permuted, whole[order])
    for i, name in enumerate(IDS):
        assert torch.equal(keyed_uniform(example_keys(3, (name,), "attention"), (5,))[0], whole[i])


def test_seed_example_and_purpose_each_change_the_numbers() -> None:
    contexts = [(3, IDS, "a", 0), (4, IDS, "a", 0), (3, IDS, "b", 0), (3, IDS, "a", 1)]
    draws = torch.cat([keyed_bits(example_keys(*c), (10,)) for c in contexts])
    assert len(set(draws.flatten().tolist())) == draws.numel()


def test_axes_are_not_interchangeable() -> None:
    square = keyed_bits(example_keys(0, IDS[:1]), (50, 50))
    assert len(set(square.flatten().tolist())) == square.numel()


def test_uniform_numbers_are_inside_and_uniform() -> None:
    numbers = keyed_uniform(example_keys(0, IDS), (200, 50))
    assert numbers.dtype == torch.float64
    assert numbers.min() > 0 and numbers.max() < 1
    assert stats.kstest(numbers.flatten().numpy(), "uniform").pvalue > 0.01
    for axis in (numbers[:, 0, 0], numbers[0, :, 0], numbers[0, 0, :]):
        assert stats.kstest(axis.numpy(), "uniform").pvalue > 0.001


def test_keys_next_to_each_other_give_unrelated_numbers() -> None:
    numbers = keyed_uniform(torch.arange(60000), (1,)).flatten()
    assert stats.kstest(numbers.numpy(), "uniform").pvalue > 0.01


def test_normal_numbers_are_normal() -> None:
    numbers = keyed_normal(example_keys(1, IDS), (5000,)).flatten()
    assert bool(numbers.isfinite().all())
    assert stats.kstest(numbers.numpy(), "norm").pvalue > 0.01


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_neighbours_are_uncorrelated(axis: int) -> None:
    numbers = keyed_uniform(torch.arange(100), (40, 40)).movedim(axis, -1)
    left, right = numbers[..., :-1].flatten(), numbers[..., 1:].flatten()
    correlation = torch.corrcoef(torch.stack([left, right]))[0, 1]
    assert abs(correlation) < 4 / left.numel() ** 0.5  # four standard errors


def test_orders_from_sorting_are_equally_likely() -> None:
    numbers = keyed_uniform(example_keys(2, IDS), (5000, 3))
    orders = numbers.argsort(-1).reshape(-1, 3) @ torch.tensor([9, 3, 1])
    counts = list(Counter(orders.tolist()).values())
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 0.01
