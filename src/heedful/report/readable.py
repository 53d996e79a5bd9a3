"""A paper's tables for reading: one line per model, numbers as text, a title and a caption."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.formats import interval, number, with_sd
from heedful.report.model_tables import CAPTIONS as FOUR_TESTS
from heedful.report.model_tables import (
    DECEIVED,
    DECEPTION,
    INFORMATION_CAPTION,
    QUARTERS_CAPTION,
    TRANSPARENCY,
    TRANSPARENT,
    by_model,
    frontier,
    guides,
    information,
    quarters,
    seeds,
    uniform,
)
from heedful.studies import DATASETS

TAU = (
    "Mean τ ± standard deviation between texts, by predicted class; “− paper” is measured minus "
    "paper. “Sig.” is the share of texts with p ≤ 0.05."
)
DIFFERENCE = "Difference is measured minus paper."
PER_CENT = (
    "Scores and shares are per cent, changes are points, BLEU goes from 0 to 100. Difference is "
    "measured minus paper; a substitute for the paper’s corpus has none."
)
TITLES = {
    ("serrano2019", "2"): "which erasure flips the decision, % of texts",
    ("vashishth2019", "1"): "one text, attention replaced",
    ("vashishth2019", "2"): "two texts, attention replaced",
    ("vashishth2019", "3"): "generation, attention replaced",
    ("tutek2020", "1"): "F1, and its change with attention replaced",
    ("tutek2020", "2"): "mutual information of words and states",
    ("tutek2020", "3"): "the predicted class by one token alone",
    ("tutek2020", "6"): "encoders of several layers",
}
CAPTIONS = {
    (
        "tutek2020",
        "2",
    ): "In nats: the paper does not say its unit. Difference is measured minus paper.",
    (
        "tutek2020",
        "3",
    ): "The mean over the tokens of texts that are read right. Difference is measured minus paper.",
}
BY_MODEL = {
    "pruthi2020": (("Attention kept off some tokens", DECEIVED, DECEPTION),),
    "mohankumar2020": (("States, and what attention tells", TRANSPARENT, TRANSPARENCY),),
}
DECODERS = (
    "The same models with either decoder. With the context-only decoder the second text reaches "
    "the prediction through attention alone, so uniform attention removes it; the decoder with "
    "the query sees it in any case. Units as above."
)


@dataclass(frozen=True)
class Readable:
    """A table with its words; `name` is that of its file."""

    name: str
    title: str
    caption: str
    table: pd.DataFrame


def readable(frame: pd.DataFrame, paper: str, evidence: Evidence) -> list[Readable]:
    """The tables of one paper that have something in them."""
    published = f" Published: {paper}. Blank: not published."
    tables = _of_jain2019(frame, evidence) if paper == "jain2019" else _numbered(frame, paper)
    found = [Readable(one.name, one.title, one.caption + published, one.table) for one in tables]
    found += _of_tutek2020(evidence) if paper == "tutek2020" else []
    found += _of_wiegreffe2019(evidence) if paper == "wiegreffe2019" else []
    found += [
        Readable("models", title, caption, by_model(evidence.together, columns))
        for title, caption, columns in BY_MODEL.get(paper, ())
    ]
    return [one for one in found if len(one.table)]


def _of_jain2019(frame: pd.DataFrame, evidence: Evidence) -> list[Readable]:
    gradient, left_out = (correlations(frame, f"tau_{x}", evidence) for x in ("gradient", "loo"))
    words = "Table 2: attention against"
    return [
        Readable("table1", "Table 1: how well the models predict", DIFFERENCE, scores(frame)),
        Readable("table2_gradient", f"{words} gradients", TAU, gradient),
        Readable("table2_leave_one_out", f"{words} leaving words out", TAU, left_out),
    ]


def _of_tutek2020(evidence: Evidence) -> list[Readable]:
    """What the paper does not print."""
    by, known = quarters(evidence.together), information(evidence.together)
    return [
        Readable("mutual_information", "How much there is to know", INFORMATION_CAPTION, known),
        Readable("quarters", "Attention replaced, by confidence and length", QUARTERS_CAPTION, by),
    ]


def _of_wiegreffe2019(evidence: Evidence) -> list[Readable]:
    """Its four tests; the paper prints no table of them."""
    tests = (
        ("uniform", "Test 1: is attention needed?", uniform),
        ("seeds", "Test 2: how far apart are seeds?", seeds),
        ("guides", "Test 3: does attention guide a model without context?", guides),
        ("frontier", "Test 4: trained to attend elsewhere", frontier),
    )
    return [
        Readable(name, title, FOUR_TESTS[name], make(evidence.together))
        for name, title, make in tests
    ]


def _numbered(frame: pd.DataFrame, paper: str) -> list[Readable]:
    numbers = list(dict.fromkeys(frame["table"]))
    tables = [
        Readable(f"table{number}", _title(paper, number), caption, beside(frame, number))
        for number in numbers
        for caption in [CAPTIONS.get((paper, number), PER_CENT)]
    ]
    return [*tables, Readable("decoders", "The two decoders", DECODERS, decoders(frame))]


def _title(paper: str, number: str) -> str:
    words = TITLES.get((paper, number))
    return f"Table {number}: {words}" if words else f"Table {number}"


SUBSET = "subset of the training data"
PLACE = ["dataset", "class", "model"]
DECODER = r"(?s)^(.*)-(context|query)(?: \(.*\))?$"
"""A model's name before its decoder, and the decoder."""
EDITS = {"permute": "shuffled"}
NAMES = {
    "accuracy": "accuracy",
    "f1": "F1",
    "micro_f1": "micro-F1",
    "bleu": "BLEU",
    "flip_percent:both": "each of the two flips",
    "flip_percent:top_only": "only the heaviest flips",
    "flip_percent:random_only": "only the random one flips",
    "flip_percent:neither": "neither flips",
    "mutual_information:most_frequent": "mutual information, most frequent words, nats",
    "mutual_information:random_sample": "mutual information, sampled words, nats",
    "token_probability": "probability by one token",
}
FINE = ("mutual_information", "token_probability")
"""Metrics that are neither per cent nor points: one decimal would hide what they say."""


def scores(frame: pd.DataFrame) -> pd.DataFrame:
    """Table 1 for reading: the score of every model."""
    table = frame[frame["table"] == "1"]
    others = (table["metric"] != "f1").any()
    unit = "" if others else " F1"
    return pd.DataFrame(
        {
            "Data": table["dataset"],
            "Model": table["model"],
            **({"Score": table["metric"].map(metric_name)} if others else {}),
            f"Paper{unit}": table["published_paper"].map(number),
            f"Measured{unit}": table["measured"].map(lambda value: number(value) or "undefined"),
            "95% interval": _intervals(table),
            "Difference": table["difference"].map(lambda value: number(value, signed=True)),
            "Seeds": table["seeds"].astype(str),
            "Note": _notes(table),
        }
    ).reset_index(drop=True)


def correlations(frame: pd.DataFrame, metric: str, evidence: Evidence) -> pd.DataFrame:
    """Table 2 for reading: τ with one importance measure, and its significant fraction."""
    table = frame[(frame["table"] == "2") & (frame["metric"] == metric)].set_index(PLACE)
    sig = frame[(frame["table"] == "2") & (frame["metric"] == f"{metric}_sig_fraction")]
    sig = sig.set_index(PLACE).reindex(table.index)
    names = _class_names(evidence)
    where = [tuple(str(part) for part in place) for place in table.index]
    columns = {
        "Data": [data for data, _, _ in where],
        "Class": [names.get((data, label), label) for data, label, _ in where],
        "Model": [model for _, _, model in where],
        "Paper τ": _pairs(table, "published_paper", "published_paper_sd"),
        "Slides τ": _pairs(table, "published_slides", "published_slides_sd"),
        "Measured\N{NO-BREAK SPACE}τ": [
            text or "undefined" for text in _pairs(table, "measured", "measured_sd")
        ],
        "95% interval": _intervals(table),
        "−\N{NO-BREAK SPACE}paper": [number(value, signed=True) for value in table["difference"]],
        "−\N{NO-BREAK SPACE}slides": [
            number(value, signed=True) for value in table["difference_slides"]
        ],
        "Sig. paper": [number(value) for value in sig["published_paper"]],
        "Sig. slides": [number(value) for value in sig["published_slides"]],
        "Sig. measured": [number(value) for value in sig["measured"]],
        "Seeds": [str(count) for count in table["seeds"]],
        "Note": _notes(table),
    }
    return pd.DataFrame(columns)


def beside(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    """Any table for reading: one number a line, in the paper's unit."""
    lines = frame[frame["table"] == table]
    digits = 3 if lines["metric"].str.startswith(FINE).any() else 1
    return pd.DataFrame(
        {
            "Data": lines["dataset"],
            "Model": lines["model"],
            "Number": lines["metric"].map(metric_name),
            "Paper": _pairs(lines, "published_paper", "published_paper_sd", digits),
            "Measured": [number(value, digits) or "undefined" for value in lines["measured"]],
            "95% interval": _intervals(lines, digits),
            "Difference": [number(value, digits, signed=True) for value in lines["difference"]],
            "Seeds": lines["seeds"].astype(str),
            "Note": _notes(lines),
        }
    ).reset_index(drop=True)


def decoders(frame: pd.DataFrame) -> pd.DataFrame:
    """Models of two texts that differ in nothing but their decoder, beside each other."""
    parts = frame["model"].str.extract(DECODER)
    named = frame.assign(stem=parts[0], decoder=parts[1])[parts[1].notna()]
    by = ["dataset", "stem", "metric"]
    both = named.groupby(by, sort=False).filter(lambda part: part["decoder"].nunique() == 2)
    sides = {
        name: both[both["decoder"] == name].drop_duplicates(by).set_index(by)
        for name in ("context", "query")
    }
    places = sides["context"].index
    first, second = sides["context"], sides["query"].reindex(places)
    apart = [number(value, 1, signed=True) for value in second["measured"] - first["measured"]]
    return pd.DataFrame(
        {
            "Data": [str(data) for data, _, _ in places],
            "Model": [str(stem) for _, stem, _ in places],
            "Number": [metric_name(str(metric)) for _, _, metric in places],
            "Paper": [number(value, 1) for value in first["published_paper"]],
            "Context only": [number(value, 1) or "undefined" for value in first["measured"]],
            "95% interval (context)": _intervals(first, 1),
            "With the query": [number(value, 1) or "undefined" for value in second["measured"]],
            "95% interval (query)": _intervals(second, 1),
            "Query − context": apart,
        }
    )


def metric_name(metric: str) -> str:
    """A published metric in words."""
    name, _, rest = metric.partition(":")
    if name.startswith("delta_"):
        edit, _, when = rest.partition(":")
        score = NAMES.get(name.removeprefix("delta_"), name)
        moment = "in training too" if when == "train+infer" else "afterwards"
        return f"change of {score}, {EDITS.get(edit, edit)} {moment}"
    return NAMES.get(metric, metric)


def _pairs(table: pd.DataFrame, value: str, sd: str, digits: int = 2) -> list[str]:
    return [with_sd(*pair, digits) for pair in zip(table[value], table[sd], strict=True)]


def _notes(table: pd.DataFrame) -> list[str]:
    """Shorter than in the files: the page says above the table what a subset is."""
    return [str(note).replace(SUBSET, "subset") for note in table["note"]]


def _intervals(table: pd.DataFrame, digits: int = 2) -> list[str]:
    return [interval(*pair, digits) for pair in zip(table["low"], table["high"], strict=True)]


def _class_names(evidence: Evidence) -> dict[tuple[str, str], str]:
    return {
        (DATASETS.get(str(corpus), str(corpus)), str(index)): f"{index} ({name})"
        for corpus in evidence.cells["corpus"].unique()
        for index, name in evidence.label_names(str(corpus)).items()
        if name != str(index)
    }
