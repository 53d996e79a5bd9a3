"""Plugins: entries added from a script or a notebook, and what they are made of."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import replace
from typing import Any, TypeVar

from heedful.attributions import SALIENCIES
from heedful.data import CORPORA, Example, MissingData, RawCorpus, digests
from heedful.entries import Attribution, Corpus, Entry, Experiment, Measure, Piece, Role
from heedful.errors import HeedfulError, unknown_name
from heedful.experiments import PROBES, Collector, Evidence, Findings, by_rows
from heedful.models import leave_one_out_logits
from heedful.registry import OpenRegistry

__all__ = [
    "Attribution",
    "Collector",
    "Corpus",
    "Evidence",
    "Example",
    "Experiment",
    "Findings",
    "Measure",
    "MissingData",
    "Piece",
    "RawCorpus",
    "Role",
    "by_rows",
    "digests",
    "extend",
    "leave_one_out_logits",
]

without_each = leave_one_out_logits
"""The name in version 0.1; it will go in version 1.0."""

E = TypeVar("E", bound=Entry)
OPEN: dict[str, OpenRegistry[Any]] = {
    registry.kind: registry for registry in (CORPORA, PROBES, SALIENCIES)
}


def extend(kind: str, piece: E) -> E:
    """Make a `saliency`, a `probe` or a `corpus` known by its name for as long as this process
    runs. A name that is taken is refused.

    Results are kept under the entry's name, its version and the source of its `make`, so an
    edited function is measured anew; raise the version when something it calls has changed.
    A package does the same for everybody with an entry point: see `docs/howto`.
    """
    if kind not in OPEN:
        raise unknown_name("kind of piece to extend", kind, list(OPEN))
    registry = OPEN[kind]
    if not isinstance(piece, registry.entry_class):
        wanted = registry.entry_class.__name__
        raise HeedfulError(
            f"a {kind} is added as a heedful.extending.{wanted}, not as a "
            f"{type(piece).__name__}: write {wanted}(name=…, description=…, make=…, …)."
        )
    known = replace(piece, origin=_origin(piece.make))
    registry.add(known)
    return known


def _origin(make: Any) -> str:
    """Where the code is, and a digest of it where it can be read."""
    module = getattr(make, "__module__", None) or type(make).__module__
    name = getattr(make, "__qualname__", type(make).__qualname__)
    return f"{module}:{name} sha256 {hashlib.sha256(_code(make).encode()).hexdigest()[:16]}"


def _code(make: Any) -> str:
    """The source; what was typed at a prompt has only what it was compiled to, and an object
    that is called only its name."""
    try:
        return inspect.getsource(make)
    except (OSError, TypeError):
        code = getattr(make, "__code__", None)
    if code is None:
        return ""
    values = [each for each in code.co_consts if not inspect.iscode(each)]
    return repr((code.co_code, code.co_names, values))
