"""Studies of annotators: files that are none, answers that do not fit, ports."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

from bad_input.entry import Bad, bad, of_file, spoilt
from bad_input.models import without

NEW = "heedful annotate new"
IMPORT = ("annotate", "import", "SHARED/rationale.db", "a.jsonl")


def sql(*statements: str) -> Callable[[Path], object]:
    def spoil(path: Path) -> None:
        db = sqlite3.connect(path)
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()

    return spoil


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def answers(line: object, names: str, fix: str, study: str = "rationale") -> Bad:
    content = line if isinstance(line, str) else json.dumps(line) + "\n"
    typed = ("annotate", "import", f"SHARED/{study}.db", "a.jsonl")
    return of_file("a.jsonl", content, *typed, names=names, fix=fix)


def said(value: object, names: str, fix: str, study: str = "rationale") -> Bad:
    line = {"item": 0, "id": "text-0", "answers": {"annotator 1": value}}
    return answers(line, names, fix, study)


def tasks(value: object, names: str = "a.json", fix: str = "export its project as JSON") -> Bad:
    typed = ("annotate", "import", "SHARED/rationale.db", "a.json", "--format", "label-studio")
    return of_file("a.json", json.dumps(value), *typed, names=names, fix=fix)


def opened(spoil: Callable[[Path], object], names: str, fix: str, *typed: object) -> Bad:
    return spoilt(
        "rationale.db",
        spoil,
        "annotate",
        *(typed or ("results",)),
        "rationale.db",
        names=names,
        fix=fix,
    )


NEWS = ("annotate", "new", "SHARED/bert", "SHARED/good.csv", "--n", "2")
BAD: dict[str, Bad] = {
    "a verb that is not there": bad("annotate", names="command", fix="--help"),
    "no study": bad("annotate", "results", "none.db", names="none.db", fix=NEW),
    "no study to serve": bad("annotate", "serve", "none.db", names="none.db", fix=NEW),
    "no study to invite for": bad("annotate", "invite", "none.db", names="none.db", fix=NEW),
    "no study to export": bad("annotate", "export", "none.db", "x.jsonl", names="none.db", fix=NEW),
    "no study to import into": bad(
        "annotate", "import", "none.db", "x.jsonl", names="none.db", fix=NEW
    ),
    "a folder": bad("annotate", "results", "SHARED/full", names="full", fix=NEW),
    "a table": bad("annotate", "results", "SHARED/good.csv", names="good.csv", fix=NEW),
    "a table to serve": bad("annotate", "serve", "SHARED/good.csv", names="good.csv", fix=NEW),
    "a table to invite for": bad(
        "annotate", "invite", "SHARED/good.csv", names="good.csv", fix=NEW
    ),
    "an empty file": of_file("e.db", "", "annotate", "results", "e.db", fix=NEW),
    "another program's database": opened(sql("PRAGMA application_id=7"), "rationale.db", NEW),
    "a newer version": opened(sql("PRAGMA user_version=9"), "schema 9", "update Heedful"),
    "a database that was cut": opened(cut, "rationale.db", NEW),
    "a database without its tables": opened(sql("DROP TABLE items"), "rationale.db", NEW),
    "items that are no JSON": opened(sql("UPDATE items SET content='{nope'"), "rationale.db", NEW),
    "items of something else": opened(sql("UPDATE items SET content='[]'"), "rationale.db", NEW),
    "facts that are gone": opened(sql("DELETE FROM study"), "rationale.db", NEW),
    "a task that nobody knows": opened(
        sql("UPDATE study SET value='\"poetry\"' WHERE name='task'"), "rationale.db", NEW
    ),
    "places that are no JSON": opened(
        sql("UPDATE annotators SET places='nope'"), "rationale.db", NEW, "serve"
    ),
    "answers that are no JSON": opened(
        sql("INSERT INTO answers VALUES ('annotator 1', 0, 'nope', '')"), "rationale.db", NEW
    ),
    "a port in words": bad(
        "annotate", "serve", "SHARED/rationale.db", "--port", "http", names="--port", fix="integer"
    ),
    "a port below 0": bad(
        "annotate", "serve", "SHARED/rationale.db", "--port", "-1", names="--port", fix="--help"
    ),
    "a port too large": bad(
        "annotate", "serve", "SHARED/rationale.db", "--port", "70000", names="--port", fix="--help"
    ),
    "a host that is not there": bad(
        "annotate",
        "serve",
        "SHARED/rationale.db",
        "--host",
        "no.such.host.invalid",
        names="no.such.host",
        fix="--host",
    ),
    "a study of a model that is not there": bad(
        "annotate", "new", "none", "SHARED/good.csv", names="'none'", fix="save_pretrained"
    ),
    "a study of a model's file": bad(
        "annotate",
        "new",
        "SHARED/good.csv",
        "SHARED/good.csv",
        names="good.csv",
        fix="give the folder",
    ),
    "a study without texts": bad(
        "annotate", "new", "SHARED/bert", names="there are no texts", fix="give"
    ),
    "a study of texts without labels": bad(
        *NEWS, "--label-column", "none", names="labels", fix="--task rationale"
    ),
    "no answers to import": answers("", "a.jsonl", "at least one row"),
    "a file of answers that is not there": bad(
        "annotate",
        "import",
        "SHARED/rationale.db",
        "none.jsonl",
        names="none.jsonl",
        fix="check the path",
    ),
    "answers without columns": answers({"item": 0}, "'answers'", "its columns are"),
    "answers that are broken": answers("{nope\n", "line 1", "one JSON object"),
    "answers of an item that is not there": answers(
        {"item": 99, "answers": {}}, "99", "from 0 to 3"
    ),
    "answers of an item in words": answers({"item": "one", "answers": {}}, "line 1", "give"),
    "answers that are a list": answers({"item": 0, "answers": []}, "line 1", "annotator"),
    "answers of another study": answers(
        {"item": 0, "id": "zz", "answers": {}}, "line 1", "another study"
    ),
    "an answer that is no list": said("yes", "annotator 1", "list of numbers"),
    "an answer out of range": said([99], "annotator 1", "from 0 to"),
    "an answer below 0": said([-1], "annotator 1", "from 0 to"),
    "an answer of texts": said(["good"], "annotator 1", "list of numbers"),
    "a judgement that is none": said("perhaps", "annotator 1", "yes, no, unsure", "relevance"),
    "a judgement that is a list": said(["yes"], "annotator 1", "yes, no, unsure", "relevance"),
    "an annotator without a name": answers(
        {"item": 0, "id": "text-0", "answers": {"": [0]}}, "''", "name"
    ),
    "no tasks": bad(
        "annotate",
        "import",
        "SHARED/rationale.db",
        "none.json",
        "--format",
        "label-studio",
        names="none.json",
        fix="check the path",
    ),
    "tasks that are an object": tasks({"data": 1}),
    "tasks of nothing": tasks([1]),
    "tasks without data": tasks([{"annotations": []}]),
    "tasks of another study": tasks([{"data": {"item": 0, "id": "zz"}}], "a.json", "of this one"),
    "tasks of an item that is not there": tasks([{"data": {"item": 99, "id": "zz"}}]),
    "tasks with a region in words": tasks(
        [
            {
                "data": {"item": 0, "id": "text-0"},
                "annotations": [
                    {
                        "completed_by": 1,
                        "result": [
                            {
                                "type": "labels",
                                "to_name": "text",
                                "value": {"start": "a", "end": "b"},
                            }
                        ],
                    }
                ],
            }
        ]
    ),
    "an export of no merge": bad(
        "annotate",
        "export",
        "SHARED/rationale.db",
        "x.jsonl",
        "--merge",
        "vote",
        names="'vote'",
        fix="choose one of",
    ),
    "an invitation for thousands": bad(
        "annotate",
        "invite",
        "SHARED/rationale.db",
        "--annotators",
        "1001",
        names="--annotators",
        fix="--help",
    ),
    "a study of a model without weights": spoilt(
        "bert",
        without("model.safetensors"),
        "annotate",
        "new",
        "bert",
        "SHARED/good.csv",
        names="bert",
        fix="model.safetensors",
    ),
}
