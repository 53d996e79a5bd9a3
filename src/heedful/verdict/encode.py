"""Verdicts as JSON and back. Undefined numbers are null: NaN is no JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from heedful.verdict.decide import Decision
from heedful.verdict.recommend import Ranked, Recommendation
from heedful.verdict.sites import Site, Sites
from heedful.verdict.statement import Part, Statement, Stratum

T = TypeVar("T", Part, Stratum, Ranked, Site)


def plain(value: Any) -> Any:
    """Only what JSON knows."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    return str(value)


def statement(data: Mapping[str, Any]) -> Statement:
    known = _known(Statement, data)
    groups = ("by_class", "by_length", "by_confidence")
    return Statement(
        **{
            **known,
            "decision": Decision(data["decision"]),
            "parts": tuple(_filled(Part, each) for each in data.get("parts", [])),
            **{name: tuple(_filled(Stratum, x) for x in data.get(name, [])) for name in groups},
            "notes": tuple(data.get("notes", [])),
            "warnings": tuple(data.get("warnings", [])),
            "numbers": {name: _number(x) for name, x in data.get("numbers", {}).items()},
        }
    )


def recommendation(data: Mapping[str, Any]) -> Recommendation:
    ranked = tuple(_filled(Ranked, each) for each in data["ranked"])
    return Recommendation(
        data["best"], data["sentence"], ranked, tuple(data["notes"]), bool(data["clears"])
    )


def sites(data: Mapping[str, Any]) -> Sites:
    ranked = tuple(_filled(Site, each) for each in data["ranked"])
    return Sites(data["sentence"], int(data["tried"]), data["explains"], ranked)


def _filled(kind: type[T], data: Mapping[str, Any]) -> T:
    return kind(**_known(kind, data))


def _known(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields this version knows, null as NaN where a number belongs."""
    types = {each.name: each.type for each in fields(kind)}
    return {name: _value(str(types[name]), value) for name, value in data.items() if name in types}


def _value(kind: str, value: Any) -> Any:
    if kind == "str" and not isinstance(value, str):
        raise TypeError(f"a text was expected, not {value!r}")
    return _number(value) if kind == "float" else value


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
