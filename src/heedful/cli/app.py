"""The verbs, and how a command line is given to one of them."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from heedful import __version__
from heedful.cli.apps import annotate, serve
from heedful.cli.audit import audit, check, compare, explain
from heedful.cli.benchmark import benchmark, zoo
from heedful.cli.corpus import prepare
from heedful.cli.demo import demo
from heedful.cli.doctor import doctor
from heedful.cli.list import list_pieces
from heedful.cli.process import usage
from heedful.cli.repair import repair
from heedful.cli.replicate import replicate
from heedful.cli.report import cite, report, schema
from heedful.cli.store import store
from heedful.cli.study import study
from heedful.cli.sweep import sweep
from heedful.cli.terminal import say
from heedful.cli.train import train
from heedful.errors import HeedfulError

app = typer.Typer(
    name="heedful",
    help="Puts attention on trial: do these weights explain these predictions?",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo)
app.command("audit")(audit)
app.command("explain")(explain)
app.command("check")(check)
app.command("compare")(compare)
app.command("cite")(cite)
app.command("benchmark")(benchmark)
app.command(
    "zoo",
    hidden=True,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)(zoo)
app.command("prepare")(prepare)
app.command("train")(train)
app.command("repair")(repair)
app.command("study")(study)
app.command("sweep")(sweep)
app.command("replicate")(replicate)
app.command("report")(report)
app.command("serve")(serve)
app.command("list")(list_pieces)
app.command("schema")(schema)
app.command("doctor")(doctor)
app.add_typer(store, name="store")
app.add_typer(annotate, name="annotate")


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Puts attention on trial: do these weights explain these predictions?"""
    if version:
        typer.echo(f"heedful {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


_STOPPED = 130
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # click's, or typer's own copy


RENAMED = {
    "--operators": "--perturbations",
    "--smallest": "--min-effect",
    "--within": "--max-score-drop",
    "--size": "--preset",
    "--sizes": "--hidden-sizes",
}
"""Options of version 0.1 and their names today; the old ones still work."""


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
    """The exit code. What typer has its own exceptions and codes for is told by Python's."""
    try:
        code = app(renamed(arguments), prog_name="heedful", standalone_mode=False)
    except _UsageError as error:
        raise HeedfulError(usage(error)) from error
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as ended:  # how typer ends when nobody reads what it prints
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None
        raise
    if code == _STOPPED:  # how typer says that somebody pressed Ctrl-C
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0
