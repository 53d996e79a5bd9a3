"""A study small enough to be written down: no model, four items, hostile texts."""

from __future__ import annotations

from pathlib import Path

from heedful.apps.annotation import (
    ORIGINAL,
    PERMUTED,
    PLAIN,
    RATIONALE,
    RELEVANCE,
    Item,
    Plan,
    Study,
    create,
    invite,
)
from heedful.targets import split_words

TEXTS = (
    "a fine 😀 film, truly",
    "<script>alert(1)</script> dull",
    "\u202egood\u202c <img src=x onerror=alert(1)>",
    "bad & plain",
)
KEY = "the-key-of-results"


def items(task: str, count: int = 4) -> tuple[Item, ...]:
    """Half of them original, half permuted; the second of each half is wrong."""
    return tuple(_item(task, number) for number in range(count))


def make_study(path: Path, task: str = RELEVANCE, annotators: int = 2, count: int = 4) -> Study:
    facts = {"source": "imdb, test split", "family": "tiny", "labels": ["no", "yes"], "seed": 0}
    facts |= {"model": "a model", "n": count // 2, "top": 2, "notes": []}
    create(path, Plan(task, items(task, count), facts), KEY)
    study = Study(path)
    invite(study, annotators)
    return study


def _item(task: str, number: int) -> Item:
    text = TEXTS[number % len(TEXTS)]
    right = number % 2 == 0
    shown = PLAIN if task == RATIONALE else (ORIGINAL if number % 4 < 2 else PERMUTED)
    top = () if task == RATIONALE else (0, 1)
    label = "yes" if number % 4 < 2 else "no"
    said = label if right else {"yes": "no", "no": "yes"}[label]
    words = {"a": split_words(text)}
    return Item(number, f"text-{number}", shown, {"a": text}, words, top, said, label, right)
