"""A corpus's own defaults, so that a name alone is a complete specification."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from heedful.corpora import CORPORA
from heedful.errors import HeedfulError, unknown_name
from heedful.specs import CorpusSpec, PrepareSpec


def default_spec(
    name: str, params: Mapping[str, Any] | None = None, **overrides: Any
) -> CorpusSpec:
    """The spec of a corpus with its paper's treatment.

    Overrides named like a field of `PrepareSpec` change the treatment, all others are the
    corpus's own parameters. A parameter that shares a name with a field (`seed`) goes into
    `params`.
    """
    known = {field.name for field in fields(PrepareSpec)}
    prepare = {key: value for key, value in overrides.items() if key in known}
    own = {key: value for key, value in overrides.items() if key not in known}
    defaults = default_prepare(name)
    for key, value in prepare.items():
        check_kind(key, value, getattr(defaults, key))
    treatment = replace(defaults, **prepare)
    _check_ranges(treatment)
    return CorpusSpec(name, {**(params or {}), **own}, treatment)


def check_kind(name: str, value: Any, default: Any) -> None:
    """A value must be of its default's kind: `n_train=many` is refused, `noise=0` is not."""
    if default is inspect.Parameter.empty or (default is None and value is None):
        return
    like = {"limit": 1, "max_length": 1}.get(name, "text") if default is None else default
    wanted = {bool: (bool,), int: (int,), float: (int, float), str: (str,)}[type(like)]
    wrong = not isinstance(value, wanted) or (isinstance(value, bool) and type(like) is not bool)
    if wrong or (isinstance(value, float) and not math.isfinite(value)):
        raise HeedfulError(f"the parameter {name!r} is {value!r}: give a value like {like!r}.")


def _check_ranges(spec: PrepareSpec) -> None:
    ranges = {"dimension": (1, 4096), "min_df": (1, 10**9), "min_length": (1, 10**9)}
    for name, (low, high) in ranges.items():
        if not low <= getattr(spec, name) <= high:
            raise HeedfulError(
                f"the parameter {name!r} is {getattr(spec, name)}: give {low} to {high}."
            )


def default_prepare(name: str) -> PrepareSpec:
    if name not in CORPORA:
        raise unknown_name("corpus", name, list(CORPORA))
    defaults = import_module(CORPORA.modules[name]).DEFAULTS
    if not isinstance(defaults, PrepareSpec):
        raise HeedfulError(f"the corpus {name!r} states no DEFAULTS.")
    return defaults
