"""The averages over corpora and models that vashishth2019's text quotes (§4.1), beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from heedful.report.formats import number
from heedful.studies import published

PAPER = "vashishth2019"
TITLE = "The averages that the text quotes"
CAPTION = (
    "Mean change under replaced attention over corpora and models (§4.1). Points are points of "
    "accuracy; per cent are of the score itself, accuracy or BLEU. Only cells that were both "
    "printed and measured can be compared: “same cells” is the mean of what the paper prints "
    "there, “all its cells” that of its whole table."
)


@dataclass(frozen=True)
class Quoted:
    """A number of the text: of a `table`, under an `edit` of the weights, in points or as a per
    cent of the score (`relative`)."""

    tasks: str
    table: str
    edit: str
    words: str
    value: float
    relative: bool = False


TRAINED, AFTER = "in training too", "afterwards"
QUOTED = (
    Quoted("one text", "1", "uniform:train+infer", f"uniform, {TRAINED}", -0.5),
    Quoted("one text", "1", "random:train+infer", f"random, {TRAINED}", -0.9),
    Quoted("one text", "1", "uniform:infer", f"uniform, {AFTER}", -3.9),
    Quoted("one text", "1", "random:infer", f"random, {AFTER}", -4.5),
    Quoted("one text", "1", "permute:infer", f"shuffled, {AFTER}", -4.2),
    Quoted("one text", "1", "uniform:train+infer", f"uniform, {TRAINED}", -0.1, True),
    Quoted("two texts", "2", "uniform:train+infer", f"uniform, {TRAINED}", -49.5, True),
    Quoted("generation", "3", "uniform:train+infer", f"uniform, {TRAINED}", -51.2, True),
)


def averages(frame: pd.DataFrame) -> pd.DataFrame:
    """A line for each number that the text quotes, where one of its cells was measured; `frame` is
    the published beside the measured."""
    whole = published(PAPER)
    known = frame[frame["difference"].notna()]
    lines = []
    for quoted in QUOTED:
        every = list(_changes(whole[whole["table"] == quoted.table], quoted, "value"))
        here = known[known["table"] == quoted.table]
        printed = list(_changes(here, quoted, "published_paper"))
        measured = list(_changes(here, quoted, "measured"))
        if measured:
            numbers = [
                quoted.value,
                *(sum(each) / len(each) for each in (every, printed, measured)),
            ]
            shown = [number(value, 1, True) for value in numbers]
            unit = "% of the score" if quoted.relative else "points"
            cells = f"{len(measured)} of {len(every)}"
            lines.append((quoted.tasks, quoted.words, unit, *shown, cells))
    columns = ("Text", "All its cells", "Same cells", "Measured", "Cells")
    return pd.DataFrame(lines, columns=["Tasks", "Attention", "Unit", *columns])


def _changes(cells: pd.DataFrame, quoted: Quoted, column: str) -> Iterator[float]:
    """The change in each cell of a table; a relative one needs the untouched score beside it."""
    names = [f"delta_{score}:{quoted.edit}" for score in ("accuracy", "bleu")]
    changed = cells[cells["metric"].isin(names)]
    places = ["dataset", "model"]
    scores = cells[cells["metric"].isin(["accuracy", "bleu"])].set_index(places)[column]
    for line in changed.to_dict("records"):
        change = float(line[column])
        if quoted.relative:
            score = scores.get((line["dataset"], line["model"]), math.nan)
            change = 100 * change / float(score)
        if math.isfinite(change):
            yield change
