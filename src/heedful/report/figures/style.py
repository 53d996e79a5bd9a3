"""One look for all figures: colours that differ for colour-blind eyes, on light and dark."""

from __future__ import annotations

from typing import Any

CLASSES = ("#3f88c5", "#d2781a", "#2a9d7a", "#b266a8", "#8a8f98", "#c4504a")
"""Predicted classes 0, 1, …: blue and orange first. All have at least 3:1 on white and black."""

KINDS = {"exact": "#8d6cc4", "search": "#1f9e89", "matched": "#d2781a"}
"""The three adversaries, apart from the classes' colours where both could be meant."""

INK = "#3b3f46"
FAINT = "#d9dce1"
FONT = "Helvetica, Arial, sans-serif"
WIDTH, HEIGHT = 240, 130
LABELS = 320
"""Pixels for the name of a line: of a model with its terms, of a way to replace attention."""


def class_colour(label: int) -> str:
    return CLASSES[int(label) % len(CLASSES)]


def panel_title() -> dict[str, Any]:
    """How a panel's title looks."""
    return {"fontSize": 11, "fontWeight": "normal", "anchor": "start", "color": INK}


def chart_theme(background: str) -> dict[str, Any]:
    """Vega-Lite's config: thin grid, no frame, no descriptions on single marks."""
    return {
        "background": background,
        "font": FONT,
        "aria": False,
        "view": {"stroke": None},
        "title": {"color": INK, "fontSize": 15, "anchor": "start", "offset": 8},
        "axis": {
            "labelColor": INK,
            "titleColor": INK,
            "labelFontSize": 10,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "gridColor": FAINT,
            "domainColor": "#8a8f98",
            "tickColor": "#8a8f98",
            "tickSize": 4,
            "labelFlush": False,
        },
        "text": {"color": INK, "font": FONT},
    }
