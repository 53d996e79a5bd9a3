"""The training loop, written out, and the checkpoint that it resumes from."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from accelerate import Accelerator
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from heedful.errors import HeedfulError, unknown_name
from heedful.hashing import stable_hash
from heedful.models import Attention, Family
from heedful.progress import Progress, silent
from heedful.specs import TrainSpec
from heedful.store import refusals, whole_path
from heedful.training.loss import Data, DevScore, Objective, loss_of, selector

_POOL = 50  # batches sorted by length together: little padding, still a random order


SELECT = ("auto", "roc_auc", "accuracy", "f1", "likelihood", "loss")
TIES = ("loss", "first")
SAME = 1e-9
"""Dev scores no further apart are the same score."""
SCHEMA_VERSION = "2"
"""Of a checkpoint."""
VERSION = 2
"""Goes up whenever the same spec and seed would give other weights."""


def bucketed(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Index arrays that cover every example once."""
    generator = np.random.default_rng([seed, epoch])
    order = generator.permutation(len(lengths))
    batches: list[np.ndarray] = []
    for start in range(0, len(order), _POOL * batch_size):
        pool = order[start : start + _POOL * batch_size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]


@dataclass(frozen=True)
class Trained:
    """A model with its best weights, and what happened in each epoch."""

    model: Any
    history: pd.DataFrame


def train(
    model: Family,
    corpus: Data,
    spec: TrainSpec,
    seed: int,
    device: str = "cpu",
    scratch: Path | None = None,
    progress: Progress = silent,
    objective: Objective = Objective(),
) -> Trained:
    """Train a model of our own.

    The epoch that is best on dev is kept. With a folder `scratch`, a killed training resumes from
    its last whole epoch there and ends with the same weights. `seed` decides the order of batches
    and dropout, not the initial weights.
    """
    check(spec)
    accelerator = Accelerator(cpu=device == "cpu")
    model, optimizer = accelerator.prepare(model, _optimizer(model, spec))
    data, dev = corpus.split("train"), corpus.split("dev")
    loss_fn = loss_of(model, corpus, spec, objective)
    score = selector(spec, corpus.task, loss_fn)

    def epoch(number: int) -> tuple[dict[str, float], DevScore]:
        batches = bucketed(data.lengths, spec.batch_size, seed, number)
        first = number * -(-len(data) // spec.batch_size) + 1

        def step(place: int, index: np.ndarray) -> dict[str, Tensor]:
            loss, parts = loss_fn(data.batch(index).to(accelerator.device))
            rate = spec.learning_rate * _pace(first + place, spec.warmup)
            descend(loss, model, optimizer, accelerator, rate, spec.clip)
            # looked at after the epoch: a card would wait for the host at every step
            return {name: part.double() for name, part in with_parts(loss, parts).items()}

        model.train()
        with drawing(seed, number):
            title = f"epoch {number + 1} of {spec.epochs}"
            losses = mean_losses(batches, step, progress, title)
            check_loss(losses["loss"])
            return losses, score(model.eval(), dev, device)

    history = best_epoch(model, optimizer, spec, epoch, scratch)
    return Trained(model.eval(), history)


def best_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    spec: TrainSpec,
    epoch: Callable[[int], tuple[dict[str, float], DevScore]],
    scratch: Path | None,
) -> pd.DataFrame:
    """Call `epoch` with each number, from the last one in `scratch`, and put the best weights back.

    Returns the history: losses, dev score and seconds of each epoch.
    """
    checkpoint = scratch / "checkpoint.safetensors" if scratch else None
    found = load(checkpoint, model, optimizer) if checkpoint else None
    done = found or TrainingState(ties=spec.ties)
    while done.epochs < spec.epochs and not done.stopped(spec.patience):
        started = time.perf_counter()
        losses, scored = epoch(done.epochs)
        done.record(model, losses, scored, started)
        if checkpoint:
            save(checkpoint, model, optimizer, done)
    model.load_state_dict(done.best)
    return pd.DataFrame(done.history)


def mean_losses(
    batches: Sequence[np.ndarray],
    step: Callable[[int, np.ndarray], Mapping[str, Any]],
    progress: Progress,
    title: str,
) -> dict[str, float]:
    """One epoch: call `step(number, index)` with every batch, and average what it returns.

    Returns the mean over examples of the loss, and of its parts where there are several.
    """
    total: dict[str, Any] = {}
    for number, index in enumerate(batches):
        for name, value in step(number, index).items():
            total[name] = value * len(index) + total.get(name, 0.0)
        progress(title, number + 1, len(batches))
    examples = sum(map(len, batches))
    return {name: float(value) / examples for name, value in total.items()}


def descend(
    loss: Tensor,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    accelerator: Accelerator,
    rate: float,
    clip: float | None,
) -> None:
    """One step down the gradient of the loss, at this learning rate."""
    optimizer.zero_grad(set_to_none=True)
    accelerator.backward(loss)
    if clip is not None:
        accelerator.clip_grad_norm_(model.parameters(), clip)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()


def with_parts(loss: Tensor, parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The loss, and its parts where there are several, without gradients."""
    more = parts if len(parts) > 1 else {}
    return {name: part.detach() for name, part in {"loss": loss, **more}.items()}


def check_loss(loss: Tensor | float) -> None:
    if not math.isfinite(loss):
        raise HeedfulError("the loss is not a number: lower --learning-rate or set --clip.")


def _optimizer(model: Family, spec: TrainSpec) -> torch.optim.Optimizer:
    """Adam with the weight decay as jain2019's code has it: not on attention."""
    attention = [
        parameter
        for module in model.modules()
        if isinstance(module, Attention)
        for parameter in module.parameters()
    ]
    chosen = {id(parameter) for parameter in attention}
    rest: list[nn.Parameter] = [
        parameter
        for parameter in model.parameters()
        if id(parameter) not in chosen and parameter.requires_grad
    ]
    groups = [
        {"params": rest, "weight_decay": spec.weight_decay},
        {"params": attention, "weight_decay": spec.weight_decay * spec.decay_attention},
    ]
    return torch.optim.Adam(groups, lr=spec.learning_rate, amsgrad=spec.amsgrad, fused=True)


@contextmanager
def drawing(seed: int, epoch: int) -> Iterator[None]:
    """Dropout's draws depend on seed and epoch alone, so a resumed training has the same; what
    others draw later is as if nothing had been drawn."""
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(stable_hash(seed, "epoch", epoch))
        yield


def _pace(step: int, warmup: int) -> float:
    """The learning rate's factor: up in a line, then down as 1/√step (Vaswani et al. 2017)."""
    if not warmup:
        return 1.0
    return step / warmup if step < warmup else math.sqrt(warmup / step)


def check(spec: TrainSpec) -> None:
    """Refuse impossible settings, before any work is done."""
    if spec.epochs < 1 or spec.batch_size < 1:
        given = f"epochs are {spec.epochs} and the train batch is {spec.batch_size}"
        raise HeedfulError(f"{given}: both must be at least 1.")
    if not 0 < spec.learning_rate < 1e3:
        raise HeedfulError(
            f"the learning rate is {spec.learning_rate}: it must be above 0, and small."
        )
    if spec.clip is not None and not 0 < spec.clip < math.inf:
        raise HeedfulError(f"the largest norm (clip) is {spec.clip}: it must be above 0.")
    if spec.patience is not None and spec.patience < 1:
        raise HeedfulError(f"the patience is {spec.patience}: it must be at least 1.")
    if spec.select not in SELECT:
        raise unknown_name("dev metric", spec.select, list(SELECT))
    if spec.ties not in TIES:
        raise unknown_name("way to break ties between epochs", spec.ties, list(TIES))
    if spec.warmup < 0 or not 0 <= spec.smoothing < 1:
        raise HeedfulError("warmup must not be negative, and smoothing lie from 0 to below 1.")


@dataclass
class TrainingState:
    """Finished epochs with their history, and the best so far.

    Of epochs with the same score the one with the lowest dev loss is kept, and of equal losses
    the latest; with `ties="first"` the first one. `kept` is the number of the kept epoch,
    `improved` that of the last one that was better than all before it.
    """

    history: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)
    kept: int = 0
    improved: int = 0
    ties: str = "loss"

    @property
    def epochs(self) -> int:
        return len(self.history)

    def record(
        self, model: nn.Module, losses: Mapping[str, float], dev: DevScore, started: float
    ) -> None:
        """One epoch more, begun when `time.perf_counter` said `started`."""
        if math.isnan(dev.score):  # it would beat no other: the first epoch would be kept unsaid
            raise HeedfulError("the dev split has no such score: it needs examples of every class.")
        better = self._compared(dev)
        seconds = round(time.perf_counter() - started, 3)
        scores = {"dev_score": dev.score, "dev_loss": dev.loss, "seconds": seconds}
        self.history.append({"epoch": self.epochs + 1, **losses, **scores})
        if better > 0:
            self.improved = self.epochs
        if better > 0 or (better == 0 and self.ties == "loss"):
            self.kept = self.epochs
            self.best = {name: each.detach().clone() for name, each in model.state_dict().items()}

    def stopped(self, patience: int | None) -> bool:
        """Whether the last improvement is `patience` epochs ago."""
        return patience is not None and 0 < patience <= self.epochs - self.improved

    def _compared(self, dev: DevScore) -> float:
        """Above 0 if better than the kept epoch, 0 if as good, below 0 if worse."""
        if not self.kept:
            return 1.0
        best = self.history[self.kept - 1]
        ahead: float = dev.score - best["dev_score"]
        if self.ties == "first" or abs(ahead) > SAME:
            return ahead
        return float(best["dev_loss"] - dev.loss)


def save(
    path: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer, done: TrainingState
) -> None:
    """All that a killed training needs to go on; the old file stays until the new one is whole."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in done.best.items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in state.items()}
    tensors = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    facts = {
        "schema_version": SCHEMA_VERSION,
        "history": json.dumps(done.history),
        "ties": done.ties,
        "kept": str(done.kept),
        "improved": str(done.improved),
    }
    with refusals(f"write to {path.parent}", "make room or choose another store with --store"):
        path.parent.mkdir(parents=True, exist_ok=True)  # gone if another finished the model
        with whole_path(path) as building:
            save_file(tensors, building, metadata=facts)


def load(
    path: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> TrainingState | None:
    """Put model and optimiser back where they were; None where there is nothing to resume, or
    what there is was left by another version: then training begins anew."""
    try:
        with safe_open(path, framework="pt") as stream:
            facts = stream.metadata() or {}
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}
    except (FileNotFoundError, SafetensorError):
        return None
    if facts.get("schema_version") != SCHEMA_VERSION:
        return None
    model.load_state_dict(_under("model.", tensors))
    optimizer.load_state_dict(_optimizer_state(optimizer, _under("optimizer.", tensors)))
    history = json.loads(facts["history"])
    kept, improved = int(facts["kept"]), int(facts["improved"])
    return TrainingState(history, _under("best.", tensors), kept, improved, facts["ties"])


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _optimizer_state(
    optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> dict[str, Any]:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, entry = name.split(".", 1)
        state.setdefault(int(index), {})[entry] = value
    return {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
