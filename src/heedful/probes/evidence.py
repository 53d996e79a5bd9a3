"""What a probe is given, and what it gives back.

Forward passes are made once and shared by all probes of one model: for linear sites a
trace is only the weights and a few numbers per token, so a whole split stays in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.corpora import Split
from heedful.models import probabilities
from heedful.progress import Progress, silent
from heedful.types import AttentionRows, Batch, Keep, Model, SiteSpec, Trace, rows

_TOKENS_AT_ONCE = {"cpu": 1 << 12, "cuda": 1 << 17}
"""Padded positions of a batch; bounds the memory of a forward pass. Cards want large ones."""
_STATES_KEPT = 1 << 24  # numbers; a split whose states fit is never encoded twice


@dataclass(frozen=True)
class Pass:
    """One batch, what the model left of it, and its predictions."""

    model: Model
    batch: Batch
    trace: Trace

    @property
    def probabilities(self) -> Float[Tensor, "b c"]:
        return probabilities(self.trace.logits)

    @property
    def predicted(self) -> Int[Tensor, " b"]:
        return self.probabilities.argmax(-1)

    def rows(self, site: SiteSpec) -> AttentionRows:
        """The rows the prediction is read from: of a target's steps, the last."""
        view = rows(self.trace, site.name)
        return view.take(self.trace.readers[site.name][view.example, view.query] > 0)

    def with_states(self) -> Pass:
        """The same with the states kept, so that the model can be resumed many times."""
        if self.trace.states:
            return self
        with torch.no_grad():
            keep = Keep(states=True, token_logits=True, readers=True)
            trace = self.model(self.batch, keep=keep)
        return replace(self, trace=replace(trace, step_logits=None))


@dataclass
class Evidence:
    """The runs by role (`base` is the model on trial), the data and the seed.

    Of a corpus for generation `data` holds one decoding step of each target, so that every
    probe sees a classification; `whole` holds the targets. What a probe has to learn it learns
    from `training`.
    """

    models: Mapping[str, Model]
    data: Split
    seed: int
    device: str = "cpu"
    batch_size: int = 1024
    progress: Progress = silent
    task: str = "classification"
    whole: Split | None = None
    words: Sequence[str] = ()
    training: Split | None = None
    _passes: list[Pass] = field(default_factory=list)

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        """The main ones."""
        return tuple(site for site in self.models["base"].sites if site.main)

    def passes(self, label: str) -> Iterator[Pass]:
        """Every batch of the data through the base model, computed once."""
        if not self._passes:
            self._passes.extend(self._forward())
        done = 0
        for each in self._passes:
            yield each
            done += len(each.batch)
            self.progress(label, done, len(self.data))

    def doubled(self, each: Pass) -> Pass:
        """The same batch through the base model in double precision. What chooses one of many
        candidates, or begins a long search, asks for it: in single precision the last bit depends
        on what else is in the batch, and would decide between two that are nearly as good."""
        keep = Keep(token_logits=True, states=True, readers=True)
        with torch.no_grad():
            trace = self._double(each.batch, keep=keep)
        return Pass(self._double, each.batch, replace(trace, step_logits=None))

    @cached_property
    def _double(self) -> Model:
        model = self.models["base"]
        return cast(Model, deepcopy(model).double()) if isinstance(model, nn.Module) else model

    def resumable(self, label: str) -> Iterator[Pass]:
        """The same for probes that try other weights: where a site is not linear the model is
        resumed, and texts whose states were too many to keep are encoded again."""
        linear = all(site.linear for site in self.sites)
        for each in self.passes(label):
            yield each if linear else each.with_states()

    def batches(self, split: Split) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Of any split, with the places of their examples in it."""
        most = _TOKENS_AT_ONCE[torch.device(self.device).type]
        for places, batch in split.batches(self.batch_size, most):
            yield places, batch.to(self.device)

    def _forward(self) -> Iterator[Pass]:
        model = self.models["base"]
        kept = 0
        with torch.no_grad():
            for _, batch in self.batches(self.data):
                keep = Keep(token_logits=True, states=kept < _STATES_KEPT, readers=True)
                trace = model(batch, keep=keep)
                kept += sum(states.numel() for states in trace.states.values())
                # the steps of whole targets are as wide as the vocabulary, and nobody reads them
                yield Pass(model, batch, replace(trace, step_logits=None))


@dataclass(frozen=True)
class Findings:
    """Rows (one per example and measure), maps (one per example) and, where a mean over
    rows is not the thing, a summary of the probe's own. `notes` say by name what numbers
    cannot."""

    rows: pd.DataFrame
    maps: pd.DataFrame | None = None
    summary: pd.DataFrame | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
