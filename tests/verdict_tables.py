"""Synthetic tables of measurements whose truth is known.

`truth` is the relative position of attention between a random order, 0, and the best one, 1,
the same in every metric. Every example has an effect of its own, shared by
all its numbers, so that pairing matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

OPERATORS = ("delete", "mask")
SCALES = {
    "comprehensiveness": (0.1, 0.6),
    "sufficiency": (0.5, 0.1),
    "deletion_auc": (0.7, 0.3),
    "insertion_auc": (0.4, 0.8),
}
"""Means of a random order and of the best."""
CAPTURED = (0.0, 0.4)


@dataclass(frozen=True)
class World:
    """What is true. `drop` is the loss of accuracy without attention, `tvd` what permuting it
    does, `prior` the position of the model-free baseline, `measures` the tau between importance
    measures, `auprc` how far above the floor attention marks rationales."""

    truth: float = 0.9
    agreement: float | None = None
    drop: float = 0.2
    tvd: float = 0.2
    prior: float = 0.3
    measures: float = 0.6
    auprc: float = 0.2
    others: dict[str, float] = field(default_factory=lambda: {"lrp": 0.7, "gradient": 0.3})
    noise: float = 0.1
    examples: int = 200
    per_cluster: int = 1
    classes: int = 2
    seed: int = 0


def rows_of(world: World, model: str = "base") -> pd.DataFrame:
    """The whole table of one model."""
    random = np.random.default_rng([world.seed, len(model), sum(map(ord, model))])
    facts = _facts(world, np.random.default_rng(world.seed))
    effect = random.normal(0, world.noise, (world.examples // world.per_cluster + 1, 1))
    effect = effect[np.arange(world.examples) // world.per_cluster, 0]
    parts = [
        facts.assign(
            model=model, explanation=explanation, operator=operator, measure=measure, value=value
        )
        for explanation, operator, measure, value in _numbers(world, facts, effect, random)
    ]
    return pd.concat(parts, ignore_index=True)


def costs() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "explanation": ["attention", "lrp", "gradient"],
            "milliseconds_per_text": [1.0, 31.0, 5.0],
            "passes_per_text": [1.0, 2.0, 2.0],
        }
    )


def _facts(world: World, random: np.random.Generator) -> pd.DataFrame:
    n = world.examples
    predicted = np.arange(n) % world.classes
    wrong = random.random(n) < 0.1
    return pd.DataFrame(
        {
            "example": [f"e{i:04d}" for i in range(n)],
            "cluster": [f"c{i // world.per_cluster:04d}" for i in range(n)],
            "label": np.where(wrong, (predicted + 1) % world.classes, predicted),
            "predicted": predicted,
            "confidence": random.uniform(0.5, 1, n),
            "length": random.integers(5, 40, n),
        }
    )


Number = tuple[str, str, str, np.ndarray]


def _numbers(
    world: World, facts: pd.DataFrame, effect: np.ndarray, random: np.random.Generator
) -> Iterator[Number]:
    n = world.examples
    correct = (facts["label"] == facts["predicted"]).to_numpy(dtype=float)
    yield "", "", "correct", correct
    for edit in ("uniform", "permute"):
        lost = random.random(n) < world.drop / 0.9
        yield "", edit, "correct", np.where(lost, 0.0, correct)
        yield "", edit, "tvd", np.clip(world.tvd * random.normal(1, 0.25, n), 0, 1)
    yield from _agreement(world, effect, random)
    yield "attention", "", "tvd_permuted", np.clip(world.tvd * random.normal(1, 0.25, n), 0, 1)
    spread = random.uniform(0.8, 1.2, n)
    yield "attention", "", "tvd_top", (0.05 + world.tvd) * spread
    yield "attention", "", "tvd_random", 0.05 * spread
    yield "attention", "", "tvd_best", (0.1 + world.tvd) * spread
    yield from _erasure(world, effect, random)
    for name, mean in {"random": 0.2, "prior": 0.25, "attention": 0.25 + world.auprc}.items():
        yield name, "", "auprc", mean + effect + random.normal(0, 0.05, n)


def _agreement(world: World, effect: np.ndarray, random: np.random.Generator) -> Iterator[Number]:
    position = world.truth if world.agreement is None else world.agreement
    n = world.examples
    for importance, other in (
        ("occlusion", "integrated_gradients"),
        ("integrated_gradients", "occlusion"),
    ):
        most = world.measures
        means = {"random": 0.0, "prior": 0.1, other: most, "attention": most * position}
        for name, mean in means.items():
            noise = random.normal(0, world.noise, n)
            yield name, "", f"tau:{importance}", np.clip(mean + effect + noise, -1, 1)


def _erasure(world: World, effect: np.ndarray, random: np.random.Generator) -> Iterator[Number]:
    positions = {"random": 0.0, "prior": world.prior, "search": 1.0, "attention": world.truth}
    for operator in OPERATORS:
        for measure, (floor, ceiling) in {**SCALES, "importance_captured": CAPTURED}.items():
            for name, position in {**positions, **world.others}.items():
                noise = random.normal(0, world.noise, world.examples)
                mean = floor + (ceiling - floor) * position
                yield name, operator, measure, mean + effect + noise
