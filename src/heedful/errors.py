"""Errors a user can mend."""


class HeedfulError(Exception):
    """Bad input or a bad state of the world; the message is one sentence that names the fix.

    The command line prints it without a traceback and exits with code 2.
    """


def unknown_name(kind: str, name: str, known: list[str]) -> HeedfulError:
    """The error for a wrong name: it lists the right ones."""
    return HeedfulError(f"unknown {kind} {name!r}: choose one of {', '.join(sorted(known))}.")
