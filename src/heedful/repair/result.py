"""What a repair leaves: a table, a picture, a page, and the chosen model ready to be loaded."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.errors import HeedfulError
from heedful.repair.choice import Choice
from heedful.report.extra import need
from heedful.store import Run, Store, store_of
from heedful.store.csv_jsonl import to_csv
from heedful.store.files import refusals, whole_folder

COLUMNS = [
    "method", "quantity", "estimate", "low", "high", "lower_is_better", "decision",
    "dominated_by", "note",
]  # fmt: skip
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
        """`repair.html`, `repair.csv`, `repair.svg` and the chosen model; whole or not at all."""
        out = Path(folder)
        check_target(out)
        refused = refusals(f"write the repair to {out}", "make room or give another folder with -o")
        with refused, whole_folder(out) as building:
            self._write(building, out)
        return out

    def _write(self, folder: Path, out: Path) -> None:
        from heedful.report.repair_page import repair_page, repair_svg

        taken = Store(folder / MODEL)
        for run in (upstream(self.model), self.model):
            taken.adopt(run.path)
        shutil.rmtree(folder / MODEL / "scratch", ignore_errors=True)
        parts = {**self.as_parts(), "load": load_line(out / MODEL, self.model)}
        texts = {
            "repair.csv": to_csv(self.table),
            "repair.svg": repair_svg(parts),
            "repair.html": repair_page(parts),
        }
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf8", newline="\n")


def upstream(run: Run) -> Run:
    """The corpus of a model, which it cannot be opened without."""
    return store_of(run).open(run.source("corpus"))


def load_line(store: str | Path, run: Run) -> str:
    """Python that opens a model."""
    inside = f"restored(store_at({str(store)!r}).open({run.key!r}))"
    return (
        "from heedful.edits.restored import restored; from heedful.store import store_at; "
        f"model = {inside}"
    )


def check_target(out: Path) -> None:
    """Before hours are spent on what then cannot be written."""
    for package in ("altair", "vl_convert", "jinja2"):
        need(package)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise HeedfulError(f"{out} is there already: give a new folder with -o.")
