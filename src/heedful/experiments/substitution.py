"""What the task loses when attention is replaced, everywhere or layer after layer.

At inference the model's own weights are replaced at every site (vashishth2019, §4.1; tutek2020); a
model trained with the replacement (a role of its own) never had others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.entries import PERCENT, RESAMPLES, SHARE, SIGNED, Experiment, Measure, Role, share
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Collector, Evidence, Findings, ForwardBatch
from heedful.experiments.outputs import Effect, Intervention, edit_named, edits_at, effect
from heedful.experiments.score import Outcomes, example_rows, outcomes, score_table
from heedful.hashing import stable_hash
from heedful.metrics import summarise
from heedful.models import Search
from heedful.types import Edits, SiteSpec

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


def _trained(trained: bool = True, **params: Any) -> dict[str, Role]:
    """The models that were trained with each replacement."""
    return {edit: Role({"train_edit": edit}) for edit in TRAINED} if trained else {}


SUBSTITUTION = Experiment(
    name="substitution",
    description="change of the task score under uniform, random or permuted attention",
    make=substitution,
    bounds={"beam": (1, 100), "resamples": RESAMPLES},
    version=2,
    paper="vashishth2019",
    roles=_trained,
    measures={
        "score": Measure("the task's score: accuracy or F1 (shares), or BLEU", True, range=PERCENT),
        "correct": share("1 where the decision (or a target's next word) is right", True),
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


# Attention permuted layer after layer (vashishth2019, §4.3).
#
# Layers of one kind (the encoder's, the decoder's own, the decoder's on the source) are taken
# together, from the first on and from the last on. By default attention that is not edited is
# recomputed; `mode=held` leaves it at its original weights. Neither is surgical.


def layers(
    evidence: Evidence,
    edit: str = "permute",
    mode: str = "recomputed",
    beam: int = 1,
    resamples: int = 1000,
) -> Findings:
    """TVD of each example's output, and the task's score, after every number of layers."""
    if evidence.task == "generation" and mode != "recomputed":
        raise HeedfulError("what a model writes has no original weights: use mode=recomputed.")
    collector, site = Collector(evidence.data.ids), evidence.sites[0]
    for forward in evidence.passes("layers"):
        view = forward.rows(site).first()
        measures = {"correct": (forward.predicted == forward.batch.labels).double()}
        changed = cumulative(forward.with_states(), edit, mode, evidence.seed)
        for stack, after in changed.items():
            measures[f"tvd:{stack.name}"] = after.tvd
            measures[f"correct:{stack.name}"] = (after.predicted == forward.batch.labels).double()
        chosen = {name: values[view.example] for name, values in measures.items()}
        collector.add(forward, site, view, chosen)
    rows = collector.rows()
    summary = summarise(rows, evidence.seed)
    writes = evidence.task == "generation"
    scores = _written(evidence, edit, beam, resamples) if writes else _decided(summary)
    return Findings(rows, summary=pd.concat([summary, scores], ignore_index=True))


def _decided(summary: pd.DataFrame) -> pd.DataFrame:
    """Accuracy is the mean of what is correct."""
    correct = summary["measure"].str.startswith("correct") & (summary["group"] == "all")
    names = summary["measure"].str.replace("correct", "score", n=1)
    return summary.assign(site="", measure=names)[correct]


def _written(evidence: Evidence, edit: str, beam: int, resamples: int) -> pd.DataFrame:
    """BLEU of what is written when each stack is edited at every step."""
    base, search = evidence.models["base"], Search(beam)
    found = {"score": outcomes(evidence, base, None, search=search)}
    for stack in stacks(base.sites):
        edits = edits_at(base, Intervention(edit, stack.sites, seed=evidence.seed))
        found[f"score:{stack.name}"] = outcomes(evidence, base, edits, search=search)
    lines = [one.line(name, evidence.seed, resamples) for name, one in found.items()]
    return score_table(lines, len(found["score"].each))


# Layers of one kind form a group: sites whose names differ in nothing but numbers, such as
# `decoder.0.cross` and `decoder.1.cross`. So it works for any model, also inside `attach`.


# `encoder.3`, `layer3`, and `attention#3`: the third call of one module
_NUMBER = re.compile(r"\.\d+(?=\.|#|$)|^\d+\.|#\d+$|(?<=\w)\d+(?=\.|#|$)")


@dataclass(frozen=True)
class Stack:
    """Some layers of a group: so many from one `end`, `first` or `last`."""

    group: str
    end: str
    sites: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.group}:{self.end}={len(self.sites)}"


def group_of(site: str) -> str:
    """The name without the numbers of layers."""
    return _NUMBER.sub("", site)


def groups(sites: Iterable[SiteSpec]) -> dict[str, tuple[str, ...]]:
    """The sites of each group in the order in which they are computed."""
    found: dict[str, list[str]] = {}
    for site in sites:
        found.setdefault(group_of(site.name), []).append(site.name)
    return {group: tuple(names) for group, names in found.items()}


def stacks(sites: Iterable[SiteSpec]) -> Iterator[Stack]:
    """Of each group the first one, two, … layers, and the last ones; all of them once."""
    for group, names in groups(sites).items():
        for count in range(1, len(names) + 1):
            yield Stack(group, "first", names[:count])
        for count in range(1, len(names)):
            yield Stack(group, "last", names[-count:])


def cumulative(
    forward: ForwardBatch, edit: str = "permute", mode: str = "recomputed", seed: int = 0
) -> dict[Stack, Effect]:
    """What editing each stack does."""
    return {
        stack: effect(forward, Intervention(edit, stack.sites, mode, seed=seed))
        for stack in stacks(forward.model.sites)
    }


LAYERS = Experiment(
    name="layers",
    description="the output and the score as attention is permuted layer after layer",
    make=layers,
    bounds={"beam": (1, 100), "resamples": RESAMPLES},
    version=2,
    paper="vashishth2019",
    needs=("several sites",),
    measures={
        "score": Measure("accuracy (a share) or BLEU", True, range=PERCENT),
        "correct": share("1 where the decision (or a target's next word) is right", True),
        "tvd:*": share("change of the output, so many layers of a kind edited"),
        "correct:*": share("1 where right, so many layers of a kind edited"),
        "score:*": Measure("the score, so many layers of a kind edited", range=PERCENT),
    },
    formula=(
        "TVD(p, p with the attention of the first or last l layers of a kind permuted), and the "
        "score then"
    ),
    higher=(
        "of `tvd:…`: the attention of these layers matters more; of `score…`: the task is done "
        "better"
    ),
    cost=(
        "2L − 1 runs for L layers of a kind, each from the first changed layer on; written "
        "targets once more for each"
    ),
    limits=(
        "No way is surgical: recomputed later layers read states they never met in training, "
        "held ones have weights made for other states."
    ),
)
