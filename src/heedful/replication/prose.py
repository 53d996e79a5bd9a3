"""Sentences with works: text that comes from values, and the keys it stands on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Part:
    """Plain text (never markup), and the works named after it."""

    text: str
    keys: tuple[str, ...] = ()


Sentence = tuple[Part, ...]


def said(text: str, *keys: str) -> Sentence:
    """A whole sentence; its works stand before the final full stop."""
    if not keys:
        return (Part(text),)
    return (Part(text.removesuffix("."), keys), Part("."))


def enumerated(before: str, items: Sequence[Part], after: str = ".") -> Sentence:
    """`before a [1], b and c.`"""
    signs = ["", *[", "] * (len(items) - 2), *[" and "] * (len(items) > 1)]
    parts = [part for sign, item in zip(signs, items, strict=True) for part in (Part(sign), item)]
    return tuple(part for part in (Part(before), *parts, Part(after)) if part.text)


def keys_of(sentences: Iterable[Sentence]) -> set[str]:
    return {key for sentence in sentences for part in sentence for key in part.keys}


def plain(sentence: Sentence) -> str:
    return "".join(part.text for part in sentence)


def listed(names: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return plain(enumerated("", [Part(name) for name in names], ""))


def count(number: int, noun: str) -> str:
    """1 text, 2 texts."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ended(text: str) -> str:
    """As a sentence of its own: a capital first, a full stop last."""
    whole = text.strip()
    return f"{whole[:1].upper()}{whole[1:].rstrip('.')}." if whole else ""


def each_once(texts: Iterable[Any]) -> list[Sentence]:
    """A sentence for each text, the first time it comes."""
    return [said(ended(str(text))) for text in dict.fromkeys(texts)]


def grouped(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """What is said of several things is said once, with their names."""
    about: dict[str, dict[str, None]] = {}
    for text, name in pairs:
        about.setdefault(text.strip().rstrip("."), {})[name] = None
    return [f"{text} ({'; '.join(names)})" for text, names in about.items()]
