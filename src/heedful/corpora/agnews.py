"""AG News as jain2019 used it: world against business."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import Publisher, Train, digests, find_train, read_rows
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "AG's corpus of news articles", "http://www.di.unipi.it/~gulli/AG_corpus_of_news_articles.html"
)
TEST = "ag_news/test.jsonl.gz"
CLASSES = {0: 0, 2: 1}  # the four topics are World, Sports, Business, Sci/Tech


def read(data_dir: Path | None) -> RawCorpus:
    """Articles on sports and on science are dropped."""
    train = _train(data_dir)
    examples, other = [], 0
    for split, name in (("train", train.name), ("test", TEST)):
        for number, row in enumerate(read_rows(train.files[name], ("text", "label"))):
            if row["label"] in CLASSES:
                text = {"a": row["text"]}
                label = CLASSES[row["label"]]
                examples.append(Example(f"agnews-{split}-{number:06d}", split, text, label))
            else:
                other += 1
    return RawCorpus(
        ("world", "business"),
        examples,
        digests(train.files),
        subset=train.subset,
        note=train.note,
        dropped={"sports or science": other},
    )


def find(data_dir: Path | None) -> dict[str, Path]:
    return _train(data_dir).files


def _train(data_dir: Path | None) -> Train:
    return find_train(data_dir, "ag_news", [TEST], PUBLISHER)


DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=5, dev_fraction=0.15, vectors="glove")

PIECE = Piece(
    name="agnews",
    description="News in a title and a sentence or two, world or business",
    make=read,
    find=find,
    paper="jain2019",
    needs=("data",),
    licence="free for research and other non-commercial use",
    citation="Zhang et al. 2015, Character-level Convolutional Networks for Text Classification",
)
