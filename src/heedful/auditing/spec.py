"""What an audit measures. Its hash, with the model's and the data's, names the audit."""

from __future__ import annotations

from dataclasses import dataclass

from heedful.errors import HeedfulError, unknown_name

ATTENTION = "attention"
IMPORTANCE = ("occlusion", "integrated_gradients")
FLOORS = ("random", "prior")
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
"""Beside the two floors and the ceiling. LIME and SHAP on request: they cost a hundred times
as much."""


GROUPS = (
    "interventions",
    "agreement",
    "erasure",
    "plausibility",
    "exclusivity",
    "health",
    "layers",
    "heads",
)
"""What is measured; `only` some of it costs less, and the rest is "not measured"."""
EXTRA = ("importance", "sanity", "null_space", "infidelity")
"""What is measured on request: which words matter in either direction and how many of them each
explanation finds, every map of a randomised model, linear programmes per head,
every map against random sets of words and under noise (Yeh et al. 2019)."""
MAPPED = frozenset({"agreement", "erasure", "plausibility", "importance", "sanity", "infidelity"})
"""What looks at the maps of all explanations."""


@dataclass(frozen=True)
class AuditSpec:
    """`importance` are the measures attention must agree with; `operators` the ways a word is
    taken away, and a decision is made only where they agree. `ceiling` is the number of model
    runs per text that the search for the best order may spend; 0 leaves it out."""

    explanations: tuple[str, ...] = EXPLANATIONS
    importance: tuple[str, ...] = IMPORTANCE
    operators: tuple[str, ...] = ("delete", "mask")
    target: str = "probability"
    permutations: int = 20
    ceiling: int = 200
    epsilon: float = 0.01
    search_steps: int = 60
    seed: int = 0
    only: tuple[str, ...] = GROUPS

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
            raise HeedfulError("health is about measures of erasure: measure (--only) erasure too.")
        if self.target not in ("probability", "logit"):
            raise unknown_name("target of an audit", self.target, ["probability", "logit"])
        if not self.importance or not 0 <= self.epsilon < 1:
            raise HeedfulError("give at least one importance measure, and an epsilon below 1.")
        if self.permutations < 1 or self.search_steps < 1 or self.ceiling < 0:
            raise HeedfulError("give permutations and search_steps of at least 1, ceiling of 0.")
