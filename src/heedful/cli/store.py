"""`heedful store`: list, check, clean, carry and export runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from heedful.cli.options import (
    DEFAULT_STORE,
    JsonOption,
    StoreOption,
    argument,
    needed_store,
    open_store,
    option,
    spread,
)
from heedful.cli.output import PLACE, Output, check_outputs, next_step, show, show_result
from heedful.cli.tables import Table, show_table
from heedful.errors import HeedfulError, unknown_name

if TYPE_CHECKING:
    from heedful.store import Record, Store

KINDS = ("corpus", "model", "probe", "study", "audit")
store = typer.Typer(help="List, verify, clean, carry and export runs.", no_args_is_help=False)


@store.command("ls")
@spread
def ls(
    kind: str | None = argument("List only runs of this kind."),
    path: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """List the runs; of an audit also its answer, its model and its data."""
    from heedful.store import Damaged

    place = needed_store(path)
    known = {*KINDS, *(key.partition("-")[0] for key in place.keys())}
    if kind is not None and kind not in known:
        raise unknown_name("kind of run", kind, sorted(known))
    records: dict[str, Record] = {}
    damaged: dict[str, str] = {}
    for key in place.keys():
        try:
            record = place.record(key)
        except Damaged as error:  # a damaged run of any kind must not hide the others
            damaged[key] = error.problem.reason
            continue
        if kind in (None, record.kind):
            records[key] = record
    runs = [
        {"key": key, "kind": record.kind, "facts": record.facts} for key, record in records.items()
    ]
    if show_result("store ls", as_json, {"runs": runs, "damaged": damaged}):
        return
    described = [_described(place, key, record) for key, record in records.items()]
    described += [Described(key, "damaged: see `heedful store verify`") for key in damaged]
    table = Table(
        ("run", "answer", "what it is", "examples", "date"),
        [[row.key, row.answer, row.what, row.examples, row.date] for row in described],
        numbers=("examples",),
    )
    show_table(table, (row.line for row in described))
    if any(row.answer for row in described):
        next_step("`heedful report RUN -o page.html` writes the page of a run.")


@dataclass(frozen=True)
class Described:
    """A run in words; `examples` and `answer` are those of an audit."""

    key: str
    what: str
    answer: str = ""
    examples: str = ""
    date: str = ""

    @property
    def line(self) -> str:
        answer = f"{self.answer}: " if self.answer else ""
        aside = [f"{self.examples} examples", self.date] if self.examples else []
        return f"{self.key}  {answer}{', '.join([self.what, *filter(None, aside)])}"


def _described(place: Store, key: str, record: Record) -> Described:
    seed = f" seed {record.facts['seed']}" if "seed" in record.facts else ""
    plain = Described(key, f"{_what(record.facts)}{seed}", date=_date(place, key))
    return _described_audit(place, plain) if record.kind == "audit" else plain


def _described_audit(place: Store, plain: Described) -> Described:
    """What it answered, about which model and data."""
    from heedful.verdict import stored_verdict

    run = place.open(plain.key)
    facts = run.json("facts")
    try:
        answer = stored_verdict(run).answer
    except HeedfulError:  # of another version
        answer = "unreadable"
    what = f"{facts.get('model', '?')} on {facts.get('data', '?')}"
    return replace(plain, what=what, answer=answer, examples=str(facts.get("measured", "?")))


def _date(place: Store, key: str) -> str:
    """When it was finished; a store elsewhere is not asked file by file."""
    from heedful.store import url_of

    if url_of(place.place) is not None:
        return ""
    finished = (place.root / "runs" / key / "run.json").stat().st_mtime
    return time.strftime("%Y-%m-%d", time.localtime(finished))


@store.command("verify")
@spread
def verify(path: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> None:
    """Check every file of every run against its digest; the exit code is 1 if one is damaged."""
    place = needed_store(path)
    runs, damaged = len(place.keys()), place.problems()
    reasons = {key: problem.reason for key, problem in damaged.items()}
    lines = [f"{key}: {problem.reason}; {problem.fix}" for key, problem in damaged.items()]
    lines.append(f"{runs} runs, {len(damaged)} damaged")
    show_result("store verify", as_json, {"runs": runs, "damaged": reasons}, *lines)
    if damaged:
        raise typer.Exit(1)


@store.command("gc")
@spread
def gc(
    path: StoreOption = DEFAULT_STORE,
    damaged: bool = option("Also remove damaged runs.", False, "--damaged"),
    as_json: JsonOption = False,
) -> None:
    """Remove unfinished work. Do not run it while another process trains."""
    place = needed_store(path)
    removed = place.clear_scratch()
    if damaged:
        removed += place.clear_damaged()
    told = f"removed {len(removed)} unfinished or damaged"
    show_result("store gc", as_json, {"removed": removed}, told)


@store.command("pack")
@spread
def pack(
    runs: list[str] | None = argument("Keys of runs. [default: all]"),
    out: Path = option("Folder for the parts.", Path("."), "--out", "-o"),
    max_mb: float = option("Maximum size of a part in MB.", 15),
    what: str = option("rows, or all (with corpora and weights).", "rows"),
    path: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Pack runs into files of limited size; `unpack` adds them to another store."""
    from heedful.store import ROW_KINDS, check_packs
    from heedful.store import pack as write_pack

    if what not in ("rows", "all"):
        raise unknown_name("--what", what, ["all", "rows"])
    check_outputs(Output("--out", out, PLACE), store=path)
    check_packs(out)
    place = needed_store(path)
    named = [place.resolve(key).key for key in runs] if runs else place.keys()
    wanted = [key for key in named if what == "all" or key.partition("-")[0] in ROW_KINDS]
    keys = wanted if runs else _whole(place, wanted)
    parts = write_pack(place, keys, out, max_mb)
    document = {"parts": [str(part) for part in parts], "runs": keys}
    told = f"packed {len(keys)} runs into {len(parts)} files: {parts[0]} …"
    if not show_result("store pack", as_json, document, told):
        next_step(f"heedful store unpack {out}/* --store ELSEWHERE")


@store.command("unpack")
@spread
def unpack(
    parts: list[Path] = argument("All parts of one pack.", ...),
    path: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Add the runs of a pack to the store; those already there are left alone."""
    from heedful.store import unpack as read_pack

    new, known = read_pack(open_store(path), parts)
    told = f"{len(new)} new runs, {len(known)} were here already"
    show_result("store unpack", as_json, {"new": new, "known": known}, told)


@store.command("export")
@spread
def export(
    run: str = argument("The run's key.", ...),
    table: str = argument("rows, summary, maps, history, cells, examples.", ...),
    out: Path = option("A .csv, .jsonl or .parquet file.", ..., "--out", "-o"),
    path: StoreOption = DEFAULT_STORE,
) -> None:
    """Write one table of a run as CSV, JSON lines or Parquet, with every digit and whole lists."""
    from heedful.store import FileKind, columns_of, to_csv, to_jsonl, whole_file

    frame = needed_store(path).resolve(run).table(table)
    older = FileKind(
        f"an export of a table {table}", lambda file: columns_of(file) == [str(n) for n in frame]
    )
    check_outputs(Output("-o", out, older), store=path)
    writers: dict[str, Callable[[BinaryIO], object]] = {
        ".csv": lambda stream: stream.write(to_csv(frame).encode("utf8")),
        ".jsonl": lambda stream: stream.write(to_jsonl(frame).encode("utf8")),
        ".parquet": lambda stream: frame.to_parquet(stream, index=False),
    }
    if out.suffix not in writers:
        raise HeedfulError(
            f"cannot write {out.name}: give a name ending in .csv, .jsonl, .parquet."
        )
    with whole_file(Path(realpath(out))) as stream:
        writers[out.suffix](stream)
    show(f"wrote {len(frame)} rows to {out}")


def _whole(place: Store, keys: list[str]) -> list[str]:
    """Those that can be read."""
    from heedful.store import Damaged

    whole = []
    for key in keys:
        with suppress(Damaged):
            whole.append(place.open(key).key)
    return whole


def _what(facts: Mapping[str, Any]) -> str:
    """The piece a run is of, or the model's name."""
    model = facts.get("model")
    if facts.get("piece") or not isinstance(model, Mapping):
        return str(facts.get("piece", ""))
    from heedful.report import model_name

    return model_name(dict(model))
