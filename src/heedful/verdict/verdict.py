"""The verdict: every statement, the answer, a recommendation and warnings; as text and as JSON."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from heedful.errors import HeedfulError
from heedful.schemas import check_version
from heedful.verdict.decision import ANSWERS, decide, headline, overall
from heedful.verdict.properties import PROPERTIES
from heedful.verdict.recommendation import (
    DIRECTION,
    IMPORTANCE,
    Recommendation,
    Sites,
    recommend,
    sites,
)
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Decision, Statement, number
from heedful.verdict.table import tabulate_blocks
from heedful.verdict.warnings import known_facts, warnings_of

SCHEMA_VERSION = 2
AGAIN = "make it again by an audit with this Heedful"
CAVEATS = (
    "Interventions on attention hold the states fixed and are not surgical: what comes later "
    "sees inputs it was not trained on.",
    "Erasing words leaves the training distribution; operators differ, so at least two are used.",
    "A score per word explains only in a narrow sense: interactions between words are not shown.",
    "Yes means that attention marks the words that matter, in either direction, to this model on "
    "these examples. It does not say which class they speak for, that it is the only explanation, "
    "or that a reader should trust the model.",
    "No means that attention should not be shown as an explanation; it does not mean that "
    "attention is useless inside the model.",
)
"""Stated wherever a verdict is shown."""


class DamagedVerdict(HeedfulError, ValueError):
    """The JSON is of a version that can be read, and is not what was written."""


@dataclass(frozen=True, repr=False)
class Verdict:
    """`decision` answers "should this attention be shown as an explanation?" (the rule is in
    `overall`): SUPPORTED is yes, NOT SUPPORTED no, for a `reason` ("not used", "not faithful" or
    "either"), and INCONCLUSIVE that it cannot be told yet, where about `needed` examples would
    decide. `recommendation` is the best explanation of which words matter, `direction` the best of
    those that say which class they speak for; `sites` are other layers and heads. Plausibility is
    a statement of its own and no part of the decision."""

    decision: Decision
    reason: str
    needed: int | None
    headline: str
    statements: tuple[Statement, ...]
    recommendation: Recommendation
    direction: Recommendation
    sites: Sites
    warnings: tuple[str, ...]
    facts: Mapping[str, Any]
    settings: Mapping[str, Any]
    digest: str
    versions: Mapping[str, str] = field(default_factory=dict)
    caveats: tuple[str, ...] = CAVEATS

    @property
    def answer(self) -> str:
        """yes, no, or cannot tell yet."""
        return ANSWERS[self.decision]

    def __getitem__(self, name: str) -> Statement:
        """The statement on a property."""
        for each in self.statements:
            if each.property == name:
                return each
        known = ", ".join(each.property for each in self.statements)
        raise HeedfulError(f"no statement on {name!r}: choose one of {known}.")

    @property
    def decided(self) -> bool:
        """Whether looking further could only cost: the one line is no longer open."""
        return self.decision is not Decision.INCONCLUSIVE

    def lines(self) -> list[str]:
        """For a terminal: short and plain."""
        return [
            f"{self.decision}: {self.headline}",
            "",
            *(_line(each) for each in self.statements),
            "",
            f"Which words matter: {self.recommendation.sentence}",
            f"Which class they speak for: {self.direction.sentence}",
            f"Other attention: {self.sites.sentence}",
            *(f"Warning: {text}" for text in self.warnings),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<Verdict: {self.headline}>"

    def to_json(self) -> str:
        data = {"schema_version": SCHEMA_VERSION, **_plain(self)}
        return json.dumps(data, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Verdict:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise HeedfulError("this is no verdict: give a verdict.json of an audit.") from error
        return Verdict.from_values(data)

    @staticmethod
    def from_values(values: Any, name: str = "this verdict", remedy: str = AGAIN) -> Verdict:
        """From the parsed JSON; errors speak of `name` and say how to make it again."""
        version = values.get("schema_version") if isinstance(values, dict) else None
        check_version(name, version, SCHEMA_VERSION, remedy)
        try:
            verdict: Verdict = _typed(Verdict, values)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            damaged = "this verdict.json is damaged: make it again by an audit."
            raise DamagedVerdict(damaged) from error
        return verdict

    @property
    def asked(self) -> Settings:
        """The settings it was judged by."""
        return Settings.from_dict(self.settings)


def judge(
    rows: pd.DataFrame | Iterable[pd.DataFrame],
    costs: pd.DataFrame | None = None,
    facts: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
) -> Verdict:
    """From the table of measurements, whole or in blocks, to the verdict. What was not measured
    is said to be so."""
    chosen = settings or Settings()
    given = dict(facts or {})
    table = tabulate_blocks([rows] if isinstance(rows, pd.DataFrame) else rows)
    if not table.checkpoints:
        raise HeedfulError("nothing was measured on the model: rows of model 'base' are needed.")
    statements = decide([each(table, chosen) for each in PROPERTIES.values()], chosen)
    found = overall(statements)
    costs = costs if costs is not None else pd.DataFrame()
    return Verdict(
        found.decision,
        found.reason,
        found.needed,
        headline(found, statements, str(given.get("site") or chosen.on_trial)),
        statements,
        recommend(table, costs, chosen, IMPORTANCE),
        recommend(table, costs, chosen, DIRECTION),
        sites(table, chosen),
        warnings_of(table, given, statements, chosen),
        _plain(known_facts(table, given)),
        chosen.to_dict(),
        chosen.digest(),
        versions(),
    )


def versions() -> dict[str, str]:
    """What computed this."""
    libraries = ("heedful", "numpy", "scipy", "pandas")
    return {"python": platform.python_version(), **{name: _version(name) for name in libraries}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _line(each: Statement) -> str:
    """Property, decision, number with bounds against the threshold, and how many examples."""
    start = f"{each.property:<13}{each.decision:<14}"
    if math.isnan(each.estimate):
        return f"{start}{each.blocked}".rstrip()
    text = f"{start}{number(each.estimate)} ({number(each.low)} to {number(each.high)})"
    if not math.isnan(each.threshold):
        text += f" against {number(each.threshold)}"
    return f"{text}, {each.n} examples{_why(each)}"


def _why(each: Statement) -> str:
    if each.decision is Decision.UNUSABLE:
        return f"; {each.blocked}"
    if each.decision is not Decision.INCONCLUSIVE:
        return ""
    reason = each.blocked or next((note for note in each.notes if "decide" in note), "")
    return f"; {reason}" if reason else ""


def _plain(value: Any) -> Any:
    """Only what JSON knows; undefined numbers are null, since NaN is no JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    return str(value)


def _typed(kind: Any, value: Any) -> Any:
    """The inverse of `_plain` for a value of this type. Damaged data raises what it happens to."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        if kind in (Verdict, Recommendation, Sites) and not hints.keys() <= value.keys():
            raise KeyError(*(hints.keys() - value.keys()))
        known = {name: item for name, item in value.items() if name in hints}
        build: Any = kind
        return build(**{name: _typed(hints[name], item) for name, item in known.items()})
    if kind is float:
        return math.nan if value is None else float(value)
    if kind is str and not isinstance(value, str):
        raise TypeError(f"a text was expected, not {value!r}")
    if get_origin(kind) is tuple:
        return tuple(_typed(get_args(kind)[0], item) for item in value)
    if get_origin(kind) is Mapping:
        return {name: _typed(get_args(kind)[1], item) for name, item in value.items()}
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value
