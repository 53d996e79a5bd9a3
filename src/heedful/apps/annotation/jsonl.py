"""A study as JSON lines: one item each, with everybody's answer.

The lines of the task `rationale` are a table that `heedful audit` and the corpus `file` read:
columns `id`, `text`, `label` and `rationale`, in characters.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heedful.apps.annotation.database import RATIONALE
from heedful.apps.annotation.items import Item
from heedful.apps.annotation.study import Study
from heedful.data import read_rows
from heedful.errors import HeedfulError, unknown_name
from heedful.schemas import check_version
from heedful.store import write_file

Answers = dict[str, dict[int, Any]]
VERSION = 1
"""Of a line; the first ones said none."""
MERGES = ("majority", "union", "intersection")


def write_jsonl(study: Study, path: Path, merge: str = "majority") -> int:
    """Returns the number of lines."""
    answers = study.everybody()
    lines = [_line(study, item, answers, merge) for item in study.items.values()]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write_file(path, text)
    return len(lines)


def read_jsonl(study: Study, path: Path) -> Answers:
    """Everybody's answers in a file that `write_jsonl` wrote, or that has `item` and `answers`."""
    found: Answers = {}
    for number, row in enumerate(read_rows(path, ("item", "answers")), 1):
        item = _item(study, row, f"line {number} of {path.name}")
        for name, value in row["answers"].items():
            found.setdefault(str(name), {})[item.number] = value
    return found


def _line(study: Study, item: Item, answers: Answers, merge: str) -> dict[str, Any]:
    said = {name: given[item.number] for name, given in answers.items() if item.number in given}
    line: dict[str, Any] = {
        "schema_version": VERSION,
        "id": item.example,
        "item": item.number,
        "text": item.texts["a"],
        **({"text_b": item.texts["b"]} if "b" in item.texts else {}),
        "label": item.label,
        "prediction": item.prediction,
    }
    if study.task == RATIONALE:
        line["rationale"] = rationale(item, said, merge)
    else:
        line |= {"shown": item.shown, "correct": item.correct, "top": list(item.top)}
    return {**line, "answers": said}


def rationale(item: Item, said: Mapping[str, list[int]], merge: str) -> Any:
    """[start, end) pairs of characters; by side where both have words on trial. None where
    nobody has answered."""
    chosen = merged(list(said.values()), merge)
    if chosen is None:
        return None
    spans = item.spans(chosen)
    by_side = {side: spans.get(side, []) for side in item.words}
    return by_side if "b" in by_side else by_side["a"]


def _item(study: Study, row: Mapping[str, Any], where: str) -> Item:
    number, said = row["item"], row["answers"]
    check_version(where, row.get("schema_version", 1), VERSION, "export the study again")
    if type(number) is not int or number not in study.items:
        known = f"from 0 to {len(study.items) - 1}"
        raise HeedfulError(f"{where} is of item {number!r}, which is none: give one {known}.")
    if not isinstance(said, Mapping):
        raise HeedfulError(f"{where} has no answers by annotator: write {{name: answer}}.")
    item = study.items[number]
    if row.get("id", item.example) != item.example:
        raise HeedfulError(f"{where} is of another study: give answers to this one.")
    return item


def merged(marked: Sequence[Sequence[int]], how: str = "majority") -> tuple[int, ...] | None:
    """The words that more than half of those who answered have marked, or any, or all of them;
    None where nobody has answered."""
    if how not in MERGES:
        raise unknown_name("merge", how, list(MERGES))
    if not marked:
        return None
    least = {"majority": len(marked) // 2 + 1, "union": 1, "intersection": len(marked)}[how]
    counts = Counter(word for words in marked for word in set(words))
    return tuple(sorted(word for word, count in counts.items() if count >= least))
