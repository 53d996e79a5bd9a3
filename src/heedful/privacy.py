"""Nothing is sent anywhere: what other libraries would report by themselves is switched off.

`heedful/__init__.py` calls this before any of them can be imported by Heedful; they read these
variables when they are imported. What a user set already is left as it is.
"""

from __future__ import annotations

import os
import warnings

QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",  # also of transformers and datasets, which ask the hub's
    "HF_UPDATE_DOWNLOAD_COUNTS": "0",
    "DISABLE_SAFETENSORS_CONVERSION": "1",  # transformers would ask a bot of the hub for it
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_USAGE_STATS_PROMPT_ENABLED": "0",
}


def keep_quiet() -> None:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    # bars of other libraries want widgets, which not every notebook has, and ours do without
    warnings.filterwarnings("ignore", "IProgress not found")
