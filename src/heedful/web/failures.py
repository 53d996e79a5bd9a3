"""Every failure is JSON with one sentence, and the status that fits."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from heedful.errors import HeedfulError
from heedful.web.guard import refused
from heedful.web.turns import Busy, TooSlow

PLAIN = {
    400: "the body cannot be read: send a JSON object.",
    404: "there is nothing at this address.",
    405: "this address takes another method.",
}


class NotThere(HeedfulError):
    """A model, a site or a head that does not exist."""


def explain_failures(app: FastAPI) -> None:
    app.add_exception_handler(HeedfulError, _mendable)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(Exception, _unexpected)


def _mendable(_: Request, error: Exception) -> JSONResponse:
    known = ((NotThere, 404), (Busy, 503), (TooSlow, 504), (HeedfulError, 422))
    status = next(code for kind, code in known if isinstance(error, kind))
    response = refused(status, str(error))
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response


def _invalid(_: Request, error: Exception) -> JSONResponse:
    """The first thing that is wrong; what was sent is not sent back."""
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = dict(error.errors()[0])
    if first["type"] == "json_invalid":
        return refused(400, "the body is no JSON: send an object as application/json.")
    where, what = _place(first["loc"]), str(first["msg"])
    return refused(422, f"{where}: {what[:1].lower()}{what[1:]}.")


def _place(location: Sequence[Any]) -> str:
    inner = ".".join(str(part)[:40] for part in location[1:])
    return f"the field {inner!r}" if len(location) > 1 else "the body"


def _plain(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return refused(error.status_code, PLAIN.get(error.status_code, str(error.detail)))


def _unexpected(_: Request, error: Exception) -> JSONResponse:
    """The reason is for the terminal, not for whoever asks."""
    logging.getLogger("heedful.web").error("an unexpected error", exc_info=error)
    return refused(500, "something went wrong here: the terminal of the server says what.")
