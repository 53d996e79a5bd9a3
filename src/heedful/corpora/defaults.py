"""A corpus's own defaults, so that a name alone is a complete specification."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from heedful.corpora import CORPORA
from heedful.errors import HeedfulError
from heedful.specs import CorpusSpec, PrepareSpec


def default_spec(
    name: str, params: Mapping[str, Any] | None = None, **overrides: Any
) -> CorpusSpec:
    """The spec of a corpus with its paper's treatment.

    Overrides named like a field of `PrepareSpec` change the treatment, all others are the
    corpus's own parameters. Where both have the name it is the corpus's own, and a `seed` is
    of both; what `params` say of it counts more.
    """
    defaults = default_prepare(name)
    known = {field.name for field in fields(PrepareSpec)}
    shared = known & set(inspect.signature(CORPORA[name].make).parameters)
    treated = known - shared | {"seed"}
    prepare = {key: value for key, value in overrides.items() if key in treated}
    both = {key: value for key, value in overrides.items() if key in shared}
    own = {key: value for key, value in overrides.items() if key not in known}
    for key, value in prepare.items():
        check_kind(key, value, getattr(defaults, key))
    treatment = replace(defaults, **prepare)
    _check_ranges(treatment)
    return CorpusSpec(name, {**both, **(params or {}), **own}, treatment)


def given_spec(
    name: str, given: Mapping[str, Any], params: Mapping[str, Any] | None = None
) -> CorpusSpec:
    """The same from what a user wrote as name=value."""
    for reserved in ("name", "params"):
        if reserved in given:
            raise HeedfulError(f"there is no parameter {reserved!r}: `heedful prepare --help`.")
    return default_spec(name, params, **given)


def check_kind(name: str, value: Any, default: Any) -> None:
    """A value must be of its default's kind: `n_train=many` is refused, `noise=0` is not."""
    if default is inspect.Parameter.empty or (default is None and value is None):
        return
    like = {"limit": 1, "max_length": 1}.get(name, "text") if default is None else default
    wanted = {bool: (bool,), int: (int,), float: (int, float), str: (str,)}[type(like)]
    wrong = not isinstance(value, wanted) or (isinstance(value, bool) and type(like) is not bool)
    if wrong or (isinstance(value, float) and not math.isfinite(value)):
        example = like if like != "" else f"/{value}/"
        raise HeedfulError(f"the parameter {name!r} is {value!r}: give a value like {example!r}.")


def _check_ranges(spec: PrepareSpec) -> None:
    ranges = {"dimension": (1, 4096), "min_df": (1, 10**9), "min_length": (1, 10**9)}
    for name, (low, high) in ranges.items():
        if not low <= getattr(spec, name) <= high:
            raise HeedfulError(
                f"the parameter {name!r} is {getattr(spec, name)}: give {low} to {high}."
            )


def default_prepare(name: str) -> PrepareSpec:
    piece = CORPORA[name]
    own = CORPORA.modules.get(name)
    defaults = import_module(own).DEFAULTS if own else piece.prepare or PrepareSpec("words")
    if not isinstance(defaults, PrepareSpec):
        raise HeedfulError(f"the corpus {name!r} states no DEFAULTS.")
    return defaults
