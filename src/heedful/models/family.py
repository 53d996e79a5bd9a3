"""What every family of our own is: a torch module that honours `heedful.types.Model`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.models.attention.attention import Attention
from heedful.models.leave_one_out import leave_one_out_logits
from heedful.specs import UNKNOWN
from heedful.types import (
    Batch,
    Deleted,
    Edits,
    Embeddings,
    Keep,
    Mask,
    SiteCall,
    SiteSpec,
    Text,
    TokenLogits,
    Trace,
)


class Family(nn.Module, ABC):
    """`sites` are in the order in which they are computed."""

    @property
    @abstractmethod
    def sites(self) -> tuple[SiteSpec, ...]: ...

    @property
    def tables(self) -> Mapping[str, nn.Module]:
        """What embeds the tokens of each side; nothing for a model around another."""
        return {}

    @property
    def attentions(self) -> Mapping[str, Attention]:
        """By site, the attentions that are pieces of the catalogue and make weights of states."""
        return {}

    @property
    def fillers(self) -> Mapping[str, int]:
        return {"unk": UNKNOWN}

    def embed(self, batch: Batch) -> Embeddings:
        sides = [side for side in self.tables if side in batch.texts]
        return {side: self.tables[side](batch.texts[side].tokens).detach() for side in sides}

    @abstractmethod
    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        """A side that `embeddings` does not name keeps its own."""

    @abstractmethod
    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace: ...

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        """Deletes each token of side a in turn."""
        return leave_one_out_logits(lambda some: self(some).logits, batch)

    def embedded(self, batch: Batch, keep: Keep, given: Embeddings | None) -> dict[str, Tensor]:
        """By side, the embeddings given, or the tokens' own: leaves where they are to be
        differentiated by."""
        leaf = keep.embeddings and torch.is_grad_enabled()
        found = dict(given or {})
        for side, table in self.tables.items():
            if side not in found:
                own: Tensor = table(batch.texts[side].tokens)
                found[side] = own.detach().requires_grad_() if leaf else own
        return {side: found[side] for side in self.tables}


def edited(
    site: SiteSpec,
    weights: Float[Tensor, "b h q k"],
    mask: Mask,
    ids: tuple[str, ...],
    edits: Edits,
    step: int = 0,
) -> Float[Tensor, "b h q k"]:
    """The weights that are used."""
    if site.name not in edits:
        return weights
    return edits[site.name](SiteCall(site, weights, mask, ids, step))


def linear_token_logits(decoder: nn.Linear, states: Float[Tensor, "b t d"]) -> TokenLogits:
    """What each state brings to the logits of a linear decoder."""
    # a copy: the parameter itself would bring gradients into a trace made without them
    values = nn.functional.linear(states, decoder.weight)
    return TokenLogits(values, decoder.bias.clone())


def visible(text: Text) -> Bool[Tensor, "b t"]:
    """The tokens attention may see."""
    return text.mask if text.hidden is None else text.mask & ~text.hidden


def main_site(model: Family) -> SiteSpec:
    """The one attention that is shown: neither a term of the loss nor a teacher can do with none,
    or with several."""
    sites = [site for site in model.sites if site.main]
    if len(sites) != 1:
        raise HeedfulError(
            f"terms of the loss and teachers need one main attention, and this model has "
            f"{len(sites)}: choose another family."
        )
    return sites[0]


@contextmanager
def restored(objects: Iterable[object], attribute: str) -> Iterator[None]:
    """Afterwards the attribute of each is what it was."""
    before = [(each, getattr(each, attribute)) for each in objects]
    try:
        yield
    finally:
        for each, value in before:
            setattr(each, attribute, value)


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """A module is asked as it would be used: without dropout. Afterwards its modes are back."""
    with restored(module.modules(), "training"):
        module.eval()
        yield
