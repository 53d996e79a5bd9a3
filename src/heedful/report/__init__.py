"""Reports: what the store holds, as a page, figures and tables. Needs no torch."""

from heedful.report.build import ReportFiles, build_report
from heedful.report.evidence import Evidence, gather
from heedful.report.measured import measured, over_seeds
from heedful.report.summary import five_lines
from heedful.report.tables import published_beside_measured

__all__ = [
    "Evidence",
    "ReportFiles",
    "build_report",
    "five_lines",
    "gather",
    "measured",
    "over_seeds",
    "published_beside_measured",
]
