"""The texts of a page to look through: what each model made of them, word by word."""

from heedful.report.examples.audit_cells import audit_cells
from heedful.report.examples.build import put_examples
from heedful.report.examples.cell import Cell
from heedful.report.examples.study_cells import study_cells

__all__ = ["Cell", "audit_cells", "put_examples", "study_cells"]
