"""Studies of annotators: files that are none, answers that do not fit, ports."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

from bad_input.entry import Bad, of_file, spoilt
from bad_input.models import without

NEW = "heedful annotate new"


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
    command = f"annotate import SHARED/{study}.db a.jsonl"
    return of_file("a.jsonl", content, command, names=names, fix=fix)


def said(value: object, names: str, fix: str, study: str = "rationale") -> Bad:
    line = {"item": 0, "id": "text-0", "answers": {"annotator 1": value}}
    return answers(line, names, fix, study)


def tasks(value: object, names: str = "a.json", fix: str = "export its project as JSON") -> Bad:
    command = "annotate import SHARED/rationale.db a.json --format label-studio"
    return of_file("a.json", json.dumps(value), command, names=names, fix=fix)


def opened(spoil: Callable[[Path], object], names: str, fix: str, verb: str = "results") -> Bad:
    return spoilt("rationale.db", spoil, f"annotate {verb} rationale.db", names=names, fix=fix)


BAD: dict[str, Bad] = {
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
    "an answer that is no list": said("yes", "annotator 1", "list of numbers"),
    "an answer of texts": said(["good"], "annotator 1", "list of numbers"),
    "a judgement that is none": said("perhaps", "annotator 1", "yes, no, unsure", "relevance"),
    "a judgement that is a list": said(["yes"], "annotator 1", "yes, no, unsure", "relevance"),
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
    "a study of a model without weights": spoilt(
        "bert",
        without("model.safetensors"),
        "annotate new bert SHARED/good.csv",
        names="bert",
        fix="model.safetensors",
    ),
}
