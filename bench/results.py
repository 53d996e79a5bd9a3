"""What was measured, kept part by part with the facts of the machine that times depend on.

A bench that is killed goes on where it was.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from bench.measure import Row
from bench.parts import PARTS
from heedful.errors import HeedfulError

_PACKAGES = ("torch", "transformers", "captum", "inseq")


def facts(device: str, threads: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "threads": threads or torch.get_num_threads(),
        "memory_gb": _memory(),
        "python": platform.python_version(),
    }
    if device == "cuda":
        found["gpu"] = torch.cuda.get_device_name()
    return found | {name: _version(name) for name in _PACKAGES if _version(name)}


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """One table is of one machine. Python and packages that came later may differ."""
    fixed = ("cpu", "cores", "threads", "gpu", "torch")
    return all(a.get(name) == b.get(name) for name in fixed)


def _processor() -> str:
    """Linux knows the model's name; elsewhere what Python says."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory() -> int:
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)


def _version(package: str) -> str:
    try:
        return version(package).split("+")[0]
    except PackageNotFoundError:
        return ""


# What was measured, kept part by part: a bench that is killed goes on where it was.


SCHEMA_VERSION = 2


@dataclass(frozen=True)
class Kept:
    """One device's results. `left` are the parts that an unfinished run has still to do."""

    device: str
    machine: dict[str, Any]
    quick: bool = False
    left: list[str] = field(default_factory=list)
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def rows(self, section: str) -> list[Row]:
        """In the order of the parts, whatever order they were measured in."""
        names = [name for name, part in PARTS.items() if part.section == section]
        found = [self.parts[name]["rows"] for name in names if name in self.parts]
        return [Row.from_json(row) for rows in found for row in rows]

    def unmeasured(self, section: str) -> dict[str, str]:
        """Parts of the section that did not run, and why."""
        names = [name for name, part in PARTS.items() if part.section == section]
        missing = {"skipped": "not measured yet"}
        found = {name: self.parts.get(name, missing) for name in names}
        reasons = {name: p.get("skipped") or p.get("failed") for name, p in found.items()}
        return {name: str(reason) for name, reason in reasons.items() if reason}

    def with_part(self, name: str, found: dict[str, Any]) -> Kept:
        left = [each for each in self.left if each != name]
        return Kept(self.device, self.machine, self.quick, left, {**self.parts, name: found})


def begin(path: Path, new: Kept, only: Sequence[str] | None) -> Kept:
    """Where to go on from; `new.left` is what is wanted. An unfinished run on the same machine
    is finished; with `only`, other parts stay what they are."""
    old = read(path) if path.exists() else None
    if old is None or old.quick != new.quick:
        return replace(new, left=[]) if only else new
    alike = same(old.machine, new.machine)
    if only and not alike:
        raise HeedfulError(
            f"{path.name} is of another machine: measure all parts, or give another --out."
        )
    if only:
        return Kept(new.device, new.machine, new.quick, old.left, old.parts)
    left = old.left if alike and old.left else new.left
    return Kept(new.device, new.machine, new.quick, left, old.parts if alike else {})


def read(path: Path) -> Kept:
    found = json.loads(path.read_text(encoding="utf-8"))
    if found.pop("schema_version") != SCHEMA_VERSION:
        raise HeedfulError(f"{path.name} is of another version of the bench: measure again.")
    return Kept(**found)


def write(path: Path, kept: Kept) -> None:
    """All or nothing: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"schema_version": SCHEMA_VERSION, **asdict(kept)}, indent=1)
    beside = path.with_suffix(".part")
    beside.write_text(text + "\n", encoding="utf-8")
    beside.replace(path)
