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
    Table,
    Told,
    audited,
    backed,
    listed,
    of_line,
    said,
    sentence,
    some_of,
)

PROPERTIES = {
    "use": "how far the answer moves with uniform or permuted weights",
    "importance": "how near its order of words is to that by how much they matter",
    "baseline": "how much more it finds than word frequency or position do",
    "agreement": "how near its order of words is to that of two measures of importance",
    "uniqueness": "how far away attention with the same answer can be at least (one: furthest)",
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
SHOWN = {
    "SUPPORTED": "attention may be shown as an explanation",
    "NOT SUPPORTED": "attention should not be shown as an explanation",
}
"""What the audit's rule says of a model; else that it cannot be told."""
HEAD = ("model and corpus", "property", "value", "supported", "examples", "trainings")
OVERALL, UNUSABLE = "overall", "UNUSABLE"
FACTS = ("accuracy", "majority")


def tell(evidence: Evidence) -> Told | None:
    table = evidence.of_audits("verdict", OVERALL, *PROPERTIES)
    table = table[table["weights"].isin(CHECKPOINTS)]
    chosen = list(_largest(table))
    if not chosen:
        return None
    facts = evidence.of_audits("fact", *FACTS)
    sentences = [*_good(facts, chosen), *_missing(chosen)]
    backing = backed(
        AUDITS,
        kind=("verdict", "fact"),
        weights=tuple(str(lines["weights"].iloc[0]) for lines in chosen),
    )
    tables = (_asked(), Table(HEAD, tuple(row for lines in chosen for row in _judged_rows(lines))))
    return Told(_answer(chosen), _picture(chosen), tables, (backing,), tuple(sentences))


def _largest(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Of each model and data the audit in which most properties were measured, then of most
    examples."""
    for _, part in table.groupby(["weights", "data"], sort=True):
        runs = part.groupby("run", sort=True)
        sizes = {run: (int(own["mean"].count()), int(own["n"].max())) for run, own in runs}
        best = max(sizes, key=lambda run: (*sizes[run], run))
        if sizes[best][0]:
            yield part[part["run"] == best]


def _answer(chosen: list[pd.DataFrame]) -> str:
    """What the audit's rule says of which models."""
    by_words: dict[str, list[str]] = {}
    for lines in chosen:
        overall = lines[lines["measure"] == OVERALL].iloc[0]
        words = SHOWN.get(str(overall["decision"]), "that cannot be told")
        by_words.setdefault(words, []).append(audited(lines.iloc[0]))
    everything = [title for titles in by_words.values() for title in titles]
    told = [f"{words} for {some_of(titles, everything)}" for words, titles in by_words.items()]
    return sentence(f"by the audit's rule, {'; '.join(told)}")


def _asked() -> Table:
    """What each property is, and the smallest effect of interest that it is held against."""
    held = {name: SPELLED[EFFECTS[name]] if name in EFFECTS else "none" for name in PROPERTIES}
    rows = tuple((name, words, held[name]) for name, words in PROPERTIES.items())
    return Table(("property", "how it is measured", "threshold"), rows)


def _judged_rows(lines: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """The number and its decision, if there is one, and what stood in the way of another."""
    title = audited(lines.iloc[0])
    known = {str(line["measure"]): line for _, line in lines.iterrows()}
    for name in PROPERTIES:
        line = known.get(name)
        if line is None or (pd.isna(line["mean"]) and line["decision"] != UNUSABLE):
            yield title, name, "", DECISIONS["NOT MEASURED"], "", ""
            continue
        value = "" if pd.isna(line["mean"]) else said(of_line(line))
        why = str(line["why"]).rstrip(".")
        decision = why if why and not value else _decided(line)
        decision = f"{decision} ({why})" if why and value else decision
        yield title, name, value, decision, str(line["texts"]), str(line["seeds"])


def _good(facts: pd.DataFrame, chosen: list[pd.DataFrame]) -> Iterator[str]:
    """How often a model is right on these examples: what does not work cannot be explained."""
    for lines in chosen:
        own = facts[facts["run"] == lines["run"].iloc[0]]
        known = {str(line["measure"]): float(line["mean"]) for _, line in own.iterrows()}
        if all(name in known for name in FACTS):
            right, most = (f"{number(100 * known[name], 1)}%" for name in FACTS)
            yield sentence(
                f"{audited(lines.iloc[0])} is right on {right} of these examples, where the most "
                f"common class makes up {most}"
            )


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
        "Both models were put to the same audit: should the attention of their last layer be shown "
        "as an explanation of what they answer? MiniLM was fine-tuned on film reviews. SmolLM2 is "
        "asked for the next word after the review. [The audit's rule](audit.md) holds four "
        "properties against a threshold and leaves uniqueness open. Importance and agreement go "
        "from zero (a random order) to one (the best that can be expected)."
    ),
    limits=(
        "Intervals of the properties hold jointly. Their bounds are one-sided, each wrong once in "
        "twenty times, and over examples alone: there is one checkpoint of each model. Importance "
        "is decided by only two ways of perturbing words. Only the last layer, averaged over its "
        "heads, is on trial."
    ),
    commands=(
        MINILM,
        "heedful audit RUN/hf sst --quick --all --n 300 "
        "--explanations attention,gradient,occlusion,integrated_gradients",
        'heedful audit .pretrained/smollm2 sst --label-words "positive= positive,negative= '
        "negative\" --template $'Review: {text}\\nSentiment:' --quick --all --n 300 "
        "--explanations attention,gradient,occlusion,integrated_gradients",
    ),
    tell=tell,
)
