"""Train, verify and score every cell."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.auditing import all_named
from heedful.benchmark.shortcuts.models import check_sources, corpus_of, models, sources
from heedful.benchmark.shortcuts.plan import CELL, COLUMNS, Cell, Setting, ShortcutPlan
from heedful.benchmark.shortcuts.score import find_words, summaries
from heedful.benchmark.shortcuts.show import read_rows
from heedful.benchmark.shortcuts.verify import accuracy, held_out_rows, verification
from heedful.corpora import CORPORA, SYNTHETIC, RawCorpus
from heedful.progress import Progress, silent
from heedful.runner import Machine, machine
from heedful.store import Run, Store, to_csv, write_text
from heedful.subjects import Span, Subject, open_subject, predicted

VERSION = 1
"""Goes up whenever the same cell would give other rows."""
_OPTIONS = {"id_column": "id", "rationale_column": "rationale"}


def run_shortcuts(
    plan: ShortcutPlan,
    store: Store,
    file: Path | None = None,
    progress: Progress = silent,
    on: Machine | None = None,
) -> pd.DataFrame:
    """The rows of all cells of the plan: one for each explanation, and for a cell that could not
    be verified a single one without. Models are kept in the store. With a file, each cell's rows
    are there as soon as it is done, and those that are there already are not made again, unless
    what made them has changed; rows of other cells stay."""
    check_sources(plan)
    on = on or machine()
    there = read_rows(file) if file is not None and file.is_file() else None
    tables = {} if there is None else {_cell(key): part for key, part in there.groupby(CELL)}
    cells = plan.cells()
    for done, cell in enumerate(cells):
        progress(cell.name, done, len(cells))
        setting = setting_of(cell, plan)
        if cell in tables and set(tables[cell]["setting"]) == {setting}:
            continue
        tables[cell] = _rounded(run_cell(cell, plan, store, on)).assign(
            **_sizes(plan.settings[cell.model]), setting=setting
        )
        if file is not None:
            write_text(file, to_csv(_joined(tables, sorted(tables, key=astuple))))
    progress("shortcuts", len(cells), len(cells))
    return _joined(tables, cells)


def _cell(key: tuple[Any, ...]) -> Cell:
    return Cell(**dict(zip(CELL, key, strict=True)))


def _joined(tables: Mapping[Cell, pd.DataFrame], cells: Sequence[Cell]) -> pd.DataFrame:
    found = pd.concat([tables[cell] for cell in cells], ignore_index=True)
    return found.reindex(columns=list(COLUMNS))


def _rounded(rows: pd.DataFrame) -> pd.DataFrame:
    """To four digits, as a file has them."""
    numbers = rows.select_dtypes("float").columns
    return rows.assign(**{name: rows[name].map(lambda x: float(f"{x:.4g}")) for name in numbers})


def _sizes(setting: Setting) -> dict[str, Any]:
    own = {name: setting.corpus.get(name) for name in ("n_train", "max_words")}
    return {**own, "epochs": setting.train.epochs}


def setting_of(cell: Cell, plan: ShortcutPlan) -> str:
    """A digest of all that makes a cell's rows what they are."""
    versions = {each.name: each.piece.version for each in all_named(plan.explanations)}
    facts = {"version": VERSION, "explanations": versions, **sources(cell, plan)}
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def run_cell(cell: Cell, plan: ShortcutPlan, store: Store, on: Machine) -> pd.DataFrame:
    """Both models, the verification, and where it holds the explanations' scores."""
    mixed, original = models(cell, plan, store, on, silent)
    setting = plan.settings[cell.model]
    spec = corpus_of(cell, setting)
    raw: RawCorpus = CORPORA["shortcuts"].make(plan.data_dir, **spec.params)
    rows = held_out_rows(raw, cell.shortcut)
    with _opened(original, rows, on) as subject:
        before = _decisions(subject)
    with _opened(mixed, rows, on) as subject:
        labels = dict(zip(subject.ids, subject.labels.tolist(), strict=True))
        after = _decisions(subject)
        checked = verification(labels, after, before)
        about = {
            **asdict(cell),
            "verified": checked.verified,
            "reason": "; ".join(checked.reasons),
            **asdict(checked),
            "accuracy": accuracy(labels, after),
        }
        if not checked.verified:
            return pd.DataFrame([{**about, "explanation": "", "texts": 0}])
        places = [
            place
            for place, name in enumerate(subject.ids)
            if name.endswith(SYNTHETIC) and after[name] == labels[name]
        ][: setting.texts]
        found = find_words(subject, places, plan.explanations)
    return pd.DataFrame([{**about, **row} for row in summaries(found, cell.seed)])


@contextmanager
def _opened(run: Run, rows: list[dict[str, Any]], on: Machine) -> Iterator[Subject]:
    """Words are what stands between spaces, for every model."""
    with open_subject(run, rows, words=_spans, device=on.device, **_OPTIONS) as subject:
        yield subject


def _decisions(subject: Subject) -> Mapping[str, int]:
    return dict(zip(subject.ids, predicted(subject).tolist(), strict=True))


def _spans(text: str) -> tuple[Span, ...]:
    return tuple(match.span() for match in re.finditer(r"\S+", text))
