"""Estimates with standard errors, and the same again for resampled clusters.

Clusters (a document, a premise) are drawn whole and jointly for all columns, cells and
checkpoints, so that everything stays paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from heedful.verdict.cell import Cell
from heedful.verdict.formulas import Formula

Clusters = Mapping[str, str]
"""The cluster of each example."""


@dataclass(frozen=True)
class Sums:
    """A cell summed over the examples of each cluster."""

    totals: Float[np.ndarray, "g c"]
    counts: Float[np.ndarray, " g"]


@dataclass(frozen=True)
class Sample:
    """Cells by checkpoint, all over the same clusters."""

    checkpoints: tuple[tuple[Sums, ...], ...]
    clusters: int


@dataclass(frozen=True)
class Estimates:
    """One per resample: the average over cells and checkpoints, its standard error over
    clusters, and the average over cells of each checkpoint."""

    value: Float[np.ndarray, " r"]
    error: Float[np.ndarray, " r"]
    by_checkpoint: Float[np.ndarray, "s r"]


def sample(checkpoints: Sequence[Sequence[Cell]], cluster_of: Clusters) -> Sample:
    """Sum cells over clusters; clusters without a defined example take no part."""
    cells = [cell for checkpoint in checkpoints for cell in checkpoint]
    mine = [np.array([cluster_of[name] for name in cell.examples], dtype=str) for cell in cells]
    known = np.unique(np.concatenate(mine)) if mine else np.array([], dtype=str)
    sums = iter([_sums(cell, names, known) for cell, names in zip(cells, mine, strict=True)])
    return Sample(
        tuple(tuple(next(sums) for _ in checkpoint) for checkpoint in checkpoints), len(known)
    )


def estimate(sample: Sample, formula: Formula) -> Estimates:
    """What the data say, as one resample that draws every cluster once."""
    return _estimate(sample, formula, np.ones((1, sample.clusters)))


def resampled(sample: Sample, formula: Formula, resamples: int, seed: int) -> Estimates:
    parts = [
        _estimate(sample, formula, counts) for counts in _draws(sample.clusters, resamples, seed)
    ]
    return Estimates(
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.error for part in parts]),
        np.concatenate([part.by_checkpoint for part in parts], axis=1),
    )


_CHUNK = 1 << 20  # numbers at a time, so that memory does not grow with resamples


def _draws(clusters: int, resamples: int, seed: int) -> Iterator[Float[np.ndarray, "r g"]]:
    """How often each cluster is drawn."""
    random = np.random.default_rng(seed)
    step = max(1, _CHUNK // max(1, clusters))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        index = random.integers(0, clusters, (size, clusters))
        index += np.arange(size)[:, None] * clusters
        counts = np.bincount(index.ravel(), minlength=size * clusters)
        yield counts.reshape(size, clusters).astype(np.float64)


def _sums(cell: Cell, names: np.ndarray, known: np.ndarray) -> Sums:
    codes = np.searchsorted(known, names)
    totals = np.zeros((len(known), cell.values.shape[1]))
    np.add.at(totals, codes, cell.values)
    return Sums(totals, np.bincount(codes, minlength=len(known)).astype(np.float64))


def _estimate(sample: Sample, formula: Formula, drawn: Float[np.ndarray, "r g"]) -> Estimates:
    influence = np.zeros_like(drawn)
    values = []
    for cells in sample.checkpoints:
        parts = [_cell(sums, formula, drawn) for sums in cells]
        values.append(np.mean([value for value, _ in parts], axis=0))
        influence += np.mean([part for _, part in parts], axis=0)
    influence /= len(sample.checkpoints)
    g = sample.clusters
    spread = (drawn * influence**2).sum(1) * (g / (g - 1) if g > 1 else np.nan)
    by_checkpoint = np.stack(values)
    return Estimates(by_checkpoint.mean(0), np.sqrt(spread), by_checkpoint)


def _cell(
    sums: Sums, formula: Formula, drawn: Float[np.ndarray, "r g"]
) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r g"]]:
    """The formula's value, and what each cluster contributes to its error."""
    size = drawn @ sums.counts
    size = np.where(size > 0, size, np.nan)[:, None]
    means = (drawn @ sums.totals) / size
    value, gradient = formula(means)
    pull = gradient / size
    influence = pull @ sums.totals.T - (pull * means).sum(1, keepdims=True) * sums.counts
    return value, influence
