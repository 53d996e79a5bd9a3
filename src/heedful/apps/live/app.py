"""The live page: requests, answers, and whose turn it is: one call of a model at a time."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse
from starlette.types import ASGIApp
from torch.nn.modules.module import register_module_forward_pre_hook

from heedful.apps.guard import Guard, Rules, refused, web_app
from heedful.apps.live.decomposition import apart
from heedful.apps.live.editing import PRESETS, Change, checked, edited
from heedful.apps.live.models import (
    Limits,
    NotThere,
    Opened,
    by_token,
    heads,
    params_of,
    predict,
    sight_of,
)
from heedful.apps.live.seen import Seen
from heedful.errors import HeedfulError
from heedful.parameters import LARGEST_SEED

STATIC = Path(__file__).parent / "static"
MOST_UNITS = 4096
Written = Annotated[str, Field(max_length=300)]
T = TypeVar("T")
_Call = tuple[Future[Any], Callable[[], Any], threading.Event]
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class Ask(BaseModel):
    """A text, or a pair, for one of the models. With documents as units, a text is a list."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Annotated[int, Field(ge=0, description="0, or 1 where two are served.")] = 0
    text: str | Annotated[list[str], Field(min_length=1, max_length=MOST_UNITS)]
    text_b: str | None = None


class Predict(Ask):
    explanations: Annotated[list[Written], Field(max_length=32)] = []


class Place(Ask):
    """A site by its name; a head by its number, all of them if it is left out."""

    site: Written
    head: Annotated[int | None, Field(ge=0)] = None


class Edit(Place):
    """Either weights of the site's words (or sentences), or a preset."""

    queries: Literal["reading", "all"] = "reading"
    weights: Annotated[list[Weight] | None, Field(max_length=MOST_UNITS)] = None
    kind: Literal["uniform", "shuffled", "furthest"] | None = None
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0


class ByToken(Ask):
    explanation: Written


class Explain(Place):
    """`of` is the class whose logit is decomposed."""

    of: Written | None = None


def live_app(
    models: Sequence[Opened], rules: Rules = Rules(), limits: Limits = Limits()
) -> ASGIApp:
    """One model or two, already opened."""
    app = web_app("heedful serve", STATIC, {"/": "live.html"})
    app.add_exception_handler(HeedfulError, _refused)
    live = Live(models, limits)
    app.add_api_route("/api/model", live.facts, methods=["GET"])
    app.add_api_route("/api/predict", live.predict, methods=["POST"])
    app.add_api_route("/api/edit", live.edit, methods=["POST"])
    app.add_api_route("/api/explain", live.explain, methods=["POST"])
    app.add_api_route("/api/tokens", live.tokens, methods=["POST"])
    app.add_api_route("/api/heads", live.heads, methods=["POST"])
    return Guard(app, rules)


def _refused(_: Request, error: Exception) -> JSONResponse:
    statuses = ((NotThere, 404), (Busy, 503), (TooSlow, 504), (HeedfulError, 422))
    status = next(code for kind, code in statuses if isinstance(error, kind))
    response = refused(status, str(error))
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response


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

    async def tokens(self, asked: ByToken) -> dict[str, Any]:
        """An answer token by token: what each rests on, by one explanation."""
        return await self._turn(lambda: self._tokens(asked))

    async def heads(self, asked: Ask) -> dict[str, Any]:
        """Attention of every layer and head between tokens, as bytes: 255 times the square root."""
        return await self._turn(lambda: heads(self._seen(asked)))

    async def _turn(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A hook before each module ends work that nobody waits for any more."""

        def interruptible() -> dict[str, Any]:
            watch = register_module_forward_pre_hook(lambda *_: self.turns.check())
            try:
                return work()
            finally:
                watch.remove()

        return await self.turns.run(interruptible)

    def _predict(self, asked: Predict) -> dict[str, Any]:
        self._check(asked.explanations)
        return predict(self._seen(asked), asked.explanations)

    def _tokens(self, asked: ByToken) -> dict[str, Any]:
        self._check([asked.explanation])
        return by_token(self._seen(asked), asked.explanation)

    def _check(self, explanations: Sequence[str]) -> None:
        for name, params in params_of(explanations):
            self.limits.check_params(name, params)

    def _edit(self, asked: Edit) -> dict[str, Any]:
        seen = self._seen(asked)
        change = Change(sight_of(seen, asked.site, asked.head), asked.head, asked.queries)
        if asked.kind is not None:
            return edited(seen, change, PRESETS[asked.kind](seen, change, asked.seed))
        return edited(seen, change, checked(change.each, asked.weights or []))

    def _explain(self, asked: Explain) -> dict[str, Any]:
        seen = self._seen(asked)
        return apart(seen, sight_of(seen, asked.site, asked.head), asked.head, asked.of)

    def _seen(self, asked: Ask) -> Seen:
        if asked.model >= len(self.models):
            raise NotThere(f"there is no model {asked.model}: {len(self.models)} are served.")
        return self.models[asked.model].see(asked.text, asked.text_b)


class Busy(HeedfulError):
    """Too many are waiting already."""


class TooSlow(HeedfulError):
    """The answer did not come in time."""


class GivenUp(BaseException):
    """Nobody waits for this work any more. Not an `Exception`, so that no handler swallows it."""


class Turns:
    """One thread does all work, first come, first served.

    Work that calls `check` now and then stops soon after its client has given up; other work is
    finished before the next turn. The thread is a daemon, so that a long call never keeps the
    process from ending.
    """

    def __init__(self, waiting: int = 8, seconds: float = 30.0) -> None:
        self.waiting, self.seconds = waiting, seconds
        self._calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._given_up = threading.Event()  # of the call that is being worked on
        self._free = threading.Semaphore(waiting + 1)  # one call is worked on
        self._thread = threading.Thread(target=self._work, daemon=True, name="model")
        self._thread.start()

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, or its exception; `Busy` or `TooSlow` if there is none in time."""
        if not self._free.acquire(blocking=False):
            raise Busy(f"{self.waiting} calls are waiting already: try again in a moment.")
        future: Future[T] = Future()
        future.add_done_callback(lambda _: self._free.release())
        given_up = threading.Event()
        self._calls.put((future, work, given_up))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.seconds)
        except TimeoutError as error:
            raise TooSlow(
                f"the model did not answer within {self.seconds:g} seconds: give a shorter text "
                f"or fewer explanations."
            ) from error
        finally:
            given_up.set()

    def check(self) -> None:
        """For work to call: raises `GivenUp` where nobody waits for it."""
        if self._given_up.is_set() and threading.current_thread() is self._thread:
            raise GivenUp

    def _work(self) -> None:
        while True:
            future, work, self._given_up = self._calls.get()
            if not future.set_running_or_notify_cancel():
                continue  # nobody waits for it any more
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001, handed to whoever asked
                future.set_exception(error)
