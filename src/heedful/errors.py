"""Errors a user can mend."""

import difflib
from collections.abc import Iterable

__all__ = ["HeedfulError", "unknown_name"]


class HeedfulError(Exception):
    """Bad input or a bad state of the world; the message is one sentence that names the fix.

    The command line prints it without a traceback and exits with code 2.
    """


def unknown_name(kind: str, name: str, known: list[str]) -> HeedfulError:
    """The error for a wrong name: it lists the right ones, the likeliest first."""
    listed = ", ".join(sorted(known))
    return HeedfulError(f"unknown {kind} {name!r}{meant(name, known)}: choose one of {listed}.")


def meant(name: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` where a known name is close, whatever its case; else nothing."""
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, 1)
    return f" (did you mean {folded[close[0]]!r}?)" if close else ""
