"""The entry point: every error a user can mend is one sentence and exit code 2."""

from __future__ import annotations

import sys

import typer

from heedful import __version__
from heedful.cli.annotate import annotate
from heedful.cli.audit import audit
from heedful.cli.check import check
from heedful.cli.cite import cite
from heedful.cli.compare import compare
from heedful.cli.demo import demo
from heedful.cli.doctor import doctor
from heedful.cli.explain import explain
from heedful.cli.list import list_pieces
from heedful.cli.prepare import prepare
from heedful.cli.refusing import check_typed, one_line, refused_by_disk, usage
from heedful.cli.repair import repair
from heedful.cli.replicate import replicate
from heedful.cli.report import report
from heedful.cli.schema import schema
from heedful.cli.serve import serve
from heedful.cli.store import store
from heedful.cli.study import study
from heedful.cli.sweep import sweep
from heedful.cli.terminal import say
from heedful.cli.train import train
from heedful.cli.zoo import zoo
from heedful.errors import HeedfulError

__all__ = ["main"]

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
app.command("zoo")(zoo)
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


STOPPED = 130
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # click's, or typer's own copy


def main(arguments: list[str] | None = None) -> int:
    """Run a command line; returns the exit code and never shows a traceback for bad input."""
    try:
        check_typed(sys.argv[1:] if arguments is None else arguments)
        code = app(arguments, prog_name="heedful", standalone_mode=False)
    except HeedfulError as error:
        return _refuse(str(error))
    except _UsageError as error:
        return _refuse(usage(error))
    except (typer.Abort, KeyboardInterrupt):
        return _stopped()
    except ModuleNotFoundError as error:
        return _refuse(_missing(error))
    except OSError as error:  # a path that cannot be read or written, a full disk
        return _refuse(refused_by_disk(error))
    if code == STOPPED:  # how typer says that somebody pressed Ctrl-C
        return _stopped()
    return code if isinstance(code, int) else 0


def _missing(error: ModuleNotFoundError) -> str:
    """A package of others; a module of our own that is not there is our fault, and a traceback."""
    if error.name is None or error.name.partition(".")[0] == "heedful":
        raise error
    return f"the package {error.name} is missing: `heedful doctor` says what brings it."


def _stopped() -> int:
    kept = "what was finished is kept in the store, and the same command goes on after it"
    sys.stderr.write(f"\nstopped: {kept}.\n")
    return STOPPED


def _refuse(message: str) -> int:
    say(f"error: {one_line(message)}")
    return 2


def run() -> None:
    sys.exit(main())


if __name__ == "__main__":
    run()
