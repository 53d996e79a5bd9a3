"""What the task loses when attention is replaced (vashishth2019, §4.1; tutek2020).

At inference the model's own weights are replaced at every site; a model trained with the
replacement (a role of its own) never had others.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from heedful.entries import PERCENT, RESAMPLES, SHARE, SIGNED, Experiment, Measure, Role
from heedful.experiments.evidence import Evidence, Findings
from heedful.experiments.outputs import edit_named
from heedful.experiments.score import Outcomes, example_rows, outcomes, score_table
from heedful.hashing import stable_hash
from heedful.metrics import summarise
from heedful.models import Search
from heedful.types import Edits

EDITS = ("uniform", "random", "permute")

TRAINED = ("uniform", "random")

CONDITIONS = (*(f"{edit}:infer" for edit in EDITS), *(f"{edit}:train+infer" for edit in TRAINED))


def substitution(
    evidence: Evidence,
    metric: str = "accuracy",
    beam: int = 1,
    resamples: int = 1000,
    trained: bool = True,
) -> Findings:
    """`score` as it is, `score:<edit>:<when>` with attention replaced, `delta:…` the change.

    Classes are scored by `metric`, accuracy or f1, as a share; targets by BLEU, from 0 to 100.
    Each example's `correct:…` less `correct` is `changed:…`, whose mean by length and confidence
    says where attention is needed. Unless `trained`, no model is trained with the replacement.
    """
    search = Search(beam)
    base = outcomes(evidence, evidence.models["base"], None, metric, search)
    found = _replaced(evidence, metric, search, TRAINED if trained else ())
    lines = [base.line("score", evidence.seed, resamples)]
    for name, other in found.items():
        lines.append(other.line(f"score:{name}", evidence.seed, resamples))
        lines.append(other.line_against(base, f"delta:{name}", evidence.seed, resamples))
    measures = {"correct": base.correct}
    for name, other in found.items():
        measures[f"correct:{name}"] = other.correct
        measures[f"changed:{name}"] = other.correct - base.correct
    rows = example_rows(evidence, "substitution", measures)
    parts = [score_table(lines, len(base.each)), summarise(rows, evidence.seed)]
    summary = pd.concat(parts, ignore_index=True)
    return Findings(rows, summary=summary, notes={"score": base.metric})


def _replaced(
    evidence: Evidence, metric: str, search: Search, roles: tuple[str, ...]
) -> dict[str, Outcomes]:
    found = {}
    for edit in EDITS:
        edits = replacing(evidence, edit)
        base = evidence.models["base"]
        found[f"{edit}:infer"] = outcomes(evidence, base, edits, metric, search)
    for role in roles:
        if role in evidence.models:
            model = evidence.models[role]
            found[f"{role}:train+infer"] = outcomes(evidence, model, None, metric, search)
    return found


def replacing(evidence: Evidence, edit: str) -> Edits:
    """The edit at every site of the base model."""
    made = edit_named(edit, stable_hash(evidence.seed, "substitution"))
    return {site.name: made for site in evidence.models["base"].sites}


def roles(trained: bool = True, **params: Any) -> dict[str, Role]:
    """The models that were trained with each replacement."""
    return {edit: Role({"train_edit": edit}) for edit in TRAINED} if trained else {}


ENTRY = Experiment(
    name="substitution",
    description="change of the task score under uniform, random or permuted attention",
    make=substitution,
    bounds={"beam": (1, 100), "resamples": RESAMPLES},
    version=2,
    paper="vashishth2019",
    roles=roles,
    measures={
        "score": Measure("the task's score: accuracy or F1 (shares), or BLEU", True, range=PERCENT),
        "correct": Measure(
            "1 where the decision (or a target's next word) is right", True, range=SHARE
        ),
        **{
            f"{kind}:{name}": Measure(words.format(name), better, signed, limits)
            for kind, words, better, signed, limits in (
                ("score", "the score, attention {}", True, False, PERCENT),
                ("delta", "its change, attention {}", None, True, (-100.0, 100.0)),
                ("correct", "1 where right, attention {}", None, False, SHARE),
                ("changed", "correct:{} less correct", None, True, SIGNED),
            )
            for name in CONDITIONS
        },
    },
    formula="delta = score with attention replaced (even, U(0, 1) normalised, permuted) − score",
    higher="of `delta…`: the task loses less without attention's own weights (0: nothing)",
    cost="a pass for each replacement, and a training for each `train+infer`",
    limits=(
        "At inference a model meets weights it never saw: a loss says that they are used, not "
        "that they explain. A model trained with the replacement is another model."
    ),
)
