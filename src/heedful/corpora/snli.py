"""Stanford Natural Language Inference, with e-SNLI's highlights for those who have its files."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.esnli import read_highlighted
from heedful.corpora.example import RawCorpus
from heedful.corpora.files import Publisher, Train, digests, find_train
from heedful.corpora.inference import LABELS, read_pairs
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "the Stanford Natural Language Inference corpus", "https://nlp.stanford.edu/projects/snli"
)
HELD_OUT = {"dev": "snli/dev.jsonl.gz", "test": "snli/test.jsonl.gz"}


def read(data_dir: Path | None, highlights: bool = False) -> RawCorpus:
    """Pairs without a gold label are dropped. The files differ in how they are tokenised
    (train is raw), so one tokeniser goes over all of them.

    With `highlights` the pairs come from e-SNLI's tables instead, which hold all of SNLI, and
    the words its annotators highlighted are the rationales of both sides.
    """
    if highlights:
        return read_highlighted(data_dir)
    train = _train(data_dir)
    examples, without = [], 0
    for split, name in {"train": train.name, **HELD_OUT}.items():
        pairs, left_out = read_pairs(train.files[name], "snli", split)
        examples += pairs
        without += left_out
    return RawCorpus(
        LABELS,
        examples,
        digests(train.files),
        subset=train.subset,
        note=train.note,
        dropped={"no gold label": without},
    )


def find(data_dir: Path | None) -> dict[str, Path]:
    return _train(data_dir).files


def _train(data_dir: Path | None) -> Train:
    return find_train(data_dir, "snli", list(HELD_OUT.values()), PUBLISHER)


DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=3, vectors="glove")

PIECE = Piece(
    name="snli",
    description="A premise and a hypothesis: entailment, contradiction or neither",
    make=read,
    find=find,
    paper="jain2019",
    needs=("data",),
    kind="pair",
    licence="CC BY-SA 4.0; e-SNLI: MIT",
    citation="Bowman et al. 2015, A Large Annotated Corpus for Learning NLI; "
    "highlights: Camburu et al. 2018, e-SNLI",
)
