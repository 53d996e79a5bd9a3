"""Where a measured model belongs in a paper's tables: its names there, and its notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heedful.report.display import SUBSET
from heedful.report.evidence import Evidence
from heedful.report.printed import Printed
from heedful.report.studied import study_of
from heedful.studies.published import METRICS, dataset_name, score_changed
from heedful.studies.study import Study


@dataclass(frozen=True)
class Place:
    """A model on a corpus. `asked` and `named` are the dataset and the model looked up in the
    paper, `like` the datasets whose metrics it gets, `score` what its changes are of, and
    `signature` how BLEU was computed."""

    corpus: str
    label: str
    asked: str
    named: str
    like: frozenset[str]
    score: str
    substitute: bool
    note: str
    signature: str

    @property
    def model(self) -> str:
        """Our own name, with the published one in brackets where it is another."""
        return self.label if self.named == self.label else f"{self.label} ({self.named})"

    def metrics(self, paper: Printed) -> list[tuple[str, str]]:
        """Tables and their metrics; of a corpus that the paper has not, each measure once."""
        found: dict[tuple[str, ...], tuple[str, str]] = {}
        for table in paper.tables:
            for metric in paper.metrics(table, self.like):
                if score_changed(metric) in ("", self.score):
                    once = METRICS[metric] + ((table,) if self.asked in self.like else ())
                    found.setdefault(once, (table, metric))
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
    return Place(
        corpus=corpus,
        label=label,
        asked=asked,
        named=study.names.get(label, label) if study else label,
        like=inside or _alike(evidence, study, paper, corpus),
        score=_score(evidence, report, corpus, label),
        substitute=bool(instead),
        note="; ".join(part for part in (_subset(report), _instead(instead)) if part),
        signature=evidence.notes(corpus, label, "translation").get("bleu", ""),
    )


def _alike(evidence: Evidence, study: Study | None, paper: Printed, corpus: str) -> frozenset[str]:
    """The paper's datasets of the same kind, told by the families of models that read them."""
    families = {spec.get("family", "one_sequence") for spec in evidence.model_specs(corpus)}
    settings = study.settings if study else ()
    kinds = {s.kind for s in settings for model in s.models if model.family in families}
    names = {dataset_name(name) for s in settings if s.kind in kinds for name in s.corpora}
    return frozenset(names & paper.datasets or paper.datasets)


def _score(evidence: Evidence, report: dict[str, Any], corpus: str, label: str) -> str:
    """What the probe `substitution` scores on a corpus; where the corpus was not carried along,
    a translation that was scored tells."""
    probes = evidence.cells.loc[evidence.cells["corpus"] == corpus, "probe"]
    if report.get("task") == "generation" or "translation" in set(probes):
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


def _instead(name: str) -> str:
    return f"substitute for {name}, not the same data" if name else ""
