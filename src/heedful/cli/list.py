"""`heedful list`: every piece there is, and every number that is measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from heedful.cli.options import JsonOption
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
    known = {
        "kind": getattr(entry, "kind", "") if kind == "corpus" else "",
        "formula": getattr(entry, "formula", ""),
        "range": in_words(getattr(entry, "range", None)),
        "higher means": getattr(entry, "higher", ""),
        "better": better(getattr(entry, "higher_is_better", None)),
        "needs": ", ".join(entry.needs),
        "made with": ", ".join(map(_used, getattr(entry, "uses", None) or ())),
        "cost": getattr(entry, "cost", ""),
        "limits": getattr(entry, "limits", ""),
        "bounds": "; ".join(bounds),
        "paper": cited(entry),
        "licence": getattr(entry, "licence", ""),
        "from": entry.origin,
    }
    return {name: value for name, value in known.items() if value}


def _used(name: str) -> str:
    return f"that of its parameter {name[1:]}" if name[:1] == "=" else name


def measured(measure: Measure) -> str:
    """How to read one number: its range, and which way is better."""
    parts = (in_words(measure.range), better(measure.higher_is_better))
    return "; ".join(part for part in parts if part)


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


def list_pieces(
    kind: Annotated[
        str | None,
        typer.Argument(help="A kind of piece, or the name of a piece or a measure."),
    ] = None,
    name: Annotated[str | None, typer.Argument(help="Describe this piece of the kind.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List everything there is by name, and every measure.

    Corpora, families of models and their parts, edits, probes, studies and more. `heedful list
    tvd`, or `heedful list metric tvd`, describes one of them: its formula, its range, what a
    higher value means, its cost and its limits. `heedful list flip_share` says what measures a
    number of that name.
    """
    known = catalogues()
    if kind == MEASURE:
        _show_measures(_measures_named(name), as_json, name is None)
        return
    if name is not None or kind not in (None, *known):
        named = name is not None or any(kind in registry for registry in known.values())
        numbers = [] if named else measured_by(str(kind), known)  # `tvd` is both
        if numbers:
            _show_measures(numbers, as_json)
        else:
            _show_named(_named(known, kind, name), as_json)
        return
    chosen = {each: c for each, c in known.items() if kind in (None, each)}
    found = {name: _entries(registry) for name, registry in chosen.items()}
    if as_json:
        pieces = [facts(name, entry) for name, (there, _) in found.items() for entry in there]
        left_out = [why for _, missing in found.values() for why in missing]
        measures = [each.facts() for each in audit_measures()] if kind is None else []
        document = {"pieces": pieces, "left_out": left_out}
        show_json("list", {**document, "measures": measures} if measures else document)
        return
    for name, (there, missing) in found.items():
        show(f"{name}:")
        for entry in there:
            _show(entry)
        show(*(f"  left out: {why}" for why in missing))
    if kind is None:
        _show_measures(audit_measures(), False, True)


def _named(
    known: dict[str, Registry[Any]], kind: str | None, name: str | None
) -> list[tuple[str, Entry]]:
    """The piece of a kind; or, by its name alone, those of any kind."""
    if name is not None and kind in known:
        return [(kind, known[kind][name])]
    found = [(each, c[str(kind)]) for each, c in known.items() if kind in c]
    if name is not None:
        raise unknown_name("kind of piece", str(kind), list(known))
    if not found:
        raise _unknown(str(kind), known)
    return found


def _unknown(name: str, known: dict[str, Registry[Any]]) -> HeedfulError:
    """It may have been meant as a kind, a piece or a measure."""
    pieces = [each for registry in known.values() for each in registry]
    close = meant(name, [*known, *pieces, *measure_names(known)])
    kinds = ", ".join(sorted((*known, MEASURE)))
    return HeedfulError(
        f"unknown kind of piece {name!r}{close}: choose one of {kinds}, or name a piece or a "
        f"measure."
    )


def _measures_named(name: str | None) -> list[Measured]:
    """All of an audit's, or those of a name."""
    if name is None:
        return audit_measures()
    found = measured_by(name, {})
    if not found:
        raise unknown_name(MEASURE, name, measure_names({}))
    return found


def _show_measures(found: list[Measured], as_json: bool, briefly: bool = False) -> None:
    if as_json:
        facts = [each.facts() for each in found]
        show_json("list", {"pieces": [], "left_out": [], "measures": facts})
        return
    if briefly:
        show(f"{MEASURE}:")
    for each in found:
        if briefly:
            papers = f" [{', '.join(each.measure.papers)}]" if each.measure.papers else ""
            show(f"  {each.name:<16} {each.measure.description}{papers}, by {each.by}")
            continue
        show(f"{each.name}: {each.measure.description}")
        show(*(f"  {heading + ':':<14} {words}" for heading, words in each.reading().items()))


def _show_named(found: list[tuple[str, Entry]], as_json: bool) -> None:
    if as_json:
        show_json("list", {"pieces": [facts(kind, entry) for kind, entry in found], "left_out": []})
        return
    for kind, entry in found:
        show(f"{kind} {entry.name}: {entry.description}")
        show(*(f"  {heading + ':':<14} {words}" for heading, words in reading(kind, entry).items()))
        for name, measure in measures_of(entry).items():
            ways = measured(measure)
            show(f"  {name:<18} {measure.description}{f' ({ways})' if ways else ''}")


def _entries(registry: Registry[Any]) -> tuple[list[Entry], list[str]]:
    """Those that can be loaded, and why others of installed packages cannot."""
    there, missing = [], []
    for name in registry:
        try:
            there.append(registry[name])
        except HeedfulError as error:
            missing.append(str(error))
    return there, missing


def _show(entry: Entry) -> None:
    source = f" [{entry.paper}]" if entry.paper else ""
    origin = f" (from {entry.origin})" if entry.origin else ""
    show(f"  {entry.name:<16} {entry.description}{source}{origin}")
    licence = getattr(entry, "licence", "")
    if licence:
        show(f"  {'':<16} licence: {licence}")
    if licence and entry.citation:
        show(f"  {'':<16} cite: {entry.citation}")


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
    trained = (TERMS, STATE_TERMS)
    every = (*models, *trained, SALIENCIES, METRICS, PROBES, STUDIES, FIGURES)
    return {registry.kind: registry for registry in every}
