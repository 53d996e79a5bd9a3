"""The cost model applied: the full grid of all studies, and an audit of very many texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from bench.cost_model import (
    SIZES,
    Asked,
    Fit,
    Needs,
    Point,
    dev,
    dimension,
    standing_in,
    trained_alike,
)
from bench.cost_times import fits, probe_key
from heedful.models import build
from heedful.runner import Recipe
from heedful.specs import ModelSpec
from heedful.store import canonical

NUMBER = 4  # bytes
FORWARD = 1 / 3  # of an update, without slopes
BILLION, WORDS = 10**9, 20
WIDTHS = (0.05, 0.01, 0.001)
FOLDER = 10**7  # names in a folder of ext4 without `large_dir`, about
MONTH = 30 * 24 * 3600.0
Facts = Mapping[str, Any]


def studies(found: Needs, facts: Facts) -> list[dict[str, Any]]:
    """By study, what it needs beyond the studies before it; whole epochs, stopped by nothing."""
    table: dict[str, dict[str, Any]] = {
        name: {"study": name, "cells": cells, **dict.fromkeys(COLUMNS, 0.0)}
        for name, cells in found.cells.items()
    }
    once = facts["runs"][0]
    updates, probes = fits(facts["training"], "spec"), fits(facts["probes"], "key")
    left = fits(facts["probes"], "key", "bytes")
    for (corpus, recipe), study in found.models.items():
        row, known = table[study], updates.get(canonical(trained_alike(recipe.model)))
        row["models"] += 1
        row["unknown"] += known is None
        row["training_seconds"] += once["seconds"] + training_seconds(corpus, recipe, known)
        row["bytes"] += once["bytes"] + NUMBER * numbers(corpus, recipe.model)
    for study, asked in found.probes.values():
        row, key = table[study], probe_key(asked.model, asked.probe)
        row["probes"] += 1
        row["unknown"] += key not in probes
        if key in probes:
            row["probing_seconds"] += once["seconds"] + probes[key].predict(_tested(asked))
            row["bytes"] += once["bytes"] + left[key].predict(_tested(asked))
    return list(table.values())


COLUMNS = ("models", "probes", "training_seconds", "probing_seconds", "bytes", "unknown")


def longest(found: Needs, facts: Facts) -> dict[str, Any]:
    """The training that takes most: it is one job, and no number of devices shortens it."""
    known = fits(facts["training"], "spec")
    spent = {
        f"{recipe.model.name} on {corpus}": training_seconds(
            corpus, recipe, known.get(canonical(trained_alike(recipe.model)))
        )
        for corpus, recipe in found.models
    }
    title = max(spent, key=lambda name: spent[name])
    return {"title": title, "seconds": spent[title]}


def total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    sums: dict[str, Any] = defaultdict(float, study="all")
    for row in rows:
        for name in ("cells", *COLUMNS):
            sums[name] += row[name]
    return dict(sums)


def training_seconds(corpus: str, recipe: Recipe, known: Fit | None) -> float:
    """Every update of every epoch, and the dev split forwards."""
    if known is None:
        return 0.0
    size, batch = SIZES[corpus], recipe.train.batch_size
    point = Point(0, size.length, size.second, batch, size.vocabulary, dimension(corpus))
    updates = -(-size.train // batch) + FORWARD * dev(corpus) / batch
    return recipe.train.epochs * updates * known.predict(point)


def _tested(asked: Asked) -> Point:
    size = SIZES[asked.corpus]
    words, width = size.vocabulary, dimension(asked.corpus)
    return Point(size.test, size.length, size.second, 0, words, width)


@cache
def numbers(corpus: str, model: ModelSpec) -> int:
    """A model's numbers: a line in the size of the vocabulary, by two that are built."""
    small, large = (_built(corpus, model, words) for words in (50, 100))
    return small + (large - small) * (SIZES[corpus].vocabulary - 50) // 50


def _built(corpus: str, model: ModelSpec, words: int) -> int:
    data = standing_in(corpus, 4, 6, words)
    made = build(model, data.vectors, data.classes, 0)
    return sum(each.numel() for each in made.parameters())


def audit(facts: Facts, texts: int = BILLION, words: int = WORDS) -> dict[str, Any]:
    """Of short texts, each measured in full."""
    row = facts["audit"][0]
    point = Point(texts, words + 2)  # a start and an end
    return {
        "texts": texts,
        "words": words,
        "seconds": Fit(row["constants"]).predict(point),
        "bytes": Fit(row["bytes"]).predict(point),
    }


def enough(facts: Facts) -> list[dict[str, Any]]:
    """So many texts drawn at random give 95% intervals of a half-width, and what they cost."""
    spread = max(facts["audit"][0]["spread"].values())
    found = []
    for width in WIDTHS:
        texts = max(1, round((1.96 * spread / width) ** 2))
        found.append({"width": width, "spread": spread, **audit(facts, texts)})
    return found


def breaks(facts: Facts) -> list[dict[str, Any]]:
    """What ends first on the machine where memory was measured, and at how many texts."""
    each = {row["what"]: row["each"] for row in facts["memory"]}
    one = {name: value / BILLION for name, value in audit(facts).items() if name != "texts"}
    machine = facts["machines"]["memory"]
    limits = {
        "memory of opened texts": (each["opened bytes"], machine["memory_bytes"]),
        "memory of the audit beside them": (each["audit peak bytes"], machine["memory_bytes"]),
        "files of an unfinished audit in one folder": (each["unfinished files"], FOLDER),
        "disk for the finished audit": (one["bytes"], machine["disk_bytes"]),
        "a month of the device": (one["seconds"], MONTH),
    }
    rows = [
        {"what": what, "each": cost, "limit": limit, "at": limit / cost if cost > 1e-9 else None}
        for what, (cost, limit) in limits.items()
    ]
    return sorted(rows, key=lambda row: row["at"] or float("inf"))
