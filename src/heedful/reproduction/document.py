"""`docs/reproduction.md`, made of compact rows, published cells and reasons alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

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
from heedful.reproduction.judge import Judged, share
from heedful.reproduction.lines import table, written
from heedful.reproduction.match import judged
from heedful.reproduction.papers import about
from heedful.reproduction.reasons import Reason

VERDICTS = (judge.REPRODUCED, judge.DIRECTION, judge.NOT, judge.FEW)
HEAD = """# Published beside measured

Every number that the papers print and that the complete corpora allow, beside what the same
experiment gives here. This page is made by `heedful study all --report` from
`reproduction/rows.csv` (summaries of runs: no data, no weights), `reproduction/reasons.csv` and the
published numbers that come with the package, and from nothing else.

- **Published**: as printed. jain2019's Table 2 also stands in the slides of a lecture about it
  (Kovács, TU Wien, 2021), with other numbers: the paper's come first, and either may be met.
- **Ours**: mean over seeds (trainings that differ in their random start), and in brackets where
  one more training is expected (95% prediction interval, by Student's t; it is not cut at what
  is possible, 100% say). The same seed gives the same training on the same kind of processor
  only.
- **Reproduced**: the published number is inside the brackets, or within a tolerance of our mean:
  0.06 for τ and the share of texts with a significant τ, two points for scores and their changes,
  0.02 for probabilities, 0.06 nats. Brackets are wide where trainings differ much, and where
  there are few of them: to be inside says little then. So those within the tolerance itself are
  counted beside, and cells with three and with more seeds apart.
- **Same direction**, only for changes of a score: not as near, but of the same sign, and the
  95% interval of our mean leaves zero out.
- The tolerances for τ and scores were set before anything was run. Those for the share of
  significant τ, for probabilities and for nats, and that zero must be left out for a direction,
  were set after the first numbers of SST and 20News had been seen.
- **Not reproduced**: neither; the reason is given below. Fewer than three seeds are not judged.
"""


def document(rows: pd.DataFrame, reasons: Sequence[Reason]) -> str:
    """The whole page."""
    cells = published_cells()
    counted = [cell for cell in cells if cell.counted]
    found = judged(counted, rows)
    partly = judged([cell for cell in cells if cell.dataset in PARTLY], rows)
    parts = [HEAD, _overview(counted, found), *_papers(found), disagreements(found, reasons)]
    parts += [tried(counted, found, rows), left(counted, found), apart(cells, partly)]
    parts += [absent(cells), commands_behind(rows)]
    return "\n".join(part for part in parts if part)


def _overview(counted: Sequence[Published], found: Sequence[Judged]) -> str:
    """How many of what, by paper."""
    head = ["", "cells", "measured", *VERDICTS]
    head += ["reproduced or same direction", "within the tolerance itself"]
    papers = list(dict.fromkeys(cell.paper for cell in counted))
    lines = [
        _counts(
            paper,
            sum(cell.paper == paper for cell in counted),
            [each for each in found if each.cell.paper == paper],
        )
        for paper in papers
    ]
    lines.append(_counts("**all**", len(counted), found))
    few = [each for each in found if each.seeds == judge.SEEDS]
    more = [each for each in found if each.seeds > judge.SEEDS]
    lines += [_counts("of these, three seeds", None, few), _counts("more seeds", None, more)]
    corpora = ", ".join(COMPLETE)
    return f"## In short\n\nCells of {corpora}.\n\n{table(head, lines)}\n{_second(found)}"


def _counts(name: str, cells: int | None, part: Sequence[Judged]) -> list[str]:
    kinds = Counter(each.judgement for each in part)
    numbers = ["" if cells is None else str(cells), str(len(part))]
    numbers += [str(kinds[kind]) for kind in VERDICTS]
    close = sum(each.close for each in part)
    near = f"{close} ({close / len(part):.0%})" if part else "0"
    good = share(part)
    return [name, *numbers, f"{good:.0%}" if good == good else "", near]


def _second(found: Sequence[Judged]) -> str:
    """How much hangs on the second of two printed versions."""
    printed_twice = [each for each in found if len(each.cell.values) > 1]
    first = [replace(each, cell=each.cell.first) for each in printed_twice]
    lost = [
        old.judgement == judge.REPRODUCED != new.judgement
        for old, new in zip(printed_twice, first, strict=True)
    ]
    if not any(lost):
        return ""
    said = (
        f"Of {len(lost)} cells that are printed twice {sum(lost)} are reproduced by the later only."
    )
    return f"\n{said}\n"


def _papers(found: Sequence[Judged]) -> Iterator[str]:
    """What is to be known of each, and its tables."""
    for paper in dict.fromkeys(each.cell.paper for each in found):
        yield about(paper)
        yield from _tables([each for each in found if each.cell.paper == paper])


def _tables(found: Sequence[Judged]) -> Iterator[str]:
    head = ["dataset", "model", "metric", "class", "published", "ours", "seeds", "judgement"]
    for name in dict.fromkeys(each.cell.table for each in found):
        part = [each for each in found if each.cell.table == name]
        lines = table(head, map(written, part))
        yield f"### {part[0].cell.paper}, table {name}\n\n{lines}\n\n{_texts(part)}\n"


def _texts(part: Sequence[Judged]) -> str:
    """On how many texts the numbers were measured."""
    counts: dict[str, set[int]] = {}
    for each in part:
        counts.setdefault(each.cell.dataset, set()).update(each.texts)
    ranges = {
        name: "–".join(dict.fromkeys((str(min(found)), str(max(found)))))
        for name, found in counts.items()
    }
    return "Texts: " + ", ".join(f"{name} {count}" for name, count in ranges.items()) + "."
