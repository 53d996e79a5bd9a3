"""What a reader must know before believing a number, by the probes it came from."""

from __future__ import annotations

from typing import NamedTuple

from heedful.report.evidence import Evidence


class Limit(NamedTuple):
    """Said where one of the probes was run; where it names none, always."""

    probes: frozenset[str]
    title: str
    text: str


LIMITS = (
    Limit(
        frozenset({"permutation", "adversarial", "erasure", "flips", "importance_sets"}),
        "Interventions hold the states fixed",
        "Shuffled, erased or adversarial weights are applied to the hidden states of the original "
        "run. No training produced them, and a trained model might never.",
    ),
    Limit(
        frozenset({"correlation"}),
        "Erasure leaves the training distribution",
        "A text without one of its words may be unlike anything the model has seen; its effect is "
        "not only the word’s importance.",
    ),
    Limit(
        frozenset({"adversarial"}),
        "Exact adversaries saturate with length",
        "The largest possible distance nears its maximum on long texts whatever the model, mostly "
        "with all weight on one or two words. Read it beside the equally spread-out one.",
    ),
    Limit(
        frozenset({"correlation"}),
        "A significant fraction measures length",
        "On long texts a tiny τ is already significant. It is printed because the paper prints "
        "it; read τ itself and the quarters of length.",
    ),
    Limit(
        frozenset({"correlation"}),
        "τ has a ceiling below 1",
        "Gradients and leaving out do not agree fully with each other either. Low τ alone does "
        "not show that attention is wrong.",
    ),
    Limit(
        frozenset({"importance_sets"}),
        "Decisions that never flip are kept",
        "They are counted as not yet flipped, for every ranking on the same texts. Removing "
        "everything is not counted as a flip.",
    ),
    Limit(
        frozenset({"substitution"}),
        "Replaced attention may take away an input",
        "Where the second text reaches the prediction through attention alone, uniform weights "
        "remove it; a fall of the score then shows that, not that the weights explain.",
    ),
    Limit(
        frozenset({"layers"}),
        "Permuting a layer changes all later ones",
        "Later attention is recomputed from changed states unless it is held at its old weights; "
        "neither isolates a layer.",
    ),
    Limit(
        frozenset({"detector"}),
        "A flag is about the tokens that were named",
        "It compares attention and importance on those tokens only, and says that attention hides "
        "what the model relies on, not that somebody meant it to.",
    ),
    Limit(
        frozenset(),
        "Intervals",
        "With one seed they are bootstrap intervals over texts and say nothing about another "
        "training run; with several, Student’s t over seeds. ± is the spread between texts.",
    ),
)


def limits(evidence: Evidence) -> list[Limit]:
    """Those that concern the probes found."""
    found = set(evidence.cells["probe"])
    return [limit for limit in LIMITS if not limit.probes or limit.probes & found]
