"""A study as files that other tools read, and answers back from them: JSON lines, Label Studio.

JSON lines hold one item each, with everybody's answer. Those of the task `rationale` are a table
that `heedful audit` and the corpus `file` read: columns `id`, `text`, `label` and `rationale`, in
characters. Tasks of Label Studio say nothing of whose weights are shown: they are as blind as our
own page. Label Studio counts characters in units of UTF-16, Heedful in characters.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from heedful.apps.annotation.database import RATIONALE, RELEVANCE
from heedful.apps.annotation.items import Item
from heedful.apps.annotation.study import JUDGEMENTS, Study
from heedful.data import read_rows
from heedful.errors import HeedfulError, unknown_name
from heedful.input_files import read_whole, readable
from heedful.schemas import check_version
from heedful.store import FileKind, begins, write_file

Answers = dict[str, dict[int, Any]]
LINE_VERSION, TASK_VERSION = 1, 1
"""Of a JSON line and of a task's data; the first ones said none."""
MERGES = ("majority", "union", "intersection")
SIDES = {"a": "text", "b": "text_b"}
TOP, REASON, CHOICE = "top word", "reason", "relevant"
INTERFACE = FileKind(
    "a labelling interface of Heedful", begins('<View>\n<Header value="$class"/>\n', "</View>")
)


def export_of(study: Study, reader: Callable[[Study, Path], Answers]) -> FileKind:
    """Files of answers that may be replaced: those of which the study has every answer."""

    def fits(path: Path) -> bool:
        try:
            answers, known = reader(study, path), study.everybody()
        except HeedfulError:
            return False
        return all(
            known.get(name, {}).get(item) == value
            for name, said in answers.items()
            for item, value in said.items()
        )

    return FileKind("an export of this study, or has answers that were not imported", fits)


def write_jsonl(study: Study, path: Path, merge: str = "majority") -> int:
    """Returns the number of lines."""
    answers = study.everybody()
    lines = [_line(study, item, answers, merge) for item in study.items.values()]
    write_file(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return len(lines)


def read_jsonl(study: Study, path: Path) -> Answers:
    """Everybody's answers in a file that `write_jsonl` wrote, or that has `item` and `answers`."""
    found: Answers = {}
    for number, row in enumerate(read_rows(path, ("item", "answers")), 1):
        item = _item_of_line(study, row, f"line {number} of {path.name}")
        for name, value in row["answers"].items():
            found.setdefault(str(name), {})[item.number] = value
    return found


def _line(study: Study, item: Item, answers: Answers, merge: str) -> dict[str, Any]:
    said = {name: given[item.number] for name, given in answers.items() if item.number in given}
    line: dict[str, Any] = {
        "schema_version": LINE_VERSION,
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


def _item_of_line(study: Study, row: Mapping[str, Any], where: str) -> Item:
    number, said = row["item"], row["answers"]
    check_version(where, row.get("schema_version", 1), LINE_VERSION, "export the study again")
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
    """The words that a majority of annotators, any of them, or all of them marked; None where
    nobody has answered."""
    if how not in MERGES:
        raise unknown_name("merge", how, list(MERGES))
    if not marked:
        return None
    least = {"majority": len(marked) // 2 + 1, "union": 1, "intersection": len(marked)}[how]
    counts = Counter(word for words in marked for word in set(words))
    return tuple(sorted(word for word, count in counts.items() if count >= least))


def write_label_studio(study: Study, path: Path) -> int:
    """The tasks, and beside them the labelling interface (.xml); returns the number of tasks."""
    answers = study.everybody()
    tasks = [_task(study, item, answers) for item in study.items.values()]
    write_file(path, json.dumps(tasks, ensure_ascii=False, indent=1))
    write_file(path.with_suffix(".xml"), interface(study))
    return len(tasks)


def read_label_studio(study: Study, path: Path) -> Answers:
    """Answers by annotator, named by our own name or else by Label Studio's number."""
    with readable(path):
        tasks = json.loads(read_whole(path))
    found: Answers = {}
    try:
        for task in tasks:
            item = _item_of_task(study, task["data"])
            for made in task.get("annotations", ()):
                if not made.get("was_cancelled"):
                    found.setdefault(_who(made), {})[item.number] = _value(study, item, made)
    except HeedfulError as error:
        raise HeedfulError(f"{path.name}: {error}") from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise HeedfulError(
            f"{path.name} is no export of Label Studio for this study: export its project as JSON."
        ) from error
    return found


def interface(study: Study) -> str:
    """The labelling interface the tasks are made for."""
    pair = any("b" in item.texts for item in study.items.values())
    texts = [f'<Text name="{name}" value="${name}"/>' for name in ("text", "text_b")[: 1 + pair]]
    sides = [side for side in SIDES if any(side in item.words for item in study.items.values())]
    if study.task == RELEVANCE:
        choices = "".join(f'<Choice value="{value}"/>' for value in JUDGEMENTS)
        asked = [
            '<Header value="Are the marked words relevant to this prediction?"/>',
            *_labels(sides, "top", TOP),
            f'<Choices name="{CHOICE}" toName="text" required="true">{choices}</Choices>',
        ]
    else:
        header = '<Header value="Mark the words that are the reason."/>'
        asked = [header, *_labels(sides, "reason", REASON)]
    return "\n".join(["<View>", '<Header value="$class"/>', *asked, *texts, "</View>", ""])


def _labels(sides: list[str], name: str, label: str) -> Iterator[str]:
    """Labels belong to one text, so each text with words to judge needs its own."""
    for side in sides:
        to = f'name="{_tag(name, side)}" toName="{SIDES[side]}"'
        yield f'<Labels {to}><Label value="{label}"/></Labels>'


def _tag(name: str, side: str) -> str:
    return name if side == "a" else f"{name}_{side}"


def _task(study: Study, item: Item, answers: Answers) -> dict[str, Any]:
    data = {"schema_version": TASK_VERSION, "item": item.number, "id": item.example}
    data["class"] = item.explained
    data |= {SIDES[side]: text for side, text in item.texts.items()}
    made = [
        {"annotator": name, "completed_by": number, "result": _result(study, item, given)}
        for number, (name, said) in enumerate(answers.items(), 1)
        if (given := said.get(item.number)) is not None
    ]
    task: dict[str, Any] = {"id": item.number + 1, "data": data, "annotations": made}
    if study.task == RELEVANCE:
        marked = list(_regions(item, tuple(item.top), "top", TOP))
        task["predictions"] = [{"model_version": "heedful", "result": marked}]
    return task


def _result(study: Study, item: Item, value: Any) -> list[dict[str, Any]]:
    if study.task != RELEVANCE:
        return list(_regions(item, tuple(value), "reason", REASON))
    chosen = {"choices": [value]}
    return [{"from_name": CHOICE, "to_name": "text", "type": "choices", "value": chosen}]


def _regions(item: Item, words: tuple[int, ...], name: str, label: str) -> Iterator[dict[str, Any]]:
    for side, spans in item.spans(words).items():
        text = item.texts[side]
        for start, end in spans:
            place = {"start": _units(text[:start]), "end": _units(text[:end])}
            value = {**place, "text": text[start:end], "labels": [label]}
            tags = {"from_name": _tag(name, side), "to_name": SIDES[side]}
            yield {**tags, "type": "labels", "value": value}


def _value(study: Study, item: Item, made: Mapping[str, Any]) -> Any:
    if study.task == RELEVANCE:
        (chosen,) = (each for each in made["result"] if each["type"] == "choices")
        return chosen["value"]["choices"][0]
    marked = [each for each in made["result"] if each["type"] == "labels"]
    return sorted({word for each in marked for word in _words(item, each)})


def _words(item: Item, region: Mapping[str, Any]) -> Iterator[int]:
    """The words a region overlaps."""
    side = {name: side for side, name in SIDES.items()}[region["to_name"]]
    start, end = (_characters(item.texts[side], region["value"][at]) for at in ("start", "end"))
    first = 0 if side == "a" else len(item.words["a"])
    for number, (left, right) in enumerate(item.words.get(side, ()), first):
        if left < end and start < right:
            yield number


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _characters(text: str, units: int) -> int:
    return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))


def _who(made: Mapping[str, Any]) -> str:
    who = made.get("annotator") or made.get("completed_by")
    number = who.get("id", "?") if isinstance(who, Mapping) else who
    return number if isinstance(number, str) else f"label studio {number}"


def _item_of_task(study: Study, data: Mapping[str, Any]) -> Item:
    version = data.get("schema_version", 1)
    check_version("this file", version, TASK_VERSION, "export the study again for Label Studio")
    item = study.items[data["item"]]
    if data["id"] != item.example:
        raise HeedfulError("the file is of another study: export the project of this one.")
    return item
