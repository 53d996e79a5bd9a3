"""Published beside measured: one line per cell of a paper's table, in the paper's unit.

A difference is measured − published. Cells that no paper printed (another encoder, another
attention) stand in the same table with the published columns empty. A substitute for a
published corpus shows what was published, and no difference from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from heedful.report.evidence import CorpusReport, Evidence, study_of
from heedful.report.readable import SUBSET
from heedful.studies import (
    METRICS,
    Study,
    dataset_name,
    printed_papers,
    printed_scale,
    published,
    score_changed,
)

NOTHING = (math.nan, math.nan)


@dataclass(frozen=True)
class Printed:
    """Cells with the `number` of their table and its `version` (paper, slides); `deeper` are
    the tables of models of several layers."""

    cells: pd.DataFrame
    deeper: tuple[str, ...] = ()

    @cached_property
    def tables(self) -> list[str]:
        return sorted(set(self.cells["number"]))

    @cached_property
    def datasets(self) -> set[str]:
        return set(self.cells["dataset"])

    def metrics(self, table: str, datasets: Iterable[str]) -> list[str]:
        """What a table prints of any of these datasets, in the table's order."""
        return [str(metric) for metric in self._part(table, datasets)["metric"].unique()]

    def classes(self, table: str, datasets: Iterable[str]) -> set[str]:
        return set(self._part(table, datasets)["class"]) - {"all"}

    def value(self, table: str, version: str, place: tuple[str, ...]) -> tuple[float, float]:
        """The number and its sd in a cell: dataset, class, model, metric."""
        return self._values.get((table, version, *place), NOTHING)

    @cached_property
    def _values(self) -> dict[tuple[str, ...], tuple[float, float]]:
        keys = ["number", "version", "dataset", "class", "model", "metric"]
        return {
            tuple(str(line[key]) for key in keys): (float(line["value"]), float(line["sd"]))
            for line in self.cells.to_dict("records")
        }

    def _part(self, table: str, datasets: Iterable[str]) -> pd.DataFrame:
        chosen = self.cells["dataset"].isin(list(datasets)) & (self.cells["number"] == table)
        return pd.DataFrame(self.cells[chosen])


def printed(paper: str) -> Printed:
    """The tables a study is read against (all of them where there is no study), less the
    metrics that no probe measures. A table printed once is the paper's version."""
    cells, study = published(paper), study_of(paper)
    wanted = cells["metric"].isin(list(METRICS))
    if study and study.published:
        wanted &= cells["table"].isin(list(study.published))
    kept = cells[wanted]
    parts = kept["table"].str.partition("/")
    version = parts[2].where(parts[2] != "", "paper")
    return Printed(kept.assign(number=parts[0], version=version), study.deeper if study else ())


@dataclass(frozen=True)
class Place:
    """A model on a corpus. `asked` and `named` are the dataset and the model looked up in the
    paper, `like` the datasets whose metrics it gets, `score` what its changes are of,
    `said` what belongs to some metrics only (how BLEU was computed, from how many vectors), and
    `deep` whether it has several layers."""

    corpus: str
    label: str
    asked: str
    named: str
    like: frozenset[str]
    score: str
    substitute: bool
    note: str
    said: tuple[tuple[str, str], ...]
    deep: bool = False

    @property
    def model(self) -> str:
        """Our own name, with the published one in brackets where it is another."""
        return self.label if self.named == self.label else f"{self.label} ({self.named})"

    def metrics(self, paper: Printed) -> list[tuple[str, str]]:
        """Tables and their metrics; of a corpus that the paper has not, each measure once. What
        the tables for models as deep do not have stands in the others."""
        found: dict[tuple[str, ...], tuple[str, str]] = {}
        own = [table for table in paper.tables if (table in paper.deeper) == self.deep]
        placed: set[tuple[str, str]] = set()
        for table in sorted(paper.tables, key=lambda table: table not in own):
            metrics = paper.metrics(table, self.like)
            fitting = [each for each in metrics if score_changed(each) in ("", self.score)]
            for metric in fitting:
                if table in own or METRICS[metric] not in placed:
                    once = METRICS[metric] + ((table,) if self.asked in self.like else ())
                    found.setdefault(once, (table, metric))
            placed |= {METRICS[metric] for metric in fitting}
        return list(found.values())


def places(evidence: Evidence, name: str, paper: Printed) -> list[Place]:
    """One for each corpus and model, in the order they were measured."""
    study = study_of(name)
    pairs = evidence.together[["corpus", "model"]].drop_duplicates()
    return [
        _place(evidence, study, paper, str(corpus), str(label))
        for corpus, label in pairs.itertuples(index=False)
    ]


def _place(
    evidence: Evidence, study: Study | None, paper: Printed, corpus: str, label: str
) -> Place:
    report = _report(evidence, corpus)
    instead = report.stands_for
    asked = instead if instead in paper.datasets else dataset_name(corpus)
    inside = frozenset({asked}) & paper.datasets
    sizes = _sizes(evidence, report, corpus, label) if study and study.sized else ""
    subset = SUBSET if report.subset or report.limited else ""
    other = f"substitute for {instead}, not the same data" if instead else ""
    notes = (subset, other, sizes)
    return Place(
        corpus=corpus,
        label=label,
        asked=asked,
        named=study.names.get(label, label) if study else label,
        like=inside or _alike(evidence, study, paper, corpus),
        score=_score(evidence, corpus, label),
        substitute=bool(instead),
        note="; ".join(part for part in notes if part),
        said=(
            ("bleu", evidence.notes(corpus, label, "translation").get("bleu", "")),
            ("token_probability", "texts read right only"),
            *_vectors(evidence, corpus, label),
        ),
        deep=any(spec.layers > 1 for spec in evidence.model_specs(corpus, label)),
    )


def _alike(evidence: Evidence, study: Study | None, paper: Printed, corpus: str) -> frozenset[str]:
    """The paper's datasets of the same kind, told by the families of models that read them."""
    families = {spec.family for spec in evidence.model_specs(corpus)}
    settings = study.settings if study else ()
    kinds = {s.kind for s in settings for model in s.models if model.family in families}
    names = {dataset_name(name) for s in settings if s.kind in kinds for name in s.corpora}
    return frozenset(names & paper.datasets or paper.datasets)


def _score(evidence: Evidence, corpus: str, label: str) -> str:
    """What the probe `substitution` scores on a corpus."""
    if evidence.writes(corpus):
        return "bleu"
    return str(evidence.params(corpus, label, "substitution").get("metric", "accuracy"))


def _report(evidence: Evidence, corpus: str) -> CorpusReport:
    """Of several preparations, whatever one of them has to say."""
    reports = evidence.corpus_reports(corpus)
    return CorpusReport(
        **{name: value for report in reports for name, value in vars(report).items() if value}
    )


def _sizes(evidence: Evidence, report: CorpusReport, corpus: str, label: str) -> str:
    """How wide the vectors are, and the encoder in each direction."""
    widths = {spec.hidden for spec in evidence.model_specs(corpus, label) if spec.hidden}
    if not widths or report.dimension is None:
        return ""
    hidden = ", ".join(str(width) for width in sorted(widths))
    return f"{report.dimension}-d vectors, {hidden} per direction"


def _vectors(evidence: Evidence, corpus: str, label: str) -> Iterator[tuple[str, str]]:
    """What mutual information was counted on; over several seeds, on average."""
    lines = evidence.together
    chosen = (lines["corpus"] == corpus) & (lines["model"] == label)
    means = lines[chosen & (lines["probe"] == "mutual_information")].set_index("measure")["mean"]
    for metric, (probe, measure) in METRICS.items():
        if probe == "mutual_information" and measure in means.index:
            way = measure.partition(":")[2]
            vectors, clusters = (means[f"{name}:{way}"] for name in ("vectors", "clusters"))
            yield metric, f"{vectors:,.0f} vectors, {clusters:,.0f} clusters"


COLUMNS = [
    "table", "dataset", "class", "model", "metric",
    "published_paper", "published_paper_sd", "published_slides", "published_slides_sd",
    "measured", "measured_sd", "low", "high", "interval", "seeds", "seed_sd",
    "difference", "difference_slides", "note",
]  # fmt: skip


def published_beside_measured(evidence: Evidence, paper: str = "jain2019") -> pd.DataFrame:
    """The measured cells of a paper's tables, each with the published numbers beside it."""
    if paper not in printed_papers():
        return pd.DataFrame(columns=COLUMNS)
    tables = printed(paper)
    where = {place: place.metrics(tables) for place in places(evidence, paper, tables)}
    lines = [
        _line(table, metric, cell, tables, place, printed_scale(paper, metric))
        for table in tables.tables
        for metric in tables.metrics(table, tables.datasets)
        for place, wanted in where.items()
        if (table, metric) in wanted
        for cell in _measured_cells(evidence.together, table, metric, tables, place)
    ]
    frame = pd.DataFrame(lines, columns=COLUMNS)
    by = ["table", "dataset", "model", "class", "metric"]
    return frame.sort_values(by, key=_study_order, kind="stable", ignore_index=True)


def _study_order(column: pd.Series) -> pd.Series:
    """Classes by number; everything else as the study lists it, not by the alphabet."""
    return column if column.name == "class" else pd.Series(pd.factorize(column)[0])


def _measured_cells(
    together: pd.DataFrame, table: str, metric: str, paper: Printed, place: Place
) -> Iterator[dict[str, Any]]:
    probe, measure = METRICS[metric]
    cells = together[
        (together["probe"] == probe)
        & (together["measure"] == measure)
        & (together["corpus"] == place.corpus)
        & (together["model"] == place.label)
    ]
    by_class = cells["group"].str.startswith("class=")
    split = by_class.any() and by_class.sum() <= len(paper.classes(table, place.like))
    kept = cells[by_class] if split else cells[cells["group"] == "all"]
    return ({str(key): value for key, value in cell.items()} for cell in kept.to_dict("records"))


def _line(
    table: str, metric: str, cell: dict[str, Any], paper: Printed, place: Place, scale: float
) -> dict[str, Any]:
    label = cell["group"].removeprefix("class=")
    asked = (place.asked, label, place.named, metric)
    once, slides = (paper.value(table, version, asked) for version in ("paper", "slides"))
    prints_sd = metric in ("tau_gradient", "tau_loo")
    numbers = {name: scale * cell[name] for name in ("mean", "low", "high", "seed_sd")}
    same = math.nan if place.substitute else 1.0  # no difference from other data
    undefined = f"undefined: {cell['undefined']}" if cell["undefined"] else ""
    said = dict(place.said).get(metric, "")
    return {
        "table": table,
        "dataset": dataset_name(place.corpus),
        "class": label,
        "model": place.model,
        "metric": metric,
        "published_paper": once[0],
        "published_paper_sd": once[1],
        "published_slides": slides[0],
        "published_slides_sd": slides[1],
        "measured": numbers["mean"],
        "measured_sd": cell["sd"] if prints_sd else math.nan,
        "low": numbers["low"],
        "high": numbers["high"],
        **{name: cell[name] for name in ("interval", "seeds")},
        "seed_sd": numbers["seed_sd"],
        "difference": (numbers["mean"] - once[0]) * same,
        "difference_slides": (numbers["mean"] - slides[0]) * same,
        "note": "; ".join(part for part in (place.note, undefined, said) if part),
    }
