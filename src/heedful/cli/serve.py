"""`heedful serve`: a page where a model can be asked and its attention moved by hand."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Annotated

import typer

from heedful.cli import subject as on
from heedful.cli.options import existing_store, set_threads
from heedful.cli.spread import spread
from heedful.cli.terminal import progress_bar, say, show
from heedful.errors import HeedfulError

PORT = 8765


@spread
def serve(
    model: on.ModelArgument,
    other: Annotated[
        str | None, typer.Argument(metavar="[MODEL2]", help="A second model, to stand beside it.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; other than this machine only with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any free one.")] = PORT,
    token: Annotated[
        str | None, typer.Option(help="What every request must know; random if it is needed.")
    ] = None,
    words: Annotated[int, typer.Option(min=1, max=100_000, help="Words a text may have.")] = 512,
    waiting: Annotated[
        int, typer.Option(min=0, max=10_000, help="Calls that may wait for the model.")
    ] = 8,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=86_400, help="An answer may take so long.")
    ] = 30.0,
    asked: on.ModelOptions = on.ModelOptions(),
) -> None:
    """Ask a model, see its attention, and move it: a page on this machine."""
    try:
        from heedful.web import address, bound, rules_for
        from heedful.web import serve as run
    except ImportError as error:
        raise HeedfulError("pages need fastapi and uvicorn: pip install 'heedful[web]'.") from error
    from heedful.subjects import open_asked, source_of
    from heedful.web import Limits, Opened, live_app

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
