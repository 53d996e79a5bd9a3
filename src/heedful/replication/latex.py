"""Prose and tables as LaTeX. Names come from data and models: no command of theirs survives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from heedful.replication.prose import Sentence
from heedful.report import latex_escape, to_latex

_MATHS = {
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "Δ": r"$\Delta$", "ε": r"$\varepsilon$",
    "λ": r"$\lambda$", "μ": r"$\mu$", "σ": r"$\sigma$", "×": r"$\times$", "≤": r"$\leq$",
    "≥": r"$\geq$", "→": r"$\to$", "√": r"$\surd$", "·": r"$\cdot$", "∩": r"$\cap$",
}  # fmt: skip
_PRINTED = frozenset("–—‘’“”„…€")
_LAST_LATIN = 0x17F


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
    lines += [rf"\label{{tab:{label(one.label)}}}", fitted, f"{body}%", "}", r"\end{table}"]
    return "\n".join(lines)


def label(text: str) -> str:
    """Letters, digits and dashes: what a label and a key may hold."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def section(title: str, paragraphs: Sequence[str]) -> str:
    return "\n\n".join([rf"\subsection*{{{escape(title)}}}", *filter(None, paragraphs)])


def document(title: str, parts: Sequence[str]) -> str:
    """What includes the parts beside it, and prints the works they name."""
    inputs = [rf"\input{{{part}}}" for part in parts]
    return "\n".join(
        [
            r"\documentclass{article}",
            r"\usepackage[T1]{fontenc}",
            r"\usepackage[utf8]{inputenc}",
            r"\usepackage{textcomp}",
            r"\usepackage{booktabs}",
            r"\usepackage{graphicx}",
            rf"\title{{{escape(title)}}}",
            r"\author{}",
            r"\date{}",
            r"\begin{document}",
            r"\maketitle",
            *inputs,
            r"\bibliographystyle{plain}",
            r"\bibliography{references}",
            r"\end{document}",
            "",
        ]
    )


def _sentence(sentence: Sentence) -> str:
    parts = []
    for part in sentence:
        edge = " " if part.text[:1] == " " else ""
        end = " " if part.text[-1:] == " " and part.text.strip() else ""
        cite = rf"~\cite{{{','.join(part.keys)}}}" if part.keys else ""
        parts.append(f"{edge}{escape(part.text)}{end}{cite}")
    return "".join(parts)


def _printed(char: str) -> str:
    if ord(char) <= _LAST_LATIN or char in _PRINTED:
        return _MATHS.get(char, char)
    return _MATHS.get(char, f"[U+{ord(char):04X}]")
