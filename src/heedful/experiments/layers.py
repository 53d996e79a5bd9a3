"""What permuting attention layer after layer does (vashishth2019, §4.3).

Layers of one kind (the encoder's, the decoder's own, the decoder's on the source) are taken
together, from the first on and from the last on. By default attention that is not edited is
recomputed; `mode=held` leaves it at its original weights. Neither is surgical.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pandas as pd

from heedful.entries import PERCENT, RESAMPLES, SHARE, Experiment, Measure
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Collector, Evidence, Findings, ForwardBatch
from heedful.experiments.outputs import Effect, Intervention, edits_at, effect
from heedful.experiments.score import outcomes, score_table
from heedful.metrics import summarise
from heedful.models import Search
from heedful.types import SiteSpec


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


# Changing attention layer by layer (vashishth2019, §4.3).
#
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


ENTRY = Experiment(
    name="layers",
    description="the output and the score as attention is permuted layer after layer",
    make=layers,
    bounds={"beam": (1, 100), "resamples": RESAMPLES},
    version=2,
    paper="vashishth2019",
    needs=("several sites",),
    measures={
        "score": Measure("accuracy (a share) or BLEU", True, range=PERCENT),
        "correct": Measure(
            "1 where the decision (or a target's next word) is right", True, range=SHARE
        ),
        "tvd:*": Measure("change of the output, so many layers of a kind edited", range=SHARE),
        "correct:*": Measure("1 where right, so many layers of a kind edited", range=SHARE),
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
