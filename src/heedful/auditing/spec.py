"""What an audit measures. Its hash, with the model's and the data's, names the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heedful.entries import LN2, NOT_NEGATIVE, SHARE, SIGNED, Measure, declaration
from heedful.errors import HeedfulError, unknown_name
from heedful.experiments import (
    CANDIDATE_MEASURES,
    EDIT_MEASURES,
    ERASER_MEASURES,
    ERASURE_MEASURES,
    IMPORTANCE_MEASURES,
    INTERACTION_MEASURES,
    PLAUSIBILITY_MEASURES,
    REDUCTION_MEASURES,
    SINK_MEASURES,
    STATISTICS,
    Draws,
)

ATTENTION = "attention"
IMPORTANCE = ("occlusion", "integrated_gradients")
BASELINES = ("random", "prior", "position")
ORACLE = "search"
EXPLANATIONS = (
    ATTENTION,
    "rollout",
    "value_norm",
    "gradient_attention",
    "effective_attention",
    "gradient",
    "gradient_input",
    "integrated_gradients",
    "smoothgrad",
    "lrp",
    "attnlrp",
    "decompx",
    "occlusion",
    "occlusion:operator=mask",
)
"""Beside the floors and the ceiling. LIME and SHAP on request: they cost a hundred times
as much."""
BY_TOKEN = ("decompx",)
"""Explanations of the usual set that run a text once for each of its tokens: where units are longer
than words they would cost more than all the rest."""


EXPLAINED = ("probability", "logit", "contrast")
"""Of the predicted class. A loss falls where these rise."""
GROUPS = (
    "interventions",
    "agreement",
    "erasure",
    "importance",
    "plausibility",
    "uniqueness",
    "randomization_check",
    "layers",
    "heads",
)
"""What is measured; `only` some of it costs less, and the rest is "not measured"."""
EXTRA = (
    "map_sanity",
    "null_space",
    "head_ablation",
    "infidelity",
    "eraser",
    "candidates",
    "counterfactuals",
    "input_reduction",
    "interactions",
)
"""What is measured on request: every map of a randomised model, linear programmes per head, the
output without each head (Michel et al. 2019), every map against random sets of words and under
noise (Yeh et al. 2019), by ERASER's own definitions (DeYoung et al. 2020), by other candidates for
an unsigned measure, against the words that a revision changed (Kaushik et al. 2020), how few words
keep the prediction (Feng et al. 2018), and what pairs of words do beyond single ones."""
RENAMED = {"exclusivity": "uniqueness", "health": "randomization_check", "sanity": "map_sanity"}
"""Earlier names of groups, accepted wherever a group is named."""
ERASING = frozenset({"erasure", "importance"})
"""What takes words away. `randomization_check` does so again with a randomised model, for erasure:
importance has no measure that such a model could mislead, and only starts the search there."""
MAPPED = ERASING | {
    *("agreement", "plausibility", "map_sanity", "infidelity", "eraser", "candidates"),
    "counterfactuals",
    "input_reduction",
    "interactions",
}
"""What looks at the maps of all explanations."""


def group_name(name: str) -> str:
    """A group by its name today."""
    return RENAMED.get(name, name)


@dataclass(frozen=True)
class AuditSpec:
    """`importance` are the measures attention must agree with; `operators` the ways a word is
    taken away, over which decisions average. Texts of at most `exact` words are
    measured over all sets of words, others over `orders` of removal. `ceiling` is the number of
    model runs per text that each search for the best order of a longer text may spend; 0 leaves
    the best order out."""

    explanations: tuple[str, ...] = EXPLANATIONS
    importance: tuple[str, ...] = IMPORTANCE
    operators: tuple[str, ...] = ("delete", "mask")
    target: str = "probability"
    permutations: int = 20
    ceiling: int = 40
    orders: int = 8
    exact: int = 10
    epsilon: float = 0.01
    search_steps: int = 60
    seed: int = 0
    only: tuple[str, ...] = GROUPS

    @property
    def draws(self) -> Draws:
        return Draws(self.orders, self.exact, self.seed)

    @property
    def mapped(self) -> tuple[str, ...]:
        """The explanations whose maps are needed; attention's is always shown."""
        if MAPPED & set(self.only):
            return self.explanations
        return tuple(name for name in self.explanations if name == ATTENTION)

    def __post_init__(self) -> None:
        object.__setattr__(self, "only", tuple(map(group_name, self.only)))
        for name in self.only:
            if name not in (*GROUPS, *EXTRA):
                raise unknown_name("group of measures", name, [*GROUPS, *EXTRA])
        if "randomization_check" in self.only and "erasure" not in self.only:
            raise HeedfulError(
                "randomization_check is about measures of erasure: add erasure to --only."
            )
        if self.target not in EXPLAINED:
            raise unknown_name("target of an audit", self.target, [*EXPLAINED])
        if not self.importance or not 0 <= self.epsilon < 1:
            raise HeedfulError("give at least one importance measure, and an epsilon below 1.")
        if self.permutations < 1 or self.search_steps < 1 or self.ceiling < 0:
            raise HeedfulError("give permutations and search_steps of at least 1, ceiling of 0.")
        _ = self.draws  # refused here, and not after the model was loaded


# Every number an audit writes into its table, by the group that measures it (`--only`).


ALWAYS = "any group"
SEEDS = "--seed-model"

_ITEMS = {
    "top": "the heaviest word",
    "random": "another word at random",
    "best": "the word whose erasure moves the output most",
}
_INTERVENTIONS = {
    "correct": Measure("1 where the decision is the label; also under a change", True, range=SHARE),
    "tvd": Measure("how far the output moves under a change of attention", range=SHARE),
    "tvd_permuted": Measure(
        "median over permutations of the weights of how far the output moves",
        range=SHARE,
        papers=("jain2019",),
    ),
    **{
        f"{unit}_{item}": Measure(
            f"how far the output moves without attention on {words}",
            range=most,
            papers=("serrano2019", "lin1991") if (unit, item) == ("js", "top") else (),
        )
        for unit, most in (("js", LN2), ("tvd", SHARE))
        for item, words in _ITEMS.items()
    },
}
_ADVERSARY = ("jain2019", "lin1991")
_UNIQUENESS = {
    "jsd_same_output": Measure(
        "how far attention can move with the same output", range=LN2, papers=_ADVERSARY
    ),
    "jsd_same_output_ratio": Measure(
        "how far it can move as a share of the furthest attention there is",
        range=SHARE,
        papers=_ADVERSARY,
    ),
    "jsd_entropy_matched": Measure(
        "how far attention as peaked as the model's can be from it, same output",
        range=LN2,
        papers=_ADVERSARY,
    ),
    "reachable": Measure("1 where some attention changes the decision", range=SHARE),
}
_LAYERS = {
    "tvd_layer": Measure(
        "how far the output moves when one layer's weights do",
        range=SHARE,
        papers=("grimsley2020",),
    ),
    "tvd_stack": Measure(
        "how far the output moves when the first or last layers are shuffled",
        range=SHARE,
        papers=("vashishth2019",),
    ),
    "correct_stack": Measure(
        "1 where the decision is the label with such layers shuffled", True, range=SHARE
    ),
}
_SANITY = {
    "tau_randomised": Measure(
        "τ with the map of the model with random weights", range=SIGNED, papers=("adebayo2018",)
    ),
    "moved_by_shift": Measure(
        "how far a map moves when only the input's origin does",
        False,
        range=NOT_NEGATIVE,
        papers=("kindermans2019",),
    ),
}
_NULL_SPACE = {
    "null_space_freedom": Measure(
        "directions a head's weights can move in", range=NOT_NEGATIVE, papers=("brunner2020",)
    ),
    "null_space_jsd": Measure(
        "how far a head's weights can move with its output as it was",
        range=LN2,
        papers=("brunner2020",),
    ),
    "null_space_tvd": Measure(
        "how far the model's output moves with heads' weights moved so",
        range=SHARE,
        papers=("brunner2020",),
    ),
}
_HEAD_ABLATION = {
    "tvd_head": Measure(
        "how far the output moves without one head",
        range=SHARE,
        papers=("michel2019", "wang2023", "goldowskydill2023"),
    ),
    "drop_head": Measure(
        "how far the probability of the decision falls without one head",
        range=SIGNED,
        papers=("michel2019", "wang2023", "goldowskydill2023"),
    ),
}
_INFIDELITY = {
    "infidelity": Measure(
        "squared error of a map's sums against what taking words away does",
        False,
        range=NOT_NEGATIVE,
        papers=("yeh2019",),
    ),
    "max_sensitivity": Measure(
        "how far a map moves under a little noise",
        False,
        range=NOT_NEGATIVE,
        papers=("yeh2019",),
    ),
}
_STABILITY = {
    "tau_seeds": Measure(
        "τ of attention with that of other seeds", range=SIGNED, papers=("kendall1945",)
    ),
    "jsd_seeds": Measure(
        "how far attention is from that of other seeds", range=LN2, papers=("lin1991",)
    ),
    "jsd_seeds_ratio": Measure(
        "distance from other seeds' attention as a share of the furthest",
        range=SHARE,
        papers=("lin1991",),
    ),
}

NUMBERS: Mapping[str, Mapping[str, Measure]] = {
    "interventions": _INTERVENTIONS,
    "agreement": {
        "tau:*": Measure(
            "Kendall's τ-b over words with a measure of importance",
            True,
            True,
            SIGNED,
            papers=("kendall1945",),
        ),
        "tie_rate": Measure("share of pairs of words whose attention ties", range=SHARE),
    },
    "erasure": {
        **ERASURE_MEASURES,
        "search_gap:*": Measure(
            "how far the best order found by search is from the best of all orders, short texts",
            False,
            range=NOT_NEGATIVE,
        ),
    },
    "importance": IMPORTANCE_MEASURES,
    "plausibility": PLAUSIBILITY_MEASURES,
    "uniqueness": _UNIQUENESS,
    "layers": _LAYERS,
    "heads": {f"head_{name}": Measure(words) for name, words in STATISTICS.items()},
    "map_sanity": _SANITY,
    "null_space": _NULL_SPACE,
    "head_ablation": _HEAD_ABLATION,
    "infidelity": _INFIDELITY,
    "eraser": ERASER_MEASURES,
    "candidates": CANDIDATE_MEASURES,
    "counterfactuals": EDIT_MEASURES,
    "interactions": INTERACTION_MEASURES,
    "input_reduction": REDUCTION_MEASURES,
    ALWAYS: SINK_MEASURES,
    SEEDS: _STABILITY,
}
"""`randomization_check` measures erasure again, on a randomised model, after importance where that
is asked."""


def works(name: str) -> tuple[str, ...]:
    """The papers behind a number of an audit, whichever group measures it."""
    declared = ((measures, declaration(name, measures)) for measures in NUMBERS.values())
    papers = (measures[known].papers for measures, known in declared if known is not None)
    return tuple(dict.fromkeys(key for keys in papers for key in keys))
