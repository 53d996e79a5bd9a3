"""HateXplain: posts with the words that made annotators call them hateful or offensive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus, join_tokens, marked_spans
from heedful.corpora.files import Publisher, digests, find_files, read_rows
from heedful.specs import PrepareSpec

PUBLISHER = Publisher("HateXplain", "https://github.com/hate-alert/HateXplain")
LABELS = ("hatespeech", "normal", "offensive")
COLUMNS = ("post_id", "tokens", "label", "rationales")
MAJORITY = 2  # of three annotators; one who found a post normal marked nothing
FILES = {split: f"hatexplain/{split}.jsonl.gz" for split in ("train", "dev", "test")}


def read(data_dir: Path | None) -> RawCorpus:
    """The label is the annotators' majority, and so is the rationale: a word belongs to it
    where at least two of the three marked it. Normal posts have none."""
    files = find(data_dir)
    examples = [
        _example(split, row)
        for split, name in FILES.items()
        for row in read_rows(files[name], COLUMNS)
    ]
    return RawCorpus(LABELS, examples, digests(files), note="contains offensive language")


def _example(split: str, row: dict[str, Any]) -> Example:
    votes = majority(row["rationales"], len(row["tokens"]))
    kept = [i for i, token in enumerate(row["tokens"]) if token.strip()]
    text, tokens = join_tokens([row["tokens"][i] for i in kept])
    spans = marked_spans(tokens, [votes[i] for i in kept])
    return Example(
        f"hatexplain-{row['post_id']}",
        split,
        {"a": text},
        LABELS.index(row["label"]),
        {"a": tokens},
        None if spans is None else {"a": spans},
    )


def majority(rationales: Sequence[str], size: int) -> list[bool]:
    """Which tokens at least two annotators marked. One post has a rationale of another length
    than its tokens: it is taken as one that nobody marked."""
    if any(len(marks) != size for marks in rationales):
        return [False] * size
    return [sum(marks[i] == "1" for marks in rationales) >= MAJORITY for i in range(size)]


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, list(FILES.values()), PUBLISHER)


DEFAULTS = PrepareSpec(tokenizer="given", min_df=2, vectors="glove")

PIECE = Piece(
    name="hatexplain",
    description="Social-media posts, hateful, offensive or normal, with marked words",
    make=read,
    find=find,
    paper="mathew2021",
    needs=("data",),
    licence="MIT",
    citation="Mathew et al. 2021, HateXplain: A Benchmark Dataset for Explainable Hate Speech",
)
