"""A paper's tables for reading: numbers as text, a title and a caption. Published beside measured,
and what papers do not print: a line for each model, with intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.metrics import OVER_SEEDS
from heedful.report.averages import CAPTION as AVERAGES_CAPTION
from heedful.report.averages import PAPER as QUOTING
from heedful.report.averages import TITLE as AVERAGES_TITLE
from heedful.report.averages import averages
from heedful.report.characteristics import SETTINGS_CAPTION, corpora_table, settings_table
from heedful.report.evidence import Evidence, lines_of
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
    ("tutek2020", "2"): f"In nats: the paper does not say its unit. {DIFFERENCE}",
    ("tutek2020", "3"): f"The mean over the tokens of texts that are read right. {DIFFERENCE}",
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
    tables = [*_corpora(evidence, paper), *tables]
    found = [Readable(one.name, one.title, one.caption + published, one.table) for one in tables]
    found += _of_tutek2020(evidence) if paper == "tutek2020" else []
    found += _of_wiegreffe2019(evidence) if paper == "wiegreffe2019" else []
    found += [
        Readable("models", title, caption, by_model(evidence.together, columns))
        for title, caption, columns in BY_MODEL.get(paper, ())
    ]
    return [one for one in found if len(one.table)]


def _corpora(evidence: Evidence, paper: str) -> Iterator[Readable]:
    """The corpora and settings that a paper's own tables are of."""
    if paper == "tutek2020":
        table, title = settings_table(evidence), "Table 4: settings"
        yield Readable("table4", title, SETTINGS_CAPTION, table)
    number, caption, table = corpora_table(evidence, paper)
    yield Readable(f"table{number}_corpora", f"Table {number}: corpora", caption, table)


def _of_jain2019(frame: pd.DataFrame, evidence: Evidence) -> list[Readable]:
    gradient, left_out = (correlations(frame, f"tau_{x}", evidence) for x in ("gradient", "loo"))
    words = "Table 2: attention against"
    return [
        Readable("table1", "Table 1: how well the models predict", DIFFERENCE, scores(frame)),
        Readable("table2_gradient", f"{words} gradients", TAU, gradient),
        Readable("table2_leave_one_out", f"{words} leaving words out", TAU, left_out),
        Readable("epsilon", "The furthest attention, by ε", EPSILON, by_epsilon(evidence.together)),
    ]


AT_EPSILON = "jsd_epsilon:"
EPSILON = (
    "Jensen–Shannon distance (at most 0.69) of the furthest attention that moves the predicted "
    "probability by at most ε: mean and 95% interval, exact."
)


def by_epsilon(together: pd.DataFrame) -> pd.DataFrame:
    """A line for each model and a column for each ε, from the smallest on."""
    lines = lines_of(together, "adversarial")
    lines = lines[lines["measure"].str.startswith(AT_EPSILON)]
    lines = lines.assign(epsilon=lines["measure"].str.removeprefix(AT_EPSILON).astype(float))
    columns = sorted(set(lines["epsilon"]))
    found = []
    for (corpus, model), part in lines.groupby(["corpus", "model"], sort=False):
        own = {line["epsilon"]: line for line in part.to_dict("records")}
        shown = (
            f"{number(own[e]['mean'])} ({interval(own[e]['low'], own[e]['high'])})"
            if e in own
            else ""
            for e in columns
        )
        found.append((dataset_name(str(corpus)), model, *shown))
    return pd.DataFrame(found, columns=["Data", "Model", *(f"ε = {e:g}" for e in columns)])


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
    tables = []
    for table in dict.fromkeys(frame["table"]):
        words = TITLES.get((paper, table))
        title = f"Table {table}: {words}" if words else f"Table {table}"
        digits = 3 if _lines(frame, table)["metric"].str.startswith(FINE).any() else 1
        caption = CAPTIONS.get((paper, table), PER_CENT)
        tables.append(Readable(f"table{table}", title, caption, beside(frame, table, digits)))
    tables.append(Readable("decoders", "The two decoders", DECODERS, decoders(frame)))
    if paper == QUOTING:
        tables.append(Readable("averages", AVERAGES_TITLE, AVERAGES_CAPTION, averages(frame)))
    return tables


SUBSET = "subset of the training data"
PLACE = ["dataset", "class", "model"]
DECODER = r"(?s)^(?P<stem>.*)-(?P<decoder>context|query)(?: \(.*\))?$"
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
    table = beside(frame, "1", digits=2).rename(columns={"Number": "Score"})
    if (_lines(frame, "1")["metric"] != "f1").any():
        return table
    names = {"Paper": "Paper F1", "Measured": "Measured F1"}
    return table.drop(columns="Score").rename(columns=names)


def beside(frame: pd.DataFrame, table: str, digits: int) -> pd.DataFrame:
    """Any table for reading: one number a line, in the paper's unit."""
    lines = _lines(frame, table)
    return pd.DataFrame(
        {
            "Data": lines["dataset"],
            "Model": lines["model"],
            "Number": lines["metric"].map(metric_name),
            "Paper": _pairs(lines, "published_paper", digits),
            "Measured": _measured(lines["measured"], digits),
            "95% interval": _intervals(lines, digits),
            "Difference": _numbers(lines["difference"], digits, signed=True),
            "Seeds": lines["seeds"].astype(str),
            "Note": _notes(lines),
        }
    ).reset_index(drop=True)


def correlations(frame: pd.DataFrame, metric: str, evidence: Evidence) -> pd.DataFrame:
    """Table 2 for reading: τ with one importance measure, and its significant fraction."""
    lines = _lines(frame, "2")
    table = lines[lines["metric"] == metric].set_index(PLACE)
    sig = lines[lines["metric"] == f"{metric}_sig_fraction"].set_index(PLACE).reindex(table.index)
    names, places = _class_names(evidence), table.index.to_frame()
    columns = {
        "Data": list(places["dataset"]),
        "Class": [names.get((data, label), label) for data, label, _ in table.index],
        "Model": list(places["model"]),
        "Paper τ": _pairs(table, "published_paper"),
        "Slides τ": _pairs(table, "published_slides"),
        "Measured\N{NO-BREAK SPACE}τ": [text or "undefined" for text in _pairs(table, "measured")],
        "95% interval": _intervals(table),
        "−\N{NO-BREAK SPACE}paper": _numbers(table["difference"], signed=True),
        "−\N{NO-BREAK SPACE}slides": _numbers(table["difference_slides"], signed=True),
        "Sig. paper": _numbers(sig["published_paper"]),
        "Sig. slides": _numbers(sig["published_slides"]),
        "Sig. measured": _numbers(sig["measured"]),
        "Seeds": list(map(str, table["seeds"])),
        "Note": _notes(table),
    }
    return pd.DataFrame(columns)


def decoders(frame: pd.DataFrame) -> pd.DataFrame:
    """Models of two texts that differ in nothing but their decoder, beside each other."""
    by = ["dataset", "stem", "metric"]
    lines = frame.join(frame["model"].str.extract(DECODER)).drop_duplicates([*by, "decoder"])
    context, query = (
        lines[lines["decoder"] == name].set_index(by) for name in ("context", "query")
    )
    context = context[context.index.isin(query.index)]
    query = query.reindex(context.index)
    places = context.index.to_frame()
    return pd.DataFrame(
        {
            "Data": list(places["dataset"]),
            "Model": list(places["stem"]),
            "Number": list(places["metric"].map(metric_name)),
            "Paper": _numbers(context["published_paper"], 1),
            "Context only": _measured(context["measured"], 1),
            "95% interval (context)": _intervals(context, 1),
            "With the query": _measured(query["measured"], 1),
            "95% interval (query)": _intervals(query, 1),
            "Query − context": _numbers(query["measured"] - context["measured"], 1, signed=True),
        }
    )


def _lines(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    return frame[frame["table"] == table]


def metric_name(metric: str) -> str:
    """A published metric in words."""
    name, _, rest = metric.partition(":")
    if name.startswith("delta_"):
        edit, _, when = rest.partition(":")
        score = NAMES.get(name.removeprefix("delta_"), name)
        moment = "in training too" if when == "train+infer" else "afterwards"
        return f"change of {score}, {EDITS.get(edit, edit)} {moment}"
    return NAMES.get(metric, metric)


def _numbers(values: Iterable[float], digits: int = 2, signed: bool = False) -> list[str]:
    return [number(value, digits, signed) for value in values]


def _measured(values: Iterable[float], digits: int) -> list[str]:
    return [text or "undefined" for text in _numbers(values, digits)]


def _pairs(table: pd.DataFrame, name: str, digits: int = 2) -> list[str]:
    pairs = zip(table[name], table[f"{name}_sd"], strict=True)
    return [with_sd(value, sd, digits) for value, sd in pairs]


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


Line = dict[Any, Any]
Numbers = dict[str, Line]
"""The lines of one corpus and model by measure."""


def by_model(together: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Numbers over all texts; a blank where a model was not asked. Columns without any are out."""
    lines = []
    kept = together[together["group"] == "all"]
    for (corpus, model), part in kept.groupby(["corpus", "model"], sort=False):
        cells = {(line["probe"], line["measure"]): line for line in part.to_dict("records")}
        shown = [_shown(cells.get((c.probe, c.measure)), c) for c in columns.values()]
        lines.append((dataset_name(str(corpus)), model, *shown))
    table = pd.DataFrame(lines, columns=["Data", "Model", *columns])
    return table[[name for name in table if (table[name] != "").any()]] if len(table) else table


def _shown(line: Line | None, column: Column) -> str:
    if line is None:
        return ""
    if column.decided and line["mean"] in (0, 1):
        return "yes" if line["mean"] else "no"
    low, high = line["low"], line["high"]
    shown = number(line["mean"], 2, column.signed) or "undefined"
    return shown if low == high or low != low else f"{shown} ({interval(low, high, 2)})"


INFORMATION_WORDS = {"frequent": "most frequent", "sampled": "sampled"}
INFORMATION_CAPTION = (
    "In nats, over seeds. Few vectors in many clusters tell something about their words by "
    "chance: the same clusters, shuffled, show how much. At most: the entropy of the words."
)


def information(together: pd.DataFrame) -> pd.DataFrame:
    """A line for each model and way to choose words."""

    def lines(corpus: str, model: str, numbers: Numbers) -> Iterator[Line]:
        for way, words in INFORMATION_WORDS.items():
            own = numbers.get(f"mutual_information:{way}")
            if own is not None:
                chance, most, vectors, clusters = (
                    numbers[f"{name}:{way}"]["mean"]
                    for name in ("chance", "entropy", "vectors", "clusters")
                )
                yield {
                    "Words": words,
                    "Measured": number(own["mean"], 3) or "undefined",
                    "95% interval": interval(own["low"], own["high"], 3),
                    "By chance": number(chance, 3),
                    "At most": number(most, 3),
                    "Vectors": f"{vectors:,.0f}",
                    "Clusters": f"{clusters:,.0f}",
                }

    return _table(together, "mutual_information", lines)


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
    """A line for each model, replacement and way to order the texts; empty for a quarter that equal
    texts left empty."""
    lines = []
    cells = together[together["probe"] == "substitution"]
    cells = cells[cells["measure"].str.startswith("changed:")]
    for (corpus, model), part in cells.groupby(["corpus", "model"], sort=False):
        for when, words in QUARTERS_WORDS.items():
            own = part[part["measure"] == f"changed:{when}"].to_dict("records")
            change = {line["group"]: _points(line) for line in own}
            for by, label in BY.items():
                quarter = [change.get(f"{by}={place}", "") for place in range(1, 5)]
                lines.append((dataset_name(str(corpus)), model, words, label, *quarter))
    return pd.DataFrame(lines, columns=QUARTERS_COLUMNS)


def _points(line: Line) -> str:
    shown = number(100 * line["mean"], 1, signed=True)
    around = interval(100 * line["low"], 100 * line["high"], 1)
    return f"{shown} ({around})" if around else shown


SIGNED = ("delta:", "leak:")
"""How the names of differences begin."""
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
    when = "uniform:train+infer"
    measures = {"F1": "score", "Uniform": f"score:{when}", "Change": f"delta:{when}"}

    def lines(corpus: str, model: str, numbers: Numbers) -> Iterator[Line]:
        if f"score:{when}" in numbers:
            yield {"jain2019": _printed(corpus, model), **_row(numbers, measures)}

    return _table(together, "substitution", lines)


def seeds(together: pd.DataFrame) -> pd.DataFrame:
    """Test 2: how far apart ordinary models are."""
    measures = {"JSD": "jsd_seeds", "Furthest": "jsd_seeds_max", "Δp": "delta_seeds"}
    return _table(together, "seeds", lambda corpus, model, numbers: [_row(numbers, measures)])


def guides(together: pd.DataFrame) -> pd.DataFrame:
    """Test 3: an MLP under each guide."""

    def lines(corpus: str, model: str, numbers: Numbers) -> Iterator[Line]:
        for name, words in GUIDES.items():
            if f"score:{name}" in numbers:
                measures = {
                    "F1": f"score:{name}",
                    "− own": f"delta:{name}:own",
                    "− uniform": f"delta:{name}:uniform",
                    "Attended word": f"attended:{name}",
                    "Leak": f"leak:{name}",
                }
                yield {"Attention": words, **_row(numbers, measures)}

    return _table(together, "guides", lines)


def frontier(together: pd.DataFrame) -> pd.DataFrame:
    """Test 4: an adversary for each λ."""

    def lines(corpus: str, model: str, numbers: Numbers) -> Iterator[Line]:
        for point in points(list(numbers)):
            goal = "the labels" if point.startswith("labels") else "the model's outputs"
            names = {"JSD": "jsd", "TVD": "tvd", "Inside": "alternative"}
            measures = {title: f"{name}:{point}" for title, name in names.items()}
            yield {"Trained for": goal, "λ": f"{weight(point):g}", **_row(numbers, measures)}

    return _table(together, "frontier", lines)


def points(measures: list[str]) -> list[str]:
    """The adversaries by the names in their measures: by λ, those of labels last."""
    found = [name.removeprefix("jsd:") for name in measures if name.startswith("jsd:")]
    return sorted(found, key=lambda name: (name.startswith("labels"), weight(name)))


def weight(point: str) -> float:
    return float(point.removeprefix("labels"))


def _table(
    together: pd.DataFrame, probe: str, lines: Callable[[str, str, Numbers], Iterable[Line]]
) -> pd.DataFrame:
    """The lines of each corpus and model, given the numbers of a probe."""
    table: list[Line] = []
    for (corpus, model), part in lines_of(together, probe).groupby(["corpus", "model"], sort=False):
        numbers: Numbers = {line["measure"]: line for line in part.to_dict("records")}
        place = {"Data": dataset_name(str(corpus)), "Model": str(model)}
        table += [{**place, **line} for line in lines(str(corpus), str(model), numbers)]
    return pd.DataFrame(table).fillna("")


def _row(numbers: Numbers, measures: Mapping[str, str]) -> Line:
    """Each measure under its title, its interval in the next column; and what the interval of the
    first one is over."""
    row: Line = {}
    for title, measure in measures.items():
        line, signed = numbers.get(measure), measure.startswith(SIGNED)
        row[title] = (number(line["mean"], 3, signed) or "undefined") if line else ""
        row[f"{title}, 95%"] = interval(line["low"], line["high"], 3) if line else ""
    first = numbers[next(iter(measures.values()))]
    over = "seeds" if first["interval"] == OVER_SEEDS else "texts"
    return {**row, "Runs": str(first["seeds"]), "Interval over": over}


def _printed(corpus: str, model: str) -> str:
    cells = published("jain2019", "1")
    chosen = (cells["dataset"] == dataset_name(corpus)) & (cells["model"] == model)
    found = cells[chosen & (cells["metric"] == "f1")]["value"]
    return number(float(found.iloc[0])) if len(found) else ""
