"""An audit in a paper: what it used, methods, limitations and tables, all from its values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.auditing import ATTENTION, CEILING, FLOORS, Audit, named, works
from heedful.data import CORPORA
from heedful.metrics import METRICS
from heedful.perturbations import REMOVALS
from heedful.preregistration.bibliography import OURSELVES, Use, bibliography, entry_use
from heedful.preregistration.latex import (
    Part,
    Sentence,
    Table,
    count,
    each_once,
    ended,
    enumerated,
    grouped,
    listed,
    said,
)
from heedful.store import Frames, Run
from heedful.verdict import REQUIRED, Verdict, stored_verdict

ASKED = ("SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE", "UNUSABLE")
"""Decisions of properties that had a share of alpha."""


PRETRAINED: Mapping[str, str] = {
    "Bert": "devlin2019",
    "Roberta": "liu2019",
    "DistilBert": "sanh2019",
    "Albert": "lan2020",
    "Electra": "clark2020",
    "Deberta": "he2021",
    "DebertaV2": "he2021",
    "ModernBert": "warner2024",
    "GPT2": "radford2019",
    "Llama": "touvron2023",
    "T5": "raffel2020",
    "Bart": "lewis2020",
    "Marian": "junczys2018",
}
"""Families of transformers by the beginning of their classes' names."""
RANDOMISED = "randomised"
_CLASS = re.compile(r"([A-Z]\w*?)(?:For[A-Z]\w*|LMHeadModel|MTModel|DoubleHeadsModel)\b.*")
_SPLIT = re.compile(r", \w+ split$")
SHOWN = ("property", "estimate", "low", "high", "threshold", "p above", "p below", "decision")


@dataclass(frozen=True)
class Statistic:
    """What was done, as a sentence that says so, and the works it is from."""

    name: str
    sentence: str
    keys: tuple[str, ...]


def statistics_of(verdict: Mapping[str, Any]) -> list[Statistic]:
    """The statistics that a verdict really used, in the order of a paper: intervals, corrections,
    looks. Everything is read off the verdict: what did not happen is not said."""
    return list(_statistics(verdict))


def _statistics(verdict: Mapping[str, Any]) -> Iterator[Statistic]:
    settings = verdict["settings"]
    asked = [each for each in verdict["statements"] if each["decision"] in ASKED]
    weighed = [each for each in asked if each["clusters"] >= 2]
    alone = [each for each in weighed if each["checkpoints"] == 1]
    if alone:
        yield Statistic(
            "studentised bootstrap over clusters",
            f"One-sided bounds and p-values of {_named(alone)} come from a studentised bootstrap "
            f"over {_clusters(alone)} of texts, {settings['resamples']} resamples, "
            f"seed {settings['seed']}, conditional on this checkpoint.",
            ("efron1993",),
        )
    crossed = [each for each in weighed if each["checkpoints"] > 1]
    if crossed:
        count = max(each["checkpoints"] for each in crossed)
        yield Statistic(
            "Student's t, checkpoints and texts crossed",
            f"One-sided bounds and p-values of {_named(crossed)} come from Student's t "
            f"with {count} checkpoints and {_clusters(crossed)} of texts as crossed "
            f"effects, degrees of freedom after Satterthwaite.",
            ("student1908", "satterthwaite1946"),
        )
    if weighed:
        yield Statistic(
            "rule of three",
            "No bound is nearer to its estimate than what may have stayed unseen in so many "
            "clusters.",
            ("hanley1983",),
        )
    if any(each["property"] in REQUIRED for each in asked):
        yield Statistic(
            "simultaneous bounds",
            f"The bounds of {listed(list(REQUIRED))} hold together at {1 - settings['alpha']:g}: "
            f"each is one-sided at {settings['alpha'] / len(REQUIRED):g} (Bonferroni). The answer "
            f"is given only where every point within them gives it.",
            ("dunn1961",),
        )
    if settings["looks"] > 1:
        yield Statistic(
            "alpha spending",
            f"The evidence was to be looked at {settings['looks']} times and this is look "
            f"{settings['look']}: alpha was spent over looks.",
            ("lan1983", "armitage1969"),
        )


def _named(statements: list[Mapping[str, Any]]) -> str:
    return listed([str(each["property"]) for each in statements])


def _clusters(statements: list[Mapping[str, Any]]) -> str:
    counts = sorted({int(each["clusters"]) for each in statements})
    if len(counts) == 1:
        return f"{counts[0]} clusters"
    return f"{counts[0]} to {counts[-1]} clusters"


@dataclass(frozen=True)
class Measured:
    """The names in an audit's table; `checked` counts the texts that were measured again with
    the model's weights in random order."""

    measures: frozenset[str]
    explanations: frozenset[str]
    operators: frozenset[str]
    checked: int


@dataclass(frozen=True)
class Audited:
    """What is left of an audit, wherever it lies: its verdict and facts as plain values, and
    the names in its table. What was planned and is not in the table was not used."""

    verdict: Mapping[str, Any]
    facts: Mapping[str, Any]
    measured: Measured

    @property
    def explanations(self) -> list[str]:
        """Attention is always shown; floors and the ceiling are nobody's explanation."""
        kept = {ATTENTION, *self.measured.explanations} - {*FLOORS, CEILING}
        return [name for name in self.facts["explanations"] if name in kept]

    @property
    def operators(self) -> list[str]:
        return [name for name in self.facts["operators"] if name in self.measured.operators]

    @staticmethod
    def of_run(run: Run) -> Audited:
        verdict = _values(stored_verdict(run))
        return Audited(verdict, run.json("facts"), _measured(run.frames("rows")))

    @staticmethod
    def of_folder(folder: Path) -> Audited:
        return Audited.of(Audit.load(folder))

    @staticmethod
    def of(audit: Audit) -> Audited:
        return Audited(_values(audit.verdict), dict(audit.facts), _measured(audit.tables["rows"]))


def _values(verdict: Verdict) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(verdict.to_json())
    return values


def audited_uses(audit: Audited) -> Iterator[Use]:
    yield from (entry_use("explanation", named(name).piece) for name in audit.explanations)
    yield from (entry_use("removal operator", REMOVALS[name]) for name in audit.operators)
    yield from measure_uses(audit.measured.measures)
    if audit.measured.checked:
        yield Use("weights in random order, to see which measures fall", ("adebayo2018",))
    yield from _model(str(audit.facts["model"]))
    yield from _data(str(audit.facts["data"]))
    yield from (Use(each.name, each.keys) for each in statistics_of(audit.verdict))


def measure_uses(measures: Iterable[str]) -> Iterator[Use]:
    for name in sorted(measures):
        if keys := works(name):
            yield Use(f"measure {name}", keys)
        if name in METRICS:
            yield entry_use("metric", METRICS[name])


def _model(name: str) -> Iterator[Use]:
    """One of transformers', by its class; a model of our own is a run and named there."""
    found = _CLASS.fullmatch(name)
    if found is None:
        return
    yield Use("transformers", ("wolf2020",))
    family = found[1]
    if family in PRETRAINED:
        yield Use(f"model {family}", (PRETRAINED[family],))
    else:
        yield Use(f"model {family}", missing=(f"{family}: cite what the model's card names",))


def _data(source: str) -> Iterator[Use]:
    """A corpus by name; a file is the user's own."""
    name = _SPLIT.sub("", source)
    if name in CORPORA:
        yield entry_use("corpus", CORPORA[name])


def _measured(rows: Frames) -> Measured:
    found: dict[str, set[str]] = {"measure": set(), "explanation": set(), "operator": set()}
    checked: set[str] = set()
    for block in rows:
        for name, names in found.items():
            names.update(map(str, block[name].unique()))
        checked.update(map(str, block.loc[block["model"] == RANDOMISED, "example"].unique()))
    measures, explanations, operators = map(frozenset, found.values())
    return Measured(measures, explanations, operators, len(checked))


def properties(statements: list[Mapping[str, Any]]) -> pd.DataFrame:
    lines = [
        (
            each["property"],
            *(number(each[name]) for name in ("estimate", "low", "high", "threshold")),
            *(_p(each, name) for name in ("p_above", "p_below")),
            each["decision"].lower(),
            str(each["n"]),
        )
        for each in statements
    ]
    return pd.DataFrame(lines, columns=[*SHOWN, "texts"])


def ranking(ranked: list[Mapping[str, Any]]) -> pd.DataFrame:
    lines = [
        (
            each["explanation"],
            *(number(each[name]) for name in ("position", "low", "high", "behind")),
            "yes" if each["tied"] else "no",
            str(each["measures"]),
        )
        for each in ranked
    ]
    names = ["explanation", "position", "low", "high", "behind", "as good", "measures"]
    return pd.DataFrame(lines, columns=names)


def _p(each: Mapping[str, Any], name: str) -> str:
    """Only where something was decided by it."""
    if each["decision"] not in ("SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE") or each["blocked"]:
        return ""
    return f"{each[name]:.4f}" if each[name] >= 0.0001 else "< 0.0001"


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


@dataclass(frozen=True)
class AuditText:
    """`spec` is the audit's as plain values; `checkpoints` are the models that were crossed."""

    name: str
    audited: Audited
    spec: Mapping[str, Any]
    sampled: bool

    @property
    def title(self) -> str:
        return f"{self.facts['model']} on {self.facts['data']}"

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.audited.facts

    @property
    def statements(self) -> list[Mapping[str, Any]]:
        return list(self.audited.verdict["statements"])

    @property
    def uses(self) -> list[Use]:
        return list(audited_uses(self.audited))

    def methods(self) -> list[Sentence]:
        return [
            self._subject(),
            self._explanations(),
            *self._operators(),
            *self._measures(),
            *self._thresholds(),
            *(said(each.sentence, *each.keys) for each in statistics_of(self.audited.verdict)),
            self._seeds(),
            _versions(self.audited.verdict),
        ]

    def limitations(self) -> list[Sentence]:
        """What was open, unusable, not measured or left out, with the reasons; the cautions and
        the caveats of the verdict."""
        found = [
            *(text for each in self.statements for text in _open(each)),
            *grouped((note, each["property"]) for each in self.statements for note in _notes(each)),
            *grouped(pair for each in self.statements for pair in _unused(each)),
            *(f"{name} was left out: {why}" for name, why in self.facts["skipped"].items()),
            *self.audited.verdict["warnings"],
            *self.facts["notes"],
            *self.audited.verdict["caveats"],
        ]
        return each_once(found)

    def tables(self) -> list[Table]:
        """The properties; where explanations could be ranked, those too."""
        verdict = self.audited.verdict
        words = f"{self.title}: {verdict['decision'].lower()}. {ended(verdict['headline'])}"
        alpha = f"Bounds of what decides hold together at {_level(verdict)}."
        found = [Table(f"{self.name}-properties", f"{words} {alpha}", properties(self.statements))]
        for question, name in (("recommendation", "explanations"), ("direction", "direction")):
            ranked = verdict[question]["ranked"]
            if ranked:
                caption = f"{self.title}: {ended(verdict[question]['sentence'])}"
                found.append(Table(f"{self.name}-{name}", caption, ranking(ranked)))
        return found

    def _subject(self) -> Sentence:
        facts = self.facts
        sample = f", a random sample (seed {self.spec['seed']})" if self.sampled else ""
        several = facts.get("checkpoints", 1)
        trained = f" in {several} trainings" if several > 1 else ""
        return said(
            f"We audited the attention of {facts['model']}{trained} on "
            f"{count(facts['measured'], 'text')} of {facts['data']}{sample} with Heedful.",
            OURSELVES,
        )

    def _explanations(self) -> Sentence:
        names = self.audited.explanations
        if names == [ATTENTION]:
            return said("No other explanation was measured.")
        items = [Part(name, _keys(named(name).piece)) for name in names]
        return enumerated(f"{count(len(names), 'explanation')} were compared: ", items)

    def _operators(self) -> Iterator[Sentence]:
        names = self.audited.operators
        if names:
            items = [Part(name, _keys(REMOVALS[name])) for name in names]
            way = "operator" if len(names) == 1 else "operators"
            yield enumerated(f"Words were taken away by the {way} ", items)

    def _measures(self) -> Iterator[Sentence]:
        by: dict[str, tuple[str, ...]] = {}
        for use in measure_uses(self.audited.measured.measures):
            name = use.what.split(" ", 1)[1]
            by[name] = tuple(dict.fromkeys((*by.get(name, ()), *use.keys)))
        if by:
            items = [Part(name, _listed_keys(keys)) for name, keys in by.items()]
            yield enumerated("Measured were ", items)
        checked = self.audited.measured.checked
        if checked:
            yield said(
                f"To tell which measures respond to what was learned, {count(checked, 'text')} "
                f"were measured again with the model's weights in random order.",
                "adebayo2018",
            )

    def _thresholds(self) -> Iterator[Sentence]:
        asked = [each for each in self.statements if each["threshold"] is not None]
        if asked:
            parts = [f"{each['threshold']:g} for {each['property']}" for each in asked]
            yield said(
                f"The smallest effects of interest were declared beforehand: {listed(parts)} "
                f"(digest {self.audited.verdict['digest']})."
            )

    def _seeds(self) -> Sentence:
        spec, only = self.spec, self.spec["only"]
        parts = [f"seed {spec['seed']}"]
        if "interventions" in only:
            parts.append(count(spec["permutations"], "permutation"))
        if "erasure" in only and spec["ceiling"]:
            parts.append(f"at most {spec['ceiling']} model runs a text in search of the best order")
        if "exclusivity" in only:
            within = f"within {spec['epsilon']:g} of the output"
            parts.append(f"other attention {within} sought in {spec['search_steps']} steps")
        return said(f"Random choices: {listed(parts)}.")


def _open(each: Mapping[str, Any]) -> Iterator[str]:
    name = each["property"]
    if each["decision"] == "INCONCLUSIVE":
        bounds = f"{number(each['low'])} to {number(each['high'])}"
        against = f" ({bounds} against {number(each['threshold'])})"
        yield f"{name} is inconclusive{against if each['low'] is not None else ''}"
    elif each["decision"] in ("UNUSABLE", "NOT MEASURED", "NOT ANSWERED"):
        yield f"{name} is {each['decision'].lower()}"


def _notes(each: Mapping[str, Any]) -> list[str]:
    return [str(note) for note in dict.fromkeys(each["notes"])]


def _unused(each: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for part in each["parts"]:
        if not part["usable"]:
            what = f"{part['measure']} {part['operator']}".strip()
            yield f"not used: {part['reason']}", f"{each['property']}, {what}"


def _keys(piece: Any) -> tuple[str, ...]:
    return _listed_keys(entry_use("", piece).keys)


def _listed_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(key for key in dict.fromkeys(keys) if key in bibliography())


def _versions(verdict: Mapping[str, Any]) -> Sentence:
    made = [f"{name} {number}" for name, number in verdict["versions"].items()]
    return said(f"Judged with {listed(made)}.")


def _level(verdict: Mapping[str, Any]) -> str:
    settings = verdict["settings"]
    share = " (a share of it at this look)" if settings["looks"] > 1 else ""
    return f"{settings['alpha']:g}{share}"
