"""What listens to one pass: it edits the weights of the sites and keeps what was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.models.hf.inputs import Side
from heedful.models.hf.interface import Call, Output, Softmax
from heedful.types import Edits, Keep, OutputEdit, SiteCall, SiteSpec

MASKED = -5000.0
"""Scores down here are masked: families that mask in a module of their own add between -10,000 and
the lowest number there is."""


@dataclass(frozen=True)
class Site:
    """A site, and which call of which module it is; `written` where that module does not ask the
    interface."""

    spec: SiteSpec
    module: nn.Module
    nth: int = 0
    written: bool = False


Sites = Mapping[tuple[nn.Module, int], Site]
"""In the order they are called."""


class Recorder:
    """The listener of one pass; thrown away after it."""

    def __init__(
        self,
        sites: Sites,
        edits: Edits,
        keep: Keep,
        sides: Mapping[str, Side],
        ids: tuple[str, ...],
    ) -> None:
        self.sites, self.edits, self.keep, self.sides, self.ids = sites, edits, keep, sides, ids
        self.weights: dict[str, Tensor] = {}
        self.masks: dict[str, Tensor] = {}
        self.values: dict[str, Tensor] = {}
        self.projections: dict[str, Tensor | None] = {}
        self.projection_biases: dict[str, Tensor] = {}
        self.output: Tensor | None = None
        self._modules = {module for module, _ in sites}
        self._called: Counter[nn.Module] = Counter()
        self._allowed: dict[tuple[str, str, int], tuple[Tensor | None, Allowed]] = {}
        self._mixed: tuple[str, Tensor] | None = None
        self._site: Site | None = None
        self._own: dict[str, SiteCall] = {}  # weights, for edits of what is made with them

    @property
    def batch(self) -> int:
        return len(self.ids)

    @property
    def width(self) -> int:
        return self.sides["a"].real.shape[1]

    @property
    def seen(self) -> Bool[Tensor, "b t"]:
        return self.sides["a"].turn(self.sides["a"].seen, 1)

    def passes(self, module: nn.Module) -> bool:
        """Where nobody asks about the site."""
        site = self.sites.get((module, self._called[module]))
        unheard = site is not None and self._unheard(site)
        self._called[module] += unheard
        return unheard

    def __call__(self, call: Call) -> Output:
        if call.module not in self._modules:
            return call.plain()
        site = self._next(call.module)
        allowed = self._allow(call, site)
        if call.long and site.spec.name not in self.edits and not allowed.starved:
            output, weights = call.in_blocks(allowed.added, self.keep.weights_of(site.spec.name))
            if weights is not None:
                self._weigh(weights, site, allowed)
            return self._mix(site, output, call.value), None
        if self._unheard(site) and not allowed.starved:
            return call.eager(allowed.added)
        output, weights = call.run(
            lambda weights: self._weigh(weights, site, allowed), allowed.added
        )
        return self._mix(site, output, call.value), weights

    def softmax(self, call: Softmax) -> Tensor | None:
        """The weights to go on with, where this is a site's softmax."""
        site = self.sites.get((call.module, self._called[call.module]))
        if site is not None and call.scores.shape[-2:] != self._shape(site):
            return None
        self._site = site = self._next(call.module)
        queries, keys = self.sides[site.spec.queries], self.sides[site.spec.keys]
        allowed = allowed_in(call.scores, queries, keys)
        weights = call.run(call.scores if allowed.added is None else allowed.added)
        if self._unheard(site) and not allowed.starved:
            return weights
        return self._weigh(weights, site, allowed)

    def product(self, mixed: Tensor, values: Tensor | None) -> Tensor | None:
        """What the site whose softmax was last gives."""
        site, self._site = self._site, None
        if site is None:
            return None
        asked = self.keep.values or self.keep.readout_weights or site.spec.name in self.edits
        return self._mix(site, mixed, values) if asked else None

    def _shape(self, site: Site) -> tuple[int, int]:
        queries, keys = self.sides[site.spec.queries], self.sides[site.spec.keys]
        return queries.real.shape[1], keys.real.shape[1]

    def _mix(
        self, site: Site, output: Float[Tensor, "b q h d"], values: Float[Tensor, "b g k d"] | None
    ) -> Tensor:
        """What a site gives, perhaps edited; groups of heads may share their values."""
        edit = self.edits.get(site.spec.name)
        if isinstance(edit, OutputEdit):
            output = self._put(edit, output, site)
        if self._last_is_read:
            output = self._mark(output)
        if self.keep.values and values is not None:
            name, values = site.spec.name, self.sides[site.spec.keys].turn_back(values, 2)
            groups = output.shape[2] // values.shape[1]
            self.values[name] = values.repeat_interleave(groups, 1) if groups > 1 else values
            self.projections[name], self._mixed = None, (name, output)
        return output

    @contextmanager
    def projecting(self, module: nn.Module) -> Iterator[None]:
        """Inside, the first linear map that is called after a site is its output projection, if it
        is given what the site's heads mixed and nothing else."""
        from transformers.pytorch_utils import Conv1D

        hooks = [
            each.register_forward_pre_hook(partial(self._project, turned=isinstance(each, Conv1D)))
            for each in module.modules()
            if isinstance(each, nn.Linear | Conv1D)
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _project(self, module: Any, given: tuple[Tensor, ...], turned: bool) -> None:
        if self._mixed is None:
            return
        (name, mixed), self._mixed = self._mixed, None
        if torch.equal(mixed.flatten(-2), given[0][:, : mixed.shape[1]]):
            weight: Tensor = module.weight.detach()
            rows = weight if turned else weight.T
            self.projections[name] = rows.reshape(*mixed.shape[-2:], -1)
            if module.bias is not None:
                self.projection_biases[name] = module.bias.detach()

    @property
    def passed(self) -> int:
        """How many sites have been called."""
        return self._called.total()

    def skip(self, sites: int) -> None:
        """So many sites count as called: what they gave is known."""
        self._called.update(site.module for site in list(self.sites.values())[self.passed : sites])

    def at_this_call(self) -> Recorder:
        """One that hears the calls from here on once more, and leaves this one as it is."""
        other = Recorder(
            self.sites, self.edits, replace(self.keep, weights=()), self.sides, self.ids
        )
        other._called.update(self._called)
        return other

    def check(self, kind: str) -> None:
        """Every site was really called."""
        missed = [s.spec.name for s in self.sites.values() if s.nth >= self._called[s.module]]
        if missed:
            raise HeedfulError(
                f"the attention {missed[0]!r} of {kind} was not reached: "
                "use the model inside `with attach(...)`, and without skipping layers."
            )

    def _next(self, module: nn.Module) -> Site:
        key = (module, self._called[module])
        self._called[module] += 1
        if key not in self.sites:
            raise HeedfulError(
                f"{type(module).__name__} was called more often than when it was attached: "
                "attach the model again."
            )
        return self.sites[key]

    def _unheard(self, site: Site) -> bool:
        """Whether nobody asks about the site's weights, and nobody changes them. Padding then
        looks where it likes: nothing looks at padding."""
        asked = self.keep.weights_of(site.spec.name) or self.keep.values or self._last_is_read
        return not asked and site.spec.name not in self.edits

    @property
    def _last_is_read(self) -> bool:
        return self.keep.readout_weights and self.passed == len(self.sites)

    def _weigh(self, weights: Tensor, site: Site, allowed: Allowed) -> Tensor:
        """What goes on to dropout: no weight where none may be, and edited."""
        queries, keys = self.sides[site.spec.queries], self.sides[site.spec.keys]
        name, edit = site.spec.name, self.edits.get(site.spec.name)
        own = keys.turn_back(queries.turn_back(allowed.hush(weights), 2), 3)
        call = SiteCall(site.spec, own, allowed.mask, self.ids)
        if isinstance(edit, OutputEdit):
            self._own[name], edit = call, None
        kept = own if edit is None else edit(call)
        if kept.shape != own.shape:
            raise HeedfulError(
                f"an edit of {name!r} returned shape {tuple(kept.shape)} "
                f"where {tuple(own.shape)} was needed."
            )
        if self.keep.weights_of(name):
            self.weights[name], self.masks[name] = kept, allowed.mask
        return keys.turn(queries.turn(kept, 2), 3).to(weights.dtype)

    def _put(
        self, edit: OutputEdit, output: Float[Tensor, "b q h d"], site: Site
    ) -> Float[Tensor, "b q h d"]:
        """What the heads put out, edited."""
        queries = self.sides[site.spec.queries]
        own = queries.turn_back(output, 1).transpose(1, 2)
        new = edit.applied(self._own[site.spec.name], own).transpose(1, 2)
        return queries.turn(new, 1).contiguous()

    def _allow(self, call: Call, site: Site) -> Allowed:
        """A module makes its masks once for all layers; so do we."""
        key = (site.spec.queries, site.spec.keys, id(call.mask))
        if key not in self._allowed:
            queries, keys = self.sides[site.spec.queries], self.sides[site.spec.keys]
            self._allowed[key] = call.mask, allowed_by(call.mask, queries, keys)
        return self._allowed[key][1]

    def _mark(self, output: Tensor) -> Tensor:
        """What the prediction is differentiated by: from here on gradients are needed, also
        where the caller wants none."""
        if not torch.is_grad_enabled():
            torch.set_grad_enabled(True)
            output = output.detach()
        self.output = output.requires_grad_()
        return self.output


@dataclass(frozen=True)
class Allowed:
    """Where a site may look, in a trace's coordinates; which of the module's query rows see
    nothing at all (None: every row sees something); and the mask that the module should add to its
    scores, or the scores themselves: a row that sees nothing sees everything for the length of a
    softmax, as one over nothing may be no number, and then loses its weights. `starved`: one of
    these rows is not padding's."""

    mask: Bool[Tensor, "b h q k"]
    blind: Bool[Tensor, "b h q 1"] | None
    added: Tensor | None
    starved: bool = False

    def hush(self, weights: Float[Tensor, "b h q k"]) -> Float[Tensor, "b h q k"]:
        """No weights in rows that see nothing."""
        if self.blind is None:
            return weights
        if weights.requires_grad:
            return weights.masked_fill(self.blind, 0.0)
        return weights.masked_fill_(self.blind, 0.0)


def allowed_by(mask: Tensor | None, queries: Side, keys: Side) -> Allowed:
    """From what a module adds to its scores. Padding asks nothing: its rows are empty, as
    nobody reads them."""
    rows = queries.turn(queries.real, 1)[:, None, :, None]
    if mask is None:
        inner = rows & keys.turn(keys.seen, 1)[:, None, None, :]
    else:
        inner = rows & (mask > torch.finfo(mask.dtype).min / 2)
    return _allowed(inner, mask, queries, keys)


def allowed_in(scores: Float[Tensor, "b h q k"], queries: Side, keys: Side) -> Allowed:
    """From the scores themselves, the mask already added; all heads see the same."""
    rows = queries.turn(queries.real, 1)[:, None, :, None]
    return _allowed(rows & (scores > MASKED).any(1, keepdim=True), scores, queries, keys)


def _allowed(
    inner: Bool[Tensor, "b h q k"], added: Tensor | None, queries: Side, keys: Side
) -> Allowed:
    blind = ~inner.any(-1, keepdim=True)
    turned = keys.turn_back(queries.turn_back(inner, 2), 3)
    if not bool(blind.any()):
        return Allowed(turned, None, added)
    added = None if added is None else added.masked_fill(blind, 0.0)
    rows = queries.turn(queries.real, 1)[:, None, :, None]
    return Allowed(turned, blind, added, bool((blind & rows).any()))
