"""The base class of the models that Heedful builds, a torch module that honours
`heedful.types.Model`; and what logits say: probabilities, and the quantities to explain.

A binary model has one logit (jain2019's sigmoid); everything downstream sees two class
probabilities. They are float64: near 0 and 1 single precision ties what differs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.errors import HeedfulError
from heedful.models.attention import Attention
from heedful.specs import UNKNOWN
from heedful.types import (
    Batch,
    Deleted,
    Edits,
    Embeddings,
    Keep,
    Mask,
    Model,
    SiteCall,
    SiteSpec,
    Text,
    TokenLogits,
    Trace,
)
from heedful.words import without_tokens

QUERY = "query"
"""The name of a query among the states of a trace."""
_TOKENS_AT_ONCE = 1 << 14


class Family(nn.Module, ABC):
    """A model built from a spec; `sites` are in the order in which they are computed.

    A subclass defines `run`. One that wraps another model overrides `forward` instead.
    """

    @property
    @abstractmethod
    def sites(self) -> tuple[SiteSpec, ...]: ...

    @property
    def tables(self) -> Mapping[str, nn.Module]:
        """By side, the module that embeds its tokens; empty for a model around another."""
        return {}

    @property
    def attentions(self) -> Mapping[str, Attention]:
        """By site, the attentions of the registry, which turn states into weights."""
        return {}

    @property
    def fillers(self) -> Mapping[str, int]:
        return {"unk": UNKNOWN}

    def embed(self, batch: Batch) -> Embeddings:
        sides = [side for side in self.tables if side in batch.texts]
        return {side: self.tables[side](batch.texts[side].tokens).detach() for side in sides}

    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        """Run the batch.

        `embeddings` replace the tokens' own on the sides they name. With `keep.embeddings`, and
        gradients enabled, the trace holds leaves to differentiate by.
        """
        embedded = self.embedded(batch, keep, embeddings)
        trace = self.run(batch, embedded, edits or {}, keep)
        return replace(trace, embeddings=embedded) if keep.embeddings else trace

    def run(self, batch: Batch, embedded: Mapping[str, Tensor], edits: Edits, keep: Keep) -> Trace:
        """`forward` from the embeddings of all sides on."""
        raise NotImplementedError

    @abstractmethod
    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace: ...

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        """Deletes each token of side `a` in turn and runs the shorter texts."""
        return leave_one_out_logits(lambda some: self(some).logits, batch)

    def embedded(self, batch: Batch, keep: Keep, given: Embeddings | None) -> dict[str, Tensor]:
        """By side, the given embeddings or the tokens' own."""
        leaf = keep.embeddings and torch.is_grad_enabled()
        embedded = dict(given or {})
        for side, table in self.tables.items():
            if side not in embedded:
                own: Tensor = table(batch.texts[side].tokens)
                embedded[side] = own.detach().requires_grad_() if leaf else own
        return {side: embedded[side] for side in self.tables}


class Around(Family):
    """A model around another, `model`, which is passed on as it is."""

    model: Model

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return self.model.sites

    @property
    def fillers(self) -> Mapping[str, int]:
        return self.model.fillers

    def embed(self, batch: Batch) -> Embeddings:
        return self.model.embed(batch)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        return self.model.resume(batch, trace, edits)


def family_name(model: object) -> str:
    """What a model is, whatever is around it."""
    while isinstance(model, Around):
        model = model.model
    return type(model).__name__


class OneQuery(Family):
    """A family with one site, where one query attends to the tokens of side `a`."""

    attention: Attention

    @property
    def attentions(self) -> Mapping[str, Attention]:
        return {self.sites[0].name: self.attention}

    @abstractmethod
    def decode(
        self, context: Float[Tensor, "b d"], query: Float[Tensor, "b d"] | None, batch: Batch
    ) -> Float[Tensor, "b c"]:
        """Logits from what the site mixed."""

    @abstractmethod
    def token_logits(
        self, states: Float[Tensor, "b t d"], batch: Batch
    ) -> Mapping[str, TokenLogits]:
        """What each state contributes to the logits; empty where they are not linear."""

    def attend(
        self,
        batch: Batch,
        states: Float[Tensor, "b t d"],
        query: Float[Tensor, "b d"] | None,
        edits: Edits,
        keep: Keep,
    ) -> Trace:
        """From the states on; without a `query` each state is scored by itself."""
        site, mask = self.sites[0], visible(batch.texts["a"])[:, None, None]
        asked = (states,) if query is None else (states, query)
        scores: Tensor = self.attention(*asked)
        own = self.attention.weights(scores[:, None, None], mask)
        weights = edited(site, own, mask, batch.ids, edits)
        context = torch.einsum("bt,btd->bd", weights[:, 0, 0].to(states.dtype), states)
        return Trace(
            logits=self.decode(context, query, batch),
            weights={site.name: weights},
            masks={site.name: mask},
            **requested(
                keep,
                states={site.name: states, **({} if query is None else {QUERY: query[:, None]})},
                values={site.name: states[:, None]},
                token_logits=self.token_logits(states, batch) if keep.token_logits else {},
                readout_weights={site.name: weights.new_ones(len(batch), 1)},
            ),
        )


def edited(
    site: SiteSpec,
    weights: Float[Tensor, "b h q k"],
    mask: Mask,
    ids: tuple[str, ...],
    edits: Edits,
    step: int = 0,
) -> Float[Tensor, "b h q k"]:
    """The weights that are used: those of the site's edit, or the model's own."""
    if site.name not in edits:
        return weights
    return edits[site.name](SiteCall(site, weights, mask, ids, step))


def requested(keep: Keep, **parts: Mapping[str, Any]) -> dict[str, Any]:
    """Of these parts of a trace, those that `keep` asks for."""
    return {name: part for name, part in parts.items() if getattr(keep, name)}


def keep_again(trace: Trace) -> Keep:
    """What a resumed pass keeps: states, and what else the trace it goes on from has."""
    return Keep(
        states=True,
        token_logits=bool(trace.token_logits),
        readout_weights=bool(trace.readout_weights),
    )


def linear_token_logits(decoder: nn.Linear, states: Float[Tensor, "b t d"]) -> TokenLogits:
    """The contribution of each state to the logits of a linear decoder."""
    # a copy: the parameter itself would bring gradients into a trace made without them
    values = nn.functional.linear(states, decoder.weight)
    return TokenLogits(values, decoder.bias.clone())


def visible(text: Text) -> Bool[Tensor, "b t"]:
    """The tokens attention may see."""
    return text.mask if text.hidden is None else text.mask & ~text.hidden


def main_site(model: Family) -> SiteSpec:
    """The one attention that is shown. Loss terms and teachers need exactly one."""
    sites = [site for site in model.sites if site.main]
    if len(sites) != 1:
        raise HeedfulError(
            f"terms of the loss and teachers need one main attention, and this model has "
            f"{len(sites)}: choose another family."
        )
    return sites[0]


@torch.no_grad()
def leave_one_out_logits(logits_of: Callable[[Batch], Tensor], batch: Batch) -> Deleted:
    """The logits of a batch, and of each text without each of its tokens, by running the shorter
    texts through `logits_of`. NaN also where no token would be left."""
    text = batch.texts["a"]
    whole = logits_of(batch).double()
    less = whole.new_full((*text.mask.shape, whole.shape[-1]), float("nan"))
    examples, places = (text.mask & (text.lengths > 1)[:, None]).nonzero(as_tuple=True)
    order = text.lengths[examples].argsort(stable=True)
    size = max(1, _TOKENS_AT_ONCE // max(1, text.tokens.shape[1]))
    for chunk in torch.split(order, size):
        rows, gone = examples[chunk], places[chunk]
        less[rows, gone] = logits_of(_without(batch, rows, gone)).double()
    return Deleted(whole, less)


def _without(batch: Batch, rows: Tensor, places: Tensor) -> Batch:
    some = batch.take(rows)
    text = some.texts["a"]
    gone = torch.zeros_like(text.mask).scatter(1, places[:, None], True)
    return replace(some, texts={**some.texts, "a": without_tokens(text, gone)})


@contextmanager
def restored(objects: Iterable[object], attribute: str) -> Iterator[None]:
    """Put the attribute of each object back when the block ends."""
    before = [(each, getattr(each, attribute)) for each in objects]
    try:
        yield
    finally:
        for each, value in before:
            setattr(each, attribute, value)


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode (no dropout) inside the block; every submodule's mode comes back."""
    with restored(module.modules(), "training"):
        module.eval()
        yield


def class_logits(logits: Float[Tensor, "*n c"]) -> Float[Tensor, "*n k"]:
    """One logit per class, float64; a single logit stands against a zero."""
    logits = logits.double()
    if logits.shape[-1] > 1:
        return logits
    return torch.cat([torch.zeros_like(logits), logits], dim=-1)


def probabilities(logits: Float[Tensor, "*n c"]) -> Float[Tensor, "*n k"]:
    """Class probabilities, float64, at least two columns."""
    if logits.shape[-1] > 1:
        return torch.softmax(logits.double(), dim=-1)
    # not softmax([0, x]): the sigmoid keeps p and 1 - p exact far out on both sides
    logits = logits.double()
    return torch.cat([torch.sigmoid(-logits), torch.sigmoid(logits)], dim=-1)


def explained_class(logits: Float[Tensor, "b c"], batch: Batch) -> Int[Tensor, " b"]:
    """The class that is explained: the one that is asked about, else the predicted one."""
    return probabilities(logits).argmax(-1) if batch.asked is None else batch.asked


def logit(logits: Float[Tensor, "b c"], label: Int[Tensor, " b"]) -> Float[Tensor, " b"]:
    """The class's own logit (for one sigmoid: signed towards the class)."""
    scores = class_logits(logits)
    if logits.shape[-1] == 1:
        return torch.where(label == 1, scores[:, 1], -scores[:, 1])
    return scores.gather(1, label[:, None]).squeeze(1)


def probability(logits: Float[Tensor, "b c"], label: Int[Tensor, " b"]) -> Float[Tensor, " b"]:
    """The probability of the class."""
    return probabilities(logits).gather(1, label[:, None]).squeeze(1)


def loss(logits: Float[Tensor, "b c"], label: Int[Tensor, " b"]) -> Float[Tensor, " b"]:
    """The cross-entropy of the class."""
    return F.cross_entropy(class_logits(logits), label, reduction="none")


def contrast(
    logits: Float[Tensor, "b c"], label: Int[Tensor, " b"], foil: int | None = None
) -> Float[Tensor, " b"]:
    """The class's logit less another's (Yin & Neubig 2022): why this class and not the `foil`?

    Without a foil it is the strongest other class, of each output anew (the margin)."""
    scores = class_logits(logits)
    own = scores.gather(1, label[:, None]).squeeze(1)
    if foil is not None:
        return own - scores[:, foil]
    return own - scores.scatter(1, label[:, None], float("-inf")).amax(-1)


TARGETS = {"logit": logit, "probability": probability, "loss": loss, "contrast": contrast}
