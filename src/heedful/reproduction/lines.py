"""How a cell and what was measured of it are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heedful.report import metric_name, number
from heedful.reproduction import judge
from heedful.reproduction.cells import Published
from heedful.reproduction.judge import Judged, tolerance

TAUS = {
    "tau_gradient": "τ, attention and gradient",
    "tau_gradient_sig_fraction": "share of texts with significant τ, gradient",
    "tau_loo": "τ, attention and leave-one-out",
    "tau_loo_sig_fraction": "share of texts with significant τ, leave-one-out",
}


def written(each: Judged) -> list[str]:
    cell = each.cell
    digits = _digits(cell)
    spread = (number(each.mean + sign * each.around, digits) for sign in (-1, 1))
    ours = f"{number(each.mean, digits)} [{', '.join(spread)}]"
    label = "" if cell.label == "all" else cell.label
    ended = f"**{each.judgement}**" if each.judgement == judge.NOT else each.judgement
    data = f"{cell.dataset}, run small" if each.size == "small" else cell.dataset
    return [data, cell.model, metric_of(cell), label, printed(cell), ours, str(each.seeds), ended]


def printed(cell: Published) -> str:
    """As the paper has it: every version, with the decimals and the spread that it prints."""
    digits = max(_digits(cell), *(_decimals(value) for _, value in cell.values))
    values = " / ".join(number(value, digits) for _, value in cell.values)
    return values if cell.sd is None else f"{values} ± {number(cell.sd, digits)}"


def metric_of(cell: Published) -> str:
    return TAUS.get(cell.metric) or metric_name(cell.metric)


def mean_of(each: Judged | None) -> str:
    return "" if each is None else number(each.mean, _digits(each.cell))


def _digits(cell: Published) -> int:
    return 2 if tolerance(cell) < 1 else 1


def _decimals(value: float) -> int:
    return len(repr(value).partition(".")[2])


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
