"""The tables an audit leaves, and the types of columns that not every block shows."""

from __future__ import annotations

import pyarrow as pa

TABLES = ("rows", "maps", "costs", "documents", "shown")
_TEXT = pa.large_string()
TYPES = {
    "rows": {
        **dict.fromkeys(("model", "example", "cluster"), _TEXT),
        **dict.fromkeys(("explanation", "operator", "measure"), _TEXT),
        **dict.fromkeys(("confidence", "value"), pa.float64()),
    },
    "maps": {"example": _TEXT, "explanation": _TEXT, "scores": pa.list_(pa.float32())},
    "shown": {
        **dict.fromkeys(("example", "kind", "name"), _TEXT),
        "scores": pa.list_(pa.float64()),
    },
    "documents": {
        **dict.fromkeys(("example", "text", "text_b"), _TEXT),
        **dict.fromkeys(("starts", "ends"), pa.list_(pa.int64())),
        "words": pa.list_(pa.string()),
        "rationale": pa.list_(pa.bool_()),
    },
}
