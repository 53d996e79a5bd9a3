"""The picture of docs/debate.md: what replacing attention costs, published beside measured.

The numbers are those of the first table of docs/studies.md, which `heedful study vashishth2019`
printed; nothing is typed here. Run as `python tools/debate_picture.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from heedful.report import render

DOCS = Path(__file__).parent.parent / "docs"
WANTED = "uniform afterwards"
_HEAD = re.compile(r"\*\*(.+?)\*\*(.*): (?:accuracy|BLEU)")
_MEASURED = re.compile(r"([+−-]?[\d.]+) \[([+−-]?[\d.]+), ([+−-]?[\d.]+)\]")


def main() -> None:
    (DOCS / "debate.svg").write_text(render(chart(changes())), encoding="utf8")


def changes() -> list[dict[str, Any]]:
    """One row for each model: the task, and its change under uniform weights after training."""
    text = (DOCS / "studies.md").read_text(encoding="utf8")
    lines = text.split("## vashishth2019")[1].split("\n## ")[0].splitlines()
    found, title = [], ""
    for line in lines:
        name, published, measured = [*(cell.strip() for cell in line.split("|")[1:-1]), "", "", ""][
            :3
        ]
        head = _HEAD.match(name)
        if head:
            title = _title(title, head)
        elif name == WANTED:
            value, low, high = (_number(each) for each in _MEASURED.match(measured).groups())
            row = {"model": title, "measured": value, "low": low, "high": high}
            found.append({**row, "published": _number(published) if published else None})
    return found


def _title(before: str, head: re.Match[str]) -> str:
    """`the same with …` is said of the line before it."""
    rest = head[2].strip(" ,")
    if rest.startswith("the same"):
        return before + rest.removeprefix("the same").replace(" with", ",")
    return f"{head[1]}, {rest}" if rest else head[1]


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def chart(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Points with intervals; hollow ones are the paper's."""
    y = {
        "field": "model",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 420},
    }
    x = {
        "field": "measured",
        "type": "quantitative",
        "title": "change under uniform attention, points",
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": 340,
        "height": {"step": 26},
        "data": {"values": rows},
        "encoding": {"y": y},
        "layer": [
            {"mark": {"type": "rule", "strokeWidth": 2, "color": "#4b3a86"},
             "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 70, "color": "#4b3a86"},
             "encoding": {"x": x}},
            {"mark": {"type": "point", "size": 70, "color": "#b25a00", "filled": False},
             "encoding": {"x": {**x, "field": "published"}}},
        ],
    }  # fmt: skip


if __name__ == "__main__":
    main()
