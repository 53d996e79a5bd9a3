"""Where a measured model belongs in a paper's tables: its names there, and its notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heedful.report.display import SUBSET
from heedful.report.evidence import Evidence
from heedful.report.printed import Printed
from heedful.report.studied import study_of
from heedful.studies import METRICS, Study, dataset_name, score_changed


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
    instead = str(report.get("stands_for") or "")
    asked = instead if instead in paper.datasets else dataset_name(corpus)
    inside = frozenset({asked}) & paper.datasets
    sizes = _sizes(evidence, report, corpus, label) if study and study.sized else ""
    notes = (_subset(report), _instead(instead), sizes)
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
        deep=any(spec.get("layers", 1) > 1 for spec in evidence.model_specs(corpus, label)),
    )


def _alike(evidence: Evidence, study: Study | None, paper: Printed, corpus: str) -> frozenset[str]:
    """The paper's datasets of the same kind, told by the families of models that read them."""
    families = {spec.get("family", "one_sequence") for spec in evidence.model_specs(corpus)}
    settings = study.settings if study else ()
    kinds = {s.kind for s in settings for model in s.models if model.family in families}
    names = {dataset_name(name) for s in settings if s.kind in kinds for name in s.corpora}
    return frozenset(names & paper.datasets or paper.datasets)


def _score(evidence: Evidence, corpus: str, label: str) -> str:
    """What the probe `substitution` scores on a corpus."""
    if evidence.writes(corpus):
        return "bleu"
    return str(evidence.params(corpus, label, "substitution").get("metric", "accuracy"))


def _report(evidence: Evidence, corpus: str) -> dict[str, Any]:
    """Of several preparations, whatever one of them has to say."""
    keys = evidence.cells.loc[evidence.cells["corpus"] == corpus, "corpus_run"].unique()
    reports = [evidence.corpus_report(str(key)) for key in keys]
    said = {name: value for one in reports for name, value in one.items() if value}
    return {**said, "filters": [count for one in reports for count in one.get("filters", [])]}


def _subset(report: dict[str, Any]) -> str:
    """The files, or the limit, left out a part of the training data."""
    limited = any(
        count.get("filter") == "limit" and count.get("split") == "train" and count.get("dropped")
        for count in report["filters"]
    )
    return SUBSET if report.get("subset") or limited else ""


def _sizes(evidence: Evidence, report: dict[str, Any], corpus: str, label: str) -> str:
    """How wide the vectors are, and the encoder in each direction."""
    widths = {spec["hidden"] for spec in evidence.model_specs(corpus, label) if spec.get("hidden")}
    if not widths or "dimension" not in report:
        return ""
    hidden = ", ".join(str(width) for width in sorted(widths))
    return f"{report['dimension']}-d vectors, {hidden} per direction"


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


def _instead(name: str) -> str:
    return f"substitute for {name}, not the same data" if name else ""
