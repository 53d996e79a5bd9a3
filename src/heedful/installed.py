"""What installed packages offer, by their entry points; nothing of them is imported to know."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from heedful.errors import HeedfulError


def installed(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """By name; a name that several packages give has several."""
    return _installed(group, tuple(sys.path))


def package(offer: EntryPoint) -> str:
    """The package an entry point came with."""
    return offer.dist.name if offer.dist is not None else offer.value.partition(".")[0]


def load(offer: EntryPoint, kind: str) -> Any:
    """What it names; a package that cannot be imported may fail in any way it likes."""
    try:
        return offer.load()
    except Exception as error:  # somebody else's code: it may fail in any way
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200].rstrip(".")
        raise HeedfulError(
            f"the {kind} {offer.name!r} of the package {package(offer)} cannot be imported "
            f"({why}): mend the package or uninstall it."
        ) from error


@lru_cache(maxsize=64)
def _installed(group: str, path: tuple[str, ...]) -> dict[str, tuple[EntryPoint, ...]]:
    """Read once: where packages are looked for decides what is found."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for offer in entry_points(group=group):
        found[offer.name] = (*found.get(offer.name, ()), offer)
    return found
