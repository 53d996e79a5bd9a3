"""What stands before every request: who asks, how much is sent, and what a browser may do."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "heedful-token"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Rules:
    """`hosts` are the names the server answers to (another site's name that leads here is an
    attack by DNS); None is any, and then there should be a `token`."""

    most_bytes: int = 256 * 1024
    hosts: frozenset[str] | None = LOOPBACK
    token: str | None = None


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, rules: Rules = Rules()) -> None:
        self.app, self.rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self.app(scope, self._counted(receive), _with_headers(send))
        else:
            await refusal(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = self.rules.hosts
        if hosts is not None and _host(headers.get("host", "")) not in hosts:
            return refused(421, "this server answers to its own name only: use the address shown.")
        if not self._known(headers):
            return self._introduced(scope)
        length = headers.get("content-length", "0")
        plain = length.isascii() and length.isdigit() and len(length) < 20
        if not plain or int(length) > self.rules.most_bytes:
            return refused(413, self._too_large)
        return None

    def _known(self, headers: Headers) -> bool:
        if self.rules.token is None:
            return True
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        token = self.rules.token
        return _same(bearer.encode("latin-1"), token) or _same(
            cookie.encode("latin-1"), quoted(token)
        )

    def _introduced(self, scope: Scope) -> Response:
        """The address with the token in it is exchanged for a cookie, so that the token does
        not stay where people copy addresses from."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        token = self.rules.token or ""
        if scope["path"] != "/" or scope["method"] != "GET" or not _same(given.encode(), token):
            refusal = refused(401, "this server needs its token: open the address it printed.")
            refusal.headers["WWW-Authenticate"] = "Bearer"
            return refusal
        welcome = RedirectResponse("/", status_code=303)
        welcome.set_cookie(COOKIE, quoted(token), httponly=True, samesite="strict")
        return welcome

    def _counted(self, receive: Receive) -> Receive:
        """A body whose length nobody announced is counted as it comes."""
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.rules.most_bytes:
                raise HTTPException(413, self._too_large)
            return message

        return counted

    @property
    def _too_large(self) -> str:
        return f"the request is too large: at most {self.rules.most_bytes // 1024} KiB are read."


def quoted(token: str) -> str:
    """As it stands in addresses and cookies, which hold ASCII only."""
    return quote(token, safe="")


def _same(given: bytes, token: str) -> bool:
    """In a time that tells nothing; headers are bytes, and a token's are UTF-8."""
    return hmac.compare_digest(given, token.encode())


def refused(status: int, sentence: str, **more: Any) -> JSONResponse:
    """Half of a character, which a sentence may quote, cannot be sent."""
    whole = sentence.encode("utf-8", "replace").decode()
    return JSONResponse({"error": whole, **more}, status_code=status)


def _host(header: str) -> str:
    """Without the port; an IPv6 address stands in brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sent
