"""jain2019, serrano2019 and vashishth2019 in five lines each, with the lines that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.figures.curves import curves
from heedful.report.figures.erasure import RANKINGS, Removed, compared, removals
from heedful.report.formats import number
from heedful.report.summaries.wording import (
    ENOUGH,
    Finding,
    agreement,
    bleu_points,
    counted,
    ends,
    findings,
    firm_findings,
    firm_of,
    firm_or_why,
    left_out,
    percent,
    points,
    reach,
    sentence,
    share,
    span,
    texts_of,
    within,
)
from heedful.studies import CONDITIONS

ADVERSARIES = {
    "jsd_search": "a search found",
    "jsd_exact": "that exists",
    "jsd_entropy_matched": "a search among equally spread-out patterns found",
}
"""The distance a line is about, the first one measured, and how it came about."""


def jain2019(evidence: Evidence) -> list[str]:
    lines = (score_line, _gradient, _leave_one_out, permutation_line, _adversary)
    return [line(evidence.together) for line in lines]


def score_line(together: pd.DataFrame) -> str:
    majority = findings(together, "score", "majority")
    guess = "; always guessing the commonest class gives "
    guess = guess + reach(majority, percent) if majority else ""
    return sentence(
        together,
        ("score", "accuracy"),
        "How well the models predict",
        lambda firm: f"The models get {span(firm, percent)} of the test texts right{guess}.",
    )


def _gradient(together: pd.DataFrame) -> str:
    scale = "1 is the same order, 0 no relation"
    return sentence(
        together,
        ("correlation", "tau_gradient"),
        "Attention against gradients",
        lambda firm: (
            f"Attention and gradients order the words of a text {agreement(firm)} alike: "
            f"average τ {span(firm)}; {scale}."
        ),
    )


def _leave_one_out(together: pd.DataFrame) -> str:
    ceiling = firm_findings(together, "correlation", "tau_gradient_loo")
    other = " Gradients and deletion agree with each other at τ "
    other = f"{other}{reach(ceiling)}." if ceiling else ""
    return sentence(
        together,
        ("correlation", "tau_loo"),
        "Attention against leaving words out",
        lambda firm: (
            "Attention and the effect of deleting a word order the words "
            f"{agreement(firm)} alike: average τ {span(firm)}.{other}"
        ),
    )


def permutation_line(together: pd.DataFrame) -> str:
    return sentence(
        together,
        ("permutation", "tvd_median"),
        "Shuffling the attention weights",
        lambda firm: (
            "Shuffling a text's attention weights moves the predicted probability by "
            f"{span(firm)} on average (0 is no change, 1 the largest)."
        ),
    )


def _adversary(together: pd.DataFrame) -> str:
    found = {kind: findings(together, "adversarial", kind) for kind in ADVERSARIES}
    firm = {kind: firm_of(cells) for kind, cells in found.items()}
    best = next((kind for kind in ADVERSARIES if firm[kind]), None)
    if best is None:
        everything = [one for cells in found.values() for one in cells]
        line = firm_or_why("Different attention, same prediction", everything)[1]
    else:
        line = (
            "Other attention weights can give nearly the same prediction: the largest distance "
            f"{ADVERSARIES[best]} averages {span(firm[best])}, where 0.69 is the most any two "
            "patterns can differ"
        )
        matched = firm["jsd_entropy_matched"]
        if matched and best != "jsd_entropy_matched":
            line += f"; a search among patterns as spread out as the model's found {reach(matched)}"
        line += "." + left_out(found[best])
    fixed = firm_findings(together, "reachability", "fixed")
    if fixed:
        some = reach(fixed[::-1], lambda never: percent(1 - never))
        line += f" In {some} of the examples, some other attention would change the decision."
    return line


LEVEL = 0.05
"""A sign test's p-value below this, and one ranking is said to be sooner."""


def serrano2019(evidence: Evidence) -> list[str]:
    together = evidence.together
    return [
        score_line(together),
        erasure_line(evidence),
        _flips(together),
        _removed(together),
        _sooner(evidence),
    ]


def erasure_line(evidence: Evidence) -> str:
    """How often a random item matters more than the heaviest, and at which weights."""
    return sentence(
        evidence.together,
        ("erasure", "negative"),
        "Erasing the heaviest item or a random one",
        lambda firm: (
            "Erasing a random item changes the output more than erasing the heaviest one "
            f"for {ends(firm, share)} of texts ({counted(firm)}){_where(evidence)}."
        ),
    )


def _where(evidence: Evidence) -> str:
    """By how much the heaviest item outweighs the random one, there and elsewhere."""
    rows = evidence.rows("erasure", ["negative", "weight_difference"])
    place = ["corpus", "label", "seed", "example", "site", "head", "query"]
    wide = rows.pivot(index=place, columns="measure", values="value").dropna()
    there, elsewhere = (wide[wide["negative"] == sign]["weight_difference"] for sign in (1, 0))
    if min(len(there), len(elsewhere)) < ENOUGH:
        return ""
    return (
        f"; there the heaviest has {number(there.median())} more weight (median of "
        f"{len(there):,} rows), elsewhere {number(elsewhere.median())} (of {len(elsewhere):,})"
    )


def _flips(together: pd.DataFrame) -> str:
    found = {
        name: findings(together, "flips", f"flip_{name}")
        for name in ("top_only", "random_only", "both", "neither")
    }
    why = firm_or_why("Whether one item flips the decision", found["top_only"])[1]
    if why:
        return why
    top, other, both, neither = map(firm_of, found.values())
    return (
        f"Erasing only the heaviest item flips the decision for {ends(top, share)} of texts, only "
        f"a random one for {ends(other, share)}, each of the two for {reach(both, share)}, "
        f"neither for {reach(neither, share)} ({counted(top)})." + left_out(found["top_only"])
    )


def _removed(together: pd.DataFrame) -> str:
    """Per ranking the median share at the flip, never-flipping texts counted as still there."""
    found, never = (
        {
            words: findings(together, "importance_sets", f"{measure}_{name}")
            for name, words in RANKINGS.items()
        }
        for measure in ("restricted_fraction", "never")
    )
    every = [one for cells in found.values() for one in cells]
    why = firm_or_why("How many items go until the decision flips", every)[1]
    if why:
        return why
    firm = {words: firm_of(cells) for words, cells in found.items()}
    parts = [
        f"{words} {_medians(cells)} (never for {reach(never[words], share)})"
        for words, cells in firm.items()
        if cells and never[words]
    ]
    return (
        "Share of items removed when half of the decisions have flipped, never-flipping texts "
        f"counted: {'; '.join(parts)} ({counted(every)})." + left_out(every)
    )


def _medians(cells: list[Finding]) -> str:
    known = sorted(one.median for one in cells if one.median == one.median)
    missing = f", not reached in {len(cells) - len(known)} of {len(cells)}"
    low, high = (number(value) for value in (known[0], known[-1])) if known else ("", "")
    text = low if low == high else f"{low} to {high}"
    return (text + missing if len(known) < len(cells) else text).removeprefix(", ")


def _sooner(evidence: Evidence) -> str:
    """Which ranking needs the fewest items, and whether gradients beat attention."""
    cells = [found for _, found in removals(evidence, "fraction", ("corpus", "label", "seed"))]
    pairs = [cell for cell in cells if {"attention", "gradient"} <= cell.keys()]
    if not pairs:
        return "Gradients against attention as rankings: not measured."
    said = Counter(_winner(cell) for cell in pairs)
    rows = sum(len(cell["attention"].never) for cell in pairs)
    verdicts = ", ".join(f"{words} in {said[words]}" for words in sorted(said))
    return (
        "Ranked by gradient or by attention, which flips the same texts with fewer items? "
        f"Of {len(pairs)} trained models: {verdicts} (exact sign tests at {LEVEL}, n {rows:,})"
        f"{_first(evidence.together)}."
    )


def _winner(cell: dict[str, Removed]) -> str:
    found = compared(cell["gradient"], cell["attention"])
    if found.first + found.second < ENOUGH or not found.p_value < LEVEL:
        return "inconclusive"
    return "gradient" if found.first > found.second else "attention"


def _first(together: pd.DataFrame) -> str:
    """The ranking with the smallest mean share, pair by pair."""
    table = together[
        (together["probe"] == "importance_sets")
        & together["measure"].str.startswith("restricted_fraction_")
        & together["mean"].notna()
        & (texts_of(together) >= ENOUGH)
    ]
    pairs = table.sort_values("mean", kind="stable").groupby(["corpus", "model"], sort=False)
    best = pairs.head(1).to_dict("records")
    if not best:
        return ""
    names = Counter(line["measure"].removeprefix("restricted_fraction_") for line in best)
    wins = ", ".join(f"{RANKINGS.get(name, name)} in {count}" for name, count in names.items())
    low, high = min(line["mean"] for line in best), max(line["mean"] for line in best)
    spread = number(low) if number(low) == number(high) else f"{number(low)} to {number(high)}"
    return f"; of all rankings the fewest items go by {wins} (mean share {spread})"


KINDS = {"pair": ("pair-",), "generation": ("seq2seq-", "transformer-")}
"""The kinds of corpora, told by how the names of the models for them begin."""

WORDS = {
    "uniform:train+infer": "uniform in training too",
    "uniform:infer": "uniform afterwards",
    "random:train+infer": "random in training too",
    "random:infer": "random afterwards",
    "permute:infer": "shuffled afterwards",
}
ALONE = (
    "With the context-only decoder the second text reaches the prediction through attention "
    "alone, so uniform attention removes it."
)


def vashishth2019(evidence: Evidence) -> list[str]:
    together = evidence.together
    single = _of_kind(together, "single")
    written = _of_kind(together, "generation")
    attending = single[~single["model"].str.contains("-gate", regex=False)]
    return [
        _changes(attending, "One text, change of accuracy in points: attention", points),
        _two_texts(_of_kind(together, "pair")),
        _changes(written, "Generation, change of BLEU: attention", bleu_points),
        f"{erasure_line(evidence)} {permutation_line(together)}",
        f"{_gate(single)} {layers_line(together)}",
    ]


def _of_kind(together: pd.DataFrame, kind: str) -> pd.DataFrame:
    starts = KINDS.get(kind) or tuple(start for some in KINDS.values() for start in some)
    among = together["model"].str.startswith(starts)
    return together[among if kind in KINDS else ~among]


def _changes(together: pd.DataFrame, subject: str, show: Callable[[float], str]) -> str:
    """The change under each replacement, lowest and highest, with intervals."""
    found = {when: findings(together, "substitution", f"delta:{when}") for when in CONDITIONS}
    every = [one for cells in found.values() for one in cells]
    why = firm_or_why(subject, every)[1]
    if why:
        return why
    firm = {when: firm_of(cells) for when, cells in found.items()}
    parts = [f"{WORDS[when]} {ends(cells, show)}" for when, cells in firm.items() if cells]
    counts = counted([one for cells in firm.values() for one in cells])
    longest = max(found.values(), key=len)
    return f"{subject} {'; '.join(parts)} ({counts})." + left_out(longest)


def _two_texts(together: pd.DataFrame) -> str:
    """The two decoders beside each other, and why they must differ."""
    context = together[_decoder(together["model"], "context")]
    query = together[_decoder(together["model"], "query")]
    said = [
        _changes(part, f"Two texts, {words}, change of accuracy in points: attention", points)
        for part, words in ((context, "context-only decoder"), (query, "decoder with the query"))
        if len(part)
    ]
    if not said:
        return "Two texts: not measured."
    return " ".join([*said, ALONE] if len(context) else said)


def _decoder(models: pd.Series, name: str) -> pd.Series:
    return models.str.contains(rf"-{name}(?:$|[ +])", regex=True)


def _gate(together: pd.DataFrame) -> str:
    """Each gate beside the attention it takes the place of."""
    scores = {one.where: one for one in firm_findings(together, "score", "accuracy")}
    pairs = [
        (gate, scores[where.replace("-gate", "-additive", 1)])
        for where, gate in scores.items()
        if where.replace("-gate", "-additive", 1) in scores and "-gate" in where
    ]
    if not pairs:
        return "A sigmoid gate against attention: not measured, or inconclusive."
    return f"A sigmoid gate in attention’s place: {'; '.join(map(_beside, pairs))}."


def _beside(pair: tuple[Finding, Finding]) -> str:
    gate, attention = pair
    apart = gate.low > attention.high or attention.low > gate.high
    words = "the intervals lie apart" if apart else "the intervals overlap"
    data = gate.where.rpartition(" on ")[2]
    return (
        f"{data} accuracy {within(gate, share)} against {within(attention, share)} "
        f"({counted([gate, attention])}; {words})"
    )


def layers_line(together: pd.DataFrame) -> str:
    """Each group's score with none and with all of its layers permuted."""
    found = curves(together)
    if found.empty:
        return "Attention permuted layer after layer: not measured."
    firm = found[(texts_of(found) >= ENOUGH) & found["low"].notna()]
    if firm.empty:
        return f"Attention permuted layer after layer: inconclusive, fewer than {ENOUGH} texts."
    said = [
        f"{group} {_number(part.iloc[0])} to {_number(part.iloc[-1])}"
        for (_, _, group), part in firm[firm["end"] == "first"].groupby(
            ["corpus", "model", "group"], sort=False
        )
    ]
    return (
        f"All layers of a group permuted, the score goes: {'; '.join(said)} "
        f"(n {int(texts_of(firm).max()):,})."
    )


def _number(line: pd.Series) -> str:
    digits = 1 if line["high"] > 1 else 2
    low, high = number(line["low"], digits), number(line["high"], digits)
    return f"{number(line['mean'], digits)} ({low} to {high})"
