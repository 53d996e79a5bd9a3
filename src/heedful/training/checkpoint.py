"""One safetensors file that holds all a killed training needs to go on.

It takes its predecessor's place whole, so whenever the process dies there is either the old
one or the new one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from heedful.store import refusals, whole_path
from heedful.training.progressed import Progressed

SCHEMA_VERSION = "2"


def save(
    path: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer, done: Progressed
) -> None:
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


def load(path: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> Progressed | None:
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
    return Progressed(history, _under("best.", tensors), kept, improved, facts["ties"])


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
