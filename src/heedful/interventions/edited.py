"""Models whose attention is always edited, and trained models restored from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from heedful.data import SPLITS, Prepared, shown_to
from heedful.errors import HeedfulError
from heedful.interventions.weights import build_edit, frozen
from heedful.models import Around, Attention, Family, State, Writer, build, main_site
from heedful.specs import ModelSpec
from heedful.store import Run, store_of
from heedful.types import (
    Batch,
    Edit,
    Edits,
    EditSpec,
    SiteCall,
    Trace,
)

SEEDED = ("random", "permute")
_TOKENS_AT_ONCE = 1 << 13


def edited(
    model: Family, spec: ModelSpec, seed: int, given: Mapping[str, Tensor] | None = None
) -> Family:
    """The model as its spec has it: with `train_edit` at every site, or as it is. `frozen`
    weights are `given` by example and stand at the main site."""
    if not spec.train_edit:
        return model
    if spec.train_edit == "frozen":
        if given is None:
            raise HeedfulError("frozen attention needs a teacher: another model of the corpus.")
        own: Edits = {site.name: frozen(given) for site in model.sites if site.main}
    else:
        params = (("seed", seed),) if spec.train_edit in SEEDED else ()
        edit = build_edit(EditSpec(spec.train_edit, params))
        own = {site.name: edit for site in model.sites}
    return EditedWriter(model, own) if isinstance(model, Writer) else Edited(model, own)


class Edited(Around):
    """An edit given in a call sees the weights that the model's own edit left."""

    model: Family

    def __init__(self, model: Family, own: Edits) -> None:
        super().__init__(model)
        self.own = own

    def _both(self, given: Edits) -> Edits:
        return {**given, **{site: _after(own, given.get(site)) for site, own in self.own.items()}}

    @property
    def attentions(self) -> Mapping[str, Attention]:
        return self.model.attentions

    def forward(self, batch: Batch, edits: Edits | None = None, *rest: Any, **more: Any) -> Trace:
        """All but the edits is for the model inside."""
        trace: Trace = self.model(batch, self._both(edits or {}), *rest, **more)
        return trace

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        return self.model.resume(batch, trace, self._both(edits))


def _after(own: Edit, given: Edit | None) -> Edit:
    if given is None:
        return own

    def edit(call: SiteCall) -> Tensor:
        return given(replace(call, weights=own(call)))

    return edit


class EditedWriter(Edited, Writer):
    """The same of a model that writes."""

    model: Writer

    def start(self, batch: Batch, edits: Edits | None = None) -> State:
        return self.model.start(batch, self._both(edits or {}))

    def step(
        self, state: State, tokens: Int[Tensor, " b"], t: int
    ) -> tuple[Float[Tensor, "b c"], State]:
        return self.model.step(state, tokens, t)

    def reorder(self, state: State, rows: Int[Tensor, " n"]) -> State:
        return self.model.reorder(state, rows)


Given = Mapping[str, Tensor]
"""Weights by example id, `[heads, queries, keys]`."""


def restored(run: Run, device: str = "cpu") -> Family:
    """The trained model of a run, with whatever its attention was replaced by."""
    store, spec = store_of(run), run.spec
    corpus = Prepared(store.open(run.source("corpus")))
    given = None
    if spec.train_edit == "frozen":
        given = weights_by_id(store.open(run.source("teacher")), device)
    try:
        fresh = build(spec, torch.zeros_like(corpus.vectors), corpus.classes, 0)
        model = edited(fresh, spec, run.seed, given)
        model.load_state_dict(load_file(run.weights("weights")))
    except (RuntimeError, ValueError, SafetensorError) as error:
        raise run.unfit("its weights are not those of the model in its facts") from error
    return model.to(device).eval()


@torch.no_grad()
def weights_by_id(teacher: Run, device: str = "cpu") -> Given:
    """What a trained model attends to in every example of its corpus, at its main site."""
    store = store_of(teacher)
    corpus = shown_to(teacher.spec, Prepared(store.open(teacher.source("corpus"))))
    model = restored(teacher, device)
    site = main_site(model).name
    found: dict[str, Tensor] = {}
    for name in SPLITS:
        for _, batch in corpus.split(name).batches(256, _TOKENS_AT_ONCE):
            trace = model(batch.to(device))
            weights, masks = trace.weights[site].cpu(), trace.masks[site].cpu()
            for row, example in enumerate(batch.ids):
                found[example] = weights[row][..., masks[row].any(0).any(0)].clone()
    return found
