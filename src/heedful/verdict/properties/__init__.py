"""The properties a verdict speaks about, one file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heedful.verdict.properties.agreement import agreement
from heedful.verdict.properties.exclusivity import exclusivity
from heedful.verdict.properties.necessity import necessity
from heedful.verdict.properties.plausibility import plausibility
from heedful.verdict.properties.ranking import ranking
from heedful.verdict.properties.sensitivity import sensitivity
from heedful.verdict.properties.stability import stability
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Table

PROPERTIES: Mapping[str, Callable[[Table, Settings], Statement]] = {
    "necessity": necessity,
    "agreement": agreement,
    "sensitivity": sensitivity,
    "ranking": ranking,
    "exclusivity": exclusivity,
    "stability": stability,
    "plausibility": plausibility,
}
"""In the order they are shown."""
