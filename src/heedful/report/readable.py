"""A paper's tables for reading: numbers as text, a title and a caption. Published beside measured,
and what papers do not print: a line for each model, with intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.metrics import OVER_SEEDS
from heedful.report.evidence import Evidence
from heedful.report.formats import interval, number, with_sd
from heedful.studies import DATASETS, dataset_name, published

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


@dataclass(frozen=True)
class Column:
    """A measure of a probe; `signed` where it is a difference, `decided` where it is yes or no."""

    probe: str
    measure: str
    signed: bool = False
    decided: bool = False


Columns = Mapping[str, Column]

DECEPTION = {
    "Accuracy": Column("deception", "accuracy"),
    "Control": Column("deception", "accuracy:control"),
    "Attention on I": Column("deception", "mass"),
    "Even": Column("deception", "share"),
    "I zeroed": Column("deception", "accuracy:zeroed"),
    "Hidden, leave-one-out": Column("detector", "hidden:loo", signed=True),
    "Hidden, gradient": Column("detector", "hidden:gradient", signed=True),
    "Hidden, integrated": Column("detector", "hidden:integrated", signed=True),
    "Flagged": Column("detector", "flagged", decided=True),
}
DECEIVED = (
    "I are the impermissible tokens. Accuracy; that of a control that never saw I; the share of "
    "attention on I, and what even attention has there; accuracy when attention on I is set to "
    "zero afterwards. “Hidden” is the share of importance on I less the share of attention; "
    "“flagged” is the detector's decision."
)
TRANSPARENCY = {
    "Accuracy": Column("score", "accuracy"),
    "Conicity": Column("conicity", "conicity"),
    "TVD, shuffled": Column("permutation", "tvd_median"),
    "Removed, attention": Column("importance_sets", "restricted_fraction_attention"),
    "Removed, random": Column("importance_sets", "restricted_fraction_random"),
    "τ gradient": Column("correlation", "tau_gradient"),
    "τ integrated": Column("correlation", "tau_integrated"),
    "Extracted": Column("extracted", "length"),
    "Attention inside": Column("extracted", "mass_extracted"),
}
TRANSPARENT = (
    "Conicity is 1 where all states point one way. “Removed”: the mean share of items that lose "
    "their attention until the decision flips (all of them where it never does), by attention and "
    "in random order. “Extracted”: the share of tokens in a rationale found by REINFORCE; "
    "“attention inside” it."
)


BY_MODEL = {
    "pruthi2020": (("Attention kept off some tokens", DECEIVED, DECEPTION),),
    "mohankumar2020": (("States, and what attention tells", TRANSPARENT, TRANSPARENCY),),
}


def by_model(together: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Numbers over all texts; a blank where a model was not asked. Columns without any are out."""
    kept = together[together["group"] == "all"]
    cells = {
        (str(line["corpus"]), str(line["model"]), str(line["probe"]), str(line["measure"])): line
        for line in kept.to_dict("records")
    }
    models = dict.fromkeys((corpus, model) for corpus, model, _, _ in cells)
    lines = [
        {
            "Data": dataset_name(corpus),
            "Model": model,
            **{
                title: _shown(cells.get((corpus, model, column.probe, column.measure)), column)
                for title, column in columns.items()
            },
        }
        for corpus, model in models
    ]
    table = pd.DataFrame(lines, columns=["Data", "Model", *columns])
    return table[[name for name in table if (table[name] != "").any()]] if len(table) else table


def _shown(line: Mapping[object, object] | None, column: Column) -> str:
    if line is None:
        return ""
    if column.decided and float(str(line["mean"])) in (0, 1):
        return "yes" if line["mean"] else "no"
    mean, low, high = (float(str(line[name])) for name in ("mean", "low", "high"))
    shown = number(mean, 2, column.signed) or "undefined"
    return shown if low == high or low != low else f"{shown} ({interval(low, high, 2)})"


INFORMATION_WORDS = {"frequent": "most frequent", "sampled": "sampled"}
INFORMATION_CAPTION = (
    "In nats, over seeds. Few vectors in many clusters tell something about their words by "
    "chance: the same clusters, shuffled, show how much. At most: the entropy of the words."
)
INFORMATION_COLUMNS = [
    "Data", "Model", "Words", "Measured", "95% interval", "By chance", "At most",
    "Vectors", "Clusters",
]  # fmt: skip


def information(together: pd.DataFrame) -> pd.DataFrame:
    """A line for each model and way to choose words."""
    cells = together[(together["probe"] == "mutual_information") & (together["group"] == "all")]
    lines = [
        (dataset_name(str(corpus)), str(model), words, *_numbers(_by_measure(part), way))
        for (corpus, model), part in cells.groupby(["corpus", "model"], sort=False)
        for way, words in INFORMATION_WORDS.items()
        if (part["measure"] == f"mutual_information:{way}").any()
    ]
    return pd.DataFrame(lines, columns=INFORMATION_COLUMNS)


def _by_measure(part: pd.DataFrame) -> dict[str, dict[Any, Any]]:
    return {str(line["measure"]): line for line in part.to_dict("records")}


def _numbers(cells: dict[str, dict[Any, Any]], way: str) -> list[str]:
    def mean(name: str) -> float:
        return float(cells[f"{name}:{way}"]["mean"])

    own = cells[f"mutual_information:{way}"]
    return [
        number(mean("mutual_information"), 3) or "undefined",
        interval(own["low"], own["high"], 3),
        number(mean("chance"), 3),
        number(mean("entropy"), 3),
        *(f"{mean(name):,.0f}" for name in ("vectors", "clusters")),
    ]


QUARTERS_WORDS = {
    "uniform:infer": "uniform afterwards",
    "permute:infer": "shuffled afterwards",
}
BY = {"confidence": "confidence, least sure first", "length": "length, shortest first"}
QUARTERS_CAPTION = (
    "Change of accuracy in points, with its 95% interval, by quarters of the texts: of those the "
    "model is least sure of to those it is surest of, and of the shortest to the longest."
)
QUARTERS_COLUMNS = [
    "Data", "Model", "Attention", "Quarters by", "First", "Second", "Third", "Fourth",
]  # fmt: skip


def quarters(together: pd.DataFrame) -> pd.DataFrame:
    """A line for each model, replacement and way to order the texts."""
    changed = together["measure"].str.startswith("changed:")
    cells = together[(together["probe"] == "substitution") & changed]
    lines = [
        (dataset_name(str(corpus)), str(model), words, label, *_quarters(part, when, by))
        for (corpus, model), part in cells.groupby(["corpus", "model"], sort=False)
        for when, words in QUARTERS_WORDS.items()
        for by, label in BY.items()
    ]
    return pd.DataFrame(lines, columns=QUARTERS_COLUMNS)


def _quarters(cells: pd.DataFrame, when: str, by: str) -> list[str]:
    """Empty for a quarter that equal texts left empty."""
    own = cells[cells["measure"] == f"changed:{when}"]
    found = {str(line["group"]): line for line in own.to_dict("records")}
    return [_points(found.get(f"{by}={quarter}")) for quarter in range(1, 5)]


def _points(line: dict[object, float] | None) -> str:
    if line is None:
        return ""
    mean, low, high = (100 * float(line[name]) for name in ("mean", "low", "high"))
    around = interval(low, high, 1)
    return f"{number(mean, 1, signed=True)} ({around})" if around else number(mean, 1, signed=True)


Line = dict[str, Any]
Numbers = dict[str, Line]
"""The lines of one corpus and model by measure."""

GUIDES = {
    "model": "(the model itself)",
    "own": "its own",
    "uniform": "uniform",
    "base": "the model's",
    "adversary": "the adversary's",
}
FOUR_TESTS = {
    "uniform": "F1 as a fraction. Where even attention does as well, the corpus cannot tell "
    "whether attention explains anything.",
    "seeds": "Between the model and others that differ in their seed alone, per text the median "
    "over seeds: JSD between attentions (at most 0.69), change of the probability. “Furthest”: "
    "the seed furthest away.",
    "guides": "F1 of a token-level MLP without context whose attention is fixed; differences are "
    "paired over texts. Where the model's weights beat its own and even ones, they carry "
    "information about tokens. “Attended word”: accuracy of the label guessed from the most "
    "attended word alone. “Leak”: how much of that the word does not say by occurring; where it "
    "is high, the weights give the label away, and the MLP's F1 says nothing about tokens.",
    "frontier": "One trained adversary a line: λ is how much its loss falls as its attention "
    "grows apart from the model's. JSD between attentions, change of the probability (TVD). "
    "Read both against the seeds. “Inside”: share of texts with more than half of the "
    "adversary's attention on the rationale: an alternative explanation, not a counterfactual.",
}


def uniform(together: pd.DataFrame) -> pd.DataFrame:
    """Test 1: the score with even attention in training too."""
    return _table(together, "substitution", _uniform)


def seeds(together: pd.DataFrame) -> pd.DataFrame:
    """Test 2: how far apart ordinary models are."""
    return _table(together, "seeds", _seeds)


def guides(together: pd.DataFrame) -> pd.DataFrame:
    """Test 3: an MLP under each guide."""
    return _table(together, "guides", _guides)


def frontier(together: pd.DataFrame) -> pd.DataFrame:
    """Test 4: an adversary for each λ."""
    return _table(together, "frontier", _frontier)


def points(measures: list[str]) -> list[str]:
    """The adversaries by the names in their measures: by λ, those of labels last."""
    found = [name.removeprefix("jsd:") for name in measures if name.startswith("jsd:")]
    return sorted(found, key=lambda name: (name.startswith("labels"), weight(name)))


def weight(point: str) -> float:
    return float(point.removeprefix("labels"))


def trained_for(point: str) -> str:
    return "the labels" if point.startswith("labels") else "the model's outputs"


def _table(
    together: pd.DataFrame, probe: str, lines: Callable[[str, str, Numbers], list[Line]]
) -> pd.DataFrame:
    kept = together[(together["probe"] == probe) & (together["group"] == "all")]
    found = []
    for (corpus, model), part in kept.groupby(["corpus", "model"], sort=False):
        named = [{str(key): x for key, x in line.items()} for line in part.to_dict("records")]
        numbers = {str(line["measure"]): line for line in named}
        texts: Line = {"Data": dataset_name(str(corpus)), "Model": str(model)}
        found += [{**texts, **line} for line in lines(str(corpus), str(model), numbers)]
    return pd.DataFrame(found).fillna("")


def _uniform(corpus: str, model: str, numbers: Numbers) -> list[Line]:
    trained, change = "score:uniform:train+infer", "delta:uniform:train+infer"
    if trained not in numbers:
        return []
    return [
        {
            "jain2019": _printed(corpus, model),
            **_pair("F1", numbers["score"], 3),
            **_pair("Uniform", numbers[trained], 3),
            **_pair("Change", numbers[change], 3, signed=True),
            **_seeds_of(numbers["score"]),
        }
    ]


def _seeds(corpus: str, model: str, numbers: Numbers) -> list[Line]:
    return [
        {
            **_pair("JSD", numbers["jsd_seeds"], 3),
            **_pair("Furthest", numbers["jsd_seeds_max"], 3),
            **_pair("Δp", numbers["delta_seeds"], 3),
            **_seeds_of(numbers["jsd_seeds"]),
        }
    ]


def _guides(corpus: str, model: str, numbers: Numbers) -> list[Line]:
    return [
        {
            "Attention": words,
            **_pair("F1", numbers[f"score:{name}"], 3),
            **_pair("− own", numbers.get(f"delta:{name}:own"), 3, signed=True),
            **_pair("− uniform", numbers.get(f"delta:{name}:uniform"), 3, signed=True),
            **_pair("Attended word", numbers.get(f"attended:{name}"), 3),
            **_pair("Leak", numbers.get(f"leak:{name}"), 3, signed=True),
            **_seeds_of(numbers[f"score:{name}"]),
        }
        for name, words in GUIDES.items()
        if f"score:{name}" in numbers
    ]


def _frontier(corpus: str, model: str, numbers: Numbers) -> list[Line]:
    return [
        {
            "Trained for": trained_for(point),
            "λ": f"{weight(point):g}",
            **_pair("JSD", numbers[f"jsd:{point}"], 3),
            **_pair("TVD", numbers[f"tvd:{point}"], 3),
            **_pair("Inside", numbers.get(f"alternative:{point}"), 3),
            **_seeds_of(numbers[f"jsd:{point}"]),
        }
        for point in points(list(numbers))
    ]


def _pair(name: str, line: Line | None, digits: int, signed: bool = False) -> Line:
    """A number, and its interval in the next column."""
    if line is None:
        return {name: "", f"{name}, 95%": ""}
    shown = number(line["mean"], digits, signed) or "undefined"
    return {name: shown, f"{name}, 95%": interval(line["low"], line["high"], digits)}


def _seeds_of(line: Line) -> Line:
    over = "seeds" if line["interval"] == OVER_SEEDS else "texts"
    return {"Runs": str(line["seeds"]), "Interval over": over}


def _printed(corpus: str, model: str) -> str:
    cells = published("jain2019", "1")
    chosen = (cells["dataset"] == dataset_name(corpus)) & (cells["model"] == model)
    found = cells[chosen & (cells["metric"] == "f1")]["value"]
    return number(float(found.iloc[0])) if len(found) else ""
