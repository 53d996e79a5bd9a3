"""What a repair leaves: a table, a picture, a page, and the chosen model ready to be loaded."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.repair.choice import Choice
from heedful.report import check_packages
from heedful.store import Run, Store, output_folder, refusals, store_of, to_csv, write_file

COLUMNS = [
    "method", "quantity", "estimate", "low", "high", "lower_is_better", "decision",
    "dominated_by", "note",
]  # fmt: skip
REPAIR = "repair"
"""The kind of folder."""
MODEL = "model"
"""The folder of the chosen model: a small store with its run and its corpus."""


@dataclass(frozen=True)
class Entrant:
    """A method, its model by name, what it does, and the trained models, a seed each."""

    method: str
    model: str
    does: str
    runs: tuple[Run, ...]

    @property
    def best(self) -> Run:
        """The seed that did best on dev, which no score and no audit has seen."""
        return max(self.runs, key=lambda run: float(run.table("history")["dev_score"].max()))


@dataclass(frozen=True)
class Repair:
    table: pd.DataFrame
    entrants: tuple[Entrant, ...]
    chosen: Choice
    facts: Mapping[str, Any]

    @property
    def model(self) -> Run:
        """The chosen method's model: of its seeds the best on dev."""
        return next(each for each in self.entrants if each.method == self.chosen.method).best

    def as_parts(self) -> dict[str, Any]:
        """Plain values and the table, for the page, which knows no torch."""
        return {
            "table": self.table,
            "methods": [
                {
                    "method": each.method,
                    "model": each.model,
                    "does": each.does,
                    "runs": [run.key for run in each.runs],
                }
                for each in self.entrants
            ],
            "chosen": self.chosen.method,
            "sentence": self.chosen.sentence,
            "facts": dict(self.facts),
        }

    def save(self, folder: str | Path) -> Path:
        """`repair.csv` and the chosen model, whole or not at all; then they are drawn, as
        `repair.svg` and `repair.html`. An earlier repair makes way."""
        out = Path(folder)
        check_packages()
        refused = refusals(f"write the repair to {out}", "make room or give another folder with -o")
        with refused:
            with output_folder(out, REPAIR) as building:
                self._write(building)
            self._draw(out)
        return out

    def _write(self, folder: Path) -> None:
        taken = Store(folder / MODEL)
        for run in (upstream(self.model), self.model):
            taken.adopt(run.path)
        shutil.rmtree(folder / MODEL / "scratch", ignore_errors=True)
        (folder / "repair.csv").write_text(to_csv(self.table), encoding="utf8", newline="\n")

    def _draw(self, folder: Path) -> None:
        from heedful.report import repair_page, repair_svg

        parts = {**self.as_parts(), "load": load_line(folder / MODEL, self.model)}
        write_file(folder / "repair.svg", repair_svg(parts))
        write_file(folder / "repair.html", repair_page(parts))


def upstream(run: Run) -> Run:
    """The corpus of a model, which it cannot be opened without."""
    return store_of(run).open(run.source("corpus"))


def load_line(store: str | Path, run: Run) -> str:
    """Python that opens a model."""
    inside = f"restored(store_at({str(store)!r}).open({run.key!r}))"
    return (
        f"from heedful.edits import restored; from heedful.store import store_at; model = {inside}"
    )
