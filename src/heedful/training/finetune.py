"""The loop that fine-tunes a pretrained classifier, written out.

Nothing in it depends on what was drawn before: the order of batches, dropout and the
learning rate follow from seed, epoch and step. So a killed training that goes on from its
last whole epoch ends with the same weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from accelerate import Accelerator
from torch import Tensor
from torch.nn import functional as F

from heedful.errors import HeedfulError, unknown_name
from heedful.models import probabilities
from heedful.progress import Progress, silent
from heedful.specs import TermSpec, TrainSpec
from heedful.training.dev_scores import DevScore, class_score
from heedful.training.loop import best_epoch, bucketed, drawing
from heedful.training.loop import check as check_training
from heedful.training.loss import STATE_TERMS, check_terms
from heedful.training.pretrained import Encoded
from heedful.training.state_terms import Layers, States, StateTerm

SELECT = ("auto", "accuracy", "f1", "roc_auc")
PRECISIONS = ("float32", "tf32", "bf16")


VERSION = 2
"""Goes up whenever the same spec and seed would give other weights."""
_SHOWN = 256  # texts scored at a time


@dataclass(frozen=True)
class FinetuneSpec:
    """AdamW with a linear warm-up over `warmup` of all steps and a linear decay to zero.

    The rate suits small models (MiniLM, DistilBERT); 2e-5 is usual for large ones. Biases and
    norms are not decayed. `select` is the dev metric the best epoch is chosen by, and the dev
    loss where several have the same; `patience` stops after that many epochs without
    improvement. Texts longer than `max_length` tokens
    are cut. `precision` is that of training alone: scores are always taken in float32. `terms`
    of the registry `STATE_TERMS` are added to the loss.
    """

    epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 5e-5
    weight_decay: float = 0.01
    warmup: float = 0.06
    clip: float | None = 1.0
    select: str = "accuracy"
    patience: int | None = 2
    max_length: int = 128
    precision: str = "float32"
    terms: tuple[TermSpec, ...] = ()

    @property
    def shared(self) -> TrainSpec:
        """What a training from scratch has too."""
        names = ("epochs", "batch_size", "learning_rate", "clip", "select", "patience")
        return TrainSpec(**{name: getattr(self, name) for name in names})

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0 over all epochs."""
        warm = round(self.warmup * steps)
        if step < warm:
            return self.learning_rate * (step + 1) / warm
        return self.learning_rate * (steps - step) / (steps - warm)


def check(spec: FinetuneSpec, device: str) -> None:
    """Refuse impossible settings, before any work is done."""
    check_training(spec.shared)
    if spec.select not in SELECT:
        raise unknown_name("dev metric", spec.select, list(SELECT))
    check_terms(spec.terms, STATE_TERMS)
    if not 0 <= spec.warmup < 1:
        raise HeedfulError(f"the warm-up is {spec.warmup} of the steps: give 0 to below 1.")
    if spec.weight_decay < 0:
        raise HeedfulError(f"the weight decay is {spec.weight_decay}: it must not be negative.")
    if spec.max_length < 4:
        raise HeedfulError(f"--max-length is {spec.max_length}: give at least 4 tokens.")
    if spec.precision not in PRECISIONS:
        raise unknown_name("precision", spec.precision, list(PRECISIONS))
    if spec.precision == "tf32" and device != "cuda":
        raise HeedfulError("--precision tf32 needs a GPU: use --precision float32 or bf16.")


@contextmanager
def tf32(wanted: bool) -> Iterator[None]:
    """Products that keep ten bits, for as long as the block lasts."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = before or wanted
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


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
    epochs = _Epochs(lossy, optimizer, accelerator, data["train"], spec, seed, progress)

    def epoch(number: int) -> tuple[dict[str, float], DevScore]:
        return epochs(number), _score(model, data["dev"], spec, device)

    history = best_epoch(model, optimizer, spec.shared, epoch, scratch)
    return Finetuned(model.eval(), history)


def predict(model: Any, texts: Encoded, device: str) -> np.ndarray:
    """Class probabilities in the split's own order, `[n, classes]`, always in float32."""
    out = np.empty((len(texts), model.config.num_labels))
    model.eval()
    with torch.no_grad():
        for index, inputs in texts.batches(_SHOWN):
            out[index] = probabilities(model(**_to(inputs, device)).logits).cpu().numpy()
    if not np.isfinite(out).all():
        raise HeedfulError("the model's outputs are NaN or infinite: lower --learning-rate.")
    return out


@dataclass(frozen=True)
class FinetuneLoss:
    """The parts of a batch's loss, by name; the loss is their sum."""

    model: Any
    terms: tuple[tuple[TermSpec, StateTerm], ...] = ()

    def __call__(self, inputs: Mapping[str, Tensor], labels: Tensor) -> dict[str, Tensor]:
        output = self.model(**inputs, **self._asked)
        parts = {"goal": F.cross_entropy(output.logits.float(), labels)}
        for spec, term in self.terms:
            states = states_of(output.hidden_states, term.layer, inputs["attention_mask"])
            parts[spec.title] = parts.get(spec.title, 0.0) + spec.weight * term.value(states)
        return parts

    @property
    def _asked(self) -> dict[str, bool]:
        """States are kept only where somebody looks at them."""
        return {"output_hidden_states": True} if self.terms else {}


def finetune_loss(model: Any, terms: Sequence[TermSpec]) -> FinetuneLoss:
    layers = Layers(model)
    made = tuple((t, STATE_TERMS[t.name].make(layers, **dict(t.params))) for t in terms)
    return FinetuneLoss(model, made)


def states_of(hidden: Sequence[Tensor], layer: int, mask: Tensor) -> States:
    """In float32, whatever training is done in: distances of near states need the digits."""
    return States(hidden[layer].float(), hidden[0].float(), mask.to(torch.bool))


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
        with drawing(self.seed, epoch), tf32(self.spec.precision == "tf32"):
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
        with torch.autocast(device.type, torch.bfloat16, self.spec.precision == "bf16"):
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
