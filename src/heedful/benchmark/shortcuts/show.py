"""Tables of the shortcuts from their rows, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from heedful.benchmark.shortcuts.plan import CELL, ShortcutPlan
from heedful.benchmark.shortcuts.run import ALONE, CHANGED, SOLVED, UNSOLVED

PUBLISHED = (
    "Bastings et al. (2022) report at least .87 for the L2 norm of the gradient on BERT, for "
    "every corpus and shortcut."
)
_NAMES = {"bilstm": "BiLSTM", "minilm": "MiniLM", "sst": "SST", "imdb": "IMDB"}


def to_markdown(rows: pd.DataFrame) -> str:
    """How many cells count, a table for each model and corpus, and the cells that do not."""
    cells = rows.drop_duplicates(CELL)
    counted, right = rows[rows["verified"]], int(cells["verified"].sum())
    planned = len(ShortcutPlan().cells())
    done = f"{len(cells)} of {planned} planned models have been trained so far. "
    lines = [
        f"{done if len(cells) < planned else ''}"
        f"{right} of {len(cells)} trained models use their shortcut and are counted; "
        f"{len(cells) - right} could not be verified. "
        f"A model counts if it solves at least {SOLVED:.0%} of the unseen synthetic texts and the "
        f"model of the original texts at most {UNSOLVED:.0%}, if exchanging the shortcut word "
        f"changes at least {CHANGED:.0%} of the decisions, and exchanging a stray one at most "
        f"{ALONE:.0%}.",
        "",
        "Precision@k: mean over seeds. In brackets: the widest 95% interval of any seed "
        "(bootstrap over texts).",
        PUBLISHED,
    ]
    for (model, corpus), part in counted.groupby(["model", "corpus"], sort=False):
        lines += ["", f"**{_name(model)} on {_name(corpus)}**", "", *_table(part)]
    if not cells["verified"].all():
        lines += ["", "**Not verified**", "", *_unverified(cells[~cells["verified"]])]
    return "\n".join([*lines, ""])


def _table(part: pd.DataFrame) -> Iterator[str]:
    """Explanations × shortcuts, the best explanation first."""
    shortcuts = list(dict.fromkeys(part["shortcut"]))
    seeds = {name: part[part["shortcut"] == name]["seed"].nunique() for name in shortcuts}
    heads = [f"{name.replace('_', ' ')} ({_count(seeds[name], 'seed')})" for name in shortcuts]
    yield from _rows([["explanation", *heads]])
    yield f"|{'---|' * (len(shortcuts) + 1)}"
    means = part.groupby(["explanation", "shortcut"])["precision"].mean().unstack()
    for name in means.mean(axis=1).sort_values(ascending=False, kind="stable").index:
        own = part[part["explanation"] == name]
        yield from _rows([[f"`{name}`", *(_cell(own[own["shortcut"] == s]) for s in shortcuts)]])


def _cell(seeds: pd.DataFrame) -> str:
    if seeds.empty:
        return "–"
    low, high = seeds["precision_low"].min(), seeds["precision_high"].max()
    return f"{_short(seeds['precision'].mean())} [{_short(low)}, {_short(high)}]"


def _unverified(cells: pd.DataFrame) -> Iterator[str]:
    yield from _rows([["model", "corpus", "shortcut", "seed", "why"]])
    yield "|---|---|---|---|---|"
    for cell in cells.itertuples(index=False):
        named = [_name(cell.model), _name(cell.corpus), str(cell.shortcut).replace("_", " ")]
        yield from _rows([[*named, str(cell.seed), str(cell.reason)]])


def _rows(rows: list[list[str]]) -> Iterator[str]:
    return (f"| {' | '.join(row)} |" for row in rows)


def _name(name: object) -> str:
    return _NAMES.get(str(name), str(name))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _short(value: float) -> str:
    """`.87`, `1.0`."""
    text = f"{value:.2f}"
    return "1.0" if text == "1.00" else text.removeprefix("0")
