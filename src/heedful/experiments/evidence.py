"""What an experiment is given, and what it gives back: evidence, passes, rows, maps, kept parts.

Forward passes are made once and shared by all probes of one model: for linear sites a
trace is only the weights and a few numbers per token, so a whole split stays in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.data import Split
from heedful.models import explained_class, probabilities
from heedful.progress import Progress, silent
from heedful.store import read_part, refusals, whole_file, write_part
from heedful.types import AttentionRows, Batch, Keep, Model, SiteSpec, Trace, rows

_TOKENS_AT_ONCE = {"cpu": 1 << 12, "cuda": 1 << 17}
"""Padded positions of a batch; bounds the memory of a forward pass. Cards want large ones."""
_STATES_KEPT = 1 << 24  # numbers; a split whose states fit is never encoded twice


@dataclass(frozen=True)
class ForwardBatch:
    """One batch, what the model left of it, and its predictions."""

    model: Model
    batch: Batch
    trace: Trace

    @classmethod
    def of(cls, model: Model, batch: Batch) -> ForwardBatch:
        """Run the model, keeping all that is needed to continue under other attention."""
        return cls(model, batch, base_trace(model, batch))

    @property
    def probabilities(self) -> Float[Tensor, "b c"]:
        return probabilities(self.trace.logits)

    @property
    def predicted(self) -> Int[Tensor, " b"]:
        """The class to explain: the predicted one, unless another is asked about."""
        return explained_class(self.trace.logits, self.batch)

    @property
    def confidence(self) -> Float[Tensor, " b"]:
        """The probability of that class."""
        return self.probabilities.gather(1, self.predicted[:, None])[:, 0]

    def rows(self, site: SiteSpec) -> SiteRows:
        """The rows the prediction is read from: of a target's steps, the last."""
        every = rows(self.trace, site.name)
        read = self.trace.readout_weights[site.name][every.example, every.query] > 0
        return SiteRows(**vars(every.take(read)), forward=self, site=site)

    def with_states(self) -> ForwardBatch:
        """The same with the states kept, so that the model can be resumed many times."""
        if self.trace.states:
            return self
        trace = base_trace(self.model, self.batch)
        return replace(self, trace=replace(trace, step_logits=None))


@dataclass(frozen=True)
class SiteRows(AttentionRows):
    """Rows of attention that know the site and the pass they are of."""

    forward: ForwardBatch
    site: SiteSpec


def base_trace(model: Model, batch: Batch, values: bool = False) -> Trace:
    """What the model left, with all that is needed to go on from it under other attention."""
    linear = any(site.linear for site in model.sites)
    keep = Keep(states=True, readout_weights=True, token_logits=linear, values=values)
    with torch.no_grad():
        return model(batch, keep=keep)


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
    _passes: list[ForwardBatch] = field(default_factory=list)

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        """The main ones."""
        return tuple(site for site in self.models["base"].sites if site.main)

    def passes(self, label: str) -> Iterator[ForwardBatch]:
        """Every batch of the data through the base model, computed once."""
        if not self._passes:
            self._passes.extend(self._forward())
        done = 0
        for forward in self._passes:
            yield forward
            done += len(forward.batch)
            self.progress(label, done, len(self.data))

    def doubled(self, forward: ForwardBatch) -> ForwardBatch:
        """The same batch through the base model in double precision. What chooses one of many
        candidates, or begins a long search, asks for it: in single precision the last bit depends
        on what else is in the batch, and would decide between two that are nearly as good."""
        trace = base_trace(self._double, forward.batch)
        return ForwardBatch(self._double, forward.batch, replace(trace, step_logits=None))

    @cached_property
    def _double(self) -> Model:
        model = self.models["base"]
        return cast(Model, deepcopy(model).double()) if isinstance(model, nn.Module) else model

    def resumable(self, label: str) -> Iterator[ForwardBatch]:
        """The same for probes that try other weights: where a site is not linear the model is
        resumed, and texts whose states were too many to keep are encoded again."""
        linear = all(site.linear for site in self.sites)
        for forward in self.passes(label):
            yield forward if linear else forward.with_states()

    def batches(self, split: Split) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Of any split, with the places of their examples in it."""
        most = _TOKENS_AT_ONCE[torch.device(self.device).type]
        for places, batch in split.batches(self.batch_size, most):
            yield places, batch.to(self.device)

    def _forward(self) -> Iterator[ForwardBatch]:
        model = self.models["base"]
        kept = 0
        with torch.no_grad():
            for _, batch in self.batches(self.data):
                keep = Keep(token_logits=True, states=kept < _STATES_KEPT, readout_weights=True)
                trace = model(batch, keep=keep)
                kept += sum(states.numel() for states in trace.states.values())
                # the steps of whole targets are as wide as the vocabulary, and nobody reads them
                yield ForwardBatch(model, batch, replace(trace, step_logits=None))


@dataclass(frozen=True)
class Findings:
    """Rows (one per example and measure), maps (one per example) and, where a mean over
    rows is not the thing, a summary of the probe's own. `notes` say by name what numbers
    cannot."""

    rows: pd.DataFrame
    maps: pd.DataFrame | None = None
    summary: pd.DataFrame | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


# From batched tensors to the rows every probe returns, in the data's own order.
#
# Columns are gathered as arrays and become one table at the end: a table per batch and
# measure would cost more than some probes.


def place_of(ids: Sequence[str]) -> dict[str, int]:
    """Where each example stands."""
    return {example: number for number, example in enumerate(ids)}


Columns = dict[str, np.ndarray]
PLACE = ["example", "site", "head", "query"]


def gather(parts: list[Columns], facts: Columns, measures: Mapping[str, Tensor]) -> None:
    """Numbers as they are measured, columns of facts beside them: one per row of facts for each
    measure."""
    for name, values in measures.items():
        numbers = values.detach().double().cpu().numpy()
        parts.append({**facts, "measure": repeated(name, len(numbers)), "value": numbers})


def joined(parts: list[Columns]) -> Columns:
    """All of them, for one table at the end."""
    return {key: np.concatenate([each[key] for each in parts]) for key in parts[0]}


def repeated(name: str, count: int) -> np.ndarray:
    """A column of one word."""
    return np.full(count, name, dtype=object)


@dataclass
class Collector:
    """Gathers measures and maps pass by pass; the tables are sorted by measure and example."""

    ids: tuple[str, ...]
    _rows: list[Columns] = field(default_factory=list)
    _maps: list[Columns] = field(default_factory=list)

    def add(
        self,
        forward: ForwardBatch,
        site: SiteSpec,
        view: AttentionRows,
        measures: Mapping[str, Tensor],
    ) -> None:
        """One number per attention row for each measure."""
        gather(self._rows, _facts(forward, site, view), measures)

    def add_maps(
        self,
        forward: ForwardBatch,
        site: SiteSpec,
        view: AttentionRows,
        maps: Mapping[str, Tensor],
        exact: bool = False,
    ) -> None:
        """One score per attended token for each map, `[n, k]`. Maps to be looked at are kept in
        single precision, `exact` ones, to be reckoned with, in double."""
        facts = _facts(forward, site, view)
        place = {name: facts[name] for name in PLACE}
        mask = view.mask.cpu().numpy()
        for name, values in maps.items():
            scores = values.detach().to(torch.float64 if exact else torch.float32).cpu().numpy()
            lists = np.empty(len(scores), dtype=object)
            lists[:] = [row[keep] for row, keep in zip(scores, mask, strict=True)]
            self._maps.append({**place, "map": repeated(name, len(lists)), "scores": lists})

    def rows(self) -> pd.DataFrame:
        """The table of all measures."""
        return self._table(self._rows, "measure")

    def maps(self) -> pd.DataFrame:
        """The table of all maps."""
        return self._table(self._maps, "map")

    def _table(self, parts: list[Columns], name: str) -> pd.DataFrame:
        whole = joined(parts)
        place = place_of(self.ids)
        keys: list[Any] = [
            whole["query"],
            whole["head"],
            whole["site"].astype(str),
            np.array([place[example] for example in whole["example"]]),
            whole[name].astype(str),
        ]
        order = np.lexsort(keys)  # the last key counts first
        return pd.DataFrame({key: column[order] for key, column in whole.items()})


def _facts(forward: ForwardBatch, site: SiteSpec, view: AttentionRows) -> Columns:
    example = view.example.cpu().numpy()
    return {
        "example": np.array(forward.batch.ids, dtype=object)[example],
        "site": repeated(site.name, len(example)),
        "head": view.head.cpu().numpy(),
        "query": view.query.cpu().numpy(),
        "label": forward.batch.labels.cpu().numpy()[example],
        "predicted": forward.predicted.cpu().numpy()[example],
        "length": view.mask.sum(-1).cpu().numpy(),
        "max_weight": view.weights.amax(-1).double().cpu().numpy(),
        "confidence": forward.probabilities.amax(-1).cpu().numpy()[example],
    }


def by_rows(
    evidence: Evidence,
    passes: Iterable[ForwardBatch],
    measured: Callable[[SiteRows], Mapping[str, Tensor]],
) -> Findings:
    """An experiment that measures numbers of each row of attention and nothing else."""
    collector = Collector(evidence.data.ids)
    for forward in passes:
        for site in evidence.sites:
            view = forward.rows(site)
            collector.add(forward, site, view, measured(view))
    return Findings(collector.rows())


# What some texts left, kept on disk as soon as it is there.
#
# So memory is that of one part, and what was killed goes on after the last of them. Of a study's
# probe a part is some thousand texts, of an audit a batch.


@dataclass(frozen=True)
class Parts:
    """Parts by name, each of several kinds of tables; a part is there when the table of the kind
    `last`, which is written last, is."""

    folder: Path
    last: str

    def write(self, name: str, tables: Mapping[str, pd.DataFrame]) -> None:
        """Each table appears whole by a rename."""
        with refusals(f"write to {self.folder}", "make room or choose another store with --store"):
            self.folder.mkdir(parents=True, exist_ok=True)  # gone if another process was first
            for kind in sorted(tables, key=lambda kind: kind == self.last):
                with whole_file(self.file(name, kind)) as stream:
                    write_part(stream, tables[kind])

    def has(self, name: str) -> bool:
        return self.file(name, self.last).is_file()

    def read(self, name: str, kind: str) -> pd.DataFrame:
        """One table of a part; `PartGone` where it is not, or not whole."""
        return read_part(self.file(name, kind))

    def file(self, name: str, kind: str) -> Path:
        return self.folder / f"{name}.{kind}.parquet"
