"""What `commands.toml` cannot hold, of small groups: bytes, very long values, runs that stay, and
worlds that need more than files."""

from __future__ import annotations

import gzip
import socket

import pandas as pd

from bad_input.entry import Bad, World, bad, leaving, of_file, spoilt
from bad_input.models import cut, filled, without

AUDIT = "audit SHARED/bert"
TABLE = "text,label\ngood film,1\nbad film,0\n"
MARKED = "text,label,why\n" + "good film,1,[]\nbad plot,0,[]\n" * 9
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
PORT = "48731"
_HELD: list[socket.socket] = []


def cut_parquet(world: World) -> None:
    path = world.here / "cut.parquet"
    pd.DataFrame({"text": ["a"] * 50, "label": [0, 1] * 25}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])


def two_berts(world: World) -> None:
    world.copy("bert")


def port_in_use(world: World) -> None:
    """Held until the next entry asks for it: ports belong to the whole machine."""
    while _HELD:
        _HELD.pop().close()
    here = socket.socket()
    here.bind(("127.0.0.1", int(PORT)))
    here.listen(1)
    _HELD.append(here)


def grid(content: str | bytes, names: str, fix: str) -> Bad:
    return of_file("g.yaml", content, "sweep g.yaml", names, fix)


FILES = {
    "binary for CSV": of_file(
        "b.csv", bytes(range(256)) * 9, "prepare b.csv", fix="save it in that encoding"
    ),
    "binary for Parquet": of_file(
        "b.parquet", bytes(range(256)) * 9, "prepare b.parquet", fix="write it again"
    ),
    "binary for JSONL": of_file(
        "b.jsonl", b"\xff\x00" * 40, f"{AUDIT} b.jsonl", fix="save it in that encoding"
    ),
    "Parquet that was cut": Bad(
        f"{AUDIT} cut.parquet", "cut.parquet", "write it again", cut_parquet
    ),
    "gzip that was cut": of_file(
        "t.csv.gz", gzip.compress(TABLE.encode() * 90)[:-30], f"{AUDIT} t.csv.gz", fix="again"
    ),
    "zipped Parquet": of_file("t.parquet.gz", b"x", f"{AUDIT} t.parquet.gz", fix="use .csv"),
    "JSON too deep": of_file(
        "l.jsonl", "[" * 100_000 + "\n", f"{AUDIT} l.jsonl", "line 1", "one JSON object"
    ),
    "a number of too many digits": of_file(
        "l.jsonl",
        '{"text": "a", "label": ' + "9" * 5000 + "}\n",
        f"{AUDIT} l.jsonl",
        "line 1",
        "one JSON object",
    ),
}
NUMBERS = {
    "an endless budget": bad(
        f"{AUDIT} SHARED/good.csv --budget {'9' * 400}h", "--budget", "90s, 5min or 2h"
    ),
    "a seed of too many digits": bad(
        f"study jain2019 --corpora planted --seeds 0,{'9' * 5000}", "--seeds", "list"
    ),
    "a number of too many digits": bad(
        f"prepare planted --param n_train={'9' * 5000}", "'n_train'", "give a value like"
    ),
    "a number beyond all": bad(
        f"explain SHARED/bert 'good film' --explanations lrp:epsilon=1{'0' * 400}",
        "'epsilon'",
        "of 0 or more",
    ),
}
CORPORA = {
    "a second corpus that is not there": leaving(
        "corpus", "study jain2019 --corpora planted,sst", "no data", "--data-dir"
    ),
    "vectors that are none": of_file(
        "v.npz",
        b"PK and nothing more",
        "prepare planted --param vectors=v.npz",
        fix="needs the arrays",
    ),
    "no test split": leaving("corpus", "train --corpus planted --param n_test=0", "test", "bring"),
    "a dev split of one class": leaving(
        "corpus", "train --corpus planted --param n_dev=1", "dev", "bring"
    ),
    "a limit of one text": leaving(
        "corpus", "train --corpus planted --limit 1", "class 0", "bring"
    ),
}
TRAINING = {
    "an encoder that cannot be repaired": leaving(
        "corpus",
        "repair --corpus planted --methods tying --encoder bilsmt",
        "'bilsmt'",
        "did you mean",
    ),
}
SWEEPS = {
    "a bomb of anchors": grid(BOMB + "studies: *i\n", "line 1", "choose one of"),
    "a bomb of studies": grid(BOMB.replace("a: &a", "studies: &a", 1), "line 2", "choose one of"),
    "too large": grid("#" * (2 << 20), "g.yaml", "smaller"),
    "too deep": grid("[" * 3_000, "g.yaml", "fix"),
    "binary": grid(bytes(range(256)), "g.yaml", "UTF-8"),
}
PAGES = {
    "a model without a config": spoilt(
        "bert", without("config.json"), "serve bert --port 0", "bert", "save_pretrained"
    ),
    "a model without weights": spoilt(
        "bert", filled("model.safetensors", b""), "serve bert --port 0", "bert", "save_pretrained"
    ),
    "a port in use": Bad(
        f"serve SHARED/bert --port {PORT}", PORT, "choose another --port", port_in_use
    ),
    "a port in use, for annotators": Bad(
        f"annotate serve SHARED/rationale.db --port {PORT}",
        PORT,
        "choose another --port",
        port_in_use,
    ),
}
REPLICATION = {
    "to cite half an audit": spoilt(
        "audit", cut("facts.json"), "cite ./audit", "audit", "heedful audit"
    ),
    "a draft of other bytes": of_file(
        "d.yaml", b"caf\xe9: 1", "replicate d.yaml --register", fix="UTF-8"
    ),
    "a registration of other bytes": of_file(
        "r.json", b"\xff\xfe", "replicate r.json -o out", fix="--register"
    ),
    "a registration too deep": of_file(
        "r.json", "[" * 50_000, "replicate r.json -o out", fix="--register"
    ),
}
ARGUMENTS = {
    "a path too long": bad(f"prepare {'x' * 5000}.csv", "xxx", "shorter"),
    "a name too long": bad(f"prepare {'x' * 5000}", "xxx", "shorter"),
}
CONTRADICTIONS = {
    "a seed model twice": Bad(
        f"{AUDIT} SHARED/good.csv --seed-model bert --seed-model ./bert", "bert", "once", two_berts
    ),
    "a split column and a file": of_file(
        "f.csv", MARKED, "prepare f.csv --split-column why --dev f.csv", "split_column", "not both"
    ),
}
