"""The texts of a page, as data for its scripts: an index, texts by corpus, numbers by model."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from heedful.report.examples.assembled import Assembled, assembled
from heedful.report.examples.cell import Cell, Map
from heedful.report.examples.choice import NUMBERS, chosen
from heedful.report.examples.classes import few_classes
from heedful.report.examples.corpora import by_corpus, class_names
from heedful.report.examples.plain import Blob, number, text
from heedful.report.examples.runs import told_apart
from heedful.report.holder import Holder
from heedful.studies import dataset_name

MEAN = 6
"""Significant digits of a mean."""


def put_examples(sheet: Holder, cells: Sequence[Cell], most: int = 500) -> bool:
    """At most so many texts in all, shared out evenly among the corpora; False where there is
    nothing to show. The index is the blob `examples`."""
    groups = by_corpus(told_apart(cells))
    corpora: list[Blob] = []
    models: list[Blob] = []
    for group in groups:
        names = chosen(group, max(1, most // len(groups)), NUMBERS // len(groups))
        found = assembled(group, names)
        key = f"c{len(corpora)}"
        corpora.append(_corpus(sheet, key, group, found))
        for place, cell in enumerate(group):
            models.append(_model(sheet, f"m{len(models)}", key, cell, found, place))
    if models:
        sheet.put("examples", {"corpora": corpora, "cells": models})
    return bool(models)


def _corpus(sheet: Holder, key: str, cells: Sequence[Cell], found: Assembled) -> Blob:
    classes = few_classes(class_names(cells), found)
    sheet.put(f"texts-{key}", {"texts": found.texts})
    return {
        "key": key,
        "name": text(dataset_name(cells[0].corpus)),
        "classes": [text(name) for name in classes],
        "texts": f"texts-{key}",
    }


def _model(sheet: Holder, key: str, corpus: str, cell: Cell, found: Assembled, place: int) -> Blob:
    examples, signed = found.examples[place], found.signed[place]
    sheet.put(f"cell-{key}", {"examples": examples})
    return {
        "key": key,
        "corpus": corpus,
        "model": text(cell.model),
        "seed": text(cell.seed),
        "source": cell.source,
        "blob": f"cell-{key}",
        "shown": len(examples),
        "of": len(cell.names),
        "maps": [_map(each, signed) for each in cell.maps],
        "measures": [
            {"key": m.key, "title": text(m.title), "descending": m.descending}
            for m in cell.measures
        ],
        "means": _means(cell),
        "note": text(cell.note),
        **({"run": text(cell.run)} if cell.run else {}),
        **({"audit": cell.audit} if cell.audit is not None else {}),
    }


def _map(each: Map, signed: Collection[str]) -> Blob:
    """What is not there is false, or nothing."""
    more = {"measure": each.measure, "searched": each.searched, "weights": each.weights}
    return {
        "key": each.key,
        "title": text(each.title),
        "signed": each.key in signed,
        "kind": each.kind,
        **{name: value for name, value in more.items() if value},
    }


def _means(cell: Cell) -> Blob:
    found = {key: number(value, MEAN) for key, value in cell.means.items()}
    return {key: value for key, value in found.items() if value is not None}
