"""Where a store is: a folder, or a URL with a folder of this machine in front of it."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from heedful.errors import HeedfulError

Place = str | Path
"""A `Path` is always a folder; a text may be a URL, which a `Path` would spoil."""
_URL = re.compile(r"(?P<protocol>[A-Za-z][\w+.:-]*)://(?P<rest>.*)", re.DOTALL)
_SECRET = re.compile(r"[^/@]*:[^/]*@")


def url_of(place: Place) -> str | None:
    """The URL in its one spelling, or None for a folder."""
    found = _URL.fullmatch(place) if isinstance(place, str) else None
    if found is None:
        return None
    protocol, rest = found["protocol"], found["rest"].rstrip("/")
    if _SECRET.match(rest):
        raise HeedfulError(
            "the store's URL holds a password, which others could read: leave it out, and put it "
            "where fsspec finds it (https://filesystem-spec.readthedocs.io, Configuration)."
        )
    if protocol in ("file", "local"):
        return f"file://{os.path.abspath(os.path.expanduser(rest or '/'))}"
    return f"{protocol}://{rest}"


def cache_folder(url: str) -> Path:
    """The store in front of a URL: one for each, whoever works on this machine."""
    name = hashlib.sha256(url.encode()).hexdigest()[:16]
    chosen = os.environ.get("HEEDFUL_CACHE")
    if chosen:
        return Path(chosen).absolute() / name
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "heedful" / name
