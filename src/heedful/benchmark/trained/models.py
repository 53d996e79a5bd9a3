"""The trained models that no family of Heedful has: a bypass around attention, and small BERTs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from heedful.benchmark.generated import bert
from heedful.benchmark.trained.corpus import Corpus
from heedful.models import Attention, Family, leave_one_out_logits
from heedful.randomness import stable_hash
from heedful.specs import END, PAD, START, UNKNOWN
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

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return leave_one_out_logits(lambda some: self(some).logits, batch)

    def _mix(self, through: Tensor, around: Tensor) -> Tensor:
        one, other = self.scales
        return (1 - self.leak) * one * through + self.leak * other * around


def _side(embeddings: Tensor | None) -> Embeddings | None:
    return None if embeddings is None else {"a": embeddings}


# Small BERTs that are trained: with heads that nothing reads, or with an attention sink.


HIDDEN, HEADS = 32, 4
BATCH, RATE = 32, 2e-3
HIDDEN_WORDS = 0.1
"""Share of words that training hides, so that a masked word is nothing new to the model."""
SHARP = 8.0
"""Fresh heads attend nearly evenly: made so much sharper, they look like an opinion."""
SUNK = 0.7
"""The share of attention that a sink is trained to take."""
FILLERS = {"unk": UNKNOWN}


@dataclass(frozen=True)
class Bert:
    """Trained to say the labels. With `only_head` nothing reads the other heads of the only layer,
    and they are kept off the words that decide. With a `sink` the end token, which is no word,
    takes most of the attention of the last layer."""

    layers: int = 1
    epochs: int = 8
    only_head: int | None = None
    sink: bool = False

    def __call__(self, corpus: Corpus) -> Any:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(stable_hash(corpus.seed, *map(str, astuple(self))) % (1 << 31))
            module = _fresh(len(corpus.words), self.layers)
            if self.only_head is not None:
                _align_others(module, self.only_head)
            self._train(module, corpus)
        return module.eval()

    def _train(self, module: Any, corpus: Corpus) -> None:
        data = corpus.split("train")
        optimizer = torch.optim.AdamW(module.parameters(), lr=RATE)
        module.train()
        for _ in range(self.epochs):
            order = torch.randperm(len(data)).tolist()
            for start in range(0, len(order), BATCH):
                optimizer.zero_grad()
                loss = self._loss(module, corpus, data.batch(order[start : start + BATCH]))
                torch.autograd.backward(loss)
                optimizer.step()
                if self.only_head is not None:
                    _unread(module, self.only_head)

    def _loss(self, module: Any, corpus: Corpus, batch: Batch) -> Tensor:
        tokens = batch.texts["a"].tokens
        seen = _hidden(tokens)
        said = module(
            input_ids=seen,
            attention_mask=(seen != PAD).long(),
            labels=batch.labels,
            output_attentions=True,
        )
        loss: Tensor = said.loss
        from_start = said.attentions[-1][:, :, 0]
        if self.sink:
            loss = loss + (SUNK - (from_start * (seen == END)[:, None]).sum(-1)).square().mean()
        if self.only_head is not None:
            others = [head for head in range(HEADS) if head != self.only_head]
            decides = torch.isin(tokens, corpus.deciding)[:, None]
            loss = loss + (from_start[:, others] * decides).sum(-1).mean()
        return loss


def _fresh(words: int, layers: int) -> Any:
    return bert(
        vocab_size=words,
        hidden_size=HIDDEN,
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        intermediate_size=2 * HIDDEN,
        max_position_embeddings=64,
        pad_token_id=PAD,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.1,
        attn_implementation="eager",
    )


def _align_others(module: Any, only_head: int) -> None:
    """The other heads start alike, so that together they outweigh the one that is read."""
    own = module.bert.encoder.layer[0].attention.self
    first, *others = _others(only_head)
    with torch.no_grad():
        for weight in (own.query.weight, own.key.weight):
            weight[first] *= SHARP
            for rows in others:
                weight[rows] = weight[first]


def _hidden(tokens: Tensor) -> Tensor:
    special = (tokens == PAD) | (tokens == START) | (tokens == END)
    hidden = (torch.rand(tokens.shape) < HIDDEN_WORDS) & ~special
    return tokens.masked_fill(hidden, UNKNOWN)


def _unread(module: Any, only_head: int) -> None:
    """Without a way out what they attend to is nothing to the decision."""
    with torch.no_grad():
        out = module.bert.encoder.layer[0].attention.output.dense.weight
        for columns in _others(only_head):
            out[:, columns] = 0.0


def _others(only_head: int) -> list[slice]:
    wide = HIDDEN // HEADS
    return [slice(h * wide, (h + 1) * wide) for h in range(HEADS) if h != only_head]
