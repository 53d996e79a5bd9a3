"""How a pretrained classifier is fine-tuned, as a plain value."""

from __future__ import annotations

from dataclasses import dataclass

from heedful.errors import HeedfulError, unknown_name
from heedful.specs import TermSpec, TrainSpec
from heedful.training.aim import check_terms
from heedful.training.finetune_terms import STATE_TERMS
from heedful.training.loop import check as check_training

SELECT = ("auto", "accuracy", "f1", "roc_auc")
PRECISIONS = ("float32", "tf32", "bf16")


@dataclass(frozen=True)
class FinetuneSpec:
    """AdamW with a linear warm-up over `warmup` of all steps and a linear decay to zero.

    The rate suits small models (MiniLM, DistilBERT); 2e-5 is usual for large ones. Biases and
    norms are not decayed. `select` is the dev metric the best epoch is chosen by, and the dev
    loss where several have the same; `patience` stops after that many epochs without
    improvement. Texts longer than `max_length` tokens
    are cut. `precision` is that of training alone: scores are always taken in float32. `terms`
    of `training/finetune_terms` are added to the loss.
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

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0 over all epochs."""
        warm = round(self.warmup * steps)
        if step < warm:
            return self.learning_rate * (step + 1) / warm
        return self.learning_rate * (steps - step) / (steps - warm)


def check(spec: FinetuneSpec, device: str) -> None:
    """Refuse impossible settings, before any work is done."""
    shared = ("epochs", "batch_size", "learning_rate", "clip", "select", "patience")
    check_training(TrainSpec(**{name: getattr(spec, name) for name in shared}))
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
