"""`heedful demo`: two models on the embedded corpus, their audits, and one page.

The first reads every word through its attention alone, so its weights explain it. The second is
trained to keep its attention off the words that decide and still predicts well: its weights mark
words that do not matter, and the verdict says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from heedful.cli.options import JsonOption, MachineOptions, SeedOption, option, spread
from heedful.cli.output import Output, check_outputs, drawn_later, say
from heedful.cli.report import show_page
from heedful.errors import HeedfulError
from heedful.progress import progress_bar

if TYPE_CHECKING:
    from heedful.progress import Progress
    from heedful.runner import Choice, Machine
    from heedful.store import Run, Store

AUDITED = 100
"""Examples of an audit: enough for a verdict, in seconds."""
EXPLANATIONS = ("attention", "gradient", "integrated_gradients", "lrp", "occlusion")
EPOCHS = 6


@spread
def demo(
    out: Path = option("Folder to write.", Path("heedful-demo"), "--out", "-o"),
    seed: SeedOption = 0,
    where: MachineOptions = MachineOptions(),
    as_json: JsonOption = False,
) -> None:
    """Train two models, audit both and write one page.

    On the embedded corpus, which needs no data; takes about two minutes.
    """
    from heedful.report import REPORT, build_report, check_packages
    from heedful.store import Store

    if out.exists() and not out.is_dir():
        raise HeedfulError(f"{out} is a file: give a folder with -o.")
    check_outputs(Output("-o", out / "report", REPORT))
    check_packages()
    store, here = Store(out / "store"), where.machine()
    with progress_bar() as progress:
        say("Training a model that reads words through its attention alone, and probing it …")
        study = _honest(store, seed, here, progress)
        say("Training a model whose attention is kept off the words that decide …")
        other = _deceptive(store, seed, here, progress)
        say("Auditing both …")
        runs = [*(_audit(store, run, here, progress) for run in (study, other)), study]
    keys = [run.key for run in runs]
    with drawn_later("heedful", "report", *keys, "--store", store.root, "-o", out / "report"):
        files = build_report(store, runs, out / "report")
    document = {"page": str(files.page), "summary": list(files.summary)}
    show_page("demo", as_json, document, files, "; then `heedful audit MODEL DATA -o audit`")


def _honest(store: Store, seed: int, here: Machine, progress: Progress) -> Run:
    """Its encoder mixes no words, so the logit is a sum of words, weighted by attention."""
    from heedful.runner import Choice

    choice = Choice(["average"], ["additive"], train=(("epochs", EPOCHS),))
    return _study(store, choice, seed, here, progress)


def _deceptive(store: Store, seed: int, here: Machine, progress: Progress) -> Run:
    """Its BiLSTM carries what a word says to neighbours, which may be attended (pruthi2020)."""
    from heedful.runner import Choice
    from heedful.specs import TermSpec

    off = (("terms", (TermSpec("impermissible", 1.0),)),)
    train = (("epochs", EPOCHS),)
    choice = Choice(["bilstm"], ["additive"], off, train, probes=["score"])
    return _study(store, choice, seed, here, progress)


def _study(store: Store, choice: Choice, seed: int, here: Machine, progress: Progress) -> Run:
    from heedful.data import class_words, default_spec
    from heedful.data.planted import NEGATORS
    from heedful.runner import grid, run_study
    from heedful.studies.papers import JAIN2019 as STUDY

    words = {word for label in (0, 1) for word in class_words(label, 2)}
    corpus = default_spec("planted", impermissible=",".join(sorted({*words, *NEGATORS})))
    return run_study(grid(STUDY, [corpus], choice, [seed]), store, here, progress)


def _audit(store: Store, study: Run, here: Machine, progress: Progress) -> Run:
    """Of the model that the study trained, on a sample of its test split."""
    from heedful.auditing import AuditSpec, Plan, audit

    model = store.open(str(study.table("cells")["model_run"].iloc[0]))
    plan, spec = Plan(store, progress=progress), AuditSpec(EXPLANATIONS)
    found = audit(model, spec=spec, plan=plan, n=AUDITED, all=True, store=store, device=here.device)
    return store.open(found.facts["key"])
