"""The Large Movie Review Dataset as jain2019 used it: short reviews, a sample of the test set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.readers import read_rows
from heedful.corpora.sources import Publisher, digests, find_files
from heedful.corpora.splitting import pick
from heedful.errors import HeedfulError
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "the Large Movie Review Dataset", "https://ai.stanford.edu/~amaas/data/sentiment"
)
BREAK = "<br />"


def read(data_dir: Path | None, test_sample: float = 0.2, seed: int = 0) -> RawCorpus:
    """`test_sample` of the test set, drawn by a hash of the ids: jain2019 drew theirs from
    texts sorted by length, which is no random sample."""
    if not 0 < test_sample <= 1:
        raise HeedfulError(f"test_sample is {test_sample}: give a number above 0 and up to 1.")
    names = {split: f"imdb/{split}.jsonl.gz" for split in ("train", "test")}
    files = find_files(data_dir, list(names.values()), PUBLISHER)
    train, test = (
        [_example(split, row) for row in read_rows(files[name], ("id", "text", "label"))]
        for split, name in names.items()
    )
    ids = [example.id for example in test]
    kept = set(pick(ids, round(len(ids) * test_sample), seed, "test sample"))
    sampled = [example for example in test if example.id in kept]
    return RawCorpus(
        ("negative", "positive"),
        train + sampled,
        digests(files),
        dropped={"test set, not sampled": len(test) - len(sampled)},
    )


def _example(split: str, row: dict[str, Any]) -> Example:
    return Example(
        f"imdb-{split}-{row['id']}", split, {"a": blank_breaks(row["text"])}, row["label"]
    )


def blank_breaks(text: str) -> str:
    """A line break of the same length in place of the HTML one: offsets into the original
    text stay right."""
    return text.replace(BREAK, "\n" + " " * (len(BREAK) - 1))


DEFAULTS = PrepareSpec(
    tokenizer="spacy", min_df=10, max_length=399, dev_fraction=0.2, vectors="glove"
)

PIECE = Piece(
    name="imdb",
    description="Movie reviews under 400 tokens, negative or positive",
    make=read,
    paper="jain2019",
    needs=("data",),
    licence="research use; cite the paper",
    citation="Maas et al. 2011, Learning Word Vectors for Sentiment Analysis",
)
