"""`python -m bench.audit_time MODEL DATA`: how long an audit takes here, and what bounds it.

    python -m bench.audit_time path/to/minilm sst.csv --n 100
    python -m bench.audit_time path/to/smollm2 sst.csv --n 100 \
        --label-words "positive= good,negative= bad" --template "{text} It was"

The audit is of all texts and is kept nowhere. On a GPU it runs again, when everything is imported
and compiled, and the profiler watches an audit of a few texts. Prints JSON. To compare versions,
run it with another checkout's `src` first in PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from typing import Any

import torch

from bench.gpu_rates import Kernels, kernels
from heedful.auditing import Audit, AuditSpec, audit_subject
from heedful.targets import AuditTarget, open_target


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.audit_time")
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--n", type=int, default=100)
    for name in ("label-words", "template", "dtype", "device", "text-column", "label-column"):
        parser.add_argument(f"--{name}")
    given = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value}
    if "label_words" in given:
        given["label_words"] = dict(pair.split("=", 1) for pair in given["label_words"].split(","))
    sys.stdout.write(json.dumps(row(**given), indent=1) + "\n")


WATCHED = 32
"""Texts of the audit that is watched: the profiler holds every launch in memory."""


def row(
    model: Any, data: Any, n: int = 100, spec: AuditSpec = AuditSpec(), **options: Any
) -> dict[str, Any]:
    """Seconds of an audit, and what a GPU did meanwhile."""
    started = time.perf_counter()
    with open_target(model, data, n=n, **options) as subject:
        opening, cpu = time.perf_counter() - started, time.process_time()
        audit, first = _timed(subject, spec)
        found = {
            **_facts(subject, audit),
            "opening_seconds": opening,
            "first_seconds": first,
            "first_cpu_seconds": time.process_time() - cpu,
            "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        if torch.device(subject.device).type != "cuda":
            return found
        found["second_seconds"] = _timed(subject, spec)[1]
        found["peak_device_bytes"] = torch.cuda.max_memory_allocated()
    with open_target(model, data, n=min(n, WATCHED), **options) as subject:
        seconds = _timed(subject, spec)[1]
        seen = kernels(lambda: audit_subject(subject, spec), "cuda")
    return found | ({} if seen is None else _watched(seen, seconds))


def _timed(subject: AuditTarget, spec: AuditSpec) -> tuple[Audit, float]:
    started = time.perf_counter()
    audit = audit_subject(subject, spec)
    return audit, time.perf_counter() - started


def _watched(seen: Kernels, seconds: float) -> dict[str, Any]:
    """`device_busy` is the share of these seconds in which a kernel ran."""
    return {
        "watched_texts": WATCHED,
        "watched_seconds": seconds,
        "device_busy": seen.seconds / seconds,
        "launches": seen.launches,
        "longest_kernel": seen.longest,
    }


def _facts(subject: AuditTarget, audit: Audit) -> dict[str, Any]:
    return {
        "model": subject.family,
        "device": subject.device,
        "threads": torch.get_num_threads(),
        "texts": len(subject),
        "rows": len(audit.rows),
        "answer": str(audit.verdict.answer),
    }


if __name__ == "__main__":
    main(sys.argv[1:])
