"""`heedful list`: every piece there is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from heedful.catalogue import Catalogue, Piece
from heedful.cli.options import JsonOption
from heedful.cli.terminal import show, show_json
from heedful.errors import unknown_name


def list_pieces(
    kind: Annotated[str | None, typer.Argument(help="Only pieces of this kind.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Name every piece: corpora, families of models and their parts, edits, probes, studies …"""
    catalogues = _catalogues()
    if kind is not None and kind not in catalogues:
        raise unknown_name("kind of piece", kind, list(catalogues))
    chosen = {name: c for name, c in catalogues.items() if kind in (None, name)}
    if as_json:
        pieces = [_facts(name, c[key]) for name, c in chosen.items() for key in c]
        show_json("list", {"pieces": pieces})
        return
    for name, catalogue in chosen.items():
        show(f"{name}:")
        for key in catalogue:
            piece = catalogue[key]
            source = f" [{piece.paper}]" if piece.paper else ""
            show(f"  {key:<16} {piece.description}{source}")
            if piece.licence:
                show(f"  {'':<16} licence: {piece.licence}")
            if piece.licence and piece.citation:
                show(f"  {'':<16} cite: {piece.citation}")


def _catalogues() -> dict[str, Catalogue]:
    from heedful.corpora import CORPORA
    from heedful.edits import EDITS
    from heedful.metrics import METRICS
    from heedful.models import ATTENTIONS, ENCODERS, FAMILIES, WRAPPERS
    from heedful.probes import PROBES
    from heedful.removal import REMOVALS
    from heedful.report.figures import FIGURES
    from heedful.saliency import SALIENCIES
    from heedful.studies import STUDIES
    from heedful.training.finetune_terms import STATE_TERMS
    from heedful.training.terms import TERMS

    models = (CORPORA, FAMILIES, ENCODERS, WRAPPERS, ATTENTIONS, EDITS, REMOVALS)
    trained = (TERMS, STATE_TERMS)
    every = (*models, *trained, SALIENCIES, METRICS, PROBES, STUDIES, FIGURES)
    return {catalogue.kind: catalogue for catalogue in every}


def _facts(kind: str, piece: Piece) -> dict[str, Any]:
    measures = {
        name: {
            "description": m.description,
            "higher_is_better": m.higher_is_better,
            "signed": m.signed,
        }
        for name, m in piece.measures.items()
    }
    return {
        "kind": kind,
        "name": piece.name,
        "description": piece.description,
        "version": piece.version,
        "paper": piece.paper or None,
        "needs": list(piece.needs),
        "sites": piece.sites,
        "signed": piece.signed,
        "higher_is_better": piece.higher_is_better,
        "measures": measures,
        "licence": piece.licence or None,
        "citation": piece.citation or None,
    }
