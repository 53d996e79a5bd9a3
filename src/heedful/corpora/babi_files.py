"""bAbI's files: stories of plain facts, questions on them, and which facts support the answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from heedful.corpora.example import Example, RawCorpus, Spans, class_names, index_of, numbered
from heedful.corpora.files import MissingData, Publisher, Row, digests, find_files, read_rows
from heedful.errors import HeedfulError
from heedful.specs import PrepareSpec

PUBLISHER = Publisher("the bAbI tasks", "https://research.facebook.com/downloads/babi")
COLUMNS = ("facts", "question", "answer", "support")
LICENCE = "CC BY 3.0"
CITATION = "Weston et al. 2016, Towards AI-Complete Question Answering"
SUBSET = "the training file is the version of 1000 questions, the papers used 10000"

# jain2019: the version of 10000 questions, 15% of them for dev, every word kept, vectors of 50
# numbers that are learned from the start.
DEFAULTS = PrepareSpec(
    tokenizer="spacy", min_df=1, dev_fraction=0.15, vectors="random", dimension=50
)


def read_task(data_dir: Path | None, task: int) -> RawCorpus:
    """One task; the classes are the answers of its training questions."""
    files = find_task(data_dir, task)
    splits = dict(zip(("train", "test"), files, strict=True))
    rows = {split: read_rows(files[name], COLUMNS) for split, name in splits.items()}
    labels = class_names([row["answer"] for row in rows["train"]], splits["train"])
    numbers = numbered(labels)
    examples = [
        _example(row, f"babi{task}-{split}-{number:05d}", split, numbers, story)
        for split in splits
        for number, (row, story) in enumerate(zip(rows[split], _stories(rows[split]), strict=True))
    ]
    subset = splits["train"] == _small(task)
    note = SUBSET if subset else ""
    return RawCorpus(labels, examples, digests(files), subset=subset, note=note)


def find_task(data_dir: Path | None, task: int) -> dict[str, Path]:
    """The training file of 10000 questions where it is there, else that of 1000; then the test
    file."""
    test = f"babi/qa{task}_test.jsonl.gz"
    try:
        return find_files(data_dir, [f"babi/qa{task}_train.jsonl.gz", test], PUBLISHER)
    except MissingData:
        if data_dir is None or not (data_dir / _small(task)).is_file():
            raise
        return find_files(data_dir, [_small(task), test], PUBLISHER)


def fact_spans(facts: list[str], chosen: list[int]) -> Spans:
    """Where the chosen facts stand when all are written one to a line."""
    starts = [0]
    for fact in facts:
        starts.append(starts[-1] + len(fact) + 1)
    return [(starts[i], starts[i] + len(facts[i])) for i in sorted(set(chosen))]


def _stories(rows: list[Row]) -> Iterator[int]:
    """The number of each question's story: a story goes on where all that was told before is
    told again."""
    story, told = -1, list[str]()
    for row in rows:
        if story < 0 or row["facts"][: len(told)] != told:
            story += 1
        told = row["facts"]
        yield story


def _example(row: Row, name: str, split: str, labels: dict[str, int], story: int) -> Example:
    facts, support = row["facts"], row["support"]
    if not all(0 <= fact < len(facts) for fact in support):
        raise HeedfulError(f"{name} is supported by a fact that is not there: get the file again.")
    texts = {"a": "\n".join(facts), "b": row["question"]}
    label = index_of(row["answer"], labels, split, int(name[-5:]) + 1)
    marks = {"a": fact_spans(facts, support)}
    cluster = f"{name.rpartition('-')[0]}-story-{story:04d}"
    return Example(name, split, texts, label, rationales=marks, cluster=cluster)


def _small(task: int) -> str:
    return f"babi/qa{task}_train_1k.jsonl.gz"
