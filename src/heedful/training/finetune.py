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
import torch
from accelerate import Accelerator
from torch import Tensor
from torch.nn import functional as F

from heedful.errors import HeedfulError, unknown_name
from heedful.models import probabilities
from heedful.progress import Progress, silent
from heedful.specs import TermSpec, TrainSpec
from heedful.training.dev_scores import DevScore, class_score
from heedful.training.loop import (
    Trained,
    best_epoch,
    bucketed,
    check_loss,
    descend,
    drawing,
    mean_losses,
    with_parts,
)
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


def finetune(
    model: Any,
    data: Mapping[str, Encoded],
    spec: FinetuneSpec,
    seed: int,
    device: str = "cpu",
    scratch: Path | None = None,
    progress: Progress = silent,
) -> Trained:
    """Fine-tune a Hugging Face classifier on `data["train"]`.

    The epoch that is best on `data["dev"]` is kept. With a folder `scratch`, a killed training
    resumes from its last whole epoch there and ends with the same weights.
    """
    check(spec, device)
    accelerator = Accelerator(cpu=device == "cpu")
    model, optimizer = accelerator.prepare(model, _optimizer(model, spec))
    loss_fn = finetune_loss(model, spec.terms)
    train, place = data["train"], accelerator.device

    def epoch(number: int) -> tuple[dict[str, float], DevScore]:
        batches = bucketed(train.lengths, spec.batch_size, seed, number)

        def step(done: int, index: np.ndarray) -> dict[str, Tensor]:
            with torch.autocast(place.type, torch.bfloat16, spec.precision == "bf16"):
                parts = loss_fn(_to(train.batch(index), place), train.labels[index].to(place))
            loss = torch.stack(list(parts.values())).sum()
            rate = spec.rate(number * len(batches) + done, spec.epochs * len(batches))
            descend(loss, model, optimizer, accelerator, rate, spec.clip)
            return with_parts(loss, parts)

        model.train()
        with drawing(seed, number), tf32(spec.precision == "tf32"):
            title = f"epoch {number + 1} of {spec.epochs}"
            losses = mean_losses(batches, step, progress, title)
        check_loss(losses["loss"])
        return losses, _score(model, data["dev"], spec, device)

    history = best_epoch(model, optimizer, spec.shared, epoch, scratch)
    return Trained(model.eval(), history)


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
        # states are kept only where somebody looks at them
        asked = {"output_hidden_states": True} if self.terms else {}
        output = self.model(**inputs, **asked)
        parts = {"goal": F.cross_entropy(output.logits.float(), labels)}
        for spec, term in self.terms:
            # in float32, whatever training is done in: distances of near states need the digits
            mixed, embedded = (output.hidden_states[n].float() for n in (term.layer, 0))
            states = States(mixed, embedded, inputs["attention_mask"].to(torch.bool))
            parts[spec.title] = parts.get(spec.title, 0.0) + spec.weight * term.value(states)
        return parts


def finetune_loss(model: Any, terms: Sequence[TermSpec]) -> FinetuneLoss:
    """The loss of a pretrained classifier with these terms of the registry `STATE_TERMS`."""
    layers = Layers(model)
    made = tuple((t, STATE_TERMS[t.name].make(layers, **dict(t.params))) for t in terms)
    return FinetuneLoss(model, made)


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
