"""`python -m bench.page`: the page of benchmarks, from what was measured and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.kept import Kept, read
from bench.page_prose import INTRODUCTION, REPEAT, SECTIONS, TITLE, Section
from bench.page_table import table
from bench.row import Row

ROOT = Path(__file__).resolve().parent.parent
MEASURED, PAGE = ROOT / "bench" / "measured", ROOT / "docs" / "benchmarks.md"
DEVICES = {"cpu": "CPU", "cuda": "GPU"}
FACTS = {"memory_gb": "GB of memory", "cores": "cores", "threads": "threads"}


def write_page(folder: Path = MEASURED, page: Path = PAGE) -> None:
    page.write_text(render(kept_in(folder)), encoding="utf-8")


def kept_in(folder: Path) -> list[Kept]:
    """One for each device that was measured."""
    paths = [folder / f"{device}.json" for device in DEVICES]
    return [read(path) for path in paths if path.exists()]


def render(every: Sequence[Kept]) -> str:
    machines = [_machine(kept) for kept in every]
    parts = [TITLE, INTRODUCTION, "\n".join(machines)]
    for section in SECTIONS:
        parts += [f"## {section.title}", section.text, *_tables(section, every)]
    return "\n\n".join(part for part in [*parts, REPEAT] if part) + "\n"


def _tables(section: Section, every: Sequence[Kept]) -> Iterator[str]:
    for kept in every:
        rows, device = kept.rows(section.name), DEVICES[kept.device]
        if rows:
            groups = ["\n".join(table(group)) for group in _groups(section, rows)]
            yield "\n\n".join([f"**{device}.**", *groups])
        missing = kept.unmeasured(section.name)
        if missing:
            yield f"Not measured on the {device}: {_reasons(missing)}."


def _reasons(missing: dict[str, str]) -> str:
    """Parts that miss the same are named together."""
    together = {
        reason: [f"`{name}`" for name, why in missing.items() if why == reason]
        for reason in missing.values()
    }
    return "; ".join(f"{', '.join(names)} ({reason})" for reason, names in together.items())


def _groups(section: Section, rows: Sequence[Row]) -> list[list[Row]]:
    if not section.by_size:
        return [list(rows)]
    sizes = dict.fromkeys(row.size for row in rows)
    return [[row for row in rows if row.size == size] for size in sizes]


def _machine(kept: Kept) -> str:
    """`- CPU: … (2 cores, …), torch …; 2026-11-15, load 0.1 to 2.0`."""
    facts = kept.machine
    sizes = ", ".join(f"{facts[name]} {what}" for name, what in FACTS.items() if name in facts)
    names = ("python", "torch", "transformers", "captum", "inseq")
    versions = ", ".join(f"{name} {facts[name]}" for name in names if name in facts)
    card = f"{facts['gpu']}, " if "gpu" in facts else ""
    warning = " **tiny sizes: these times mean nothing.**" if kept.quick else ""
    what = f"{card}{facts['cpu']} ({sizes}), {versions}"
    return f"- {DEVICES[kept.device]}: {what}; {_when(kept.parts)}.{warning}"


def _when(parts: dict[str, dict[str, Any]]) -> str:
    """Days, and how busy the machine was before and after each part."""
    days = sorted({part["date"] for part in parts.values() if "date" in part})
    loads = [load for part in parts.values() for load in part.get("load", [])]
    if not days:
        return "nothing measured yet"
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{span}, load {min(loads):.1f} to {max(loads):.1f}"


if __name__ == "__main__":
    write_page()
