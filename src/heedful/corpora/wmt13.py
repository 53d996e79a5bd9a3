"""WMT13: the translation task of 2013, English and German."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import Publisher, digests, find_files
from heedful.corpora.parallel import as_examples, flipped, from_lines
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "WMT13's training parts, joined into train.en and train.de, and its news tests",
    "https://www.statmt.org/wmt13/translation-task.html",
)
STEMS = {"train": "wmt13/train", "dev": "wmt13/newstest2012", "test": "wmt13/newstest2013"}


def read(data_dir: Path | None, direction: str = "en-de") -> RawCorpus:
    """Training pairs with an empty side are counted as dropped."""
    languages = ("de", "en") if flipped(direction, "en-de") else ("en", "de")
    files = find(data_dir)
    examples: list[Example] = []
    dropped: dict[str, int] = {}
    for split, stem in STEMS.items():
        source, target = (files[f"{stem}.{language}"] for language in languages)
        pairs, empty = from_lines(source, target, drop_empty=split == "train")
        examples += as_examples(pairs, "wmt13", split)
        dropped |= empty
    return RawCorpus((), examples, digests(files), dropped=dropped, task="generation")


def find(data_dir: Path | None) -> dict[str, Path]:
    names = [f"{stem}.{language}" for stem in STEMS.values() for language in ("en", "de")]
    return find_files(data_dir, names, PUBLISHER)


DEFAULTS = PrepareSpec(tokenizer="bpe", pieces=32000, dimension=512, max_length=100)

PIECE = Piece(
    name="wmt13",
    description="The news translation task of 2013, English and German",
    make=read,
    find=find,
    paper="vashishth2019",
    needs=("data",),
    kind="generation",
    licence="research use; terms differ by part",
    citation="Bojar et al. 2013, Findings of the Workshop on Statistical Machine Translation",
)
