"""The verdict: every statement, one line, a recommendation, and what to be careful about."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd

from heedful.errors import HeedfulError
from heedful.schemas import check_version
from heedful.verdict import encode
from heedful.verdict.cautions import cautions, known_facts
from heedful.verdict.contenders import DIRECTION, IMPORTANCE
from heedful.verdict.decide import Decision
from heedful.verdict.lines import lines
from heedful.verdict.overall import ANSWERS, headline, overall
from heedful.verdict.properties import PROPERTIES
from heedful.verdict.recommend import Recommendation, recommend
from heedful.verdict.settings import Settings
from heedful.verdict.settle import settle
from heedful.verdict.sites import Sites, sites
from heedful.verdict.statement import Statement
from heedful.verdict.table import tabulate_blocks

SCHEMA_VERSION = 2
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
        said = (self.recommendation, self.direction, self.sites)
        return lines(f"{self.decision}: {self.headline}", self.statements, said, self.warnings)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<Verdict: {self.headline}>"

    def to_json(self) -> str:
        data = {"schema_version": SCHEMA_VERSION, **encode.plain(self)}
        return json.dumps(data, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Verdict:
        return _read(text)


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
    statements = settle([decide(table, chosen) for decide in PROPERTIES.values()], chosen)
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
        cautions(table, given, statements, chosen),
        encode.plain(known_facts(table, given)),
        chosen.to_dict(),
        chosen.digest(),
        versions(),
    )


def versions() -> dict[str, str]:
    """What computed this."""
    return {"python": platform.python_version(), **{name: _version(name) for name in _LIBRARIES}}


_LIBRARIES = ("heedful", "numpy", "scipy", "pandas")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _read(text: str) -> Verdict:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HeedfulError("this is no verdict: give a verdict.json of an audit.") from error
    check_schema(data, "this verdict")
    try:
        return _verdict(data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise HeedfulError("this verdict.json is damaged: make it again by an audit.") from error


_AGAIN = "make it again by an audit with this Heedful"


def check_schema(data: Any, what: str, again: str = _AGAIN) -> None:
    """Only verdicts of this schema can be read; `what` names the one that is looked at."""
    found = data.get("schema_version") if isinstance(data, dict) else None
    check_version(what, found, SCHEMA_VERSION, again)


def _verdict(data: Mapping[str, Any]) -> Verdict:
    return Verdict(
        Decision(data["decision"]),
        data["reason"],
        data["needed"],
        data["headline"],
        tuple(encode.statement(each) for each in data["statements"]),
        encode.recommendation(data["recommendation"]),
        encode.recommendation(data["direction"]),
        encode.sites(data["sites"]),
        tuple(data["warnings"]),
        data["facts"],
        data["settings"],
        data["digest"],
        data["versions"],
        tuple(data["caveats"]),
    )
