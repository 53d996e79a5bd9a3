"""The same audit for two pretrained models."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from heedful.report import Picture, Row, number
from heedful.report.figures.dots import Panel
from heedful.verdict import EFFECTS
from paper_tables.findings.evidence import (
    AUDITS,
    CHECKPOINTS,
    MINILM,
    Evidence,
    Finding,
    Told,
    audited,
    backed,
    listed,
    of_line,
    said,
    sentence,
)

PROPERTIES = {
    "use": "how far the answer moves with uniform or permuted weights",
    "importance": "how near its order of words is to that by how much they matter",
    "baseline": "how much more it finds than word frequency or position do",
    "agreement": "how near its order of words is to that of two measures of importance",
    "exclusivity": "how far off attention with the same answer is at least, one being furthest",
}
"""The order in which they are told."""
DECISIONS = {
    "SUPPORTED": "yes",
    "NOT SUPPORTED": "no",
    "INCONCLUSIVE": "cannot be told",
    "UNUSABLE": "cannot be measured here",
    "NOT MEASURED": "was not measured",
    "REPORTED": "not judged",
}
SPELLED = {0.67: "two thirds", 0.5: "a half", 0.02: "two hundredths", 0.0: "zero"}
OVERALL, UNUSABLE = "overall", "UNUSABLE"
FACTS = ("accuracy", "majority")


def tell(evidence: Evidence) -> Told | None:
    table = evidence.of_audits("verdict", OVERALL, *PROPERTIES)
    table = table[table["weights"].isin(CHECKPOINTS)]
    chosen = list(_largest(table))
    if not chosen:
        return None
    facts = evidence.of_audits("fact", *FACTS)
    told = [sentence(f"{_said(lines)}{_good(facts, lines)}") for lines in chosen]
    sentences = [_asked(), *told, *_missing(chosen)]
    backing = backed(
        AUDITS,
        kind=("verdict", "fact"),
        weights=tuple(str(lines["weights"].iloc[0]) for lines in chosen),
    )
    return Told(tuple(sentences), _picture(chosen), (backing,))


def _largest(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Of each model and data the audit in which most properties were measured, then of most
    texts."""
    for _, part in table.groupby(["weights", "data"], sort=True):
        runs = part.groupby("run", sort=True)
        sizes = {run: (int(own["mean"].count()), int(own["n"].max())) for run, own in runs}
        best = max(sizes, key=lambda run: (*sizes[run], run))
        if sizes[best][0]:
            yield part[part["run"] == best]


def _asked() -> str:
    parts = [f"{name} ({words})" for name, words in PROPERTIES.items()]
    return sentence(
        f"the audit asks for {', '.join(parts)}; importance and agreement go from zero (a random "
        "order) to one (the best that can be expected). [Its rule](audit.md) holds "
        f"{_held()}, and leaves exclusivity open. Brackets of what decides hold together. "
        "Importance is decided only by two ways (operators) of taking words away"
    )


def _held() -> str:
    """What each property is held against: the smallest effect of interest."""
    held: dict[str, list[str]] = {}
    for name in PROPERTIES:
        if name in EFFECTS:
            held.setdefault(SPELLED[EFFECTS[name]], []).append(name)
    return ", ".join(f"{listed(names)} against {effect}" for effect, names in held.items())


def _said(lines: pd.DataFrame) -> str:
    rows = lines[lines["mean"].notna() | (lines["decision"] == UNUSABLE)].iterrows()
    known = {str(line["measure"]): _judged(line) for _, line in rows}
    parts = [f"{name} {known[name]}" for name in PROPERTIES if name in known]
    missing = [name for name in PROPERTIES if name not in known]
    parts += [f"not measured: {listed(missing)}"] if missing else []
    first = lines.iloc[0]
    overall = lines[lines["measure"] == OVERALL].iloc[0]
    return (
        f"{audited(first)} ({first['texts']} texts): {'; '.join(parts)}. Should attention "
        f"be shown as an explanation? By the audit's rule: {_decided(overall)}"
    )


def _judged(line: pd.Series) -> str:
    """The number and its decision, if there is one, and what stood in the way of another."""
    why = str(line["why"]).rstrip(".")
    if pd.isna(line["mean"]):
        return why or _decided(line)
    stated = f"{said(of_line(line))}: {_decided(line)}"
    return f"{stated} ({why})" if why else stated


def _good(facts: pd.DataFrame, lines: pd.DataFrame) -> str:
    """How often the model is right on these texts: what does not work cannot be explained."""
    own = facts[facts["run"] == lines["run"].iloc[0]]
    known = {str(line["measure"]): float(line["mean"]) for _, line in own.iterrows()}
    if not all(name in known for name in FACTS):
        return ""
    right, most = (f"{number(100 * known[name], 1)}%" for name in FACTS)
    return f". It is right on {right} of these texts, where the commonest class is {most}"


def _missing(chosen: list[pd.DataFrame]) -> list[str]:
    there = {CHECKPOINTS[str(lines["weights"].iloc[0])] for lines in chosen}
    names = [name for name in dict.fromkeys(CHECKPOINTS.values()) if name not in there]
    return [sentence(f"not measured yet: {listed(names)}")] if names else []


def _decided(line: pd.Series) -> str:
    return DECISIONS[str(line["decision"])]


def _picture(chosen: list[pd.DataFrame]) -> Picture:
    panels = []
    for name, words in PROPERTIES.items():
        rows = tuple(_rows(chosen, name))
        if rows:
            panels.append(Panel(f"{name[0].upper()}{name[1:]}", words, rows))
    return Picture("The properties of two pretrained models' attention", ("",), tuple(panels))


def _rows(chosen: list[pd.DataFrame], name: str) -> Iterator[Row]:
    for lines in chosen:
        own = lines[(lines["measure"] == name) & lines["mean"].notna()]
        for _, line in own.iterrows():
            yield Row(audited(line), (("", of_line(line)),))


FINDING = Finding(
    name="pretrained",
    title="Is it any different for pretrained Transformers?",
    question=(
        "MiniLM is a small reader of the BERT kind, fine-tuned on film reviews; SmolLM2 is a small "
        "language model that is asked for the next word after the review, untrained for the task. "
        "Both are put to the same audit: should the attention of their last layer be shown as an "
        "explanation of what they answer?"
    ),
    limits=(
        "Bounds are one-sided, each wrong once in twenty times, and over texts alone: there is "
        "one checkpoint of each. Only the last layer, averaged over its heads, is on trial."
    ),
    commands=(
        MINILM,
        "heedful audit RUN/hf sst --quick --n 300 "
        "--explanations attention,gradient,occlusion,integrated_gradients",
        'heedful audit .pretrained/smollm2 sst --label-words "positive= positive,negative= '
        "negative\" --template $'Review: {text}\\nSentiment:' --quick --n 300 "
        "--explanations attention,gradient,occlusion,integrated_gradients",
    ),
    tell=tell,
)
