"""How many decisions of a corpus no attention can change."""

from __future__ import annotations

from heedful.report import Estimate, Picture, Row, estimate
from heedful.report.figures.dots import Panel
from heedful.reproduction.findings.evidence import Evidence, measured
from heedful.reproduction.findings.finding import ROWS, Finding, Told, backed
from heedful.reproduction.findings.words import basis, listed, sentence, share

PAPER, PROBE, MEASURE = "jain2019", "reachability", "fixed"
HALF = 0.5


def tell(evidence: Evidence) -> Told | None:
    parts = [
        (place.title, measured(part, MEASURE)) for place, part in evidence.places(PAPER, PROBE)
    ]
    found = {title: estimate(lines, share=True) for title, lines in parts if len(lines)}
    if not found:
        return None
    rows = tuple(Row(title, (("fixed", each),)) for title, each in found.items())
    panel = Panel(
        "Decisions that no attention can change", "per cent of the test texts", rows, scale=100.0
    )
    backing = backed(ROWS, paper=PAPER, probe=PROBE, measure=MEASURE)
    says = "Share of decisions that no attention can change, by corpus and model"
    return Told((_shares(found), _most(found)), Picture(says, ("fixed",), (panel,)), (backing,))


def _shares(found: dict[str, Estimate]) -> str:
    parts = [f"{share(each)} for {title} ({basis(each)})" for title, each in found.items()]
    return sentence(f"of the test decisions no attention whatever can change {listed(parts)}")


def _most(found: dict[str, Estimate]) -> str:
    """Which side of a half, by the intervals."""
    sides = {
        "for most texts some attention would have changed the decision": [
            title for title, each in found.items() if each.high < HALF
        ],
        "for most texts the decision was made before attention": [
            title for title, each in found.items() if each.low > HALF
        ],
        "it cannot be told on which side of a half the share lies": [
            title for title, each in found.items() if each.low <= HALF <= each.high
        ],
    }
    told = [f"{phrase} ({listed(titles)})" for phrase, titles in sides.items() if titles]
    return sentence(f"so {'; '.join(told)}")


FINDING = Finding(
    name="fixed-decisions",
    title="Which decisions can attention change at all?",
    question=(
        "If each single word, given all the weight, leads to the same decision, then so does "
        "every mixture of them: on such texts attention decides nothing. How many are there?"
    ),
    limits=(
        "A decision that some attention could change need not hang on the attention the model "
        "has. It is known only for models whose last step is linear, which those of stories with "
        "questions (bAbI) have not, and an encoder that mixes words beforehand may have put the "
        "decision into every one of them."
    ),
    commands=(
        "heedful study jain2019 --corpora sst,20news --probes score,reachability --seeds 5",
        "heedful study jain2019 --corpora imdb --probes score,reachability --seeds 3",
    ),
    tell=tell,
)
