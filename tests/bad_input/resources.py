"""Files that are small and become large, texts without an end, patterns that never answer."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bad_input.entry import Bad, Prepare, World, bad, of_file, spoilt

AUDIT = "audit SHARED/bert"
PREPARE = "prepare"
PLANTED = "prepare planted"
TABLE = "text,label\ngood film,1\nbad film,0\n"
SMALL = {"HEEDFUL_MAX_FILE_MB": "1", "HEEDFUL_MAX_TEXT_CHARS": "1000"}
CHARS, MEGABYTES = "HEEDFUL_MAX_TEXT_CHARS", "HEEDFUL_MAX_FILE_MB"
IMPORT = "annotate import SHARED/rationale.db"


def made(name: str, make: Callable[[Path], object], command: str, fix: str, **more: str) -> Bad:
    """A file that is made in its place, read with lowered limits."""
    names = more.pop("names", name)
    return Bad(f"{command} {name}", names, fix, lambda world: make(world.here / name), (), SMALL)


def written(name: str, content: str, command: str, fix: str, names: str = "") -> Bad:
    return made(name, lambda path: path.write_text(content), command, fix=fix, names=names or name)


@cache
def _zipped(begin: bytes, piece: bytes, count: int) -> bytes:
    """Compressed without ever being there as a whole."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as stream:
        stream.write(begin)
        for _ in range(count):
            stream.write(piece)
    return out.getvalue()


def _bomb(path: Path) -> None:
    """300 MB of rows in 300 kB."""
    path.write_bytes(_zipped(b"text,label\n", b"good film,1\n" * 100_000, 250))
    assert path.stat().st_size < 1_000_000


def _small_bomb(path: Path) -> None:
    path.write_bytes(_zipped(b"text,label\n", b"good film,1\n" * 1000, 250))


def _lying_bomb(path: Path) -> None:
    """What its end says of its size is small: a second part follows the large one."""
    _small_bomb(path)
    path.write_bytes(path.read_bytes() + gzip.compress(b"bad film,0\n"))


def _endless(path: Path) -> None:
    path.write_bytes(_zipped(b'{"text": "', b"a" * 10_000, 50))


def _parquet(path: Path, rows: int, text: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = pa.array([0]).take(pa.nulls(rows, pa.int64()).fill_null(0)).cast(pa.int32())
    texts = pa.DictionaryArray.from_arrays(place, pa.array([text]))
    table = pa.table({"text": texts, "label": place})
    pq.write_table(table, path, compression="zstd", row_group_size=rows)


def _vectors(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("words.npy", bytes(2_000_000))


def _without(name: str) -> Prepare:
    return lambda world: os.mkfifo(world.here / name)


def _loop(world: World) -> None:
    (world.here / "loop.csv").symlink_to("loop.csv")


def _audit(folder: Path) -> None:
    _parquet(folder / "rows.parquet", 1_000_000, "x")


def _large(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(" " * 1_100_000)


def _lowered(entry: Bad) -> Bad:
    return Bad(entry.command, entry.names, entry.fix, entry.prepare, entry.leaves, SMALL)


DIMENSION = "at most 4,096"
TWO = '{"text": "b", "label": 0, "no": []}'
LONG = "good film " * 200
NESTED = "(" * 5000
COLUMNS = ",".join(f"column{i}" for i in range(100_000))

BAD: dict[str, Bad] = {
    "a limit beyond all numbers": bad(
        "prepare SHARED/good.csv", CHARS, "to 1,000", HEEDFUL_MAX_TEXT_CHARS="9" * 5000
    ),
    "300 MB in 300 kB": Bad(
        f"{PREPARE} b.csv.gz", "b.csv.gz", MEGABYTES, lambda world: _bomb(world.here / "b.csv.gz")
    ),
    "a gzip bomb, audited": made("b.csv.gz", _small_bomb, AUDIT, fix=MEGABYTES),
    "a gzip bomb that lies": made("b.csv.gz", _lying_bomb, PREPARE, fix=MEGABYTES),
    "a gzip bomb of answers": made("b.jsonl.gz", _endless, IMPORT, fix=CHARS),
    "an endless line": made("b.jsonl.gz", _endless, AUDIT, fix=CHARS, names="line 1"),
    "an endless line of a table": written("e.csv", "text,label\n" + LONG * 9, PREPARE, fix=CHARS),
    "a cell too long": written(
        "c.csv", TABLE + f"{LONG},1\n", AUDIT, fix=CHARS, names="line 4 of c.csv"
    ),
    "a cell too long of many lines": written(
        "c.csv", TABLE + '"' + "good\n" * 999, PREPARE, fix=CHARS, names="c.csv"
    ),
    "a text too long in JSON": written(
        "c.jsonl",
        json.dumps({"text": LONG, "label": 1}) + "\n",
        PREPARE,
        fix=CHARS,
        names="line 1 of c.jsonl",
    ),
    "a text too long in Parquet": made(
        "c.parquet", lambda path: _parquet(path, 3, LONG), AUDIT, fix=CHARS, names="row 1"
    ),
    "a Parquet file of very many rows": made(
        "b.parquet", lambda path: _parquet(path, 1_000_000, "x"), AUDIT, fix=MEGABYTES
    ),
    "a Parquet file of one text again and again": made(
        "b.parquet", lambda path: _parquet(path, 50_000, "x" * 900), PREPARE, fix=MEGABYTES
    ),
    "very many columns": of_file(
        "w.csv", f"{COLUMNS}\n{'1,' * 99_999}1\n", f"{AUDIT} w.csv", fix="and 99,980 more"
    ),
    "very many columns to prepare": of_file(
        "w.csv",
        f"{COLUMNS}\n{'a,' * COLUMNS.count(',')}a\n",
        f"{PREPARE} w.csv",
        fix="and 99,980 more",
    ),
    "very many columns, the last twice": of_file(
        "w.csv", f"{COLUMNS},column99999\n", f"{PREPARE} w.csv", names="'column99999'", fix="rename"
    ),
    "a column's name without an end": of_file(
        "w.csv", f"{'x' * 90_000},label\na,1\n", f"{PREPARE} w.csv", fix="its columns are xxx"
    ),
    "a class that is none of very many": Bad(
        f"{PREPARE} w.csv --test SHARED/good.csv",
        "row 1 of good.csv",
        "and 1,980 more",
        lambda world: world.write("w.csv", TABLE[:11] + "".join(f"a,c{i}\n" for i in range(2000))),
    ),
    "a loop of links": Bad(f"{AUDIT} loop.csv", "loop.csv", "check the path", _loop),
    "a loop of links to prepare": Bad(f"{PREPARE} loop.csv", "loop.csv", "check", _loop),
    "a pipe": Bad(f"{AUDIT} p.csv", "p.csv", "give that file", _without("p.csv")),
    "a pipe to prepare": Bad(f"{PREPARE} p.csv", "p.csv", "give that file", _without("p.csv")),
    "a pipe of answers": Bad(f"{IMPORT} p.jsonl", "p.jsonl", "that file", _without("p.jsonl")),
    "a pattern nested too deep": bad(
        f"{PLANTED} --param impermissible=/{NESTED}/", names="/((((", fix="fix it"
    ),
    "very many impermissible words": of_file(
        "i.jsonl",
        json.dumps({"text": "a", "label": 1, "no": ["a"] * 2000}) + f"\n{TWO}",
        f"{PREPARE} i.jsonl --param impermissible_column=no",
        names="row 1 of i.jsonl",
        fix="give [start, end) pairs",
    ),
    "vectors of too many digits": of_file(
        "v.vec", f"5 {'9' * 5000}\n", f"{PLANTED} --param vectors=v.vec", fix=DIMENSION
    ),
    "vectors of very many numbers": of_file(
        "v.vec", f"good{' 1' * 20_000}\n", f"{PLANTED} --param vectors=v.vec", fix=DIMENSION
    ),
    "vectors that unpack without end": Bad(
        f"{PLANTED} --param vectors=v.npz",
        "v.npz",
        MEGABYTES,
        lambda world: _vectors(world.here / "v.npz"),
        environment=SMALL,
    ),
    "an export of Label Studio too large": made(
        "l.json",
        lambda path: path.write_text("[" + " " * 1_100_000 + "]"),
        f"{IMPORT} --format label-studio",
        fix=MEGABYTES,
    ),
    "an export of Label Studio too deep": written(
        "l.json", "[" * 100_000, f"{IMPORT} --format label-studio", fix="fix it"
    ),
    "an audit of very many rows": _lowered(
        spoilt("audit", _audit, "report audit", names="rows.parquet", fix=MEGABYTES)
    ),
    "an audit with facts too large": _lowered(
        spoilt("audit", _large("facts.json"), "report audit", names="facts.json", fix=MEGABYTES)
    ),
    "a baseline too large": made(
        "v.json",
        lambda path: path.write_text(" " * 1_100_000),
        "check SHARED/bert SHARED/good.csv --baseline",
        fix=MEGABYTES,
    ),
    "a grid of very many seeds": of_file(
        "g.yaml",
        f"studies:\n  - study: jain2019\n    seeds: [{','.join(map(str, range(1001)))}]\n",
        "sweep g.yaml",
        names="line 3",
        fix="at most 1,000",
    ),
    "a grid of very many models": of_file(
        "g.yaml",
        "studies:\n- &a {study: jain2019, corpora: planted, encoders: average, seeds: 1000}\n"
        + "- *a\n" * 50,
        "sweep g.yaml",
        names="line 2",
        fix="fewer seeds",
    ),
    "a grid of a number beyond all": of_file(
        "g.yaml",
        f"studies:\n  - study: jain2019\n    seeds: 0b{'1' * 60_000}\n",
        "sweep g.yaml",
        names="line 3",
        fix="give a whole number",
    ),
}
