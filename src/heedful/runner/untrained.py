"""A model that has learned nothing, with its data: it shows what fits it, and how fast it is."""

from __future__ import annotations

from heedful.corpora import Prepared, Split, at_a_quarter, shown_to
from heedful.experiments import Evidence
from heedful.models import build
from heedful.runner.machine import Machine
from heedful.specs import ModelSpec
from heedful.store import Run


def untrained(
    corpus: Run, spec: ModelSpec, machine: Machine = Machine(), count: int | None = None
) -> Evidence:
    """All of the test split, or `count` texts of typical length."""
    data = Prepared(corpus)
    model = build(spec, data.vectors, data.classes, 0).to(machine.device).eval()
    shown = shown_to(spec, data)
    test, learned = shown.split("test"), shown.split("train")
    if count is not None:
        test, learned = typical(test, count), typical(learned, count)
    return Evidence(
        {"base": model},
        at_a_quarter(test) if data.task == "generation" else test,
        0,
        machine.device,
        machine.batch_size,
        task=data.task,
        whole=test,
        words=data.words,
        training=learned,
    )


def typical(split: Split, count: int) -> Split:
    """Evenly spaced over the lengths, so that the sample's mean length is the corpus's."""
    order = split.lengths.argsort(kind="stable")
    step = max(1, len(order) // count)
    return split.subset(order[::step][:count])
