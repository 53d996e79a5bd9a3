"""Files that are not what their name says, or not there."""

from __future__ import annotations

import gzip

from bad_input.entry import Bad, World, bad, of_file

AUDIT = ("audit", "SHARED/bert")
TABLE = "text,label\ngood film,1\nbad film,0\n"


def _parquet(world: World) -> None:
    import pandas as pd

    path = world.here / "cut.parquet"
    pd.DataFrame({"text": ["a"] * 50, "label": [0, 1] * 25}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])


BAD: dict[str, Bad] = {
    "missing": bad("prepare", "none.csv", names="none.csv", fix="check the path"),
    "missing, audited": bad(*AUDIT, "none.csv", names="none.csv", fix="check the path"),
    "missing without extension": bad(*AUDIT, "./none", names="./none", fix="a file's path"),
    "of an unknown kind": of_file("t.xyz", TABLE, "prepare", "t.xyz", fix="use .csv, .tsv"),
    "without extension": of_file("table", TABLE, *AUDIT, "table", fix="use .csv, .tsv"),
    "a folder": bad(*AUDIT, "SHARED/full", names="full", fix="give a file"),
    "a folder to prepare": bad("prepare", "SHARED/full", names="full", fix="give a file"),
    "empty": of_file("e.csv", "", "prepare", "e.csv", fix="at least one row"),
    "empty, audited": of_file("e.csv", "", *AUDIT, "e.csv", fix="at least one row"),
    "empty JSONL": of_file("e.jsonl", "\n\n", *AUDIT, "e.jsonl", fix="at least one row"),
    "only a header": of_file("h.csv", "text,label\n", *AUDIT, "h.csv", fix="at least one row"),
    "binary for CSV": of_file(
        "b.csv", bytes(range(256)) * 9, "prepare", "b.csv", fix="save it in that encoding"
    ),
    "binary for Parquet": of_file(
        "b.parquet", bytes(range(256)) * 9, "prepare", "b.parquet", fix="write it again"
    ),
    "binary for JSONL": of_file(
        "b.jsonl", b"\xff\x00" * 40, *AUDIT, "b.jsonl", fix="save it in that encoding"
    ),
    "Parquet that was cut": Bad((*AUDIT, "cut.parquet"), "cut.parquet", "write it again", _parquet),
    "no gzip": of_file("t.csv.gz", TABLE, *AUDIT, "t.csv.gz", fix="compress it again"),
    "gzip that was cut": of_file(
        "t.csv.gz", gzip.compress(TABLE.encode() * 90)[:-30], *AUDIT, "t.csv.gz", fix="again"
    ),
    "zipped Parquet": of_file("t.parquet.gz", b"x", *AUDIT, "t.parquet.gz", fix="use .csv"),
    "ragged": of_file(
        "r.csv", TABLE + "one,two,three\n", "prepare", "r.csv", names="line 4", fix="3 fields"
    ),
    "ragged, audited": of_file(
        "r.csv", TABLE + "alone\n", *AUDIT, "r.csv", names="line 4", fix="quote"
    ),
    "a quote that never ends": of_file(
        "q.csv", TABLE + '"never, ends\n', *AUDIT, "q.csv", names="q.csv", fix="quote"
    ),
    "NUL in a header": of_file(
        "n.csv", "te\0xt,label\na,1\n", *AUDIT, "n.csv", fix="save it in that encoding"
    ),
    "a header twice": of_file(
        "d.csv", "text,label,text\na,1,b\n", "prepare", "d.csv", names="'text'", fix="rename"
    ),
    "a header twice, audited": of_file(
        "d.csv", "text,label,label\na,1,1\n", *AUDIT, "d.csv", names="'label'", fix="rename"
    ),
    "broken JSON": of_file(
        "b.jsonl",
        '{"text": "a", "label": 1}\n{"text": \n',
        "prepare",
        "b.jsonl",
        names="line 2 of b.jsonl",
        fix="one JSON object per line",
    ),
    "broken JSON, audited": of_file(
        "b.jsonl",
        '{"text": "a", "label": 1}\n\n{"text": "b" "label": 1}\n',
        *AUDIT,
        "b.jsonl",
        names="line 3 of b.jsonl",
        fix="one JSON object per line",
    ),
    "JSON of no objects": of_file(
        "l.jsonl", '["good", 1]\n', *AUDIT, "l.jsonl", names="line 1", fix="one JSON object"
    ),
    "JSON of a text": of_file(
        "l.jsonl", '"good"\n', "prepare", "l.jsonl", names="line 1", fix="one JSON object"
    ),
    "JSON, one large array": of_file(
        "l.jsonl",
        '[{"text": "a", "label": 1},\n{"text": "b", "label": 0}]\n',
        *AUDIT,
        "l.jsonl",
        names="line 1",
        fix="one JSON object",
    ),
    "JSON too deep": of_file(
        "l.jsonl", "[" * 100_000 + "\n", *AUDIT, "l.jsonl", names="line 1", fix="one JSON object"
    ),
    "a number of too many digits": of_file(
        "l.jsonl",
        '{"text": "a", "label": ' + "9" * 5000 + "}\n",
        *AUDIT,
        "l.jsonl",
        names="line 1",
        fix="one JSON object",
    ),
    "an object for a text": of_file(
        "l.jsonl",
        '{"text": {"a": 1}, "label": 1}\n',
        *AUDIT,
        "l.jsonl",
        names="row 1 of l.jsonl",
        fix="name the column that holds the text",
    ),
    "an object for a text to prepare": of_file(
        "l.jsonl",
        '{"text": ["a"], "label": 1}\n{"text": "b", "label": 0}\n',
        "prepare",
        "l.jsonl",
        names="row 1 of l.jsonl",
        fix="name the column",
    ),
    "rows with other columns": of_file(
        "l.jsonl",
        '{"text": "a", "label": 1}\n{"text": "b"}\n',
        "prepare",
        "l.jsonl",
        names="'label' in line 2",
        fix="its columns are text",
    ),
    "YAML for a table": of_file("t.yaml", "a: 1\n", *AUDIT, "t.yaml", fix="use .csv, .tsv"),
    "a table for YAML": bad(
        "sweep", "SHARED/good.csv", names="good.csv", fix="write `name: value`"
    ),
    "dev file missing": bad(
        "train",
        "--corpus",
        "SHARED/good.csv",
        "--dev",
        "none.csv",
        names="none.csv",
        fix="check the path",
    ),
    "test file of another kind": bad(
        "train",
        "--corpus",
        "SHARED/good.csv",
        "--test",
        "SHARED/full/x",
        names="x has an unknown extension",
        fix="use .csv",
    ),
    "a verdict for a table": bad(
        *AUDIT, "SHARED/audit/verdict.json", names="verdict.json", fix="use .csv, .tsv"
    ),
    "an audit's table for texts": bad(
        *AUDIT,
        "SHARED/audit/rows.parquet",
        names="rows.parquet has no column 'text'",
        fix="name one with",
    ),
}
