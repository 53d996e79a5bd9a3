"""A model with a path around its attention: a share of the output never passes through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from heedful.models import Attention, Family, without_each
from heedful.types import Batch, Deleted, Edits, Embeddings, Keep, SiteSpec, Trace


class Mixed(Family):
    """logits = (1 − leak) · those of `attended` + leak · those of `bypass`, each scaled alike.
    The site that is shown is the attended model's."""

    def __init__(
        self, attended: Family, bypass: Family, leak: float, scales: tuple[float, float]
    ) -> None:
        super().__init__()
        self.attended, self.bypass = attended, bypass
        self.leak, self.scales = leak, scales

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return tuple(replace(site, linear=False) for site in self.attended.sites)

    @property
    def attentions(self) -> Mapping[str, Attention]:
        return self.attended.attentions

    def embed(self, batch: Batch) -> Embeddings:
        """Of both, side by side."""
        one, other = self.attended.embed(batch), self.bypass.embed(batch)
        return {"a": torch.cat([one["a"], other["a"]], -1)}

    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        given = embeddings["a"] if embeddings is not None else None
        if given is None and keep.embeddings:
            given = self.embed(batch)["a"].requires_grad_(torch.is_grad_enabled())
        one, other = (None, None) if given is None else given.chunk(2, -1)
        trace: Trace = self.attended(batch, edits, replace(keep, token_logits=False), _side(one))
        around = self.bypass(batch, None, Keep(), _side(other)).logits
        return replace(
            trace,
            logits=self._mix(trace.logits, around),
            embeddings={"a": given} if keep.embeddings and given is not None else {},
        )

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        after = self.attended.resume(batch, trace, edits)
        around = self.bypass(batch, None, Keep()).logits
        return replace(after, logits=self._mix(after.logits, around), token_logits={})

    def without_each(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return without_each(lambda some: self(some).logits, batch)

    def _mix(self, through: Tensor, around: Tensor) -> Tensor:
        one, other = self.scales
        return (1 - self.leak) * one * through + self.leak * other * around


def _side(embeddings: Tensor | None) -> Embeddings | None:
    return None if embeddings is None else {"a": embeddings}
