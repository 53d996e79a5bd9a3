"""`python -m tools.simulated_annotators STUDY CORPUS`: answers of nobody, to try the protocol with.

They are simulated and named so, and say nothing about people. Each has one rule: the shown words
are relevant to the prediction if one of them speaks for it, by how often training texts of that
class have the word. Now and then one is careless and says the other thing. So it is known what
answers depend on: only on which words were shown.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from heedful.apps.annotation import RELEVANCE, Item, Study, annotators
from heedful.data import CORPORA, Example
from heedful.errors import HeedfulError
from heedful.hashing import stable_hash
from heedful.targets import split_words

FEWEST, LIFT = 5, 1.3
"""A word speaks for a class that has it in so many training texts at least, and so many times as
often as all classes have it."""
Spoken = Mapping[str, frozenset[str]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.simulated_annotators")
    parser.add_argument("study", type=Path)
    parser.add_argument("corpus", help="the corpus whose training texts tell what words speak for")
    parser.add_argument("--annotators", type=int, default=3)
    parser.add_argument("--careless", type=float, default=0.1)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("HEEDFUL_DATA"))
    options = parser.parse_args()
    raw = CORPORA[options.corpus].make(options.data_dir)
    training = [example for example in raw.examples if example.split == "train"]
    said = simulate(
        Study(options.study), spoken(training, raw.labels), options.annotators, options.careless
    )
    sys.stdout.write(f"took {said} simulated answers\n")


def spoken(examples: Iterable[Example], labels: tuple[str, ...]) -> Spoken:
    """The words that speak for each class."""
    having: dict[str, Counter[int]] = defaultdict(Counter)
    texts: Counter[int] = Counter()
    for example in examples:
        texts[example.label] += 1
        for word in _words(example.texts["a"]):
            having[word][example.label] += 1
    every = sum(texts.values())
    return {
        name: frozenset(
            word
            for word, counts in having.items()
            if counts[label] >= FEWEST
            and counts[label] * every >= LIFT * texts[label] * sum(counts.values())
        )
        for label, name in enumerate(labels)
    }


def simulate(study: Study, known: Spoken, count: int, careless: float) -> int:
    """Answers of `count` simulated annotators to every item; returns how many are new."""
    if study.task != RELEVANCE:
        raise HeedfulError("simulated annotators judge words: make a study of --task relevance.")
    if count < 1 or not 0 <= careless <= 1:
        raise HeedfulError("give at least one annotator, and a share of carelessness from 0 to 1.")
    names = [f"simulated {number}" for number in range(1, count + 1)]
    answers = {
        name: {item.number: _answer(item, name, known, careless) for item in study.items.values()}
        for name in names
    }
    there = {each.name for each in study.annotators()}
    newcomers = annotators(study, [name for name in names if name not in there])
    return study.take(answers, "simulated", newcomers)


def _answer(item: Item, name: str, known: Spoken, careless: float) -> str:
    shown = {word for number in item.top for word in _words(_surface(item, number))}
    relevant = bool(shown & known.get(item.prediction, frozenset()))
    slips = stable_hash("simulated", name, item.example, item.shown) % 10**6 < careless * 10**6
    return "yes" if relevant != slips else "no"


def _surface(item: Item, number: int) -> str:
    for side, spans in item.words.items():
        if number < len(spans):
            start, end = spans[number]
            return item.texts[side][start:end]
        number -= len(spans)
    return ""


def _words(text: str) -> set[str]:
    return {text[start:end].lower() for start, end in split_words(text)}


if __name__ == "__main__":
    main()
