"""The impermissible tokens of a probe's data, laid over its rows of attention."""

from __future__ import annotations

from jaxtyping import Bool
from torch import Tensor

from heedful.corpora import Forbidden, forbidden, forbidden_next, laid_out
from heedful.probes.evidence import Evidence, Pass
from heedful.types import AttentionRows


def marks_of(evidence: Evidence) -> Forbidden:
    """Of a target the marks are those of the step looked at."""
    if evidence.task == "generation" and evidence.whole is not None:
        return forbidden_next(evidence.whole, evidence.data)
    return forbidden(evidence.data)


def inside(marks: Forbidden, each: Pass, view: AttentionRows) -> Bool[Tensor, "n k"]:
    """Which of the attended tokens are impermissible, row by row."""
    return laid_out(marks, each.batch, 1)[:, 0][view.example] & view.mask
