"""The same model for embeddings that all carry the same extra vector.

It takes the vector off again, so its outputs are what they were; whatever an explanation
makes of it is the explanation's own doing (Kindermans et al. 2019).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.saliency import lrp_logits
from heedful.types import Batch, Deleted, Edits, Embeddings, Keep, Model, SiteSpec, Trace


@dataclass(frozen=True, eq=False)
class OtherOrigin:
    """`inner`, seen through embeddings with `shift` added to each."""

    inner: Model
    shift: Float[Tensor, " e"]

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return self.inner.sites

    @property
    def fillers(self) -> Mapping[str, int]:
        return self.inner.fillers

    def embed(self, batch: Batch) -> Embeddings:
        return {side: x + self.shift for side, x in self.inner.embed(batch).items()}

    def __call__(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        given = embeddings
        if given is None:
            leaves = keep.embeddings and torch.is_grad_enabled()
            given = {side: x.requires_grad_(leaves) for side, x in self.embed(batch).items()}
        back = {side: x - self.shift for side, x in given.items()}
        trace = self.inner(batch, edits, keep, back)
        return replace(trace, embeddings=given if keep.embeddings else {})

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        return self.inner.resume(batch, trace, edits)

    def without_each(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return self.inner.without_each(batch, trace)


@lrp_logits.register
def other_origin_logits(
    model: OtherOrigin, batch: Batch, embedded: Tensor, epsilon: float
) -> Tensor:
    """The shift is a bias of the first layer, and keeps its share as biases do."""
    return lrp_logits(model.inner, batch, embedded - model.shift, epsilon)
