"""Small multiples: the panels of one figure, a group for each corpus and a panel for each model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.panels import CLASSES, Figure, Group, Panel, class_colour
from heedful.studies import dataset_name

Draw = Callable[[pd.DataFrame], Any]
Legend = tuple[tuple[str, str], ...]


ANY = -2
"""Stands for the predicted class where there are more than colours; even, as class 0 is."""


@dataclass(frozen=True)
class Words:
    """A figure's name, title, caption and the noun its panels are about."""

    name: str
    title: str
    caption: str
    about: str
    nothing: str = ""

    def figure(self, groups: Iterable[Group], missing: str = "", wide: bool = False) -> Figure:
        """The figure; where there is nothing to see it says so."""
        drawn = tuple(groups)
        if not drawn:
            missing = missing or self.nothing or f"{self.about} was not measured."
        return Figure(self.name, self.title, self.caption, drawn, missing, wide)

    def of_panels(
        self, panels: Iterable[tuple[str, Panel]], legend: Legend, wide: bool = False
    ) -> Figure:
        """A group for each corpus, of the panels that come with its name."""
        groups: dict[str, list[Panel]] = {}
        for corpus, panel in panels:
            groups.setdefault(dataset_name(corpus), []).append(panel)
        drawn = (Group(name, legend, tuple(group)) for name, group in groups.items())
        return self.figure(drawn, wide=wide)


def small_multiples(
    evidence: Evidence, rows: pd.DataFrame, words: Words, draw: Draw, legend: Legend | None = None
) -> Figure:
    """Panels over the defined rows; undefined ones are counted, and what is empty says so."""
    if rows.empty:
        return words.figure(())
    rows = folded(evidence, rows)
    defined = rows[np.isfinite(rows["value"].to_numpy(dtype=float))]
    if defined.empty:
        return words.figure((), f"{words.about} is undefined for all {len(rows)} texts.")
    groups = []
    for corpus, part in defined.groupby("corpus", sort=False):
        panels = tuple(
            Panel(str(model), draw(cell), _says(words.about, cell, str(model)))
            for model, cell in part.groupby("label", sort=False)
        )
        names = legend or class_legend(evidence, str(corpus), part)
        groups.append(Group(dataset_name(str(corpus)), names, panels))
    lost = len(rows) - len(defined)
    missing = f"{lost} of {len(rows)} values are undefined and left out." if lost else ""
    return words.figure(groups, missing)


def by_corpus(
    words: Words,
    table: pd.DataFrame,
    legend: Legend,
    panels: Callable[[pd.DataFrame], Iterable[Panel]],
    corpus: str = "corpus",
    wide: bool = False,
) -> Figure:
    """A group for each name in the column `corpus`, with the panels of its lines."""
    parts = table.groupby(corpus, sort=False)
    drawn = ((str(name), panel) for name, part in parts for panel in panels(part))
    return words.of_panels(drawn, legend, wide)


def painted(names: pd.Series, roles: Mapping[str, tuple[str, str]]) -> pd.Series:
    """The colour of each name; `roles` has words and a colour for it."""
    return names.map({name: colour for name, (_, colour) in roles.items()})


def folded(evidence: Evidence, rows: pd.DataFrame) -> pd.DataFrame:
    """Classes are not told apart where they are the words of a text that is written, or more
    than there are colours."""
    if rows.empty:
        return rows
    few = rows.groupby("corpus")["predicted"].transform("nunique") <= len(CLASSES)
    written = [name for name in rows["corpus"].unique() if evidence.writes(str(name))]
    told = few & ~rows["corpus"].isin(written)
    return rows.assign(predicted=rows["predicted"].where(told, ANY))


def class_legend(evidence: Evidence, corpus: str, rows: pd.DataFrame) -> Legend:
    """Colours of the predicted classes, with their names where the corpus gives them."""
    names = evidence.label_names(corpus)
    return tuple(
        (
            "any prediction" if label == ANY else f"predicted {names.get(label, f'class {label}')}",
            class_colour(label),
        )
        for label in sorted(rows["predicted"].unique().astype(int))
    )


def _says(about: str, cell: pd.DataFrame, model: str) -> str:
    values = cell["value"]
    means = "; ".join(
        f"{measure} mean {part['value'].mean():.2f}" for measure, part in cell.groupby("measure")
    )
    texts, seeds = cell["example"].nunique(), cell["seed"].nunique()
    of_seeds = f" and {seeds} seeds" if seeds > 1 else ""
    return (
        f"{about}, {model}: {texts} texts{of_seeds}; {means}; "
        f"from {values.min():.2f} to {values.max():.2f}."
    )
