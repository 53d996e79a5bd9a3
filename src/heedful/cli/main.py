"""The entry point: every error a user can fix is one sentence and exit code 2.

Almost nothing is imported before it is caught what happens meanwhile: Ctrl-C, no memory left.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

BAD, STOPPED, UNREAD = 2, 130, 141
"""Exit codes: a mistake, Ctrl-C, and a pipe that nobody reads any more (as of other tools)."""
_FAREWELL = "\nstopped: what was finished is kept in the store, and the same command resumes."


def main(arguments: list[str] | None = None) -> int:
    """Run a command line; returns the exit code and never shows a traceback for bad input."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        from heedful.cli import process

        process.check_typed(given)
        from heedful.cli.app import perform

        code = perform(given)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _stopped()
    except Exception as error:
        if isinstance(error, BrokenPipeError) and process.nobody_reads():
            return UNREAD
        sentence = process.refusal(error)
        if sentence is None:
            raise
        return _refuse(sentence)
    return code


def run() -> None:
    """The process `heedful`."""
    try:
        from heedful.cli import process

        sentence = process.prepare(_FAREWELL, STOPPED)
        code = main() if sentence is None else _refuse(sentence)
    except KeyboardInterrupt:
        code = _stopped()
    process.end(code, at_once=code in (BAD, STOPPED))


def _stopped() -> int:
    _say(_FAREWELL)
    return STOPPED


def _refuse(message: str) -> int:
    from heedful.cli.process import one_line
    from heedful.cli.terminal import harmless

    _say(harmless(f"error: {one_line(message)}"))
    return BAD


def _say(line: str) -> None:
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        pass  # nobody can be told


if __name__ == "__main__":
    run()
