"""Keys: a run is named by what made it, never by when, where or on what device."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any


def canonical(value: Any) -> str:
    """JSON with one spelling per value: sorted keys, no spaces, no NaN."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def run_key(kind: str, facts: Mapping[str, Any]) -> str:
    """`kind-` and 16 hexadecimal digits of the facts' hash."""
    digest = hashlib.sha256(canonical({"kind": kind, "facts": facts}).encode()).hexdigest()
    return f"{kind}-{digest[:16]}"


def file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)  # 1.0 and 1 are the same parameter
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a run key cannot hold a {type(value).__name__}")
