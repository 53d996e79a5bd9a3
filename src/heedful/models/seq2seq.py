"""Recurrent encoder and decoder with attention (vashishth2019: Bahdanau's and Luong's).

The encoder is a bidirectional LSTM, half of `hidden` in each direction, so that its states
are as wide as the decoder's. Source tokens are attended, start and end are not.

`additive` is Bahdanau et al.'s decoder: the state before the step asks, and the context enters
the recurrence. `dot` and `general` are Luong et al.'s: the new state asks, and the attentional
state tanh(W [c; s]) is fed to the next step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.entries import Entries, ModelFamily
from heedful.errors import HeedfulError, unknown_name
from heedful.models.attention import masked_softmax
from heedful.models.build import make_embedding
from heedful.models.encoders import Encoder, Encoding
from heedful.models.family import edited, requested, visible
from heedful.models.generation import TargetWords, Writer, target_trace
from heedful.models.recurrent import Recurrent, last_states, lstm_step
from heedful.specs import ModelSpec
from heedful.types import Batch, Edits, Keep, SiteSpec, Trace

ENTRIES = Entries(ModelFamily)


class DecoderAttention(nn.Module, ABC):
    """A decoder's state asks, the encoder's states answer: one score per source token. The
    map `key` of the sources is the same for all steps."""

    key: nn.Module

    @abstractmethod
    def scores(
        self, query: Float[Tensor, "b d"], keys: Float[Tensor, "b k d"]
    ) -> Float[Tensor, "b k"]: ...


class BahdanauAttention(DecoderAttention):
    """v · tanh(W h + U s + b) (Bahdanau et al. 2015)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.key = nn.Linear(size, size)
        self.query = nn.Linear(size, size, bias=False)
        self.score = nn.Linear(size, 1, bias=False)

    def scores(
        self, query: Float[Tensor, "b d"], keys: Float[Tensor, "b k d"]
    ) -> Float[Tensor, "b k"]:
        return torch.tanh(keys + self.query(query)[:, None]) @ self.score.weight[0]


class LuongAttention(DecoderAttention):
    """s · h, or s · W h where there is a map (Luong et al. 2015)."""

    def __init__(self, key: nn.Module) -> None:
        super().__init__()
        self.key = key

    def scores(
        self, query: Float[Tensor, "b d"], keys: Float[Tensor, "b k d"]
    ) -> Float[Tensor, "b k"]:
        return torch.einsum("bd,bkd->bk", query, keys)


ATTENTIONS: dict[str, Callable[[int], DecoderAttention]] = {
    "additive": BahdanauAttention,
    "dot": lambda size: LuongAttention(nn.Identity()),
    "general": lambda size: LuongAttention(nn.Linear(size, size, bias=False)),
}


class Cells(nn.Module):
    """The first layer reads a target token and what attention fed back; the second reads the
    first. Hidden states and cells of all layers are one tensor, `[b, layers, 2, size]`."""

    def __init__(self, width: int, size: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.dropout = nn.Dropout(dropout)
        inputs = [width + size, *[size] * (layers - 1)]
        self.layers: list[nn.LSTMCell] = nn.ModuleList(  # type: ignore[assignment]
            nn.LSTMCell(wide, size) for wide in inputs
        )

    def read(self, embedded: Float[Tensor, "*b e"]) -> Float[Tensor, "*b g"]:
        """What tokens add to the first layer's gates: for all steps at once where they are
        known."""
        cell = self.layers[0]
        return nn.functional.linear(
            embedded, cell.weight_ih[:, : self.width], cell.bias_ih + cell.bias_hh
        )

    def forward(
        self,
        read: Float[Tensor, "b g"],
        fed: Float[Tensor, "b d"],
        state: Float[Tensor, "b l 2 d"],
    ) -> Float[Tensor, "b l 2 d"]:
        """One step."""
        first, *others = self.layers
        gates = torch.addmm(read, fed, first.weight_ih[:, self.width :].t())
        gates = torch.addmm(gates, state[:, 0, 0], first.weight_hh.t())
        out = [torch.stack(lstm_step(gates, state[:, 0, 1]), 1)]
        for depth, cell in enumerate(others, 1):
            below = self.dropout(out[-1][:, 0])
            out.append(torch.stack(cell(below, (state[:, depth, 0], state[:, depth, 1])), 1))
        return torch.stack(out, 1)


Attend = Callable[[Float[Tensor, "b k"]], Float[Tensor, "b k"]]
"""From scores to the weights that are used, masks and edits and all."""


@dataclass(frozen=True)
class Source:
    """What all steps share: the encoder's states, and what of the scores depends on them."""

    states: Float[Tensor, "b k d"]
    keys: Float[Tensor, "b k d"]


@dataclass(frozen=True)
class DecoderState:
    """What a step leaves to the next: the cells, and what is fed back."""

    cells: Float[Tensor, "b l 2 d"]
    fed: Float[Tensor, "b d"]


class Decoder(nn.Module):
    """`size` is the width of its states and of the encoder's."""

    def __init__(self, spec: ModelSpec, width: int, size: int) -> None:
        super().__init__()
        self.early = spec.attention == "additive"
        self.size, self.depth = size, spec.layers
        # its name in stored weights
        self.asking: DecoderAttention = ATTENTIONS[spec.attention](size)
        self.cells = Cells(width, size, spec.layers, spec.dropout)
        self.bridge = nn.Linear(size, 2 * size * spec.layers)
        self.combine = nn.Linear(2 * size + (width if self.early else 0), size)

    def begin(
        self, states: Float[Tensor, "b k d"], lengths: Int[Tensor, " b"]
    ) -> tuple[Source, DecoderState]:
        """The sources, and the first state, from where the encoder's two directions ended."""
        summary = last_states(states, lengths, 2)
        first = torch.tanh(self.bridge(summary)).reshape(-1, self.depth, 2, self.size)
        source = Source(states, self.asking.key(states))
        return source, DecoderState(first, torch.zeros_like(summary))

    def forward(
        self,
        source: Source,
        state: DecoderState,
        embedded: Float[Tensor, "b e"],
        read: Float[Tensor, "b g"],
        attend: Attend,
    ) -> tuple[Float[Tensor, "b d"], DecoderState]:
        """The input of the output layer, and the new state."""

        def mix(query: Tensor) -> Tensor:
            weights = attend(self.asking.scores(query, source.keys))
            return torch.einsum("bk,bkd->bd", weights.to(source.states.dtype), source.states)

        if self.early:  # Bahdanau et al.
            context = mix(state.cells[:, -1, 0])
            cells = self.cells(read, context, state.cells)
            parts = [context, cells[:, -1, 0], embedded]
        else:  # Luong et al.
            cells = self.cells(read, state.fed, state.cells)
            context = mix(cells[:, -1, 0])
            parts = [context, cells[:, -1, 0]]
        out = torch.tanh(self.combine(torch.cat(parts, -1)))
        return out, DecoderState(cells, state.fed if self.early else out)


SITE = SiteSpec(name="attention", keys="a", level="tokens", linear=False, queries="b")
HIDDEN = 256


@dataclass(frozen=True)
class Writing:
    """Where a search stands: the sources, and what was made of the targets so far."""

    source: Source
    mask: Bool[Tensor, "b k"]
    decoder: DecoderState
    ids: tuple[str, ...]
    edits: Edits


@ENTRIES.entry(
    "recurrent encoder and decoder, attention at every step of writing",
    name="seq2seq",
    kind="generation",
    paper="vashishth2019",
    citation="Bahdanau et al. 2015; Luong et al. 2015",
)
class Seq2Seq(Writer):
    """Recurrent encoder and decoder with attention."""

    def __init__(self, spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> None:
        super().__init__()
        size, width = spec.hidden or HIDDEN, vectors.shape[1]
        self.embedding = make_embedding(vectors, spec.train_embedding)
        self.target = TargetWords(vectors, size, spec.train_embedding)
        self.encoder: Encoder = Recurrent(width, spec.layers, size // 2, bidirectional=True)
        self.decoder: Decoder = Decoder(spec, width, size)
        self.dropout = nn.Dropout(spec.dropout)

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return (SITE,)

    @property
    def tables(self) -> Mapping[str, nn.Module]:
        return {"a": self.embedding, "b": self.target.embedding}

    def run(self, batch: Batch, embedded: Mapping[str, Tensor], edits: Edits, keep: Keep) -> Trace:
        states = self._encode(embedded["a"], batch.texts["a"].lengths)
        return self._write(batch, states, embedded["b"], edits, keep)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the encoder's states on: all steps are written again, since an edit may change
        every one."""
        embedded = trace.embeddings.get("b")
        if embedded is None:
            embedded = self.target.embedding(batch.texts["b"].tokens)
        return self._write(batch, trace.states[SITE.name], embedded, edits, Keep(states=True))

    def start(self, batch: Batch, edits: Edits | None = None) -> Writing:
        text = batch.texts["a"]
        states = self._encode(self.embedding(text.tokens), text.lengths)
        source, first = self.decoder.begin(states, text.lengths)
        return Writing(source, visible(text), first, batch.ids, edits or {})

    def step(
        self, state: Writing, tokens: Int[Tensor, " b"], t: int
    ) -> tuple[Float[Tensor, "b c"], Writing]:
        embedded = self.dropout(self.target.embedding(tokens))
        attend = _AttentionStep(state.mask, state.ids, state.edits, t)
        out, decoder = self.decoder(
            state.source, state.decoder, embedded, self.decoder.cells.read(embedded), attend
        )
        return self.target.logits(self.dropout(out)), replace(state, decoder=decoder)

    def reorder(self, state: Writing, rows: Int[Tensor, " n"]) -> Writing:
        return Writing(
            Source(state.source.states[rows], state.source.keys[rows]),
            state.mask[rows],
            DecoderState(state.decoder.cells[rows], state.decoder.fed[rows]),
            tuple(state.ids[row] for row in rows.tolist()),
            state.edits,
        )

    def _encode(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        encoding: Encoding = self.encoder(self.dropout(embedded), lengths)
        return encoding.states

    def _write(
        self, batch: Batch, states: Tensor, embedded: Tensor, edits: Edits, keep: Keep
    ) -> Trace:
        """All steps of the given targets, one after the other."""
        text, mask = batch.texts["b"], visible(batch.texts["a"])
        embedded = self.dropout(embedded)
        read = self.decoder.cells.read(embedded)
        source, state = self.decoder.begin(states, batch.texts["a"].lengths)
        outs: list[Tensor] = []
        steps: list[_AttentionStep] = []
        for t in range(text.tokens.shape[1]):
            attend = _AttentionStep(mask & (text.lengths > t)[:, None], batch.ids, edits, t)
            out, state = self.decoder(source, state, embedded[:, t], read[:, t], attend)
            outs.append(out)
            steps.append(attend)
        return target_trace(
            batch,
            self.target.logits(self.dropout(torch.stack(outs, 1))),
            SITE,
            keep,
            weights={SITE.name: torch.cat([step.used for step in steps], 2)},
            masks={SITE.name: torch.stack([step.mask for step in steps], 1)[:, None]},
            **requested(keep, states={SITE.name: states}, values={SITE.name: states[:, None]}),
        )


class _AttentionStep:
    """The site at one step: softmax, then the edit; the weights that were used stay here."""

    used: Tensor

    def __init__(self, mask: Tensor, ids: tuple[str, ...], edits: Edits, t: int) -> None:
        self.mask, self._ids, self._edits, self._t = mask, ids, edits, t

    def __call__(self, scores: Tensor) -> Tensor:
        own = masked_softmax(scores, self.mask)[:, None, None]
        mask = self.mask[:, None, None]
        self.used = edited(SITE, own, mask, self._ids, self._edits, self._t)
        return self.used[:, 0, 0]


def check(spec: ModelSpec) -> None:
    if spec.encoder != "bilstm":
        raise unknown_name("encoder of the family seq2seq", spec.encoder, ["bilstm"])
    if spec.attention not in ATTENTIONS:
        raise unknown_name("attention of the family seq2seq", spec.attention, list(ATTENTIONS))
    if spec.decoder:
        raise HeedfulError("the family seq2seq has one decoder: leave --decoder out.")
    if spec.layers not in (1, 2):
        raise HeedfulError(f"--layers is {spec.layers}: the family seq2seq has 1 or 2.")
