"""Heedful puts attention on trial: do these weights explain these predictions?

import heedful
found = heedful.audit("path/to/model", "reviews.csv", n=200)
found.verdict, found.to_pandas(), found.to_html("page.html")
"""

from __future__ import annotations

from heedful.privacy import keep_quiet

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone takes longer to import than all of this
    from typing import Any

keep_quiet()

__version__ = "0.1.0"

__all__ = [
    "Adapter",
    "Audit",
    "AuditSpec",
    "Choice",
    "Decision",
    "Estimate",
    "Explanation",
    "HeedfulError",
    "Piece",
    "Plan",
    "Recommendation",
    "Run",
    "Settings",
    "Statement",
    "Store",
    "Subject",
    "Verdict",
    "__version__",
    "audit",
    "estimate",
    "explain",
    "extend",
    "grid",
    "judge",
    "machine",
    "open_subject",
    "prepare",
    "restored",
    "run_study",
    "store_at",
]

_PLACES = {
    "audit": "heedful.auditing.audit",
    "estimate": "heedful.auditing.cost",
    "Estimate": "heedful.auditing.cost",
    "Plan": "heedful.auditing.plan",
    "Audit": "heedful.auditing.result",
    "AuditSpec": "heedful.auditing.spec",
    "explain": "heedful.auditing.explanation",
    "Explanation": "heedful.auditing.explanation",
    "Settings": "heedful.verdict.settings",
    "judge": "heedful.verdict.verdict",
    "Verdict": "heedful.verdict.verdict",
    "Statement": "heedful.verdict.statement",
    "Decision": "heedful.verdict.decide",
    "Recommendation": "heedful.verdict.recommend",
    "open_subject": "heedful.subjects.open",
    "Subject": "heedful.subjects.subject",
    "Adapter": "heedful.subjects.module",
    "store_at": "heedful.store",
    "Store": "heedful.store",
    "Run": "heedful.store",
    "prepare": "heedful.corpora.prepare",
    "grid": "heedful.runner.grid",
    "run_study": "heedful.runner.study",
    "Choice": "heedful.runner.choice",
    "machine": "heedful.runner.machine",
    "restored": "heedful.edits.restored",
    "extend": "heedful.extending",
    "Piece": "heedful.catalogue",
    "HeedfulError": "heedful.errors",
}


def __getattr__(name: str) -> Any:
    """Heavy modules are imported when they are asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'heedful' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
