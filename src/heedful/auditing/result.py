"""What an audit leaves: a verdict, the measurements behind it, the maps and the texts."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from heedful.auditing.shown import nothing
from heedful.auditing.tables import TABLES, TYPES
from heedful.errors import HeedfulError
from heedful.store import Frames
from heedful.store.files import UNFINISHED, discard, refusals, sync, sync_tree, unfinished
from heedful.verdict.verdict import Verdict

UNREADABLE = (OSError, ValueError, pa.ArrowException)


@dataclass(frozen=True)
class Audit:
    """The tables are in blocks of texts, and read when they are asked for: `rows` has the
    measurements, `maps` one list of word scores per text and explanation, `costs` what each
    explanation took, `documents` the texts with their words, `shown` what a page needs beside
    to show single texts."""

    verdict: Verdict
    tables: Mapping[str, Frames]
    facts: Mapping[str, Any]

    @staticmethod
    def of(verdict: Verdict, facts: Mapping[str, Any], **tables: pd.DataFrame) -> Audit:
        """With tables that are in memory."""
        given = {"shown": nothing(), **tables}
        return Audit(verdict, {name: Frames.of(table) for name, table in given.items()}, facts)

    @property
    def rows(self) -> pd.DataFrame:
        return self.tables["rows"].whole

    @property
    def maps(self) -> pd.DataFrame:
        return self.tables["maps"].whole

    @property
    def costs(self) -> pd.DataFrame:
        return self.tables["costs"].whole

    @property
    def documents(self) -> pd.DataFrame:
        return self.tables["documents"].whole

    @property
    def shown(self) -> pd.DataFrame:
        return self.tables["shown"].whole

    def to_pandas(self) -> pd.DataFrame:
        return self.rows.copy()

    def to_html(self, path: str | Path) -> Path:
        """One page that opens without a network."""
        from heedful.report.page import audit_page

        out = Path(path)
        out.write_text(audit_page(self.as_parts()), encoding="utf8", newline="\n")
        return out

    def save(self, folder: str | Path) -> Path:
        """`verdict.json`, `facts.json` and the tables as Parquet; whole or not at all."""
        out = Path(folder)
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise HeedfulError(f"{out} is there already: give a new folder for the audit.")
        with refusals(f"write the audit to {out}", "make room or give another folder"):
            _sweep(out)
            building = unfinished(out.parent / f".{out.name or 'audit'}")
            try:
                building.mkdir(parents=True)
                self.write(building)
                sync_tree(building)
                building.rename(out)  # an empty folder may be there, and is replaced at once
                sync(out.parent)
            finally:
                shutil.rmtree(building, ignore_errors=True)
        return out

    def write(self, folder: Path) -> None:
        """The files, into a folder that is there."""
        (folder / "verdict.json").write_text(self.verdict.to_json(), encoding="utf8")
        facts = json.dumps(dict(self.facts), indent=2, sort_keys=True, ensure_ascii=False)
        (folder / "facts.json").write_text(facts, encoding="utf8")
        for name in TABLES:
            self.tables[name].write(folder / f"{name}.parquet", TYPES.get(name))

    @staticmethod
    def load(folder: str | Path) -> Audit:
        path = Path(folder)
        if not (path / "verdict.json").is_file():
            raise HeedfulError(f"{path} is no audit: it has no verdict.json.")
        try:
            verdict = Verdict.from_json((path / "verdict.json").read_text(encoding="utf8"))
            facts = json.loads((path / "facts.json").read_text(encoding="utf8"))
            return Audit(verdict, _tables(path), facts)
        except UNREADABLE as error:
            raise _broken(path) from error

    def as_parts(self) -> dict[str, Any]:
        """Plain values and tables, for the page, which knows no torch; of very many texts the
        first ones."""
        parts = {name: self.tables[name].first for name in TABLES}
        return {**parts, "verdict": json.loads(self.verdict.to_json()), "facts": dict(self.facts)}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = "".join(
            f"<div>{html.escape(line) or '&nbsp;'}</div>" for line in self.verdict.lines()
        )
        return f'<div style="font-family:monospace;white-space:pre-wrap">{rows}</div>'


def _tables(folder: Path) -> dict[str, Frames]:
    """Each is opened, so that one that is cut or gone is found now."""
    files = {name: folder / f"{name}.parquet" for name in TABLES}
    early = not files["shown"].is_file()  # of an earlier version: its page shows less
    for name in [name for name in TABLES if not (early and name == "shown")]:
        pq.read_metadata(files[name])
    found = {name: Frames(partial(_blocks, file)) for name, file in files.items()}
    return {**found, "shown": Frames.of(nothing())} if early else found


def _blocks(file: Path) -> Iterator[pd.DataFrame]:
    """What was whole when it was opened may be damaged further in, or gone by now."""
    try:
        yield from Frames.at(file)
    except UNREADABLE as error:
        raise _broken(file.parent) from error


def _broken(folder: Path) -> HeedfulError:
    return HeedfulError(f"{folder} is no whole audit: run `heedful audit` again with -o.")


def _sweep(out: Path) -> None:
    """What was killed while it wrote this folder is in nobody's store: the next one cleans it."""
    begun = re.compile(rf"\.{re.escape(out.name)}(\.[0-9a-f]{{12}}{re.escape(UNFINISHED)})+")
    for path in out.parent.glob(f".*{UNFINISHED}"):
        if begun.fullmatch(path.name):
            discard(path)
