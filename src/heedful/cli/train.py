"""`heedful prepare` and `heedful train`: a corpus; a model from scratch or fine-tuned."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heedful.cli.help import MODEL, TRAINING
from heedful.cli.options import (
    DEFAULT_STORE,
    MOST,
    CorpusOptions,
    DryRunOption,
    EpochsOption,
    HiddenSizesOption,
    JsonOption,
    MachineOptions,
    MaybeSeedsOption,
    SeedOption,
    StoreOption,
    argument,
    dotted_parameters,
    given,
    open_store,
    option,
    seeds,
    source,
    spread,
    was_given,
)
from heedful.cli.output import next_step, say, show, show_result
from heedful.errors import HeedfulError, listed
from heedful.progress import duration, progress_bar

if TYPE_CHECKING:
    from heedful.runner import Grid, Machine, Task
    from heedful.specs import TermSpec
    from heedful.store import Run, Store


@spread
def prepare(
    corpus: str = argument("A corpus by name, or a CSV/JSONL/Parquet file.", ...),
    store: StoreOption = DEFAULT_STORE,
    data: CorpusOptions = CorpusOptions(),
    as_json: JsonOption = False,
) -> None:
    """Split, tokenise and store a corpus.

    Filters it and looks up word vectors; what is stored already is not prepared again.

    Examples:
    heedful prepare planted
    heedful prepare reviews.csv --text-column review --label-column stars --param tokenizer=words
    """
    spec = data.spec(corpus)
    from heedful.data import Prepared
    from heedful.data import prepare as prepare_corpus

    with progress_bar() as progress:
        run = prepare_corpus(spec, open_store(store), data.folder, progress)
    report = Prepared(run).report
    if show_result("prepare", as_json, {"run": run.key, "report": report}):
        return
    classes = listed(report["labels"]) if report["labels"] else report["task"]
    show(f"{run.key}: {classes}; vocabulary {report['vocabulary']}")
    for name, split in report["splits"].items():
        counts = listed(split["by_class"]).replace(", ", "/")
        length = split["average_length"] or 0
        show(f"  {name:<6} {split['examples']} texts ({counts}), {length:.1f} tokens on average")
    for line in report["filters"]:
        if line["dropped"]:
            show(f"  dropped {line['dropped']} of {line['split']} by {line['filter']!r}")
    next_step(f"{shlex.join(['heedful', 'train', '--corpus', corpus])}, with the same options.")


@dataclass(frozen=True)
class EncoderOptions:
    """The model that is trained, as far as `train` and `repair` share it."""

    encoder: str | None = option("One of `heedful list encoder`. [default: bilstm]")
    attention: str | None = option("One of `heedful list attention`. [default: additive]")
    hidden: int | None = option("Hidden size of the encoder.")


@dataclass(frozen=True)
class ScratchOptions(EncoderOptions):
    """What a pretrained model brings itself."""

    family: str | None = option(
        "one_sequence, pair or seq2seq by the corpus; hierarchical, biattention, transformer.",
        panel=MODEL,
    )
    decoder: str | None = option(
        "For pairs: query sees both texts, context one. [default: query]", panel=MODEL
    )
    layers: int | None = option("1, 2 or 3. [default: 1]", panel=MODEL)
    dropout: float | None = option("Dropout. [default: 0; generation: 0.3]", panel=MODEL)
    sizes: HiddenSizesOption = None


@dataclass(frozen=True)
class OptimizerOptions:
    """How a model is trained, as far as `train` and `repair` share it."""

    epochs: EpochsOption = None
    learning_rate: float | None = option(
        "Learning rate. [default: 1e-3; pretrained: 5e-5 at its peak]", panel=TRAINING
    )
    batch_size: int | None = option(
        "Texts in a training batch. [default: 32]", None, "--train-batch", max=MOST, panel=TRAINING
    )


@dataclass(frozen=True)
class TrainingOptions(OptimizerOptions):
    """How any model is trained."""

    clip: float | None = option(
        "Largest norm of the gradient. [default: none; pretrained: 1]", panel=TRAINING
    )
    patience: int | None = option(
        "Stop after so many bad epochs. [default: never; pretrained: 2]", max=MOST, panel=TRAINING
    )
    select: str | None = option(
        "Dev metric that chooses the epoch. [default: auto; pretrained: accuracy]", panel=TRAINING
    )


@dataclass(frozen=True)
class FinetuneOptions:
    """What only pretrained models have."""

    weight_decay: float | None = option(
        "Pretrained only: weight decay. [default: 0.01]", panel=TRAINING
    )
    warmup: float | None = option(
        "Pretrained only: share of steps before the peak. [default: 0.06]", panel=TRAINING
    )
    max_length: int | None = option(
        "Pretrained only: maximum tokens per text. [default: 128]", max=MOST, panel=TRAINING
    )
    precision: str | None = option(
        "Pretrained only: float32, bf16 or, on a GPU, tf32.", panel=TRAINING
    )


@spread
def train(
    context: typer.Context,
    corpus: str = option("A corpus by name, or a file.", ...),
    pretrained: Path | None = option("Fine-tune the Hugging Face model in this folder."),
    scratch: ScratchOptions = ScratchOptions(),
    training: TrainingOptions = TrainingOptions(),
    fine: FinetuneOptions = FinetuneOptions(),
    term: list[str] | None = option(
        "name=weight: a term of the loss; weight 1 if left out.", panel=TRAINING
    ),
    term_param: list[str] | None = option(
        "name.key=value: a parameter of one of the terms.", panel=TRAINING
    ),
    store: StoreOption = DEFAULT_STORE,
    data: CorpusOptions = CorpusOptions(),
    seed: SeedOption = 0,
    seeds_: MaybeSeedsOption = None,
    where: MachineOptions = MachineOptions(),
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train or fine-tune models.

    Each is stored with its test scores; with --seeds several that differ by seed.

    Examples:
    heedful train --corpus planted --epochs 4
    heedful train --corpus reviews.csv --text-column review --label-column stars
    heedful train --corpus sst --pretrained path/to/minilm --seeds 3
    """
    spec = data.spec(corpus)
    chosen = given(**vars(training))
    extra = given(terms=terms(term, term_param) or None)
    if seeds_ is not None and was_given(context, "seed"):
        raise HeedfulError("give either --seed or --seeds.")
    numbers = [seed] if seeds_ is None else seeds(seeds_)
    folder, here = data.folder, where.machine()
    if pretrained is None:
        _refuse(fine, "only --pretrained models have it")
        plan = _plan(spec, given(**vars(scratch), **extra), chosen, numbers, folder)
        runs = _train(plan, open_store(store), here, dry_run, as_json)
    else:
        from heedful.runner import task
        from heedful.training import FinetuneSpec

        _refuse(scratch, "a --pretrained model brings its own")
        finetuning = FinetuneSpec(**chosen, **given(**vars(fine)), **extra)
        work = task(pretrained, spec, finetuning, folder)
        runs = _finetune(work, numbers, open_store(store), here, dry_run, as_json)
    if runs:
        # an audit must find what was trained, and where it reads raw texts, the corpus
        options = ("store",) if pretrained is None else ("store", "data_dir")
        typed = [name for name in options if source(context, name) == "COMMANDLINE"]
        place = [
            word
            for name in typed
            for word in (f"--{name.replace('_', '-')}", str(context.params[name]))
        ]
        _show_results(runs, place, as_json)


def terms(texts: list[str] | None, params: list[str] | None) -> tuple[TermSpec, ...]:
    """Terms of the loss in the order they were typed; their names are checked elsewhere."""
    from heedful.specs import TermSpec

    weights: dict[str, float] = {}
    for text in texts or ():
        name, equals, number = (part.strip() for part in text.partition("="))
        try:
            weight = float(number) if equals else 1.0
        except ValueError as error:
            raise HeedfulError(
                f"--term is {text!r}: write name=weight with a number, such as diversity=0.5."
            ) from error
        if name in weights:
            raise HeedfulError(f"--term names {name} twice: give it one weight.")
        weights[name] = weight
    values = _params(params or [], weights)
    return tuple(
        TermSpec(name, weight, tuple(values[name].items())) for name, weight in weights.items()
    )


def _params(texts: list[str], names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The parameters of each term, by its name."""
    values: dict[str, dict[str, Any]] = {name: {} for name in names}
    for term, own in dotted_parameters(texts, "--term-param").items():
        if term not in values:
            raise HeedfulError(
                f"--term-param names {term!r}, but there is no --term {term}: add it."
            )
        values[term] = own
    return values


def _result_of(trained: Run, scored: Run) -> dict[str, Any]:
    summary = scored.table("summary")
    notes = scored.json("notes") if scored.has("notes.json") else {}
    return {
        "notes": notes,
        "run": trained.key,
        "scores": summary[["measure", "mean", "low", "high"]].to_dict("records"),
        "history": trained.table("history").to_dict("records"),
    }


def _show_results(runs: list[dict[str, Any]], place: list[str], as_json: bool) -> None:
    """`place` are the options with which the next command finds the runs."""
    if show_result("train", as_json, runs[0] if len(runs) == 1 else {"runs": runs}):
        return
    for run in runs:
        show(f"{run['run']}: {len(run['history'])} epochs")
        for score in run["scores"]:
            name, mean, low, high = (score[key] for key in ("measure", "mean", "low", "high"))
            interval = "" if isnan(low) else f"  [{low:.3f}, {high:.3f}]"
            show(f"  {name:<9} {mean:.3f}{interval}")
        show(*(f"  {name}: {note}" for name, note in run["notes"].items()))
        if "folder" in run:
            show(f"  {run['folder']}")
        if any(score["measure"] == "accuracy" for score in run["scores"]):
            say(f"next: {shlex.join(['heedful', 'audit', run['run'], '-o', 'audit', *place])}")


def _show_costs(costs: list[dict[str, Any]], as_json: bool) -> None:
    lines = (
        f"{cost['title']}: about {duration(cost['train_seconds'] + cost['probe_seconds'])}"
        for cost in costs
    )
    document = costs[0] if len(costs) == 1 else {"runs": costs}
    show_result("train", as_json, {"dry_run": True, **document}, *lines)


def _refuse(options: ScratchOptions | FinetuneOptions, why: str) -> None:
    for name in given(**vars(options)):
        raise HeedfulError(f"leave out --{name.replace('_', '-')}: {why}.")


def _plan(
    spec: Any,
    model: dict[str, Any],
    training: dict[str, Any],
    numbers: list[int],
    data_dir: Path | None,
) -> Grid:
    from heedful.runner import WRITING, corpus_kind, grid, usual
    from heedful.specs import ProbeSpec, TrainSpec
    from heedful.studies import Setting, Study

    kind = corpus_kind(spec)
    writes = kind == "generation"
    if training.get("select") == "likelihood" and not writes:
        raise HeedfulError("--select likelihood is of texts that are written: choose another.")
    if writes and training.get("select") in ("roc_auc", "accuracy", "f1"):
        raise HeedfulError(
            f"--select {training['select']} is of classes, and {spec.title} has texts that are "
            f"written: choose likelihood or loss."
        )
    scores = (ProbeSpec("translation" if writes else "score"),)
    training_of = WRITING if writes else TrainSpec()
    models = (replace(usual(kind, model.get("family")), **model),)
    setting = Setting(kind, (), models, scores, replace(training_of, **training))
    alone = Study("train", 1, (setting,))
    return grid(alone, [spec], seeds=numbers, data_dir=data_dir)


def _train(
    plan: Grid, store: Store, where: Machine, dry_run: bool, as_json: bool
) -> list[dict[str, Any]]:
    if dry_run:
        from heedful.runner import estimate

        costs = [vars(estimate(plan, cell, store, where)) for cell in plan.cells]
        _show_costs(costs, as_json)
        return []
    with progress_bar() as progress:
        from heedful.runner import run_study

        cells = run_study(plan, store, where, progress, say).table("cells")
    return [
        _result_of(store.open(model), store.open(scored))
        for model, scored in zip(cells["model_run"], cells["run"], strict=True)
    ]


def _finetune(
    work: Task, numbers: list[int], store: Store, where: Machine, dry_run: bool, as_json: bool
) -> list[dict[str, Any]]:
    from heedful.runner import FOLDER, finetuned, seconds
    from heedful.training.finetune import check

    check(work.spec, where.device)
    titles = [f"{work.title} seed {number}" for number in numbers]
    if dry_run:
        cost = {"train_seconds": seconds(work, where), "probe_seconds": 0.0}
        _show_costs([{"title": title, **cost} for title in titles], as_json)
        return []
    runs: list[dict[str, Any]] = []
    for number, title in zip(numbers, titles, strict=True):
        say(f"[{len(runs) + 1}/{len(numbers)}] {title}")
        with progress_bar() as progress:
            run = finetuned(store, work, number, where, progress)
        runs.append({**_result_of(run, run), "folder": str(run.folder(FOLDER))})
    return runs
