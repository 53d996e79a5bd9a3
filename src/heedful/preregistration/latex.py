"""Sentences with works, and tables, as LaTeX. No command in a name of data or models survives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.report import latex_escape, to_latex

_MATHS = {
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "Δ": r"$\Delta$", "ε": r"$\varepsilon$",
    "λ": r"$\lambda$", "μ": r"$\mu$", "σ": r"$\sigma$", "×": r"$\times$", "≤": r"$\leq$",
    "≥": r"$\geq$", "→": r"$\to$", "√": r"$\surd$", "·": r"$\cdot$", "∩": r"$\cap$",
}  # fmt: skip
_PRINTED = frozenset("–—‘’“”„…€")
_LAST_LATIN = 0x17F


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


def listed(names: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return "".join(part.text for part in enumerated("", [Part(name) for name in names], ""))


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


@dataclass(frozen=True)
class Table:
    """A table with its words; `label` is what a text refers to it by."""

    label: str
    caption: str
    frame: pd.DataFrame


def escape(text: str) -> str:
    """Whatever pdfLaTeX with T1 fonts cannot print is named by its number."""
    return "".join(map(_printed, latex_escape(" ".join(text.split()))))


def paragraph(sentences: Iterable[Sentence]) -> str:
    return " ".join(_sentence(each) for each in sentences)


def table(one: Table) -> str:
    """A float with a booktabs tabular, shrunk where it is wider than the text."""
    body = "".join(map(_printed, to_latex(one.frame))).rstrip()
    fitted = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    lines = [r"\begin{table}[tbp]", r"\centering", rf"\caption{{{escape(one.caption)}}}"]
    label = re.sub(r"[^a-z0-9]+", "-", one.label.lower()).strip("-")
    lines += [rf"\label{{tab:{label}}}", fitted, f"{body}%", "}", r"\end{table}"]
    return "\n".join(lines)


def section(title: str, paragraphs: Sequence[str]) -> str:
    return "\n\n".join([rf"\subsection*{{{escape(title)}}}", *filter(None, paragraphs)])


def document(title: str, parts: Sequence[str]) -> str:
    """What includes the parts beside it, and prints the works they name."""
    inputs = "\n".join(rf"\input{{{part}}}" for part in parts)
    return rf"""\documentclass{{article}}
\usepackage[T1]{{fontenc}}
\usepackage[utf8]{{inputenc}}
\usepackage{{textcomp}}
\usepackage{{booktabs}}
\usepackage{{graphicx}}
\title{{{escape(title)}}}
\author{{}}
\date{{}}
\begin{{document}}
\maketitle
{inputs}
\bibliographystyle{{plain}}
\bibliography{{references}}
\end{{document}}
"""


def _sentence(sentence: Sentence) -> str:
    parts = []
    for part in sentence:
        edge = " " if part.text[:1] == " " else ""
        end = " " if part.text[-1:] == " " and part.text.strip() else ""
        cite = rf"~\cite{{{','.join(part.keys)}}}" if part.keys else ""
        parts.append(f"{edge}{escape(part.text)}{end}{cite}")
    return "".join(parts)


def _printed(char: str) -> str:
    printed = ord(char) <= _LAST_LATIN or char in _PRINTED
    return _MATHS.get(char, char if printed else f"[U+{ord(char):04X}]")
