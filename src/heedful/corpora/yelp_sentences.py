"""Single sentences of Yelp reviews with the review's sentiment; not the papers' whole reviews."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import Publisher, digests, find_files, read_rows
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "the Yelp sentences of Shen et al.", "https://github.com/shentianxiao/language-style-transfer"
)
FILES = {
    "train": "yelp_sentences/train_subset.jsonl.gz",
    "test": "yelp_sentences/test_subset.jsonl.gz",
}


def read(data_dir: Path | None) -> RawCorpus:
    """Sentences of at most fifteen words; each has its whole review's sentiment, so some
    labels do not fit their sentence."""
    files = find(data_dir)
    examples = [
        Example(f"yelp_sentences-{split}-{number:05d}", split, {"a": row["text"]}, row["label"])
        for split, name in FILES.items()
        for number, row in enumerate(read_rows(files[name], ("text", "label")))
    ]
    note = "a part of the published sentences; not the review corpora of the papers"
    return RawCorpus(("negative", "positive"), examples, digests(files), subset=True, note=note)


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, list(FILES.values()), PUBLISHER)


DEFAULTS = PrepareSpec(tokenizer="whitespace", min_df=3, dev_fraction=0.1, vectors="glove")

PIECE = Piece(
    name="yelp_sentences",
    description="Short sentences from Yelp reviews, negative or positive",
    make=read,
    find=find,
    paper="shen2017",
    needs=("data",),
    licence="academic use under Yelp's terms",
    citation="Shen et al. 2017, Style Transfer from Non-Parallel Text by Cross-Alignment",
)
