"""Attention flow: how much could pass from a token to the prediction through all layers at once?

Each weight is a pipe. Rollout multiplies pipes along every path and adds the paths up; a maximum
flow fills the pipes together, so that no two paths use the same capacity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow
from torch import Tensor

from heedful.attributions.attention import followed_back, on_text
from heedful.entries import SHARE, Attribution
from heedful.errors import HeedfulError
from heedful.models import probability
from heedful.types import Batch, Model, Target

LARGEST = 1 << 18
"""Pipes of one text: 128 tokens through 16 layers, or 200 through 6. Longer texts are refused."""
UNIT = 1 << 30
"""Whole numbers that a capacity of 1 is cut into: a flow of the source fits 32 bits."""


def attention_flow(
    model: Model, batch: Batch, label: Int[Tensor, " b"], target: Target = probability
) -> Float[Tensor, "b t"]:
    """Attention flow (Abnar & Zuidema 2020): the maximum flow from the reader to each token.

    A position of layer l is joined to those of the layer below by pipes of ½ (the mean over heads)
    + ½ (itself, through the residual), and the reader to the last layer by its row. Each token is
    a sink of its own, so scores need not sum to 1. Neither class nor target matters.
    """
    row, means = followed_back(model, batch)
    lengths = batch.texts["a"].lengths.tolist()
    _check_size(max(lengths, default=0), len(means), batch, lengths)
    scores = torch.zeros_like(row)
    for text, n in enumerate(lengths):
        layers = [0.5 * (mean[text, :n, :n].cpu().numpy() + np.eye(n)) for mean in means]
        flows = _flows(row[text, :n].cpu().numpy(), layers)
        scores[text, :n] = torch.from_numpy(flows).to(scores)
    return on_text(scores, batch)


ENTRY = Attribution(
    name="attention_flow",
    description="the most that could flow from the prediction to a token through all attention",
    make=attention_flow,
    uses=(),
    signed=False,
    paper="Abnar & Zuidema 2020",
    citation="Abnar & Zuidema 2020, Quantifying Attention Flow in Transformers, ACL",
    formula="max-flow(r → t), pipes ½ (A_l + I) between layers; A_l is the mean over heads",
    range=SHARE,
    higher="attention could carry more from the token to the prediction",
    cost="one forward pass, and for each token a maximum flow over all weights of all layers",
    limits=(
        "What could pass, not what does. Pipes are wide in deep models, and many tokens then reach "
        "the limit of 1. Texts of more than 262,144 weights over all layers are refused."
    ),
)


def _check_size(n: int, layers: int, batch: Batch, lengths: list[int]) -> None:
    if n * n * layers > LARGEST:
        long = batch.ids[lengths.index(n)]
        raise HeedfulError(
            f"attention_flow would take too long for example {long!r}, {n} tokens through {layers} "
            "layers: cut its texts (max_length), or leave attention_flow out."
        )


@dataclass(frozen=True)
class _Pipes:
    """From node to node, the source first and then layer by layer; capacities above 0."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    capacity: NDArray[np.float64]
    nodes: int

    @property
    def graph(self) -> csr_array:
        whole = np.rint(self.capacity * UNIT).astype(np.int32)
        return csr_array((whole, (self.start, self.end)), shape=(self.nodes, self.nodes))


def _flows(
    row: Float[np.ndarray, " n"], layers: list[Float[np.ndarray, "n n"]]
) -> Float[np.ndarray, " n"]:
    """The maximum flow into each token. SciPy counts in whole numbers; the minimum cut that its
    flow leaves is then measured in double precision, so rounding matters only where two cuts are
    closer than 2⁻³⁰ for each of their pipes."""
    pipes, n = _pipes(row, layers), len(row)
    graph = pipes.graph
    flows = np.empty(n)
    for token in range(n):
        flow = maximum_flow(graph, 0, pipes.nodes - n + token).flow
        left = graph - flow
        left.data = (left.data > 0).astype(np.int8)
        left.eliminate_zeros()
        reached = np.zeros(pipes.nodes, dtype=bool)
        reached[breadth_first_order(left, 0, return_predecessors=False)] = True
        flows[token] = pipes.capacity[reached[pipes.start] & ~reached[pipes.end]].sum()
    return flows


def _pipes(row: NDArray[np.float64], layers: list[NDArray[np.float64]]) -> _Pipes:
    n = len(row)
    query, key = np.divmod(np.arange(n * n), n)
    starts, ends, capacities = [np.zeros(n, dtype=np.int64)], [1 + np.arange(n)], [row]
    for number, layer in enumerate(layers):
        starts.append(1 + number * n + query)
        ends.append(1 + (number + 1) * n + key)
        capacities.append(layer.ravel())
    capacity = np.concatenate(capacities)
    wide, nodes = capacity > 0, 1 + (len(layers) + 1) * n
    start, end = np.concatenate(starts)[wide], np.concatenate(ends)[wide]
    return _Pipes(start, end, capacity[wide], nodes)
