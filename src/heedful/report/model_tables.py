"""Tables of models for what papers do not print: with intervals, a line for each model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.report.evidence import OVER_SEEDS
from heedful.report.formats import interval, number
from heedful.studies import dataset_name, published


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
CAPTIONS = {
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
