"""The server behind the pages of annotators. Every request shows the token of its link."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from secrets import compare_digest
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field, StrictInt, StrictStr

from heedful.apps import LOOPBACK, Guard, Rules, address, bound, refused, web_app
from heedful.apps import serve as run
from heedful.apps.annotation.database import Refusal, opened
from heedful.apps.annotation.results import results as compute
from heedful.apps.annotation.study import Annotator, Answer, Study

router = APIRouter(prefix="/api")
Name = Annotated[StrictStr, Field(min_length=1, max_length=200)]
Value = Name | list[StrictInt]
Bearer = Annotated[str, Header()]
LARGEST = 64 * 1024  # bytes of a request
STATIC = Path(__file__).parent / "static"
PAGES = {"/": "index.html", "/results": "results.html"}


class Desk:
    """A study and its last computed results."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._known: tuple[tuple[int, int], dict[str, Any]] = ((-1, -1), {})
        self._computing = threading.Lock()

    def results(self) -> dict[str, Any]:
        """Recomputed only after a change."""
        with self._computing:
            now = (self.study.changes(), len(self.study.annotators()))
            if now != self._known[0]:
                self._known = (now, compute(self.study))
            return self._known[1]


def desk_of(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


TheDesk = Annotated[Desk, Depends(desk_of)]


def asker(desk: TheDesk, authorization: Bearer = "") -> Annotator:
    return desk.study.annotator(_token(authorization))


Me = Annotated[Annotator, Depends(asker)]


class AnswerBody(BaseModel):
    """`before` is the answer that the page has shown; `request` names this attempt."""

    item: StrictInt
    value: Value
    before: Value | None = None
    request: Name


class UndoBody(BaseModel):
    request: Name


@router.get("/study")
def state(desk: TheDesk, me: Me) -> dict[str, Any]:
    """The task, and how far this annotator is."""
    study = desk.study
    facts = {"task": study.task, "labels": study.facts["labels"], "annotator": me.name}
    return {**facts, **_progress(study, me)}


@router.get("/items/{place}")
def item(place: int, desk: TheDesk, me: Me) -> dict[str, Any]:
    """The item at a place of this annotator's own order. Nothing here tells original weights
    from permuted ones, or right from wrong."""
    if not 0 <= place < len(me.places):
        raise Refusal(404, f"there is no place {place}: they go from 0 to {len(me.places) - 1}.")
    study = desk.study
    shown = study.items[me.places[place]]
    return {
        "place": place,
        "item": shown.number,
        "texts": shown.pieces(),
        "top": list(shown.top),
        "class": shown.explained,
        "of": "label" if shown.asks_label else "prediction",
        "value": study.answers(me.name).get(shown.number),
    }


@router.post("/answers")
def answer(body: AnswerBody, desk: TheDesk, me: Me) -> dict[str, Any]:
    """Replies when the answer is on disk."""
    desk.study.answer(me.name, Answer(body.item, body.value, body.before, body.request))
    return {"saved": True, **_progress(desk.study, me)}


@router.post("/undo")
def undo(body: UndoBody, desk: TheDesk, me: Me) -> dict[str, Any]:
    """The place whose answer was taken back; null where there was none."""
    found = desk.study.undo(me.name, body.request)
    place = None if found is None else me.places.index(found)
    return {"undone": place, **_progress(desk.study, me)}


@router.get("/results")
def results(desk: TheDesk, authorization: Bearer = "") -> dict[str, Any]:
    if not compare_digest(_token(authorization).encode(), desk.study.key.encode()):
        raise Refusal(
            401, "the results have a link of their own: `heedful annotate serve` says it."
        )
    return desk.results()


def _progress(study: Study, me: Annotator) -> dict[str, Any]:
    """`next` is the first place without an answer; null when all have one."""
    done = study.answers(me.name)
    waiting = (place for place, number in enumerate(me.places) if number not in done)
    return {"answered": len(done), "total": len(me.places), "next": next(waiting, None)}


def _token(authorization: str) -> str:
    return authorization.removeprefix("Bearer ").strip()


def application(study: Study, hosts: frozenset[str] | None = LOOPBACK) -> Guard:
    """The ASGI application of one study, under the names of `hosts`."""
    app = web_app("Heedful annotate", STATIC, PAGES)
    app.state.desk = Desk(study)
    app.include_router(router)
    app.add_exception_handler(Refusal, _refused)
    return Guard(app, Rules(LARGEST, hosts))


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refused(error.status, str(error), **error.more)


def serve_study(study: Study, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until stopped; `ready` is called with the address once the port is bound. Every
    annotator has a personal link, so other machines need no further token."""
    hosts = LOOPBACK if host in LOOPBACK else None
    # One connection stays: without it SQLite would tidy up its log after every single answer.
    with bound(host, port) as here, opened(study.path):
        ready(address(here))
        run(application(study, hosts), here)


def links(study: Study, root: str) -> dict[str, str]:
    """The link of each annotator, and that of the results."""
    found = {each.name: f"{root}?annotator={quote(each.token)}" for each in study.annotators()}
    return {**found, "results": f"{root}results?key={quote(study.key)}"}
