"""What maps are called: the same map has the same name, wherever it was made."""

from __future__ import annotations

from heedful.report.audit_numbers import plain

TITLES = {
    "gradient": "gradient norm",
    "gradient_input": "gradient × input",
    "leave_one_out": "leave-one-out",
}
"""Where underscores as blanks would not do."""


def title_of(name: str) -> str:
    """`occlusion:operator=mask` as `occlusion (mask)`."""
    base = name.partition(":")[0]
    return plain(name).replace(plain(base), TITLES.get(base, plain(base)), 1)
