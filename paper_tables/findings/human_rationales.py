"""Attention against saliency: who finds the words that people marked?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from heedful.report import Estimate, Picture, Row, difference, estimate, plain
from heedful.report.figures.dots import Panel
from paper_tables.findings.evidence import (
    AUDITS,
    BASIS,
    MINILM,
    ROWS,
    Evidence,
    Finding,
    Table,
    Told,
    audited,
    backed,
    basis,
    listed,
    measured,
    of_line,
    said,
    sentence,
    share,
    some_of,
    tallied,
)

MEASURE, ATTENTION = "auprc", "attention"
FLOORS = ("random", "prior", "position")
BLIND = {
    "random": "random order",
    "prior": "rarest words first",
    "position": "first words first",
}
PAPER, PROBE = "jain2019", "rationale"
INSIDE, UNIFORM = "mass_inside", "share_inside"


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


@dataclass(frozen=True)
class Story:
    """Attention's mass on the sentences that decide a generated story, and that of uniform
    weights."""

    title: str
    inside: Estimate
    uniform: Estimate
    apart: Estimate


def tell(evidence: Evidence) -> Told | None:
    found, stories = list(_audits(evidence)), list(_stories(evidence))
    if not found:
        return None
    tables = [_table(found)]
    sentences = [_compared(each) for each in found]
    if stories:
        tables.append(_inside(stories))
        signs = {each.title: each.apart.sign for each in stories}
        words = (
            "more attention than uniform weights give",
            "less",
            "neither clearly more nor less",
        )
        sentences.append(
            sentence(f"the sentences that decide a story get {tallied(signs, *words)}")
        )
    backing = [backed(AUDITS, kind=("measure", "minus_attention"), measure=MEASURE)]
    if stories:
        backing.append(backed(ROWS, paper=PAPER, probe=PROBE, measure=(INSIDE, UNIFORM)))
    return Told(_answer(found), _picture(found), tuple(tables), tuple(backing), tuple(sentences))


def _audits(evidence: Evidence) -> Iterator[Marked]:
    """Of each model and data the audit with most examples."""
    table = evidence.of_audits("measure", MEASURE)
    apart = evidence.of_audits("minus_attention", MEASURE)
    for _, part in table.groupby(["model", "weights", "data"], sort=True):
        chosen = part[part["run"] == part.sort_values(["texts", "run"])["run"].iloc[-1]]
        if ATTENTION in set(chosen["explanation"]):
            own = apart[apart["run"] == chosen["run"].iloc[0]]
            yield Marked(audited(chosen.iloc[0]), _by_name(chosen), _by_name(own))


def _by_name(lines: pd.DataFrame) -> dict[str, Estimate]:
    return {str(line["explanation"]): of_line(line) for _, line in lines.iterrows()}


def _answer(found: list[Marked]) -> str:
    """Against what looks at no model, and against the other explanations, by the intervals."""
    titles = [each.title for each in found]
    above = [each.title for each in found if _beats_blind(each)]
    ahead = [each.title for each in found if _by_sign(each, 1)]
    chance = "it beats chance for" if above else "it clearly beats chance for no model"
    first = f"{chance} {some_of(above, titles)}" if above else chance
    last = (
        f"another explanation beats it for {some_of(ahead, titles)}"
        if ahead
        else "no other explanation clearly beats it"
    )
    return sentence(f"{first}; {last}")


def _beats_blind(found: Marked) -> bool:
    signs = [found.apart[name].sign for name in FLOORS if name in found.apart]
    return bool(signs) and all(sign < 0 for sign in signs)


def _by_sign(found: Marked, sign: int) -> list[str]:
    return [_name(name) for name in found.salient if _sign(found, name) == sign]


def _sign(found: Marked, name: str) -> int:
    return found.apart[name].sign if name in found.apart else 0


def _compared(found: Marked) -> str:
    if not found.salient:
        return sentence(f"{found.title}: no other explanation was measured")
    phrases = {
        1: ("does better", "do better"),
        -1: ("does worse", "do worse"),
        0: ("cannot be told apart", "cannot be told apart"),
    }
    parts = []
    for sign, (one, several) in phrases.items():
        names = _by_sign(found, sign)
        if names:
            parts.append(f"{listed(names)} {one if len(names) == 1 else several}")
    return sentence(f"against attention, for {found.title}: {'; '.join(parts)}")


def _table(found: list[Marked]) -> Table:
    head = ("model and corpus", "explanation", "AUPRC", "minus that of attention", *BASIS)
    rows = []
    for each in found:
        for name in sorted(each.means, key=lambda name: -each.means[name].mean):
            mean = each.means[name]
            apart = said(each.apart[name]) if name in each.apart else ""
            label = BLIND.get(name, _name(name))
            rows.append((each.title, label, said(mean), apart, *basis(mean)))
    return Table(head, tuple(rows))


def _stories(evidence: Evidence) -> Iterator[Story]:
    for place, part in evidence.places(PAPER, PROBE):
        inside, uniform = (measured(part, name) for name in (INSIDE, UNIFORM))
        if len(inside) and len(uniform):
            ours, theirs = (estimate(lines, share=True) for lines in (inside, uniform))
            yield Story(place.title, ours, theirs, difference(inside, uniform))


def _inside(stories: list[Story]) -> Table:
    head = ("model and corpus", "attention on the deciding sentences", "uniform weights", *BASIS)
    rows = tuple(
        (each.title, share(each.inside), share(each.uniform), *basis(each.inside))
        for each in stories
    )
    return Table(head, rows)


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
        "In some corpora people marked the words that decide (a rationale). Which explanation "
        "ranks these words first? Attention ranks words by weight, and rollout by the weights of "
        "all layers. Gradient and integrated gradients ask how steeply the answer depends on a "
        "word; occlusion replaces the word. LRP (layer-wise relevance propagation) hands the "
        "answer back to the words layer by layer. AUPRC is the area under the precision–recall "
        "curve: one if all marked words come first, about their share of the example if the order "
        "is random. In bAbI's stories it is known which sentences decide."
    ),
    limits=(
        "An explanation that people find plausible need not be true of the model. A model may use "
        "other words than people do, and a good explanation then says so. In SST nobody marked "
        "words as reasons. Its marked words are those that people, asked about the word alone, "
        "judged as they judged the sentence."
    ),
    commands=(
        MINILM,
        "heedful audit RUN/hf sst --param rationales=words --only plausibility --all "
        "--n 200 --explanations attention,rollout,gradient,integrated_gradients,lrp,occlusion",
        "heedful train --corpus hatexplain --limit 4000 --epochs 4",
        "heedful audit RUN --only plausibility --all --n 300 "
        "--explanations attention,gradient,integrated_gradients,lrp,occlusion",
    ),
    tell=tell,
)
