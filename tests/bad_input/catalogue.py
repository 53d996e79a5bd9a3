"""All groups together, each entry under its group's name and its own."""

from __future__ import annotations

from bad_input import (
    annotation,
    arguments,
    audits,
    columns,
    contradictions,
    corpora,
    encodings,
    files,
    models,
    names,
    numbers,
    outputs,
    pages,
    replication,
    resources,
    stores,
    sweeps,
    training,
)
from bad_input.entry import Bad

GROUPS = (
    files, encodings, columns, names, numbers, corpora, models, audits, training, sweeps, stores,
    outputs, annotation, pages, replication, arguments, contradictions,
    resources,
)  # fmt: skip
CATALOGUE: dict[str, Bad] = {
    f"{group.__name__.rpartition('.')[2]}: {name}": entry
    for group in GROUPS
    for name, entry in group.BAD.items()
}
