"""What is in the attended states: conicity, and mutual information from counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F


def conicity(states: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, " b"]:
    """The mean over real tokens of |cos(h_t, mean h)|: 1 where all point one way."""
    there = mask.to(states.dtype)
    count = there.sum(-1).clamp_min(1)
    mean = (states * there[..., None]).sum(1) / count[:, None]
    cosine = F.cosine_similarity(states, mean[:, None], dim=-1).abs()
    return (cosine * there).sum(-1) / count


# Mutual information of two labels that many things have, from counts alone, in nats.


@dataclass(frozen=True)
class Contingency:
    """The filled cells of a table of two labels: each has a row and a column, and each thing
    its cell. Most cells of a large table are empty, and none of those is kept."""

    row: Int[np.ndarray, " m"]
    column: Int[np.ndarray, " m"]
    cell: Int[np.ndarray, " n"]

    def counts(self, times: Float[np.ndarray, " n"] | None = None) -> Float[np.ndarray, " m"]:
        """How many things a cell holds when each counts so often (once by default)."""
        return np.bincount(self.cell, times, len(self.row)).astype(np.float64)

    def pointwise(self, counts: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        """log p(row, column) / (p(row) p(column)) of each cell; 0 for an empty one."""
        rows, columns = np.bincount(self.row, counts), np.bincount(self.column, counts)
        expected = rows[self.row] * columns[self.column] / max(counts.sum(), 1.0)
        filled = counts > 0
        ratio = np.divide(counts, expected, out=np.ones_like(counts), where=filled)
        logs: Float[np.ndarray, " m"] = np.log(ratio)
        return logs


def contingency(first: Int[np.ndarray, " n"], second: Int[np.ndarray, " n"]) -> Contingency:
    """Of labels that are numbers from 0 on."""
    width = int(second.max(initial=0)) + 1
    codes, cell = np.unique(first.astype(np.int64) * width + second, return_inverse=True)
    return Contingency(codes // width, codes % width, cell)


def mutual_information(table: Contingency, times: Float[np.ndarray, " n"] | None = None) -> float:
    """Never below 0 but for rounding; NaN where there is nothing."""
    counts = table.counts(times)
    total = counts.sum()
    return float(counts @ table.pointwise(counts) / total) if total else float("nan")


def entropy_of(labels: Int[np.ndarray, " n"]) -> float:
    """The most that anything can tell about the labels."""
    return mutual_information(contingency(labels, labels))
