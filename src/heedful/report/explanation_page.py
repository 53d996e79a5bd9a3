"""The page of one text: its units shaded, and an answer token by token."""

from __future__ import annotations

from heedful.report.charts import Charts
from heedful.report.explained_text import (
    LEGEND,
    Explained,
    answer_data,
    cut_of,
    matrix_cut,
    matrix_panels,
    said,
    unit_of,
)
from heedful.report.notebook import whole_text
from heedful.report.sheet import Sheet, need


def explanation_page(explained: Explained) -> str:
    """The HTML of a page that shows nothing else."""
    sheet, charts = Sheet(), Charts()
    matrices = charts.draw_all(matrix_panels(explained), "matrix")
    charts.finish(sheet)
    if explained.get("tokens"):
        sheet.put("answer", [answer_data(explained)])
    return sheet.render(
        "explanation.html",
        entry="explanation_page",
        title=said(explained),
        unit=unit_of(explained),
        tokens=len(explained.get("tokens", ())),
        matrices=matrices,
        cut=" ".join(filter(None, (cut_of(explained), matrix_cut(explained)))),
        legend=LEGEND,
        whole=need("markupsafe").Markup(whole_text(explained)),
    )
