"""How a cell and what was measured of it are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heedful.report.display import NAMES, number
from heedful.reproduction import judge
from heedful.reproduction.cells import Published
from heedful.reproduction.judge import Judged, tolerance

FINE = ("tau_", "mutual_information", "token_probability")


def written(each: Judged) -> list[str]:
    cell = each.cell
    digits = _digits(cell)
    printed = " / ".join(number(value, digits) for _, value in cell.values)
    spread = (number(each.mean + sign * each.around, digits) for sign in (-1, 1))
    ours = f"{number(each.mean, digits)} [{', '.join(spread)}]"
    label = "" if cell.label == "all" else cell.label
    ended = f"**{each.judgement}**" if each.judgement == judge.NOT else each.judgement
    return [cell.dataset, cell.model, metric_of(cell), label, printed, ours, str(each.seeds), ended]


def metric_of(cell: Published) -> str:
    return NAMES.get(cell.metric, cell.metric.replace("_", " "))


def mean_of(each: Judged | None) -> str:
    return "" if each is None else number(each.mean, _digits(each.cell))


def _digits(cell: Published) -> int:
    return 2 if cell.metric.startswith(FINE) or abs(tolerance(cell)) < 1 else 1


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
