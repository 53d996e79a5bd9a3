"""The kept tables of a checkout and the pages made of them: all is read and made before anything
is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from heedful.errors import HeedfulError
from heedful.store import FileKind, Store, write_text
from paper_tables.audits import collect_audits, merged_audits, no_audits, read_audits
from paper_tables.compact import compact_text, read_compact
from paper_tables.document import document
from paper_tables.figures_of_jain2019 import figures_drawn, figures_page
from paper_tables.findings.evidence import Evidence
from paper_tables.findings.page import page, pictures
from paper_tables.histograms import (
    collect_histograms,
    merged_histograms,
    no_histograms,
    read_histograms,
)
from paper_tables.published import Reason, read_reasons
from paper_tables.rows import FORM, collect, merged, of_today
from paper_tables.tables_and_figures import tables_and_figures

ROWS, AUDITS = Path("reproduction/rows.csv"), Path("reproduction/audits.csv")
HISTOGRAMS = Path("reproduction/histograms.csv")
REASONS = Path("reproduction/reasons.csv")
DOCUMENT, FINDINGS = Path("docs/reproduction.md"), Path("docs/findings.md")
PLACES = Path("docs/tables-and-figures.md")
FIGURES = Path("docs/figures-of-jain2019.md")
PICTURES, DRAWN = Path("docs/figures/findings"), Path("docs/figures/jain2019")
KEPT = FileKind("a page of this checkout", lambda path: True)
"""By its place: the checkout keeps what was in it before."""


@dataclass(frozen=True)
class Kept:
    """The tables; `dropped` is how many rows no study asks for any more."""

    rows: pd.DataFrame
    audits: pd.DataFrame
    reasons: list[Reason]
    dropped: int = 0
    histograms: pd.DataFrame = field(default_factory=no_histograms)


def read_kept() -> Kept:
    for path in (ROWS, REASONS):
        if not path.exists():
            raise HeedfulError(f"{path} is not here: run this in the checkout that keeps it.")
    every = read_compact(ROWS, FORM)
    rows = of_today(every)
    audits = read_audits(AUDITS) if AUDITS.exists() else no_audits()
    counts = read_histograms(HISTOGRAMS) if HISTOGRAMS.exists() else no_histograms()
    return Kept(rows, audits, read_reasons(REASONS), len(every) - len(rows), counts)


def added(kept: Kept, store: Store) -> Kept:
    """With what a store has more."""
    return replace(
        kept,
        rows=merged(kept.rows, collect(store)),
        audits=merged_audits(kept.audits, collect_audits(store)),
        histograms=merged_histograms(kept.histograms, collect_histograms(store)),
    )


def made_of(kept: Kept) -> dict[Path, str | None]:
    """Every file of the pages; None for a picture that there is not."""
    evidence = Evidence(kept.rows, kept.audits)
    drawn = {PICTURES / name: text for name, text in pictures(evidence).items()}
    pages = {DOCUMENT: document(kept.rows, kept.reasons), FINDINGS: page(evidence)}
    pages |= {FIGURES: figures_page(kept.histograms), PLACES: tables_and_figures()}
    shown = {DRAWN / name: text for name, text in figures_drawn(kept.histograms).items()}
    return {**drawn, **shown, **pages}


def tables(kept: Kept) -> dict[Path, str]:
    kinds = {ROWS: kept.rows, AUDITS: kept.audits, HISTOGRAMS: kept.histograms}
    return {path: compact_text(table) for path, table in kinds.items()}


def write(files: dict[Path, str | None]) -> None:
    for folder in (PICTURES, DRAWN):
        folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        if text is None:
            path.unlink(missing_ok=True)
        else:
            write_text(path, text)
