"""Annotators: a name, a link nobody can guess, an order of the items of one's own."""

from __future__ import annotations

import secrets
from pathlib import Path

from heedful.annotate.database import Plan, create, whole_study
from heedful.annotate.study import Annotator, Study
from heedful.randomness import stable_hash


def new_study(path: Path, plan: Plan, count: int) -> list[Annotator]:
    """A study with its first annotators, all in one: there is none without."""
    with whole_study(path) as draft:
        create(draft, plan, new_key())
        return invite(Study(draft), count)


def invite(study: Study, count: int) -> list[Annotator]:
    """So many more, named by numbers."""
    there = {each.name for each in study.annotators()}
    free = (f"annotator {n}" for n in range(1, len(there) + count + 1))
    invited = annotators(study, [name for name in free if name not in there][:count])
    study.invite(invited)
    return invited


def annotators(study: Study, names: list[str]) -> list[Annotator]:
    """Not invited yet. The order depends on the study's seed and the name alone; the token on
    nothing."""
    seed = study.facts["seed"]
    return [
        Annotator(
            name,
            secrets.token_urlsafe(12),
            tuple(sorted(study.items, key=lambda item: stable_hash(seed, "place", name, item))),
        )
        for name in names
    ]


def new_key() -> str:
    """What opens the results."""
    return secrets.token_urlsafe(12)
