"""The verbs of the command line. The module of a verb is loaded when the verb is called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from heedful import __version__
from heedful.cli.help import SETTINGS, VerbHelp, VerbsHelp, heading, width
from heedful.cli.output import say
from heedful.errors import HeedfulError

HELP = "Puts attention on trial: do these weights explain these predictions?"
GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Start": {
        "demo": ("demo:demo", "Train two models, audit both and write one page."),
        "list": ("list:list_pieces", "List everything there is by name, and every measure."),
        "doctor": ("doctor:doctor", "Check the installation."),
    },
    "Measure": {
        "audit": ("audit:audit", "Audit a model: does its attention explain its predictions?"),
        "explain": ("audit:explain", "Score every word of a text, or another --unit."),
        "check": ("audit:check", "Fail where attention is refuted, or worse than before."),
        "relations": ("relations:relations", "Find heads that attend along known relations."),
        "compare": ("audit:compare", "Compare explanations of several audits by one measure."),
        "benchmark": ("benchmark:benchmark", "Audit models whose truth is known."),
    },
    "Train and reproduce": {
        "prepare": ("train:prepare", "Split, tokenise and store a corpus."),
        "train": ("train:train", "Train or fine-tune models."),
        "import": ("importing:import_file", "Make a model's folder of an ONNX or a GGUF file."),
        "repair": ("repair:repair", "Train models whose attention explains more."),
        "roar": ("roar:roar", "Mask words that explanations name, and train again."),
        "study": ("study:study", "Run the experiments of a paper."),
        "replicate": ("replicate:replicate", "Register a study, run it, and write it up."),
    },
    "Show": {
        "report": ("report:report", "Write one page of runs and audits."),
        "serve": ("apps:serve", "Ask a model and move its attention, in a browser."),
        "annotate": (
            "apps:annotate",
            "Human evaluation: make a study, serve it, read its results.",
        ),
        "cite": ("report:cite", "Print the works that runs used."),
    },
    "Scale and maintain": {
        "sweep": ("sweep:sweep", "Run several studies from a file."),
        "store": ("store:store", "List, verify, clean, carry and export runs."),
        "schema": ("report:schema", "Print the JSON Schema of an output."),
    },
}
"""Where each verb is, below `heedful.cli`, and its line in `heedful --help`, by headings."""
VERBS = {name: verb for group in GROUPS.values() for name, verb in group.items()}
EPILOG = """
`heedful VERB -h` explains a verb, with examples. New here? Begin with `heedful demo`.
"""
REPLACED = {"zoo": "benchmark --part compiled"}
RENAMED = {
    "--operators": "--perturbations",
    "--smallest": "--min-effect",
    "--within": "--max-score-drop",
    "--size": "--preset",
    "--sizes": "--hidden-sizes",
}
"""Options of version 0.1 and their names today; the old ones still work."""
_STOPPED = 130
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # click's, or typer's own copy


class _Commands(Mapping[str, Any]):
    def __getitem__(self, name: str) -> Any:
        return _command(name, VERBS[name][0])

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


@cache
def _command(name: str, place: str) -> Any:
    module, _, function = place.partition(":")
    verb = getattr(import_module(f"heedful.cli.{module}"), function)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    if isinstance(verb, typer.Typer):
        for inner in verb.registered_commands:
            inner.cls = VerbHelp
        alone.add_typer(verb, name=name, cls=VerbsHelp)
    else:
        alone.command(name, cls=VerbHelp)(verb)
    return typer.main.get_group(alone).commands[name]


class Verbs(TyperGroup):
    """The group behind `heedful`; its help needs no verb's module."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        longest = max(map(len, VERBS))
        for title, verbs in GROUPS.items():
            with formatter.section(heading(title)):
                lines = [(f"{name:<{longest}}", line) for name, (_, line) in verbs.items()]
                formatter.write_dl(lines)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        formatter.write(EPILOG)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in REPLACED:
            raise HeedfulError(
                f"`heedful {args[0]}` is now `heedful {REPLACED[args[0]]}`: run that instead."
            )
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Verbs,
    name="heedful",
    help=HELP,
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=SETTINGS,
)


@app.callback(invoke_without_command=True, help=HELP)
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        typer.echo(f"heedful {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def renamed(arguments: Iterable[str]) -> list[str]:
    """The arguments with today's option names; each old name is mentioned once on stderr."""
    given, told = [], set[str]()
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name in RENAMED and name not in told:
            told.add(name)
            say(f"note: {name} is now {RENAMED[name]}; the old name will go in version 1.0.")
        given.append(RENAMED.get(name, name) + equals + value)
    return given


def perform(arguments: list[str]) -> int:
    """Run a command line and return its exit code; typer's own exceptions become Python's."""
    try:
        settings = {"prog_name": "heedful", "terminal_width": width()}
        code = app(renamed(arguments), standalone_mode=False, **settings)
    except _UsageError as error:
        raise HeedfulError(_usage(error)) from error
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as ended:  # how typer ends when nobody reads what it prints
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None
        raise
    if code == _STOPPED:  # how typer says that somebody pressed Ctrl-C
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _usage(error: Exception) -> str:
    """What is wrong with a command line, and whose help says more."""
    said = getattr(error, "format_message", lambda: str(error))()
    context = getattr(error, "ctx", None)
    verb = context.command_path if context is not None else "heedful"
    message = re.sub(r"\. Did you mean (.*)\?$", r" (did you mean \1?)", " ".join(said.split()))
    return f"{message.rstrip('.')}: see `{verb} --help`."
