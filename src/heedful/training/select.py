"""How good a model is on the dev split: what the best epoch is chosen by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from heedful.corpora.split import Split
from heedful.errors import HeedfulError
from heedful.metrics import METRICS
from heedful.specs import TrainSpec
from heedful.training.aim import Loss
from heedful.training.objective import target_steps
from heedful.training.predict import predict
from heedful.types import Model

Selector = Callable[[Model, Split, str], float]
_BATCH = 64


def selector(spec: TrainSpec, task: str, classes: int, lossy: Loss) -> Selector:
    if spec.select == "loss":
        return least(lossy)
    if task == "generation":
        return likelihood
    name = spec.select
    if name == "likelihood":
        raise HeedfulError("classes have no likelihood of a target: choose another dev metric.")
    if name == "auto":
        name = "roc_auc" if classes == 2 else "accuracy"
    metric = METRICS[name].make

    def score(model: Model, dev: Split, device: str) -> float:
        p = predict(model, dev, device)
        if not np.isfinite(p).all():
            raise HeedfulError("the outputs are no numbers any more: lower --learning-rate.")
        return float(metric(dev.labels.numpy(), p))

    return score


def likelihood(model: Model, dev: Split, device: str) -> float:
    """The mean log-likelihood of a target's token, given those before it."""
    total, count = 0.0, 0
    with torch.no_grad():
        for _, batch in dev.batches(_BATCH):
            batch = batch.to(device)
            logits, gold, there = target_steps(model(batch), batch)
            chosen = torch.log_softmax(logits[there].double(), -1).gather(1, gold[there][:, None])
            total, count = total + float(chosen.sum()), count + len(chosen)
    if not np.isfinite(total):
        raise HeedfulError("the outputs are no numbers any more: lower --learning-rate.")
    return total / max(1, count)


def least(lossy: Loss) -> Selector:
    """The whole loss on the dev split, less being better."""

    def score(model: Model, dev: Split, device: str) -> float:
        total = 0.0
        with torch.no_grad():
            for places, batch in dev.batches(_BATCH):
                total += float(lossy(batch.to(device))[0]) * len(places)
        return -total / len(dev)

    return score
