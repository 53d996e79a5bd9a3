"""One line for "attention explains these predictions"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heedful.verdict.decide import Decision
from heedful.verdict.statement import Statement


def overall(statements: Sequence[Statement]) -> Decision:
    """The rule, first match wins:

    1. NOT NEEDED, if necessity is NOT SUPPORTED: attention is not needed here, so these data
       cannot say whether it explains anything.
    2. NOT SUPPORTED, if agreement or ranking is NOT SUPPORTED: the claim needs both.
    3. SUPPORTED, if agreement and ranking are both SUPPORTED, sensitivity is not
       NOT SUPPORTED, and the model was shown to use its attention at all: necessity or
       sensitivity is SUPPORTED. Weights that mark the right words while nothing reads them
       explain nothing.
    4. INCONCLUSIVE otherwise; in particular where agreement or ranking was not measured or
       is unusable, or where sensitivity contradicts the two.

    Exclusivity and stability are reported and never decide; plausibility is another question.
    """
    decision = {each.property: each.decision for each in statements}
    pair = [decision.get(name) for name in ("agreement", "ranking")]
    if decision.get("necessity") is Decision.NOT_SUPPORTED:
        return Decision.NOT_NEEDED
    if Decision.NOT_SUPPORTED in pair:
        return Decision.NOT_SUPPORTED
    both = all(each is Decision.SUPPORTED for each in pair)
    used = [decision.get(name) for name in ("necessity", "sensitivity")]
    if both and used[1] is not Decision.NOT_SUPPORTED and Decision.SUPPORTED in used:
        return Decision.SUPPORTED
    return Decision.INCONCLUSIVE


def headline(decision: Decision, statements: Sequence[Statement], name: str) -> str:
    """The verdict as a sentence that says no more than the decision does."""
    by_name = {each.property: each for each in statements}
    if decision is Decision.NOT_NEEDED:
        return f"{name} is not needed here: these data cannot say whether it explains."
    if decision is Decision.SUPPORTED:
        return f"{name} explains these predictions, as far as was measured.{_unproven(by_name)}"
    if decision is Decision.NOT_SUPPORTED:
        against = [n for n in ("agreement", "ranking") if _is(by_name, n, Decision.NOT_SUPPORTED)]
        return f"{name} does not explain these predictions ({' and '.join(against)})."
    return f"undecided whether {name} explains these predictions: {_open(by_name)}."


def _unproven(by_name: Mapping[str, Statement]) -> str:
    if _is(by_name, "necessity", Decision.SUPPORTED):
        return ""
    return " Whether the model needs it was not shown."


def _open(by_name: Mapping[str, Statement]) -> str:
    names = ("agreement", "ranking")
    missing = [n for n in names if not _is(by_name, n, Decision.SUPPORTED)]
    if not missing:
        return "it orders words well, but that the model uses it was not shown"
    said = {n: by_name[n].decision.lower() if n in by_name else "not measured" for n in missing}
    return ", ".join(f"{n} {text}" for n, text in said.items())


def _is(by_name: Mapping[str, Statement], name: str, decision: Decision) -> bool:
    return name in by_name and by_name[name].decision is decision
