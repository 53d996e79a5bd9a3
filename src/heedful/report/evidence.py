"""Gather what a report speaks about: the probe runs behind studies, models or probes.

Everything is read from the store; nothing is computed again, and no model is loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import pandas as pd

from heedful.entries import declaration
from heedful.errors import HeedfulError
from heedful.metrics import CELLS, NUMBERS, over_seeds
from heedful.report.formats import visible
from heedful.specs import ModelSpec, spec_from_plain
from heedful.store import Run, Store, canonical, run_key
from heedful.studies import STUDIES, Setting, Study


def measured(evidence: Evidence) -> pd.DataFrame:
    """One line per corpus, model, seed, probe, measure and group."""
    return tidy(evidence.summaries)


def lines_of(together: pd.DataFrame, probe: str, *measures: str) -> pd.DataFrame:
    """The lines over all texts of a probe: those of these measures, or of all."""
    lines = together[(together["probe"] == probe) & (together["group"] == "all")]
    return lines[lines["measure"].isin(measures)] if measures else lines


def tidy(summaries: pd.DataFrame) -> pd.DataFrame:
    """Summaries under the names of their cells."""
    named = summaries.assign(model=summaries["label"])
    return named.reindex(columns=[*CELLS, *NUMBERS])


def cell_of_probe(store: Store, probe: Run) -> dict[str, Any]:
    """The cell of a probe run that no study lists; what was not carried along stays unnamed."""
    base, corpus = probe.upstream.get("base", ""), probe.upstream.get("corpus", "")
    model = store.open(base) if base and store.has(base) else None
    corpus_facts = store.open(corpus).facts if corpus and store.has(corpus) else {}
    seeded = next((run for run in (model, probe) if run is not None and "seed" in run.facts), None)
    return {
        "corpus": str(corpus_facts.get("piece", corpus or "unknown corpus")),
        "model": model_name(model.facts.get("model") if model else None) or base or "unknown model",
        "seed": seeded.seed if seeded else 0,
        "probe": probe.fact("piece", str),
        "run": probe.key,
        "model_run": base,
        "corpus_run": corpus,
    }


def model_name(values: Any) -> str:
    """`bilstm-additive` from the fields of a ModelSpec; empty if they are not there."""
    spec = _spec(values)
    return spec.name if spec else ""


def _spec(values: Any) -> ModelSpec | None:
    """A model's spec from its facts; None where they are not those of a spec."""
    if not isinstance(values, dict) or not {"encoder", "attention"} <= values.keys():
        return None
    known = {field.name for field in fields(ModelSpec)}
    try:
        return spec_from_plain(ModelSpec, {k: v for k, v in values.items() if k in known})
    except ValueError:
        return None


@dataclass(frozen=True)
class CorpusReport:
    """What preparing a corpus reported, as far as a report speaks about it. `limited` says that a
    part of the training data was left out by a limit."""

    task: str = ""
    labels: tuple[str, ...] = ()
    subset: bool = False
    stands_for: str = ""
    dimension: int | None = None
    limited: bool = False
    vocabulary: int | None = None
    splits: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> CorpusReport:
        """From the values of `report.json`, which may leave out any of them."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        limits = [count for count in values.get("filters", ()) if count.get("filter") == "limit"]
        known["limited"] = any(
            count.get("split") == "train" and count.get("dropped") for count in limits
        )
        return cls(**{**known, "labels": tuple(map(str, known.get("labels", ())))})

    @property
    def writes(self) -> bool:
        """Whether texts are generated, so that classes are words."""
        return self.task == "generation"


@dataclass(frozen=True)
class ExperimentWords:
    """What an experiment says of its numbers: what a higher one means, and what none of them says.
    `measures` describes each by name."""

    higher: str = ""
    limits: str = ""
    measures: Mapping[str, str] = field(default_factory=dict)

    def of_measure(self, name: str) -> str:
        declared = declaration(name, self.measures)
        return "" if declared is None else self.measures[declared]


def label_cells(store: Store, cells: pd.DataFrame) -> pd.DataFrame:
    """Add `label`: the model's name, with a mark where one name covers several settings.

    Runs that differ in more than their seed (parameters, preparation, training) must not be
    averaged as if they were seeds.
    """
    settings = pd.Series([_setting(store, cell) for cell in cells.to_dict("records")])
    names = [cells["corpus"], cells["model"], cells["probe"]]
    several = settings.groupby(names).transform("nunique") > 1
    marks = (" [" + settings + "]").where(several, "")
    return cells.assign(label=cells["model"].astype(str) + marks, setting=settings)


def _setting(store: Store, cell: dict[Any, Any]) -> str:
    facts = store.open(str(cell["run"])).facts
    setting = {name: facts.get(name) for name in ("version", "params")}
    setting["corpus"] = str(cell["corpus_run"])
    key = str(cell["model_run"])
    if key and store.has(key):
        model = store.open(key).facts
        setting["model"] = {name: model[name] for name in sorted(model) if name != "seed"}
    return run_key("setting", {"of": canonical(setting)}).removeprefix("setting-")[:4]


CELL_COLUMNS = ["corpus", "model", "seed", "probe", "run", "model_run", "corpus_run"]
SKIPPED_COLUMNS = ["corpus", "model", "probe", "reason"]
ROW_COLUMNS = [
    "example", "site", "head", "query", "predicted", "length", "max_weight", "measure", "value",
]  # fmt: skip
KEYS = ["corpus", "label", "seed", "probe"]


@dataclass(frozen=True)
class Evidence:
    """Probe runs, one per cell; `label` is the model's name made unambiguous."""

    store: Store
    runs: tuple[Run, ...]
    cells: pd.DataFrame
    skipped: pd.DataFrame

    @property
    def papers(self) -> list[str]:
        """The studies among the runs, by name."""
        return sorted({run.fact("piece", str) for run in self.runs if run.kind == "study"})

    @cached_property
    def summaries(self) -> pd.DataFrame:
        """Every probe's summary table, with the cell it belongs to."""
        return self._stack(self.cells, "summary", None)

    @cached_property
    def together(self) -> pd.DataFrame:
        """The summaries with seeds put together: what tables and sentences are made of."""
        return over_seeds(tidy(self.summaries))

    def rows(self, probe: str, measures: Sequence[str]) -> pd.DataFrame:
        """One row per text and measure of one probe, over all cells and seeds."""
        cells = self.cells[self.cells["probe"] == probe]
        rows = self._stack(cells, "rows", ROW_COLUMNS)
        return pd.DataFrame(rows[rows["measure"].isin(list(measures))]) if len(rows) else rows

    def words(self, corpus_run: str, examples: Collection[str]) -> dict[str, list[str]]:
        """The words of these texts as they stand there; of none where the corpus was not carried
        along."""
        if not corpus_run or not self.store.has(corpus_run):
            return {}
        table = self.store.open(corpus_run).table("examples")
        return {
            str(line["example"]): [
                visible(line["text_a"][start:end])
                for start, end in zip(line["starts_a"], line["ends_a"], strict=True)
            ]
            for line in table[table["example"].isin(list(examples))].to_dict("records")
            if line.get("text_a") is not None
        }

    def corpus_report(self, corpus_run: str) -> CorpusReport:
        """What preparing the corpus reported; empty where nothing of it was carried along."""
        if corpus_run and self.store.has(corpus_run):
            run = self.store.open(corpus_run)
            return CorpusReport.of(run.json("report") if run.has("report.json") else {})
        return CorpusReport.of(self._carried("corpora").get(corpus_run, {}))

    def corpus_reports(self, corpus: str) -> list[CorpusReport]:
        """One for each way in which the corpus was prepared."""
        keys = self.cells.loc[self.cells["corpus"] == corpus, "corpus_run"].unique()
        return [self.corpus_report(str(key)) for key in keys]

    def model_specs(self, corpus: str, label: str | None = None) -> list[ModelSpec]:
        """The specs of the models on a corpus (under one label), where they are known."""
        chosen = self.cells["corpus"] == corpus
        if label is not None:
            chosen &= self.cells["label"] == label
        keys = self.cells.loc[chosen, "model_run"].unique()
        specs = [self.model_spec(str(key)) for key in keys if key]
        return [spec for spec in specs if spec is not None]

    def model_spec(self, model_run: str) -> ModelSpec | None:
        """None where it is not known."""
        return _spec(self.model_facts(model_run).get("model"))

    def model_facts(self, model_run: str) -> dict[str, Any]:
        """What made a model; empty where nothing of it was carried along."""
        if self.store.has(model_run):
            return dict(self.store.open(model_run).facts)
        return dict(self._carried("models").get(model_run, {}))

    def _carried(self, what: str) -> dict[str, Any]:
        """What studies say of the corpora or models that stand behind their rows."""
        runs = [run for run in self.runs if run.kind == "study" and run.has("upstream.json")]
        return {key: about for run in runs for key, about in run.json("upstream")[what].items()}

    def params(self, corpus: str, label: str, probe: str) -> dict[str, Any]:
        """The parameters that a probe was given on a model; seeds share them."""
        runs = self._probe_runs(corpus, label, probe)
        return runs[0].fact("params", dict) if runs and "params" in runs[0].facts else {}

    def notes(self, corpus: str, label: str, probe: str) -> dict[str, str]:
        """What a probe says about its numbers, such as BLEU's signature; seeds share it."""
        return {
            name: text
            for run in self._probe_runs(corpus, label, probe)
            if run.has("notes.json")
            for name, text in run.json("notes").items()
        }

    def words_of(self, probe: str) -> ExperimentWords:
        """As its runs keep them; those of version 0.1 keep none."""
        for key in self.cells.loc[self.cells["probe"] == probe, "run"]:
            run = self.store.open(str(key))
            if run.has("words.json"):
                return ExperimentWords(**run.json("words"))
        return ExperimentWords()

    def _probe_runs(self, corpus: str, label: str, probe: str) -> list[Run]:
        cells = self.cells
        cells = cells[(cells["corpus"] == corpus) & (cells["label"] == label)]
        return [self.store.open(str(key)) for key in cells["run"][cells["probe"] == probe]]

    def writes(self, corpus: str) -> bool:
        """Whether texts are generated, so that classes are words; where the corpus was not
        carried along, a translation that was scored tells."""
        probes = set(self.cells.loc[self.cells["corpus"] == corpus, "probe"])
        written = any(report.writes for report in self.corpus_reports(corpus))
        return written or "translation" in probes

    def label_names(self, corpus: str) -> dict[int, str]:
        """Class number → name, as the corpus reports them."""
        reports = self.corpus_reports(corpus)
        return dict(enumerate(next((report.labels for report in reports if report.labels), ())))

    def _stack(self, cells: pd.DataFrame, name: str, columns: list[str] | None) -> pd.DataFrame:
        parts = []
        for cell in cells.to_dict("records"):
            run = self.store.open(str(cell["run"]))
            if not run.has(f"{name}.parquet"):
                continue
            part = run.table(name)
            if columns is not None:
                part = part[[column for column in columns if column in part]]
            part = part.assign(**{str(key): cell[key] for key in KEYS})
            sites = part["site"].astype(str) if "site" in part else pd.Series("", part.index)
            if sites[sites != ""].nunique() > 1:  # "" is a number for all sites together
                part["label"] += (" @ " + sites).where(sites != "", "")
            parts.append(part)
        if not parts:
            return pd.DataFrame(columns=[*KEYS, *(columns or ["measure", "group"])])
        return pd.concat(parts, ignore_index=True)


def gather(store: Store, runs: Sequence[Run]) -> Evidence:
    """The evidence behind study, model or probe runs."""
    if not runs:
        raise HeedfulError("a report needs at least one run: `heedful store ls` lists them.")
    cells = [cell for run in runs for cell in _cells(store, run)]
    skipped = _skipped(runs)
    if not cells:
        raise _nothing(runs, skipped)
    table = pd.DataFrame(cells)[CELL_COLUMNS].drop_duplicates("run", ignore_index=True)
    return Evidence(store, tuple(runs), label_cells(store, table), skipped)


def _skipped(runs: Sequence[Run]) -> pd.DataFrame:
    found = [run.table("skipped") for run in runs if run.has("skipped.parquet")]
    together = pd.concat(found, ignore_index=True) if found else pd.DataFrame()
    return together.reindex(columns=SKIPPED_COLUMNS).drop_duplicates(ignore_index=True)


def _nothing(runs: Sequence[Run], skipped: pd.DataFrame) -> HeedfulError:
    """Why there is nothing to show: nothing was asked, or nothing could be done."""
    keys = ", ".join(run.key for run in runs)
    if not len(skipped):
        return HeedfulError(f"no probe was run on {keys}: run `heedful study` or a probe first.")
    first = skipped.iloc[0]
    return HeedfulError(
        f"every probe of {keys} was left out, the first ({first['probe']} on {first['corpus']}) "
        f"because {str(first['reason']).rstrip('.')}: ask for others with --probes or --corpora."
    )


def _cells(store: Store, run: Run) -> list[dict[str, Any]]:
    if run.kind == "study":
        records = run.table("cells").to_dict("records")
        return [{str(name): value for name, value in record.items()} for record in records]
    if run.kind == "model":
        probes = (probe for probe in store.runs("probe") if probe.upstream.get("base") == run.key)
        return [cell_of_probe(store, probe) for probe in probes]
    if run.kind == "probe":
        return [cell_of_probe(store, run)]
    raise HeedfulError(
        f"{run.key} is of kind {run.kind}: a report is made of study, model, probe or audit runs."
    )


FIRST = "jain2019"


def study_of(paper: str) -> Study | None:
    """None for a paper whose numbers are known and whose experiments are not."""
    study: Study | None = STUDIES[paper].make() if paper in STUDIES else None
    return study


def papers_of(evidence: Evidence) -> list[str]:
    """The studies among the runs; where there is none, as few as have all the probes found."""
    return evidence.papers or _covering(set(evidence.cells["probe"])) or [FIRST]


def expected_probes(evidence: Evidence) -> set[str]:
    """What the studies among the runs ask of the corpora that were looked at."""
    corpora = set(evidence.cells["corpus"])
    return {
        probe.name
        for paper in evidence.papers
        for setting in _settings(paper)
        if corpora.intersection((*setting.corpora, *setting.also))
        for probe in setting.probes
    }


def _covering(probes: set[str]) -> list[str]:
    """Study by study, the one with the most of the probes that are left."""
    chosen, left = [], probes
    while left:
        best = max(STUDIES, key=lambda paper: len(left & _probes(paper)))
        if not left & _probes(best):
            break
        chosen.append(best)
        left = left - _probes(best)
    return chosen


def _probes(paper: str) -> set[str]:
    return {probe.name for setting in _settings(paper) for probe in setting.probes}


def _settings(paper: str) -> tuple[Setting, ...]:
    study = study_of(paper)
    return study.settings if study else ()
