"""A study as Label Studio's tasks, and its annotations back.

Tasks say nothing of whose weights are shown: they are as blind as our own page. Label Studio
counts characters in units of UTF-16, Heedful in characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from heedful.apps.annotation.database import RELEVANCE
from heedful.apps.annotation.items import Item, Span
from heedful.apps.annotation.study import JUDGEMENTS, Study
from heedful.errors import HeedfulError
from heedful.input_files import read_whole, readable
from heedful.schemas import check_version
from heedful.store import FileKind, begins, write_file

Answers = dict[str, dict[int, Any]]
VERSION = 1
"""Of a task's data; the first ones said none."""
SIDES = {"a": "text", "b": "text_b"}
TOP, REASON, CHOICE = "top word", "reason", "relevant"


INTERFACE = FileKind(
    "a labelling interface of Heedful", begins('<View>\n<Header value="$class"/>\n', "</View>")
)


def write_label_studio(study: Study, path: Path) -> int:
    """The tasks, and beside them the labelling interface (.xml); returns the number of tasks."""
    answers = study.everybody()
    tasks = [_task(study, item, answers) for item in study.items.values()]
    write_file(path, json.dumps(tasks, ensure_ascii=False, indent=1))
    write_file(path.with_suffix(".xml"), interface(study))
    return len(tasks)


def read_label_studio(study: Study, path: Path) -> Answers:
    """Answers by annotator; who annotated is our own name, else Label Studio's number."""
    with readable(path):
        tasks = json.loads(read_whole(path))
    found: Answers = {}
    try:
        for task in tasks:
            item = _item(study, task["data"])
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
    asked = _relevance(sides) if study.task == RELEVANCE else _rationale(sides)
    return "\n".join(["<View>", '<Header value="$class"/>', *asked, *texts, "</View>", ""])


def _relevance(sides: list[str]) -> list[str]:
    choices = "".join(f'<Choice value="{value}"/>' for value in JUDGEMENTS)
    return [
        '<Header value="Are the marked words relevant to this prediction?"/>',
        *_labels(sides, "top", TOP),
        f'<Choices name="{CHOICE}" toName="text" required="true">{choices}</Choices>',
    ]


def _rationale(sides: list[str]) -> list[str]:
    return [
        '<Header value="Mark the words that are the reason."/>',
        *_labels(sides, "reason", REASON),
    ]


def _labels(sides: list[str], name: str, label: str) -> Iterator[str]:
    """Labels belong to one text: each that has words on trial needs its own."""
    for side in sides:
        to = f'name="{_tag(name, side)}" toName="{SIDES[side]}"'
        yield f'<Labels {to}><Label value="{label}"/></Labels>'


def _tag(name: str, side: str) -> str:
    return name if side == "a" else f"{name}_{side}"


def _task(study: Study, item: Item, answers: Answers) -> dict[str, Any]:
    data = {"schema_version": VERSION, "item": item.number, "id": item.example}
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
    for number, span in enumerate(item.words.get(side, ()), first):
        if _overlap(span, (start, end)):
            yield number


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _characters(text: str, units: int) -> int:
    return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))


def _who(made: Mapping[str, Any]) -> str:
    who = made.get("annotator") or made.get("completed_by")
    number = who.get("id", "?") if isinstance(who, Mapping) else who
    return number if isinstance(number, str) else f"label studio {number}"


def _item(study: Study, data: Mapping[str, Any]) -> Item:
    version = data.get("schema_version", 1)
    check_version("this file", version, VERSION, "export the study again for Label Studio")
    item = study.items[data["item"]]
    if data["id"] != item.example:
        raise HeedfulError("the file is of another study: export the project of this one.")
    return item
