"""Time and memory of the probes on texts of about 2,000 tokens.

What tries pairs of tokens, or many weights at once, must not need memory for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from bench.data import Plan, Size, generate, trained
from bench.measure import Cost, Row, Setting, measure
from bench.papers import describe, evidence_of
from heedful.experiments import Evidence, Findings, adversarial, erasure, permutation

SHORT = Size("sst", 16, 8, 30, 1)
FULL = Plan((SHORT, Size("imdb", 32, 1900, 2000, 1)), 100, 8, 1, 1, 500, ())
QUICK = Plan((SHORT, Size("imdb", 2, 80, 100, 1)), 20, 2, 1, 1, 5, ())
Probe = Callable[[Evidence], Findings]


def rows(setting: Setting) -> Iterator[Row]:
    """Each probe once; its memory is beyond the passes, which are made before."""
    plan = QUICK if setting.quick else FULL
    data = generate(plan)
    model, _ = trained(data, "bilstm", plan.epochs, setting.device)
    texts, size = data.split("imdb"), describe(data, "imdb")
    for name, probe in _probes(plan.adversary_steps).items():
        evidence = evidence_of(model, texts)
        list(evidence.passes(name))
        cost = Cost.of(measure(partial(probe, evidence), plan.repeats))
        yield Row("long", name, size, "", None, cost)


def _probes(steps: int) -> dict[str, Probe]:
    return {
        "permutation": permutation,
        "adversarial (exact)": partial(adversarial, entropy_candidates=0),
        "adversarial (exact + entropy-matched)": partial(adversarial, search_steps=steps),
        "erasure": erasure,
    }
