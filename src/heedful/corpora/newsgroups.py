"""20 Newsgroups, baseball against hockey, as jain2019 used it: bodies only, split again."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import Publisher, digests, find_files, read_rows
from heedful.corpora.posts import own_words
from heedful.specs import PrepareSpec

PUBLISHER = Publisher("20 Newsgroups (by date)", "http://qwone.com/~jason/20Newsgroups")
FILES = ("20news_sports/train.jsonl.gz", "20news_sports/test.jsonl.gz")


def read(data_dir: Path | None) -> RawCorpus:
    """Both published splits pooled: `prepare` cuts 64/16/20 by its seed."""
    files = find(data_dir)
    rows = [
        row
        for path in files.values()
        for row in read_rows(path, ("id", "text", "label", "body_start"))
    ]
    examples = [
        Example(
            f"20news-{row['id']}",
            "",
            {"a": own_words(row["text"][row["body_start"] :])},
            int(row["label"]),
        )
        for row in rows
    ]
    return RawCorpus(("baseball", "hockey"), examples, digests(files))


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, FILES, PUBLISHER)


DEFAULTS = PrepareSpec(
    tokenizer="spacy",
    min_df=2,
    min_length=6,
    max_length=500,
    dev_fraction=0.2,
    test_fraction=0.2,
    vectors="glove",
)

PIECE = Piece(
    name="20news",
    description="Newsgroup posts without headers, footers and quotes, baseball or hockey",
    make=read,
    find=find,
    paper="jain2019",
    needs=("data",),
    licence="unknown; the usual public research corpus",
    citation="Lang 1995, NewsWeeder: Learning to Filter Netnews",
)
