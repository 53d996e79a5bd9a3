"""What another version of Heedful wrote is read or refused, never misread."""

from __future__ import annotations

from heedful.errors import HeedfulError


def unread(found: object, reads: int) -> str:
    """Why a schema version is not read; empty where it is."""
    if type(found) is int and found == reads:
        return ""
    if is_newer(found, reads):
        return f"it has schema {found} of a newer Heedful, this one reads {reads}"
    if found is None:
        return f"it says no schema version, this Heedful reads {reads}"
    return f"it has schema {str(found)[:20]}, this Heedful reads {reads}"


def is_newer(found: object, reads: int) -> bool:
    """Whether an update would help."""
    return type(found) is int and found > reads


def check_version(what: str, found: object, reads: int, again: str) -> None:
    """`again` is what to do where this Heedful is the newer one."""
    reason = unread(found, reads)
    if reason:
        fix = "update Heedful" if is_newer(found, reads) else again
        raise HeedfulError(f"{what} cannot be read because {reason}: {fix}.")
