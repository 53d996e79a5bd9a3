"""`heedful list`: every piece there is."""

from __future__ import annotations

from typing import Annotated

import typer

from heedful.catalogue import Catalogue, Piece
from heedful.cli.list_facts import facts, measured, reading
from heedful.cli.list_measures import Measured, audit_measures, measure_names, measured_by
from heedful.cli.options import JsonOption
from heedful.cli.terminal import show, show_json
from heedful.errors import HeedfulError, meant, unknown_name

MEASURE = "measure"
"""What an audit writes into its table: no pieces, but named and described like them."""


def list_pieces(
    kind: Annotated[
        str | None,
        typer.Argument(help="Only pieces of this kind; or the name of a piece or a measure."),
    ] = None,
    name: Annotated[
        str | None, typer.Argument(help="All that is known of this piece of the kind.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Name every piece: corpora, families of models and their parts, edits, probes, studies …
    and every measure of an audit.

    `heedful list metric tvd`, or `heedful list tvd`, tells all about one: its formula, its range,
    what a higher value means, what it costs and what it does not say. `heedful list flip_share`
    tells what measures a number of that name.
    """
    known = catalogues()
    if kind == MEASURE:
        _show_measures(_measures_named(name), as_json, name is None)
        return
    if name is not None or kind not in (None, *known):
        numbers = measured_by(str(kind), known) if _is_measure(known, kind, name) else []
        if numbers:
            _show_measures(numbers, as_json)
        else:
            _show_named(_named(known, kind, name), as_json)
        return
    chosen = {each: c for each, c in known.items() if kind in (None, each)}
    found = {name: _pieces(catalogue) for name, catalogue in chosen.items()}
    if as_json:
        pieces = [facts(name, piece) for name, (there, _) in found.items() for piece in there]
        left_out = [why for _, missing in found.values() for why in missing]
        measures = [each.facts() for each in audit_measures()] if kind is None else []
        document = {"pieces": pieces, "left_out": left_out}
        show_json("list", {**document, "measures": measures} if measures else document)
        return
    for name, (there, missing) in found.items():
        show(f"{name}:")
        for piece in there:
            _show(piece)
        for why in missing:
            show(f"  left out: {why}")
    if kind is None:
        _show_measures(audit_measures(), False, True)


def _named(
    known: dict[str, Catalogue], kind: str | None, name: str | None
) -> list[tuple[str, Piece]]:
    """The piece of a kind; or, by its name alone, those of any kind."""
    if name is not None and kind in known:
        return [(kind, known[kind][name])]
    found = [(each, c[str(kind)]) for each, c in known.items() if kind in c]
    if name is not None:
        raise unknown_name("kind of piece", str(kind), list(known))
    if not found:
        raise _unknown(str(kind), known)
    return found


def _unknown(name: str, known: dict[str, Catalogue]) -> HeedfulError:
    """It may have been meant as a kind, a piece or a measure."""
    pieces = [each for catalogue in known.values() for each in catalogue]
    close = meant(name, [*known, *pieces, *measure_names(known)])
    kinds = ", ".join(sorted((*known, MEASURE)))
    return HeedfulError(
        f"unknown kind of piece {name!r}{close}: choose one of {kinds}, or name a piece or a "
        f"measure."
    )


def _is_measure(known: dict[str, Catalogue], kind: str | None, name: str | None) -> bool:
    """Pieces come first: `tvd` is a metric, and a number of many probes."""
    return name is None and not any(kind in catalogue for catalogue in known.values())


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
        for heading, words in each.reading().items():
            show(f"  {heading + ':':<14} {words}")


def _show_named(found: list[tuple[str, Piece]], as_json: bool) -> None:
    if as_json:
        show_json("list", {"pieces": [facts(kind, piece) for kind, piece in found], "left_out": []})
        return
    for kind, piece in found:
        show(f"{kind} {piece.name}: {piece.description}")
        for heading, words in reading(kind, piece).items():
            show(f"  {heading + ':':<14} {words}")
        for name, measure in piece.measures.items():
            ways = measured(measure)
            show(f"  {name:<18} {measure.description}{f' ({ways})' if ways else ''}")


def _pieces(catalogue: Catalogue) -> tuple[list[Piece], list[str]]:
    """Those that can be loaded, and why others of installed packages cannot."""
    there, missing = [], []
    for name in catalogue:
        try:
            there.append(catalogue[name])
        except HeedfulError as error:
            missing.append(str(error))
    return there, missing


def _show(piece: Piece) -> None:
    source = f" [{piece.paper}]" if piece.paper else ""
    origin = f" (from {piece.origin})" if piece.origin else ""
    show(f"  {piece.name:<16} {piece.description}{source}{origin}")
    if piece.licence:
        show(f"  {'':<16} licence: {piece.licence}")
    if piece.licence and piece.citation:
        show(f"  {'':<16} cite: {piece.citation}")


def catalogues() -> dict[str, Catalogue]:
    """Every kind of piece, in the order of a table of contents."""
    from heedful.corpora import CORPORA
    from heedful.edits import EDITS
    from heedful.experiments import PROBES
    from heedful.metrics import METRICS
    from heedful.models import ATTENTIONS, ENCODERS, FAMILIES, WRAPPERS
    from heedful.removal import REMOVALS
    from heedful.report import FIGURES
    from heedful.saliency import SALIENCIES
    from heedful.studies import STUDIES
    from heedful.training import STATE_TERMS, TERMS

    models = (CORPORA, FAMILIES, ENCODERS, WRAPPERS, ATTENTIONS, EDITS, REMOVALS)
    trained = (TERMS, STATE_TERMS)
    every = (*models, *trained, SALIENCIES, METRICS, PROBES, STUDIES, FIGURES)
    return {catalogue.kind: catalogue for catalogue in every}
