"""What an audit measures. Its hash, with the model's and the data's, names the audit."""

from __future__ import annotations

from dataclasses import dataclass

from heedful.errors import HeedfulError, unknown_name
from heedful.experiments import Draws

ATTENTION = "attention"
IMPORTANCE = ("occlusion", "integrated_gradients")
FLOORS = ("random", "prior", "position")
CEILING = "search"
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
    "occlusion",
    "occlusion:operator=mask",
)
"""Beside the floors and the ceiling. LIME and SHAP on request: they cost a hundred times
as much."""


GROUPS = (
    "interventions",
    "agreement",
    "erasure",
    "importance",
    "plausibility",
    "exclusivity",
    "health",
    "layers",
    "heads",
)
"""What is measured; `only` some of it costs less, and the rest is "not measured"."""
EXTRA = ("sanity", "null_space", "infidelity", "eraser", "candidates")
"""What is measured on request: every map of a randomised model, linear programmes per head,
every map against random sets of words and under noise (Yeh et al. 2019), by ERASER's own
definitions (DeYoung et al. 2020), and by other candidates for an unsigned measure."""
ERASING = frozenset({"erasure", "importance"})
"""What takes words away. `health` does so again with a randomised model, for erasure: importance
has no measure that such a model could mislead, and only starts the search there."""
MAPPED = ERASING | {"agreement", "plausibility", "sanity", "infidelity", "eraser", "candidates"}
"""What looks at the maps of all explanations."""


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
        for name in self.only:
            if name not in (*GROUPS, *EXTRA):
                raise unknown_name("group of measures", name, [*GROUPS, *EXTRA])
        if "health" in self.only and "erasure" not in self.only:
            raise HeedfulError("health is about measures of erasure: add erasure to --only.")
        if self.target not in ("probability", "logit"):
            raise unknown_name("target of an audit", self.target, ["probability", "logit"])
        if not self.importance or not 0 <= self.epsilon < 1:
            raise HeedfulError("give at least one importance measure, and an epsilon below 1.")
        if self.permutations < 1 or self.search_steps < 1 or self.ceiling < 0:
            raise HeedfulError("give permutations and search_steps of at least 1, ceiling of 0.")
        _ = self.draws  # refused here, and not after the model was loaded
