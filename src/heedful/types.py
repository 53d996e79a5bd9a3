"""The nouns every layer shares: batches, sites, traces, edits and specs.

Attention weights have one shape everywhere: `[batch, heads, queries, keys]`. A
one-sequence model has one head and one query; nothing downstream needs to know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import HeedfulError

__all__ = [
    "Answer",
    "AttentionRows",
    "Batch",
    "Deleted",
    "Edit",
    "EditSpec",
    "Edits",
    "Embeddings",
    "Infiller",
    "Keep",
    "Model",
    "OutputEdit",
    "SiteCall",
    "SiteSpec",
    "Target",
    "Text",
    "TokenLogits",
    "Trace",
    "rows",
]

_Kind = TypeVar("_Kind")
_Rows = TypeVar("_Rows", bound="AttentionRows")

# Not written out where it is used: as an annotation, `#` would read as a comment to formatters.
Mask = Bool[Tensor, "b #h #q k"]
"""Positions that may be attended; broadcasts to weights."""
SiteMask = Bool[Tensor, "b #h _q _k"]
"""The same in a trace, where sites may differ in queries and keys."""


@dataclass(frozen=True)
class Text:
    """One side of a batch, padded on the right.

    `mask` marks the tokens of the text itself: not padding, not start, end or separators.
    `words` numbers the word each of them belongs to (−1 elsewhere); without it, each is a
    word of its own. Tokens that are `hidden` keep their place, but no attention may see
    them. `segments` tells the parts of a sequence that holds a pair of texts, `sentences`
    numbers the sentence of each token of the text (−1 elsewhere). `read_at` marks the tokens that
    a prediction is read at, where it is about a part of the text: 1 for the first token of the
    part, 2 for its last, 3 where that is the same (0 elsewhere).
    """

    tokens: Int[Tensor, "b t"]
    lengths: Int[Tensor, " b"]
    mask: Bool[Tensor, "b t"]
    words: Int[Tensor, "b t"] | None = None
    hidden: Bool[Tensor, "b t"] | None = None
    segments: Int[Tensor, "b t"] | None = None
    sentences: Int[Tensor, "b t"] | None = None
    read_at: Int[Tensor, "b t"] | None = None

    def to(self, device: torch.device | str) -> Text:
        return self.map(lambda tensor: tensor.to(device))

    def take(self, rows: Int[Tensor, " n"]) -> Text:
        """Some rows, or some of them several times, without padding that none of them needs."""
        width = int(self.lengths[rows].max()) if len(rows) else 0
        return self.map(lambda t: t[rows, :width] if t.ndim == 2 else t[rows])

    def map(self, function: Callable[[Tensor], Tensor]) -> Text:
        columns = (getattr(self, each.name) for each in fields(self))
        mapped: list[Any] = [None if column is None else function(column) for column in columns]
        return Text(*mapped)


@dataclass(frozen=True)
class Answer:
    """What a model that writes is asked for: how probable these `tokens` are, −1 after the last.

    The last token would come next, after all that is there of the text (or of the target); the
    tokens before it are the end of what is there. `instead` stands against the last token, where
    one answer is contrasted with another.
    """

    tokens: Int[Tensor, "b n"]
    instead: Int[Tensor, " b"] | None = None

    def map(self, function: Callable[[Tensor], Tensor]) -> Answer:
        other = None if self.instead is None else function(self.instead)
        return Answer(function(self.tokens), other)


@runtime_checkable
class Infiller(Protocol):
    """Puts other words in the place of those that are gone."""

    def __call__(self, batch: Batch, gone: Bool[Tensor, "b t"]) -> Text: ...


@dataclass(frozen=True)
class Batch:
    """Examples that go through a model together; `texts` is keyed by side.

    `a` is the text that is attended; `b` is the other one: a question, a hypothesis, an
    aspect, or the target that a generating model has written so far. Where only some
    classes can be the answer, `candidates` marks them. `asked` is the class to explain where it
    is not the predicted one; `answer` is what a model that writes is asked for. `infiller` is
    there where a masked language model is at hand.
    """

    ids: tuple[str, ...]
    texts: Mapping[str, Text]
    labels: Int[Tensor, " b"]
    candidates: Bool[Tensor, "b c"] | None = None
    asked: Int[Tensor, " b"] | None = None
    answer: Answer | None = None
    infiller: Infiller | None = None

    def to(self, device: torch.device | str) -> Batch:
        texts = {side: text.to(device) for side, text in self.texts.items()}
        return self._with(self.ids, texts, lambda column: column.to(device))

    def take(self, rows: Int[Tensor, " n"]) -> Batch:
        ids = tuple(self.ids[row] for row in rows.tolist())
        texts = {side: text.take(rows) for side, text in self.texts.items()}
        return self._with(ids, texts, lambda column: column[rows])

    def _with(
        self, ids: tuple[str, ...], texts: Mapping[str, Text], change: Callable[[Tensor], Tensor]
    ) -> Batch:
        """Other ids and texts, and every other column changed."""
        allowed = None if self.candidates is None else change(self.candidates)
        asked = None if self.asked is None else change(self.asked)
        answer = None if self.answer is None else self.answer.map(change)
        return Batch(ids, texts, change(self.labels), allowed, asked, answer, self.infiller)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class SiteSpec:
    """A place where a softmax mixes values.

    `keys` is the side whose positions are attended, `level` is `tokens` or `sentences`,
    and `linear` says that everything after the site is linear in its weights. Probes look at
    the `main` ones: the attention a reader would be shown. `normalised` weights sum to 1;
    a gate's do not. `queries` is the side whose positions attend, empty where it is none's: a
    query that was learned, or a whole text.
    """

    name: str
    keys: str
    level: str
    linear: bool
    main: bool = True
    normalised: bool = True
    queries: str = ""


@dataclass(frozen=True)
class SiteCall:
    """What an edit sees: the weights of one call of one site. `mask` broadcasts to them."""

    site: SiteSpec
    weights: Float[Tensor, "b h q k"]
    mask: Mask
    ids: tuple[str, ...]
    step: int = 0

    def queries(self, whole: Float[Tensor, "b h s k"]) -> Float[Tensor, "b h q k"]:
        """Of a trace's weights those of this call: all queries, or the step being written."""
        return whole[:, :, self.step : self.step + self.weights.shape[2]]


@runtime_checkable
class Edit(Protocol):
    """An intervention on attention: new weights of the same shape."""

    def __call__(self, call: SiteCall) -> Float[Tensor, "b h q k"]: ...


@dataclass(frozen=True)
class OutputEdit:
    """An intervention on what the heads of a site put out: its weights stay as they are, and
    `change` is given what each head has mixed for each query.

    A model that shows its heads' outputs asks for `applied`. Any other calls this as it calls every
    edit, and is refused: an edit that did nothing would look like a head that does nothing."""

    change: Callable[[SiteCall, Float[Tensor, "b h q d"]], Float[Tensor, "b h q d"]]

    def __call__(self, call: SiteCall) -> Tensor:
        raise HeedfulError(
            f"this model does not show what the heads of {call.site.name!r} put out: leave edits "
            "of outputs out."
        )

    def applied(
        self, call: SiteCall, outputs: Float[Tensor, "b h q d"]
    ) -> Float[Tensor, "b h q d"]:
        """The outputs that go on, checked."""
        changed = self.change(call, outputs)
        if changed.shape != outputs.shape:
            raise HeedfulError(
                f"an edit of the outputs of {call.site.name!r} returned shape "
                f"{tuple(changed.shape)} where {tuple(outputs.shape)} was needed."
            )
        return changed.to(outputs.dtype)


Edits = Mapping[str, Edit]


@dataclass(frozen=True)
class EditSpec:
    """A hashable description from which an edit is built."""

    name: str
    params: tuple[tuple[str, Any], ...] = ()


def _formerly(**names: str) -> Callable[[type[_Kind]], type[_Kind]]:
    """Keep the field names of version 0.1 working, as arguments and as attributes."""

    def also_known(kind: type[_Kind]) -> type[_Kind]:
        init: Callable[..., None] = kind.__init__

        @wraps(init)
        def accept(self: Any, *args: Any, **options: Any) -> None:
            init(self, *args, **{names.get(name, name): each for name, each in options.items()})

        def look_up(self: Any, name: str) -> Any:
            if name in names:
                return getattr(self, names[name])
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

        setattr(kind, "__init__", accept)  # noqa: B010
        setattr(kind, "__getattr__", look_up)  # noqa: B010
        return kind

    return also_known


@_formerly(readers="readout_weights")
@dataclass(frozen=True)
class Keep:
    """What a forward pass should leave behind besides logits. `weights` are those of all sites, of
    none, or of some by name: a model of many layers need not stop at the others, whose weights may
    still be there. What gradients need may be computed `again` instead of being kept, by a model
    of many layers whose texts are long; whoever changes what is computed meanwhile must not ask."""

    states: bool = False
    embeddings: bool = False
    token_logits: bool = False
    encoding: bool = False
    values: bool = False
    readout_weights: bool = False
    weights: bool | tuple[str, ...] = True
    again: bool = False

    def weights_of(self, site: str) -> bool:
        return self.weights if isinstance(self.weights, bool) else site in self.weights


@dataclass(frozen=True)
class TokenLogits:
    """For a linear site: `logits = weights @ values + bias`, exactly."""

    values: Float[Tensor, "b k c"]
    bias: Float[Tensor, " c"]


@_formerly(readers="readout_weights")
@dataclass(frozen=True)
class Trace:
    """What one forward pass left. `states` are what a family can be resumed from, `values`
    what each head of a site mixes, `projections` how the heads of a site are joined (the output
    projection W_O by head; None where there is one that cannot be told, and no entry for a site
    of one head whose values go on as they are), `projection_biases` what those projections add,
    `readout_weights` which of a site's queries the
    prediction is read from (each example's sum to 1). A generating model's `logits` are those
    after the last token of the target it was given, `step_logits` those after each."""

    logits: Float[Tensor, "b c"]
    weights: Mapping[str, Float[Tensor, "b h _q _k"]]
    masks: Mapping[str, SiteMask]
    states: Mapping[str, Float[Tensor, "b _k _d"]] = field(default_factory=dict)
    embeddings: Mapping[str, Float[Tensor, "b t e"]] = field(default_factory=dict)
    token_logits: Mapping[str, TokenLogits] = field(default_factory=dict)
    encoding: Any = None
    """The family's own; what `leave_one_out_logits` and `resume` go on from."""
    values: Mapping[str, Float[Tensor, "b h _k _d"]] = field(default_factory=dict)
    projections: Mapping[str, Float[Tensor, "h _d _e"] | None] = field(default_factory=dict)
    projection_biases: Mapping[str, Float[Tensor, " _e"]] = field(default_factory=dict)
    readout_weights: Mapping[str, Float[Tensor, "b _q"]] = field(default_factory=dict)
    step_logits: Float[Tensor, "b s c"] | None = None


@dataclass(frozen=True)
class Deleted:
    """Logits of whole texts and of the texts less each token (NaN where there is none), by
    the same arithmetic, so that a token without effect moves nothing."""

    whole: Float[Tensor, "b c"]
    less: Float[Tensor, "b t c"]


Embeddings = Mapping[str, Float[Tensor, "b t e"]]


@runtime_checkable
class Model(Protocol):
    """The contract of every model family."""

    @property
    def sites(self) -> tuple[SiteSpec, ...]: ...

    @property
    def fillers(self) -> Mapping[str, int]:
        """Token ids that stand for nothing in particular: `unk`, and `mask` where there is one."""
        ...

    def __call__(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        """`embeddings`, by side, take the place of the tokens' own."""
        ...

    def embed(self, batch: Batch) -> Embeddings:
        """The tokens' own embeddings by side, before positions are added; without gradients."""
        ...

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """Recompute from the first edited site on."""
        ...

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        """What deleting each token of side `a` in turn does to the logits. A trace of the
        batch that kept its encoding saves making it again."""
        ...


@dataclass(frozen=True)
class AttentionRows:
    """The one view probes have of attention: a row per example, head and query."""

    weights: Float[Tensor, "n k"]
    mask: Bool[Tensor, "n k"]
    example: Int[Tensor, " n"]
    head: Int[Tensor, " n"]
    query: Int[Tensor, " n"]

    def first(self: _Rows) -> _Rows:
        """One row per example: for what is said of examples, not of heads or queries."""
        new = torch.ones_like(self.example, dtype=torch.bool)
        new[1:] = self.example[1:] != self.example[:-1]
        return self.take(new)

    def take(self: _Rows, chosen: Bool[Tensor, " n"] | Int[Tensor, " m"]) -> _Rows:
        columns = (each.name for each in fields(AttentionRows))
        return replace(self, **{name: getattr(self, name)[chosen] for name in columns})


def rows(trace: Trace, site: str) -> AttentionRows:
    """Flatten a site's weights to rows, whatever the family; empty rows are left out."""
    weights = trace.weights[site]
    b, h, q, k = weights.shape
    mask = trace.masks[site].expand(b, h, q, k)
    index = torch.cartesian_prod(*(torch.arange(n, device=weights.device) for n in (b, h, q)))
    live = mask.reshape(-1, k).any(-1)
    example, head, query = (column.reshape(-1)[live] for column in index.unbind(-1))
    return AttentionRows(
        weights.reshape(-1, k)[live], mask.reshape(-1, k)[live], example, head, query
    )


Target = Callable[[Float[Tensor, "b c"], Int[Tensor, " b"]], Float[Tensor, " b"]]
"""The explained quantity: `(logits, class) -> one number per example`."""
