"""Results of a study so far: progress, agreement (Cohen's κ, Krippendorff's α), tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from heedful.apps.annotation.database import RELEVANCE
from heedful.apps.annotation.study import JUDGEMENTS, Study
from heedful.metrics import bootstrap_statistic, cohen_kappa, krippendorff, wilson
from heedful.store import output_folder, refusals, to_csv
from heedful.studies import dataset_name, published

Answers = Mapping[str, Mapping[int, Any]]
Block = NDArray[np.float64]
RESAMPLES = 300
RESULTS = "annotation results"
"""The kind of folder."""
VERSION = 1
"""Of `results.json`."""
MANY = 10  # pairs of annotators that are still listed one by one


def results(study: Study) -> dict[str, Any]:
    """As plain values; None where a number is undefined."""
    answers = study.everybody()
    seed = int(study.facts["seed"])
    names = [each.name for each in study.annotators()]
    found: dict[str, Any] = {
        "task": study.task,
        "study": dict(study.facts),
        "items": len(study.items),
        "progress": [{"annotator": n, "answered": len(answers.get(n, {}))} for n in names],
        "agreement": asdict(agreement(study, answers, seed)),
    }
    if study.task == RELEVANCE:
        rows = judgements(study, answers)
        corpus = str(study.facts["source"]).partition(",")[0]
        found["figure5"] = figure5(rows).to_dict("records")
        found["unsure"] = unsure(rows)
        found["published"] = published_figure5(corpus)
        found["same_corpus"] = is_published(corpus)
    else:
        found["marked"] = _marked(study, answers)
    plain: dict[str, Any] = _defined(found)
    return plain


def judgements(study: Study, answers: Answers) -> pd.DataFrame:
    """One row per answer to an item of the task `relevance`."""
    rows = [
        (number, item.example, item.shown, item.correct, name, value)
        for name, said in answers.items()
        for number, value in said.items()
        for item in [study.items[number]]
    ]
    columns = ["item", "example", "shown", "correct", "annotator", "value"]
    return pd.DataFrame(rows, columns=columns)


def _marked(study: Study, answers: Answers) -> list[dict[str, Any]]:
    """The share of words that each annotator marks."""
    return [
        {
            "annotator": name,
            "words": sum(len(words) for words in said.values()),
            "of": sum(study.items[number].length for number in said),
        }
        for name, said in answers.items()
    ]


def _defined(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _defined(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_defined(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Pair:
    """Two annotators, the items both have answered, and κ over these."""

    one: str
    other: str
    items: int
    kappa: float


@dataclass(frozen=True)
class Agreement:
    """`mean_kappa` is over the pairs that have a κ; `low` and `high` bound α."""

    pairs: tuple[Pair, ...]
    mean_kappa: float
    alpha: float = math.nan
    low: float = math.nan
    high: float = math.nan


def agreement(study: Study, answers: Mapping[str, Mapping[int, Any]], seed: int = 0) -> Agreement:
    """Of judgements of items or, for rationales, of each word: was it marked? α's interval
    resamples items with all their words."""
    names = [name for name in answers if answers[name]]
    items = sorted({item for name in names for item in answers[name]})
    blocks = [_block(study, item, [answers[name].get(item) for name in names]) for item in items]
    pairs = tuple(
        _pair((names[i], names[j]), [block[[i, j]] for block in blocks])
        for i, j in combinations(range(len(names)), 2)
    )
    kappas = [pair.kappa for pair in pairs if not math.isnan(pair.kappa)]
    mean_kappa = float(np.mean(kappas)) if kappas else math.nan
    several = [block for block in blocks if (~np.isnan(block)).any(1).sum() > 1]
    if not several:
        return Agreement(pairs, mean_kappa)

    def drawn(chosen: NDArray[np.int64]) -> float:
        return krippendorff(np.concatenate([several[i] for i in chosen], axis=1))

    everything = np.arange(len(several))
    interval = bootstrap_statistic(drawn, (everything,), seed, RESAMPLES)
    return Agreement(pairs, mean_kappa, drawn(everything), *interval)


def _pair(names: tuple[str, str], blocks: Sequence[Block]) -> Pair:
    both = [block for block in blocks if not np.isnan(block).any()]
    if not both:
        return Pair(*names, 0, math.nan)
    one, other = np.concatenate(both, axis=1).astype(np.int64)
    return Pair(*names, len(both), cohen_kappa(one, other))


def _block(study: Study, item: int, said: Sequence[Any]) -> Block:
    """[annotators, units] of one item; NaN for who has not answered."""
    if study.task == RELEVANCE:
        numbers = [[np.nan if v is None else JUDGEMENTS.index(v)] for v in said]
        return np.array(numbers, dtype=np.float64)
    length = study.items[item].length
    block = np.full((len(said), length), np.nan)
    for row, words in enumerate(said):
        if words is not None:
            block[row] = 0.0
            block[row, words] = 1.0
    return block


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """For a terminal: progress, tables, then agreement."""
    for each in found["progress"]:
        yield f"{each['annotator']}: {each['answered']} of {found['items']} answered"
    if found["task"] == RELEVANCE:
        for shown in SHOWN:
            yield from ("", *_figure(found, shown))
    else:
        for each in found["marked"]:
            yield f"{each['annotator']}: marked {each['words']} of {each['of']} words"
    yield ""
    yield from _agreement_lines(found["agreement"])


def write_tables(study: Study, found: Mapping[str, Any], folder: Path) -> None:
    """`results.json`, `agreement.csv`, and of the task `relevance` `figure5.csv` and
    `judgements.csv`."""
    refused = refusals(f"write {folder}", "make room or give another folder")
    with refused, output_folder(folder, RESULTS) as building:
        for name, text in _texts(study, found).items():
            (building / name).write_text(text, encoding="utf8", newline="\n")


def _texts(study: Study, found: Mapping[str, Any]) -> dict[str, str]:
    text = json.dumps({"schema_version": VERSION, **found}, indent=2, ensure_ascii=False)
    columns = ["one", "other", "items", "kappa"]
    pairs = pd.DataFrame(found["agreement"]["pairs"], columns=columns)
    texts = {"results.json": text, "agreement.csv": to_csv(pairs)}
    if study.task == RELEVANCE:
        cells = pd.DataFrame(found["figure5"])
        for dataset, numbers in found["published"].items():
            keys = cells["shown"] + ":" + cells["cell"]
            cells[f"published {dataset}"] = [numbers.get(key) for key in keys]
        rows = judgements(study, study.everybody())
        texts |= {"figure5.csv": to_csv(cells), "judgements.csv": to_csv(rows)}
    return texts


def _figure(found: Mapping[str, Any], shown: str) -> Iterator[str]:
    cells = [cell for cell in found["figure5"] if cell["shown"] == shown]
    count = sum(cell["answers"] for cell in cells)
    yield f"{shown} weights: {count} answers, {found['unsure'][shown]} unsure"
    for cell in cells:
        key = f"{shown}:{cell['cell']}"
        printed = found["published"].items()
        beside = ", ".join(f"{name} {numbers[key]:g}" for name, numbers in printed)
        yield f"  {cell['cell']:<24} {_percent(cell):<28} published: {beside}"


def _percent(cell: Mapping[str, Any]) -> str:
    if cell["percent"] is None:
        return "no answer yet"
    return f"{cell['percent']:.1f} %{_interval(cell, 1)}"


def _interval(of: Mapping[str, Any], digits: int) -> str:
    if of["low"] is None:
        return ""
    return f"  [{of['low']:.{digits}f}, {of['high']:.{digits}f}]"


def _agreement_lines(of: Mapping[str, Any]) -> Iterator[str]:
    if of["alpha"] is None:
        yield "Krippendorff's α: not defined yet (two annotators must answer the same items)"
    else:
        yield f"Krippendorff's α {of['alpha']:.3f}{_interval(of, 3)}"
    if of["mean_kappa"] is not None:
        yield f"Cohen's κ {of['mean_kappa']:.3f}, mean of {len(of['pairs'])} pairs"
    for pair in of["pairs"][:MANY]:
        kappa = "not defined" if pair["kappa"] is None else f"{pair['kappa']:.3f}"
        yield f"  {pair['one']} and {pair['other']}: κ {kappa} over {pair['items']} items"


# The judgements as vashishth2019's Figure 5 counts them, beside what it printed.

SHOWN = ("original", "permuted")
FIGURE5_CELLS = {
    "correct+meaningful": (True, "yes"),
    "correct+not_meaningful": (True, "no"),
    "wrong+meaningful": (False, "yes"),
    "wrong+not_meaningful": (False, "no"),
}
"""A cell's published name → whether the prediction is right, and the answer."""
FIGURE5_COLUMNS = ["shown", "cell", "answers", "percent", "low", "high"]


def figure5(judgements: pd.DataFrame) -> pd.DataFrame:
    """Per cent of all yes and no answers under each kind of weights; `unsure` takes no part.

    `judgements` has a row per answer: `example, shown, correct, value`. Intervals count texts,
    not answers: two people's answers to one text are not two texts.
    """
    lines = [
        _figure5_line(judgements[judgements["shown"] == shown], shown, cell)
        for shown in SHOWN
        for cell in FIGURE5_CELLS
    ]
    return pd.DataFrame(lines, columns=FIGURE5_COLUMNS)


def unsure(judgements: pd.DataFrame) -> dict[str, int]:
    """How many answers were neither yes nor no, by what was shown."""
    rows = judgements[~judgements["value"].isin(["yes", "no"])]
    return {shown: int((rows["shown"] == shown).sum()) for shown in SHOWN}


def published_figure5(corpus: str) -> dict[str, dict[str, float]]:
    """`shown:cell` and `cohen_kappa` by data set: those of the corpus where the paper has it,
    else all, to be read as numbers of other data."""
    table = published("vashishth2019", "fig5")
    name = dataset_name(corpus)
    same = table[table["dataset"].map(lambda printed: _is_part(name, printed))]
    kept = table if same.empty else same
    return {
        str(dataset): {
            str(metric).removeprefix("human_percent:"): float(value)
            for metric, value in zip(part["metric"], part["value"], strict=True)
        }
        for dataset, part in kept.groupby("dataset", sort=False)
    }


def is_published(corpus: str) -> bool:
    """Whether the paper's figure is of this very corpus."""
    printed = published("vashishth2019", "fig5")["dataset"]
    return any(_is_part(dataset_name(corpus), name) for name in printed)


def _is_part(name: str, printed: str) -> bool:
    """`bAbI 1` is a part of what the paper calls bAbI."""
    return name == printed or name.startswith(f"{printed} ")


def _figure5_line(judgements: pd.DataFrame, shown: str, cell: str) -> list[object]:
    right, answer = FIGURE5_CELLS[cell]
    told = judgements[judgements["value"].isin(["yes", "no"])]
    hits = int(((told["correct"] == right) & (told["value"] == answer)).sum())
    share = hits / len(told) if len(told) else math.nan
    low, high = wilson(share, told["example"].nunique())
    return [shown, cell, hits, 100 * share, 100 * low, 100 * high]
