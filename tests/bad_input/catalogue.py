"""All entries together, each under its group's name and its own. Those that are a command alone, or
a command and short files, are in `commands.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from bad_input import (
    annotation,
    audits,
    columns,
    encodings,
    models,
    outputs,
    prepared,
    resources,
    stores,
)
from bad_input.entry import Bad, World

GROUPS: dict[str, Mapping[str, Bad]] = {
    "files": prepared.FILES,
    "encodings": encodings.BAD,
    "columns": columns.BAD,
    "names": {},
    "numbers": prepared.NUMBERS,
    "corpora": prepared.CORPORA,
    "models": models.BAD,
    "audits": audits.BAD,
    "training": prepared.TRAINING,
    "sweeps": prepared.SWEEPS,
    "stores": stores.BAD,
    "outputs": outputs.BAD,
    "annotation": annotation.BAD,
    "pages": prepared.PAGES,
    "replication": prepared.REPLICATION,
    "arguments": prepared.ARGUMENTS,
    "contradictions": prepared.CONTRADICTIONS,
    "resources": resources.BAD,
}


def _plain(command: str, names: str, fix: str, extra: Mapping[str, str] = {}) -> Bad:
    """`extra` has environment variables, and the contents of files by name."""
    environment = {name: value for name, value in extra.items() if name.startswith("HEEDFUL_")}
    files = {name: value for name, value in extra.items() if name not in environment}

    def prepare(world: World) -> None:
        for name, content in files.items():
            world.write(name, content)

    return Bad(command, names, fix, prepare, environment=environment)


def _catalogue() -> dict[str, Bad]:
    listed = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf8"))
    assert listed.keys() <= GROUPS.keys()
    catalogue = {}
    for group, others in GROUPS.items():
        plain = {name: _plain(*values) for name, values in listed.get(group, {}).items()}
        assert not plain.keys() & others.keys()
        catalogue |= {f"{group}: {name}": entry for name, entry in {**plain, **others}.items()}
    return catalogue


CATALOGUE = _catalogue()
