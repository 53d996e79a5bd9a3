"""`heedful demo`: the embedded corpus, a BiLSTM, all probes, an audit, the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import DeviceOption, JsonOption, SeedOption, ThreadsOption
from heedful.cli.outputs import Output, check_outputs, drawn_later
from heedful.cli.terminal import page_line, progress_bar, say, show, show_json
from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from heedful.progress import Progress
    from heedful.runner.machine import Machine
    from heedful.store import Run, Store

AUDITED = 100
"""Texts that the audit takes words from: enough for a verdict, in seconds."""


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")] = Path(
        "heedful-demo"
    ),
    seed: SeedOption = 0,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train on the embedded corpus, probe, audit, write the page: about a minute on two cores."""
    from heedful.report.build import build_report
    from heedful.report.extra import check_packages
    from heedful.report.target import REPORT
    from heedful.runner.machine import machine
    from heedful.store import Store

    if out.exists() and not out.is_dir():
        raise HeedfulError(f"{out} is a file: give a folder with -o.")
    check_outputs(Output("-o", out / "report", REPORT))
    check_packages()
    store, here = Store(out / "store"), machine(device, threads)
    say("Training a BiLSTM with attention on the embedded corpus and probing it …")
    with progress_bar() as progress:
        study = _study(store, seed, here, progress)
        say("Auditing it …")
        audit = _audit(store, study, here, progress)
    keys = (audit.key, study.key)
    with drawn_later("heedful", "report", *keys, "--store", store.root, "-o", out / "report"):
        files = build_report(store, [audit, study], out / "report")
    if as_json:
        show_json("demo", {"page": str(files.page), "summary": list(files.summary)})
        return
    for line in files.summary:
        show(line)
    show(page_line(files.page))


def _study(store: Store, seed: int, here: Machine, progress: Progress) -> Run:
    from heedful.corpora.defaults import default_spec
    from heedful.runner.choice import Choice
    from heedful.runner.grid import grid
    from heedful.runner.study import run_study
    from heedful.studies.jain2019 import STUDY

    choice = Choice(["bilstm"], ["additive"], train=(("epochs", 6),))
    plan = grid(STUDY, [default_spec("planted")], choice, [seed])
    return run_study(plan, store, here, progress)


def _audit(store: Store, study: Run, here: Machine, progress: Progress) -> Run:
    """Of the model that the study trained, on some of the texts it was probed on."""
    from heedful.auditing.audit import audit
    from heedful.auditing.plan import Plan

    model = store.open(str(study.table("cells")["model_run"].iloc[0]))
    plan = Plan(store, progress=progress)
    found = audit(model, n=AUDITED, store=store, device=here.device, plan=plan)
    return store.open(found.facts["key"])
