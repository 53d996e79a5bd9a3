"""What an audit leaves: a verdict, the measurements behind it, the maps and the texts."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import torch

from heedful.auditing.answer_tokens import no_tokens
from heedful.auditing.explanation import asked, distinct_operators, named
from heedful.auditing.heads import no_heads
from heedful.auditing.page_data import nothing
from heedful.auditing.spec import RENAMED, AuditSpec
from heedful.auditing.view import open_page
from heedful.errors import HeedfulError
from heedful.perturbations import REMOVALS
from heedful.progress import notebook
from heedful.store import (
    Frames,
    Run,
    Store,
    check_file,
    output_folder,
    refusals,
    run_key,
    write_file,
)
from heedful.targets import AuditTarget
from heedful.verdict import (
    CARD,
    Verdict,
    card,
    check_tables,
    facts_text,
    read_facts,
    read_text,
)

AUDIT = "audit"
"""The kind of folder."""
UNREADABLE = (OSError, ValueError, RecursionError, pa.ArrowException)


@dataclass(frozen=True, repr=False)
class Audit:
    """The tables are in blocks of texts, and read when they are asked for: `rows` has the
    measurements, `maps` one list of word scores per text and explanation, `costs` what each
    explanation took, `documents` the texts with their words, `shown` what a page needs beside
    to show single texts, `heads` every layer and head of a few of them, and `tokens` what each
    token of a few answers rests on."""

    verdict: Verdict
    tables: Mapping[str, Frames]
    facts: Mapping[str, Any]
    pages: list[Path] = field(default_factory=list, compare=False)
    """Where its page was written."""

    @staticmethod
    def of(verdict: Verdict, facts: Mapping[str, Any], **tables: pd.DataFrame) -> Audit:
        """With tables that are in memory."""
        given = {**later(), **tables}
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

    def with_tables(self, tables: Mapping[str, Frames]) -> Audit:
        """With these instead of its own."""
        return replace(self, tables={**self.tables, **tables})

    def to_pandas(self) -> pd.DataFrame:
        return self.rows.copy()

    def to_html(self, path: str | Path) -> Path:
        """One page that opens without a network."""
        from heedful.report import PAGE_FILE, audit_page

        out = Path(path)
        check_file(out, PAGE_FILE)
        with refusals(f"write the page to {out}", "make room or give another place"):
            write_file(out, audit_page(self.as_parts()))
        self.pages.append(out)
        return out

    def to_card(self, path: str | Path) -> Path:
        """A section for a model card, in Markdown."""
        out = Path(path)
        check_file(out, CARD)
        write_file(out, card(self.verdict))
        return out

    def save(self, folder: str | Path) -> Path:
        """`verdict.json`, `facts.json` and the tables as Parquet; whole or not at all."""
        out = Path(folder)
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise HeedfulError(f"{out} is there already: give a new folder for the audit.")
        write_audit(self, out)
        return out

    def write(self, folder: Path) -> None:
        """The files, into a folder that is there."""
        (folder / "verdict.json").write_text(self.verdict.to_json(), encoding="utf8")
        (folder / "facts.json").write_text(facts_text(self.facts), encoding="utf8")
        for name in TABLES:
            self.tables[name].write(folder / f"{name}.parquet", TYPES.get(name))

    @staticmethod
    def load(folder: str | Path) -> Audit:
        path = Path(folder)
        if not (path / "verdict.json").is_file():
            raise HeedfulError(
                f"{path} is no audit (it has no verdict.json): give a folder that `heedful audit "
                f"-o` wrote."
            )
        try:
            verdict = _verdict(path / "verdict.json")
            return Audit(verdict, _tables(path), read_facts(path))
        except UNREADABLE as error:
            raise _broken(path) from error

    def as_parts(self) -> dict[str, Any]:
        """Verdict, facts and tables, for the page, which knows no torch; of very many texts the
        first ones."""
        parts = {name: self.tables[name].first for name in TABLES}
        return {**parts, "verdict": self.verdict, "facts": dict(self.facts)}

    def __str__(self) -> str:
        """What the command prints of it."""
        return str(self.verdict)

    def __repr__(self) -> str:
        return f"<Audit of {self.facts.get('measured', 'some')} texts: {self.verdict.headline}>"

    def show(self, path: str | Path | None = None) -> Path | None:
        """The whole page: in a notebook right here, elsewhere in a browser. It is written where
        `path` says, else to a folder for temporary files; the path is returned where one is."""
        from heedful.report import audit_page, framed

        written = None if path is None else self.to_html(path)
        html = audit_page(self.as_parts()) if written is None else written.read_text("utf8")
        publish = notebook()
        if publish is None:
            return open_page(html, written)
        publish(framed(html, self._repr_mimebundle_()))
        return written

    def _repr_html_(self) -> str:
        return self._repr_mimebundle_()["text/html"]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: the verdict with its bounds, the telling example, a link to the
        page where it was written, and a still picture."""
        from heedful.report import audit_bundle

        return audit_bundle(self.as_parts(), str(self), self.pages[-1] if self.pages else None)


def write_audit(audit: Audit, out: Path) -> None:
    """Into a folder that is new, or that an earlier audit was written to."""
    refused = refusals(f"write the audit to {out}", "make room or give another folder")
    with refused, output_folder(out, AUDIT) as building:
        audit.write(building)


def _verdict(file: Path) -> Verdict:
    text = read_text(file)
    try:
        return Verdict.from_json(text)
    except HeedfulError as error:
        raise HeedfulError(f"{file} cannot be used: {error}") from error


def _tables(folder: Path) -> dict[str, Frames]:
    """Each is opened, so that one that is cut or gone is found now."""
    files = {name: folder / f"{name}.parquet" for name in TABLES}
    empty = {name: table for name, table in later().items() if not files[name].is_file()}
    check_tables(file for name, file in files.items() if name not in empty)
    found = {name: Frames(partial(_blocks, file)) for name, file in files.items()}
    return {**found, **{name: Frames.of(table) for name, table in empty.items()}}


def _blocks(file: Path) -> Iterator[pd.DataFrame]:
    """What was whole when it was opened may be damaged further in, or gone by now."""
    try:
        yield from Frames.at(file)
    except UNREADABLE as error:
        raise _broken(file.parent) from error


def _broken(folder: Path) -> HeedfulError:
    return HeedfulError(f"{folder} is no whole audit: run `heedful audit` again with -o.")


# The tables an audit leaves, and the types of columns that not every block shows.


TABLES = ("rows", "maps", "costs", "documents", "shown", "heads", "tokens")
_TEXT = pa.large_string()


def later() -> dict[str, pd.DataFrame]:
    """Tables that audits of earlier versions have not; a page of theirs shows less."""
    return {"shown": nothing(), "heads": no_heads(), "tokens": no_tokens()}


TYPES = {
    "rows": {
        **dict.fromkeys(("model", "example", "cluster"), _TEXT),
        **dict.fromkeys(("explanation", "operator", "measure"), _TEXT),
        **dict.fromkeys(("confidence", "value"), pa.float64()),
    },
    "maps": {"example": _TEXT, "explanation": _TEXT, "scores": pa.list_(pa.float32())},
    "shown": {
        **dict.fromkeys(("example", "kind", "name"), _TEXT),
        "scores": pa.list_(pa.float64()),
    },
    "heads": {"example": _TEXT, "why": _TEXT, "view": _TEXT},
    "tokens": {
        **dict.fromkeys(("example", "explanation", "text"), _TEXT),
        **dict.fromkeys(("token", "of"), pa.int64()),
        "scores": pa.list_(pa.float64()),
    },
    "documents": {
        **dict.fromkeys(("example", "text", "text_b", "answer", "instead"), _TEXT),
        **dict.fromkeys(("starts", "ends", "about"), pa.list_(pa.int64())),
        "words": pa.list_(pa.string()),
        "rationale": pa.list_(pa.bool_()),
    },
}


# A finished audit as a run in the store: found again, it is judged and not measured.


KIND = "audit"


def find_audit(store: Store | None, identity: Mapping[str, Any]) -> Run | None:
    """The run of an audit that was finished; a damaged one is an error that says so."""
    key = run_key(KIND, identity)
    return store.open(key) if store is not None and store.has(key) else None


def store_audit(store: Store, identity: Mapping[str, Any], audit: Audit) -> Audit:
    """Whole or not at all; the parts it was made of are then no longer needed, and the tables
    are the run's."""
    with store.writing(KIND, identity) as writer:
        for name, frames in audit.tables.items():
            writer.frames(name, frames, TYPES.get(name))
        writer.json("verdict", json.loads(audit.verdict.to_json()))
        writer.json("facts", dict(audit.facts))
        writer.made_with["torch"] = torch.__version__.split("+")[0]
        writer.made_with["device"] = str(audit.facts.get("device", ""))
    return replace(audit, tables=stored_tables(store.open(run_key(KIND, identity))))


def stored_tables(run: Run) -> dict[str, Frames]:
    empty = {name: Frames.of(table) for name, table in later().items()}
    there = {name for name in TABLES if name not in empty or run.has(f"{name}.parquet")}
    return {**empty, **{name: run.frames(name) for name in there}}


# What names an audit, and tells whose numbers may be compared.


VERSION = 11
"""Goes up whenever the same model, texts and spec would give other rows."""


def identity(subject: AuditTarget, spec: AuditSpec, must: Container[str] = ()) -> dict[str, Any]:
    """What names an audit: the same facts give the same rows. Nothing has to be measured. `must`
    are the explanations that were named."""
    spec = replace(
        spec,
        operators=distinct_operators(subject.model, spec.operators),
        explanations=asked(subject, spec.explanations, must),
    )
    pieces = {name: named(name).piece for name in spec.explanations}
    versions = {name: piece.version for name, piece in pieces.items()}
    origins = {name: piece.origin for name, piece in pieces.items() if piece.origin}
    ways = {name: REMOVALS[name].version for name in spec.operators}
    own = {"version": VERSION, "spec": _as_keyed(spec), "pieces": versions, "operators": ways}
    plugins = {"origins": origins} if origins else {}
    return {**own, **plugins, **dict(subject.key)}


def _as_keyed(spec: AuditSpec) -> dict[str, Any]:
    """A spec in a key, its groups by their first names: a new name for a group must not hide the
    audits that are stored."""
    first = {new: old for old, new in RENAMED.items()}
    return {**asdict(spec), "only": tuple(first.get(name, name) for name in spec.only)}


def spec_digest(spec: AuditSpec) -> str:
    """The same for audits whose numbers may be compared."""
    return run_key("spec", _as_keyed(spec)).removeprefix("spec-")
