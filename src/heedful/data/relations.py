"""Relations between words that are known, as questions that attention can be asked.

Each case is a word, the words that would be right, and those there are to choose from. Syntactic
arcs come from CoNLL-U files, coreference from CoNLL-2012 files or JSON lines. Both directions of an
arc are asked: from a word to its head, and from a head to its dependents. Punctuation is left out.
A generated corpus has arcs by construction; adjectives and phrases between words vary, so no fixed
distance finds them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heedful.data.conll2012 import is_conll2012, load_conll2012
from heedful.data.conllu import Sentence, load_conllu
from heedful.errors import HeedfulError
from heedful.input_files import read_lines

COREFERENCE = "coreference"
TO_HEAD, FROM_HEAD, BACK = "to head", "from head", "to antecedent"
PUNCT = "punct"


@dataclass(frozen=True)
class Case:
    """From the word `query` any of `gold` is right. `choices`, the nearest first, are what there is
    to choose from; left out, all other words."""

    relation: str
    direction: str
    query: int
    gold: tuple[int, ...]
    choices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Related:
    """A text, where its words stand in it, and what is known of them."""

    id: str
    text: str
    spans: tuple[tuple[int, int], ...]
    cases: tuple[Case, ...]


def load_relations(path: Path) -> list[Related]:
    """From a CoNLL-U or CoNLL-2012 file, or JSON lines with `words` and `clusters` of mentions."""
    if is_conll2012(path):
        parts = load_conll2012(path)
        found = [coreferent(part.id, part.words, list(part.clusters.values())) for part in parts]
    elif path.suffix in (".conllu", ".conll"):
        found = [related(sentence, n) for n, sentence in enumerate(load_conllu(path), 1)]
    elif path.suffix == ".jsonl":
        lines = enumerate(read_lines(path, None), 1)
        found = [coreferent(str(n), *_read(line, n)) for n, line in lines]
    else:
        raise HeedfulError(
            f"{path.name} has an unknown extension: give dependencies as .conllu, or coreference "
            "as .jsonl, .conll or .gold_conll."
        )
    if not any(each.cases for each in found):
        raise HeedfulError(f"{path.name} has no relation between words: give at least one.")
    return found


def related(sentence: Sentence, number: int = 0) -> Related:
    """The arcs of a sentence as questions, in both directions."""
    text, spans = _spelled(sentence.words, sentence.glued)
    arcs = [
        (word, head, label)
        for word, (head, label) in enumerate(zip(sentence.heads, sentence.labels, strict=True))
        if head >= 0 and label != PUNCT
    ]
    dependents: dict[tuple[int, str], list[int]] = {}
    for word, head, label in arcs:
        dependents.setdefault((head, label), []).append(word)
    up = [Case(label, TO_HEAD, word, (head,)) for word, head, label in arcs]
    down = [Case(lb, FROM_HEAD, head, tuple(words)) for (head, lb), words in dependents.items()]
    return Related(sentence.id or str(number), text, spans, (*up, *down))


def _spelled(
    words: Sequence[str], glued: Sequence[bool] = ()
) -> tuple[str, tuple[tuple[int, int], ...]]:
    text, spans = "", []
    for place, word in enumerate(words):
        spans.append((len(text), len(text) + len(word)))
        text += word if place < len(glued) and glued[place] else f"{word} "
    return text.rstrip(), tuple(spans)


def coreferent(name: str, words: Sequence[str], clusters: Sequence[Sequence[list[int]]]) -> Related:
    """A mention is [first, last] by words, and stands for its last word. Asked is each mention that
    has one before it in its cluster; to choose from are all mentions before it. Mentions inside of
    others may share their last word: each is asked, if they are of different clusters."""
    mentions = {(last, cluster) for cluster, spans in enumerate(clusters) for _, last in spans}
    lasts, cases = sorted({last for last, _ in mentions}), []
    for last, cluster in sorted(mentions):
        before = tuple(each for each in reversed(lasts) if each < last)
        gold = tuple(each for each in before if (each, cluster) in mentions)
        if gold:
            cases.append(Case(COREFERENCE, BACK, last, gold, before))
    return Related(name, *_spelled(words), tuple(cases))


def _read(line: str, number: int) -> tuple[list[str], list[list[list[int]]]]:
    wrong = HeedfulError(
        f"line {number} is no text with coreference: write "
        '{"words": ["Ann", "saw", "her"], "clusters": [[[0, 0], [2, 2]]]}, mentions by their first '
        "and last word."
    )
    try:
        value: Any = json.loads(line)
        words, clusters = list(value["words"]), [list(each) for each in value["clusters"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise wrong from error
    mentions = [mention for cluster in clusters for mention in cluster]
    if not all(isinstance(word, str) and word.strip() for word in words) or not all(
        isinstance(mention, list)
        and len(mention) == 2
        and all(type(place) is int for place in mention)
        and 0 <= mention[0] <= mention[1] < len(words)
        for mention in mentions
    ):
        raise wrong
    return words, clusters


# Sentences of a grammar: every arc is known, and few have the same length.


_ADJECTIVES = ("old", "small", "quiet", "green", "famous", "strange", "young", "rich", "tired")
_NOUNS = ("dog", "teacher", "house", "river", "doctor", "king", "garden", "car", "child", "cat")
_VERBS = ("sees", "finds", "likes", "follows", "paints", "helps", "leaves", "remembers")
_PLACES = ("near", "behind", "with", "under")
_ADVERBS = ("often", "never", "quickly", "today", "still")
_Word = tuple[str, int, str]
"""A word, its head's place in the phrase (−1: the phrase's own head), and its relation."""


def generated_relations(texts: int, seed: int = 0) -> list[Related]:
    """So many sentences."""
    random = np.random.default_rng(seed)
    return [related(_sentence(random, f"generated-{n}"), n) for n in range(texts)]


def _sentence(random: np.random.Generator, name: str) -> Sentence:
    subject, subject_head = _noun_phrase(random, int(random.integers(0, 3)))
    adverbs = [str(random.choice(_ADVERBS)) for _ in range(random.integers(0, 4))]
    thing, thing_head = _noun_phrase(random, int(random.integers(0, 2)))
    verb = len(subject) + len(adverbs)
    words = [word for word, _, _ in subject] + adverbs
    words += [str(random.choice(_VERBS)), *(word for word, _, _ in thing), "."]
    heads, labels = list[int](), list[str]()
    for phrase, head, start, relation in (
        (subject, subject_head, 0, "nsubj"),
        (thing, thing_head, verb + 1, "obj"),
    ):
        if start:
            heads += [verb] * len(adverbs) + [-1]
            labels += ["advmod"] * len(adverbs) + ["root"]
        for place, (_, of, label) in enumerate(phrase):
            heads.append(verb if place == head else start + of)
            labels.append(relation if place == head else label)
    return Sentence(tuple(words), (*heads, verb), (*labels, PUNCT), id=name)


def _noun_phrase(random: np.random.Generator, deep: int) -> tuple[list[_Word], int]:
    """Words of a phrase and the place of its noun: an article, up to three adjectives, the noun,
    and perhaps another phrase that belongs to it."""
    count = int(random.integers(0, 4))
    noun = 1 + count
    words = [("the", noun, "det")]
    words += [(str(random.choice(_ADJECTIVES)), noun, "amod") for _ in range(count)]
    words.append((str(random.choice(_NOUNS)), -1, ""))
    if deep:
        inner, head = _noun_phrase(random, deep - 1)
        start = len(words) + 1
        words.append((str(random.choice(_PLACES)), start + head, "case"))
        words += list(_moved(inner, start, head, noun))
    return words, noun


def _moved(phrase: list[_Word], start: int, head: int, noun: int) -> Iterator[_Word]:
    for place, (word, of, label) in enumerate(phrase):
        yield (word, noun, "nmod") if place == head else (word, start + of, label)
