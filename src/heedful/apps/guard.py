"""What both servers share: who may ask, how much may be sent, what a browser may do, and every
failure as one sentence."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request, cookie_parser
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heedful import __version__

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

_PLAIN = {
    400: "the body cannot be read: send a JSON object.",
    404: "there is nothing at this address: open the one that was printed.",
    405: "this address takes another method.",
}


def web_app(title: str, static: Path, pages: Mapping[str, str]) -> FastAPI:
    """An application with pages and the files beside them, whose failures are sentences. FastAPI's
    page of docs, which loads scripts from elsewhere, is left out; /openapi.json is there."""
    app = FastAPI(title=title, version=__version__, docs_url=None, redoc_url=None)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused_by_framework)
    app.add_exception_handler(Exception, _unexpected)
    for path, name in pages.items():
        app.add_api_route(path, _page(static / name), methods=["GET"], include_in_schema=False)
    app.mount("/static", StaticFiles(directory=static, packages=[("heedful", "assets")]))
    return app


def _page(file: Path) -> Callable[[], FileResponse]:
    return lambda: FileResponse(file)


def _invalid(_: Request, error: Exception) -> JSONResponse:
    """400 for a body that is not JSON, 422 for JSON that is not what was asked for. The first
    mistake is named; what was sent is not sent back."""
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = dict(error.errors()[0])
    if first["type"] == "json_invalid":
        return refused(400, "the body is no JSON: send an object as application/json.")
    place = ".".join(str(part)[:40] for part in first["loc"][1:])
    where, what = f"the field {place!r}" if place else "the body", str(first["msg"])[:200]
    return refused(422, f"{where}: {what[:1].lower()}{what[1:]}.")


def _refused_by_framework(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return refused(error.status_code, _PLAIN.get(error.status_code, str(error.detail)))


def _unexpected(_: Request, error: Exception) -> JSONResponse:
    """The reason is for the terminal, not for whoever asks."""
    logging.getLogger("heedful.apps").error("an unexpected error", exc_info=error)
    return refused(500, "something went wrong here: the terminal of the server says what.")


@dataclass(frozen=True)
class Rules:
    """`hosts` are the names the server answers to; another name that resolves to this machine
    is an attack (DNS rebinding). None allows any name, and then there should be a `token`."""

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
        """Exchange the address that holds the token for a cookie, so that nobody copies the token
        with the address."""
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
        """Count a body as it arrives, since its announced length may be missing or wrong."""
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
    """Compared in constant time; headers are bytes, and a token's are UTF-8."""
    return hmac.compare_digest(given, token.encode())


def refused(status: int, sentence: str, **more: Any) -> JSONResponse:
    """Lone surrogates, which a sentence may quote, cannot be sent."""
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
