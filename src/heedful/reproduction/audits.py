"""Compact audits as a file: one line per audited model, explanation and measure.

`verdict` lines have a statement's number, its one-sided bounds, its decision, and why there is
none (`why`, empty in audits that were kept before it was asked for); `measure` lines a mean over
texts; `minus_attention` lines the difference to attention, text by text; `score`
lines the scores of a trained model on all texts of its corpus, a line for each training; `fact`
lines the accuracy on the audited texts, and the share of the commonest class.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from heedful.errors import HeedfulError
from heedful.reproduction.compact import Form, read_compact
from heedful.verdict import Decision

KEYS = ["model", "weights", "data", "texts", "seeds", "kind", "explanation", "operator", "measure"]
COLUMNS = [*KEYS, "n", "mean", "low", "high", "decision", "why", "run"]
FORM = Form(
    "compact audits", COLUMNS, ("texts", "seeds", "n"), ("mean", "low", "high"), [*KEYS, "run"]
)
KINDS = ("verdict", "measure", "minus_attention", "score", "fact")
PART = "learned from at most"
"""Said of data whose corpus was cut by `--limit`."""


def no_audits() -> pd.DataFrame:
    """Where none were kept yet."""
    return pd.DataFrame(columns=COLUMNS)


def merged_audits(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """What is measured again takes the place of what was there, even if the model is called
    otherwise today: its weights tell it apart."""
    parts = [part for part in (old, new) if len(part)] or [old]
    both = pd.concat(parts, ignore_index=True)
    own = [name for name in KEYS if name != "model"]
    return ordered(both.drop_duplicates([*own, "run"], keep="last"))


def read_audits(path: Path) -> pd.DataFrame:
    """Lines that were kept."""
    table = read_compact(path, FORM)
    known = {"kind": KINDS, "decision": ("", *map(str, Decision))}
    for name, values in known.items():
        strange = table.index[~table[name].isin(values)]
        if len(strange):
            told = f"{name} in line {int(strange[0]) + 2} of {path} is {table[name][strange[0]]!r}"
            raise HeedfulError(f"{told}: give one of {', '.join(filter(None, values))}.")
    return table


def ordered(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values([*KEYS, "run"], kind="stable", ignore_index=True)
