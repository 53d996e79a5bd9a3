"""`heedful train`: a model from scratch, or a pretrained one fine-tuned."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.corpus import FileColumns, Limit, Params, corpus_spec, parameter
from heedful.cli.options import (
    DEFAULT_STORE,
    MOST,
    DataDirOption,
    DeviceOption,
    DryRunOption,
    JsonOption,
    SeedOption,
    StoreOption,
    ThreadsOption,
    check_data_dir,
    given,
    open_store,
    seeds,
    source,
    spread,
    was_given,
)
from heedful.cli.terminal import progress_bar, say, show, show_json
from heedful.errors import HeedfulError
from heedful.progress import duration
from heedful.specs import TermSpec

if TYPE_CHECKING:
    from heedful.runner import Grid, Machine, Task
    from heedful.store import Run, Store


def terms(texts: list[str] | None, params: list[str] | None) -> tuple[TermSpec, ...]:
    """In the order they were typed; whether there are such terms is for others to say."""
    weights = [_weight(text) for text in texts or ()]
    chosen = [name for name, _ in weights]
    for name in chosen:
        if chosen.count(name) > 1:
            raise HeedfulError(f"--term names {name} twice: give it one weight.")
    values = _params(params or [], chosen)
    return tuple(TermSpec(name, weight, values[name]) for name, weight in weights)


def _weight(text: str) -> tuple[str, float]:
    name, equals, number = (part.strip() for part in text.partition("="))
    try:
        return name, float(number) if equals else 1.0
    except ValueError as error:
        raise HeedfulError(
            f"--term is {text!r}: write name=weight with a number, such as diversity=0.5."
        ) from error


def _params(texts: list[str], names: list[str]) -> dict[str, tuple[tuple[str, Any], ...]]:
    """The parameters of each term, by its name."""
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for text in texts:
        place, equals, _ = text.partition("=")
        term, dot, key = (part.strip() for part in place.partition("."))
        if not (equals and dot and term and key):
            raise HeedfulError(f"--term-param is {text!r}: write name.key=value.")
        if term not in found:
            raise HeedfulError(f"--term-param is {text!r}, and there is no --term {term}: add it.")
        if key in found[term]:
            raise HeedfulError(f"--term-param gives {term}.{key} twice: give it once.")
        found[term][key] = parameter(text)[1]
    return {name: tuple(values.items()) for name, values in found.items()}


def result_of(trained: Run, scored: Run) -> dict[str, Any]:
    summary = scored.table("summary")
    notes = scored.json("notes") if scored.has("notes.json") else {}
    return {
        "notes": notes,
        "run": trained.key,
        "scores": summary[["measure", "mean", "low", "high"]].to_dict("records"),
        "history": trained.table("history").to_dict("records"),
    }


def show_results(runs: list[dict[str, Any]], place: list[str], as_json: bool) -> None:
    """`place` are the options by which the next command finds the runs."""
    if as_json:
        show_json("train", runs[0] if len(runs) == 1 else {"runs": runs})
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


def show_costs(costs: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        document = costs[0] if len(costs) == 1 else {"runs": costs}
        show_json("train", {"dry_run": True, **document})
        return
    for cost in costs:
        show(f"{cost['title']}: about {duration(cost['train_seconds'] + cost['probe_seconds'])}")


@dataclass(frozen=True)
class ScratchOptions:
    """What a pretrained model brings itself."""

    family: Annotated[
        str | None,
        typer.Option(
            help="one_sequence, pair or seq2seq by the corpus; hierarchical, transformer."
        ),
    ] = None
    encoder: Annotated[
        str | None, typer.Option(help="bilstm (the default), or one of `heedful list encoder`.")
    ] = None
    attention: Annotated[
        str | None, typer.Option(help="additive (the default), or one of `heedful list attention`.")
    ] = None
    decoder: Annotated[
        str | None, typer.Option(help="Pairs: query (the default) sees both texts, context one.")
    ] = None
    layers: Annotated[int | None, typer.Option(help="1 (the default), 2 or 3.")] = None
    dropout: Annotated[float | None, typer.Option(help="0; generation 0.3.")] = None
    sizes: Annotated[
        str | None,
        typer.Option("--hidden-sizes", help="jain2019's sizes: code (the default) or paper."),
    ] = None
    hidden: Annotated[int | None, typer.Option(help="The encoder's size instead.")] = None


@dataclass(frozen=True)
class TrainingOptions:
    """How any model is trained."""

    epochs: Annotated[
        int | None, typer.Option(max=MOST, help="At most that many: 8; pretrained: 3.")
    ] = None
    learning_rate: Annotated[
        float | None, typer.Option(help="Of Adam: 1e-3; pretrained: 5e-5 at its highest.")
    ] = None
    batch_size: Annotated[
        int | None,
        typer.Option("--train-batch", max=MOST, help="Texts in a training batch: 32."),
    ] = None
    clip: Annotated[
        float | None, typer.Option(help="Largest norm of the gradient: none; pretrained: 1.")
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(max=MOST, help="Stop after so many bad epochs: never; pretrained: 2."),
    ] = None
    select: Annotated[
        str | None, typer.Option(help="Dev metric of the best epoch: auto; pretrained: accuracy.")
    ] = None


@dataclass(frozen=True)
class FinetuneOptions:
    """What only pretrained models have."""

    weight_decay: Annotated[float | None, typer.Option(help="Pretrained only: 0.01.")] = None
    warmup: Annotated[
        float | None, typer.Option(help="Pretrained only: the share of steps before the top, 0.06.")
    ] = None
    max_length: Annotated[
        int | None,
        typer.Option(max=MOST, help="Pretrained only: texts are cut to so many tokens, 128."),
    ] = None
    precision: Annotated[
        str | None, typer.Option(help="Pretrained only: float32, bf16 or, on a GPU, tf32.")
    ] = None


@spread
def train(
    context: typer.Context,
    corpus: Annotated[str, typer.Option(help="A corpus by name, or a file.")],
    pretrained: Annotated[
        Path | None, typer.Option(help="Fine-tune the Hugging Face model in this folder.")
    ] = None,
    scratch: ScratchOptions = ScratchOptions(),
    training: TrainingOptions = TrainingOptions(),
    fine: FinetuneOptions = FinetuneOptions(),
    term: Annotated[
        list[str] | None,
        typer.Option(help="name=weight: a term of the loss, weight 1 if left out."),
    ] = None,
    term_param: Annotated[
        list[str] | None,
        typer.Option(help="name.key=value: a parameter of one of the terms."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    data_dir: DataDirOption = None,
    columns: FileColumns = FileColumns(),
    param: Params = None,
    limit: Limit = None,
    seed: SeedOption = 0,
    seeds_: Annotated[
        str | None, typer.Option("--seeds", help="Several models: a count (3) or a list (0,7).")
    ] = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model, or several that differ by seed, and store it with its test scores."""
    from heedful.runner import machine

    spec = corpus_spec(corpus, param, limit, columns)
    chosen = given(**vars(training))
    beside = given(terms=terms(term, term_param) or None)
    if seeds_ is not None and was_given(context, "seed"):
        raise HeedfulError("give either --seed or --seeds.")
    numbers = [seed] if seeds_ is None else seeds(seeds_)
    folder, where = check_data_dir(data_dir), machine(device, threads)
    if pretrained is None:
        _refuse(fine, "only --pretrained models have it")
        plan = _plan(spec, given(**vars(scratch), **beside), chosen, numbers, folder)
        runs = _train(plan, open_store(store), where, dry_run, as_json)
    else:
        from heedful.runner import task
        from heedful.training import FinetuneSpec

        _refuse(scratch, "a --pretrained model brings its own")
        work = task(
            pretrained, spec, FinetuneSpec(**chosen, **given(**vars(fine)), **beside), folder
        )
        runs = _finetune(work, numbers, open_store(store), where, dry_run, as_json)
    if runs:
        show_results(runs, _same_place(context, pretrained is not None), as_json)


def _same_place(context: typer.Context, raw: bool) -> list[str]:
    """The options by which an audit finds what was trained, and where it reads raw texts, the
    corpus."""
    names = {"store": "--store", **({"data_dir": "--data-dir"} if raw else {})}
    typed = [name for name in names if source(context, name) == "COMMANDLINE"]
    return [word for name in typed for word in (names[name], str(context.params[name]))]


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
        show_costs(costs, as_json)
        return []
    with progress_bar() as progress:
        from heedful.runner import run_study

        cells = run_study(plan, store, where, progress, say).table("cells")
    return [
        result_of(store.open(model), store.open(scored))
        for model, scored in zip(cells["model_run"], cells["run"], strict=True)
    ]


def _finetune(
    work: Task, numbers: list[int], store: Store, where: Machine, dry_run: bool, as_json: bool
) -> list[dict[str, Any]]:
    from heedful.runner import FOLDER, finetuned, seconds
    from heedful.training.finetune import check

    check(work.spec, where.device)
    if dry_run:
        cost = {"train_seconds": seconds(work, where), "probe_seconds": 0.0}
        show_costs(
            [{"title": f"{work.title} seed {number}", **cost} for number in numbers], as_json
        )
        return []
    runs = []
    for place, number in enumerate(numbers, 1):
        say(f"[{place}/{len(numbers)}] {work.title} seed {number}")
        with progress_bar() as progress:
            run = finetuned(store, work, number, where, progress)
        runs.append({**result_of(run, run), "folder": str(run.folder(FOLDER))})
    return runs
