"""The trained kinds: which texts, which model, and what it is trained for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from heedful.benchmark.trained import corpus as grammar
from heedful.benchmark.trained.corpus import Corpus, Task, two_cues
from heedful.benchmark.trained.models import FILLERS, Bert, Mixed
from heedful.interventions import edited
from heedful.models import Family, build
from heedful.randomness import stable_hash
from heedful.specs import ModelSpec, TermSpec, TrainSpec
from heedful.targets import weights_digest
from heedful.training import Objective, train
from heedful.types import Model

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
    return train(fresh, corpus, training, seed, objective=Objective(spec.goal, spec.terms)).model


def _plain(encoder: str, epochs: int = TRAINING.epochs) -> Maker:
    return lambda corpus: _trained(corpus, _spec(corpus, encoder), replace(TRAINING, epochs=epochs))


def _hiding(encoder: str, weight: float) -> Maker:
    """Attention on the words that decide is punished (pruthi2020)."""

    def make(corpus: Corpus) -> Family:
        spec = replace(_spec(corpus, encoder), terms=(TermSpec("impermissible", weight),))
        return _trained(corpus, spec, replace(TRAINING, epochs=10, learning_rate=1e-2))

    return make


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
        _hiding("bilstm", 1.0),
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
