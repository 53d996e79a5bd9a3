"""The properties a verdict speaks about, one file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heedful.verdict.properties.agreement import agreement
from heedful.verdict.properties.baseline import baseline
from heedful.verdict.properties.direction import direction
from heedful.verdict.properties.exclusivity import exclusivity
from heedful.verdict.properties.importance import importance
from heedful.verdict.properties.plausibility import plausibility
from heedful.verdict.properties.stability import stability
from heedful.verdict.properties.use import use
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Table

PROPERTIES: Mapping[str, Callable[[Table, Settings], Statement]] = {
    "use": use,
    "importance": importance,
    "baseline": baseline,
    "agreement": agreement,
    "direction": direction,
    "exclusivity": exclusivity,
    "stability": stability,
    "plausibility": plausibility,
}
"""In the order they are shown."""
