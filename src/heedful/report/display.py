"""Tables as people read them: one line per model, numbers as text, few columns."""

from __future__ import annotations

import math
import unicodedata

import pandas as pd

from heedful.report.evidence import Evidence
from heedful.studies import DATASETS

MINUS = "\N{MINUS SIGN}"
SUBSET = "subset of the training data"
PLACE = ["dataset", "class", "model"]
DECODER = r"(?s)^(.*)-(context|query)(?: \(.*\))?$"
"""A model's name before its decoder, and the decoder."""
EDITS = {"permute": "shuffled"}
NAMES = {
    "accuracy": "accuracy",
    "f1": "F1",
    "micro_f1": "micro-F1",
    "bleu": "BLEU",
    "flip_percent:both": "each of the two flips",
    "flip_percent:top_only": "only the heaviest flips",
    "flip_percent:random_only": "only the random one flips",
    "flip_percent:neither": "neither flips",
    "mutual_information:most_frequent": "mutual information, most frequent words, nats",
    "mutual_information:random_sample": "mutual information, sampled words, nats",
    "token_probability": "probability by one token",
}
FINE = ("mutual_information", "token_probability")
"""Metrics that are neither per cent nor points: one decimal would hide what they say."""


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
    others = (table["metric"] != "f1").any()
    unit = "" if others else " F1"
    return pd.DataFrame(
        {
            "Data": table["dataset"],
            "Model": table["model"],
            **({"Score": table["metric"].map(metric_name)} if others else {}),
            f"Paper{unit}": table["published_paper"].map(number),
            f"Measured{unit}": table["measured"].map(lambda value: number(value) or "undefined"),
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


def beside(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    """Any table for reading: one number a line, in the paper's unit."""
    lines = frame[frame["table"] == table]
    digits = 3 if lines["metric"].str.startswith(FINE).any() else 1
    return pd.DataFrame(
        {
            "Data": lines["dataset"],
            "Model": lines["model"],
            "Number": lines["metric"].map(metric_name),
            "Paper": _pairs(lines, "published_paper", "published_paper_sd", digits),
            "Measured": [number(value, digits) or "undefined" for value in lines["measured"]],
            "95% interval": _intervals(lines, digits),
            "Difference": [number(value, digits, signed=True) for value in lines["difference"]],
            "Seeds": lines["seeds"].astype(str),
            "Note": _notes(lines),
        }
    ).reset_index(drop=True)


def decoders(frame: pd.DataFrame) -> pd.DataFrame:
    """Models of two texts that differ in nothing but their decoder, beside each other."""
    parts = frame["model"].str.extract(DECODER)
    named = frame.assign(stem=parts[0], decoder=parts[1])[parts[1].notna()]
    by = ["dataset", "stem", "metric"]
    both = named.groupby(by, sort=False).filter(lambda part: part["decoder"].nunique() == 2)
    sides = {
        name: both[both["decoder"] == name].drop_duplicates(by).set_index(by)
        for name in ("context", "query")
    }
    places = sides["context"].index
    first, second = sides["context"], sides["query"].reindex(places)
    apart = [number(value, 1, signed=True) for value in second["measured"] - first["measured"]]
    return pd.DataFrame(
        {
            "Data": [str(data) for data, _, _ in places],
            "Model": [str(stem) for _, stem, _ in places],
            "Number": [metric_name(str(metric)) for _, _, metric in places],
            "Paper": [number(value, 1) for value in first["published_paper"]],
            "Context only": [number(value, 1) or "undefined" for value in first["measured"]],
            "95% interval (context)": _intervals(first, 1),
            "With the query": [number(value, 1) or "undefined" for value in second["measured"]],
            "95% interval (query)": _intervals(second, 1),
            "Query − context": apart,
        }
    )


def metric_name(metric: str) -> str:
    """A published metric in words."""
    name, _, rest = metric.partition(":")
    if name.startswith("delta_"):
        edit, _, when = rest.partition(":")
        score = NAMES.get(name.removeprefix("delta_"), name)
        moment = "in training too" if when == "train+infer" else "afterwards"
        return f"change of {score}, {EDITS.get(edit, edit)} {moment}"
    return NAMES.get(metric, metric)


def _pairs(table: pd.DataFrame, value: str, sd: str, digits: int = 2) -> list[str]:
    return [with_sd(*pair, digits) for pair in zip(table[value], table[sd], strict=True)]


def _notes(table: pd.DataFrame) -> list[str]:
    """Shorter than in the files: the page says above the table what a subset is."""
    return [str(note).replace(SUBSET, "subset") for note in table["note"]]


def _intervals(table: pd.DataFrame, digits: int = 2) -> list[str]:
    return [interval(*pair, digits) for pair in zip(table["low"], table["high"], strict=True)]


def _class_names(evidence: Evidence) -> dict[tuple[str, str], str]:
    return {
        (DATASETS.get(str(corpus), str(corpus)), str(index)): f"{index} ({name})"
        for corpus in evidence.cells["corpus"].unique()
        for index, name in evidence.label_names(str(corpus)).items()
        if name != str(index)
    }
