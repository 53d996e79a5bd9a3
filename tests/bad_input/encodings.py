"""Bytes that are not the text they should be."""

from __future__ import annotations

from bad_input.entry import Bad, bad, of_file

AUDIT = "audit SHARED/bert"
TABLE = "text,label\na fine café,1\nbad film,0\n"
UTF8 = "save it in that encoding"

BAD: dict[str, Bad] = {
    "latin-1": of_file("t.csv", TABLE.encode("latin1"), "prepare t.csv", fix=UTF8),
    "latin-1, audited": of_file("t.csv", TABLE.encode("latin1"), f"{AUDIT} t.csv", fix=UTF8),
    "UTF-16": of_file("t.csv", TABLE.encode("utf-16"), f"{AUDIT} t.csv", fix=UTF8),
    "UTF-16 without a mark": of_file(
        "t.csv", TABLE.replace("é", "e").encode("utf-16-le"), f"{AUDIT} t.csv", fix="UTF-8"
    ),
    "UTF-32": of_file("t.jsonl", TABLE.encode("utf-32"), "prepare t.jsonl", fix=UTF8),
    "overlong bytes": of_file("t.tsv", b"text\tlabel\n\xc0\xaf\t1\n", f"{AUDIT} t.tsv", fix=UTF8),
    "cut in a character": of_file("t.csv", (TABLE + "é").encode()[:-1], f"{AUDIT} t.csv", fix=UTF8),
    "a mark for the column's name": of_file(
        "t.csv",
        b"\xef\xbb\xbf\xef\xbb\xbf" + TABLE.encode(),
        f"{AUDIT} t.csv",
        names="no column 'text'",
        fix="name one with",
    ),
    "a grid that is no UTF-8": of_file("g.yaml", b"caf\xe9: 1", "sweep g.yaml", fix="save it"),
    "a baseline of other bytes": of_file(
        "v.json",
        b"caf\xe9",
        "check SHARED/bert SHARED/good.csv --baseline v.json",
        fix="give a verdict.json of an audit",
    ),
    "vectors of other bytes": of_file(
        "v.vec",
        "café 0.1 0.2\n".encode("latin1"),
        "prepare planted --param vectors=v.vec",
        fix="UTF-8",
    ),
    "answers of other bytes": of_file(
        "a.jsonl", b"\xff\xfe", "annotate import SHARED/rationale.db a.jsonl", fix=UTF8
    ),
    "half a character typed": bad(
        "explain SHARED/bert 'good \ud83d film'", names="half of a character", fix="write it again"
    ),
    "half a character in a path": bad("prepare 'film\udce9.csv'", names="film", fix="rename"),
    "half a character in a store": bad(
        "store ls --store 's\udcff'", names="half of a character", fix="rename"
    ),
    "half a character in an environment variable": bad(
        "store ls", names="HEEDFUL_STORE", fix="rename", HEEDFUL_STORE="s\udcff"
    ),
    "half a character in a label": bad(
        "audit SHARED/bert SHARED/good.csv --label-map '1=\udcff'",
        names="half of a",
        fix="write it again",
    ),
    "control characters in a path": bad(
        "prepare '\x1b[31mred\x07.csv'", names="red", fix="check the path"
    ),
    "a line break in a name": bad("prepare 'two\nlines'", names="unknown corpus", fix="choose"),
    "NUL in a path": bad("prepare 'nul\x00.csv'", names="NUL", fix="leave it out"),
}
