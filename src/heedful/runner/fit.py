"""Whether a probe fits a model and its data; what does not is skipped, and says why."""

from __future__ import annotations

from collections.abc import Callable

from heedful.data import has_forbidden
from heedful.errors import unknown_name
from heedful.experiments import PROBES, Evidence
from heedful.specs import ProbeSpec

Need = Callable[[Evidence], bool]


def unfit(name: str, evidence: Evidence) -> str | None:
    """Why a probe does not apply, or None."""
    return _lacking(PROBES[name].needs, evidence)


def fitting_roles(probe: ProbeSpec, evidence: Evidence) -> list[str]:
    """The other models that a probe can have: what a role lacks is no reason to skip it all."""
    roles = PROBES[probe.name].roles(**probe.params)
    return [name for name, role in roles.items() if _lacking(role.needs, evidence) is None]


def _lacking(needs: tuple[str, ...], evidence: Evidence) -> str | None:
    for need in needs:
        if need not in NEEDS:
            raise unknown_name("need of a probe", need, list(NEEDS))
        fulfilled, reason = NEEDS[need]
        if not fulfilled(evidence):
            return reason
    return None


def _aligned(evidence: Evidence) -> bool:
    return evidence.whole is not None and evidence.whole.alignments is not None


def _marked(evidence: Evidence) -> bool:
    return any(marks is not None for marks in evidence.data.sides["a"].rationales)


def _forbids(evidence: Evidence) -> bool:
    split = evidence.whole if evidence.task == "generation" else evidence.data
    return split is not None and has_forbidden(split)


NEEDS: dict[str, tuple[Need, str]] = {
    "linear": (
        lambda evidence: all(site.linear for site in evidence.sites),
        "it needs a decoder that is linear in the attention weights",
    ),
    "tokens": (
        lambda evidence: all(site.level == "tokens" for site in evidence.sites),
        "it needs attention over tokens, and this model's last attention is over sentences",
    ),
    "normalised": (
        lambda evidence: all(site.normalised for site in evidence.sites),
        "it needs weights that sum to 1, and this model has a gate",
    ),
    "classes": (
        lambda evidence: evidence.task == "classification",
        "it needs a corpus with classes, and this one is for generation",
    ),
    "generation": (
        lambda evidence: evidence.task == "generation",
        "it needs a corpus for generation",
    ),
    "several sites": (
        lambda evidence: len(evidence.models["base"].sites) > 1,
        "it needs a model with several attention sites",
    ),
    "alignment": (_aligned, "it needs a corpus with gold alignments"),
    "rationales": (_marked, "it needs a corpus with rationales"),
    "impermissible": (
        _forbids,
        "it needs a corpus with impermissible tokens: name them (--param impermissible=…)",
    ),
    "marked words": (
        lambda evidence: evidence.data.sides["a"].impermissible is not None,
        "it needs a corpus with impermissible words: name them (--param impermissible=…)",
    ),
    "training": (
        lambda evidence: evidence.training is not None,
        "it needs the training split, to learn from",
    ),
}
