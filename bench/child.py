"""`python -m bench.child PART …`: some parts in a process of their own, a line of JSON each.

A part's memory is the process's, so in a full run every part has its own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bench.parts import PARTS
from bench.setting import Setting, Skip, say


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    setting = Setting(options.quick, options.device, options.threads)
    out, sys.stdout = sys.stdout, sys.stderr  # what packages print is no result
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    setting.set_up()
    for name in options.parts:
        print(json.dumps({"part": name, **outcome(name, setting)}), file=out, flush=True)


def outcome(name: str, setting: Setting) -> dict[str, Any]:
    """Its rows, why it was skipped, or how it failed; and when, how long, under what load."""
    say(f"{name} …")
    started, before = time.perf_counter(), _load()
    rows: list[dict[str, Any]] = []
    ending: dict[str, str] = {}
    try:
        for row in PARTS[name].rows(setting):
            rows.append(row.as_json())
            _tell(rows[-1])
    except Skip as reason:
        ending = {"skipped": str(reason)}
        say(f"  skipped: {reason}")
    except Exception as error:  # noqa: BLE001 — the other parts are worth having
        ending = {"failed": f"{type(error).__name__}: {error}"}
        say(f"  failed: {ending['failed']}")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(time.perf_counter() - started, 1),
        "load": [before, _load()],
        "rows": rows,
        **ending,
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.child", description=__doc__)
    parser.add_argument("parts", nargs="+", choices=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int)
    return parser.parse_args(arguments)


def _tell(row: dict[str, Any]) -> None:
    """As soon as it is known: a bench that is stopped has still said something."""
    beside = "" if row["ratio"] is None else f"{row['theirs']['seconds']} s, ratio {row['ratio']}, "
    say(f"  {row['part']} ({row['size']}): {beside}ours {row['ours']['seconds']} s")


def _load() -> float:
    return round(os.getloadavg()[0], 2)


if __name__ == "__main__":
    main()
