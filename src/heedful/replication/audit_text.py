"""An audit in a paper: methods, limitations and tables, all from its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heedful.auditing import ATTENTION, named
from heedful.removal import REMOVALS
from heedful.replication.audit_tables import number, properties, ranking
from heedful.replication.audited import Audited, audited_uses, measure_uses
from heedful.replication.bibliography import OURSELVES
from heedful.replication.latex import Table
from heedful.replication.mentions import known
from heedful.replication.prose import (
    Part,
    Sentence,
    count,
    each_once,
    ended,
    enumerated,
    grouped,
    listed,
    said,
)
from heedful.replication.statistics import statistics_of
from heedful.replication.use import Use


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
    return _listed_keys((*known(piece.paper), *known(piece.citation)))


def _listed_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    from heedful.replication.bibliography import bibliography

    return tuple(key for key in dict.fromkeys(keys) if key in bibliography())


def _versions(verdict: Mapping[str, Any]) -> Sentence:
    made = [f"{name} {number}" for name, number in verdict["versions"].items()]
    return said(f"Judged with {listed(made)}.")


def _level(verdict: Mapping[str, Any]) -> str:
    settings = verdict["settings"]
    share = " (a share of it at this look)" if settings["looks"] > 1 else ""
    return f"{settings['alpha']:g}{share}"
