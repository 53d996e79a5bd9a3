"""The published cells, each once: two printed versions of one number are one cell."""

from __future__ import annotations

from dataclasses import dataclass, replace

from heedful.studies import METRICS, printed_papers, published

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
