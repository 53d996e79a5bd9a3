"""Train the base and a model per method, audit each over all seeds, and compare them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd
from safetensors.torch import save_file

from heedful.auditing import ATTENTION, IMPORTANCE, Audit, AuditSpec, Plan, audit, over_seeds
from heedful.auditing import estimate as audit_cost
from heedful.data import Prepared, prepare
from heedful.errors import HeedfulError, unknown_name
from heedful.models import build
from heedful.progress import Progress, silent
from heedful.repair.methods import BASE, check_methods, entrants, method, unfit
from heedful.repair.result import (
    COLUMNS,
    LOWER,
    PROPERTY,
    RULE,
    Entrant,
    Estimate,
    Repair,
    choose,
    dominated_by,
    of_scores,
    of_statement,
    rule,
    upwards,
)
from heedful.runner import Grid, Machine, Recipe, corpus_kind, grid, model_facts, run_study
from heedful.runner import estimate as cell_cost
from heedful.specs import CorpusSpec, ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store
from heedful.studies import Setting, Study
from heedful.verdict import Settings, Verdict

SPEC = AuditSpec(
    explanations=(ATTENTION, *IMPORTANCE),
    only=("interventions", "agreement", "importance", "plausibility", "uniqueness"),
)
"""All that the properties of attention need, and no more."""
SCORED = ProbeSpec("score")
SCORES = ("accuracy", "f1", "roc_auc")


@dataclass(frozen=True)
class Work:
    """`texts` of the test split are audited, the same for every model; `within` is how much of
    the `score` the chosen model may lose."""

    corpus: CorpusSpec
    base: ModelSpec
    methods: tuple[str, ...]
    seeds: tuple[int, ...] = (0, 1, 2)
    train: TrainSpec = field(default_factory=TrainSpec)
    spec: AuditSpec = SPEC
    settings: Settings = field(default_factory=Settings)
    texts: int = 200
    score: str = "accuracy"
    within: float = 0.03
    data_dir: Path | None = None

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


@dataclass(frozen=True)
class Drawn:
    """The models by method, and the grid that trains them with every seed."""

    models: dict[str, ModelSpec]
    grid: Grid
    width: int


def draw(work: Work, store: Store, progress: Progress = silent) -> Drawn:
    """Prepares the corpus: how wide its embeddings are decides on the models."""
    corpus = prepare(work.corpus, store, work.data_dir, progress)
    data = Prepared(corpus)
    for name in work.methods:
        if reason := unfit(name, data):
            raise HeedfulError(f"{name} does not fit {work.corpus.title}: {reason}")
    width = int(data.vectors.shape[1])
    models = entrants(work.base, list(work.methods), width)
    kind = corpus_kind(work.corpus)
    setting = Setting(kind, (), tuple(models.values()), (SCORED,), work.train)
    plan = grid(
        Study("repair", 1, (setting,)),
        [work.corpus],
        seeds=list(work.seeds),
        data_dir=work.data_dir,
    )
    return Drawn(models, replace(plan, lenient=False), width)


@dataclass(frozen=True)
class Cost:
    """Seconds of one method, all its seeds together. Trained models cost nothing any more; an
    audit that is finished already is counted all the same."""

    method: str
    model: str
    train_seconds: float
    audit_seconds: float


def estimate(work: Work, store: Store, machine: Machine) -> list[Cost]:
    """One model of each method is timed; its seeds cost the same."""
    drawn = draw(work, store)
    return [_cost(work, drawn, name, store, machine) for name in drawn.models]


def _cost(work: Work, drawn: Drawn, name: str, store: Store, machine: Machine) -> Cost:
    cells = [cell for cell in drawn.grid.cells if cell.model == drawn.models[name]]
    spent = [cell_cost(drawn.grid, cell, store, machine) for cell in cells]
    seconds = sum(each.train_seconds + each.probe_seconds for each in spent)
    options = {"n": work.texts, "seed": work.spec.seed, "device": machine.device}
    with _untrained(drawn.grid.corpus(cells[0], store), cells[0].recipe) as run:
        audit = audit_cost(run, None, work.spec, **options).seconds
    return Cost(name, drawn.models[name].name, seconds, audit * len(cells))


@contextmanager
def _untrained(corpus: Run, recipe: Recipe) -> Iterator[Run]:
    """A model that has learned nothing takes as long to audit as one that has."""
    data = Prepared(corpus)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        store.adopt(corpus.path)
        facts = model_facts(corpus, recipe)
        with store.writing("model", facts) as writer:
            fresh = build(recipe.model, data.vectors, data.classes, recipe.seed)
            weights = {name: value.contiguous() for name, value in fresh.state_dict().items()}
            save_file(weights, writer.weights("weights"))
        yield next(iter(store.runs("model")))


Announce = Callable[[str], None]


def repair(
    work: Work,
    store: Store,
    machine: Machine,
    progress: Progress = silent,
    announce: Announce = lambda line: None,
) -> Repair:
    """Whatever is in the store is not done again: started anew after a kill, it goes on."""
    drawn = draw(work, store, progress)
    cells = run_study(drawn.grid, store, machine, progress, announce).table("cells")
    scores, verdicts, found = {}, {}, []
    for number, (name, model) in enumerate(drawn.models.items(), 1):
        lines = cells[cells["model"] == model.name].sort_values("seed", kind="stable")
        runs = [store.open(key) for key in lines["model_run"]]
        announce(f"[{number}/{len(drawn.models)}] audit of {name}, {len(runs)} seeds")
        summaries = [store.open(key).table("summary") for key in lines["run"]]
        scores[name] = of_scores(summaries, work.score, work.settings.alpha)
        verdicts[name] = _verdict(work, runs, store, machine, progress)
        found.append(Entrant(name, model.name, _does(name), tuple(runs)))
    table = compared(scores, verdicts, work.score)
    ranking = {name: of_statement(verdict[PROPERTY]) for name, verdict in verdicts.items()}
    chosen = choose(scores, ranking, work.within, work.score)
    least = {"low": scores[BASE].low, "majority": _majority(store, cells, work.score)}
    facts = {**_facts(work, drawn, verdicts[BASE]), **least}
    return Repair(table, tuple(found), chosen, facts)


def _majority(store: Store, cells: pd.DataFrame, score: str) -> float:
    """What guessing scores: the share of the commonest class, or a half for ROC-AUC."""
    summary = store.open(str(cells["run"].iloc[0])).table("summary")
    share = float(summary.loc[summary["measure"] == "majority", "mean"].iloc[0])
    return {"accuracy": share, "roc_auc": 0.5}.get(score, 0.0)


def _verdict(
    work: Work, runs: list[Run], store: Store, machine: Machine, progress: Progress
) -> Verdict:
    """On the same texts for all models and seeds."""
    options = {"n": work.texts, "seed": work.spec.seed, "device": machine.device, "store": store}
    plan = Plan(store, progress=progress)
    audits: list[Audit] = [
        audit(run, None, work.spec, work.settings, plan, **options) for run in runs
    ]
    return (over_seeds(audits, work.settings) if len(audits) > 1 else audits[0]).verdict


def compared(scores: dict[str, Estimate], verdicts: dict[str, Verdict], score: str) -> pd.DataFrame:
    """One row per method and quantity: the score, then the properties in a verdict's order."""
    rows = [_row(name, score, found) for name, found in scores.items()]
    for quantity in [each.property for each in next(iter(verdicts.values())).statements]:
        estimates = {name: of_statement(verdict[quantity]) for name, verdict in verdicts.items()}
        turned = {name: upwards(quantity, found) for name, found in estimates.items()}
        for name, found in estimates.items():
            decision = str(verdicts[name][quantity].decision)
            better = dominated_by(scores, turned, name)
            rows.append(_row(name, quantity, found, decision, better))
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(
    name: str, quantity: str, found: Estimate, decision: str = "", better: str = ""
) -> tuple[object, ...]:
    lower = quantity in LOWER
    return (
        name, quantity, found.value, found.low, found.high, lower, decision, better, found.why
    )  # fmt: skip


def _does(name: str) -> str:
    return "nothing is changed" if name == BASE else method(name).does


def _facts(work: Work, drawn: Drawn, verdict: Verdict) -> dict[str, object]:
    base = drawn.models[BASE]
    tied = any(method(name).tied for name in work.methods)
    return {
        "corpus": work.corpus.title,
        "base": base.name,
        "seeds": list(work.seeds),
        "texts": int(verdict.facts["examples"]),
        "score": work.score,
        "within": work.within,
        "alpha": work.settings.alpha,
        "rule": rule(work.within, work.score),
        "pareto": RULE,
        "hidden": base.hidden,
        "width": drawn.width if tied else None,
        "epochs": work.train.epochs,
    }
