"""wiegreffe2019's four tests as tables: even attention, seeds, guides, adversaries.

The paper prints no such numbers, so nothing stands beside them but jain2019's F1 of the same
model, where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from heedful.report.display import interval, number
from heedful.report.measured import OVER_SEEDS
from heedful.studies import dataset_name, published

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
