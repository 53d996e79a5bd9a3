"""Charts as SVG, offline, and the same bytes each time."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from heedful.report.display import visible
from heedful.report.renderer import converted

_IDS = re.compile(r'(id="|url\(#)((?:clip|gradient_)\w*)')
_NEEDLESS = (
    (re.compile(r'<path class="(?:fore|back)ground"[^>]*?d=""[^>]*/>'), ""),
    (re.compile(r'<path class="foreground"[^>]*/>'), ""),
    (
        re.compile(r' (?:aria-hidden|aria-roledescription|aria-label|role|pointer-events)="[^"]*"'),
        "",
    ),
    (re.compile(r' (?:font-family|opacity)="(?:1|Helvetica[^"]*)"'), ""),
)
_SHAPES = re.compile(r' (?:d|transform)="[^"]*"')
_DECIMALS = re.compile(r"(\.\d)\d+")


def render(spec: dict[str, Any]) -> str:
    """A Vega-Lite spec as an SVG document; nothing may be fetched while it is drawn."""
    svg = converted("vegalite_to_svg", _visible(spec), allowed_base_urls=[])
    return _renumbered(svg, "chart")


def inline(spec: dict[str, Any], name: str, says: str) -> str:
    """A chart for the inside of a page: ids of its own, and words for a screen reader."""
    svg = _slim(_renumbered(render(spec), name))
    label = f'<svg role="img" aria-label="{escape(visible(says), quote=True)}" '
    return svg.replace("<svg ", label, 1)


def _slim(svg: str) -> str:
    """Without what a page does not need: hidden marks, single descriptions, long decimals."""
    for pattern, kept in _NEEDLESS:
        svg = pattern.sub(kept, svg)
    return _SHAPES.sub(lambda shape: _DECIMALS.sub(r"\1", shape[0]), svg)


def _visible(spec: Any) -> Any:
    """Names come from outside; a control character in one would make the XML unreadable."""
    if isinstance(spec, dict):
        return {name: _visible(value) for name, value in spec.items()}
    if isinstance(spec, list):
        return [_visible(value) for value in spec]
    return visible(spec) if isinstance(spec, str) else spec


def _renumbered(svg: str, prefix: str) -> str:
    """Vega counts its ids through a process; here they restart with each chart."""
    seen: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        number = seen.setdefault(match[2], f"clip_{prefix}_{len(seen)}")
        return f"{match[1]}{number}"

    return _IDS.sub(rename, svg)
