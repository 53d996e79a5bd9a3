"""Whole movie reviews with the passages that show their sentiment, as ERASER has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heedful.catalogue import Piece
from heedful.corpora.example import Example, GivenTokens, RawCorpus
from heedful.corpora.files import Publisher, digests, find_files, read_rows
from heedful.corpora.tokenize import tokenizer
from heedful.errors import HeedfulError
from heedful.specs import PrepareSpec

PUBLISHER = Publisher("ERASER's movie reviews", "https://www.eraserbenchmark.com")
FILES = {split: f"movies_rationales/{split}.jsonl.gz" for split in ("train", "dev", "test")}


def read(data_dir: Path | None) -> RawCorpus:
    """A sentence a line. Only the test set was annotated again so that all telling passages
    are marked; in train and dev some are (a tenth of the tokens against a third). A few
    published spans are empty and mark nothing."""
    files = find(data_dir)
    columns = ("id", "sentences", "label", "rationale_spans")
    examples = [
        _example(split, row)
        for split, name in FILES.items()
        for row in read_rows(files[name], columns)
    ]
    note = "rationales are exhaustive in the test set only"
    return RawCorpus(("negative", "positive"), examples, digests(files), note=note)


def _example(split: str, row: dict[str, Any]) -> Example:
    text = "\n".join(row["sentences"])
    found = next(tokenizer("whitespace")([text]))
    tokens = list(zip(found.words, found.starts.tolist(), found.ends.tolist(), strict=True))
    marked = [(start, end) for start, end in row["rationale_spans"] if start != end]
    spans = [_characters(tokens, start, end, row["id"]) for start, end in marked]
    return Example(
        f"movies-{row['id']}",
        split,
        {"a": text},
        int(row["label"]),
        {"a": tokens},
        {"a": spans} if spans else None,
    )


def _characters(tokens: GivenTokens, start: int, end: int, name: str) -> tuple[int, int]:
    """From positions of tokens to characters of the text."""
    if not 0 <= start < end <= len(tokens):
        raise HeedfulError(
            f"the review {name} has the rationale [{start}, {end}) and {len(tokens)} tokens: "
            f"get the file again from {PUBLISHER.homepage}."
        )
    return tokens[start][1], tokens[end - 1][2]


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, list(FILES.values()), PUBLISHER)


DEFAULTS = PrepareSpec(tokenizer="given", min_df=2, vectors="glove")

PIECE = Piece(
    name="movies",
    description="Whole movie reviews, negative or positive, with marked passages",
    make=read,
    find=find,
    paper="deyoung2020",
    needs=("data",),
    licence="research use",
    citation="DeYoung et al. 2020, ERASER; Zaidan et al. 2007; Pang and Lee 2004",
)
