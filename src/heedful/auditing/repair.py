"""A repair: train a base model and one per method, audit each over all seeds, and choose one."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.torch import save_file
from scipy import stats

from heedful.auditing.audit import audit
from heedful.auditing.audit import estimate as audit_cost
from heedful.auditing.compare import over_seeds
from heedful.auditing.repair_methods import BASE, check_methods, entrants, repair_method, unfit
from heedful.auditing.schedule import Plan
from heedful.auditing.spec import ATTENTION, IMPORTANCE, AuditSpec
from heedful.data import Prepared, prepare
from heedful.errors import HeedfulError, unknown_name
from heedful.models import build
from heedful.progress import Progress, silent
from heedful.report import check_packages
from heedful.runner import (
    EngineRequest,
    Grid,
    Machine,
    Recipe,
    corpus_kind,
    grid,
    model_facts,
    run_elsewhere,
    run_study,
)
from heedful.runner import estimate as cell_cost
from heedful.specs import CorpusSpec, ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store, output_folder, refusals, store_of, to_csv, write_file
from heedful.studies import Setting, Study
from heedful.verdict import Settings, Statement, Verdict

REPAIR_SPEC = AuditSpec(
    explanations=(ATTENTION, *IMPORTANCE),
    only=("interventions", "agreement", "importance", "plausibility", "uniqueness"),
)
"""All that the properties of attention need, and no more."""
SCORED = ProbeSpec("score")
SCORES = ("accuracy", "f1", "roc_auc")
PROPERTY = "importance"
"""What methods are chosen by."""
REPAIR = "repair"
"""The kind of folder."""
CHOSEN_MODEL = "model"
"""The folder of the chosen model: a small store with its run and its corpus."""


@dataclass(frozen=True)
class RepairWork:
    """`texts` of the test split are audited, the same for every model; `within` is how much of
    the `score` the chosen model may lose. An `engine` trains and audits in several processes."""

    corpus: CorpusSpec
    base: ModelSpec
    methods: tuple[str, ...]
    seeds: tuple[int, ...] = (0, 1, 2)
    train: TrainSpec = field(default_factory=TrainSpec)
    spec: AuditSpec = REPAIR_SPEC
    settings: Settings = field(default_factory=Settings)
    texts: int = 200
    score: str = "accuracy"
    within: float = 0.03
    data_dir: Path | None = None
    engine: EngineRequest = field(default_factory=EngineRequest)

    def __post_init__(self) -> None:
        check_methods(list(self.methods))
        if self.score not in SCORES:
            raise unknown_name("score", self.score, list(SCORES))
        if not 0 <= self.within < 1:
            raise HeedfulError(
                f"--max-score-drop is {self.within:g}: give a share from 0 to below 1."
            )
        if corpus_kind(self.corpus) == "generation":
            raise HeedfulError(
                f"{self.corpus.title} is for models that write, and an audit needs a decision: "
                f"choose a corpus with classes."
            )

    def audit_options(self, machine: Machine) -> dict[str, Any]:
        """The same texts for all models and seeds."""
        return {"n": self.texts, "seed": self.spec.seed, "device": machine.device}


@dataclass(frozen=True)
class Drawn:
    """The models by method, the grid that trains them with every seed, and how wide embeddings
    are."""

    models: dict[str, ModelSpec]
    grid: Grid
    width: int


def draw(work: RepairWork, store: Store, progress: Progress = silent) -> Drawn:
    """Prepares the corpus: how wide its embeddings are decides on the models."""
    data = Prepared(prepare(work.corpus, store, work.data_dir, progress))
    for name in work.methods:
        if reason := unfit(name, data):
            raise HeedfulError(f"{name} does not fit {work.corpus.title}: {reason}")
    width = int(data.vectors.shape[1])
    models = entrants(work.base, list(work.methods), width)
    setting = Setting(corpus_kind(work.corpus), (), tuple(models.values()), (SCORED,), work.train)
    plan = grid(
        Study("repair", 1, (setting,)),
        [work.corpus],
        seeds=list(work.seeds),
        data_dir=work.data_dir,
    )
    return Drawn(models, replace(plan, lenient=False), width)


@dataclass(frozen=True)
class RepairCost:
    """Seconds of one method, all its seeds together. Trained models cost nothing any more; an
    audit that is finished already is counted all the same."""

    method: str
    model: str
    train_seconds: float
    audit_seconds: float


def repair_costs(work: RepairWork, store: Store, machine: Machine) -> list[RepairCost]:
    """One model of each method is timed; its seeds cost the same."""
    drawn = draw(work, store)
    costs = []
    for name, model in drawn.models.items():
        cells = [cell for cell in drawn.grid.cells if cell.model == model]
        spent = [cell_cost(drawn.grid, cell, store, machine) for cell in cells]
        seconds = sum(cost.train_seconds + cost.probe_seconds for cost in spent)
        with _untrained(drawn.grid.corpus(cells[0], store), cells[0].recipe) as run:
            audited = audit_cost(run, None, work.spec, **work.audit_options(machine)).seconds
        costs.append(RepairCost(name, model.name, seconds, audited * len(cells)))
    return costs


@contextmanager
def _untrained(corpus: Run, recipe: Recipe) -> Iterator[Run]:
    """A model that has learned nothing takes as long to audit as one that has."""
    data = Prepared(corpus)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        store.adopt(corpus.path)
        with store.writing("model", model_facts(corpus, recipe)) as writer:
            fresh = build(recipe.model, data.vectors, data.classes, recipe.seed)
            weights = {name: value.contiguous() for name, value in fresh.state_dict().items()}
            save_file(weights, writer.weights("weights"))
        yield next(iter(store.runs("model")))


def repair(
    work: RepairWork,
    store: Store,
    machine: Machine,
    progress: Progress = silent,
    announce: Callable[[str], None] = lambda line: None,
) -> Repair:
    """Whatever is in the store is not done again: started anew after a kill, it goes on."""
    drawn = draw(work, store, progress)
    run_elsewhere(drawn.grid, work.engine, store, machine)
    cells = run_study(drawn.grid, store, machine, progress, announce).table("cells")
    scores, verdicts, trained = {}, {}, []
    for number, (name, model) in enumerate(drawn.models.items(), 1):
        lines = cells[cells["model"] == model.name].sort_values("seed", kind="stable")
        runs = tuple(store.open(key) for key in lines["model_run"])
        announce(f"[{number}/{len(drawn.models)}] audit of {name}, {len(runs)} seeds")
        summaries = [store.open(key).table("summary") for key in lines["run"]]
        scores[name] = score_over_seeds(summaries, work.score, work.settings.alpha)
        plan = Plan(store, progress=progress)
        options = {**work.audit_options(machine), **work.engine.keywords()}
        audits = [
            audit(run, None, work.spec, work.settings, plan, store=store, all=True, **options)
            for run in runs
        ]
        whole = over_seeds(audits, work.settings) if len(audits) > 1 else audits[0]
        verdicts[name] = whole.verdict
        does = "nothing is changed" if name == BASE else repair_method(name).does
        trained.append(Entrant(name, model.name, does, runs))
    ranking = {name: of_statement(verdict[PROPERTY]) for name, verdict in verdicts.items()}
    facts = {
        **_facts(work, drawn, verdicts[BASE]),
        "low": scores[BASE].low,
        "majority": _majority(store, cells, work.score),
    }
    return Repair(
        _compared(scores, verdicts, work.score),
        tuple(trained),
        choose_method(scores, ranking, work.within, work.score),
        facts,
    )


def _majority(store: Store, cells: pd.DataFrame, score: str) -> float:
    """What guessing scores: the share of the commonest class, or a half for ROC-AUC."""
    summary = store.open(str(cells["run"].iloc[0])).table("summary")
    share = float(summary.loc[summary["measure"] == "majority", "mean"].iloc[0])
    return {"accuracy": share, "roc_auc": 0.5}.get(score, 0.0)


def _facts(work: RepairWork, drawn: Drawn, verdict: Verdict) -> dict[str, object]:
    base = drawn.models[BASE]
    tied = any(repair_method(name).tied for name in work.methods)
    return {
        "corpus": work.corpus.title,
        "base": base.name,
        "seeds": list(work.seeds),
        "texts": int(verdict.facts["examples"]),
        "score": work.score,
        "within": work.within,
        "alpha": work.settings.alpha,
        "rule": (
            f"The model with the best {PROPERTY} among those whose {work.score} is no more than "
            f"{100 * work.within:g} points below the base's; of equals the one named first."
        ),
        "pareto": PARETO,
        "hidden": base.hidden,
        "width": drawn.width if tied else None,
        "epochs": work.train.epochs,
    }


# Methods beside each other: a score and every property of each, and which one is chosen.


PARETO = (
    "A method is dominated in a property where another one has at least its score and at least "
    "its property, and one of the two lies beyond its interval."
)
LOWER = frozenset({"uniqueness"})
"""Properties of which less is better: another attention should be near."""
REPAIR_COLUMNS = [
    "method", "quantity", "estimate", "low", "high", "lower_is_better", "decision",
    "dominated_by", "note",
]  # fmt: skip
_HALF = float(stats.norm.ppf(0.975))  # errors in half of a 95% interval


@dataclass(frozen=True)
class Bounded:
    """`low` and `high` are one-sided bounds at alpha, as in a verdict; NaN is "there is none",
    and `why` says why."""

    value: float
    low: float
    high: float
    why: str = ""


def of_statement(statement: Statement) -> Bounded:
    there = not math.isnan(statement.estimate)
    why = "" if there else statement.blocked or str(statement.decision).lower()
    return Bounded(statement.estimate, statement.low, statement.high, why)


def score_over_seeds(summaries: Sequence[pd.DataFrame], score: str, alpha: float) -> Bounded:
    """The mean over seeds. Seeds and texts both add to its error; since all seeds have the same
    texts, the texts' part does not shrink with their number."""
    lines = pd.concat([table[table["measure"] == score].iloc[:1] for table in summaries])
    texts = float(((lines["high"] - lines["low"]) / (2 * _HALF)).mean())
    return spread(lines["mean"].to_numpy(dtype=np.float64), texts, alpha)


def spread(values: np.ndarray, texts: float, alpha: float) -> Bounded:
    """`texts` is the error over texts. Degrees of freedom are Satterthwaite's, of which the
    texts have as good as infinitely many; with one seed there is no part of the seeds. No score
    is below 0 or above 1."""
    count, mean = len(values), float(values.mean())
    seeds = float(values.std(ddof=1)) / math.sqrt(count) if count > 1 else 0.0
    whole = math.hypot(texts, seeds)
    freedom = (count - 1) * (whole / seeds) ** 4 if seeds > 0 else math.inf
    half = float(stats.t.ppf(1 - alpha, freedom)) * whole
    return Bounded(mean, max(0.0, mean - half), min(1.0, mean + half))


def dominated_by(scores: Mapping[str, Bounded], found: Mapping[str, Bounded], name: str) -> str:
    """The first method that dominates this one, or nothing. Properties are such that more is
    better (`upwards`)."""
    mine = scores[name], found[name]
    for other in found:
        theirs = scores[other], found[other]
        level = all(b.value >= a.value for a, b in zip(mine, theirs, strict=True))
        beyond = any(b.value > a.high for a, b in zip(mine, theirs, strict=True))
        if other != name and level and beyond:
            return other
    return ""


def upwards(name: str, found: Bounded) -> Bounded:
    """Turned so that more is better."""
    if name not in LOWER:
        return found
    return Bounded(-found.value, -found.high, -found.low, found.why)


def _compared(
    scores: Mapping[str, Bounded], verdicts: Mapping[str, Verdict], score: str
) -> pd.DataFrame:
    """One row per method and quantity: the score, then the properties in a verdict's order."""
    rows: list[tuple[object, ...]] = [
        (name, score, own.value, own.low, own.high, False, "", "", own.why)
        for name, own in scores.items()
    ]
    for quantity in [each.property for each in verdicts[BASE].statements]:
        estimates = {name: of_statement(verdict[quantity]) for name, verdict in verdicts.items()}
        turned = {name: upwards(quantity, found) for name, found in estimates.items()}
        for name, own in estimates.items():
            decision = str(verdicts[name][quantity].decision)
            better = dominated_by(scores, turned, name)
            numbers = (own.value, own.low, own.high)
            rows.append((name, quantity, *numbers, quantity in LOWER, decision, better, own.why))
    return pd.DataFrame(rows, columns=REPAIR_COLUMNS)


@dataclass(frozen=True)
class Choice:
    """The method that is taken, and one sentence on what is gained and what it costs."""

    method: str
    sentence: str


def choose_method(
    scores: Mapping[str, Bounded], faithful: Mapping[str, Bounded], within: float, score: str
) -> Choice:
    """The best by `faithful` of those whose score is at most `within` below the base's. The base
    takes part. A method without that number cannot be taken."""
    base = faithful[BASE].value
    least = scores[BASE].value - within - 1e-9  # exactly so many points less is still within
    enough = [name for name in scores if scores[name].value >= least]
    known = [name for name in enough if not math.isnan(faithful[name].value)]
    best = max(known, key=lambda name: faithful[name].value, default=BASE)
    if best != BASE:
        paid = _paid(100 * (scores[BASE].value - scores[best].value), score)
        sentence = f"{best} {_gain(faithful[BASE], faithful[best])}, and {paid}."
    elif math.isnan(base):
        sentence = f"No model has a {PROPERTY} that could be measured here, so the base is kept."
    else:
        sentence = (
            f"No method has a better {PROPERTY} than the base ({base:.2f}) within "
            f"{100 * within:g} points of {score} of it, so the base is kept."
        )
    return Choice(best, sentence)


def _paid(points: float, score: str) -> str:
    if round(points, 1) == 0:
        return f"costs no {score}"
    return f"{'costs' if points > 0 else 'gains'} {abs(points):.1f} points of {score}"


def _gain(base: Bounded, best: Bounded) -> str:
    if math.isnan(base.value):
        return f"has a {PROPERTY} of {best.value:.2f}, where the base's could not be measured"
    step = f"from {base.value:.2f} to {best.value:.2f}"
    sure = "beyond both intervals" if best.low > base.high else "but the intervals overlap"
    return f"gains {best.value - base.value:.2f} in {PROPERTY} ({step}, {sure})"


# What a repair leaves: a table, a picture, a page, and the chosen model ready to be loaded.


@dataclass(frozen=True)
class Entrant:
    """A method, its model by name, what it does, and the trained models, a seed each."""

    method: str
    model: str
    does: str
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Repair:
    """The comparison of all methods, the one that was chosen, and its trained models."""

    table: pd.DataFrame
    entrants: tuple[Entrant, ...]
    chosen: Choice
    facts: Mapping[str, Any]

    @property
    def model(self) -> Run:
        """The chosen method's model: of its seeds the one that did best on dev, which no score
        and no audit has seen."""
        runs = next(each.runs for each in self.entrants if each.method == self.chosen.method)
        return max(runs, key=lambda run: float(run.table("history")["dev_score"].max()))

    def as_parts(self) -> dict[str, Any]:
        """Plain values and the table, for the page, which knows no torch."""
        return {
            "table": self.table,
            "methods": [
                {**vars(each), "runs": [run.key for run in each.runs]} for each in self.entrants
            ],
            "chosen": self.chosen.method,
            "sentence": self.chosen.sentence,
            "facts": dict(self.facts),
        }

    def save(self, folder: str | Path) -> Path:
        """`repair.csv` and the chosen model, whole or not at all; then they are drawn, as
        `repair.svg` and `repair.html`. An earlier repair makes way."""
        from heedful.report import repair_page, repair_svg

        out = Path(folder)
        check_packages()
        with refusals(f"write the repair to {out}", "make room or give another folder with -o"):
            with output_folder(out, REPAIR) as building:
                self._write(building)
            parts = {**self.as_parts(), "load": load_line(out / CHOSEN_MODEL, self.model)}
            write_file(out / "repair.svg", repair_svg(parts))
            write_file(out / "repair.html", repair_page(parts))
        return out

    def _write(self, folder: Path) -> None:
        """The model with its corpus, which it cannot be opened without, and the table."""
        model, taken = self.model, Store(folder / CHOSEN_MODEL)
        for run in (store_of(model).open(model.source("corpus")), model):
            taken.adopt(run.path)
        shutil.rmtree(folder / CHOSEN_MODEL / "scratch", ignore_errors=True)
        (folder / "repair.csv").write_text(to_csv(self.table), encoding="utf8", newline="\n")


def load_line(store: str | Path, run: Run) -> str:
    """Python that opens a model."""
    opened = f"heedful.store_at({str(store)!r}).open({run.key!r})"
    return f"import heedful; model = heedful.restored({opened})"
