"""What an audit leaves: a verdict, the measurements behind it, the maps and the texts."""

from __future__ import annotations

import html
import json
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.errors import HeedfulError
from heedful.verdict.verdict import Verdict

TABLES = ("rows", "maps", "costs", "documents")


@dataclass(frozen=True)
class Audit:
    """`rows` is the table of measurements, `maps` one list of word scores per text and
    explanation, `costs` what each explanation took, `documents` the texts with their words."""

    verdict: Verdict
    rows: pd.DataFrame
    maps: pd.DataFrame
    costs: pd.DataFrame
    documents: pd.DataFrame
    facts: Mapping[str, Any]

    def to_pandas(self) -> pd.DataFrame:
        return self.rows.copy()

    def to_html(self, path: str | Path) -> Path:
        """One page that opens without a network."""
        from heedful.report.audit_page import audit_page

        out = Path(path)
        out.write_text(audit_page(self.as_parts()), encoding="utf8", newline="\n")
        return out

    def save(self, folder: str | Path) -> Path:
        """`verdict.json`, `facts.json` and the tables as Parquet; whole or not at all."""
        out = Path(folder)
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise HeedfulError(f"{out} is there already: give a new folder for the audit.")
        building = out.parent / f".{out.name}.{uuid.uuid4().hex[:12]}.writing"
        building.mkdir(parents=True)
        try:
            self.write(building)
            if out.exists():
                out.rmdir()
            building.rename(out)
        finally:
            shutil.rmtree(building, ignore_errors=True)
        return out

    def write(self, folder: Path) -> None:
        """The files, into a folder that is there."""
        (folder / "verdict.json").write_text(self.verdict.to_json(), encoding="utf8")
        facts = json.dumps(dict(self.facts), indent=2, sort_keys=True, ensure_ascii=False)
        (folder / "facts.json").write_text(facts, encoding="utf8")
        for name in TABLES:
            getattr(self, name).to_parquet(folder / f"{name}.parquet", index=False)

    @staticmethod
    def load(folder: str | Path) -> Audit:
        path = Path(folder)
        if not (path / "verdict.json").is_file():
            raise HeedfulError(f"{path} is no audit: it has no verdict.json.")
        verdict = Verdict.from_json((path / "verdict.json").read_text(encoding="utf8"))
        facts = json.loads((path / "facts.json").read_text(encoding="utf8"))
        tables = {name: pd.read_parquet(path / f"{name}.parquet") for name in TABLES}
        return Audit(verdict, **tables, facts=facts)

    def as_parts(self) -> dict[str, Any]:
        """Plain values and tables, for the page, which knows no torch."""
        parts = {name: getattr(self, name) for name in TABLES}
        return {**parts, "verdict": json.loads(self.verdict.to_json()), "facts": dict(self.facts)}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = "".join(
            f"<div>{html.escape(line) or '&nbsp;'}</div>" for line in self.verdict.lines()
        )
        return f'<div style="font-family:monospace;white-space:pre-wrap">{rows}</div>'
