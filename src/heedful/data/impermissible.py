"""Impermissible tokens (pruthi2020): marked by words or a pattern, as arrays, or taken out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from heedful.data.example import Example, Spans
from heedful.data.prepared import Prepared, Split
from heedful.errors import HeedfulError
from heedful.input_files import first_line
from heedful.specs import ModelSpec
from heedful.types import Batch

SECONDS, PER_MEGABYTE = 10.0, 1.0
"""How long a pattern may take, in all and for each million characters of text."""
_FIND = """
import json, re, sys, warnings
warnings.simplefilter("ignore")
pattern, texts = json.load(sys.stdin)
try:
    compiled = re.compile(pattern)
except (re.error, OverflowError, RecursionError) as error:
    found = str(error)
else:
    found = [[each.span() for each in compiled.finditer(text) if each.group()] for text in texts]
json.dump(found, sys.stdout)
"""


def mark(examples: Sequence[Example], how: str) -> list[Example]:
    """`how` is words with commas between them, found in any case, or `/a pattern/`."""
    if not how:
        return list(examples)
    texts = [example.texts["a"] for example in examples]
    if len(how) > 2 and how[0] == how[-1] == "/":
        spans = _matched(how, texts)
    else:
        words = [word for word in how.split(",") if word.strip()]
        if not words:
            raise HeedfulError(f"the impermissible tokens {how!r} name no word.")
        pattern = words_pattern(words)
        spans = [found_in(text, pattern) for text in texts]
    if not any(spans):
        raise HeedfulError(
            f"the impermissible tokens {how!r} match nothing in any text: give other words."
        )
    pairs = zip(examples, spans, strict=True)
    return [replace(example, impermissible={"a": found}) for example, found in pairs]


def found_in(text: str, pattern: re.Pattern[str]) -> Spans:
    """Where it matches; a match of nothing marks nothing."""
    return [found.span() for found in pattern.finditer(text) if found.group()]


def words_pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Whole words, in any case."""
    every = "|".join(re.escape(word.strip()) for word in words)
    return re.compile(rf"(?<!\w)(?:{every})(?!\w)", re.IGNORECASE)


def _matched(how: str, texts: list[str]) -> list[Spans]:
    """Where a pattern of Python's `re` matches. It may try for ever (`/(a+)+$/`) and cannot be
    interrupted: a process of its own can."""
    most = SECONDS + PER_MEGABYTE * sum(map(len, texts)) / 1e6
    asked = json.dumps([how[1:-1], texts]).encode()
    command = [sys.executable, "-I", "-S", "-c", _FIND]
    try:
        told = subprocess.run(command, input=asked, capture_output=True, timeout=most, check=True)
    except subprocess.TimeoutExpired as error:
        raise HeedfulError(
            f"the impermissible pattern {how} takes more than {most:.0f} seconds on these texts: "
            f"leave out repetitions inside repetitions, such as (a+)+."
        ) from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise HeedfulError(
            f"the impermissible pattern {how} could not be matched in a process of its own "
            f"({first_line(error)}): give words instead."
        ) from error
    found = json.loads(told.stdout)
    if isinstance(found, str):
        raise HeedfulError(f"the impermissible pattern {how} is none ({found}): fix it.")
    return [[(start, end) for start, end in spans] for spans in found]


Forbidden = Mapping[str, NDArray[np.bool_]]
"""By example id `[steps, tokens]`, of the real tokens of side a. One line is for all steps."""


def has_forbidden(split: Split) -> bool:
    """Whether `forbidden` has something to say: marks, or else alignments."""
    return split.sides["a"].impermissible is not None or split.alignments is not None


def forbidden(split: Split) -> Forbidden:
    """Of every example that has marks, or else an alignment: a target's step must not be seen to
    look at the words it translates."""
    found = {}
    for i, example in enumerate(split.ids):
        marks, links = split.impermissible(i), split.alignment(i)
        if marks is not None:
            found[example] = np.asarray(marks, dtype=bool)[None]
        elif links is not None:
            # the end of the target is aligned with nothing
            sizes = (len(split.sides["b"].starts[i]) + 1, len(split.sides["a"].starts[i]))
            found[example] = np.zeros(sizes, dtype=bool)
            found[example][links[:, 1], links[:, 0]] = True
    return found


def forbidden_next(whole: Split, given: Split) -> Forbidden:
    """The same, but only of the step that follows what is given of a target."""
    found = forbidden(whole)
    places = {example: len(given.sides["b"].starts[i]) for i, example in enumerate(given.ids)}
    return {
        example: marks if len(marks) == 1 else marks[places[example]][None]
        for example, marks in found.items()
        if example in places
    }


def laid_out(marks: Forbidden, batch: Batch, steps: int) -> Bool[Tensor, "b q k"]:
    """The marks at the positions of a padded batch; nothing where an example has none."""
    real = batch.texts["a"].mask.cpu().numpy()
    out = np.zeros((len(real), steps, real.shape[1]), dtype=bool)
    for row, example in enumerate(batch.ids):
        lines = marks.get(example, np.zeros((1, 0), dtype=bool))
        if lines.size:
            count = steps if len(lines) == 1 else min(steps, len(lines))
            out[row][:count, real[row]] = lines[:count]
    return torch.from_numpy(out).to(batch.texts["a"].mask.device)


class Blinded(Prepared):
    """A prepared corpus whose texts have lost their marked tokens."""

    def split(self, name: str) -> Split:
        return blinded(super().split(name))


def shown_to(model: ModelSpec, corpus: Prepared) -> Prepared:
    """The corpus as a model sees it, in training and whenever it is looked at."""
    return Blinded(corpus.run) if model.blind else corpus


def blinded(split: Split) -> Split:
    """The same examples, the marked tokens of side a deleted. Alignments are gone: positions
    have moved."""
    side = split.sides["a"]
    if side.impermissible is None:
        raise HeedfulError(
            "the corpus marks no impermissible tokens: name them (--param impermissible=…)."
        )
    keep = [
        np.ones(len(starts), bool) if marks is None else ~np.asarray(marks, dtype=bool)
        for starts, marks in zip(side.starts, side.impermissible, strict=True)
    ]

    def kept(column: list[Any]) -> list[Any]:
        pairs = zip(column, keep, strict=True)
        return [None if row is None else np.asarray(row)[stays] for row, stays in pairs]

    edges = (1, int(side.ended))
    ids = zip(side.tokens, keep, strict=True)
    fewer = replace(
        side,
        tokens=[np.asarray(row)[np.pad(stays, edges, constant_values=True)] for row, stays in ids],
        starts=kept(side.starts),
        ends=kept(side.ends),
        rationales=kept(side.rationales),
        sentences=kept(side.sentences),
        impermissible=[np.zeros(int(stays.sum()), dtype=bool) for stays in keep],
    )
    return replace(split, sides={**split.sides, "a": fewer}, alignments=None)
