"""Tables as people read them: one line per model, numbers as text, few columns."""

from __future__ import annotations

import math
import unicodedata

import pandas as pd

from heedful.report.evidence import Evidence
from heedful.studies.published import DATASETS

MINUS = "\N{MINUS SIGN}"
SUBSET = "subset of the training data"
PLACE = ["dataset", "class", "model"]


def visible(text: str) -> str:
    """Control, format and unassigned characters spelled out, so that none can act."""
    return "".join(
        f"⟨U+{ord(char):04X}⟩" if unicodedata.category(char).startswith("C") else char
        for char in text
    )


def number(value: float, digits: int = 2, signed: bool = False) -> str:
    """A number to so many decimals with a real minus; nothing for an undefined one."""
    if value is None or not math.isfinite(value):
        return ""
    rounded = round(value, digits) + 0.0  # no "-0.00"
    return f"{rounded:{'+' if signed else ''}.{digits}f}".replace("-", MINUS)


def with_sd(value: float, sd: float, digits: int = 2) -> str:
    """`0.41 ± 0.20`; without the sd where none is known."""
    text, spread = number(value, digits), number(sd, digits)
    return f"{text} ± {spread}" if text and spread else text


def interval(low: float, high: float, digits: int = 2) -> str:
    left, right = number(low, digits), number(high, digits)
    return f"{left} to {right}" if left and right else ""


def scores(frame: pd.DataFrame) -> pd.DataFrame:
    """Table 1 for reading: the score of every model."""
    table = frame[frame["table"] == "1"]
    return pd.DataFrame(
        {
            "Data": table["dataset"],
            "Model": table["model"],
            "Paper F1": table["published_paper"].map(number),
            "Measured F1": table["measured"].map(lambda value: number(value) or "undefined"),
            "95% interval": _intervals(table),
            "Difference": table["difference"].map(lambda value: number(value, signed=True)),
            "Seeds": table["seeds"].astype(str),
            "Note": _notes(table),
        }
    ).reset_index(drop=True)


def correlations(frame: pd.DataFrame, metric: str, evidence: Evidence) -> pd.DataFrame:
    """Table 2 for reading: τ with one importance measure, and its significant fraction."""
    table = frame[(frame["table"] == "2") & (frame["metric"] == metric)].set_index(PLACE)
    sig = frame[(frame["table"] == "2") & (frame["metric"] == f"{metric}_sig_fraction")]
    sig = sig.set_index(PLACE).reindex(table.index)
    names = _class_names(evidence)
    where = [tuple(str(part) for part in place) for place in table.index]
    columns = {
        "Data": [data for data, _, _ in where],
        "Class": [names.get((data, label), label) for data, label, _ in where],
        "Model": [model for _, _, model in where],
        "Paper τ": _pairs(table, "published_paper", "published_paper_sd"),
        "Slides τ": _pairs(table, "published_slides", "published_slides_sd"),
        "Measured\N{NO-BREAK SPACE}τ": [
            text or "undefined" for text in _pairs(table, "measured", "measured_sd")
        ],
        "95% interval": _intervals(table),
        "−\N{NO-BREAK SPACE}paper": [number(value, signed=True) for value in table["difference"]],
        "−\N{NO-BREAK SPACE}slides": [
            number(value, signed=True) for value in table["difference_slides"]
        ],
        "Sig. paper": [number(value) for value in sig["published_paper"]],
        "Sig. slides": [number(value) for value in sig["published_slides"]],
        "Sig. measured": [number(value) for value in sig["measured"]],
        "Seeds": [str(count) for count in table["seeds"]],
        "Note": _notes(table),
    }
    return pd.DataFrame(columns)


def _pairs(table: pd.DataFrame, value: str, sd: str) -> list[str]:
    return [with_sd(*pair) for pair in zip(table[value], table[sd], strict=True)]


def _notes(table: pd.DataFrame) -> list[str]:
    """Shorter than in the files: the page says above the table what a subset is."""
    return [str(note).replace(SUBSET, "subset") for note in table["note"]]


def _intervals(table: pd.DataFrame) -> list[str]:
    return [interval(*pair) for pair in zip(table["low"], table["high"], strict=True)]


def _class_names(evidence: Evidence) -> dict[tuple[str, str], str]:
    return {
        (DATASETS.get(str(corpus), str(corpus)), str(index)): f"{index} ({name})"
        for corpus in evidence.cells["corpus"].unique()
        for index, name in evidence.label_names(str(corpus)).items()
        if name != str(index)
    }
