"""Heedful puts attention on trial: do these weights explain these predictions?

import heedful
found = heedful.audit("path/to/model", "reviews.csv", n=200)
found.verdict, found.to_pandas(), found.to_html("page.html")
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

__all__ = ["Audit", "AuditSpec", "Explanation", "Settings", "__version__", "audit", "explain"]

_PLACES = {
    "audit": "heedful.auditing.audit",
    "Audit": "heedful.auditing.result",
    "AuditSpec": "heedful.auditing.spec",
    "Settings": "heedful.verdict.settings",
    "explain": "heedful.auditing.explanation",
    "Explanation": "heedful.auditing.explanation",
}


def __getattr__(name: str) -> Any:
    """Heavy modules are imported when they are asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'heedful' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
