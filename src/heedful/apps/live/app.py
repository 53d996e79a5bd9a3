"""The live page: what may be asked of it, the answers, and every failure as one sentence."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp
from torch.nn.modules.module import register_module_forward_pre_hook

from heedful import __version__
from heedful.apps.guard import Guard, Rules, refused
from heedful.apps.live.decomposition import apart
from heedful.apps.live.editing import Change, edited, edited_by
from heedful.apps.live.models import Limits, NotThere, Opened, params_of, predict, sight_of
from heedful.apps.live.seen import Seen
from heedful.apps.live.turns import Busy, TooSlow, Turns
from heedful.errors import HeedfulError
from heedful.parameters import LARGEST_SEED

STATIC = Path(__file__).parent / "static"
MOST_UNITS = 4096
PLAIN = {
    400: "the body cannot be read: send a JSON object.",
    404: "there is nothing at this address.",
    405: "this address takes another method.",
}
Written = Annotated[str, Field(max_length=300)]
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class Ask(BaseModel):
    """A text, or a pair, for one of the models."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Annotated[int, Field(ge=0, description="0, or 1 where two are served.")] = 0
    text: str
    text_b: str | None = None


class Predict(Ask):
    explanations: Annotated[list[Written], Field(max_length=32)] = []


class Place(Ask):
    """A site by its name; a head by its number, all of them if it is left out."""

    site: Written
    head: Annotated[int | None, Field(ge=0)] = None


class Edit(Place):
    """Either the weights of the site's words (or sentences), or a kind of them."""

    queries: Literal["reading", "all"] = "reading"
    weights: Annotated[list[Weight] | None, Field(max_length=MOST_UNITS)] = None
    kind: Literal["uniform", "shuffled", "furthest"] | None = None
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0


class Explain(Place):
    """`of` is the class whose logit is added up."""

    of: Written | None = None


def live_app(
    models: Sequence[Opened], rules: Rules = Rules(), limits: Limits = Limits()
) -> ASGIApp:
    """One model or two, already opened. The docs page of FastAPI, which loads scripts from
    elsewhere, is left out; /openapi.json is there."""
    app = FastAPI(title="heedful serve", version=__version__, docs_url=None, redoc_url=None)
    explain_failures(app)
    live = Live(models, limits)
    app.add_api_route("/api/model", live.facts, methods=["GET"])
    app.add_api_route("/api/predict", live.predict, methods=["POST"])
    app.add_api_route("/api/edit", live.edit, methods=["POST"])
    app.add_api_route("/api/explain", live.explain, methods=["POST"])
    app.add_api_route("/", page, methods=["GET"], include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC, packages=[("heedful", "assets")]))
    return Guard(app, rules)


def page() -> FileResponse:
    return FileResponse(STATIC / "live.html")


class Live:
    """The endpoints. Every call of a model waits for its turn."""

    def __init__(self, models: Sequence[Opened], limits: Limits) -> None:
        self.models, self.limits = tuple(models), limits
        self.turns = Turns(limits.waiting, limits.seconds)
        self._facts = [each.facts() for each in self.models]

    async def facts(self) -> dict[str, Any]:
        """The models served: names, sites, labels, explanations that fit; and the limits."""
        return {"models": self._facts, "limits": asdict(self.limits)}

    async def predict(self, asked: Predict) -> dict[str, Any]:
        """Words, class probabilities, the weights of every site and head, explanations."""
        if len(asked.explanations) > self.limits.explanations:
            raise HeedfulError(
                f"{len(asked.explanations)} explanations are too many: ask for at most "
                f"{self.limits.explanations} at once."
            )
        return await self._turn(lambda: self._predict(asked))

    async def edit(self, asked: Edit) -> dict[str, Any]:
        """The prediction with other weights at one site; later sites are computed anew."""
        if (asked.weights is None) == (asked.kind is None):
            raise HeedfulError("give either weights or a kind of them, and not both.")
        return await self._turn(lambda: self._edit(asked))

    async def explain(self, asked: Explain) -> dict[str, Any]:
        """Attention taken apart: states, scores, weights, contributions, prediction."""
        return await self._turn(lambda: self._explain(asked))

    async def _turn(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A model looks up before each of its modules, so that work nobody waits for ends."""

        def interruptible() -> dict[str, Any]:
            watch = register_module_forward_pre_hook(lambda *_: self.turns.check())
            try:
                return work()
            finally:
                watch.remove()

        return await self.turns.run(interruptible)

    def _predict(self, asked: Predict) -> dict[str, Any]:
        for name, params in params_of(asked.explanations):
            self.limits.check_params(name, params)
        return predict(self._seen(asked), asked.explanations)

    def _edit(self, asked: Edit) -> dict[str, Any]:
        seen = self._seen(asked)
        each = sight_of(seen, asked.site, asked.head)
        change = Change(each, asked.head, asked.queries)
        if asked.kind is not None:
            return edited_by(seen, change, asked.kind, asked.seed)
        return edited(seen, change, asked.weights or [])

    def _explain(self, asked: Explain) -> dict[str, Any]:
        seen = self._seen(asked)
        return apart(seen, sight_of(seen, asked.site, asked.head), asked.head, asked.of)

    def _seen(self, asked: Ask) -> Seen:
        if asked.model >= len(self.models):
            raise NotThere(f"there is no model {asked.model}: {len(self.models)} are served.")
        return self.models[asked.model].see(asked.text, asked.text_b)


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
    logging.getLogger("heedful.apps").error("an unexpected error", exc_info=error)
    return refused(500, "something went wrong here: the terminal of the server says what.")
