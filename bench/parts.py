"""Every part of the bench by name; `python -m bench.parts PART …` runs some in one process.

Functions are imported when a part runs, so a missing package is that part's matter alone. A part's
memory is the process's, so in a full run every part has a process of its own, which prints a line
of JSON for each.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bench.measure import Row, Setting, Skip, say

INSTALL = {"inseq": "pip install -c constraints.txt inseq==0.7.1"}


@dataclass(frozen=True)
class Part:
    """`function` of `module`, called with the setting, and with `argument` where there is one.
    It `needs` packages that may not be there."""

    section: str
    module: str
    function: str
    argument: str = ""
    needs: tuple[str, ...] = ()

    def rows(self, setting: Setting) -> Iterator[Row]:
        if self.missing:
            raise Skip(self.missing)
        function = getattr(import_module(self.module), self.function)
        function = partial(function, self.argument) if self.argument else function
        gc.freeze()  # what was imported stays, and is not looked through at every measurement
        yield from function(setting)

    @property
    def missing(self) -> str:
        """Why it cannot run here; empty where it can."""
        for package in self.needs:
            if find_spec(package) is None:
                how = INSTALL.get(package, "pip install 'heedful[hf,explain]'")
                return f"{package} is not installed: {how}"
        return ""


def _parts() -> dict[str, Part]:
    found = {f"papers-{size}": Part("papers", "bench.papers", "rows", size) for size in PAPERS}
    found["reach"] = Part("reach", "bench.search_time", "rows")
    needs: tuple[str, ...]
    for encoder in ENCODERS:
        needs = ("transformers",) if encoder == "bert" else ()
        part = Part("deletions", "bench.deletions", "rows", encoder, needs)
        found[f"deletions-{encoder}"] = part
    for size in PAPERS:
        found[f"training-{size}"] = Part("training", "bench.training", "rows", size)
    for method in CAPTUM:
        needs = ("captum", "transformers", *(("lime",) if method == "lime" else ()))
        found[f"captum-{method}"] = Part("captum", "bench.captum", "rows", method, needs)
    for method in INSEQ:
        needs = ("inseq", "transformers")
        found[f"inseq-{method}"] = Part("inseq", "bench.decoders", "rows", method, needs)
    found["audit"] = Part("audit", "bench.whole_audit", "rows", needs=("transformers",))
    found["attach"] = Part("attach", "bench.attach", "rows", needs=("transformers",))
    found["long"] = Part("long", "bench.long_texts", "rows")
    return found


PAPERS = ("sst", "imdb")
ENCODERS = (
    *("bilstm", "unforgetting", "lstm", "bigru", "orthogonal", "cnn", "conv", "average", "none"),
    "bert",  # of Hugging Face: nothing but to start anew
)
CAPTUM = (
    *("gradient", "gradient_input", "integrated_gradients", "smoothgrad"),
    *("occlusion", "kernel_shap", "lime", "lrp"),
)
INSEQ = ("gradient", "gradient_input", "integrated_gradients", "occlusion", "attention")
PARTS = _parts()
SECTIONS = tuple(dict.fromkeys(part.section for part in PARTS.values()))


def chosen(only: Sequence[str] | None) -> list[str]:
    """Names of parts, those of whole sections among them; all without a choice."""
    if not only:
        return list(PARTS)
    return [name for name, part in PARTS.items() if _is(name, part, only)]


def _is(name: str, part: Part, only: Iterable[str]) -> bool:
    return name in only or part.section in only


# `python -m bench.parts PART …`: some parts in a process of their own, a line of JSON each.
#
# A part's memory is the process's, so in a full run every part has its own.


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
    parser = argparse.ArgumentParser(prog="python -m bench.parts", description=__doc__)
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
