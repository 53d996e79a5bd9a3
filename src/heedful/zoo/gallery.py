"""All exhibits: kinds × families × seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

from heedful.errors import HeedfulError, unknown_name
from heedful.randomness import stable_hash
from heedful.subjects.subject import Subject
from heedful.verdict.decide import Decision
from heedful.zoo.exhibit import Exhibit
from heedful.zoo.one_sequence import one_sequence
from heedful.zoo.plan import Kind, Plan, plan
from heedful.zoo.texts import TEXTS
from heedful.zoo.transformer import transformer

Builder = Callable[[Plan, str], AbstractContextManager[Subject]]
FAMILIES: Mapping[str, Builder] = {"one-sequence": one_sequence, "transformer": transformer}
KINDS = tuple(str(kind) for kind in Kind)
RUNGS = 5
LARGEST_SEED = 1 << 30

_YES = frozenset({Decision.SUPPORTED})
_NO = frozenset({Decision.NOT_SUPPORTED})
_UNUSED = frozenset({Decision.NOT_SUPPORTED, Decision.NOT_NEEDED})
_EXPECTED: Mapping[Kind, frozenset[Decision]] = {
    Kind.DECISION: _YES,
    Kind.IGNORED: _UNUSED,
    # too few texts may well leave open whether attention is needed
    Kind.COINCIDENCE: _UNUSED | {Decision.INCONCLUSIVE},
    Kind.MISLEADING: _NO,
}


def gallery(
    kinds: Sequence[str] = KINDS,
    families: Sequence[str] = tuple(FAMILIES),
    per_kind: int = 20,
    seed: int = 0,
    texts: int = TEXTS,
) -> list[Exhibit]:
    """`per_kind` exhibits of each kind in each family. A mixture comes in ladders of five."""
    if per_kind < 1:
        raise HeedfulError(f"per_kind is {per_kind}: give at least 1.")
    for family in families:
        if family not in FAMILIES:
            raise unknown_name("family", family, list(FAMILIES))
    for kind in kinds:
        if kind not in KINDS:
            raise unknown_name("kind", kind, list(KINDS))
    return [
        _exhibit(family, Kind(kind), strength, ladder, seed, texts)
        for family in families
        for kind in kinds
        for ladder, strength in _steps(Kind(kind), per_kind)
    ]


def _steps(kind: Kind, count: int) -> Iterator[tuple[int, float]]:
    """Ladder and strength. The last ladder may be shorter, but has both its ends."""
    if kind is not Kind.MIXTURE:
        yield from ((number, 1.0 if kind is Kind.DECISION else 0.0) for number in range(count))
        return
    for start in range(0, count, RUNGS):
        rungs = min(RUNGS, count - start)
        for rung in range(rungs):
            yield start // RUNGS, rung / max(1, rungs - 1)


def _exhibit(
    family: str, kind: Kind, strength: float, ladder: int, seed: int, texts: int
) -> Exhibit:
    own = stable_hash(seed, family, kind, ladder) % LARGEST_SEED
    expected, forbidden = _allowed(kind, strength)
    graded = f"-{strength:.2f}" if kind is Kind.MIXTURE else ""
    return Exhibit(
        f"{family}-{kind}-{ladder}{graded}",
        family,
        kind,
        strength,
        ladder,
        expected,
        forbidden,
        partial(plan, kind, strength, own, texts),
        FAMILIES[family],
    )


def _allowed(kind: Kind, strength: float) -> tuple[frozenset[Decision], frozenset[Decision]]:
    """A mixture without any decision is misleading. At its other end decoys still take a part
    of the weight, so doubt is allowed there; between the ends everything is, and the score
    must rise."""
    if kind is Kind.MIXTURE and strength == 1:
        return _YES | {Decision.INCONCLUSIVE}, _UNUSED
    if kind is Kind.MIXTURE and strength > 0:
        return frozenset(Decision), frozenset()
    kind = Kind.MISLEADING if kind is Kind.MIXTURE else kind
    expected = _EXPECTED[kind]
    return expected, _UNUSED if expected == _YES else _YES
