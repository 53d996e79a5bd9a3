"""Whoever reaches for the network is stopped and noted, by whatever library."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class NetworkUsed(RuntimeError):
    """Something would have left this machine."""


_watching: list[list[str]] = []
_EVENTS = {
    "socket.connect": 1,
    "socket.bind": 1,
    "socket.sendto": 1,
    "socket.sendmsg": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
    "socket.gethostbyaddr": 0,
}
"""Where each event has its address."""


@contextmanager
def no_network() -> Iterator[list[str]]:
    """Everything that was tried: what raises in a thread or is caught is still noted."""
    if _listen not in _hooks:
        sys.addaudithook(_listen)  # it can never be removed, only told not to watch
        _hooks.append(_listen)
    tried: list[str] = []
    _watching.append(tried)
    try:
        yield tried
    finally:
        _watching.remove(tried)


_hooks: list[Any] = []


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching or event not in _EVENTS:
        return
    address = arguments[_EVENTS[event]]
    if _here(address):
        return
    for tried in _watching:
        tried.append(f"{event} {address!r}")
    raise NetworkUsed(f"{event} {address!r}")


def _here(address: Any) -> bool:
    """A name of a file (AF_UNIX), nobody at all, or this machine."""
    host = address[0] if isinstance(address, tuple) else address
    if isinstance(address, tuple):
        return host == "localhost" or _loopback(str(host))
    return address is None or "/" in str(address) or host == "localhost" or _loopback(str(host))


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
