"""The tables of an audit: rows of one batch, kept on disk batch by batch, read block by block.

One row per example and number, whatever was measured.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from heedful.auditing.explanation import Cost
from heedful.auditing.page_data import COLUMNS as SHOWN
from heedful.auditing.page_data import nothing, together
from heedful.experiments import Columns, Parts
from heedful.store import Frames, PartGone
from heedful.verdict import Settings, Verdict, judge

COLUMNS = (
    "model",
    "example",
    "cluster",
    "label",
    "predicted",
    "confidence",
    "length",
    "explanation",
    "operator",
    "measure",
    "value",
)
FACTS = ("example", "cluster", "label", "predicted", "confidence", "length")


@dataclass
class Table:
    """Gathers measures of one batch, on the device they were computed on: they leave it together.
    `facts` are the columns of what is known of each example before anything is measured."""

    facts: Columns
    _facts: list[Columns] = field(default_factory=list)
    _names: list[tuple[str, str, str, str]] = field(default_factory=list)
    _values: list[Tensor] = field(default_factory=list)

    def add(
        self,
        measures: Mapping[str, Tensor],
        explanation: str = "",
        operator: str = "",
        model: str = "base",
    ) -> None:
        """One number per example for each measure."""
        for measure, values in measures.items():
            self._facts.append(self.facts)
            self._names.append((model, explanation, operator, measure))
            self._values.append(values.detach().double())

    def of(self, rows: list[int]) -> Table:
        """An empty one for some of the examples."""
        return Table({name: column[rows] for name, column in self.facts.items()})

    def extend(self, other: Table) -> None:
        """Add what was measured on some of the examples."""
        self._facts += other._facts
        self._names += other._names
        self._values += other._values

    def rows(self) -> pd.DataFrame:
        if not self._values:
            return pd.DataFrame([], columns=list(COLUMNS))
        lengths, device = [len(values) for values in self._values], self._values[0].device
        names = np.empty((len(self._names), 4), dtype=object)
        names[:] = self._names
        text = zip(("model", "explanation", "operator", "measure"), names.T, strict=True)
        known = {name: np.concatenate([facts[name] for facts in self._facts]) for name in FACTS}
        columns = {
            **{name: column.repeat(lengths) for name, column in text},
            **known,
            "value": torch.cat([values.to(device) for values in self._values]).cpu().numpy(),
        }
        return pd.DataFrame(columns, columns=list(COLUMNS))


def ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """In an order that does not depend on batches."""
    keys = ["model", "explanation", "operator", "measure", "example"]
    return rows.sort_values(keys, kind="stable").reset_index(drop=True)


# Finished batches of an unfinished audit, kept on disk so that a second start goes on.


@dataclass(frozen=True)
class Part:
    """A batch: its rows, its maps, what they cost, what was skipped, and what a page shows."""

    rows: pd.DataFrame
    maps: pd.DataFrame
    costs: Mapping[str, Cost]
    skipped: Mapping[str, str]
    shown: pd.DataFrame = field(default_factory=nothing)
    documents: pd.DataFrame = field(default_factory=pd.DataFrame)


KINDS = ("rows", "maps", "shown", "documents", "costs")


def write_part(folder: Path, name: str, part: Part) -> None:
    given = (part.rows, part.maps, part.shown, part.documents, _cost_table(part))
    _parts(folder).write(name, dict(zip(KINDS, given, strict=True)))


def has_part(folder: Path, name: str) -> bool:
    return _parts(folder).has(name)


def read_part(folder: Path, name: str, ids: tuple[str, ...]) -> Part | None:
    """None where there is none, or where it is damaged or of other texts: measured again."""
    parts = _parts(folder)
    if not parts.has(name):
        return None
    try:
        rows, maps, shown, documents, costs = (parts.read(name, kind) for kind in KINDS)
        shown = shown[list(SHOWN)]
        whole = set(rows["example"]) == set(ids) == set(maps["example"])
        gone = costs[costs["skipped"] != ""]
        skipped = dict(zip(gone["explanation"], gone["skipped"], strict=True))
        part = Part(rows, maps, _costs(costs.drop(gone.index)), skipped, shown, documents)
        return part if whole and list(documents["example"]) == list(ids) else None
    except (PartGone, KeyError, ValueError):
        return None


def _parts(folder: Path) -> Parts:
    return Parts(folder, last="costs")


def _cost_table(part: Part) -> pd.DataFrame:
    return pd.DataFrame(
        [(n, c.seconds, c.passes, c.texts, "") for n, c in part.costs.items()]
        + [(n, 0.0, 0, 0, why) for n, why in part.skipped.items()],
        columns=["explanation", "seconds", "passes", "texts", "skipped"],
    )


def _costs(table: pd.DataFrame) -> Mapping[str, Cost]:
    return {
        str(line["explanation"]): Cost(
            float(line["seconds"]), int(line["passes"]), int(line["texts"])
        )
        for line in table.to_dict("records")
    }


# What has been measured so far: on disk, but for sums. So memory does not grow with texts.
#
# Texts come in random order, and every `BLOCK` of them make one block of each table. Within a
# block rows are in an order of their own, so that nothing depends on batches.


BLOCK = 1024


@dataclass
class Measurements:
    """The batches measured so far, whose parts are in the folder."""

    folder: Path
    texts: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    _costs: dict[str, Cost] = field(default_factory=dict)
    _blocks: list[list[str]] = field(default_factory=list)

    @staticmethod
    def temporary() -> Measurements:
        """In a folder that is gone when nobody holds this, or its tables, any more."""
        made = Measurements(Path(tempfile.mkdtemp(prefix="heedful-")))
        weakref.finalize(made, shutil.rmtree, made.folder, ignore_errors=True)
        return made

    @property
    def begun(self) -> bool:
        """Whether an earlier start has left something here."""
        return self.folder.is_dir() and any(self.folder.iterdir())

    def add(self, name: str, part: Part, texts: int) -> None:
        """A part that is in the folder under this name."""
        if self.texts % BLOCK == 0:
            self._blocks.append([])
        self._blocks[-1].append(name)
        self.texts += texts
        self.skipped |= part.skipped
        for explanation, cost in part.costs.items():
            self._costs.setdefault(explanation, Cost()).add(cost)

    def costs(self) -> pd.DataFrame:
        found = [
            (name, 1000 * each.seconds / max(1, each.texts), each.passes / max(1, each.texts))
            for name, each in self._costs.items()
        ]
        names = ["explanation", "milliseconds_per_text", "passes_per_text"]
        return pd.DataFrame(found, columns=names)

    def tables(self) -> dict[str, Frames]:
        """As far as they have been measured by now."""
        left_out = list(self.skipped)
        return {
            "rows": self._frames("rows", partial(_measured, left_out=left_out)),
            "maps": self._frames("maps", partial(_sorted, by=["explanation", "example"])),
            "documents": self._frames("documents", _in_place),
            "shown": self._frames("shown", together, blocks=1),  # of the first texts alone
            "costs": Frames.of(self.costs()),
        }

    def _frames(
        self,
        kind: str,
        join: Callable[[list[pd.DataFrame]], pd.DataFrame],
        blocks: int | None = None,
    ) -> Frames:
        chosen = self._blocks[:blocks]

        def made() -> Iterator[pd.DataFrame]:
            for names in chosen:
                yield join([_parts(self.folder).read(name, kind) for name in names])

        return Frames(made)


def _measured(parts: list[pd.DataFrame], left_out: list[str]) -> pd.DataFrame:
    """Without those of explanations that were skipped on some texts: an explanation is
    measured on all texts or on none."""
    rows = pd.concat(parts, ignore_index=True)
    return ordered(rows[~rows["explanation"].isin(left_out)])


def _sorted(parts: list[pd.DataFrame], by: list[str]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True).sort_values(by, kind="stable", ignore_index=True)


def _in_place(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """As the data has them."""
    return _sorted(parts, ["place"]).drop(columns="place")


# How much of what was measured is decided on and shown, and what the notes say of it.


MANY_CLASSES = 1000
MOST_JUDGED = 10 * BLOCK
"""Where more texts would hardly narrow an interval, and would be paid for in memory."""


def judge_rows(
    rows: Frames, costs: pd.DataFrame, facts: dict[str, Any], settings: Settings
) -> Verdict:
    """Of very many texts the first ones, which are a random sample. A vocabulary as classes
    would make up most of a verdict; the audit's facts have it."""
    many = len(facts["classes"]) > MANY_CLASSES
    shown = {name: facts[name] for name in facts if not (many and name == "classes")}
    return judge(islice(rows, MOST_JUDGED // BLOCK), costs, shown, settings)


def counted(measured: int, total: int) -> Iterator[str]:
    """What was not measured, decided on or shown."""
    if measured < total:
        yield f"stopped early: {measured} of {total} texts were measured (--all: all of them)."
    if measured > MOST_JUDGED:
        yield f"decided on {MOST_JUDGED:,} of the {measured:,} texts measured, a random sample."
    if measured > BLOCK:
        yield f"single texts and charts are of {BLOCK:,} of the texts, a random sample."
