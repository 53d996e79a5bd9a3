"""The application: a page, and what the page asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import ASGIApp
from torch.nn.modules.module import register_module_forward_pre_hook

from heedful import __version__
from heedful.errors import HeedfulError
from heedful.web.failures import NotThere, explain_failures
from heedful.web.guard import Guard, Rules
from heedful.web.live.apart import apart
from heedful.web.live.asking import Ask, Edit, Explain, Predict
from heedful.web.live.editing import Change, edited, edited_by
from heedful.web.live.limits import Limits
from heedful.web.live.opened import Opened, sight_of
from heedful.web.live.predicting import params_of, predict
from heedful.web.live.seen import Seen
from heedful.web.turns import Turns

STATIC = Path(__file__).parent.parent / "static"


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
        return {"models": self._facts, "limits": self.limits.to_dict()}

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
