"""A planted model with its texts, as an audit takes them."""

from __future__ import annotations

from dataclasses import dataclass

from heedful.benchmark.compiled.plan import Plan
from heedful.benchmark.compiled.texts import LABELS, document
from heedful.subjects import Row, Subject, Truncation
from heedful.types import Model


@dataclass(frozen=True)
class Planted:
    """The model, a digest of its weights, and the plan's texts as it reads them."""

    model: Model
    weights: str
    rows: tuple[Row, ...]
    family: str


def subject(plan: Plan, name: str, planted: Planted) -> Subject:
    texts = enumerate(plan.heaps)
    return Subject(
        planted.model,
        tuple(document(f"{name}-{number:03d}", heap, plan.entries) for number, heap in texts),
        LABELS,
        planted.rows,
        Truncation(of_texts=len(plan.heaps)),
        name,
        planted.family,
        "cpu",
        {"benchmark": name, "weights": planted.weights},
    )
