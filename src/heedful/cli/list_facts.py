"""What is known of a piece: for programs, for a terminal, and for the reference pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from heedful.catalogue import Measure, Piece, Range

PAPERS: Mapping[str, str] = {
    "bastings2020": "Bastings & Filippova 2020, The elephant in the interpretability room: Why use "
    "attention as explanation when we have saliency methods?, BlackboxNLP",
    "deyoung2020": "DeYoung et al. 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models, "
    "ACL",
    "och2003": "Och & Ney 2003, A Systematic Comparison of Various Statistical Alignment Models, "
    "Computational Linguistics",
    "smilkov2017": "Smilkov et al. 2017, SmoothGrad: removing noise by adding noise",
}
"""Beside those that are studies, which know their own."""


def facts(kind: str, piece: Piece) -> dict[str, Any]:
    """For programs; what a piece does not say is null."""
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
        "measures": {name: asdict(measure) for name, measure in piece.measures.items()},
        "formula": piece.formula or None,
        "range": piece.range,
        "higher": piece.higher or None,
        "cost": piece.cost or None,
        "limits": piece.limits or None,
        "origin": piece.origin or None,
        "licence": piece.licence or None,
        "citation": piece.citation or None,
    }


def reading(kind: str, piece: Piece) -> dict[str, str]:
    """What a reader of a piece's numbers wants to know, under its heading; only what is known."""
    known = {
        "kind": piece.kind if kind == "corpus" else "",
        "formula": piece.formula,
        "range": in_words(piece.range),
        "higher means": piece.higher,
        "better": better(piece.higher_is_better) if kind == "metric" else "",
        "needs": ", ".join(piece.needs),
        "made with": ", ".join(_used(name) for name in piece.uses or ()),
        "cost": piece.cost,
        "limits": piece.limits,
        "bounds": "; ".join(f"{name} {in_words(each)}" for name, each in piece.bounds.items()),
        "paper": cited(piece),
        "licence": piece.licence,
        "from": piece.origin,
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


def cited(piece: Piece) -> str:
    """The paper by its whole name, and what else is to be cited."""
    from heedful.studies import STUDIES

    name = piece.paper.split(",")[0]
    whole = STUDIES[name].citation if name in STUDIES else PAPERS.get(name, piece.paper)
    if piece.citation and piece.citation.startswith(piece.paper):
        return piece.citation
    return "; ".join(dict.fromkeys(part for part in (whole, piece.citation) if part))


def _number(value: float) -> str:
    if abs(value) == math.log(2):
        return "ln 2" if value > 0 else "−ln 2"
    whole = isinstance(value, int)
    return (f"{value:,}" if whole else f"{value:g}").replace("-", "−")
