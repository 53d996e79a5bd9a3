"""One text under one explanation: shaded words, and the heaviest of them as a list.

Words are hostile: they leave here as plain strings, and the template escapes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heedful.report.audit_numbers import DASH, clipped, plain, weight

SHOWN = 90
"""Words shown of one text; of a longer one, the stretch with the most weight."""

TOP = 5
LONGEST_WORD = 40


@dataclass(frozen=True)
class Word:
    """`shade` goes from 0 to 100 and never puts a lighter word before a heavier one."""

    text: str
    shade: str
    kind: str
    title: str


@dataclass(frozen=True)
class WordMap:
    title: str
    signed: bool
    words: tuple[Word, ...]
    top: tuple[tuple[str, str], ...]


def word_map(
    name: str,
    words: Sequence[str],
    scores: np.ndarray,
    rationale: Sequence[bool],
    window: tuple[int, int],
) -> WordMap:
    """The words of the window. The root of the share of the largest keeps small ones visible."""
    start, stop = window
    most = float(np.nanmax(np.abs(scores))) if np.isfinite(scores).any() else 0.0
    shown = tuple(
        _word(words[i], float(scores[i]), most, bool(i < len(rationale) and rationale[i]))
        for i in range(start, stop)
    )
    top = tuple(
        (clipped(words[i], LONGEST_WORD), weight(float(scores[i]))) for i in heaviest(scores)
    )
    return WordMap(plain(name), bool((scores < 0).any()), shown, top)


def heaviest(scores: np.ndarray) -> list[int]:
    """The places of the largest scores by magnitude, zeros left out; the first of equals first."""
    sizes = np.nan_to_num(np.abs(scores))
    order = np.argsort(-sizes, kind="stable")[:TOP]
    return [int(i) for i in order if sizes[i] > 0]


def window(maps: Sequence[np.ndarray]) -> tuple[int, int]:
    """Which words are shown: all of a short text."""
    length = len(maps[0])
    if length <= SHOWN:
        return 0, length
    total = sum((_share(each) for each in maps), start=np.zeros(length))
    start = int(np.convolve(total, np.ones(SHOWN), mode="valid").argmax())
    return start, start + SHOWN


def padded(scores: Any, length: int) -> np.ndarray:
    """Scores for so many words: NaN for those that were cut off."""
    found = np.full(length, math.nan)
    given = np.asarray(scores, dtype=np.float64).ravel()[:length]
    found[: len(given)] = np.where(np.isfinite(given), given, math.nan)
    return found


def _word(text: str, score: float, most: float, marked: bool) -> Word:
    size = 0.0 if math.isnan(score) or most == 0 else math.sqrt(abs(score) / most)
    kinds = [
        "cut" if math.isnan(score) else "",
        "down" if score < 0 else "",
        "marked" if marked else "",
    ]
    title = DASH + " cut off" if math.isnan(score) else weight(score)
    title += ", marked by people" if marked else ""
    return Word(
        clipped(text, LONGEST_WORD) or DASH,
        f"{100 * size:.0f}",
        " ".join(filter(None, kinds)),
        title,
    )


def _share(scores: np.ndarray) -> np.ndarray:
    sizes: np.ndarray = np.nan_to_num(np.abs(scores))
    return sizes / max(float(sizes.sum()), np.finfo(float).tiny)
