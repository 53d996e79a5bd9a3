"""A sigmoid gate in the place of attention's softmax: g = σ(v · tanh(W h + b)).

With one sequence attention is no more than a gate on each state (vashishth2019, Proposition
4.1); this is that gate without the competition between tokens. Its weights are no
distribution. Edits stay what they are: `uniform`, `random`, `erase` and whatever else makes
rows that sum to 1 replace the gates by a distribution, so the context shrinks as well as
changes; `permute` and `detach` keep the gates' own values. What is only defined for
distributions (divergences, entropy, an adversary's simplex) does not apply: a site says so
by `normalised=False`.
"""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.models.attention.additive import Additive
from heedful.models.attention.weighting import SIGMOID


def gate(size: int) -> Additive:
    return Additive(size, SIGMOID)


PIECE = Piece(
    name="gate",
    description="σ(v · tanh(W h + b)), each token for itself; weights do not sum to 1",
    make=gate,
    paper="vashishth2019",
    citation="Dauphin et al. 2017",
)
