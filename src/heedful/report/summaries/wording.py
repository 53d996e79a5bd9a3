"""Numbers in plain words that never say more than the numbers do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pandas as pd

from heedful.report.evidence import lines_of
from heedful.report.formats import number
from heedful.studies import dataset_name

ENOUGH = 30
"""Fewer texts than this, and a mean is called inconclusive."""


@dataclass(frozen=True)
class Finding:
    """One measured mean with its interval and the cell it belongs to."""

    where: str
    mean: float
    low: float
    high: float
    texts: int
    median: float = math.nan

    @property
    def firm(self) -> bool:
        """Enough texts and an interval: only then may a sentence lean on it."""
        finite = all(math.isfinite(value) for value in (self.mean, self.low, self.high))
        return finite and self.texts >= ENOUGH


def findings(together: pd.DataFrame, probe: str, measure: str) -> list[Finding]:
    """The cells of one measure over all texts, lowest first, undefined ones last."""
    lines = lines_of(together, probe, measure).sort_values("mean", kind="stable")
    return [
        Finding(
            f"{line['model']} on {dataset_name(line['corpus'])}",
            float(line["mean"]),
            float(line["low"]),
            float(line["high"]),
            int(line["texts"]),
            float(line["median"]),
        )
        for line in lines.assign(texts=texts_of(lines)).to_dict("records")
    ]


def firm_findings(together: pd.DataFrame, probe: str, measure: str) -> list[Finding]:
    """Those that can carry a sentence."""
    return firm_of(findings(together, probe, measure))


def firm_of(found: Iterable[Finding]) -> list[Finding]:
    return [one for one in found if one.firm]


def sentence(
    together: pd.DataFrame, of: tuple[str, str], subject: str, write: Callable[[list[Finding]], str]
) -> str:
    """What `write` makes of the firm findings `of` a probe's measure, and how many there are
    beside them; or why there are none."""
    found = findings(together, *of)
    firm, why = firm_or_why(subject, found)
    return why or write(firm) + left_out(found)


def texts_of(table: pd.DataFrame) -> pd.Series:
    """How many texts each line rests on: seeds repeat them."""
    return table["n"] // table["seeds"].clip(lower=1)


def span(found: list[Finding], show: Callable[[float], str] = number) -> str:
    """One cell with its interval, or the lowest and the highest of several."""
    if len(found) == 1:
        one = found[0]
        return f"{show(one.mean)} (95% interval {show(one.low)} to {show(one.high)}; {one.where})"
    low, high = found[0], found[-1]
    return f"{show(low.mean)} ({low.where}) to {show(high.mean)} ({high.where})"


def reach(found: list[Finding], show: Callable[[float], str] = number) -> str:
    """The lowest and the highest mean, without names."""
    low, high = show(found[0].mean), show(found[-1].mean)
    return low if low == high else f"{low} to {high}"


def within(one: Finding, show: Callable[[float], str] = number) -> str:
    """A mean with its interval."""
    return f"{show(one.mean)} ({show(one.low)} to {show(one.high)})"


def ends(found: list[Finding], show: Callable[[float], str] = number) -> str:
    """The lowest and the highest mean, each with its interval, without names."""
    low, high = within(found[0], show), within(found[-1], show)
    return low if low == high else f"{low} up to {high}"


def counted(found: list[Finding]) -> str:
    """How many texts the means rest on."""
    low, high = min(one.texts for one in found), max(one.texts for one in found)
    return f"n {low:,}" if low == high else f"n {low:,} to {high:,}"


def firm_or_why(subject: str, found: list[Finding]) -> tuple[list[Finding], str]:
    """The findings that can carry a sentence, or else the sentence that says why none can."""
    if not found:
        return [], f"{subject}: not measured."
    firm = firm_of(found)
    if firm:
        return firm, ""
    texts = max(one.texts for one in found)
    return [], f"{subject}: inconclusive, with {texts} texts (fewer than {ENOUGH}) or no interval."


def left_out(found: list[Finding]) -> str:
    """How many cells a sentence does not speak about."""
    weak = sum(not one.firm for one in found)
    return f" Inconclusive for {weak} of {len(found)} model–data pairs." if weak else ""


def percent(value: float) -> str:
    return f"{number(100 * value, 0)}%"


def share(value: float) -> str:
    """A share of texts, to a tenth of a per cent."""
    return f"{number(100 * value, 1)}%"


def points(value: float) -> str:
    """A change of a share, in points."""
    return number(100 * value, 1, signed=True)


def bleu_points(value: float) -> str:
    return number(value, 1, signed=True)


def agreement(found: list[Finding]) -> str:
    """A word for how alike two orders are, chosen by the whole interval, not its middle."""
    low, high = min(one.low for one in found), max(one.high for one in found)
    first, last = _word(low), _word(high)
    return first if first == last else f"{first} to {last}"


def _word(tau: float) -> str:
    steps = ((-0.2, "in opposite order"), (0.2, "hardly"), (0.5, "weakly"), (0.75, "moderately"))
    return next((word for bound, word in steps if tau < bound), "closely")
