"""Do reference and Heedful find the same? A few words for the note of a row."""

from __future__ import annotations

import numpy as np

from bench.ours import measured
from bench.trial import Trial


def agreement(trial: Trial, part: str) -> str:
    """How far apart the results of a part that has been measured are; empty where both are
    added up from parts that are compared on their own."""
    checks = {
        "gradient": _scores,
        "leave_one_out": _scores,
        "permutation": _medians,
        "correlation": _tau,
        "adversarial (exact)": _adversary,
    }
    return checks[part](trial, part) if part in checks else ""


def _scores(trial: Trial, part: str) -> str:
    ours, reference = trial.ours(part).value, trial.reference(part).value
    gaps = [float((ours[name] - reference[name]).abs().max()) for name in reference]
    return f"scores within {max(gaps):.1g}"


def _medians(trial: Trial, part: str) -> str:
    """Both sample, so single medians differ; their mean must not, beyond its error."""
    (findings,) = trial.ours(part).value
    ours, reference = measured(findings, "tvd_median"), trial.reference(part).value
    gaps = np.array([ours[name] - reference[name] for name in reference])
    error = gaps.std(ddof=1) / len(gaps) ** 0.5
    return f"mean median TVD apart by {gaps.mean():.1g} (standard error {error:.1g})"


def _tau(trial: Trial, part: str) -> str:
    (findings,) = trial.ours(part).value
    reference = trial.reference("kendall").value
    largest = 0.0
    for column, name in enumerate(("tau_gradient", "tau_loo")):
        ours = measured(findings, name)
        gaps = np.array([ours[key] - reference[key][column] for key in reference])
        largest = max(largest, float(np.nanmax(np.abs(gaps))))
    return f"every τ within {largest:.1g}"


def _adversary(trial: Trial, part: str) -> str:
    (findings,) = trial.ours(part).value
    ours, reference = measured(findings, "jsd_exact"), trial.reference("adversary").value
    found, searched = (float(np.mean([each[n] for n in reference])) for each in (ours, reference))
    least = min(ours[name] - reference[name] for name in reference)
    return (
        f"mean ε-max JSD {found:.3f}, searched {searched:.3f}; exact less searched at least "
        f"{least:.2g} in any text"
    )
