"""`heedful demo`: the embedded corpus, a BiLSTM, all probes, the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.options import DeviceOption, JsonOption, SeedOption, ThreadsOption
from heedful.cli.terminal import progress_bar, say, show, show_json


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")] = Path(
        "heedful-demo"
    ),
    seed: SeedOption = 0,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train on the embedded corpus, probe, and write the page: about a minute on two cores."""
    from heedful.corpora.defaults import default_spec
    from heedful.report.build import build_report
    from heedful.runner.choice import Choice
    from heedful.runner.machine import machine
    from heedful.runner.study import grid, run_study
    from heedful.store import Store
    from heedful.studies.jain2019 import STUDY

    store = Store(out / "store")
    choice = Choice(["bilstm"], ["additive"], train=(("epochs", 6),))
    plan = grid(STUDY, [default_spec("planted")], choice, [seed])
    say("Training a BiLSTM with attention on the embedded corpus and probing it …")
    with progress_bar() as progress:
        run = run_study(plan, store, machine(device, threads), progress)
    files = build_report(store, [run], out / "report")
    if as_json:
        show_json("demo", {"page": str(files.page), "summary": list(files.summary)})
        return
    for line in files.summary:
        show(line)
    show(f"page: {files.page}")
