"""Train the base and a model per method, audit each over all seeds, and compare them."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from heedful.auditing import Audit, Plan, audit, over_seeds
from heedful.progress import Progress, silent
from heedful.repair.choice import PROPERTY, choose, rule
from heedful.repair.estimate import Estimate, of_scores, of_statement
from heedful.repair.methods import BASE, method
from heedful.repair.pareto import LOWER, RULE, dominated_by, upwards
from heedful.repair.result import COLUMNS, Entrant, Repair
from heedful.repair.work import Drawn, Work, draw
from heedful.runner import Machine, run_study
from heedful.store import Run, Store
from heedful.verdict import Verdict

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
