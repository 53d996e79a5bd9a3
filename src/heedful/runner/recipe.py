"""What a model is made by, teachers among it; the models that a probe compares."""

from __future__ import annotations

from dataclasses import dataclass, replace

from heedful.entries import Role
from heedful.experiments import PROBES
from heedful.specs import ModelSpec, ProbeSpec, TermSpec, TrainSpec
from heedful.training import TERMS


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
            _model(base.model, role),
            replace(base.train, **role.train),
            base.seed + role.seed,
            found[role.teacher] if role.teacher else None,
        )
    del found["base"]
    return found


def _model(base: ModelSpec, role: Role) -> ModelSpec:
    model = replace(base, **role.model)
    kept = (term for term in model.terms if not _left_out(term, role))
    return replace(model, terms=(*kept, *role.terms))


def _left_out(term: TermSpec, role: Role) -> bool:
    """A role whose attention is replaced has no attention of its own to teach."""
    replaced = bool(role.model.get("train_edit"))
    return term.name in role.without or (replaced and "attention" in TERMS[term.name].needs)
