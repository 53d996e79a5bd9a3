"""A server that begins with a free port and ends when it is told to."""

from __future__ import annotations

import secrets
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from heedful.errors import HeedfulError
from heedful.web.guard import LOOPBACK, Rules

_PATIENCE = 5  # seconds for what is under way when the server is told to end


def rules_for(host: str, token: str | None) -> Rules:
    """Who comes from elsewhere must know a token: the one given, else a random one."""
    if token is not None and not token.strip():
        raise HeedfulError("--token is empty: give one, or leave it out for a random one.")
    if host in LOOPBACK:
        return Rules(hosts=LOOPBACK, token=token)
    return Rules(hosts=None, token=token or secrets.token_urlsafe(18))


def bound(host: str, port: int) -> socket.socket:
    """The port, held from now on; 0 is any free one."""
    if not host.strip():
        raise HeedfulError("--host is empty: give a name or an address, or leave it out.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    here = socket.socket(family, socket.SOCK_STREAM)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        here.bind((host, port))
        here.listen(1024)
    except (OSError, OverflowError, UnicodeError) as error:
        here.close()
        what = getattr(error, "strerror", None) or str(error)
        raise HeedfulError(
            f"{host}:{port} cannot be served ({what.lower()}): choose another --port or --host."
        ) from error
    return here


def address(here: socket.socket, rules: Rules = Rules()) -> str:
    """What to open in a browser."""
    host, port = here.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={rules.token}" if rules.token else "")


def serve(app: ASGIApp, here: socket.socket) -> None:
    """Until SIGINT or SIGTERM, the usual ends of a server: what is under way is finished first."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    _Server(config).run(sockets=[here])


class _Server(uvicorn.Server):
    """uvicorn's own would raise the signal once more afterwards, and end with a traceback."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)
