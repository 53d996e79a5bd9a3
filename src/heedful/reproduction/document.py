"""`docs/reproduction.md`, made of compact rows, published cells and reasons alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from heedful.reproduction import judge
from heedful.reproduction.absent import PARTLY
from heedful.reproduction.beyond import (
    absent,
    apart,
    commands_behind,
    disagreements,
    left,
    tried,
)
from heedful.reproduction.cells import COMPLETE, Published, published_cells
from heedful.reproduction.compact import write_compact
from heedful.reproduction.judge import Judged, share
from heedful.reproduction.lines import table, written
from heedful.reproduction.match import judged
from heedful.reproduction.reasons import Reason, read_reasons
from heedful.reproduction.rows import collect, merged, read_rows
from heedful.store import Store
from heedful.store.files import write_text

VERDICTS = (judge.REPRODUCED, judge.DIRECTION, judge.NOT, judge.FEW)
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
  How many are within the tolerance itself is counted beside: where trainings differ much, as on
  bAbI 2, the interval is wide and being inside it says little.
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
        write_compact(rows, ROWS)
    write_text(PAGE, document(rows, read_reasons(REASONS)))
    return PAGE


def document(rows: pd.DataFrame, reasons: Sequence[Reason]) -> str:
    """The whole page."""
    cells = published_cells()
    counted = [cell for cell in cells if cell.counted]
    found = judged(counted, rows)
    partly = judged([cell for cell in cells if cell.dataset in PARTLY], rows)
    parts = [HEAD, _overview(counted, found), *_tables(found), disagreements(found, reasons)]
    parts += [tried(counted, found, rows), left(counted, found), apart(cells, partly)]
    parts += [absent(cells), commands_behind(rows)]
    return "\n".join(part for part in parts if part)


def _overview(counted: Sequence[Published], found: Sequence[Judged]) -> str:
    """How many of what, by paper."""
    head = ["paper", "cells", "measured", *VERDICTS]
    head += ["reproduced or same direction", "within the tolerance itself"]
    papers = list(dict.fromkeys(cell.paper for cell in counted))
    lines = [_counts(paper, counted, found) for paper in papers]
    lines.append(["**all**", *_counts("", counted, found)[1:]])
    corpora = ", ".join(COMPLETE)
    return f"## In short\n\nCells of {corpora}.\n\n{table(head, lines)}\n"


def _counts(paper: str, counted: Sequence[Published], found: Sequence[Judged]) -> list[str]:
    cells = [cell for cell in counted if paper in ("", cell.paper)]
    part = [each for each in found if paper in ("", each.cell.paper)]
    kinds = Counter(each.judgement for each in part)
    numbers = [len(cells), len(part), *(kinds[name] for name in VERDICTS)]
    good = share(part)
    near = str(sum(each.close for each in part))
    return [paper, *map(str, numbers), f"{good:.0%}" if good == good else "", near]


def _tables(found: Sequence[Judged]) -> Iterator[str]:
    head = ["dataset", "model", "metric", "class", "published", "ours", "seeds", "judgement"]
    places = dict.fromkeys((each.cell.paper, each.cell.table) for each in found)
    for place in places:
        part = [each for each in found if (each.cell.paper, each.cell.table) == place]
        yield f"## {place[0]}, table {place[1]}\n\n{table(head, map(written, part))}\n"
