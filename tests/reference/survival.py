"""Kaplan and Meier's estimate, walking through the times one by one."""

from __future__ import annotations


def survival(times: list[float], censored: list[bool]) -> list[tuple[float, float]]:
    """(time, share alive after it) at every time of a flip."""
    alive, out = 1.0, []
    for time in sorted({t for t, c in zip(times, censored, strict=True) if not c}):
        at_risk = sum(t >= time for t in times)
        flips = sum(t == time and not c for t, c in zip(times, censored, strict=True))
        alive *= 1 - flips / at_risk
        out.append((time, alive))
    return out


def restricted_mean(times: list[float], censored: list[bool], horizon: float) -> float:
    """The area under the steps."""
    total, before, height = 0.0, 0.0, 1.0
    for time, alive in survival(times, censored):
        if time >= horizon:
            break
        total += height * (time - before)
        before, height = time, alive
    return total + height * (horizon - before)


def greenwood(times: list[float], censored: list[bool], horizon: float) -> float:
    """Variance of the restricted mean: Σ A(t)² d / (r (r − d)), A(t) the area beyond t."""
    steps, variance = survival(times, censored), 0.0
    for time, _ in steps:
        at_risk = sum(t >= time for t in times)
        flips = sum(t == time and not c for t, c in zip(times, censored, strict=True))
        if time < horizon and at_risk > flips:
            beyond = _area_beyond(steps, time, horizon)
            variance += beyond**2 * flips / (at_risk * (at_risk - flips))
    return variance


def _area_beyond(steps: list[tuple[float, float]], start: float, horizon: float) -> float:
    edges = [t for t, _ in steps if start <= t < horizon] + [horizon]
    heights = [alive for t, alive in steps if start <= t < horizon]
    return sum(h * (b - a) for h, a, b in zip(heights, edges, edges[1:], strict=False))
