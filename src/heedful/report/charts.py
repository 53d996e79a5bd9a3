"""Charts, drawn twice: as a still picture in the page, and again by its script.

The still one is there at once, without a script, and on paper. What the script needs, each
chart's Vega-Lite and Vega itself, travels compressed and is unpacked when a chart is near.

Charts are drawn in a process of their own: V8 ends its process where memory runs out, and must
not take the results with it.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from html import escape
from threading import Lock
from typing import Any

from heedful.errors import HeedfulError
from heedful.report.formats import visible
from heedful.report.panels import Panel, Spec
from heedful.report.sheet import ScriptHolder, need
from heedful.units import UNITS

PROGRAM = """
import base64, json, os, sys
import vl_convert

answers = os.fdopen(os.dup(1), "w", encoding="utf8")
os.dup2(2, 1)  # what libraries print is no answer
for line in sys.stdin.buffer:
    name, given, options = json.loads(line)
    try:
        made = getattr(vl_convert, name)(given, **options)
        answer = [True, made if type(made) is str else base64.b64encode(made).decode()]
    except ValueError as error:
        answer = [False, str(error)]
    answers.write(json.dumps(answer) + "\\n")
    answers.flush()
"""


class Undrawn(HeedfulError):
    """The charts of a page cannot be drawn; whatever was measured is there."""

    def __init__(self, code: int) -> None:
        self.reason = (
            f"the chart renderer ended with {f'signal {-code}' if code < 0 else f'code {code}'}, "
            f"most often for want of memory"
        )
        super().__init__(
            f"the charts cannot be drawn because {self.reason}: free some memory and try again."
        )


class Renderer:
    def __init__(self) -> None:
        known = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": known},
        )
        self._lock = Lock()
        atexit.register(self._end)

    def _end(self) -> int:
        self._process.kill()
        with suppress(BrokenPipeError):
            self._process.communicate()  # closes the pipes
        return self._process.wait()

    def ask(self, name: str, given: Any, **options: Any) -> str:
        """The answer of a function of vl_convert. Raises ValueError where it refuses."""
        question = json.dumps([name, given, options]).encode() + b"\n"
        with self._lock:
            right, text = self._answer(question)
        if not right:
            raise ValueError(text)
        return str(text)

    def _answer(self, question: bytes) -> tuple[bool, str]:
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None and answered is not None
        try:
            asked.write(question)
            asked.flush()
            line = answered.readline()
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            raise Undrawn(self._end())
        right, text = json.loads(line)
        return bool(right), str(text)


def converted(name: str, given: Any, **options: Any) -> str:
    """What vl_convert's function of this name makes; bytes in base64."""
    need("vl_convert")
    started = _renderer(os.getpid())
    try:
        return started.ask(name, given, **options)
    except Undrawn:
        _renderer.cache_clear()  # the next chart finds a new one
        raise


@cache
def _renderer(process: int) -> Renderer:
    """One for each process: after a fork two would read from one pipe."""
    return Renderer()


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


NAMES = ("what", "row", "label", "ranking", "model", "method", *UNITS, "answer")
"""Columns that name a mark: they need no words of their own."""
WORDS = {
    "bin": "largest weight",
    "height": "density (highest is 1)",
    "texts": "texts",
    "measured": "measured",
    "published_paper": "paper",
    "published_slides": "slides",
    "printed": "paper",
    "percent": "share of texts, %",
    "strength": "λ",
    "final": "the model’s own prediction",
    "position": "position",
    "n": "texts",
    "value": "share of attention",
    "q05": "5th percentile",
    "q25": "25th percentile",
    "reached": "median",
    "q75": "75th percentile",
    "q95": "95th percentile",
    "never": "the decision flips",
}
DRAWING = {
    "colour", "shape", "size", "shade", "series", "order", "kind", "role", "explanation", "base",
    "edge", "start", "end", "from_", "to", "dot", "beside", "q50", "text",
}  # fmt: skip
"""Columns that only place or paint a mark; a colour is told by the legend's words."""
STANDS = {"beside": "at"}
"""A column that is drawn in place of another, and named by its axis."""
ENDS = {"low": "low", "left": "low", "high": "high", "right": "high"}


def fields(spec: Spec) -> list[tuple[str, str]]:
    """Each column worth telling with its words, names first, else in the order of the data."""
    named = _by_axes(spec)
    columns = dict.fromkeys(
        column for rows in spec.get("datasets", {}).values() for row in rows for column in row
    )
    return [
        (column, "" if column in NAMES else WORDS.get(column) or named.get(column) or _own(column))
        for column in sorted(columns, key=lambda column: column not in NAMES)
        if column not in DRAWING
    ]


def _own(column: str) -> str:
    """Ends that are on no axis are those of an interval."""
    return f"interval, {ENDS[column]}" if column in ENDS else column


def _by_axes(spec: Spec) -> dict[str, str]:
    """What the axes' titles say about columns. Two ends of one thing: `τ, low` and `τ, high`."""
    places = [place for encoding in _encodings(spec) for place in _places(encoding)]
    titles = {channel: title for channel, _, title in places if title}
    named: dict[str, str] = {}
    for channel, column, own in places:
        title = own or titles.get(channel, "")
        end = ENDS.get(column.rpartition("_")[2])
        if title:
            named.setdefault(STANDS.get(column, column), f"{title}, {end}" if end else title)
    return named


def _places(encoding: Spec) -> Iterator[tuple[str, str, str]]:
    """Axis, column and title of what is placed; the second end lies on the first one's axis."""
    for channel in ("x", "x2", "y", "y2"):
        one = encoding.get(channel, {})
        if "field" in one:
            yield channel[0], one["field"], one.get("title") or ""


def _encodings(spec: Spec) -> Iterator[Spec]:
    yield spec.get("encoding", {})
    for layer in spec.get("layer", ()):
        yield from _encodings(layer)


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

    def draw_all(self, panels: Iterable[Panel], name: str) -> list[Drawn]:
        return [self.draw(panel, f"{name}-{i}") for i, panel in enumerate(panels)]

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
