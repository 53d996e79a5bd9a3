"""Charts that are drawn twice: as a still picture in the page, and again by its script.

The still one is there at once, without a script, and on paper. What the script needs, each
chart's Vega-Lite and Vega itself, travels compressed and is unpacked when a chart is near.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from heedful.report.display import visible
from heedful.report.extra import need
from heedful.report.figures.fields import fields
from heedful.report.figures.figure import Panel, Spec
from heedful.report.holder import ScriptHolder
from heedful.report.renderer import converted
from heedful.report.svg import inline

DIGITS = 6
NOTICE = (
    "/* Vega, Vega-Lite, Vega-Embed: University of Washington Interactive Data Lab, "
    "BSD-3-Clause. D3: Mike Bostock, ISC. */\n"
)


@dataclass(frozen=True)
class Drawn:
    """A chart for the template: `chart(drawn)` shows it."""

    title: str
    name: str
    svg: Any


class Charts:
    """The charts of one page. Their names are different: ids and files are named by them."""

    def __init__(self) -> None:
        self._specs: dict[str, Spec] = {}

    def draw(self, panel: Panel, name: str) -> Drawn:
        """The still picture; the spec is kept for `finish`."""
        if name in self._specs:
            raise ValueError(f"there is a chart named {name} already")
        spec = panel.spec()
        self._specs[name] = interactive(spec, panel)
        markup = need("markupsafe").Markup
        return Drawn(panel.title, name, markup(inline(spec, name, panel.says)))

    def finish(self, sheet: ScriptHolder) -> None:
        """Give the page what its script needs; nothing where nothing was drawn."""
        if self._specs:
            script = vega()
            sheet.put("charts", self._specs)
            sheet.put("vega", script)
            sheet.allow(script)


def interactive(spec: Spec, panel: Panel) -> Spec:
    """The spec with what notes and tables say, and no longer than it has to be."""
    told = {"title": panel.title, "says": panel.says, "fields": fields(spec)}
    kept: Spec = _plain({**spec, "usermeta": told})
    return kept


@cache
def vega() -> str:
    """Vega as one script that leaves one name behind, `vegaEmbed`."""
    bundle = converted("javascript_bundle", "window.vegaEmbed = vegaEmbed;")
    return f"{NOTICE}(() => {{{bundle}}})();"


def _plain(value: Any) -> Any:
    """JSON: numbers to six digits, null for what is no number, control characters spelled out."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return visible(value) if isinstance(value, str) else value
