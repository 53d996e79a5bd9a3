"""Multi-genre natural language inference, tested on the matched part of its dev set."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import RawCorpus
from heedful.corpora.files import Publisher, Train, digests, find_train
from heedful.corpora.inference import LABELS, read_pairs
from heedful.specs import PrepareSpec

PUBLISHER = Publisher("MultiNLI", "https://cims.nyu.edu/~sbowman/multinli")
TEST = "mnli/dev_matched.jsonl.gz"
NOTE = "tested on the published dev set (matched), dev is cut from train"


def read(data_dir: Path | None) -> RawCorpus:
    """The published test set has no labels, so the matched dev set is tested on, and
    `prepare` cuts a dev set from train."""
    train = _train(data_dir)
    examples, without = [], 0
    for split, name in (("train", train.name), ("test", TEST)):
        pairs, left_out = read_pairs(train.files[name], "mnli", split)
        examples += pairs
        without += left_out
    return RawCorpus(
        LABELS,
        examples,
        digests(train.files),
        subset=train.subset,
        note="; ".join(filter(None, (train.note, NOTE))),
        dropped={"no gold label": without},
    )


def find(data_dir: Path | None) -> dict[str, Path]:
    return _train(data_dir).files


def _train(data_dir: Path | None) -> Train:
    return find_train(data_dir, "mnli", [TEST], PUBLISHER)


DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=3, dev_fraction=0.1, vectors="glove")

PIECE = Piece(
    name="mnli",
    description="A premise from one of several genres and a hypothesis",
    make=read,
    find=find,
    paper="vashishth2019",
    needs=("data",),
    kind="pair",
    licence="OANC terms; parts CC BY or CC BY-SA",
    citation="Williams et al. 2018, A Broad-Coverage Challenge Corpus for Sentence Understanding",
)
