"""The corpora and the settings of a paper's tables beside those that were used: sizes, lengths,
vocabularies (jain2019's and serrano2019's Table 1, tutek2020's Table 5), and tutek2020's Table 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.evidence import CorpusReport, Evidence
from heedful.report.formats import number
from heedful.studies import dataset_name, printed_corpora

STATISTICS = {
    "vocabulary": "words known",
    "words": "length",
    "sentences": "sentences",
    "train": "training",
    "train_dev": "training and dev",
    "test": "test",
    "classes": "classes",
}
"""A printed statistic in words, in the order of the columns."""
LENGTHS = (
    "Lengths are in words, of training texts; of a pair, of the text that is attended. “Words "
    "known” includes the four special ones. Sizes are by class if the paper’s are. Training texts "
    "exclude those of the dev split."
)
OVER_ALL = (
    "Words and sentences in a text: mean (standard deviation) over all splits; blank if the "
    "texts are missing."
)
NAMED = {
    "jain2019": ("1", LENGTHS),
    "serrano2019": ("1", OVER_ALL),
    "tutek2020": ("5", LENGTHS),
}
"""The table of each paper that has one, and how to read it."""


def corpora_table(evidence: Evidence, paper: str) -> tuple[str, str, pd.DataFrame]:
    """Its number, its caption, and a line for each corpus that the paper prints something of; the
    frame is empty where there is none."""
    table, caption = NAMED.get(paper, ("", ""))
    printed = printed_corpora(paper)
    asked = [name for name in STATISTICS if name in set(printed["statistic"])]
    values = {
        (str(line["dataset"]), str(line["statistic"])): _with_spread(line)
        for line in printed.to_dict("records")
    }
    printed_of = {dataset for dataset, _ in values}
    lines, anything = [], False
    for corpus, run in _corpora(evidence):
        report = evidence.corpus_report(run)
        known = report.stands_for or dataset_name(corpus)
        if known not in printed_of:
            continue
        own = _measured(report, _texts(evidence, run), spread=paper == "serrano2019")
        by_class = "/" in values.get((known, "train"), "/")
        anything |= any(own[name] for name in asked)
        cells = {"Data": dataset_name(corpus)}
        for name in asked:
            title = STATISTICS[name]
            cells[f"{title}, paper"] = values.get((known, name), "")
            cells[title[:1].upper() + title[1:]] = own[name] if by_class else _total(own[name])
        cells["Note"] = f"substitute for {report.stands_for}" if report.stands_for else ""
        lines.append(cells)
    return table, caption, pd.DataFrame(lines if anything else [])


def _with_spread(line: Mapping[Any, Any]) -> str:
    return f"{line['value']} ({line['sd']})" if line["sd"] else str(line["value"])


def _corpora(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Each corpus once, with one of its runs."""
    once = evidence.cells.drop_duplicates("corpus")
    yield from ((str(c), str(run)) for c, run in once[["corpus", "corpus_run"]].to_numpy())


@dataclass(frozen=True)
class Texts:
    """Words and sentences of each text."""

    words: np.ndarray
    sentences: np.ndarray


def _texts(evidence: Evidence, corpus_run: str) -> Texts | None:
    """None where the texts are not here."""
    if not corpus_run or not evidence.store.has(corpus_run):
        return None
    table = evidence.store.open(corpus_run).table("examples")
    if "sentences_a" not in table:
        return None
    words = np.array([len(starts) for starts in table["starts_a"]])
    sentences = np.array([1 + max(row, default=-1) for row in table["sentences_a"]])
    return Texts(words, sentences)


def _measured(report: CorpusReport, texts: Texts | None, spread: bool) -> dict[str, str]:
    """Every statistic as text; empty where it is not known."""
    sizes = {split: _sizes(report, split) for split in ("train", "dev", "test")}
    together = [a + b for a, b in zip(sizes["train"], sizes["dev"], strict=False)]
    length = float(report.splits.get("train", {}).get("average_length", math.nan))
    return {
        "vocabulary": str(report.vocabulary) if report.vocabulary else "",
        "words": _mean(texts.words if texts else None, 0) if spread else number(length, 0),
        "sentences": _mean(texts.sentences if texts else None, 1),
        "train": _parts(sizes["train"]),
        "train_dev": _total(_parts(together)),
        "test": _parts(sizes["test"]),
        "classes": str(len(report.labels)) if report.labels else "",
    }


def _sizes(report: CorpusReport, split: str) -> list[int]:
    part = report.splits.get(split, {})
    return [int(count) for count in part.get("by_class", ())]


def _parts(counts: list[int]) -> str:
    return " / ".join(map(str, counts))


def _total(sizes: str) -> str:
    """Of `3 / 4` the sum; anything else stays."""
    parts = sizes.split(" / ")
    return str(sum(map(int, parts))) if len(parts) > 1 else sizes


def _mean(values: np.ndarray | None, digits: int) -> str:
    if values is None or not len(values):
        return ""
    spread = f" ({number(float(values.std(ddof=1)), digits)})" if len(values) > 1 else ""
    return f"{number(float(values.mean()), digits)}{spread}"


# tutek2020's Table 4.

SETTINGS = {
    "embedding": ("numbers in an embedding", "300"),
    "hidden": ("numbers in a state, per direction", "150"),
    "learning_rate": ("learning rate", "0.001"),
    "clip": ("gradients clipped at", "5"),
    "batch_size": ("batch size", "32"),
    "weight_decay": ("weight decay", "1e-05"),
    "share": ("share of words masked", "0.15"),
    "mlm": ("weight of guessing masked words", "0.1, 0.3, 1, 3, 5"),
    "tying": ("weight of tying", "10, 20, 30"),
}
"""In words, and what tutek2020's Table 4 prints."""
SETTINGS_CAPTION = (
    "The paper tries several weights of its terms and prints the best; here each model has the one "
    "in its name. Tying’s is on the squared distance summed over the vector."
)


def settings_table(evidence: Evidence) -> pd.DataFrame:
    """A line for each setting; of several models, every value."""
    found: dict[str, set[str]] = {name: set() for name in SETTINGS}
    for cell in evidence.cells.drop_duplicates("model_run").to_dict("records"):
        for name, value in _settings(evidence, cell):
            found[name].add(value)
    lines = [
        (words, printed, ", ".join(sorted(found[name], key=float)))
        for name, (words, printed) in SETTINGS.items()
        if found[name]
    ]
    return pd.DataFrame(lines, columns=["Setting", "Paper", "Here"])


def _settings(evidence: Evidence, cell: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    dimension = evidence.corpus_report(str(cell["corpus_run"])).dimension
    if dimension:
        yield "embedding", str(dimension)
    spec = evidence.model_spec(str(cell["model_run"]))
    if spec is None:
        return
    if spec.hidden:
        yield "hidden", str(spec.hidden)
    for term in spec.terms:
        if term.name in SETTINGS:
            yield term.name, f"{term.weight:g}"
        if term.name == "mlm":
            yield "share", f"{dict(term.params).get('share', 0.15):g}"
    train = evidence.model_facts(str(cell["model_run"])).get("train") or {}
    for name in ("learning_rate", "clip", "batch_size", "weight_decay"):
        if train.get(name) is not None:
            yield name, f"{train[name]:g}"
