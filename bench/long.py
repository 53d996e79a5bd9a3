"""`python -m bench.long`: time and memory of the probes on texts of about 2,000 tokens.

What tries pairs of tokens, or many weights at once, must not need memory for all of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from bench.data import Plan, Size, generate, trained
from bench.memory import Measured, measure
from bench.ours import evidence_of
from bench.table import aligned, machine
from heedful.probes.adversarial import adversarial
from heedful.probes.erasure import erasure
from heedful.probes.evidence import Evidence, Findings
from heedful.probes.permutation import permutation
from heedful.runner.machine import machine as set_up

SHORT = Size("sst", 16, 8, 30, 1)
FULL = Plan((SHORT, Size("imdb", 32, 1900, 2000, 1)), 100, 8, 1, 1, 500, ())
QUICK = Plan((SHORT, Size("imdb", 2, 150, 200, 1)), 40, 4, 1, 1, 10, ())
COLUMNS = ("probe", "s", "peak MB")
Probe = Callable[[Evidence], Findings]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.long", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short texts: does it run at all?")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options = parser.parse_args(arguments)
    set_up(options.device)
    plan = QUICK if options.quick else FULL
    data = generate(plan)
    model, _ = trained(data, "bilstm", plan.epochs, options.device)
    texts = data.split("imdb")
    print(", ".join(f"{name} {value}" for name, value in machine(options.device).items()))
    print(f"{len(texts)} texts of {texts.lengths.mean():.0f} tokens on average; BiLSTM 2×128\n")
    lines = []
    for name, probe in _probes(plan.adversary_steps).items():
        evidence = evidence_of(model, texts)
        list(evidence.passes(name))
        lines.append(_line(name, measure(partial(probe, evidence), plan.repeats)))
    print(aligned(COLUMNS, lines))
    print("\npeak: beyond the passes, which are made before; each probe once.")


def _probes(steps: int) -> dict[str, Probe]:
    return {
        "permutation": permutation,
        "adversarial (exact)": partial(adversarial, entropy_candidates=0),
        "adversarial (exact + entropy-matched)": partial(adversarial, search_steps=steps),
        "erasure": erasure,
    }


def _line(name: str, found: Measured) -> tuple[str, ...]:
    peak = "unknown" if found.peak_mb is None else f"{found.peak_mb:.0f}"
    return name, f"{found.seconds:.2f}", peak


if __name__ == "__main__":
    main()
