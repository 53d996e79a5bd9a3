"""`heedful store`: list, check, clean, carry and export runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from heedful.cli.options import DEFAULT_STORE, JsonOption, StoreOption, existing_store, open_store
from heedful.cli.output import PLACE, Output, check_outputs, show, show_json
from heedful.errors import HeedfulError, unknown_name

if TYPE_CHECKING:
    from heedful.store import Record, Store

KINDS = ("corpus", "model", "probe", "study", "audit")
store = typer.Typer(help="List, verify, clean, carry and export runs.", no_args_is_help=False)


@store.command("ls")
def ls(
    kind: Annotated[str | None, typer.Argument(help="List only runs of this kind.")] = None,
    path: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """List the runs."""
    place = _existing(path)
    known = {*KINDS, *(key.partition("-")[0] for key in place.keys())}
    if kind is not None and kind not in known:
        raise unknown_name("kind of run", kind, sorted(known))
    records, damaged = _look(place, kind)
    if as_json:
        found = [
            {"key": key, "kind": record.kind, "facts": record.facts}
            for key, record in records.items()
        ]
        show_json("store ls", {"runs": found, "damaged": damaged})
        return
    for key, record in records.items():
        facts = record.facts
        seed = f" seed {facts['seed']}" if "seed" in facts else ""
        show(f"{key}  {_what(facts)}{seed}")
    show(*(f"{key}  damaged: see `heedful store verify`" for key in damaged))


@store.command("verify")
def verify(path: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> None:
    """Check every file of every run against its digest; the exit code is 1 if one is damaged."""
    place = _existing(path)
    damaged = place.problems()
    if as_json:
        reasons = {key: problem.reason for key, problem in damaged.items()}
        show_json("store verify", {"runs": len(place.keys()), "damaged": reasons})
    else:
        show(*(f"{key}: {problem.reason}; {problem.fix}" for key, problem in damaged.items()))
        show(f"{len(place.keys())} runs, {len(damaged)} damaged")
    if damaged:
        raise typer.Exit(1)


@store.command("gc")
def gc(
    path: StoreOption = DEFAULT_STORE,
    damaged: Annotated[bool, typer.Option("--damaged", help="Also remove damaged runs.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove unfinished work. Do not run it while another process trains."""
    place = _existing(path)
    removed = place.clear_scratch()
    if damaged:
        removed += place.clear_damaged()
    if as_json:
        show_json("store gc", {"removed": removed})
    else:
        show(f"removed {len(removed)} unfinished or damaged")


@store.command("pack")
def pack(
    runs: Annotated[list[str] | None, typer.Argument(help="Keys of runs. [default: all]")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the parts.")] = Path("."),
    max_mb: Annotated[float, typer.Option(help="Maximum size of a part in MB.")] = 15,
    what: Annotated[str, typer.Option(help="rows, or all (with corpora and weights).")] = "rows",
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
    place = _existing(path)
    named = [place.resolve(key).key for key in runs] if runs else place.keys()
    wanted = [key for key in named if what == "all" or key.partition("-")[0] in ROW_KINDS]
    keys = wanted if runs else _whole(place, wanted)
    parts = write_pack(place, keys, out, max_mb)
    if as_json:
        show_json("store pack", {"parts": [str(part) for part in parts], "runs": keys})
    else:
        show(f"packed {len(keys)} runs into {len(parts)} files: {parts[0]} …")


@store.command("unpack")
def unpack(
    parts: Annotated[list[Path], typer.Argument(help="All parts of one pack.")],
    path: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Add the runs of a pack to the store; those already there are left alone."""
    from heedful.store import unpack as read_pack

    new, known = read_pack(open_store(path), parts)
    if as_json:
        show_json("store unpack", {"new": new, "known": known})
    else:
        show(f"{len(new)} new runs, {len(known)} were here already")


@store.command("export")
def export(
    run: Annotated[str, typer.Argument(help="The run's key.")],
    table: Annotated[str, typer.Argument(help="rows, summary, maps, history, cells, examples.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A .csv, .jsonl or .parquet file.")],
    path: StoreOption = DEFAULT_STORE,
) -> None:
    """Write one table of a run as CSV, JSON lines or Parquet, with every digit and whole lists."""
    from heedful.store import FileKind, columns_of, to_csv, to_jsonl, whole_file

    frame = _existing(path).resolve(run).table(table)
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


def _look(place: Store, kind: str | None) -> tuple[dict[str, Record], dict[str, str]]:
    """The records of a kind, and why runs of any kind cannot be read: a damaged run must not hide
    the others."""
    from heedful.store import Damaged

    records, damaged = {}, {}
    for key in place.keys():
        try:
            records[key] = place.record(key)
        except Damaged as error:
            damaged[key] = error.problem.reason
    return {key: each for key, each in records.items() if kind in (None, each.kind)}, damaged


def _whole(place: Store, keys: list[str]) -> list[str]:
    """Those that can be read."""
    from heedful.store import Damaged

    found = []
    for key in keys:
        with suppress(Damaged):
            found.append(place.open(key).key)
    return found


def _what(facts: Mapping[str, Any]) -> str:
    """The piece a run is of, or the model's name."""
    model = facts.get("model")
    if facts.get("piece") or not isinstance(model, Mapping):
        return str(facts.get("piece", ""))
    from heedful.report import model_name

    return model_name(dict(model))


def _existing(path: str) -> Store:
    found = existing_store(path)
    if found is None:
        raise HeedfulError(f"there is no store at {path}: give its folder with --store.")
    return found
