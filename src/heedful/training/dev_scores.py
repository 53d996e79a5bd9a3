"""How good a model is on the dev split: what the best epoch is chosen by, and its loss there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from heedful.data import Split
from heedful.errors import HeedfulError
from heedful.metrics import METRICS
from heedful.models import probabilities
from heedful.specs import TrainSpec
from heedful.training.loss import Loss, target_steps
from heedful.types import Model

_BATCH = 64


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
