"""The names of classes; of very many, as where words are the classes, only those that occur."""

from __future__ import annotations

from collections.abc import Sequence

from heedful.report.examples.assembled import Assembled

MANY = 100


def few_classes(classes: Sequence[str], found: Assembled) -> list[str]:
    """With more than a hundred, the texts and examples are numbered anew by those that some
    text has as its label or some model predicts."""
    if len(classes) <= MANY:
        return list(classes)
    lines = [line for part in found.examples for line in part]
    used = sorted({line["p"] for line in lines} | {t["y"] for t in found.texts if t["y"] >= 0})
    place = {number: new for new, number in enumerate(used)}
    for line in lines:
        line["p"] = place[line["p"]]
    for each in found.texts:
        each["y"] = place.get(each["y"], -1)
    return [_name(classes, number) for number in used]


def _name(classes: Sequence[str], number: int) -> str:
    return str(classes[number]) if number < len(classes) else f"class {number}"
