"""Two of the ten Yahoo Answers topics, a small part of the published questions."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus, index_of, numbered
from heedful.corpora.files import digests, find_files, read_rows
from heedful.corpora.rated import unescape
from heedful.corpora.yahoo import CORPUS
from heedful.specs import PrepareSpec

FILES = {
    "train": "yahoo_2class/train_subset.jsonl.gz",
    "test": "yahoo_2class/test_subset.jsonl.gz",
}
LABELS = ("society_culture", "science_mathematics")


def read(data_dir: Path | None) -> RawCorpus:
    """A question's title and body and its best answer."""
    files = find(data_dir)
    examples = [
        Example(
            f"yahoo2-{split}-{number:05d}",
            split,
            {"a": unescape(row["text"])},
            index_of(row["label"], numbered(LABELS), name, number + 1),
        )
        for split, name in FILES.items()
        for number, row in enumerate(read_rows(files[name], ("text", "label")))
    ]
    note = "two of ten topics, and a small part of their questions"
    return RawCorpus(LABELS, examples, digests(files), subset=True, note=note)


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, list(FILES.values()), CORPUS.publisher)


DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=3, dev_fraction=0.1, vectors="glove")

PIECE = Piece(
    name="yahoo2",
    description="Questions with their best answers, society or science",
    make=read,
    find=find,
    paper="serrano2019",
    needs=("data",),
    licence="Yahoo Webscope terms; research use",
    citation="Zhang et al. 2015, Character-level Convolutional Networks for Text Classification",
)
