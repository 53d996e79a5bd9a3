"""What every family of our own is: a torch module that honours `heedful.types.Model`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from torch import nn

from heedful.models.attention.attention import Attention
from heedful.specs import UNKNOWN
from heedful.types import Batch, Deleted, Edits, Embeddings, Keep, SiteSpec, Trace


class Family(nn.Module, ABC):
    """`sites` are in the order in which they are computed."""

    @property
    @abstractmethod
    def sites(self) -> tuple[SiteSpec, ...]: ...

    @property
    def attentions(self) -> Mapping[str, Attention]:
        """By site, the attentions that are pieces of the catalogue and make weights of states."""
        return {}

    @property
    def fillers(self) -> Mapping[str, int]:
        return {"unk": UNKNOWN}

    @abstractmethod
    def embed(self, batch: Batch) -> Embeddings: ...

    @abstractmethod
    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace: ...

    @abstractmethod
    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace: ...

    @abstractmethod
    def without_each(self, batch: Batch, trace: Trace | None = None) -> Deleted: ...
