"""Tables that can be read and hold the wrong things."""

from __future__ import annotations

import json
from dataclasses import replace

from bad_input.entry import Bad, of_file

AUDIT = "audit SHARED/bert"
ROWS = [("good film", 1), ("bad film", 0), ("a dull plot", 0), ("very great", 1)]


def table(**columns: object) -> str:
    """JSON lines: the usual rows with a cell of the second row otherwise."""
    rows = [{"text": text, "label": label} for text, label in ROWS]
    rows[1].update(columns)
    return "".join(json.dumps(row) + "\n" for row in rows)


def audited(options: str = "", *, names: str, fix: str, **columns: object) -> Bad:
    content = table(**columns)
    return of_file("t.jsonl", content, f"{AUDIT} t.jsonl {options}", names=names, fix=fix)


def prepared(options: str = "", *, names: str, fix: str, **columns: object) -> Bad:
    content = table(**columns)
    return of_file("t.jsonl", content, f"prepare t.jsonl {options}", names=names, fix=fix)


WHY = "--rationale-column why"
MARKED = "--param rationale_column=why"
FORBIDDEN = "--param impermissible_column=why"


def marked(value: object, names: str, fix: str) -> Bad:
    """A rationale of the second of texts that all have one."""
    rows = [{"text": t, "label": k, "why": [[0, 2]]} for t, k in ROWS]
    rows[1]["why"] = value
    content = "".join(json.dumps(row) + "\n" for row in rows)
    return of_file("t.jsonl", content, f"{AUDIT} t.jsonl {WHY}", names=names, fix=fix)


def marked_corpus(value: object, names: str, fix: str, options: str = MARKED) -> Bad:
    rows = [{"text": t, "label": k, "why": [[0, 2]]} for t, k in ROWS]
    rows[1]["why"] = value
    content = "".join(json.dumps(row) + "\n" for row in rows)
    return of_file("t.jsonl", content, f"prepare t.jsonl {options}", names=names, fix=fix)


BAD: dict[str, Bad] = {
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
    "a class in test alone": replace(
        of_file(
            "t.csv",
            "text,label,part\na b c d e f,1,train\nb a c d e f,0,train\na a b c d e f,2,test\n",
            "train --corpus t.csv --split-column part",
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
    "an id that is missing": audited("--id-column id", id=None, names="row", fix="id"),
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
}
