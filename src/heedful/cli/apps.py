"""`heedful serve` and `heedful annotate`: pages that query a model, and that query people."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.audit_options import DataArgument, ModelArgument, ModelOptions, SubjectOptions
from heedful.cli.options import (
    MOST,
    JsonOption,
    argument,
    existing_store,
    option,
    set_threads,
    spread,
    was_given,
)
from heedful.cli.output import Output, check_outputs, say, show, show_result
from heedful.errors import HeedfulError, unknown_name
from heedful.progress import progress_bar

annotate = typer.Typer(help="Human evaluation: make a study, serve it, read its results.")
StudyArgument = Annotated[Path, typer.Argument(help="A file of `heedful annotate new`.")]
Count = Annotated[
    int,
    typer.Option("--annotators", min=1, max=1000, help="Number of annotators."),
]
Format = Annotated[str, typer.Option("--format", help="jsonl or label-studio.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any free one.")]


@spread
def serve(
    model: ModelArgument,
    other: str | None = argument("A second model to compare with.", metavar="MODEL2"),
    host: str = option("Address to listen on; any but this machine's needs a token.", "127.0.0.1"),
    port: PortOption = 8765,
    token: str | None = option("Token that requests must carry. [default: random if needed]"),
    words: int = option("Maximum words per text.", 512, min=1, max=100_000),
    waiting: int = option("Maximum waiting calls.", 8, min=0, max=10_000),
    seconds: float = option("Request timeout in seconds.", 30.0, min=0.1, max=86_400),
    asked: ModelOptions = ModelOptions(),
) -> None:
    """Ask a model and move its attention, in a browser.

    Serves a page on this machine until Ctrl-C.
    """
    try:
        from heedful.apps import address, bound, rules_for
        from heedful.apps import serve as run
    except ImportError as error:
        raise HeedfulError("pages need fastapi and uvicorn: pip install 'heedful[web]'.") from error
    from heedful.apps.live import Limits, Opened, live_app
    from heedful.targets import open_asked, source_of

    store = existing_store(asked.store)
    if other is not None and source_of(other, store) == source_of(model, store):
        raise HeedfulError(f"{other} is the same model again: name another, or serve one.")
    set_threads(asked.threads)
    rules, limits = rules_for(host, token), Limits(words=words, waiting=waiting, seconds=seconds)
    with ExitStack() as stack:
        here = stack.enter_context(bound(host, port))
        names = [model] if other is None else [model, other]
        with progress_bar() as progress:  # gone when it is open, or when it cannot be
            progress("opening the model", 0, len(names))
            opened = [stack.enter_context(open_asked(name, **asked.given())) for name in names]
        app = live_app([Opened(each, limits) for each in opened], rules, limits)
        show(f"{' and '.join(each.name for each in opened)}: {address(here, rules)}")
        sys.stdout.flush()  # whoever waits for the address in a pipe waits for this line
        say("Ctrl-C ends it.")
        run(app, here)
    say("stopped: the page is no longer served.")


@dataclass(frozen=True)
class StudyOptions(SubjectOptions):
    """Those of an audit; `n` counts items of each kind."""

    n: int = option("Items of each kind of weights.", 100, min=1, max=MOST)


@annotate.command("new")
@spread
def new_study(
    context: typer.Context,
    model: ModelArgument,
    data: DataArgument = None,
    out: Path = option("File of the study.", Path("study.db"), "--out", "-o"),
    task: str = option("relevance: judge the top words; rationale: mark the reason.", "relevance"),
    top: int = option("Number of highlighted words.", 3, min=1, max=50),
    annotators: Count = 1,
    subject: StudyOptions = StudyOptions(),
    as_json: JsonOption = False,
) -> None:
    """Make a study: n items with the model's own weights and n with permuted ones, shuffled."""
    subject.check_data(model, data)
    from heedful.apps.annotation import RATIONALE, STUDY, Wanted, plan_study
    from heedful.apps.annotation import new_study as make

    check_outputs(Output("-o", out, STUDY), inputs=(model, data), store=subject.store)
    if task == RATIONALE and was_given(context, "top"):
        raise HeedfulError("--top is of the task relevance: annotators mark words, leave it out.")
    set_threads(subject.threads)
    wanted = Wanted(task, subject.n, top, subject.seed)
    options = {name: value for name, value in subject.given().items() if name not in ("n", "seed")}
    plan = plan_study(model, data, wanted, **options)
    invited = make(out, plan, annotators)
    facts = {"study": str(out), "task": task, "items": len(plan.items), **plan.facts}
    facts["annotators"] = [each.name for each in invited]
    told = f"{out}: {len(plan.items)} items, {len(invited)} annotators"
    notes = (f"Note: {note}" for note in plan.facts["notes"])
    if not show_result("annotate new", as_json, facts, told, *notes):
        say(f"next: heedful annotate serve {out}")


@annotate.command("invite")
@spread
def invite_more(study: StudyArgument, annotators: Count = 1, as_json: JsonOption = False) -> None:
    """Invite more annotators, also while the study is being served."""
    from heedful.apps.annotation import Study, invite

    tokens = {each.name: each.token for each in invite(Study(study), annotators)}
    links = (f"{name}  /?annotator={token}" for name, token in tokens.items())
    show_result("annotate invite", as_json, {"annotators": tokens}, *links)


@annotate.command("serve")
@spread
def serve_study(
    study: StudyArgument,
    port: PortOption = 8010,
    host: str = option(
        "Address to listen on; any but this machine's is open to others.", "127.0.0.1"
    ),
) -> None:
    """Serve the pages to annotators until Ctrl-C; every acknowledged answer is on disk."""
    try:
        from heedful.apps.annotation import Study, links
        from heedful.apps.annotation import serve_study as run
    except ImportError as error:
        raise HeedfulError("pages need fastapi and uvicorn: pip install 'heedful[web]'.") from error

    opened = Study(study)

    def ready(root: str) -> None:
        show(*(f"{name:<14} {link}" for name, link in links(opened, root).items()))
        sys.stdout.flush()  # whoever waits for the links in a file waits for these lines
        say(f"serving {study}; stop with Ctrl-C.")

    run(opened, host, port, ready)


@annotate.command("results")
@spread
def results(
    study: StudyArgument,
    out: Path | None = option("Folder for the tables.", None, "--out", "-o"),
    as_json: JsonOption = False,
) -> None:
    """Print progress, agreement and the tables of Figure 5 so far."""
    from heedful.apps.annotation import RESULTS, Study, lines, write_tables
    from heedful.apps.annotation import results as compute

    opened = Study(study)
    check_outputs(Output("-o", out, RESULTS), inputs=(study,))
    found = compute(opened)
    if out is not None:
        write_tables(opened, found, out)
    show_result("annotate results", as_json, found, *lines(found))


@annotate.command("export")
@spread
def export(
    context: typer.Context,
    study: StudyArgument,
    file: Path = argument("File to write: .jsonl, or .json for Label Studio.", ...),
    kind: Format = "jsonl",
    merge: str = option("How rationales are merged: majority, union or intersection.", "majority"),
) -> None:
    """Export items and answers; rationales can be audited with --rationale-column rationale."""
    from heedful.apps.annotation import (
        INTERFACE,
        Study,
        export_of,
        read_jsonl,
        read_label_studio,
        write_jsonl,
        write_label_studio,
    )

    opened = Study(study)
    lines = _is_jsonl(kind)
    older = export_of(opened, read_jsonl if lines else read_label_studio)
    outputs = [Output("FILE", file, older)]
    if not lines:
        outputs.append(Output("the interface beside FILE", file.with_suffix(".xml"), INTERFACE))
    check_outputs(*outputs, inputs=(study,))
    wanted = ".jsonl" if lines else ".json"
    if file.suffix != wanted:
        raise HeedfulError(f"cannot write {file.name}: give a name ending in {wanted}.")
    if not lines and was_given(context, "merge"):
        raise HeedfulError("--merge is of jsonl, Label Studio is told every answer: leave it out.")
    count = write_jsonl(opened, file, merge) if lines else write_label_studio(opened, file)
    show(f"wrote {count} items to {file}")


@annotate.command("import")
@spread
def import_answers(
    study: StudyArgument,
    file: Path = argument("An exported file with answers.", ...),
    kind: Format = "jsonl",
) -> None:
    """Import answers from a file, all or none; unknown annotators are added."""
    from heedful.apps.annotation import Study, annotators, read_jsonl, read_label_studio

    opened = Study(study)
    answers = (read_jsonl if _is_jsonl(kind) else read_label_studio)(opened, file)
    opened.check(answers)
    known = {each.name for each in opened.annotators()}
    newcomers = annotators(opened, [name for name in answers if name not in known])
    new = opened.take(answers, f"import {file.name}", newcomers)
    show(f"took {new} new answers of {len(answers)} annotators")


def _is_jsonl(kind: str) -> bool:
    formats = ["jsonl", "label-studio"]
    if kind not in formats:
        raise unknown_name("format", kind, formats)
    return kind == "jsonl"
