"""The Large Movie Review Dataset as jain2019 used it: short reviews, a sample of the test set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heedful.catalogue import SHARE, Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import Publisher, digests, find_files, read_rows
from heedful.corpora.splitting import pick
from heedful.errors import HeedfulError
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "the Large Movie Review Dataset", "https://ai.stanford.edu/~amaas/data/sentiment"
)
FILES = {split: f"imdb/{split}.jsonl.gz" for split in ("train", "test")}
BREAK = "<br />"


def read(data_dir: Path | None, test_sample: float = 0.2, seed: int = 0) -> RawCorpus:
    """`test_sample` of the test set, drawn by a hash of the ids: jain2019 drew theirs from
    texts sorted by length, which is no random sample."""
    check_sample(test_sample)
    files = find(data_dir)
    train, test = (
        [_example(split, row) for row in read_rows(files[name], ("id", "text", "label"))]
        for split, name in FILES.items()
    )
    sampled, dropped = sample(test, test_sample, seed)
    return RawCorpus(("negative", "positive"), train + sampled, digests(files), dropped=dropped)


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, list(FILES.values()), PUBLISHER)


def check_sample(share: float) -> None:
    if not 0 < share <= 1:
        raise HeedfulError(f"test_sample is {share}: give a number above 0 and up to 1.")


def sample(test: list[Example], share: float, seed: int) -> tuple[list[Example], dict[str, int]]:
    """The drawn reviews, and how many were not."""
    ids = [example.id for example in test]
    kept = set(pick(ids, round(len(ids) * share), seed, "test sample"))
    drawn = [example for example in test if example.id in kept]
    return drawn, {"test set, not sampled": len(test) - len(drawn)}


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
    bounds={"test_sample": SHARE},
    find=find,
    paper="jain2019",
    needs=("data",),
    licence="research use; cite the paper",
    citation="Maas et al. 2011, Learning Word Vectors for Sentiment Analysis",
)
