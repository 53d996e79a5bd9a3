"""A Hugging Face module as a `heedful.types.Model`.

Most of a transformer is a list of like layers. What each of them gave is noted in one pass, and a
later pass of the same batch repeats it: nothing changes before the first edited site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.models.family import leave_one_out_logits
from heedful.models.hf.inputs import Form, Head, Inputs, Side, inputs_of
from heedful.models.hf.interface import Recorder, Site, listening
from heedful.types import Batch, Deleted, Edits, Embeddings, Keep, SiteSpec, Trace


class HuggingFace(nn.Module):
    """Made by `attach`, and good for as long as the `with` block lasts."""

    def __init__(
        self,
        module: nn.Module,
        sites: tuple[Site, ...],
        form: Form,
        head: Head,
        fillers: Mapping[str, int],
        layers: Layers = (),
    ) -> None:
        super().__init__()
        self.module = module
        self._layers = tuple(layers)
        self._sites, self._form, self._head, self._fillers = sites, form, head, dict(fillers)
        self._by_call = {(site.module, site.nth): site for site in sites}

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return tuple(site.spec for site in self._sites)

    @property
    def fillers(self) -> Mapping[str, int]:
        return self._fillers

    def embed(self, batch: Batch) -> Embeddings:
        text = batch.texts["a"]
        place = torch.arange(text.tokens.shape[1], device=text.tokens.device)
        padding = place >= text.lengths[:, None]
        with torch.no_grad():
            return {"a": self._embedding()(text.tokens.masked_fill(padding, self._form.pad))}

    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        if embeddings is None and keep.embeddings:
            embeddings = self._leaves(batch)
        cache = LayerCache(embeddings) if keep.states else None
        return self._pass(batch, edits or {}, keep, cache, embeddings)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the layer of the first edited site on, where the trace kept its states and the
        module has layers; else from the start, with the embeddings that were given if the trace
        kept any states."""
        cache = trace.encoding
        if not isinstance(cache, LayerCache):
            return self.forward(batch, edits)
        first = next(
            (i for i, site in enumerate(self.sites) if site.name in edits), len(self.sites)
        )
        after = self._pass(batch, edits, Keep(), cache, cache.embeddings, first)
        weights, masks = {**trace.weights, **after.weights}, {**trace.masks, **after.masks}
        return replace(after, weights=weights, masks=masks)

    def _pass(
        self,
        batch: Batch,
        edits: Edits,
        keep: Keep,
        cache: LayerCache | None,
        embeddings: Embeddings | None,
        first: int = 0,
    ) -> Trace:
        """LayerCache of an earlier pass are repeated up to the site number `first`."""
        _known(edits, self.sites)
        inputs, graph = inputs_of(batch, self._form), torch.is_grad_enabled()
        recorder = Recorder(self._by_call, edits, keep, inputs.sides, batch.ids)
        with torch.set_grad_enabled(graph), cached_layers(self._layers, recorder, cache, first):
            with recorder.projecting(self.module) if keep.values else nullcontext():
                logits = self._logits(inputs, recorder, embeddings)
            readout = self._readout_weights(logits, recorder)
        return Trace(
            logits=logits if graph else logits.detach(),
            weights=recorder.weights,
            masks=recorder.masks,
            embeddings=dict(embeddings) if keep.embeddings and embeddings else {},
            encoding=cache,
            values=recorder.values,
            projections=recorder.projections,
            readout_weights=readout,
        )

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return leave_one_out_logits(self.logits, batch)

    def logits(self, batch: Batch) -> Tensor:
        """The logits alone, by the same arithmetic."""
        inputs = inputs_of(batch, self._form)
        recorder = Recorder(self._by_call, {}, None, inputs.sides, batch.ids)
        return self._logits(inputs, recorder, None)

    def _logits(self, inputs: Inputs, recorder: Recorder, embeddings: Embeddings | None) -> Tensor:
        given = None if embeddings is None else inputs.sides["a"].turn(embeddings["a"], 1)
        with listening(recorder), replaced_embeddings(self._embedding(), given):
            output = self.module(**inputs.arguments)
        recorder.check(type(self.module).__name__)
        logits = self._head(output, inputs.last)
        return logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits

    def _readout_weights(self, logits: Tensor, recorder: Recorder) -> dict[str, Tensor]:
        if recorder.output is None:
            return {}
        return readout_weights(logits, recorder.output, self._sites, recorder.sides)

    def _leaves(self, batch: Batch) -> Embeddings:
        graph = torch.is_grad_enabled()
        return {side: each.requires_grad_(graph) for side, each in self.embed(batch).items()}

    def _embedding(self) -> nn.Module:
        module: Any = self.module
        reader = module.get_encoder() if self._form.decodes else module
        embedding: nn.Module = reader.get_input_embeddings()
        return embedding


@contextmanager
def replaced_embeddings(embedding: nn.Module, given: Tensor | None) -> Iterator[None]:
    """The embedding's first answer is `given`. Everything else a module makes of the tokens
    (positions, the decoder's input, where the text ends) stays as it is, which passing
    `inputs_embeds` does not promise."""
    if given is None:
        yield
        return
    left = [given]

    def hook(module: nn.Module, arguments: Any, output: Tensor) -> Tensor:
        return left.pop().to(output.dtype).reshape(output.shape) if left else output

    handle = embedding.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
    if left:
        raise HeedfulError("the embeddings given were not used: the model embeds tokens elsewhere.")


def _known(edits: Edits, sites: tuple[SiteSpec, ...]) -> None:
    unknown = set(edits) - {site.name for site in sites}
    if unknown:
        raise HeedfulError(
            f"there is no attention {sorted(unknown)[0]!r} to edit: choose one of model.sites."
        )


Layers = Sequence[nn.Module]


@dataclass(frozen=True)
class LayerOutput:
    """What a call of a layer gave, and how many sites had been called by then."""

    sites: int
    output: Any


@dataclass(frozen=True)
class LayerCache:
    """The outputs of one pass by layer and by the number of the call, and the embeddings
    that pass was given."""

    embeddings: Embeddings | None = None
    outputs: dict[tuple[nn.Module, int], LayerOutput] = field(default_factory=dict)


def layers_of(module: nn.Module, sites: Sequence[Site]) -> tuple[nn.Module, ...]:
    """The members of the outermost lists that hold sites."""
    homes = {site.module for site in sites}
    found: list[nn.Module] = []
    for child in module.children():
        if isinstance(child, nn.ModuleList) and not homes.isdisjoint(child.modules()):
            found += child
        else:
            found += layers_of(child, sites)
    return tuple(found)


@contextmanager
def cached_layers(
    layers: Layers, recorder: Recorder, cache: LayerCache | None, first: int
) -> Iterator[None]:
    """Layers whose output is in the cache, and that end before the site number `first`, are not run
    again; the outputs of the others are added, except after the last site."""
    if cache is None:
        yield
        return
    outputs = cache.outputs

    def answer(layer: nn.Module, nth: int, forward: Callable[[], Any]) -> Any:
        known = outputs.get((layer, nth))
        if known is not None and known.sites <= first:
            recorder.skip(known.sites)
            return known.output
        output = forward()
        if known is None and recorder.passed < len(recorder.sites):
            outputs[layer, nth] = LayerOutput(recorder.passed, output)
        return output

    with _intercepted(layers, answer):
        yield


Intercept = Callable[[nn.Module, int, Callable[[], Any]], Any]


@contextmanager
def _intercepted(layers: Layers, answer: Intercept) -> Iterator[None]:
    """`answer` is asked in place of each layer. A `forward` of the layer's own (other tools put
    one there too) comes back afterwards."""
    called: Counter[nn.Module] = Counter()

    def ask(layer: nn.Module, forward: Callable[..., Any], *args: Any, **options: Any) -> Any:
        called[layer] += 1
        return answer(layer, called[layer] - 1, partial(forward, *args, **options))

    own: Mapping[nn.Module, Any] = {each: vars(each).get("forward") for each in layers}
    try:
        for each in own:
            vars(each)["forward"] = partial(ask, each, each.forward)
        yield
    finally:
        for each, forward in own.items():
            vars(each).pop("forward", None)
            if forward is not None:
                vars(each)["forward"] = forward


def readout_weights(
    logits: Tensor, output: Tensor, sites: Sequence[Site], sides: Mapping[str, Side]
) -> dict[str, Float[Tensor, "b q"]]:
    """Which query rows of each site the prediction is read from: computed, not assumed. The last
    site's output is differentiated: rows without a gradient are read by nobody. BERT's classifier
    turns out to read the first token, GPT-2's the last, a mean all of them. Sites whose queries
    are on the last site's side share its rows; an encoder whose states are read by a decoder is
    read everywhere."""
    side = sites[-1].queries
    shares = {name: _even(each) for name, each in sides.items()}
    shares[side] = _shares(_norms(logits, output, sides[side]), shares[side])
    return {site.spec.name: shares[site.queries].to(output.dtype) for site in sites}


def _norms(logits: Tensor, output: Tensor, side: Side) -> Tensor:
    # unlike factors: in the plain sum two opposite classes would cancel
    factors = torch.linspace(1, 2, logits.shape[-1], device=logits.device, dtype=logits.dtype)
    total = (logits * factors).sum()
    (slopes,) = torch.autograd.grad(total, output, retain_graph=True)
    return side.turn_back(slopes.double().flatten(2).norm(dim=-1), 1) * side.real


def _shares(norms: Tensor, even: Tensor) -> Tensor:
    total = norms.sum(-1, keepdim=True)
    return torch.where(total > 0, norms / torch.where(total > 0, total, 1.0), even)


def _even(side: Side) -> Tensor:
    return side.real.double() / side.real.sum(-1, keepdim=True).clamp_min(1)
