"""Dot attention that is not scaled: q · h, so sharp from the start.

Divided by √d, attention begins nearly even, and where that is good enough it may stay so: every
state then learns to carry the class, and it no longer matters which is looked at (tutek2020,
appendix C, of a query that starts too small).
"""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.models.attention.dot import Dot


def plain_dot(size: int) -> Dot:
    return Dot(size, scale=1.0)


PIECE = Piece(
    name="plain_dot",
    description="learned query · h, not scaled, query drawn from N(0, 1)",
    make=plain_dot,
    citation="Luong et al. 2015; initialisation tutek2020",
)
