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
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attributions import text_site
from heedful.entries import PERCENT, RESAMPLES, SHARE, Experiment, Measure
from heedful.errors import HeedfulError, unknown_name
from heedful.experiments.evidence import Collector, Evidence, Findings, Pass, base_trace
from heedful.experiments.score import outcomes, score_table
from heedful.interventions import SEEDED, build_edit, held
from heedful.metrics import summarise, tvd
from heedful.models import Search, probabilities
from heedful.randomness import stable_hash
from heedful.types import Batch, Edit, Edits, EditSpec, Model, SiteSpec, Trace


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
    for each in evidence.passes("layers"):
        view = each.rows(site).first()
        found = _effects(each, edit, mode, evidence.seed)
        chosen = {name: values[view.example] for name, values in found.items()}
        collector.add(each, site, view, chosen)
    rows = collector.rows()
    summary = summarise(rows, evidence.seed)
    writes = evidence.task == "generation"
    scores = _written(evidence, edit, beam, resamples) if writes else _decided(summary)
    return Findings(rows, summary=pd.concat([summary, scores], ignore_index=True))


def _effects(each: Pass, edit: str, mode: str, seed: int) -> dict[str, Tensor]:
    kept = each.with_states()
    found = cumulative(each.model, each.batch, edit, mode, seed, kept.trace)
    measures = {"correct": (each.predicted == each.batch.labels).double()}
    for stack, effect in found.items():
        measures[f"tvd:{stack.name}"] = effect.tvd
        measures[f"correct:{stack.name}"] = (effect.predicted == each.batch.labels).double()
    return measures


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
    model: Model,
    batch: Batch,
    edit: str = "permute",
    mode: str = "recomputed",
    seed: int = 0,
    trace: Trace | None = None,
) -> dict[Stack, Effect]:
    """What editing each stack does. A base trace of the batch saves making it again."""
    trace = trace or base_trace(model, batch)
    return {
        stack: effect(model, batch, Intervention(edit, stack.sites, mode, seed=seed), trace)
        for stack in stacks(model.sites)
    }


# What changing attention does to the output.
#
# Changing one layer's weights changes the input of every later one. So there are two modes:
# later sites are `recomputed`, or `held` at their original weights. Neither is surgical
# (Grimsley et al. 2020): what later layers mix has changed in both.


EDITS = ("uniform", "permute")

MODES = ("recomputed", "held")


@dataclass(frozen=True)
class Intervention:
    """An edit at a `place` (`main`, `all`, the name of a site, or those of several); `draw`
    numbers the permutations."""

    edit: str
    place: str | tuple[str, ...] = "main"
    mode: str = "recomputed"
    draw: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Effect:
    """How far each output moved, and the class predicted then."""

    tvd: Float[Tensor, " b"]
    predicted: Int[Tensor, " b"]


def effect(
    model: Model, batch: Batch, intervention: Intervention, trace: Trace | None = None
) -> Effect:
    """A base trace of the batch saves making it again."""
    trace = trace or base_trace(model, batch)
    with torch.no_grad():
        changed = model.resume(batch, trace, edits_of(model, trace, intervention)).logits
    after = probabilities(changed)
    return Effect(tvd(after, probabilities(trace.logits)), after.argmax(-1))


def edits_of(model: Model, trace: Trace, intervention: Intervention) -> Edits:
    """The edits that make an intervention."""
    if intervention.mode not in MODES:
        raise unknown_name("mode", intervention.mode, list(MODES))
    edits = edits_at(model, intervention)
    return edits if intervention.mode == "recomputed" else held(model, trace, edits)


def edits_at(model: Model, intervention: Intervention) -> Edits:
    """Those at the place itself, whatever becomes of later sites."""
    names = [site.name for site in model.sites]
    return dict.fromkeys(_chosen(model, names, intervention.place), _edit(intervention))


def _chosen(model: Model, names: list[str], place: str | tuple[str, ...]) -> list[str]:
    if isinstance(place, tuple):
        return [name for each in place for name in _chosen(model, names, each)]
    if place == "main":
        return [text_site(model).name]
    if place == "all":
        return names
    if place not in names:
        raise unknown_name("place", place, ["main", "all", *names])
    return [place]


def _edit(intervention: Intervention) -> Edit:
    if intervention.edit not in EDITS:
        raise unknown_name("edit", intervention.edit, list(EDITS))
    draw = stable_hash(intervention.seed, "intervention", intervention.draw)
    return edit_named(intervention.edit, draw)


def edit_named(name: str, seed: int) -> Edit:
    """The edit, by the seed if it draws anything."""
    return build_edit(EditSpec(name, (("seed", seed),) if name in SEEDED else ()))


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
