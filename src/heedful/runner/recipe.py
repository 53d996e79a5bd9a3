"""What a model is made by, teachers among it; the models that a probe compares."""

from __future__ import annotations

from dataclasses import dataclass, replace

from heedful.probes import PROBES
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec


@dataclass(frozen=True)
class Recipe:
    """With the corpus it names a trained model, before there is one."""

    model: ModelSpec
    train: TrainSpec
    seed: int
    teacher: Recipe | None = None


def recipes(base: Recipe, probe: ProbeSpec) -> dict[str, Recipe]:
    """Those of a probe's other roles, teachers before their pupils."""
    found = {"base": base}
    for name, role in PROBES[probe.name].roles(**probe.params).items():
        found[name] = Recipe(
            replace(base.model, **role.model),
            replace(base.train, **role.train),
            base.seed + role.seed,
            found[role.teacher] if role.teacher else None,
        )
    del found["base"]
    return found
