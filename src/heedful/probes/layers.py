"""What permuting attention layer after layer does (vashishth2019, §4.3).

Layers of one kind (the encoder's, the decoder's own, the decoder's on the source) are taken
together, from the first on and from the last on. By default attention that is not edited is
recomputed; `mode=held` leaves it at its original weights. Neither is surgical.
"""

from __future__ import annotations

import pandas as pd
from torch import Tensor

from heedful.catalogue import PERCENT, RESAMPLES, SHARE, Measure, Piece
from heedful.errors import HeedfulError
from heedful.measures import Intervention, cumulative, edits_at, stacks
from heedful.metrics import summarise
from heedful.models import Search
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings, Pass
from heedful.probes.outcomes import outcomes
from heedful.probes.score import score_table


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


PIECE = Piece(
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
