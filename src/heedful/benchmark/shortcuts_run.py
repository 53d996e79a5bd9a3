"""Train both models of every cell, verify that the shortcut is used, and score explanations."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from heedful.auditing import Decisions, all_named, explained, marked_words
from heedful.benchmark.shortcuts import (
    ALONE,
    CELL,
    CHANGED,
    COLUMNS,
    SOLVED,
    UNSOLVED,
    Cell,
    Setting,
    ShortcutPlan,
    check_sources,
    corpus_of,
    models,
    read_rows,
    sources,
)
from heedful.data import (
    CORPORA,
    RULES,
    STRAY,
    SYNTHETIC,
    RawCorpus,
    digits,
    exchange,
    groups,
    join_tokens,
)
from heedful.metrics import bootstrap_means, mean_rank, precision_at_k
from heedful.progress import Progress, silent
from heedful.runner import Machine, claimed, machine
from heedful.store import Store, to_csv, write_text
from heedful.targets import AuditTarget, Span, open_target, predicted
from heedful.words import word_mask

EXCHANGED = "+exchanged"


@dataclass(frozen=True)
class Verification:
    """`mixed` and `original` are the accuracies of the two models on synthetic texts they have not
    seen. `exchanged` is the share of texts whose decision changes when the shortcut word is
    exchanged for the other one, so that the rule gives the other class; `alone` the same for a
    stray shortcut word, where nothing should change (NaN where the rule has no stray words)."""

    mixed: float
    original: float
    exchanged: float
    alone: float

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the cell does not count; nothing where it does."""
        found = {
            f"the mixed model solves {self.mixed:.2f}": self.mixed >= SOLVED,
            f"the original model solves {self.original:.2f}": self.original <= UNSOLVED,
            f"exchanging changes {self.exchanged:.2f}": self.exchanged >= CHANGED,
            f"a stray word changes {self.alone:.2f}": isnan(self.alone) or self.alone <= ALONE,
        }
        return tuple(reason for reason, right in found.items() if not right)

    @property
    def verified(self) -> bool:
        return not self.reasons


def held_out_rows(raw: RawCorpus, shortcut: str) -> list[dict[str, Any]]:
    """The test texts as a table: synthetic ones and those with a stray word that could decide,
    each also with the shortcut word exchanged, and the other originals."""
    rows = []
    for example in (example for example in raw.examples if example.split == "test"):
        text, label = example.texts["a"], raw.labels[example.label]
        marks = [list(span) for span in (example.rationales or {}).get("a", ())]
        rows.append({"id": example.id, "text": text, "label": label, "rationale": marks or None})
        words = text.split()
        if example.id.endswith((SYNTHETIC, STRAY)) and digits(words):
            other, _ = join_tokens(exchange(words, RULES[shortcut]))
            name = example.id + EXCHANGED
            rows.append({"id": name, "text": other, "label": label, "rationale": None})
    return rows


def verification(
    labels: Mapping[str, int], mixed: Mapping[str, int], original: Mapping[str, int]
) -> Verification:
    """From the labels that the rule gives to the test texts, by id, and those of both models."""
    synthetic = [name for name in labels if name.endswith(SYNTHETIC)]
    stray = [name for name in labels if name.endswith(STRAY) and name + EXCHANGED in labels]

    def right(model: Mapping[str, int]) -> float:
        return _mean([model[name] == labels[name] for name in synthetic])

    def changed(names: list[str]) -> float:
        return _mean([mixed[name] != mixed[name + EXCHANGED] for name in names])

    return Verification(right(mixed), right(original), changed(synthetic), changed(stray))


def accuracy(labels: Mapping[str, int], model: Mapping[str, int]) -> float:
    """On the original texts: what a model learned beside the shortcut."""
    names = [name for name in labels if not name.endswith((SYNTHETIC, EXCHANGED))]
    return _mean([model[name] == labels[name] for name in names])


def _mean(values: list[bool]) -> float:
    return float(np.mean(values)) if values else float("nan")


# How many of the planted words each explanation finds.


TOKENS, TEXTS = 2048, 32  # at once


def find_words(
    subject: AuditTarget, places: Sequence[int], explanations: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """Of the texts at these places of the subject, `[n, 2]` by explanation: precision@k and mean
    rank of each text. What is explained is the class its label names."""
    chosen, wanted = np.array(places, dtype=np.int64), all_named(explanations)
    numbers = {each.name: np.full((len(places), 2), np.nan) for each in wanted}
    skipped: dict[str, str] = {}
    for group in groups(subject.lengths[chosen], TOKENS, TEXTS):
        batch = subject.encode(chosen[group])
        there = word_mask(batch.texts["a"])
        documents = [subject.documents[int(place)] for place in chosen[group]]
        truth = marked_words(documents, there)
        made = Decisions(subject.model, batch, batch.labels)
        result = explained(made, wanted, "probability", skipped)
        skipped = result.skipped
        for name, scores in result.maps.items():
            both = (precision_at_k(scores, truth, there), mean_rank(scores, truth, there))
            numbers[name][group] = torch.stack(both, dim=-1).cpu().numpy()
    for name in skipped:
        del numbers[name]
    return numbers


def summaries(found: Mapping[str, NDArray[np.float64]], seed: int) -> Iterator[dict[str, Any]]:
    """A row for each explanation: means over texts with 95% intervals (bootstrap over texts)."""
    for name, numbers in found.items():
        low, high = bootstrap_means(numbers, seed)
        row: dict[str, Any] = {"explanation": name, "texts": len(numbers)}
        for place, measure in enumerate(("precision", "rank")):
            row[measure] = float(numbers[:, place].mean())
            row[f"{measure}_low"], row[f"{measure}_high"] = float(low[place]), float(high[place])
        yield row


# Train, verify and score every cell.


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
    what made them has changed; rows of other cells stay.

    Several processes with one store and one file share the work: each takes a cell that none of
    the others is at."""
    check_sources(plan)
    on = on or machine()
    rows, settings = _Rows(file, store), {cell: setting_of(cell, plan) for cell in plan.cells()}
    for wait in (False, True):  # what others have begun comes last, in case they did not end it
        for done, (cell, setting) in enumerate(settings.items()):
            progress(cell.name, done, len(settings))
            with claimed(store, f"shortcuts-{cell.name.replace(' ', '-')}", wait) as mine:
                if mine and not rows.has(cell, setting):
                    table = _rounded(run_cell(cell, plan, store, on))
                    rows.add(cell, _described(table, plan.settings[cell.model], setting))
    progress("shortcuts", len(settings), len(settings))
    return _joined(rows.tables(), list(settings))


class _Rows:
    """The rows of each cell, in a file where there is one: others may write it, too."""

    def __init__(self, file: Path | None, store: Store) -> None:
        self._file, self._store = file, store
        self._tables: dict[Cell, pd.DataFrame] = {}

    def tables(self) -> Mapping[Cell, pd.DataFrame]:
        if self._file is not None and self._file.is_file():
            found = read_rows(self._file).groupby(CELL)
            self._tables = {_cell(key): part for key, part in found}
        return self._tables

    def has(self, cell: Cell, setting: str) -> bool:
        table = self.tables().get(cell)
        return table is not None and set(table["setting"]) == {setting}

    def add(self, cell: Cell, table: pd.DataFrame) -> None:
        with claimed(self._store, "shortcuts-rows"):
            tables = self._tables = {**self.tables(), cell: table}
            if self._file is not None:
                write_text(self._file, to_csv(_joined(tables, sorted(tables, key=astuple))))


def _cell(key: tuple[Any, ...]) -> Cell:
    return Cell(**dict(zip(CELL, key, strict=True)))


def _described(table: pd.DataFrame, own: Setting, setting: str) -> pd.DataFrame:
    return table.assign(
        n_train=own.corpus.get("n_train"),
        max_words=own.corpus.get("max_words"),
        epochs=own.train.epochs,
        setting=setting,
    )


def _joined(tables: Mapping[Cell, pd.DataFrame], cells: Sequence[Cell]) -> pd.DataFrame:
    found = pd.concat([tables[cell] for cell in cells], ignore_index=True)
    return found.reindex(columns=list(COLUMNS))


def _rounded(rows: pd.DataFrame) -> pd.DataFrame:
    """To four digits, as a file has them."""
    numbers = rows.select_dtypes("float").columns
    return rows.assign(**{name: rows[name].map(lambda x: float(f"{x:.4g}")) for name in numbers})


def setting_of(cell: Cell, plan: ShortcutPlan) -> str:
    """A digest of all that makes a cell's rows what they are."""
    versions = {each.name: each.piece.version for each in all_named(plan.explained_by(cell))}
    facts = {"version": VERSION, "explanations": versions, **sources(cell, plan)}
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def run_cell(cell: Cell, plan: ShortcutPlan, store: Store, on: Machine) -> pd.DataFrame:
    """Both models, the verification, and where it holds the explanations' scores."""
    mixed, original = models(cell, plan, store, on)
    setting = plan.settings[cell.model]
    spec = corpus_of(cell, setting)
    raw: RawCorpus = CORPORA["shortcuts"].make(plan.data_dir, **spec.params)
    rows = held_out_rows(raw, cell.shortcut)
    options = {"words": _spans, "device": on.device, **_OPTIONS}
    with open_target(original, rows, **options) as subject:
        before = _decisions(subject)
    with open_target(mixed, rows, **options) as subject:
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
        found = find_words(subject, places, plan.explained_by(cell))
    return pd.DataFrame([{**about, **row} for row in summaries(found, cell.seed)])


def _decisions(subject: AuditTarget) -> Mapping[str, int]:
    return dict(zip(subject.ids, predicted(subject).tolist(), strict=True))


def _spans(text: str) -> tuple[Span, ...]:
    """Words are what stands between spaces, for every model."""
    return tuple(match.span() for match in re.finditer(r"\S+", text))
