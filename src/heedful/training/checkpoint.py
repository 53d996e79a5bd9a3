"""How far a training is, and the file it resumes from."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.store import refusals, whole_path

SAME = 1e-9
"""Dev scores no further apart are the same score."""


SCHEMA_VERSION = "2"


class DevScore(NamedTuple):
    """An epoch on the dev split: the score it is chosen by, more being better, and the loss."""

    score: float
    loss: float


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
