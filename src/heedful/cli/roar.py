"""`heedful roar`: mask the words that explanations name, train again, see what is lost."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli.engines import EngineOptions
from heedful.cli.options import (
    DEFAULT_STORE,
    CorpusOptions,
    DryRunOption,
    JsonOption,
    MachineOptions,
    SeedsOption,
    StoreOption,
    given,
    names,
    open_store,
    option,
    seeds,
    spread,
)
from heedful.cli.output import Output, check_outputs, drawn_later, say, show_result
from heedful.cli.tables import Table, show_prose, show_table
from heedful.cli.train import OptimizerOptions, ScratchOptions
from heedful.errors import HeedfulError
from heedful.progress import duration, progress_bar

if TYPE_CHECKING:
    from heedful.auditing import Roar, RoarWork
    from heedful.runner import Machine
    from heedful.store import Store


@spread
def roar(
    corpus: str = option("A corpus by name, or a file.", ...),
    explanations: str = option(
        "Comma-separated, of `heedful list saliency`; random takes part anyway.",
        "attention,gradient,gradient_input,integrated_gradients",
    ),
    steps: str = option("Percentages of words to mask.", "10,20,30,40,50,60,70,80,90"),
    once: bool = option(
        "Explain the first model at all steps: ROAR. [default: recursive]", False, "--once"
    ),
    seeds_: SeedsOption = "5",
    score: str = option("accuracy, f1 or roc_auc.", "accuracy"),
    out: Path | None = option("Folder for the page, the picture, the table.", None, "--out", "-o"),
    model: ScratchOptions = ScratchOptions(),
    training: OptimizerOptions = OptimizerOptions(),
    store: StoreOption = DEFAULT_STORE,
    data: CorpusOptions = CorpusOptions(),
    where: MachineOptions = MachineOptions(),
    engine: EngineOptions = EngineOptions(),
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Mask words that explanations name, and train again.

    If they were needed, the score falls faster than where random words are masked. Each step
    explains the model of the step before (Recursive ROAR). Run the same command again to resume.

    Examples:
    heedful roar --corpus planted --steps 20,50,80 --seeds 2 --dry-run
    heedful roar --corpus sst --engine local -o roar
    """
    spec = data.spec(corpus)
    from heedful.auditing import ONCE, RECURSIVE, ROAR, RoarWork
    from heedful.report import check_packages
    from heedful.runner import corpus_kind, usual
    from heedful.specs import TrainSpec
    from heedful.training.loop import check

    if out is not None:
        check_packages()
    check_outputs(Output("-o", out, ROAR), inputs=(corpus,), store=store)
    asked = engine.asked(where.device, where.threads)
    asked.check()
    train = TrainSpec(**given(**vars(training)))
    check(train)  # before the corpus is prepared
    work = RoarWork(
        spec,
        replace(usual(corpus_kind(spec), model.family), **given(**vars(model))),
        tuple(names(explanations, "--explanations")),
        _percentages(steps),
        tuple(seeds(seeds_)),
        train,
        ONCE if once else RECURSIVE,
        score,
        data.folder,
        asked,
    )
    place, here = open_store(store), asked.machine()
    if dry_run:
        _dry_run(work, place, here, as_json)
        return
    from heedful.auditing import roar as run

    with progress_bar() as progress:
        result = run(work, place, here, progress, say)
    _show(result, as_json)
    if out is not None:
        with drawn_later():
            result.save(out)
        say(f"page: {out / 'roar.html'}")


def _percentages(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in names(text, "--steps"))
    except ValueError as error:
        raise HeedfulError(
            f"--steps is {text!r}: give rising percentages, such as 10,30,50."
        ) from error


def _dry_run(work: RoarWork, store: Store, where: Machine, as_json: bool) -> None:
    from heedful.auditing import roar_cost

    cost = roar_cost(work, store, where)
    line = f"{cost.models} models, {cost.missing} of them to train: about {duration(cost.elapsed)}"
    if cost.elapsed < cost.seconds:
        line += f" by several workers ({duration(cost.seconds)} of one)"
    document = {"dry_run": True, **asdict(cost)}
    show_result("roar", as_json, document, f"{line} on this machine (timed on a sample)")


def _show(result: Roar, as_json: bool) -> None:
    from heedful.report import capitalised, racu_cells, roar_sentence, roar_warnings, score_cells

    sentence = capitalised(roar_sentence(result.rows))
    parts: dict[str, Any] = {
        "scores": result.rows.to_dict("records"),
        "racu": result.racu.to_dict("records"),
        "sentence": sentence,
        "facts": dict(result.facts),
    }
    if show_result("roar", as_json, parts):
        return
    columns, *rows = score_cells(result.rows)
    show_table(Table(columns, rows))
    columns, *rows = racu_cells(result.rows)
    show_table(Table(columns, rows))
    show_prose(
        f"{parts['sentence'][:1].upper()}{parts['sentence'][1:]}", *roar_warnings(result.facts)
    )
