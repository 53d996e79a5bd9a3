"""`heedful train`: one model."""

from __future__ import annotations

from math import isnan
from typing import Annotated

import typer

from heedful.cli.corpus import (
    DevFile,
    LabelColumn,
    Limit,
    Params,
    SplitColumn,
    TestFile,
    TextColumn,
)
from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    DeviceOption,
    DryRunOption,
    JsonOption,
    SeedOption,
    StoreOption,
    ThreadsOption,
    check_data_dir,
    open_store,
)
from heedful.cli.terminal import duration, progress_bar, say, show, show_json


def train(
    corpus: Annotated[str, typer.Option("--corpus", help="A corpus by name, or a file.")],
    encoder: Annotated[str, typer.Option(help="bilstm, lstm, cnn or average.")] = "bilstm",
    attention: Annotated[str, typer.Option(help="additive or dot.")] = "additive",
    layers: Annotated[int, typer.Option(help="1, 2 or 3.")] = 1,
    sizes: Annotated[str, typer.Option(help="jain2019's sizes: code or paper.")] = "code",
    hidden: Annotated[int | None, typer.Option(help="The encoder's size instead.")] = None,
    epochs: Annotated[int, typer.Option(help="At most that many.")] = 8,
    learning_rate: Annotated[float, typer.Option(help="Of Adam.")] = 1e-3,
    train_batch: Annotated[int, typer.Option(help="Texts in a training batch.")] = 32,
    clip: Annotated[float | None, typer.Option(help="Largest norm of the gradient.")] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after so many bad epochs.")] = None,
    select: Annotated[str, typer.Option(help="Dev metric of the best epoch.")] = "auto",
    store: StoreOption = DEFAULT_STORE,
    data_dir: DataDirOption = None,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    split_column: SplitColumn = None,
    dev: DevFile = None,
    test: TestFile = None,
    param: Params = None,
    limit: Limit = None,
    seed: SeedOption = 0,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train one model and store it with its scores on the test split."""
    from heedful.cli.corpus import FileColumns, corpus_spec
    from heedful.runner.cost import estimate
    from heedful.runner.machine import machine
    from heedful.runner.study import grid, run_study
    from heedful.specs import ModelSpec, ProbeSpec, TrainSpec
    from heedful.studies.study import Study

    columns = FileColumns(text_column, label_column, split_column, dev, test)
    spec = corpus_spec(corpus, param, limit, columns)
    model = ModelSpec(encoder, attention, layers, sizes, hidden)
    training = TrainSpec(
        epochs=epochs,
        batch_size=train_batch,
        learning_rate=learning_rate,
        clip=clip,
        patience=patience,
        select=select,
    )
    alone = Study("train", 1, (), (), (), (), training, (ProbeSpec("score"),), ())
    plan = grid(alone, [spec], [model], [seed], check_data_dir(data_dir))
    place, where = open_store(store), machine(device, threads)
    if dry_run:
        cost = estimate(plan, plan.cells[0], place, where)
        if as_json:
            show_json("train", {"dry_run": True, **vars(cost)})
        else:
            show(f"{cost.title}: about {duration(cost.train_seconds + cost.probe_seconds)}")
        return
    with progress_bar() as progress:
        cells = run_study(plan, place, where, progress, say).table("cells")
    trained, scored = place.open(cells["model_run"][0]), place.open(cells["run"][0])
    summary = scored.table("summary")
    if as_json:
        scores = summary[["measure", "mean", "low", "high"]].to_dict("records")
        history = trained.table("history").to_dict("records")
        show_json("train", {"run": trained.key, "scores": scores, "history": history})
        return
    show(f"{trained.key}: {len(trained.table('history'))} epochs")
    for name, mean, low, high in zip(
        *(summary[column].tolist() for column in ("measure", "mean", "low", "high")), strict=True
    ):
        show(f"  {name:<9} {mean:.3f}" + ("" if isnan(low) else f"  [{low:.3f}, {high:.3f}]"))
