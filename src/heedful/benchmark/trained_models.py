"""The trained kinds: which texts, which model, and what it is trained for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from heedful.benchmark import trained_texts as grammar
from heedful.benchmark.generated import bert
from heedful.benchmark.trained_texts import Corpus, Task, two_cues
from heedful.hashing import stable_hash
from heedful.interventions import edited
from heedful.models import Attention, Family, build
from heedful.specs import END, PAD, START, UNKNOWN, ModelSpec, TermSpec, TrainSpec
from heedful.targets import weights_digest
from heedful.training import Objective, train
from heedful.types import Batch, Edits, Embeddings, Keep, Model, SiteSpec, Trace

TRAINING = TrainSpec(epochs=6, learning_rate=5e-3, class_weights=False, select="loss")
LEAKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MISLED = 0.25
"""What the attended words still say where attention misleads."""
LOGIT = 2.5
"""The mean |logit| that each path of a mixed model is scaled to."""

ONE_HEAD = 1
"""The head of the model `one-head` that is read."""

Maker = Callable[[Corpus], Any]
"""Gives a model of ours, or one of transformers."""


@dataclass(frozen=True)
class TrainedKind:
    """`rule` makes the texts; `make` trains the model on them. `dose` is the share of the output
    that goes around attention, where that is graded. `claim` says in words what is built; what
    is true of the trained model is measured (`truth.py`)."""

    name: str
    rule: Task
    make: Maker
    claim: str
    dose: float | None = None

    @contextmanager
    def opened(self, corpus: Corpus) -> Iterator[tuple[Model, str]]:
        """The trained model, for as long as the block lasts, and a digest of its weights."""
        made = self.make(corpus).eval()
        digest = weights_digest(made)
        if isinstance(made, Family):
            yield made, digest
            return
        from heedful.models import attach

        with attach(made, FILLERS) as model:
            yield model, digest


def _spec(corpus: Corpus, encoder: str) -> ModelSpec:
    """Odd seeds attend by a dot product, even ones additively."""
    return ModelSpec(encoder, "dot" if corpus.seed % 2 else "additive", hidden=32)


def _trained(corpus: Corpus, spec: ModelSpec, training: TrainSpec = TRAINING) -> Family:
    seed = stable_hash(corpus.seed, spec.name) % (1 << 30)
    fresh = edited(build(spec, corpus.vectors, corpus.classes, seed), spec, seed)
    model: Family = train(
        fresh, corpus, training, seed, objective=Objective(spec.goal, spec.terms)
    ).model
    return model


def _plain(encoder: str, epochs: int = TRAINING.epochs) -> Maker:
    return lambda corpus: _trained(corpus, _spec(corpus, encoder), replace(TRAINING, epochs=epochs))


def _hiding(corpus: Corpus) -> Family:
    """Attention on the words that decide is punished (pruthi2020)."""
    spec = replace(_spec(corpus, "bilstm"), terms=(TermSpec("impermissible", 1.0),))
    return _trained(corpus, spec, replace(TRAINING, epochs=10, learning_rate=1e-2))


def _bag(corpus: Corpus) -> Family:
    """The mean of all words, whatever is attended."""
    return _trained(corpus, replace(_spec(corpus, "none"), train_edit="uniform"))


def _leaking(leak: float, attended: float = 0.0) -> Maker:
    """One path attends to opinions (or remarks, where `attended` is 1), the other reads the
    other cue: neither knows the other's."""

    def make(corpus: Corpus) -> Family:
        seen, unseen = (replace(corpus, rule=two_cues(part)) for part in (attended, 1 - attended))
        return _mixed(corpus, _trained(seen, _spec(corpus, "average")), _bag(unseen), leak)

    return make


def _idle(corpus: Corpus) -> Family:
    """Attention as it came: it was never trained, and nothing reads it."""
    seed = stable_hash(corpus.seed, "idle") % (1 << 30)
    untrained = build(_spec(corpus, "average"), corpus.vectors, corpus.classes, seed)
    with torch.no_grad():  # fresh attention is nearly uniform: here it looks like an opinion
        for parameter in untrained.attentions["attention"].parameters():
            parameter.mul_(4.0)
    return _mixed(corpus, untrained, _bag(corpus), 1.0)


def _coincidence(corpus: Corpus) -> Family:
    """Attention marks what decides, and nothing reads it."""
    return _mixed(corpus, _trained(corpus, _spec(corpus, "average")), _bag(corpus), 1.0)


def _mixed(corpus: Corpus, attended: Family, bypass: Family, leak: float) -> Family:
    batch = corpus.split("dev").batch(range(200))
    with torch.no_grad():
        sizes = [float(path.eval()(batch).logits.abs().mean()) for path in (attended, bypass)]
    scales = (LOGIT / max(sizes[0], 1e-6), LOGIT / max(sizes[1], 1e-6))
    return Mixed(attended, bypass, leak, scales)


# The trained models that no family of Heedful has: a bypass around attention, and small BERTs.


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


# The kinds, in the order of the page.

_ALL = (
    TrainedKind(
        "average",
        grammar.MAJORITY,
        _plain("average"),
        "each word is encoded by itself; opinions of both polarities are attended",
    ),
    TrainedKind(
        "embedding",
        grammar.SINGLE,
        _plain("none"),
        "no encoder: attention is the only path from words to the decision",
    ),
    TrainedKind("idle", grammar.MAJORITY, _idle, "untrained attention that nothing reads"),
    TrainedKind(
        "coincidence",
        grammar.MAJORITY,
        _coincidence,
        "attention marks the words that decide, and nothing reads it",
    ),
    TrainedKind(
        "misleading",
        replace(two_cues(MISLED), families=("opinion",)),
        _leaking(1 - MISLED, 1.0),
        "attention is on remarks and moves the output, but opinions decide and go around it",
    ),
    TrainedKind(
        "deceptive",
        grammar.SINGLE,
        _hiding,
        "a BiLSTM trained to decide by words that its attention must not be seen on",
    ),
    TrainedKind(
        "bilstm",
        grammar.MAJORITY,
        _plain("bilstm"),
        "the encoder mixes neighbours before they are attended",
    ),
    TrainedKind(
        "redundant",
        grammar.REDUNDANT,
        _plain("average"),
        "two words say the same, and either would do",
    ),
    TrainedKind(
        "negated",
        grammar.NEGATED,
        _plain("bilstm"),
        "an adverb turns the opinion after it round: two words decide together",
    ),
    TrainedKind(
        "xor",
        grammar.XOR,
        _plain("bilstm", 16),
        "two words far from each other decide together, neither of them alone",
    ),
    TrainedKind(
        "long",
        grammar.LONG,
        _plain("average"),
        "one word of 6 to 500 decides, and attention is the only path",
    ),
    TrainedKind(
        "transformer",
        grammar.SINGLE,
        Bert(layers=2),
        "a BERT of two layers with four heads each; the last layer is on trial",
    ),
    TrainedKind(
        "sink",
        grammar.SINGLE,
        Bert(sink=True),
        "a BERT of one layer, most of whose attention is on the end token",
    ),
    TrainedKind(
        "one-head",
        grammar.SINGLE,
        Bert(only_head=ONE_HEAD),
        "a BERT of one layer with four heads, of which one is read; their mean is on trial",
    ),
    *(
        TrainedKind(
            f"leak-{leak:.1f}",
            two_cues(leak),
            _leaking(leak),
            f"{leak:.0%} of the output goes around attention, by other words",
            leak,
        )
        for leak in LEAKS
    ),
)
KINDS: Mapping[str, TrainedKind] = {kind.name: kind for kind in _ALL}
