"""The published cells: each once, which of them count, and what is known of others than ours.

Two printed versions of one number are one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from heedful.errors import HeedfulError, unknown_name
from heedful.studies import METRICS, printed_papers, published
from paper_tables.compact import read_lines
from paper_tables.trials import TRIALS

COMPLETE = ("SST", "20News", "IMDB", "bAbI 1", "bAbI 2", "Multi30k")
"""Datasets whose files are those of the papers; only these count."""
PLACE = ("dataset", "class", "model", "metric")
REPEATED = {"bilstm1-": "bilstm-"}
"""tutek2020's Table 6 prints the models of one layer again, which Table 1 has."""


@dataclass(frozen=True)
class Published:
    """A number that a paper prints, by the version it is printed in (paper, slides)."""

    paper: str
    table: str
    dataset: str
    label: str
    model: str
    metric: str
    values: tuple[tuple[str, float], ...]
    sd: float | None = None
    """As printed beside a score; beside a τ stands its spread over texts, which is another."""

    @property
    def contrast(self) -> bool:
        """A change, whose direction means something; a score or a τ is none."""
        return self.metric.startswith("delta_")

    @property
    def first(self) -> Published:
        """Without the later versions."""
        return replace(self, values=self.values[:1])

    @property
    def counted(self) -> bool:
        return self.dataset in COMPLETE and self.metric in METRICS


def published_cells() -> list[Published]:
    """All of them, in the order of their tables."""
    found = [cell for paper in printed_papers() for cell in _cells(paper)]
    first = {_place(cell): cell for cell in found if not _repeats(cell)}
    return [cell for cell in found if not _repeats(cell) or _place(cell) not in first]


def _cells(paper: str) -> list[Published]:
    values: dict[tuple[str, str, str, str, str], list[tuple[str, float]]] = {}
    spread: dict[tuple[str, str, str, str, str], float] = {}
    for line in published(paper).to_dict("records"):
        table, _, version = str(line["table"]).partition("/")
        dataset, label, model, metric = (str(line[key]) for key in PLACE)
        place = (table, dataset, label, model, metric)
        values.setdefault(place, []).append((version or "paper", float(line["value"])))
        if not metric.startswith("tau_") and line["sd"] == line["sd"]:
            spread[place] = float(line["sd"])
    return [
        Published(paper, *place, tuple(found), spread.get(place)) for place, found in values.items()
    ]


def _repeats(cell: Published) -> bool:
    return cell.model.startswith(tuple(REPEATED))


def _place(cell: Published) -> tuple[str, ...]:
    model = cell.model
    for prefix, plain in REPEATED.items():
        model = plain + model.removeprefix(prefix) if model.startswith(prefix) else model
    return cell.paper, cell.dataset, cell.label, model, cell.metric


# Published corpora that are not at hand, or not whole, and the commands that would run them.


PEOPLE = ("human_percent", "cohen_kappa")
"""Judgements by people; no probe measures them."""

ABSENT = {
    "Diabetes": "heedful study jain2019 --corpora diabetes --seeds 5",
    "Anemia": "heedful study jain2019 --corpora anemia --seeds 5",
    "CNN": "heedful study jain2019 --corpora cnn --seeds 3",
    "News Commentary": "heedful study vashishth2019 --corpora newscommentary --seeds 3",
    "WMT13": "heedful study vashishth2019 --corpora wmt13 --seeds 3",
    "Yelp": "heedful study serrano2019 --corpora yelp --seeds 3",
    "Yahoo": "heedful study serrano2019 --corpora yahoo --seeds 3",
    "Amazon": "heedful study serrano2019 --corpora amazon --seeds 3",
    "IMDB-10": "heedful study serrano2019 --corpora imdb10 --seeds 3",
}
"""By the dataset's printed name."""

PARTLY = {
    "AG News": "heedful study jain2019 --corpora agnews --seeds 5",
    "ADR Tweets": "heedful study jain2019 --corpora adr --seeds 5",
    "SNLI": "heedful study jain2019 --corpora snli --seeds 3",
    "MultiNLI": "heedful study vashishth2019 --corpora mnli --seeds 3",
    "bAbI 3": "heedful study jain2019 --corpora babi3 --seeds 3",
}
"""At hand in part: shown apart, never counted."""


# What is known of cells that were not reproduced: two sentences each, written down by pattern.


MATCHED = ("paper", "table", "dataset", "model", "metric")


@dataclass(frozen=True)
class Reason:
    """The cells it is given for, as patterns (`*` is anything), the trial that it rests on, if
    there is one, and what it says."""

    paper: str
    table: str
    dataset: str
    model: str
    metric: str
    trial: str
    text: str

    def fits(self, cell: Published) -> bool:
        return all(fnmatchcase(getattr(cell, name), getattr(self, name)) for name in MATCHED)


def read_reasons(path: Path) -> list[Reason]:
    """In their order; each must be of some cell, say something, and name a trial or none."""
    cells, trials, found = published_cells(), list(TRIALS), []
    for at, line in enumerate(read_lines(path, "reasons", (*MATCHED, "trial", "text")), 2):
        reason = Reason(*line)
        if not reason.text.strip() or not any(reason.fits(cell) for cell in cells):
            raise HeedfulError(
                f"line {at} of {path} gives no reason, or one for no published cell: fix it."
            )
        if reason.trial and reason.trial not in trials:
            raise unknown_name(f"trial in line {at} of {path}", reason.trial, trials)
        found.append(reason)
    return found


def reason_for(cell: Published, reasons: Sequence[Reason]) -> Reason | None:
    """The first that fits."""
    return next((reason for reason in reasons if reason.fits(cell)), None)
