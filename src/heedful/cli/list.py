"""`heedful list`: every piece there is, and every number that is measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from heedful.cli.options import JsonOption, argument, spread
from heedful.cli.output import show, show_json
from heedful.entries import Entry, Measure, Range
from heedful.errors import HeedfulError, meant, unknown_name
from heedful.registry import Registry

_SAID = ("formula", "range", "higher", "cost", "limits", "origin", "licence", "citation")
MEASURE = "measure"
"""What an audit writes into its table: no pieces, but named and described like them."""


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


@dataclass(frozen=True)
class Measured:
    """A number, and what reports it: an entry, or a group of an audit."""

    name: str
    measure: Measure
    by: str

    def facts(self) -> dict[str, Any]:
        """For programs."""
        return {"name": self.name, "by": self.by, **asdict(self.measure)}

    def reading(self) -> dict[str, str]:
        """What a reader of the number wants to know, under its heading; only what is known."""
        from heedful.preregistration import in_order

        each = self.measure
        known = {
            "formula": each.formula,
            "range": in_words(each.range),
            "better": better(each.higher_is_better),
            "paper": "; ".join(entry.words for entry in in_order(each.papers)),
            "measured by": self.by,
        }
        return {name: value for name, value in known.items() if value}


def audit_measures() -> list[Measured]:
    """Every number in an audit's table."""
    numbered = _of_audits()
    return [Measured(name, each, by) for by, group in numbered for name, each in group.items()]


def measured_by(name: str, known: Mapping[str, Registry[Any]]) -> list[Measured]:
    """Everything that reports a number of this name; the nearest name it is declared under.
    Where there is none, numbers whose names begin with it: `deletion` is `deletion_auc`."""
    from heedful.auditing import declaration

    found, begun = [], []
    for by, measures in (*_of_audits(), *_of_pieces(known)):
        declared = declaration(name, measures)
        if declared is not None:
            found.append(Measured(name, measures[declared], by))
        start = f"{name}_"
        begun += [Measured(each, measures[each], by) for each in measures if each.startswith(start)]
    return found or begun


def measure_names(known: Mapping[str, Registry[Any]]) -> list[str]:
    return sorted({name for _, each in (*_of_audits(), *_of_pieces(known)) for name in each})


def _of_audits() -> Iterator[tuple[str, Mapping[str, Measure]]]:
    from heedful.auditing import ALWAYS, NUMBERS, SEEDS

    special = {ALWAYS: "heedful audit", SEEDS: f"heedful audit {SEEDS}"}
    for group, measures in NUMBERS.items():
        yield special.get(group, f"heedful audit ({group})"), measures


def _of_pieces(known: Mapping[str, Registry[Any]]) -> Iterator[tuple[str, Mapping[str, Measure]]]:
    for kind, registry in known.items():
        for entry in _entries(registry)[0]:
            if measures := measures_of(entry):
                yield f"{kind} {entry.name}", measures


@spread
def list_pieces(
    kind: str | None = argument("A kind of piece, or the name of a piece or a measure."),
    name: str | None = argument("Describe this piece of the kind."),
    as_json: JsonOption = False,
) -> None:
    """List everything there is by name, and every measure.

    Corpora, families of models and their parts, edits, probes, studies and more. `heedful list
    tvd`, or `heedful list metric tvd`, describes one of them: its formula, its range, what a
    higher value means, its cost and its limits. `heedful list flip_share` says what measures a
    number of that name.
    """
    known = catalogues()
    briefly = name is None and kind in (None, MEASURE, *known)
    pieces: dict[str, list[Entry]] = {}
    left_out: dict[str, list[str]] = {}
    measures: list[Measured] = []
    if kind == MEASURE:
        measures = audit_measures() if name is None else measured_by(name, {})
        if not measures:
            raise unknown_name(MEASURE, str(name), measure_names({}))
    elif briefly:
        for each in known if kind is None else [kind]:
            pieces[each], left_out[each] = _entries(known[each])
        measures = audit_measures() if kind is None else []
    else:
        named = name is not None or any(kind in registry for registry in known.values())
        measures = [] if named else measured_by(str(kind), known)  # `tvd` is both
        pieces = {} if measures else _named(known, str(kind), name)
    if as_json:
        document = {
            "pieces": [facts(each, entry) for each, there in pieces.items() for entry in there],
            "left_out": [why for reasons in left_out.values() for why in reasons],
        }
        numbers = [measure.facts() for measure in measures]
        show_json("list", {**document, "measures": numbers} if numbers else document)
        return
    for each, entries in pieces.items():
        if briefly:
            show(f"{each}:", *(line for entry in entries for line in _brief(entry)))
            show(*(f"  left out: {why}" for why in left_out[each]))
        else:
            show(*(line for entry in entries for line in _described(each, entry)))
    if measures and briefly:
        show(f"{MEASURE}:")
    show(*(line for each in measures for line in _measure_lines(each, briefly)))


def _named(known: dict[str, Registry[Any]], kind: str, name: str | None) -> dict[str, list[Entry]]:
    """The piece of a kind; or, by its name alone, those of any kind."""
    if name is not None and kind in known:
        return {kind: [known[kind][name]]}
    if name is not None:
        raise unknown_name("kind of piece", kind, list(known))
    entries = {each: [registry[kind]] for each, registry in known.items() if kind in registry}
    if not entries:  # it may have been meant as a kind, a piece or a measure
        names = [entry for registry in known.values() for entry in registry]
        close = meant(kind, [*known, *names, *measure_names(known)])
        kinds = ", ".join(sorted((*known, MEASURE)))
        raise HeedfulError(
            f"unknown kind of piece {kind!r}{close}: choose one of {kinds}, or name a piece or a "
            f"measure."
        )
    return entries


def _measure_lines(number: Measured, briefly: bool) -> Iterator[str]:
    measure = number.measure
    if briefly:
        papers = f" [{', '.join(measure.papers)}]" if measure.papers else ""
        yield f"  {number.name:<16} {measure.description}{papers}, by {number.by}"
        return
    yield f"{number.name}: {measure.description}"
    yield from (f"  {heading + ':':<14} {words}" for heading, words in number.reading().items())


def _described(kind: str, entry: Entry) -> Iterator[str]:
    yield f"{kind} {entry.name}: {entry.description}"
    yield from (f"  {heading + ':':<14} {words}" for heading, words in reading(kind, entry).items())
    for name, measure in measures_of(entry).items():
        parts = (in_words(measure.range), better(measure.higher_is_better))
        ways = "; ".join(part for part in parts if part)
        yield f"  {name:<18} {measure.description}{f' ({ways})' if ways else ''}"


def _entries(registry: Registry[Any]) -> tuple[list[Entry], list[str]]:
    """Those that can be loaded, and why others of installed packages cannot."""
    there, missing = [], []
    for name in registry:
        try:
            there.append(registry[name])
        except HeedfulError as error:
            missing.append(str(error))
    return there, missing


def _brief(entry: Entry) -> Iterator[str]:
    source = f" [{entry.paper}]" if entry.paper else ""
    origin = f" (from {entry.origin})" if entry.origin else ""
    yield f"  {entry.name:<16} {entry.description}{source}{origin}"
    if licence := getattr(entry, "licence", ""):
        yield f"  {'':<16} licence: {licence}"
        if entry.citation:
            yield f"  {'':<16} cite: {entry.citation}"


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
