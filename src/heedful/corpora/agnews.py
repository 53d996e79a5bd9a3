"""AG News as jain2019 used it: world against business."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.readers import read_rows
from heedful.corpora.sources import MissingData, Publisher, digests, find_files
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "AG's corpus of news articles", "http://www.di.unipi.it/~gulli/AG_corpus_of_news_articles.html"
)
CLASSES = {0: 0, 2: 1}  # the four topics are World, Sports, Business, Sci/Tech


def read(data_dir: Path | None) -> RawCorpus:
    """The whole training file where it is there, else the part of it in `train_subset`."""
    try:
        files = find_files(data_dir, ["ag_news/train.jsonl.gz", "ag_news/test.jsonl.gz"], PUBLISHER)
        subset = False
    except MissingData:
        part = ["ag_news/train_subset.jsonl.gz", "ag_news/test.jsonl.gz"]
        files = find_files(data_dir, part, PUBLISHER)
        subset = True
    examples, other = [], 0
    for split, path in zip(("train", "test"), files.values(), strict=True):
        for number, row in enumerate(read_rows(path, ("text", "label"))):
            if row["label"] in CLASSES:
                name = f"agnews-{split}-{number:06d}"
                text = {"a": row["text"]}
                examples.append(Example(name, split, text, CLASSES[row["label"]]))
            else:
                other += 1
    return RawCorpus(
        ("world", "business"),
        examples,
        digests(files),
        subset=subset,
        note="the training file is a part of the published one" if subset else "",
        dropped={"sports or science": other},
    )


DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=5, dev_fraction=0.15, vectors="glove")

PIECE = Piece(
    name="agnews",
    description="News in a title and a sentence or two, world or business",
    make=read,
    paper="jain2019",
    needs=("data",),
    licence="free for research and other non-commercial use",
    citation="Zhang et al. 2015, Character-level Convolutional Networks for Text Classification",
)
