"""The verdict: every statement, the answer, a recommendation and warnings; as text and as JSON."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from heedful.errors import HeedfulError
from heedful.schemas import check_version
from heedful.units import WORD, by_unit
from heedful.verdict.audience import UNDECLARED, Audience
from heedful.verdict.heads import Heads, decisive_heads
from heedful.verdict.inference import Comparison, examples_needed
from heedful.verdict.on_request import Edits, Interactions, edits_of, interactions_of
from heedful.verdict.properties import PROPERTIES, REQUIRED
from heedful.verdict.recommendation import (
    DIRECTION,
    IMPORTANCE,
    Recommendation,
    Sites,
    recommend,
    sites,
)
from heedful.verdict.settings import Settings, share_of
from heedful.verdict.sinks import Sinks, sinks_of
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
NOT_USED, NOT_FAITHFUL, EITHER = "not used", "not faithful", "either"
FAITHFUL = tuple(name for name in REQUIRED if name != "use")
QUESTIONS = (IMPORTANCE, DIRECTION)
ANSWERS: Mapping[Decision, str] = {
    Decision.SUPPORTED: "yes",
    Decision.NOT_SUPPORTED: "no",
    Decision.INCONCLUSIVE: "cannot tell yet",
}


ADDED = frozenset({"heads", "sinks", "edits", "interactions", "audience"})
"""Fields that verdicts stored by an earlier Heedful do without."""
RENAMED = {"exclusivity": "uniqueness"}
"""Earlier names of properties: stored verdicts have them, and they can still be asked for."""


class DamagedVerdict(HeedfulError, ValueError):
    """The JSON is of a version that can be read, and is not what was written."""


@dataclass(frozen=True, repr=False)
class Verdict:
    """`decision` answers "should this attention be shown as an explanation?" (the rule is in
    `overall`): SUPPORTED is yes, NOT SUPPORTED no, for a `reason` ("not used", "not faithful" or
    "either"), and INCONCLUSIVE that it cannot be told yet, where about `needed` examples would
    decide. `recommendation` is the best explanation of which words matter, `direction` the best of
    those that say which class they speak for; `sites` are other layers and heads, `heads` what the
    output does without each head, where that was measured, `sinks` how much attention goes to
    tokens that take it whatever the text says, and the answer without them; `edits` whether
    explanations mark the words of revisions and `interactions` what pairs of words do beyond single
    ones, where these were measured; `audience` who reads the explanation and for what, as declared:
    words, and no part of the decision. Plausibility is a statement of its own and no part of the
    decision."""

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
    heads: Heads = field(default_factory=Heads)
    sinks: Sinks = field(default_factory=Sinks)
    edits: Edits = field(default_factory=Edits)
    interactions: Interactions = field(default_factory=Interactions)
    audience: str = UNDECLARED

    @property
    def answer(self) -> str:
        """yes, no, or cannot tell yet."""
        return ANSWERS[self.decision]

    def __getitem__(self, name: str) -> Statement:
        """The statement on a property."""
        for each in self.statements:
            if each.property == RENAMED.get(name, name):
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
            f"Which {self.asked.unit}s matter: {self.recommendation.sentence}",
            f"Which class they speak for: {self.direction.sentence}",
            f"Other attention: {self.sites.sentence}",
            *([f"Heads: {self.heads.sentence}"] if self.heads.sentence else []),
            *([f"Sinks: {self.sinks.sentence}"] if self.sinks.sentence else []),
            *([f"Edits: {self.edits.sentence}"] if self.edits.sentence else []),
            *([f"Pairs: {self.interactions.sentence}"] if self.interactions.sentence else []),
            f"Readers: {self.audience}",
            *(f"Warning: {text}" for text in self.warnings),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<Verdict: {self.headline}>"

    def to_json(self) -> str:
        data = {"schema_version": SCHEMA_VERSION, **_plain(asdict(self))}
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
            _ = verdict.asked  # settings that can be read
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            damaged = "this verdict.json is damaged: make it again by an audit."
            raise DamagedVerdict(damaged) from error
        named = (
            replace(each, property=RENAMED.get(each.property, each.property))
            for each in verdict.statements
        )
        return replace(verdict, statements=tuple(named))

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
    statements = decide([each.evaluate(table, chosen) for each in PROPERTIES.values()], chosen)
    found, sinks = overall(statements), sinks_of(table, statements, chosen, _answer(chosen))
    costs, audience = costs if costs is not None else pd.DataFrame(), Audience.of(given)
    importance, direction = (
        _to(_shown(recommend(table, costs, chosen, question), chosen, found), audience)
        for question in QUESTIONS
    )
    verdict = Verdict(
        found.decision,
        found.reason,
        found.needed,
        headline(found, statements, str(given.get("site") or chosen.on_trial), audience.to),
        statements,
        importance,
        direction,
        sites(table, chosen),
        (*warnings_of(table, given, statements, chosen), *sinks.warnings),
        _plain(known_facts(table, given)),
        chosen.to_dict(),
        chosen.digest(),
        versions(),
        heads=decisive_heads(table, chosen),
        sinks=sinks,
        edits=edits_of(table, chosen),
        interactions=interactions_of(table, chosen),
        audience=audience.sentence(statements),
    )
    return verdict if chosen.unit == WORD else _of_unit(verdict, chosen.unit)


def _shown(ranking: Recommendation, chosen: Settings, found: Overall) -> Recommendation:
    """What is on trial may rank best and still fail, or be open: then nobody is told to show it."""
    if ranking.best != chosen.on_trial or not ranking.clears:
        return ranking
    then = {
        Decision.INCONCLUSIVE: "whether to show it cannot be told yet",
        Decision.NOT_SUPPORTED: "it fails elsewhere, so do not show it",
    }.get(found.decision)
    if then is None:
        return ranking
    ranked = ranking.sentence.removeprefix("show ").removesuffix(".")
    return replace(ranking, sentence=f"the best we tried is {ranked}; {then}.")


def _to(ranking: Recommendation, audience: Audience) -> Recommendation:
    """What is recommended is shown to somebody."""
    what, colon, rest = ranking.sentence.partition(": ")
    if not what.startswith("show "):
        return ranking
    return replace(ranking, sentence=f"{what}{audience.to}{colon}{rest}")


def _of_unit(verdict: Verdict, unit: str) -> Verdict:
    """With sentences about the unit that is on trial, instead of words."""

    def said(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(by_unit(text, unit) for text in texts)

    def ranking(found: Recommendation) -> Recommendation:
        return replace(found, sentence=by_unit(found.sentence, unit), notes=said(found.notes))

    statements = (
        replace(
            each,
            unit=by_unit(each.unit, unit),
            blocked=by_unit(each.blocked, unit),
            notes=said(each.notes),
            warnings=said(each.warnings),
            numbers={by_unit(name, unit): value for name, value in each.numbers.items()},
        )
        for each in verdict.statements
    )
    return replace(
        verdict,
        headline=by_unit(verdict.headline, unit),
        statements=tuple(statements),
        recommendation=ranking(verdict.recommendation),
        direction=ranking(verdict.direction),
        warnings=said(verdict.warnings),
        caveats=said(verdict.caveats),
    )


def _answer(chosen: Settings) -> Callable[[Sequence[Statement]], str]:
    """What statements lead to, decided or not."""

    def answer(statements: Sequence[Statement]) -> str:
        return ANSWERS[overall(decide(statements, chosen)).decision]

    return answer


# From bounds to decisions, and from decisions to the answer. All bounds of the statements that
# decide hold together, so a decision is made only where every point between them leads to it.


def decide(statements: Sequence[Statement], chosen: Settings) -> tuple[Statement, ...]:
    """What was measured and is not blocked is above its threshold, below it, or open. A
    population is on one side of each threshold, so only one of the two answers can be wrong:
    alpha is shared by the statements, not by the answers."""
    return tuple(_decided(each, chosen) for each in statements)


def _decided(each: Statement, chosen: Settings) -> Statement:
    if each.decision is not Decision.INCONCLUSIVE:
        known = each.blocked in ("", *each.notes)
        return each if known else replace(each, notes=(each.blocked, *each.notes))
    if each.blocked:
        return _with_blocked(each, chosen)
    if each.low > each.threshold:
        return replace(each, decision=Decision.SUPPORTED)
    if each.high < each.threshold:
        return replace(each, decision=Decision.NOT_SUPPORTED)
    count = _count(each, chosen)
    return replace(each, needed=count, notes=(*each.notes, how_many(count, each)))


def _with_blocked(each: Statement, chosen: Settings) -> Statement:
    """Where more examples would lift the block, as many as decide the statement then."""
    if each.needed is None:
        return replace(each, notes=(each.blocked, *each.notes))
    count: int | None = each.needed
    if each.low <= each.threshold <= each.high:
        own = _count(each, chosen)
        count = None if own is None else max(each.needed, own)
    return replace(each, needed=count, notes=(each.blocked, *each.notes, how_many(count, each)))


def _count(each: Statement, chosen: Settings) -> int | None:
    found = Comparison(*(getattr(each, field.name) for field in fields(Comparison)))
    return examples_needed(found, each.threshold, share_of(each.property, chosen), each.n)


def how_many(count: int | None, each: Statement) -> str:
    """What would decide, in words."""
    if count is not None:
        return f"by an estimate about {rounded(count, each.n)} examples would decide."
    if each.seed_error > 0:
        return "more seeds would be needed to decide: more examples alone would not do."
    return "no number of examples would decide: the estimate sits on the threshold."


def rounded(count: int, measured: int) -> int:
    """Two digits are all that is known of it; rounded up, and to a tenth more than were measured: a
    few more examples would move the estimate by as much as they would decide."""
    count = max(count, math.ceil(1.1 * measured))
    step: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // step) * step


@dataclass(frozen=True)
class Overall:
    """`reason` is why the answer is no, "" for the others; `needed` is about how many examples
    would decide, None where it is decided or no number would."""

    decision: Decision
    reason: str = ""
    needed: int | None = None


def overall(statements: Sequence[Statement]) -> Overall:
    """The rule for a population: not used, if the output does not move with the weights; else
    not faithful, if the weights fail on importance, on agreement or against the model-free
    baseline; else yes. Where importance measures do not agree with each other, agreement is
    not asked.

    The answer is given only where all points within the bounds give it. If use is open and the
    weights are not faithful, both reasons are possible and the answer is no all the same.
    """
    by_name = {each.property: each for each in statements}
    if _said(by_name, "use") is Decision.NOT_SUPPORTED:
        return Overall(Decision.NOT_SUPPORTED, NOT_USED)
    if _failed(by_name):
        used = _said(by_name, "use") is Decision.SUPPORTED
        return Overall(Decision.NOT_SUPPORTED, NOT_FAITHFUL if used else EITHER)
    if not _missing(by_name):
        return Overall(Decision.SUPPORTED)
    return Overall(Decision.INCONCLUSIVE, needed=_needed(by_name))


def headline(found: Overall, statements: Sequence[Statement], site: str, to: str = "") -> str:
    """The answer as a sentence that says no more than the decision does; `to` whom it would be
    shown, where that is declared."""
    by_name = {each.property: each for each in statements}
    if found.decision is Decision.SUPPORTED:
        return f"yes, show {site}{to}: it marks the words that matter to these predictions."
    if found.decision is Decision.INCONCLUSIVE:
        return (
            f"cannot tell yet whether {site} explains these predictions: {_open(by_name, found)}."
        )
    if found.reason == NOT_USED:
        moved = f"without it the output moves by {number(by_name['use'].estimate)}"
        return f"no, do not show {site}{to}: the model hardly uses it ({moved})."
    *others, last = [_failure(by_name[name]) for name in _failed(by_name)]
    text = f"no, do not show {site}{to}: it {', '.join(others)}{', and ' if others else ''}{last}"
    if found.reason == EITHER:
        text += "; whether the model uses it is open"
    return f"{text}."


def _failure(each: Statement) -> str:
    """What attention does not do, with the number that shows it."""
    asked = f"{each.property} {number(each.estimate)}, asked {number(each.threshold)}"
    return f"{PROPERTIES[each.property].failure} ({asked})"


def _open(by_name: Mapping[str, Statement], found: Overall) -> str:
    if found.needed is not None:
        measured = max(each.n for each in by_name.values())
        return f"by an estimate about {rounded(found.needed, measured)} examples would decide"
    missing = _missing(by_name)
    reasons = [
        by_name[name].blocked for name in missing if _said(by_name, name) is Decision.INCONCLUSIVE
    ]
    if reasons and all(reasons):
        return reasons[0].removesuffix(".")
    return ", ".join(f"{name} {_said(by_name, name).lower()}" for name in missing)


def _needed(by_name: Mapping[str, Statement]) -> int | None:
    """Where some estimate is below its threshold, one such statement is enough for a no; else
    all that are open must be decided. None where one of those never will be."""
    missing = _missing(by_name)
    known = [by_name[name] for name in missing if name in by_name]
    below = [each.needed for each in known if each.estimate < each.threshold and not each.blocked]
    if below:
        return min((count for count in below if count is not None), default=None)
    counts = [each.needed for each in known]
    if len(known) < len(missing) or None in counts:
        return None
    return max((count for count in counts if count is not None), default=None)


def _failed(by_name: Mapping[str, Statement]) -> list[str]:
    return [name for name in FAITHFUL if _said(by_name, name) is Decision.NOT_SUPPORTED]


def _missing(by_name: Mapping[str, Statement]) -> list[str]:
    """What is required and not supported. Agreement is not missed where nothing could agree."""
    said = {name: _said(by_name, name) for name in REQUIRED}
    if said.get("agreement") is Decision.UNUSABLE:
        del said["agreement"]
    return [name for name, decision in said.items() if decision is not Decision.SUPPORTED]


def _said(by_name: Mapping[str, Statement], name: str) -> Decision:
    return by_name[name].decision if name in by_name else Decision.NOT_MEASURED


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
    return f"{text}, {each.n} examples{'; ' * bool(why(each))}{why(each)}"


def why(each: Statement) -> str:
    """There is no decision; empty where there is one, or could be none."""
    if each.decision is Decision.UNUSABLE:
        return each.blocked
    if each.decision is not Decision.INCONCLUSIVE:
        return ""
    return each.blocked or next((note for note in each.notes if "decide" in note), "")


def _plain(value: Any) -> Any:
    """Only what JSON knows; undefined numbers are null, since NaN is no JSON."""
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
        missing = hints.keys() - value.keys() - ADDED
        if kind in (Verdict, Recommendation, Sites) and missing:
            raise KeyError(*missing)
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
