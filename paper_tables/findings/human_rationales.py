"""Attention against saliency: who finds the words that people marked?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from heedful.report import Estimate, Picture, Row, estimate, plain
from heedful.report.figures.dots import Panel
from paper_tables.findings.evidence import (
    AUDITS,
    MINILM,
    ROWS,
    Evidence,
    Finding,
    Told,
    audited,
    backed,
    basis,
    directed,
    listed,
    measured,
    of_line,
    said,
    sentence,
    share,
)

MEASURE, ATTENTION = "auprc", "attention"
FLOORS = ("random", "prior", "position")
BLIND = {
    "random": "random order",
    "prior": "rarest words first",
    "position": "first words first",
}
PAPER, PROBE = "jain2019", "rationale"
INSIDE, EVEN = "mass_inside", "share_inside"


@dataclass(frozen=True)
class Marked:
    """One audit: each explanation's AUPRC, and how far it is from attention's."""

    title: str
    means: dict[str, Estimate]
    apart: dict[str, Estimate]

    @property
    def salient(self) -> list[str]:
        """Explanations that look at the model and are not attention, the best first."""
        names = [name for name in self.means if name not in (ATTENTION, *FLOORS)]
        return sorted(names, key=lambda name: -self.means[name].mean)


def tell(evidence: Evidence) -> Told | None:
    found, stories = list(_audits(evidence)), list(_stories(evidence))
    if not found:
        return None
    sentences = [line for each in found for line in _said(each)]
    sentences += [_inside(stories)] if stories else []
    backing = [backed(AUDITS, kind=("measure", "minus_attention"), measure=MEASURE)]
    if stories:
        backing.append(backed(ROWS, paper=PAPER, probe=PROBE, measure=(INSIDE, EVEN)))
    return Told(tuple(sentences), _picture(found), tuple(backing))


def _audits(evidence: Evidence) -> Iterator[Marked]:
    """Of each model and data the audit with most texts."""
    table = evidence.of_audits("measure", MEASURE)
    apart = evidence.of_audits("minus_attention", MEASURE)
    for _, part in table.groupby(["model", "weights", "data"], sort=True):
        chosen = part[part["run"] == part.sort_values(["texts", "run"])["run"].iloc[-1]]
        if ATTENTION in set(chosen["explanation"]):
            own = apart[apart["run"] == chosen["run"].iloc[0]]
            yield Marked(audited(chosen.iloc[0]), _by_name(chosen), _by_name(own))


def _by_name(lines: pd.DataFrame) -> dict[str, Estimate]:
    return {str(line["explanation"]): of_line(line) for _, line in lines.iterrows()}


def _said(found: Marked) -> Iterator[str]:
    attention = found.means[ATTENTION]
    blind = [f"{BLIND[name]} {said(found.means[name])}" for name in FLOORS if name in found.means]
    floor = f", against {listed(blind)}" if blind else ""
    yield sentence(
        f"{found.title}: attention finds the marked words with an AUPRC of {said(attention)}"
        f"{floor} ({basis(attention)})"
    )
    if not found.salient:
        return
    best = found.salient[0]
    words = ("above attention", "below attention", "which cannot be told apart from attention")
    behind = [_name(name) for name in found.salient if found.apart[name].sign < 0]
    ahead = [_name(name) for name in found.salient if found.apart[name].sign > 0]
    yield sentence(
        f"of the others {_name(best)} has the highest mean, {said(found.means[best])}, "
        f"{directed(found.apart[best], *words)}; better than attention on the same texts: "
        f"{listed(ahead) if ahead else 'none'}; worse: {listed(behind) if behind else 'none'}"
    )


def _stories(evidence: Evidence) -> Iterator[tuple[str, Estimate, Estimate]]:
    """Attention's mass on the sentences that a generated story marks, and that of even weights."""
    for place, part in evidence.places(PAPER, PROBE):
        inside, even = (measured(part, name) for name in (INSIDE, EVEN))
        if len(inside) and len(even):
            yield place.title, estimate(inside, share=True), estimate(even, share=True)


def _inside(stories: list[tuple[str, Estimate, Estimate]]) -> str:
    parts = [
        f"{share(inside)} against {share(even)} ({title}; {basis(inside)})"
        for title, inside, even in stories
    ]
    return sentence(
        "in stories it is known from how they were made which sentences decide; the share of "
        f"attention on these, against that of even weights, is {listed(parts)}"
    )


def _name(explanation: str) -> str:
    return "LRP" if explanation == "lrp" else plain(explanation)


def _picture(found: list[Marked]) -> Picture:
    panels = tuple(
        Panel(each.title, "AUPRC against the words that people marked", tuple(_rows(each)))
        for each in found
    )
    says = "How well explanations find the words that people marked"
    return Picture(says, (ATTENTION, "other explanations", "looks at no model"), panels)


def _rows(found: Marked) -> Iterator[Row]:
    kinds = {ATTENTION: ATTENTION, **dict.fromkeys(FLOORS, "looks at no model")}
    for name in sorted(found.means, key=lambda name: -found.means[name].mean):
        label = BLIND.get(name, _name(name))
        yield Row(label, ((kinds.get(name, "other explanations"), found.means[name]),))


FINDING = Finding(
    name="human-rationales",
    title="Does attention mark the words that people would mark?",
    question=(
        "For some corpora people marked the words that decide (a rationale); for SST those "
        "words are taken that people, asked about the word alone, judged as they judged the "
        "sentence. MiniLM is a small pretrained reader, of the BERT kind. Saliency methods rank "
        "words by what they do to the model's answer: how steeply it depends on a word "
        "(gradient, integrated gradients), what happens without the word (occlusion), or how "
        "much of it is handed back to the word layer by layer (LRP, layer-wise relevance "
        "propagation). Attention ranks them by weight, rollout by the weights of all layers. "
        "Whose ranking is nearer to the people's? AUPRC is the area under the precision–recall "
        "curve: one if all marked words come first, about their share of the text if the order "
        "is blind."
    ),
    limits=(
        "To be plausible to people is not to be true of the model: a model may use other words "
        "than people do, and an explanation that says so is a good one. In SST nobody marked "
        "words as reasons."
    ),
    commands=(
        MINILM,
        "heedful audit RUN/hf sst --param rationales=words --only plausibility "
        "--n 200 --explanations attention,rollout,gradient,integrated_gradients,lrp,occlusion",
        "heedful train --corpus hatexplain --limit 4000 --epochs 4",
        "heedful audit RUN --only plausibility --n 300 "
        "--explanations attention,gradient,integrated_gradients,lrp,occlusion",
    ),
    tell=tell,
)
