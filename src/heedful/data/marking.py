"""Impermissible tokens (pruthi2020) of texts, marked by words or a pattern."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

from heedful.data.example import Example, Spans
from heedful.errors import HeedfulError
from heedful.input_files import first_line

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
