"""Errors a user can fix."""

import difflib
from collections.abc import Iterable

__all__ = ["HeedfulError", "unknown_name"]


class HeedfulError(Exception):
    """Bad input or a bad state of the world; the message is one sentence that names the fix.

    The command line prints it without a traceback and exits with code 2.
    """


def listed(names: Iterable[object], most: int = 20) -> str:
    """Names from data or a model, of which there may be very many, each very long."""
    every = [short(str(name)) for name in names]
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more or "none"


def short(text: str, most: int = 60) -> str:
    """What somebody else wrote, short enough for a sentence."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def unknown_name(kind: str, name: str, known: list[str]) -> HeedfulError:
    """The error for a wrong name: it lists the right ones, the likeliest first."""
    listed = ", ".join(sorted(known))
    return HeedfulError(f"unknown {kind} {name!r}{meant(name, known)}: choose one of {listed}.")


def meant(name: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` where a known name is close, whatever its case; else nothing."""
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, 1)
    return f" (did you mean {folded[close[0]]!r}?)" if close else ""
