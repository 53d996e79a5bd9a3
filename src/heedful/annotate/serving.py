"""The server as a process: one port of this machine, until somebody stops it."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from heedful.annotate.app import application
from heedful.annotate.database import opened
from heedful.annotate.study import Study
from heedful.web import LOOPBACK, address, bound
from heedful.web import serve as run


def serve(study: Study, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Returns when the server was stopped. `ready` is told the address once it is taken. Everybody
    who answers has a link of their own, so other machines need no further token."""
    hosts = LOOPBACK if host in LOOPBACK else None
    # One connection stays: without it SQLite would tidy up its log after every single answer.
    with bound(host, port) as here, opened(study.path):
        ready(address(here))
        run(application(study, hosts), here)


def links(study: Study, root: str) -> dict[str, str]:
    """Everybody's own link, and that of the results."""
    found = {each.name: f"{root}?annotator={quote(each.token)}" for each in study.annotators()}
    return {**found, "results": f"{root}results?key={quote(study.key)}"}
