"""The loop that fine-tunes a pretrained classifier, written out.

Nothing in it depends on what was drawn before: the order of batches, dropout and the
learning rate follow from seed, epoch and step. So a killed training that goes on from its
last whole epoch ends with the same weights.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from accelerate import Accelerator
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models import probabilities
from heedful.progress import Progress, silent
from heedful.randomness import stable_hash
from heedful.training.batches import bucketed
from heedful.training.checkpoint import load, save
from heedful.training.finetune_contexts import autocast, drawing, tf32
from heedful.training.finetune_data import Encoded
from heedful.training.finetune_loss import FinetuneLoss, finetune_loss
from heedful.training.finetune_spec import FinetuneSpec, check
from heedful.training.progressed import DevScore, Progressed
from heedful.training.select import class_score

VERSION = 2
"""Goes up whenever the same spec and seed would give other weights."""

_SHOWN = 256  # texts scored at a time


@dataclass(frozen=True)
class Finetuned:
    """A classifier with its best weights, and what happened in each epoch."""

    model: Any
    history: pd.DataFrame


def finetune(
    model: Any,
    data: Mapping[str, Encoded],
    spec: FinetuneSpec,
    seed: int,
    device: str = "cpu",
    scratch: Path | None = None,
    progress: Progress = silent,
) -> Finetuned:
    """Train, keep the epoch that is best on dev, and resume from `scratch` if it was killed."""
    check(spec, device)
    accelerator = Accelerator(cpu=device == "cpu")
    model, optimizer = accelerator.prepare(model, _optimizer(model, spec))
    lossy = finetune_loss(model, spec.terms)
    epoch = _Epochs(lossy, optimizer, accelerator, data["train"], spec, seed, progress)
    checkpoint = scratch / "checkpoint.safetensors" if scratch else None
    done = (load(checkpoint, model, optimizer) if checkpoint else None) or Progressed()
    while done.epochs < spec.epochs and not done.stopped(spec.patience):
        started = time.perf_counter()
        losses = epoch(done.epochs)
        score = _score(model, data["dev"], spec, device)
        done.record(model, losses, score, started)
        if checkpoint:
            save(checkpoint, model, optimizer, done)
    model.load_state_dict(done.best)
    return Finetuned(model.eval(), pd.DataFrame(done.history))


def predict(model: Any, texts: Encoded, device: str) -> np.ndarray:
    """Class probabilities in the split's own order, `[n, classes]`, always in float32."""
    out = np.empty((len(texts), model.config.num_labels))
    model.eval()
    with torch.no_grad():
        for index, inputs in texts.batches(_SHOWN):
            out[index] = probabilities(model(**_to(inputs, device)).logits).cpu().numpy()
    if not np.isfinite(out).all():
        raise HeedfulError("the outputs are no numbers any more: lower --learning-rate.")
    return out


@dataclass(frozen=True)
class _Epochs:
    """One pass over the training texts, named by its number."""

    lossy: FinetuneLoss
    optimizer: Any
    accelerator: Accelerator
    data: Encoded
    spec: FinetuneSpec
    seed: int
    progress: Progress

    def __call__(self, epoch: int) -> dict[str, float]:
        """The mean loss, and of its parts where there are several."""
        batches = bucketed(self.data.lengths, self.spec.batch_size, self.seed, epoch)
        total: dict[str, Tensor] = {}
        self.lossy.model.train()
        with drawing(stable_hash(self.seed, "epoch", epoch)), tf32(self.spec.precision == "tf32"):
            for number, index in enumerate(batches):
                rate = self.spec.rate(
                    epoch * len(batches) + number, self.spec.epochs * len(batches)
                )
                for name, value in self._step(index, rate).items():
                    total[name] = value * len(index) + total.get(name, 0.0)
                self.progress(f"epoch {epoch + 1} of {self.spec.epochs}", number + 1, len(batches))
        if not torch.isfinite(total["loss"]):
            raise HeedfulError("the loss is not a number: lower --learning-rate or set --clip.")
        return {name: float(value) / len(self.data) for name, value in total.items()}

    def _step(self, index: np.ndarray, rate: float) -> dict[str, Tensor]:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        device = self.accelerator.device
        with autocast(self.spec.precision == "bf16", device.type):
            parts = self.lossy(
                _to(self.data.batch(index), device), self.data.labels[index].to(device)
            )
        loss = torch.stack(list(parts.values())).sum()
        self.optimizer.zero_grad(set_to_none=True)
        self.accelerator.backward(loss)
        if self.spec.clip is not None:
            self.accelerator.clip_grad_norm_(self.lossy.model.parameters(), self.spec.clip)
        self.optimizer.step()
        more = parts if len(parts) > 1 else {}
        return {name: part.detach() for name, part in {"loss": loss, **more}.items()}


def _optimizer(model: Any, spec: FinetuneSpec) -> torch.optim.Optimizer:
    """AdamW; biases and norms are not decayed."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": spec.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=spec.learning_rate, fused=True)


def _score(model: Any, dev: Encoded, spec: FinetuneSpec, device: str) -> DevScore:
    name = spec.select
    if name == "auto":
        name = "roc_auc" if model.config.num_labels == 2 else "accuracy"
    return class_score(name, dev.labels.numpy(), predict(model, dev, device))


def _to(inputs: Mapping[str, Tensor], device: Any) -> dict[str, Tensor]:
    return {name: value.to(device) for name, value in inputs.items()}
