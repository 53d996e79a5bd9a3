"""What keeps a prediction while a text is changed (feng2018), and how far explanations move
(ghorbani2019), by model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from heedful.entries import figure
from heedful.report.evidence import Evidence, lines_of
from heedful.report.figures.multiples import Words, by_corpus, painted
from heedful.report.panels import CLASSES, GREY, KINDS, Figure, Panel, named_rows, on_axis
from heedful.report.sheet import need

COLOUR = KINDS["exact"]
LEGEND = (("mean over texts, 95% interval", COLOUR),)
INPUT_REDUCTION = Words(
    "input_reduction",
    "How few words keep the prediction (Feng et al. 2018)",
    "The least important word is deleted, importance is measured again, and so on for as long as "
    "the prediction stays. A short bar of the share left with high confidence says that the "
    "prediction needs few words. Whether these are the words that the whole text’s scores put "
    "first, whether as many of those keep the prediction alone, and whether they lie in the "
    "rationale, says if the scores told them.",
    "Input reduction",
)
REDUCED: Mapping[str, str] = {
    "share": "share of the words left",
    "confidence": "confidence on what is left",
    "top": "what is left, put first before",
    "alone": "as many top words keep the prediction",
    "chance": "as many random words keep it",
    "inside": "what is left, in the rationale",
}
ORDERS: Mapping[str, str] = {
    "gradient_input": "gradient · embedding",
    "gradient": "norm of the gradient",
    "attention": "attention",
    "random": "random order",
}


@figure("input_reduction", paper="Feng et al. 2018")
def input_reduction(evidence: Evidence) -> Figure:
    """What is left of texts by each order of deletion, by model."""
    lines = lines_of(evidence.together, "input_reduction").dropna(subset="mean")
    found = pd.concat([lines, _named(lines["measure"], REDUCED, ORDERS)], axis=1)
    return by_corpus(INPUT_REDUCTION, found.dropna(subset="kind"), LEGEND, _panels)


def _named(
    measures: pd.Series, kinds: Mapping[str, str], orders: Mapping[str, str]
) -> pd.DataFrame:
    """The words for the kind of each measure and for the order it is of."""
    names = {f"{kind}_{order}": (kind, orders[order]) for kind in kinds for order in orders}
    known = [names.get(str(measure), (None, None)) for measure in measures]
    return pd.DataFrame(known, columns=["kind", "order"], index=measures.index)


def _panels(part: pd.DataFrame) -> Iterator[Panel]:
    at = on_axis("x", "mean over texts", domain=[0, 1], nice=False)
    for kind, title in REDUCED.items():
        lines = part[part["kind"] == kind]
        if len(lines):
            data = lines.assign(row=lines["model"] + " · " + lines["order"])
            base = named_rows(data[["row", "mean", "low", "high"]], "row", 17)
            bar = base.mark_bar(size=9, opacity=0.55, color=COLOUR).encode(x=at("mean"))
            line = base.mark_rule(strokeWidth=2, color=COLOUR).encode(x=at("low"), x2="high:Q")
            means = zip(data["row"], data["mean"], strict=True)
            says = "; ".join(f"{row} {mean:.2f}" for row, mean in means)
            yield Panel(title, bar + line, f"{title.capitalize()}: {says}.")


FRAGILITY = Words(
    "fragility",
    "How far explanations move while the prediction stays (Ghorbani et al. 2019)",
    "Kendall’s τ and the words on top in common, between an explanation of a text and that of the "
    "text a little changed, with the same prediction; 1 is no change. Embeddings are moved by a "
    "search, and as far at random; one word is swapped for its nearest neighbour, the one that "
    "changes the explanation most, and one at random. An explanation is fragile where a search "
    "moves it much further than chance.",
    "Fragility",
)
CHANGES: Mapping[str, tuple[str, str]] = {
    "attack": ("embeddings, by a search", CLASSES[1]),
    "noise": ("embeddings, at random", GREY),
    "swap": ("the worst of single swaps", CLASSES[0]),
    "any_swap": ("any single swap", CLASSES[2]),
}
EXPLAINED: Mapping[str, str] = {
    "attention": "attention",
    "gradient": "norm of the gradient",
    "gradient_input": "gradient × input",
}
COMPARED: Mapping[str, str] = {"tau": "Kendall’s τ", "overlap": "words on top in common"}


@figure("fragility", paper="Ghorbani et al. 2019")
def fragility(evidence: Evidence) -> Figure:
    """How far explanations move under small changes that keep the prediction."""
    lines = lines_of(evidence.together, "fragility").dropna(subset="mean")
    kinds = {f"{measure}_{change}": change for measure in COMPARED for change in CHANGES}
    named = pd.concat([lines, _named(lines["measure"], kinds, EXPLAINED)], axis=1)
    found = named.dropna(subset="kind")
    return by_corpus(FRAGILITY, found, tuple(CHANGES.values()), _moved)


def _moved(part: pd.DataFrame) -> Iterator[Panel]:
    alt = need("altair")
    at = on_axis("x", "mean over texts", nice=False)
    colour = alt.Color("colour:N", scale=None)
    for measure, title in COMPARED.items():
        lines = part[part["kind"].str.startswith(f"{measure}_")]
        if lines.empty:
            continue
        change = lines["kind"].str.removeprefix(f"{measure}_")
        data = lines.assign(
            row=lines["model"] + " · " + lines["order"], colour=painted(change, CHANGES)
        )
        base = named_rows(data[["row", "mean", "low", "high", "colour"]], "row", 22, grid=True)
        line = base.mark_rule(strokeWidth=3, opacity=0.5).encode(
            x=at("low"), x2="high:Q", color=colour
        )
        dot = base.mark_point(filled=True, size=55, opacity=1).encode(x=at("mean"), color=colour)
        means = zip(data["row"], change, data["mean"], strict=True)
        says = "; ".join(f"{row}, {CHANGES[kind][0]}: {mean:.2f}" for row, kind, mean in means)
        yield Panel(title, line + dot, f"{title}: {says}.")
