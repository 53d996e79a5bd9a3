"""The server's application: pages, routes, and every error as one sentence."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from heedful.annotate.refusal import Refusal
from heedful.annotate.routes import Desk, router
from heedful.annotate.study import Study
from heedful.web import LOOPBACK, Guard, Rules, refused

LARGEST = 64 * 1024  # bytes of a request
_HTML, _SCRIPT = "text/html; charset=utf-8", "text/javascript; charset=utf-8"
PAGES = {
    "/": ("index.html", _HTML),
    "/results": ("results.html", _HTML),
    "/static/annotate.js": ("annotate.js", _SCRIPT),
    "/static/server.js": ("server.js", _SCRIPT),
    "/static/text.js": ("text.js", _SCRIPT),
    "/static/results.js": ("results.js", _SCRIPT),
    "/static/style.css": ("style.css", "text/css; charset=utf-8"),
}
_SAID = {404: "there is no such page: open the link you were given.", 405: "not this way."}


def application(study: Study, hosts: frozenset[str] | None = LOOPBACK) -> Guard:
    """The ASGI application of one study, under the names of `hosts`."""
    app = FastAPI(title="Heedful annotate", docs_url=None, redoc_url=None)
    app.state.desk = Desk(study)
    for path, (name, kind) in PAGES.items():
        app.add_api_route(path, _page(name, kind), include_in_schema=False)
    app.include_router(router)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unknown)
    return Guard(app, Rules(LARGEST, hosts))


def _page(name: str, kind: str) -> Callable[[], Response]:
    content = files("heedful.annotate").joinpath("static", name).read_bytes()

    def page() -> Response:
        return Response(content, media_type=kind)

    return page


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refused(error.status, str(error), **error.more)


def _malformed(request: Request, error: Exception) -> Response:
    """400 for what is no JSON, 422 for JSON that is no answer; the first problem is named."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return refused(400, "the request is no JSON: send an object.")
    where = ".".join(str(part)[:40] for part in first["loc"])
    return refused(422, f"the request is wrong at {where}: {str(first['msg'])[:200].lower()}.")


def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = _SAID.get(error.status_code, f"{str(error.detail)[:200].rstrip('.')}.")
    return refused(error.status_code, said)
