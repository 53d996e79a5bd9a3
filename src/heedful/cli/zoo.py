"""`heedful zoo`, hidden for one more release: it says what its name is now."""

from __future__ import annotations

from heedful.errors import HeedfulError


def zoo() -> None:
    """Now `heedful benchmark --part compiled`."""
    raise HeedfulError(
        "`heedful zoo` is now a part of the benchmark: run `heedful benchmark --part compiled`."
    )
