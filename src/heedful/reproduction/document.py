"""`docs/reproduction.md`, made of compact rows, published cells and reasons alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from heedful.report.display import NAMES, number
from heedful.reproduction import judge
from heedful.reproduction.absent import ABSENT, PEOPLE
from heedful.reproduction.cells import COMPLETE, SUBSETS, Published, published_cells
from heedful.reproduction.judge import Judged, share, tolerance
from heedful.reproduction.match import judged
from heedful.reproduction.reasons import Reason, read_reasons, reason_for
from heedful.reproduction.rows import collect, merged, read_rows, write_rows
from heedful.store import Store
from heedful.store.files import write_text

VERDICTS = (judge.REPRODUCED, judge.DIRECTION, judge.NOT, judge.FEW)
FINE = ("tau_", "mutual_information", "token_probability")
HEAD = """# Published beside measured

Every number that the papers print and that the complete corpora allow, beside what the same
experiment gives here. This page is made by `heedful study all --report` from
`reproduction/rows.csv` (summaries of runs: no data, no weights) and `reproduction/reasons.csv`,
and from nothing else.

- **Published**: where a paper and its slides print different numbers, both; either may be met.
- **Ours**: mean over seeds, and in brackets where one more training is expected (95%
  prediction interval).
- **Reproduced**: the published number is as near as that interval is wide, or within a
  tolerance: 0.06 for τ and the share of texts with a significant τ, two points for scores and
  their changes, 0.02 for probabilities, 0.06 nats.
- **Same direction**, only for changes of a score: not as near, but of the same sign, and the
  95% interval of our mean leaves zero out.
- The tolerances for τ and scores were set before anything was run. Those for the share of
  significant τ, for probabilities and for nats, and that zero must be left out for a direction,
  were set after the first numbers of SST and 20News had been seen.
- **Not reproduced**: neither; the reason is given below. Fewer than three seeds are not judged.
"""


ROWS, REASONS = Path("reproduction/rows.csv"), Path("reproduction/reasons.csv")
PAGE = Path("docs/reproduction.md")


def write_document(store: Store | None) -> Path:
    """The kept rows with what the store has more, and the page made of them."""
    rows = read_rows(ROWS)
    if store is not None:
        rows = merged(rows, collect(store))
        write_rows(rows, ROWS)
    write_text(PAGE, document(rows, read_reasons(REASONS)))
    return PAGE


def document(rows: pd.DataFrame, reasons: Sequence[Reason]) -> str:
    """The whole page."""
    cells = published_cells()
    counted = [cell for cell in cells if cell.counted]
    found = judged(counted, rows)
    apart = judged([cell for cell in cells if cell.dataset in SUBSETS], rows)
    parts = [HEAD, _overview(counted, found), *_tables(found), _disagreements(found, reasons)]
    parts += [_apart(apart), _absent(cells)]
    return "\n".join(part for part in parts if part)


def _overview(counted: Sequence[Published], found: Sequence[Judged]) -> str:
    """How many of what, by paper."""
    head = ["paper", "cells", "measured", *VERDICTS, "reproduced or same direction"]
    papers = list(dict.fromkeys(cell.paper for cell in counted))
    lines = [_counts(paper, counted, found) for paper in papers]
    lines.append(["**all**", *_counts("", counted, found)[1:]])
    corpora = ", ".join(COMPLETE)
    return f"## In short\n\nCells of {corpora}.\n\n{_table(head, lines)}\n"


def _counts(paper: str, counted: Sequence[Published], found: Sequence[Judged]) -> list[str]:
    cells = [cell for cell in counted if paper in ("", cell.paper)]
    part = [each for each in found if paper in ("", each.cell.paper)]
    kinds = Counter(each.judgement for each in part)
    numbers = [len(cells), len(part), *(kinds[name] for name in VERDICTS)]
    good = share(part)
    return [paper, *map(str, numbers), f"{good:.0%}" if good == good else ""]


def _tables(found: Sequence[Judged]) -> Iterator[str]:
    head = ["dataset", "model", "metric", "class", "published", "ours", "seeds", "judgement"]
    places = dict.fromkeys((each.cell.paper, each.cell.table) for each in found)
    for paper, table in places:
        part = [each for each in found if (each.cell.paper, each.cell.table) == (paper, table)]
        yield f"## {paper}, table {table}\n\n{_table(head, map(_line, part))}\n"


def _line(each: Judged) -> list[str]:
    cell = each.cell
    digits = 2 if cell.metric.startswith(FINE) or abs(tolerance(cell)) < 1 else 1
    printed = " / ".join(number(value, digits) for _, value in cell.values)
    spread = (number(each.mean + sign * each.around, digits) for sign in (-1, 1))
    ours = f"{number(each.mean, digits)} [{', '.join(spread)}]"
    label = "" if cell.label == "all" else cell.label
    words = NAMES.get(cell.metric, cell.metric.replace("_", " "))
    ended = f"**{each.judgement}**" if each.judgement == judge.NOT else each.judgement
    return [cell.dataset, cell.model, words, label, printed, ours, str(each.seeds), ended]


def _disagreements(found: Sequence[Judged], reasons: Sequence[Reason]) -> str:
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
        f"  - {cell.paper}, table {cell.table}: {cell.dataset}, {cell.model}, "
        f"{NAMES.get(cell.metric, cell.metric.replace('_', ' '))}"
        + ("" if cell.label == "all" else f", class {cell.label}")
        for cell in cells
    )
    return "\n".join(words)


def _apart(found: Sequence[Judged]) -> str:
    if not found:
        return ""
    head = ["dataset", "model", "metric", "class", "published", "ours", "seeds"]
    lines = [_line(each)[:-1] for each in found]
    said = "Only a part of these corpora was at hand; nothing is judged.\n"
    return f"## From parts of a corpus, not counted\n\n{said}\n{_table(head, lines)}\n"


def _absent(cells: Sequence[Published]) -> str:
    counts = Counter(cell.dataset for cell in cells)
    lines = [
        [name, str(counts[name]), f"`{command}`"]
        for name, command in ABSENT.items()
        if counts[name]
    ]
    people = sum(cell.metric.startswith(PEOPLE) for cell in cells)
    said = f"{people} cells are judgements by people: `heedful annotate` is that experiment.\n"
    return f"## Not run here\n\n{_table(['dataset', 'cells', 'command'], lines)}\n\n{said}"


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
