"""Parameters of pieces: kind and range are refused where they are given, whoever gives them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from heedful.attributions import SALIENCIES
from heedful.auditing import all_named, named
from heedful.data import CORPORA
from heedful.entries import Entry
from heedful.errors import HeedfulError
from heedful.experiments import PROBES
from heedful.interventions import EDITS, build_edit
from heedful.parameters import check_parameters, parameters_of, value_of
from heedful.registry import Registry
from heedful.runner import Choice
from heedful.specs import ProbeSpec
from heedful.training import STATE_TERMS, TERMS
from heedful.types import EditSpec

CATALOGUES = (SALIENCIES, CORPORA, PROBES, EDITS, TERMS, STATE_TERMS)
ENTRIES = [(c, name) for c in CATALOGUES for name in c.modules]
BY_THE_MODEL = ("layer", "head", "texts")
"""A model says how many there are."""


def make(
    model: object,
    count: int = 3,
    size: float = 1.0,
    sure: bool = False,
    kind: str = "a",
    place: int | None = None,
    path: str | None = None,
    several: tuple[int, ...] = (),
    seed: int = 0,
) -> None: ...


BOUNDS = {"count": (1, 10), "size": (0.0, 1.0)}
GOOD: tuple[dict[str, Any], ...] = (
    {"count": 1}, {"count": 10}, {"size": 1}, {"size": 0.5}, {"sure": True}, {"kind": "b"},
    {"place": 4}, {"place": None}, {"path": "x"}, {"path": None}, {"several": (1, 2)},
    {"seed": 2**32 - 1},
)  # fmt: skip
BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"count": 0}, "'count' of the thing is 0: give a value like 3, a whole number from 1 to 10."),
    ({"count": 11}, "from 1 to 10"),
    ({"count": 2**80}, "from 1 to 10"),
    ({"count": 1.0}, "a whole number"),
    ({"count": True}, "a whole number"),
    ({"count": [1, 2]}, r"is \[1, 2\]"),
    ({"count": None}, "is None"),
    ({"size": 1.5}, "a number from 0 to 1"),
    ({"size": float("nan")}, "is nan"),
    ({"size": 10**400}, "a number from 0 to 1"),
    ({"sure": 1}, "a value like False"),
    ({"kind": 1}, "a value like 'a'"),
    ({"place": "first"}, "a value like 1"),
    ({"place": 2**70}, "a value like 1"),
    ({"path": 1}, "a value like 'text'"),
    ({"seed": -1}, "from 0 to 4,294,967,295"),
    ({"model": 1}, "unknown parameter of the thing 'model'"),
    ({"cuont": 1}, r"did you mean 'count'\?"),
)


@pytest.mark.parametrize("given", GOOD)
def test_what_fits_passes(given: dict[str, Any]) -> None:
    check_parameters("the thing", make, given, BOUNDS, ("model",))


@pytest.mark.parametrize(("given", "said"), BAD)
def test_what_does_not_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(HeedfulError, match=said):
        check_parameters("the thing", make, given, BOUNDS, ("model",))


def test_makers_of_other_shapes() -> None:
    """Real types instead of their names, a partial, and what takes anything."""

    @dataclass(frozen=True)
    class Made:
        count: int | None = None

    def untyped(first, count=None, **rest):  # type: ignore[no-untyped-def]
        return rest

    Made.__init__.__annotations__["count"] = int
    with pytest.raises(HeedfulError, match="a value like 1"):
        check_parameters("the thing", Made, {"count": "x"})
    check_parameters("the thing", untyped, {"count": object()})
    assert list(parameters_of(untyped)) == ["first", "count"]
    fixed = partial(make, kind="b")
    check_parameters("the thing", fixed, {"kind": "b"})
    with pytest.raises(HeedfulError, match="'kind' of the thing is always 'b'"):
        check_parameters("the thing", fixed, {"kind": "a"})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("-3", -3), ("0.5", 0.5), ("1e3", 1000.0), ("true", True), ("False", False),
        ("None", None), ("mask", "mask"), ("", ""), ("nan", "nan"), ("inf", "inf"),
        ("1e309", "1e309"), ("[1]", "[1]"), ("9" * 5000, "9" * 5000), ("1" + "0" * 400, 10**400),
    ],
)  # fmt: skip
def test_typed_values(text: str, value: Any) -> None:
    found = value_of(text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(("catalogue", "name"), ENTRIES, ids=lambda each: str(each)[:20])
def test_every_number_of_our_pieces_is_bounded(catalogue: Registry, name: str) -> None:
    """So no command runs for ever on a typing error; and defaults lie inside."""
    piece: Entry = catalogue[name]
    known = parameters_of(piece.make)
    assert set(piece.bounds) <= set(known)
    for each in known.values():
        number = isinstance(each.default, (int, float)) and not isinstance(each.default, bool)
        if number and each.name not in ("seed", *BY_THE_MODEL):
            low, high = piece.bounds[each.name]
            assert low <= each.default <= high, each.name


def test_explanations_are_named_once() -> None:
    names = ("attention", "attention:layer=0", "occlusion", "occlusion:operator=mask")
    assert [each.name for each in all_named(names)] == list(names)
    for twice in ("attention", "attention:layer=-1", "attention:head=none"):
        with pytest.raises(HeedfulError, match="'attention' is named twice"):
            all_named((*names, twice))
    with pytest.raises(HeedfulError, match="gives 'layer' twice"):
        named("attention:layer=0,layer=1")


def test_edits_and_probes_are_checked_too() -> None:
    with pytest.raises(HeedfulError, match="'seed' of the edit permute is 'x'"):
        build_edit(EditSpec("permute", (("seed", "x"),)))
    endless = (ProbeSpec("permutation", {"permutations": 10**9}),)
    with pytest.raises(HeedfulError, match="'permutations' of the probe permutation"):
        Choice().asked(endless)
    with pytest.raises(HeedfulError, match="did you mean 'permutations'"):
        Choice().asked((ProbeSpec("permutation", {"permutation": 3}),))
