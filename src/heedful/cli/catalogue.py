"""What is said of every entry, and of every number that is measured.

Importing all entries takes seconds, most of them torch's. So what our own say of themselves is
also kept in `catalogue.json`: `python -m tools.reference` writes it, and a test holds it to the
code. Entries of plugins are asked themselves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from heedful.entries import Entry, Measure, Range, declaration
from heedful.errors import HeedfulError
from heedful.registry import OpenRegistry, Registry

FILE = files("heedful").joinpath("catalogue.json")
MEASURE = "measure"
"""What an audit writes into its table: no pieces, but named and described like them."""
PROPERTY = "property"
"""What a verdict speaks about."""
AUDIT = "heedful audit"
_SAID = ("formula", "range", "higher", "cost", "limits", "origin", "licence", "citation")


@dataclass(frozen=True)
class Described:
    """An entry or a number: `facts` for programs, and what a reader wants to know by headings."""

    facts: Mapping[str, Any]
    reading: Mapping[str, str]

    @property
    def kind(self) -> str:
        return str(self.facts.get("kind", MEASURE))

    @property
    def name(self) -> str:
        return str(self.facts["name"])


@dataclass(frozen=True)
class Catalogue:
    """All entries and all numbers; `left_out` says why some of installed packages are missing."""

    pieces: tuple[Described, ...]
    measures: tuple[Described, ...]
    left_out: Mapping[str, tuple[str, ...]]

    def of_kind(self, kind: str) -> list[Described]:
        return [piece for piece in self.pieces if piece.kind == kind]

    def of_audits(self) -> list[Described]:
        """Every number in an audit's table."""
        return [each for each in self.measures if each.facts["by"].startswith(AUDIT)]

    def measured(self, name: str, among: list[Described] | None = None) -> list[Described]:
        """Everything that reports a number of this name; the nearest name it is declared under.
        Where there is none, numbers whose names begin with it: `deletion` is `deletion_auc`."""
        every = self.measures if among is None else among
        by: dict[str, dict[str, Described]] = {}
        for each in every:
            by.setdefault(each.facts["by"], {})[each.name] = each
        declared = [(group, declaration(name, group)) for group in by.values()]
        found = [group[known] for group, known in declared if known is not None]
        return found or [each for each in every if each.name.startswith(f"{name}_")]


def catalogue() -> Catalogue:
    """Our own entries as `catalogue.json` has them, and those of plugins."""
    own = _own()
    pieces, measures = list(own.pieces), list(own.measures)
    left_out: dict[str, tuple[str, ...]] = {}
    for registry in _open_registries():
        added, missing = _of_plugins(registry)
        broken = {name for name, _ in missing}
        pieces = [p for p in pieces if p.kind != registry.kind or p.name not in broken]
        pieces += [describe(registry.kind, entry) for entry in added]
        measures += [m for entry in added for m in _numbers_of(registry.kind, entry)]
        left_out[registry.kind] = tuple(why for _, why in missing)
    return Catalogue(tuple(pieces), tuple(measures), left_out)


def catalogue_text() -> str:
    """What `catalogue.json` holds, from the entries themselves: a line for each."""
    pieces, measures = [], [*_numbers_of_audits()]
    for kind, registry in catalogues().items():
        for entry in (registry[name] for name in registry.modules):
            pieces.append(describe(kind, entry))
            measures += _numbers_of(kind, entry)
    pieces += _properties()
    return f'{{"pieces": {_lines(pieces)}, "measures": {_lines(measures)}}}\n'


def _lines(every: Sequence[Described]) -> str:
    lines = ",\n".join(json.dumps(vars(each), ensure_ascii=False) for each in every)
    return f"[\n{lines}\n]"


def describe(kind: str, entry: Entry) -> Described:
    """What an entry says of itself."""
    return Described(facts(kind, entry), reading(kind, entry))


def _open_registries() -> tuple[OpenRegistry[Any], ...]:
    from heedful.attributions import SALIENCIES
    from heedful.data import CORPORA
    from heedful.experiments import PROBES

    return CORPORA, SALIENCIES, PROBES


def _of_plugins(registry: OpenRegistry[Any]) -> tuple[list[Entry], list[tuple[str, str]]]:
    """Those that can be loaded, and the names of others with the reason why they cannot."""
    there, missing = [], []
    for name in registry.plugins():
        try:
            there.append(registry[name])
        except HeedfulError as error:
            missing.append((name, str(error)))
    return there, missing


@cache
def _own() -> Catalogue:
    document = json.loads(FILE.read_text(encoding="utf8"))
    pieces, measures = (
        tuple(Described(**each) for each in document[name]) for name in ("pieces", "measures")
    )
    return Catalogue(pieces, measures, {})


def _properties() -> Iterator[Described]:
    """Each by its question, and what decides it."""
    from heedful.verdict import PROPERTIES

    for name, each in PROPERTIES.items():
        asked = each.smallest_effect
        effect = "" if asked is None else f"above {asked:g} (--min-effect {name}={asked:g})"
        role = "never decided" if asked is None else "decided apart from the answer"
        known = {
            "number": each.unit,
            "supported": effect,
            "role": "attention must pass it to be shown" if each.required else role,
        }
        said = {heading: words for heading, words in known.items() if words}
        entry = Entry(name, each.question, each.evaluate)
        yield Described(facts(PROPERTY, entry), said)


def _numbers_of_audits() -> Iterator[Described]:
    from heedful.auditing import ALWAYS, NUMBERS, SEEDS

    special = {ALWAYS: AUDIT, SEEDS: f"{AUDIT} {SEEDS}"}
    for group, measures in NUMBERS.items():
        by = special.get(group, f"{AUDIT} ({group})")
        yield from (_number_of(name, measure, by) for name, measure in measures.items())


def _numbers_of(kind: str, entry: Entry) -> Iterator[Described]:
    by = f"{kind} {entry.name}"
    for name, measure in measures_of(entry).items():
        yield _number_of(name, measure, by)


def _number_of(name: str, measure: Measure, by: str) -> Described:
    from heedful.preregistration import in_order

    known = {
        "formula": measure.formula,
        "range": in_words(measure.range),
        "better": better(measure.higher_is_better),
        "paper": "; ".join(entry.words for entry in in_order(measure.papers)),
        "measured by": by,
    }
    said = {heading: words for heading, words in known.items() if words}
    return Described({"name": name, "by": by, **asdict(measure)}, said)


def facts(kind: str, entry: Entry) -> dict[str, Any]:
    """For programs; what an entry does not say is null."""
    return {
        "kind": kind,
        "name": entry.name,
        "description": entry.description,
        "version": entry.version,
        "paper": entry.paper or None,
        "needs": list(entry.needs),
        "sites": getattr(entry, "sites", "any"),
        "signed": getattr(entry, "signed", False),
        "higher_is_better": getattr(entry, "higher_is_better", None),
        "measures": {name: asdict(measure) for name, measure in measures_of(entry).items()},
        **{name: getattr(entry, name, None) or None for name in _SAID},
    }


def measures_of(entry: Entry) -> Mapping[str, Measure]:
    """The numbers that an experiment or a metric reports, by name."""
    measures: Mapping[str, Measure] = getattr(entry, "measures", {})
    return measures


def reading(kind: str, entry: Entry) -> dict[str, str]:
    """What a reader of an entry's numbers wants to know, under its heading; only what is known."""
    bounds = (f"{name} {in_words(limits)}" for name, limits in entry.bounds.items())
    uses = (  # `=operator` is the value of its parameter `operator`
        f"that of its parameter {name[1:]}" if name[:1] == "=" else name
        for name in getattr(entry, "uses", None) or ()
    )
    known = {
        "kind": getattr(entry, "kind", "") if kind == "corpus" else "",
        "formula": getattr(entry, "formula", ""),
        "range": in_words(getattr(entry, "range", None)),
        "higher means": getattr(entry, "higher", ""),
        "better": better(getattr(entry, "higher_is_better", None)),
        "needs": ", ".join(entry.needs),
        "made with": ", ".join(uses),
        "cost": getattr(entry, "cost", ""),
        "limits": getattr(entry, "limits", ""),
        "bounds": "; ".join(bounds),
        "paper": cited(entry),
        "licence": getattr(entry, "licence", ""),
        "from": entry.origin,
    }
    return {name: value for name, value in known.items() if value}


def in_words(limits: Range | None) -> str:
    if limits is None:
        return ""
    low, high = limits
    if math.isinf(low) and math.isinf(high):
        return "any number"
    if math.isinf(high):
        return f"{_number(low)} and above"
    if math.isinf(low):
        return f"{_number(high)} and below"
    return f"{_number(low)} to {_number(high)}"


def better(higher: bool | None) -> str:
    return {True: "higher is better", False: "lower is better", None: ""}[higher]


def cited(entry: Entry) -> str:
    """The paper by its whole name, and what else is to be cited."""
    from heedful.preregistration import in_order, keys_in
    from heedful.studies import STUDIES

    if entry.citation and entry.citation.startswith(entry.paper):
        return entry.citation
    name = entry.paper.split(",")[0]
    if name in STUDIES:
        whole = STUDIES[name].citation
    else:
        works = "; ".join(work.words for work in in_order(keys_in(entry.paper)))
        whole = works or entry.paper
    return "; ".join(dict.fromkeys(part for part in (whole, entry.citation) if part))


def _number(value: float) -> str:
    if abs(value) == math.log(2):
        return "ln 2" if value > 0 else "−ln 2"
    return (f"{value:,}" if isinstance(value, int) else f"{value:g}").replace("-", "−")


def catalogues() -> dict[str, Registry[Any]]:
    """Every kind of entry, in the order of a table of contents."""
    from heedful.attributions import SALIENCIES
    from heedful.data import CORPORA
    from heedful.experiments import PROBES
    from heedful.interventions import EDITS
    from heedful.metrics import METRICS
    from heedful.models import ATTENTIONS, ENCODERS, FAMILIES, WRAPPERS
    from heedful.perturbations import REMOVALS
    from heedful.report import FIGURES
    from heedful.studies import STUDIES
    from heedful.training import STATE_TERMS, TERMS

    models = (CORPORA, FAMILIES, ENCODERS, WRAPPERS, ATTENTIONS, EDITS, REMOVALS)
    every = (*models, TERMS, STATE_TERMS, SALIENCIES, METRICS, PROBES, STUDIES, FIGURES)
    return {registry.kind: registry for registry in every}
