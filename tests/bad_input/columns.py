"""Tables that can be read and hold the wrong things."""

from __future__ import annotations

import json
from dataclasses import replace

from bad_input.entry import Bad, bad, of_file

AUDIT = ("audit", "SHARED/bert")
ROWS = [("good film", 1), ("bad film", 0), ("a dull plot", 0), ("very great", 1)]


def table(**columns: object) -> str:
    """JSON lines: the usual rows with a cell of the second row otherwise."""
    rows = [{"text": text, "label": label} for text, label in ROWS]
    rows[1].update(columns)
    return "".join(json.dumps(row) + "\n" for row in rows)


def audited(*options: object, names: str, fix: str, **columns: object) -> Bad:
    content = table(**columns)
    return of_file("t.jsonl", content, *AUDIT, "t.jsonl", *options, names=names, fix=fix)


def prepared(*options: object, names: str, fix: str, **columns: object) -> Bad:
    content = table(**columns)
    return of_file("t.jsonl", content, "prepare", "t.jsonl", *options, names=names, fix=fix)


WHY = ("--rationale-column", "why")
MARKED = ("--param", "rationale_column=why")
FORBIDDEN = ("--param", "impermissible_column=why")


def marked(value: object, names: str, fix: str) -> Bad:
    """A rationale of the second of texts that all have one."""
    rows = [{"text": t, "label": k, "why": [[0, 2]]} for t, k in ROWS]
    rows[1]["why"] = value
    content = "".join(json.dumps(row) + "\n" for row in rows)
    return of_file("t.jsonl", content, *AUDIT, "t.jsonl", *WHY, names=names, fix=fix)


def marked_corpus(value: object, names: str, fix: str, options: tuple[str, ...] = MARKED) -> Bad:
    rows = [{"text": t, "label": k, "why": [[0, 2]]} for t, k in ROWS]
    rows[1]["why"] = value
    content = "".join(json.dumps(row) + "\n" for row in rows)
    return of_file("t.jsonl", content, "prepare", "t.jsonl", *options, names=names, fix=fix)


GOOD = (*AUDIT, "SHARED/good.csv")
FILE = ("prepare", "SHARED/good.csv")
BAD: dict[str, Bad] = {
    "no such text column": bad(
        *GOOD, "--text-column", "txet", names="'txet'", fix="its columns are text, label"
    ),
    "no such label column": bad(
        *GOOD, "--label-column", "stars", names="'stars'", fix="label_column=None"
    ),
    "no such second column": bad(*GOOD, "--text-b-column", "b", names="'b'", fix="name one with"),
    "no such id column": bad(*GOOD, "--id-column", "b", names="'b'", fix="--id-column"),
    "no such rationale column": bad(
        *GOOD, "--rationale-column", "why", names="'why'", fix="--rationale-column"
    ),
    "no such cluster column": bad(
        *GOOD, "--cluster-column", "who", names="'who'", fix="--cluster-column"
    ),
    "no such split column": bad(
        *FILE, "--split-column", "part", names="'part'", fix="its columns are"
    ),
    "no such column to train on": bad(
        "train",
        "--corpus",
        "SHARED/good.csv",
        "--label-column",
        "stars",
        names="'stars'",
        fix="its columns are text, label",
    ),
    "no such column to repair": bad(
        "repair",
        "--corpus",
        "SHARED/good.csv",
        "--text-column",
        "review",
        names="'review'",
        fix="its columns are text, label",
    ),
    "a column with an empty name": bad(
        *GOOD, "--text-column", "", names="''", fix="its columns are text, label"
    ),
    "one column for both": bad(
        *FILE, "--label-column", "text", names="'text'", fix="name two columns"
    ),
    "columns of a named corpus": bad(
        "prepare", "planted", "--text-column", "zz", names="'planted'", fix="leave them out"
    ),
    "columns of a named corpus, audited": bad(
        *AUDIT, "planted", "--text-column", "zz", names="'planted'", fix="leave text_column out"
    ),
    "a label that is missing": audited(
        label=None, names="row 2 of t.jsonl", fix="fill it in, leave the row out"
    ),
    "a label that is missing to prepare": prepared(
        label="", names="row 2 of t.jsonl", fix="fill it in or leave the row out"
    ),
    "a label that is not a number": audited(
        label=float("nan"), names="row 2 of t.jsonl", fix="fill it in, leave the row out"
    ),
    "a label called nan": prepared(label="NaN", names="row 2", fix="fill it in"),
    "a label that is infinite": audited(label=float("inf"), names="'inf'", fix="--label-map"),
    "a label that is an object": prepared(
        label={"a": 1}, names="row 2", fix="give a text or a number"
    ),
    "a label the model does not know": audited(
        label="maybe", names="'maybe'", fix="say which is which with --label-map"
    ),
    "a number the model has no class for": audited(label=7, names="'7'", fix="--label-map"),
    "a negative class": audited(label=-1, names="'-1'", fix="--label-map"),
    "several labels": audited(label=[0, 1], names="'row-000002' has 2 labels", fix="name a column"),
    "no label at all": audited(label=[], names="'row-000002' has 0 labels", fix="name a column"),
    "one class only": of_file(
        "t.csv",
        "text,label\ngood,1\nfine,1\n",
        "prepare",
        "t.csv",
        names="t.csv",
        fix="give texts of at least two",
    ),
    "one class only to train": of_file(
        "t.csv",
        "text,label\ngood,1\nfine,1\n",
        "train",
        "--corpus",
        "t.csv",
        names="t.csv",
        fix="give texts of at least two",
    ),
    "a class in test alone": replace(
        of_file(
            "t.csv",
            "text,label,part\na b c d e f,1,train\nb a c d e f,0,train\na a b c d e f,2,test\n",
            "train",
            "--corpus",
            "t.csv",
            "--split-column",
            "part",
            names="2",
            fix="train",
        ),
        leaves=("corpus-",),
    ),
    "a text that is missing": prepared(
        text=None, names="row 2", fix="fill it in, leave the row out"
    ),
    "a text that is a number": audited(text=5, names="row 2", fix="name the column that holds"),
    "a text that is true": audited(text=True, names="row 2", fix="name the column that holds"),
    "all texts blank": of_file(
        "t.csv", 'text,label\n" ",1\n"\t",0\n', *AUDIT, "t.csv", names="t.csv", fix="check the text"
    ),
    "all texts blank to prepare": of_file(
        "t.csv",
        'text,label\n" ",1\n"\t",0\n',
        "prepare",
        "t.csv",
        names="no training example",
        fix="change min_length",
    ),
    "all texts missing": of_file(
        "t.csv", "text,label\n,1\n,0\n", *AUDIT, "t.csv", names="t.csv", fix="check the text"
    ),
    "ids twice": of_file(
        "t.csv",
        "text,label,id\na,1,x\nb,0,x\n",
        *AUDIT,
        "t.csv",
        "--id-column",
        "id",
        names="'x'",
        fix="unique",
    ),
    "ids twice to prepare": of_file(
        "t.csv",
        "text,label,id\na,1,x\nb,0,x\n",
        "prepare",
        "t.csv",
        "--param",
        "id_column=id",
        names="'x'",
        fix="unique",
    ),
    "an id that is missing": audited("--id-column", "id", id=None, names="row", fix="id"),
    "an unknown split": of_file(
        "t.csv",
        "text,label,part\na,1,train\nb,0,exam\n",
        "prepare",
        "t.csv",
        "--split-column",
        "part",
        names="'exam'",
        fix="use one of train",
    ),
    "no training split": of_file(
        "t.csv",
        "text,label,part\na,1,test\nb,0,test\n",
        "prepare",
        "t.csv",
        "--split-column",
        "part",
        names="train",
        fix="name some rows",
    ),
    "a rationale out of range": marked([[0, 999]], "[0, 999)", "count characters from 0"),
    "a rationale that goes back": marked([[5, 2]], "[5, 2)", "count characters from 0"),
    "a rationale of nothing": marked([[3, 3]], "[3, 3)", "count characters from 0"),
    "a rationale below zero": marked([[-2, 3]], "[-2, 3)", "count characters from 0"),
    "a rationale in words": marked("the first", "row 2", "[start, end)"),
    "a rationale of texts": marked([["a", "b"]], "row 2", "[start, end)"),
    "a rationale of three": marked([[0, 1, 2]], "row 2", "[start, end)"),
    "a rationale of an object": marked({"start": 0}, "row 2", "[start, end)"),
    "a rationale of a number": marked(5, "row 2", "[start, end)"),
    "a rationale that is infinite": marked([[0, float("inf")]], "row 2", "[start, end)"),
    "a rationale to prepare, out of range": marked_corpus([[0, 999]], "[0, 999)", "count"),
    "a rationale to prepare, in words": marked_corpus("the first", "row 2", "write"),
    "a rationale to prepare, infinite": marked_corpus([[0, float("inf")]], "row 2", "write"),
    "an impermissible word that is not there": marked_corpus(
        "zebra", "'zebra'", "take it out", FORBIDDEN
    ),
    "an impermissible span out of range": marked_corpus([[0, 99]], "[0, 99)", "count", FORBIDDEN),
    "an impermissible cell of all kinds": marked_corpus([[0, 2], "a"], "row 2", "write", FORBIDDEN),
    "nothing impermissible": of_file(
        "t.csv",
        "text,label,no\na,1,\nb,0,\n",
        "prepare",
        "t.csv",
        "--param",
        "impermissible_column=no",
        names="'no'",
        fix="fill some cells",
    ),
    "a pair for a model of one text": bad(
        "audit",
        "MODEL_KEY",
        "SHARED/good.csv",
        "--text-b-column",
        "label",
        "--store",
        "SHARED/store",
        names="MODEL_KEY reads one text",
        fix="leave text_b_column out",
    ),
}
