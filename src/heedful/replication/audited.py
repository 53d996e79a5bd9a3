"""What an audit used: its maps, removal operators, measures, model, data and statistics."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.auditing import ATTENTION, CEILING, FLOORS, Audit, stored_verdict, works
from heedful.auditing import named as named_map
from heedful.corpora import CORPORA
from heedful.metrics import METRICS
from heedful.removal import REMOVALS
from heedful.replication.statistics import statistics_of
from heedful.replication.use import Use, piece_use
from heedful.store import Frames, Run

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
        return Audited(stored_verdict(run), run.json("facts"), _measured(run.frames("rows")))

    @staticmethod
    def of_folder(folder: Path) -> Audited:
        return Audited.of(Audit.load(folder))

    @staticmethod
    def of(audit: Audit) -> Audited:
        verdict = json.loads(audit.verdict.to_json())
        return Audited(verdict, dict(audit.facts), _measured(audit.tables["rows"]))


def audited_uses(audit: Audited) -> Iterator[Use]:
    yield from (piece_use("explanation", named_map(name).piece) for name in audit.explanations)
    yield from (piece_use("removal operator", REMOVALS[name]) for name in audit.operators)
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
            yield piece_use("metric", METRICS[name])


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
        yield piece_use("corpus", CORPORA[name])


def _measured(rows: Frames) -> Measured:
    found: dict[str, set[str]] = {"measure": set(), "explanation": set(), "operator": set()}
    checked: set[str] = set()
    for block in rows:
        for name, names in found.items():
            names.update(map(str, block[name].unique()))
        checked.update(map(str, block.loc[block["model"] == RANDOMISED, "example"].unique()))
    measures, explanations, operators = map(frozenset, found.values())
    return Measured(measures, explanations, operators, len(checked))
