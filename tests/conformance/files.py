"""Data files of every format a verb reads: spoilt, oversized, or of another kind than they say."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from random import Random
from typing import Any

import pandas as pd

from conformance.cases import QUICK, Place, Typed
from conformance.spoiling import TEXTS, as_json, nested, spoilt, spoilt_bytes, value

GRID = """store: grid-store
studies:
  - study: jain2019
    corpora: [planted]
    encoders: average
    seeds: [0, 7]
    params: {n_train: 60}
    epochs: 1
"""
DRAFT = """title: Does attention explain these reviews?
hypotheses: [Attention ranks words better than chance.]
audits:
  - {model: MODEL, data: good.csv, n: 4, alpha: 0.05, smallest: {ranking: 0.5}}
"""
VECTORS = "3 4\ngood 0.1 0.2 0.3 0.4\nbad 1 2 3 4\nfilm 0 0 0 1\n"
_BOMB = 400_000_000


def data_case(random: Random, place: Place) -> Typed:
    way = random.randrange(10)
    if way == 0:
        return _yaml(random, place)
    if way == 1:
        return _answers(random, place)
    if way == 2:
        return _vectors(random, place)
    name, content = random.choice(_FORMATS)(random)
    (place.here / name).write_bytes(content)
    return _read(random, place, name)


def _read(random: Random, place: Place, name: str) -> Typed:
    bert = str(place.shared / "bert")
    columns: Typed = random.choice(
        ((), (), ("--rationale-column", "why"), ("--id-column", "id"), ("--text-b-column", "more"),
         ("--label-column", "none"))
    )  # fmt: skip
    tiny = ("--encoder", "average", "--hidden", "4", "--epochs", "1", "--threads", "1")
    words = ("--param", "tokenizer=words", "--param", "dimension=4")
    return random.choice(
        (
            ("audit", bert, name, "--n", "3", *QUICK, *columns),
            ("audit", bert, name, "--dry-run", *QUICK, *columns),
            ("check", bert, name, "--n", "3", *QUICK, *columns),
            ("annotate", "new", bert, name, "--n", "2", "-o", "out.db"),
            ("prepare", name, *words),
            ("train", "--corpus", name, *words, *tiny),
            ("study", "jain2019", "--corpora", name, "--encoders", "average", "--dry-run"),
        )
    )


def _rows(random: Random) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"text": "good film, very", "label": 1, "id": "a", "why": [[0, 4]], "more": "x"},
        {"text": 'a "dull" plot\nindeed', "label": 0, "id": "b", "why": None, "more": "y"},
        {"text": "naïve 猫 story", "label": 1, "id": "c", "why": "[[0, 2], [3, 5]]", "more": "z"},
        *(
            {"text": f"{'good' if i % 2 else 'bad'} film number {i}", "label": i % 2, "id": f"r{i}",
             "why": [[0, 3]], "more": "m"}
            for i in range(20)
        ),
    ]  # fmt: skip
    for _ in range(random.randint(0, 3)):
        row = random.choice(rows)
        row[random.choice(("text", "label", "id", "why", "more", *TEXTS))] = value(random)
    return rows


def _jsonl(random: Random) -> tuple[str, bytes]:
    lines = [as_json(row) for row in _rows(random)]
    if random.randrange(3) == 0:
        lines.insert(random.randrange(len(lines)), as_json(value(random)))
    return "t.jsonl", _perhaps_spoilt(random, b"\n".join(lines))


def _csv(random: Random) -> tuple[str, bytes]:
    table = pd.DataFrame([{k: _cell(v) for k, v in row.items()} for row in _rows(random)])
    separator, name = random.choice(((",", "t.csv"), ("\t", "t.tsv")))
    text = table.to_csv(index=False, sep=separator)
    encoding = random.choice(("utf8", "utf8", "utf8", "utf-16", "utf-8-sig", "utf-32"))
    return name, _perhaps_spoilt(random, text.encode(encoding, "surrogatepass"))


def _cell(item: Any) -> Any:
    return as_json(item).decode()[:10_000] if isinstance(item, (list, dict)) else item


def _parquet(random: Random) -> tuple[str, bytes]:
    table = pd.DataFrame([{k: str(_cell(v)) for k, v in row.items()} for row in _rows(random)])
    way, stream = random.randrange(4), io.BytesIO()
    if way == 0:
        table["label"] = [nested(3, "list")] * len(table)
    elif way == 1:
        table["text"] = [b"\xff\xfe"] * len(table)
    elif way == 2:
        table = pd.DataFrame({"text": ["good " * 20] * 200_000, "label": ["1"] * 200_000})
    table.to_parquet(stream, index=False)
    content = stream.getvalue()
    return "t.parquet", content if way == 2 else _perhaps_spoilt(random, content)


def _gz(random: Random) -> tuple[str, bytes]:
    name, content = random.choice((_jsonl, _csv))(random)
    return f"{name}.gz", _perhaps_spoilt(random, gzip.compress(content, 1, mtime=0))


def _bomb(random: Random) -> tuple[str, bytes]:
    """Small on the disk, large in memory."""
    piece = random.choice((b" ", b"[", b"text,label\n", b'{"text": "a", "label": 1}\n', b"x"))
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1, mtime=0) as packed:
        block = piece * (1_000_000 // len(piece))
        for _ in range(_BOMB // 1_000_000):
            packed.write(block)
    return random.choice(("t.jsonl.gz", "t.csv.gz")), stream.getvalue()


def _large(random: Random) -> tuple[str, bytes]:
    """One dimension far beyond what a table of texts has."""
    return random.choice(
        (
            ("t.csv", b"text,label\n" + b"good " * 4_000_000 + b",1\nbad,0\n"),
            ("t.csv", ",".join(f"c{i}" for i in range(50_000)).encode() + b"\n1\n"),
            ("t.csv", b"text,label\n" + b"".join(b"good film %d,%d\n" % (i, i % 2)
                                                 for i in range(50_000))),
            ("t.csv", b"text,label\n" + b"".join(b"good film,%d\n" % i for i in range(20_000))),
            ("t.jsonl", as_json(nested(1500, "list")) + b"\n"),
            ("t.jsonl", b"[" * 1_000_000),
            ("t.csv", b'text,label\n"' + b"a\n" * 1_000_000),
        )
    )  # fmt: skip


def _other(random: Random) -> tuple[str, bytes]:
    """Bytes of any kind under any name."""
    content = random.choice((b"", b"\0" * 50, random.randbytes(300), b"\x1f\x8b", b"PAR1", b"\n"))
    endings = ("csv", "tsv", "jsonl", "json", "parquet", "csv.gz", "txt", "xlsx", "arrow", "")
    return f"t.{random.choice(endings)}", content


_FORMATS: tuple[Callable[[Random], tuple[str, bytes]], ...] = (
    _jsonl, _jsonl, _csv, _csv, _parquet, _gz, _large, _other, _other,
    lambda random: _bomb(random) if random.randrange(3) == 0 else _gz(random),
)  # fmt: skip


def _perhaps_spoilt(random: Random, content: bytes) -> bytes:
    return spoilt_bytes(random, content) if random.randrange(2) else content


def _yaml(random: Random, place: Place) -> Typed:
    text = random.choice((GRID, DRAFT)).replace("MODEL", str(place.shared / "bert"))
    lines = text.splitlines()
    for _ in range(random.randint(1, 2)):
        at = random.randrange(len(lines))
        lines[at] = random.choice(
            (
                lines[at].replace(": ", ": !!bool "), lines[at] + " x", lines[at][2:],
                lines[at].partition(":")[0] + ": " + as_json(value(random)).decode()[:5000],
                lines[at] + "\n" + lines[at], "? [a, b]\n: c", "a: &a [*a]",
                "x: !!python/object/apply:os.mkdir [pickle-was-loaded]", "a: 2026-99-99",
                "\t" + lines[at], "- " * 400, "b: &b [x, x]\nc: &c [*b, *b]\nd: [*c, *c]",
            )
        )  # fmt: skip
    content = "\n".join(lines).encode("utf8", "surrogatepass")
    (place.here / "grid.yaml").write_bytes(_perhaps_spoilt(random, content))
    return random.choice(
        (
            ("sweep", "grid.yaml", "--dry-run"),
            ("replicate", "grid.yaml", "--register", "-o", "out.json"),
            ("replicate", "grid.yaml", "-o", "out"),
        )
    )


def _answers(random: Random, place: Place) -> Typed:
    study = place.copy(random.choice(("relevance.db", "rationale.db")), "study.db")
    if random.randrange(3) == 0:
        study.write_bytes(spoilt_bytes(random, study.read_bytes()))
        return random.choice(
            (
                ("annotate", "results", "study.db", "-o", "out"),
                ("annotate", "export", "study.db", "out.jsonl"),
                ("annotate", "invite", "study.db"),
            )
        )
    row = {
        "item": "text-0",
        "annotator": "a",
        "answer": 3,
        "answers": [[0, 4]],
        "id": 1,
        "data": {},
    }
    rows = [spoilt(random, row, 2) for _ in range(3)]
    (place.here / "a.jsonl").write_bytes(b"\n".join(map(as_json, rows)))
    (place.here / "a.json").write_bytes(as_json(rows))
    return random.choice(
        (
            ("annotate", "import", "study.db", "a.jsonl"),
            ("annotate", "import", "study.db", "a.json", "--format", "label-studio"),
        )
    )


def _vectors(random: Random, place: Place) -> Typed:
    heads = ("3 4", "99999999999999999999 4", "3 -4", "3 1000000000000", "0 0", "nan 4", "3 5", "")
    text = VECTORS.replace("3 4", random.choice(heads), 1).encode()
    (place.here / "v.txt").write_bytes(_perhaps_spoilt(random, text))
    planted = ("--param", "n_train=20", "--param", "n_dev=8", "--param", "n_test=8")
    return ("prepare", "planted", *planted, "--param", "vectors=v.txt", "--param", "dimension=4")
