"""IMDB's ratings as eight classes: a stand-in for the ten-class corpus of serrano2019.

The Large Movie Review Dataset has no reviews rated 5 or 6, and other reviews and splits than
serrano2019's (122121 and 13548 reviews, ten classes).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heedful.catalogue import SHARE, Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import digests, read_rows
from heedful.corpora.imdb import FILES, blank_breaks, check_sample, find, sample
from heedful.errors import HeedfulError
from heedful.specs import PrepareSpec

RATINGS = (1, 2, 3, 4, 7, 8, 9, 10)
COLUMNS = ("id", "text", "rating")


def read(data_dir: Path | None, test_sample: float = 0.2, seed: int = 0) -> RawCorpus:
    """`test_sample` of the test set, by the same hash as in `imdb`: the same reviews."""
    check_sample(test_sample)
    files = find(data_dir)
    train, test = (
        [_example(split, row) for row in read_rows(files[name], COLUMNS)]
        for split, name in FILES.items()
    )
    sampled, dropped = sample(test, test_sample, seed)
    return RawCorpus(
        tuple(str(rating) for rating in RATINGS),
        train + sampled,
        digests(files),
        note="eight ratings instead of ten, and other reviews and splits than the paper's",
        dropped=dropped,
        stands_for="IMDB-10",
    )


def _example(split: str, row: dict[str, Any]) -> Example:
    """Line breaks stay where `<br />` stood, so that sentences end there."""
    if row["rating"] not in RATINGS:
        known = ", ".join(map(str, RATINGS))
        raise HeedfulError(f"the review {row['id']} is rated {row['rating']!r}: use {known}.")
    text = {"a": blank_breaks(row["text"])}
    return Example(f"imdb-{split}-{row['id']}", split, text, RATINGS.index(row["rating"]))


# serrano2019 filters no lengths; the rest is as for the other corpora of that paper.
DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=5, dev_fraction=0.1, vectors="glove")

PIECE = Piece(
    name="imdb8",
    description="Whole movie reviews, rated 1 to 4 or 7 to 10",
    make=read,
    bounds={"test_sample": SHARE},
    find=find,
    paper="serrano2019",
    needs=("data",),
    licence="research use; cite the paper",
    citation="Maas et al. 2011, Learning Word Vectors for Sentiment Analysis",
)
