"""What a model is trained for: the goal's loss, the terms beside it, and the score on the dev split
that the best epoch is chosen by."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from heedful.data import Split
from heedful.entries import LossTerm
from heedful.errors import HeedfulError, unknown_name
from heedful.metrics import METRICS, tvd
from heedful.models import Family, main_site, probabilities
from heedful.parameters import check_parameters, parameters_of
from heedful.registry import Registry, places
from heedful.specs import GOALS, ModelSpec, TermSpec, TrainSpec
from heedful.types import Batch, Keep, Model, Trace
from heedful.words import present

GoalLoss = Callable[[Trace, Batch], Tensor]
_BATCH = 64  # texts of the dev split at a time


TERMS = Registry(
    "term",
    LossTerm,
    places(
        "heedful.training",
        {
            "attention_terms": "apart coherence impermissible sparsity supervised",
            "state_terms": "diversity mlm tying",
        },
    ),
)
"""Terms that a loss may have beside the task's own: `make(context, **params) -> Term`."""

STATE_TERMS = Registry(
    "pretrained-term",
    LossTerm,
    places("heedful.training", {"pretrained_terms": "diversity impermissible mlm tying"}),
)
"""Terms for pretrained models, about one layer: `make(layers, **params) -> PretrainedTerm`. Without
a site they are about the last layer."""


def class_loss(labels: Int[Tensor, " n"], classes: int, weighted: bool) -> GoalLoss:
    """Mean cross-entropy over a batch.

    Two classes: each positive counts N/N₊ − 1 times (jain2019). More classes: the usual
    N/(C·N_c), which for balanced data is 1.
    """
    weights = torch.ones(classes)
    if weighted:
        counts = torch.bincount(labels, minlength=classes).clamp_min(1).to(torch.float32)
        weights = counts.sum() / (classes * counts)
        if classes == 2:
            weights = torch.stack([torch.ones(()), counts.sum() / counts[1] - 1])

    def loss(trace: Trace, batch: Batch) -> Tensor:
        logits, label = trace.logits, batch.labels
        if classes == 2:
            one, gold = logits.squeeze(1), label.to(logits.dtype)
            losses = F.binary_cross_entropy_with_logits(one, gold, reduction="none")
        else:
            losses = F.cross_entropy(logits, label, reduction="none")
        return (losses * weights.to(logits.device)[label]).mean()

    return loss


def target_loss(smoothing: float = 0.0) -> GoalLoss:
    """Mean cross-entropy over the tokens of a batch's targets, the end among them."""

    def loss(trace: Trace, batch: Batch) -> Tensor:
        logits, gold, there = target_steps(trace, batch)
        return F.cross_entropy(logits[there], gold[there], label_smoothing=smoothing)

    return loss


def target_steps(
    trace: Trace, batch: Batch
) -> tuple[Float[Tensor, "b s c"], Int[Tensor, "b s"], Bool[Tensor, "b s"]]:
    """After each token of the target: the logits, the token that follows, and whether one does."""
    assert trace.step_logits is not None
    text = batch.texts["b"]
    return trace.step_logits[:, :-1], text.tokens[:, 1:], present(text)[:, 1:]


class Data(Protocol):
    """What training asks of a corpus."""

    @property
    def task(self) -> str: ...

    @property
    def classes(self) -> int: ...

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def vectors(self) -> Tensor: ...

    def split(self, name: str) -> Split: ...


@dataclass(frozen=True)
class TermContext:
    """What a term may know besides the batch: the model that learns, what it learns from, and
    its teacher, where it has one, with the last batch it was `heard` about."""

    model: Family
    corpus: Data
    teacher: Family | None = None
    heard: list[tuple[Batch, Trace]] = field(default_factory=list)


Value = Callable[[Batch, Trace], Tensor]


@dataclass(frozen=True)
class Term:
    """`value(batch, trace)` is one number, a mean over the batch's examples; `keep` says what
    of a forward pass it looks at. Draws of its own come from torch's generator, which the
    loop seeds."""

    value: Value
    keep: Keep = field(default_factory=Keep)


def masked_mean(values: Float[Tensor, "b t"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, " b"]:
    """The mean over what the mask has; 0 where it has nothing."""
    return torch.where(mask, values, 0.0).sum(-1) / mask.sum(-1).clamp_min(1)


def attended_states(
    model: Family, trace: Trace
) -> tuple[Float[Tensor, "b k d"], Bool[Tensor, "b k"]]:
    """The states the main attention mixes, with their gradients, and which of them it may see."""
    site = main_site(model).name
    if site not in trace.states:
        raise HeedfulError(
            f"this family does not keep the states that {site} mixes: leave the term out, or "
            f"choose another family."
        )
    return trace.states[site], trace.masks[site].any(1).any(1)


def read_rows(trace: Trace, batch: Batch, mask: Bool[Tensor, "b h q k"]) -> Bool[Tensor, "b h q"]:
    """The rows that attend to something; of a target's steps, those after which a token comes:
    what is padded and what follows the end would count by the batch they are in."""
    there = mask.any(-1)
    if trace.step_logits is None:
        return there
    steps = target_steps(trace, batch)[2]
    return there & torch.nn.functional.pad(steps, (0, 1))[:, None]


def teacher_of(context: TermContext) -> Family:
    if context.teacher is None:
        raise HeedfulError(
            "this training needs a teacher, another model of the same corpus: `heedful study "
            "wiegreffe2019` trains such pupils."
        )
    return context.teacher


def said_by(context: TermContext, batch: Batch) -> Trace:
    """What the teacher makes of a batch: once, though the goal and a term both ask."""
    if not context.heard or context.heard[0][0] is not batch:
        with torch.no_grad():
            context.heard[:] = [(batch, teacher_of(context)(batch))]
    return context.heard[0][1]


def teacher_loss(context: TermContext) -> GoalLoss:
    """Mean total variation distance from what the teacher says (wiegreffe2019), over all classes;
    of a target, over its steps."""
    teacher_of(context)  # refused before training, not at its first batch

    def loss(trace: Trace, batch: Batch) -> Tensor:
        said = said_by(context, batch)
        return tvd(_distributions(trace, batch), _distributions(said, batch)).mean()

    return loss


def _distributions(trace: Trace, batch: Batch) -> Tensor:
    """One row for each example, or for each step of a target."""
    if trace.step_logits is None:
        return probabilities(trace.logits)
    logits, _, there = target_steps(trace, batch)
    return probabilities(logits[there])


@dataclass(frozen=True)
class Objective:
    """The goal is what the labels or what a teacher says; `terms` count beside it."""

    goal: str = "labels"
    terms: tuple[TermSpec, ...] = ()
    teacher: Family | None = None


@dataclass(frozen=True)
class Loss:
    """The whole loss of a batch, and by name the parts it is the sum of."""

    model: Family
    goal: GoalLoss
    terms: tuple[tuple[TermSpec, Term], ...] = ()
    keep: Keep = field(default_factory=Keep)

    def __call__(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        trace = self.model(batch, keep=self.keep)
        parts = {"goal": self.goal(trace, batch)}
        for spec, term in self.terms:
            value = spec.weight * term.value(batch, trace)
            parts[spec.title] = parts.get(spec.title, 0.0) + value
        return torch.stack([part.double() for part in parts.values()]).sum(), parts


def loss_of(model: Family, corpus: Data, spec: TrainSpec, objective: Objective) -> Loss:
    """The loss of a training: its goal's, and the terms that count beside it."""
    context = TermContext(model, corpus, objective.teacher)
    terms = tuple((t, TERMS[t.name].make(context, **dict(t.params))) for t in objective.terms)
    keeps = [Keep(), *(term.keep for _, term in terms)]
    keep = Keep(**{f.name: any(getattr(keep, f.name) for keep in keeps) for f in fields(Keep)})
    if objective.goal == "teacher":
        goal = teacher_loss(context)
    elif corpus.task == "generation":
        goal = target_loss(spec.smoothing)
    else:
        goal = class_loss(corpus.split("train").labels, corpus.classes, spec.class_weights)
    return Loss(model, goal, terms, keep)


def check(spec: ModelSpec) -> None:
    """Refuse a goal or a term that is none, before any work is done."""
    if spec.goal not in GOALS:
        raise unknown_name("goal", spec.goal, list(GOALS))
    check_terms(spec.terms, TERMS)


def check_data(spec: ModelSpec, model: Family, corpus: Data) -> None:
    """Refuse terms that the corpus or the model has nothing for; those with a teacher are
    made when there is one."""
    context = TermContext(model, corpus)
    for term in spec.terms:
        if "teacher" not in TERMS[term.name].needs:
            TERMS[term.name].make(context, **dict(term.params))


def check_terms(terms: Sequence[TermSpec], registry: Registry[LossTerm]) -> None:
    """Each is there once and in the registry, takes its parameters, and counts for something
    or nothing."""
    titles = [term.title for term in terms]
    for term in terms:
        if titles.count(term.title) > 1:
            raise HeedfulError(f"the term {term.title} is there twice: leave one out.")
        entry = registry[term.name]
        handed = list(parameters_of(entry.make))[:1]  # what it learns from
        what = f"the term {term.name}"
        check_parameters(what, entry.make, dict(term.params), entry.bounds, handed)
        if not 0 <= term.weight < math.inf:
            raise HeedfulError(
                f"the term {term.name} counts {term.weight:g}: give a number that is not negative."
            )


class DevScore(NamedTuple):
    """An epoch on the dev split: the score it is chosen by, higher is better, and the loss."""

    score: float
    loss: float


def predict(model: Model, split: Split, device: str, batch_size: int = 256) -> np.ndarray:
    """Probabilities in the split's own order, `[n, classes]`."""
    parts: list[Tensor] = []
    order: list[np.ndarray] = []
    with torch.no_grad():
        for index, batch in split.batches(batch_size):
            parts.append(probabilities(model(batch.to(device)).logits).cpu())
            order.append(index)
    out: np.ndarray = torch.cat(parts).numpy()
    return out[np.argsort(np.concatenate(order))]


Selector = Callable[[Model, Split, str], DevScore]


def selector(spec: TrainSpec, task: str, lossy: Loss) -> Selector:
    """The score of the spec's `select`, or by default the one that is usual for the task."""
    name = spec.select
    if name == "loss":
        return least(lossy, task == "generation")
    if task == "generation":
        if name not in ("auto", "likelihood"):
            raise HeedfulError(f"targets have no {name}: choose likelihood or loss.")
        return likelihood
    if name == "likelihood":
        raise HeedfulError("classes have no likelihood of a target: choose another dev metric.")
    return lambda model, dev, device: class_score(
        name, dev.labels.numpy(), predict(model, dev, device)
    )


def class_score(metric: str, labels: np.ndarray, p: np.ndarray) -> DevScore:
    """A metric of class probabilities (`auto` is the usual one for so many classes), and their mean
    cross-entropy, every text counting alike."""
    if metric == "auto":
        metric = "roc_auc" if p.shape[1] == 2 else "accuracy"
    score = float(METRICS[metric].make(labels, finite(p)))
    chosen = np.maximum(p[np.arange(len(labels)), labels], np.finfo(np.float64).tiny)
    return DevScore(score, float(-np.log(chosen).mean()))


def finite(p: np.ndarray) -> np.ndarray:
    """The probabilities, or a sentence where they are none."""
    if not np.isfinite(p).all():
        raise HeedfulError("the model's outputs are NaN or infinite: lower --learning-rate.")
    return p


def likelihood(model: Model, dev: Split, device: str) -> DevScore:
    """The mean log-likelihood of a target's token, given those before it: the loss's other sign."""
    total, count = 0.0, 0
    with torch.no_grad():
        for _, batch in dev.batches(_BATCH):
            batch = batch.to(device)
            logits, gold, there = target_steps(model(batch), batch)
            chosen = torch.log_softmax(logits[there].double(), -1).gather(1, gold[there][:, None])
            total, count = total + float(chosen.sum()), count + len(chosen)
    mean = float(finite(np.array(total))) / max(1, count)
    return DevScore(mean, -mean)


def least(lossy: Loss, writes: bool, batch_size: int = _BATCH) -> Selector:
    """The whole loss on the dev split, less being better. A goal's part of a batch is a mean
    over the tokens of its targets if the model `writes`, and all other parts are means over
    examples: each counts by what it is a mean of, so that batches do not matter."""

    def score(model: Model, dev: Split, device: str) -> DevScore:
        total: dict[str, float] = defaultdict(float)
        count: dict[str, int] = defaultdict(int)
        with torch.no_grad():
            for _, batch in dev.batches(batch_size):
                # the tokens that targets are to be continued by, their ends among them
                tokens = int((batch.texts["b"].lengths - 1).sum()) if writes else 0
                for name, part in lossy(batch.to(device))[1].items():
                    size = tokens if writes and name == "goal" else len(batch)
                    total[name] += float(part) * size
                    count[name] += size
        loss = sum(total[name] / max(1, count[name]) for name in total)
        return DevScore(-loss, loss)

    return score
