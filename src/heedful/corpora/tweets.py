"""Tweets with the part a person chose as carrying the sentiment."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import Publisher, digests, find_files, read_rows
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "Tweet Sentiment Extraction", "https://www.kaggle.com/c/tweet-sentiment-extraction"
)
FILE = "tweet_sentiment_spans/all.jsonl.gz"
LABELS = ("negative", "positive")


def read(data_dir: Path | None) -> RawCorpus:
    """Negative and positive tweets: of the neutral ones most were marked from end to end,
    which explains nothing. There is no published split, so `prepare` cuts one by a hash."""
    files = find(data_dir)
    rows = read_rows(files[FILE], ("id", "text", "label", "span"))
    examples = [
        Example(
            f"tweets-{row['id']}",
            "",
            {"a": row["text"]},
            LABELS.index(row["label"]),
            rationales={"a": [(row["span"][0], row["span"][1])]},
        )
        for row in rows
        if row["label"] in LABELS
    ]
    dropped = {"neutral": len(rows) - len(examples)}
    return RawCorpus(LABELS, examples, digests(files), dropped=dropped)


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, [FILE], PUBLISHER)


DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=2, vectors="glove")

PIECE = Piece(
    name="tweets",
    description="Tweets, negative or positive, with the part that says so",
    make=read,
    find=find,
    paper="kaggle2020",
    needs=("data",),
    licence="CC BY 4.0",
    citation="Maggie, Culliton and Chen 2020, Tweet Sentiment Extraction (Kaggle)",
)
