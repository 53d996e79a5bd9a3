"""Rows as a table of Markdown. What is the same in every row is said above it, once."""

from __future__ import annotations

from collections.abc import Sequence

from bench.row import Cost, Row


def table(rows: Sequence[Row]) -> list[str]:
    """A caption and a blank line where there is something to say, and the table."""
    columns = _columns(rows)
    lines = [list(columns), ["---"] * len(columns)]
    lines += [list(cells) for cells in zip(*columns.values(), strict=True)]
    return [*_caption(rows), *("| " + " | ".join(map(_safe, line)) + " |" for line in lines)]


def _caption(rows: Sequence[Row]) -> list[str]:
    """The size, and what more there is to say of theirs: `naive, 32 at once`."""
    size = rows[0].size if _one([row.size for row in rows]) else ""
    name, _, more = rows[0].name.partition(", ")
    how = f"{name}: {more}" if more and _one([row.name for row in rows]) else ""
    said = "; ".join(words for words in (size, how) if words)
    return [f"{said}.", ""] if said else []


def _columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Columns without a word in them are left out."""
    name = rows[0].name.split(", ")[0] if _one([row.name for row in rows]) else ""
    theirs = name or "theirs"
    found = {
        "part": [row.part for row in rows],
        "size": [] if _one([row.size for row in rows]) else [row.size for row in rows],
        "beside": [] if name else [row.name for row in rows],
        f"{theirs} s": [_seconds(row.theirs) for row in rows],
        "ours s": [_seconds(row.ours) for row in rows],
        "ratio": [_ratio(row) for row in rows],
        f"{theirs} MB": [_megabytes(row.theirs) for row in rows],
        "ours MB": [_megabytes(row.ours) for row in rows],
        "note": [row.note for row in rows],
    }
    return {title: cells for title, cells in found.items() if any(cells)}


def _one(values: Sequence[str]) -> bool:
    return len(set(values)) == 1


def _seconds(cost: Cost | None) -> str:
    """Three digits that count."""
    if cost is None:
        return ""
    digits = 2 if cost.seconds >= 1 else 3 if cost.seconds >= 0.1 else 4
    return f"{cost.seconds:.{digits}f}"


def _megabytes(cost: Cost | None) -> str:
    if cost is None:
        return ""
    return "n/a" if cost.mb is None else f"{cost.mb:.0f}"


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return ""
    return f"{row.ratio:.1f}×" if row.ratio >= 0.95 else f"{row.ratio:.2f}×"


def _safe(cell: str) -> str:
    """A bar in a cell would be a new cell."""
    return cell.replace("|", "\\|")
