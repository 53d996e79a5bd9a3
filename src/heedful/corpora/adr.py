"""Tweets that do or do not mention an adverse drug reaction."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import Publisher, digests, find_files, read_rows
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "the DIEGO lab's Twitter ADR corpus", "http://diego.asu.edu/Publications/ADRMine.html"
)
FILES = {"train": "adr_tweets/train.jsonl.gz", "test": "adr_tweets/dev.jsonl.gz"}


def read(data_dir: Path | None) -> RawCorpus:
    """The only labelled held-out part is called dev; it is our test set."""
    files = find(data_dir)
    examples = [
        Example(f"adr-{split}-{row['id']}", split, {"a": row["text"]}, int(row["label"]))
        for split, name in FILES.items()
        for row in read_rows(files[name], ("id", "text", "label"))
    ]
    return RawCorpus(
        ("no reaction", "adverse reaction"),
        examples,
        digests(files),
        subset=True,
        note="a sample of the published corpus",
    )


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, list(FILES.values()), PUBLISHER)


DEFAULTS = PrepareSpec(
    tokenizer="spacy", min_df=2, min_length=5, max_length=100, dev_fraction=0.15, vectors="glove"
)

PIECE = Piece(
    name="adr",
    description="Tweets, with or without an adverse drug reaction",
    make=read,
    find=find,
    paper="jain2019",
    needs=("data",),
    licence="unknown; tweets for research use",
    citation="Nikfarjam et al. 2015, Pharmacovigilance from Social Media",
)
