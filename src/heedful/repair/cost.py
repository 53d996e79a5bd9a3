"""What a repair will cost, from a few steps and a few texts timed on this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from safetensors.torch import save_file

from heedful.auditing import estimate as audit_cost
from heedful.corpora import Prepared
from heedful.models import build
from heedful.repair.work import Drawn, Work, draw
from heedful.runner import Machine, Recipe, model_facts
from heedful.runner import estimate as cell_cost
from heedful.store import Run, Store


@dataclass(frozen=True)
class Cost:
    """Seconds of one method, all its seeds together. Trained models cost nothing any more; an
    audit that is finished already is counted all the same."""

    method: str
    model: str
    train_seconds: float
    audit_seconds: float


def estimate(work: Work, store: Store, machine: Machine) -> list[Cost]:
    """One model of each method is timed; its seeds cost the same."""
    drawn = draw(work, store)
    return [_cost(work, drawn, name, store, machine) for name in drawn.models]


def _cost(work: Work, drawn: Drawn, name: str, store: Store, machine: Machine) -> Cost:
    cells = [cell for cell in drawn.grid.cells if cell.model == drawn.models[name]]
    spent = [cell_cost(drawn.grid, cell, store, machine) for cell in cells]
    seconds = sum(each.train_seconds + each.probe_seconds for each in spent)
    options = {"n": work.texts, "seed": work.spec.seed, "device": machine.device}
    with _untrained(drawn.grid.corpus(cells[0], store), cells[0].recipe) as run:
        audit = audit_cost(run, None, work.spec, **options).seconds
    return Cost(name, drawn.models[name].name, seconds, audit * len(cells))


@contextmanager
def _untrained(corpus: Run, recipe: Recipe) -> Iterator[Run]:
    """A model that has learned nothing takes as long to audit as one that has."""
    data = Prepared(corpus)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        store.adopt(corpus.path)
        facts = model_facts(corpus, recipe)
        with store.writing("model", facts) as writer:
            fresh = build(recipe.model, data.vectors, data.classes, recipe.seed)
            weights = {name: value.contiguous() for name, value in fresh.state_dict().items()}
            save_file(weights, writer.weights("weights"))
        yield next(iter(store.runs("model")))
