"""The parts of the page behind its tables: reasons, trials, what is left, and the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from heedful.reproduction import judge
from heedful.reproduction.absent import ABSENT, PARTLY, PEOPLE
from heedful.reproduction.cells import Published
from heedful.reproduction.commands import commands
from heedful.reproduction.judge import Judged
from heedful.reproduction.lines import mean_of, metric_of, table, written
from heedful.reproduction.match import judged
from heedful.reproduction.reasons import Reason, reason_for
from heedful.reproduction.trials import TRIALS

TRIED = ["dataset", "model", "metric", "class", "published", "ours", "changed", "seeds"]


def disagreements(found: Sequence[Judged], reasons: Sequence[Reason]) -> str:
    """Each reason once, with the cells it is given for."""
    by_reason: dict[str, list[Published]] = {}
    for each in found:
        if each.judgement == judge.NOT:
            text = reason_for(each.cell, list(reasons)) or "No reason was found yet."
            by_reason.setdefault(text, []).append(each.cell)
    blocks = [f"- {text}\n{_named(cells)}" for text, cells in by_reason.items()]
    return "## Where we do not agree\n\n" + "\n".join(blocks) + "\n" if blocks else ""


def _named(cells: Sequence[Published]) -> str:
    words = (
        f"    - {cell.paper}, table {cell.table}: {cell.dataset}, {cell.model}, "
        f"{metric_of(cell)}" + ("" if cell.label == "all" else f", class {cell.label}")
        for cell in cells
    )
    return "\n".join(words)


def tried(counted: Sequence[Published], found: Sequence[Judged], rows: pd.DataFrame) -> str:
    """What was changed to find out why, and what it gave."""
    usual = {each.cell: each for each in found}
    blocks = []
    for name, trial in TRIALS.items():
        lines = [
            [*written(each)[:5], mean_of(usual.get(each.cell)), mean_of(each), str(each.seeds)]
            for each in judged(counted, rows[rows["paper"] == name].assign(paper=trial.paper))
        ]
        if lines:
            blocks.append(f"`{name}`: {trial.changed}.\n\n{table(TRIED, lines)}\n")
    said = "The study with a change; means over seeds. Nothing here is counted above.\n"
    return "\n".join(["## Trials", "", said, *blocks]) if blocks else ""


def left(counted: Sequence[Published], found: Sequence[Judged]) -> str:
    """Cells that these corpora allow and nobody measured yet."""
    measured = {each.cell for each in found}
    places = Counter(
        (cell.paper, cell.table, cell.dataset, cell.model)
        for cell in counted
        if cell not in measured
    )
    lines = [[*place, str(count)] for place, count in places.items()]
    head = ["paper", "table", "dataset", "model", "cells"]
    return f"## Not measured yet\n\n{table(head, lines)}\n" if lines else ""


def apart(cells: Sequence[Published], found: Sequence[Judged]) -> str:
    said = "Only a part of these corpora is at hand: nothing of them is judged or counted.\n"
    page = f"{said}\n{_elsewhere(cells, PARTLY)}\n"
    if found:
        head = ["paper", "dataset", "model", "metric", "class", "published", "ours", "seeds"]
        page += f"\n{table(head, [[each.cell.paper, *written(each)[:-1]] for each in found])}\n"
    return f"## From parts of a corpus, not counted\n\n{page}"


def absent(cells: Sequence[Published]) -> str:
    people = sum(cell.metric.startswith(PEOPLE) for cell in cells)
    said = f"{people} cells are judgements by people: `heedful annotate` is that experiment.\n"
    return f"## Not run here\n\n{_elsewhere(cells, ABSENT)}\n\n{said}"


def _elsewhere(cells: Sequence[Published], runs: Mapping[str, str]) -> str:
    counts = Counter(cell.dataset for cell in cells)
    lines = [
        [name, str(counts[name]), f"`{command}`"] for name, command in runs.items() if counts[name]
    ]
    return table(["dataset", "cells", "command"], lines)


def commands_behind(rows: pd.DataFrame) -> str:
    lines = "\n".join(f"- `{command}`" for command in commands(rows))
    said = (
        "With a folder of corpora (`--data-dir`) and a store (`--store`) these make the runs;\n"
        "`heedful study all --report --store …` then adds their rows. A run that two papers share\n"
        "is made once.\n"
    )
    return f"## The commands behind the rows\n\n{said}\n{lines}\n"
