"""`heedful list`: every piece there is, and every number that is measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from heedful.cli.catalogue import (
    MEASURE,
    PROPERTY,
    Catalogue,
    Described,
    better,
    catalogue,
    in_words,
)
from heedful.cli.options import JsonOption, argument, spread
from heedful.cli.output import next_step, show_result
from heedful.cli.tables import Table, show_prose, show_table
from heedful.errors import HeedfulError, meant, unknown_name

_COLUMNS = ("name", "is", "paper", "licence", "from")


@spread
def list_pieces(
    kind: str | None = argument("A kind of piece, or the name of a piece or a measure."),
    name: str | None = argument("Describe this piece of the kind."),
    as_json: JsonOption = False,
) -> None:
    """List everything there is by name, and every measure.

    Corpora, models and their parts, edits, probes, properties of a verdict and more. `heedful list
    tvd`, or `heedful list metric tvd`, describes one of them: its formula, its range, what a
    higher value means, its cost and its limits. `heedful list flip_share` says what measures a
    number of that name.

    Examples:
    heedful list corpus
    heedful list integrated_gradients
    heedful list --json
    """
    known = catalogue()
    kinds = list(dict.fromkeys(piece.kind for piece in known.pieces))
    briefly = name is None and kind in (None, MEASURE, *kinds)
    chosen = [] if kind == MEASURE else kinds if kind is None else [kind]
    left_out = [why for each in chosen for why in known.left_out.get(each, ())] if briefly else []
    if briefly:
        pieces = [piece for each in chosen for piece in known.of_kind(each)]
        measures = known.of_audits() if kind in (None, MEASURE) else []
    else:
        pieces, measures = _named(known, str(kind), name)
    document = {"pieces": [dict(piece.facts) for piece in pieces], "left_out": left_out}
    if measures:
        document["measures"] = [dict(measure.facts) for measure in measures]
    if show_result("list", as_json, document):
        return
    if briefly:
        _list_briefly(known, chosen)
        if measures:
            _table_of(MEASURE, measures, _measure_lines(measures))
        next_step("`heedful list NAME` says all about one of them.")
    else:
        for each in (*pieces, *measures):
            _show_described(each)


def _named(
    known: Catalogue, kind: str, name: str | None
) -> tuple[list[Described], list[Described]]:
    """The piece of a kind; or, by its name alone, those of any kind, or else numbers."""
    kinds = list(dict.fromkeys(piece.kind for piece in known.pieces))
    if kind == MEASURE:
        measures = known.measured(str(name), known.of_audits())
        if not measures:
            raise unknown_name(MEASURE, str(name), _names(known.of_audits()))
        return [], measures
    if name is not None and kind not in kinds:
        raise unknown_name("kind of piece", kind, kinds)
    if name is not None:
        pieces = [piece for piece in known.of_kind(kind) if piece.name == name]
        if not pieces:
            raise _unknown_piece(known, kind, name)
        return pieces, []
    pieces = [piece for piece in known.pieces if piece.name == kind]
    others = [piece for piece in pieces if piece.kind != PROPERTY]  # `importance` names numbers too
    measures = [] if others else known.measured(kind)  # `tvd` is both
    if pieces or measures:
        return pieces, measures
    # it may have been meant as a kind, a piece or a measure
    close = meant(kind, [*kinds, *(p.name for p in known.pieces), *_names(known.measures)])
    every = ", ".join(sorted((*kinds, MEASURE)))
    raise HeedfulError(
        f"unknown kind of piece {kind!r}{close}: choose one of {every}, or name a piece or a "
        f"measure."
    )


def _unknown_piece(known: Catalogue, kind: str, name: str) -> HeedfulError:
    """Why a package's entry was left out, where it is one; otherwise the names there are."""
    broken = [why for why in known.left_out.get(kind, ()) if f" {name!r} " in why]
    if broken:
        return HeedfulError(broken[0])
    return unknown_name(kind, name, [piece.name for piece in known.of_kind(kind)])


def _names(measures: Iterable[Described]) -> list[str]:
    return sorted({measure.name for measure in measures})


def _list_briefly(known: Catalogue, kinds: list[str]) -> None:
    for kind in kinds:
        pieces = known.of_kind(kind)
        _table_of(kind, pieces, _brief(pieces))
        show_prose(*(f"  left out: {why}" for why in known.left_out.get(kind, ())))


def _table_of(kind: str, entries: Sequence[Described], plain: Iterable[str]) -> None:
    """Where one entry of a kind has a licence or a package it comes from, there is a column."""
    cells = [(each.name, each.facts["description"], *_sources(each.facts)) for each in entries]
    there = [place for place in range(len(_COLUMNS)) if any(row[place] for row in cells)]
    columns = [_COLUMNS[place] for place in there]
    rows = [[row[place] for place in there] for row in cells]
    show_table(Table(columns, rows, kind), [f"{kind}:", *plain])


def _sources(facts: Mapping[str, Any]) -> tuple[str, str, str]:
    paper = facts.get("paper") or ", ".join(facts.get("papers", ()))
    return paper, facts.get("licence") or "", facts.get("origin") or facts.get("by", "")


def _brief(pieces: Sequence[Described]) -> Iterator[str]:
    width = _width(pieces)
    for piece in pieces:
        facts = piece.facts
        source = f" [{facts['paper']}]" if facts["paper"] else ""
        origin = f" (from {facts['origin']})" if facts["origin"] else ""
        yield f"  {piece.name:<{width}} {facts['description']}{source}{origin}"
        if facts["licence"]:
            yield f"  {'':<{width}} licence: {facts['licence']}"
            if facts["citation"]:
                yield f"  {'':<{width}} cite: {facts['citation']}"


def _measure_lines(measures: Sequence[Described]) -> Iterator[str]:
    width = _width(measures)
    for measure in measures:
        facts = measure.facts
        papers = f" [{', '.join(facts['papers'])}]" if facts["papers"] else ""
        yield f"  {measure.name:<{width}} {facts['description']}{papers}, by {facts['by']}"


def _width(entries: Iterable[Described]) -> int:
    """Of the longest name, so that descriptions stand below each other."""
    return max(16, *(len(each.name) for each in entries))


def _show_described(each: Described) -> None:
    lines = list(_described(each))
    count = len(each.facts.get("measures", {}))
    show_prose(*lines[: len(lines) - count])
    if count:
        rows = [
            (name, one["description"], in_words(one["range"]), better(one["higher_is_better"]))
            for name, one in each.facts["measures"].items()
        ]
        show_table(Table(("measure", "is", "range", ""), rows), lines[-count:])


def _described(each: Described) -> Iterator[str]:
    kind = "" if each.kind == MEASURE else f"{each.kind} "
    yield f"{kind}{each.name}: {each.facts['description']}"
    yield from (f"  {heading + ':':<14} {words}" for heading, words in each.reading.items())
    for name, measure in each.facts.get("measures", {}).items():
        parts = (in_words(measure["range"]), better(measure["higher_is_better"]))
        ways = "; ".join(part for part in parts if part)
        yield f"  {name:<18} {measure['description']}{f' ({ways})' if ways else ''}"
