"""Lists as tables hold them."""

from __future__ import annotations

from typing import Any

import numpy as np


def listed(value: Any) -> list[Any]:
    """What is missing in a table may be None or NaN: an empty list."""
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else []
