"""A Hugging Face module as a `heedful.types.Model`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.models.hf.heads import Head
from heedful.models.hf.inputs import Form, Inputs, inputs_of
from heedful.models.hf.interface import listening
from heedful.models.hf.layers import Layers, Notes, layered
from heedful.models.hf.readers import readers
from heedful.models.hf.record import Recorder, Site
from heedful.models.rerun_without import without_each
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
        notes = Notes(embeddings) if keep.states else None
        return self._pass(batch, edits or {}, keep, notes, embeddings)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the layer of the first edited site on, where the trace kept its states and the
        module has layers; else from the start, with the embeddings that were given if the trace
        kept any states."""
        notes = trace.encoding
        if not isinstance(notes, Notes):
            return self.forward(batch, edits)
        first = next(
            (i for i, site in enumerate(self.sites) if site.name in edits), len(self.sites)
        )
        after = self._pass(batch, edits, Keep(), notes, notes.embeddings, first)
        weights, masks = {**trace.weights, **after.weights}, {**trace.masks, **after.masks}
        return replace(after, weights=weights, masks=masks)

    def _pass(
        self,
        batch: Batch,
        edits: Edits,
        keep: Keep,
        notes: Notes | None,
        embeddings: Embeddings | None,
        first: int = 0,
    ) -> Trace:
        """Notes of an earlier pass are repeated up to the site number `first`."""
        _known(edits, self.sites)
        inputs, graph = inputs_of(batch, self._form), torch.is_grad_enabled()
        recorder = Recorder(self._by_call, edits, keep, inputs.sides, batch.ids)
        with torch.set_grad_enabled(graph), layered(self._layers, recorder, notes, first):
            with recorder.projecting(self.module) if keep.values else nullcontext():
                logits = self._logits(inputs, recorder, embeddings)
            read = self._readers(logits, recorder)
        return Trace(
            logits=logits if graph else logits.detach(),
            weights=recorder.weights,
            masks=recorder.masks,
            embeddings=dict(embeddings) if keep.embeddings and embeddings else {},
            encoding=notes,
            values=recorder.values,
            projections=recorder.projections,
            readers=read,
        )

    def without_each(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return without_each(self.logits, batch)

    def logits(self, batch: Batch) -> Tensor:
        """The logits alone, by the same arithmetic."""
        inputs = inputs_of(batch, self._form)
        recorder = Recorder(self._by_call, {}, None, inputs.sides, batch.ids)
        return self._logits(inputs, recorder, None)

    def _logits(self, inputs: Inputs, recorder: Recorder, embeddings: Embeddings | None) -> Tensor:
        given = None if embeddings is None else inputs.sides["a"].turn(embeddings["a"], 1)
        with listening(recorder), replaced(self._embedding(), given):
            output = self.module(**inputs.arguments)
        recorder.check(type(self.module).__name__)
        logits = self._head(output, inputs.last)
        return logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits

    def _readers(self, logits: Tensor, recorder: Recorder) -> dict[str, Tensor]:
        if recorder.output is None:
            return {}
        return readers(logits, recorder.output, self._sites, recorder.sides)

    def _leaves(self, batch: Batch) -> Embeddings:
        graph = torch.is_grad_enabled()
        return {side: each.requires_grad_(graph) for side, each in self.embed(batch).items()}

    def _embedding(self) -> nn.Module:
        module: Any = self.module
        reader = module.get_encoder() if self._form.decodes else module
        embedding: nn.Module = reader.get_input_embeddings()
        return embedding


@contextmanager
def replaced(embedding: nn.Module, given: Tensor | None) -> Iterator[None]:
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
