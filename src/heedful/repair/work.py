"""What is to be trained, audited and compared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from heedful.auditing import ATTENTION, IMPORTANCE, AuditSpec
from heedful.corpora import Prepared, prepare
from heedful.errors import HeedfulError, unknown_name
from heedful.progress import Progress, silent
from heedful.repair.entrants import entrants
from heedful.repair.methods import check_methods, unfit
from heedful.runner import Grid, corpus_kind, grid
from heedful.specs import CorpusSpec, ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Store
from heedful.studies import Setting, Study
from heedful.verdict import Settings

SPEC = AuditSpec(
    explanations=(ATTENTION, *IMPORTANCE),
    only=("interventions", "agreement", "importance", "plausibility", "exclusivity"),
)
"""All that the properties of attention need, and no more."""
SCORED = ProbeSpec("score")
SCORES = ("accuracy", "f1", "roc_auc")


@dataclass(frozen=True)
class Work:
    """`texts` of the test split are audited, the same for every model; `within` is how much of
    the `score` the chosen model may lose."""

    corpus: CorpusSpec
    base: ModelSpec
    methods: tuple[str, ...]
    seeds: tuple[int, ...] = (0, 1, 2)
    train: TrainSpec = field(default_factory=TrainSpec)
    spec: AuditSpec = SPEC
    settings: Settings = field(default_factory=Settings)
    texts: int = 200
    score: str = "accuracy"
    within: float = 0.03
    data_dir: Path | None = None

    def __post_init__(self) -> None:
        check_methods(list(self.methods))
        if self.score not in SCORES:
            raise unknown_name("score", self.score, list(SCORES))
        if not 0 <= self.within < 1:
            raise HeedfulError(f"--within is {self.within:g}: give a share from 0 to below 1.")
        if corpus_kind(self.corpus) == "generation":
            raise HeedfulError(
                f"{self.corpus.title} is for models that write, and an audit needs a decision: "
                f"choose a corpus with classes."
            )


@dataclass(frozen=True)
class Drawn:
    """The models by method, and the grid that trains them with every seed."""

    models: dict[str, ModelSpec]
    grid: Grid
    width: int


def draw(work: Work, store: Store, progress: Progress = silent) -> Drawn:
    """Prepares the corpus: how wide its embeddings are decides on the models."""
    corpus = prepare(work.corpus, store, work.data_dir, progress)
    data = Prepared(corpus)
    for name in work.methods:
        if reason := unfit(name, data):
            raise HeedfulError(f"{name} does not fit {work.corpus.title}: {reason}")
    width = int(data.vectors.shape[1])
    models = entrants(work.base, list(work.methods), width)
    kind = corpus_kind(work.corpus)
    setting = Setting(kind, (), tuple(models.values()), (SCORED,), work.train)
    plan = grid(
        Study("repair", 1, (setting,)),
        [work.corpus],
        seeds=list(work.seeds),
        data_dir=work.data_dir,
    )
    return Drawn(models, replace(plan, lenient=False), width)
