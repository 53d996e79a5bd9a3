"""Do reference and Heedful find the same? Differences, printed beside the times."""

from __future__ import annotations

import numpy as np

from bench.ours import measured
from bench.trial import Trial


def agreement(trial: Trial, part: str) -> dict[str, float]:
    """Named differences for a part that has been measured; nothing where none applies."""
    checks = {
        "gradient": _scores,
        "leave_one_out": _scores,
        "permutation": _medians,
        "correlation": _tau,
        "adversarial (exact)": _adversary,
    }
    return checks[part](trial, part) if part in checks else {}


def _scores(trial: Trial, part: str) -> dict[str, float]:
    ours, reference = trial.ours(part).value, trial.reference(part).value
    gaps = [float((ours[name] - reference[name]).abs().max()) for name in reference]
    return {f"{part}: largest difference of any token's score": max(gaps)}


def _medians(trial: Trial, part: str) -> dict[str, float]:
    """Both sample, so single medians differ; their mean must not, beyond its error."""
    (findings,) = trial.ours(part).value
    ours, reference = measured(findings, "tvd_median"), trial.reference(part).value
    gaps = np.array([ours[name] - reference[name] for name in reference])
    return {
        "permutation: mean median TVD, reference": float(np.mean(list(reference.values()))),
        "permutation: mean median TVD, ours": float(np.mean(list(ours.values()))),
        "permutation: difference of the means": float(gaps.mean()),
        "permutation: its standard error": float(gaps.std(ddof=1) / len(gaps) ** 0.5),
    }


def _tau(trial: Trial, part: str) -> dict[str, float]:
    (findings,) = trial.ours(part).value
    reference = trial.reference("kendall").value
    found = {}
    for column, name in enumerate(("tau_gradient", "tau_loo")):
        ours = measured(findings, name)
        gaps = np.array([ours[key] - reference[key][column] for key in reference])
        theirs = np.nanmean([pair[column] for pair in reference.values()])
        found[f"correlation: mean {name}, reference"] = float(theirs)
        found[f"correlation: largest difference of any {name}"] = float(np.nanmax(np.abs(gaps)))
    return found


def _adversary(trial: Trial, part: str) -> dict[str, float]:
    (findings,) = trial.ours(part).value
    ours, reference = measured(findings, "jsd_exact"), trial.reference("adversary").value
    gaps = np.array([ours[name] - reference[name] for name in reference])
    return {
        "adversarial: mean ε-max JSD, searched (reference)": float(
            np.mean(list(reference.values()))
        ),
        "adversarial: mean ε-max JSD, exact, same texts": float(
            np.mean([ours[name] for name in reference])
        ),
        "adversarial: smallest exact − searched": float(gaps.min()),
        "adversarial: texts compared": len(gaps),
    }
