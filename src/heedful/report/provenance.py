"""Where every number comes from: run keys, pieces and versions; never a host's name."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from heedful.report.evidence import Evidence
from heedful.store import Run

VERSIONS = ("heedful", "python", "torch", "numpy")
"""Of what a run was made with, the parts that are safe and useful to print."""


def provenance(evidence: Evidence) -> list[dict[str, str]]:
    """One line per run behind the report: first those asked for, then what they rest on."""
    return [
        {
            "key": run.key,
            "piece": _piece(run),
            "digest": run.digest,
            "made_with": _made_with(run),
        }
        for run in _runs(evidence)
    ]


def heedful_version() -> str:
    try:
        return version("heedful")
    except PackageNotFoundError:
        return "a checkout"


def _runs(evidence: Evidence) -> Iterator[Run]:
    cells = evidence.cells
    keys = [run.key for run in evidence.runs]
    for column in ("corpus_run", "model_run", "run"):
        keys += [str(key) for key in cells[column] if key]
    for key in dict.fromkeys(keys):
        if evidence.store.has(key):
            yield evidence.store.open(key)


def _piece(run: Run) -> str:
    facts = run.facts
    number = f" v{facts['version']}" if "version" in facts else ""
    seed = f" seed {facts['seed']}" if "seed" in facts else ""
    return f"{facts.get('piece', run.kind)}{number}{seed}"


def _made_with(run: Run) -> str:
    made = run.record.made_with
    return ", ".join(f"{name} {made[name]}" for name in VERSIONS if name in made)
