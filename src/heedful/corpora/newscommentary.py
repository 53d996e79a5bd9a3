"""News Commentary v11: editorials in English and German."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import RawCorpus
from heedful.corpora.files import Publisher, digests, find_files
from heedful.corpora.parallel import as_examples, flipped, from_lines
from heedful.specs import PrepareSpec

PUBLISHER = Publisher("News Commentary v11", "https://www.statmt.org/wmt16/translation-task.html")
STEM = "newscommentary/news-commentary-v11.de-en"


def read(data_dir: Path | None, direction: str = "en-de") -> RawCorpus:
    """The files as they are in the archive; dev and test are cut by a hash of the line's
    number. A line that is empty on one side is no pair and is counted as dropped."""
    languages = ("de", "en") if flipped(direction, "en-de") else ("en", "de")
    files = find(data_dir)
    source, target = (files[f"{STEM}.{language}"] for language in languages)
    pairs, dropped = from_lines(source, target, drop_empty=True)
    examples = as_examples(pairs, "newscommentary", "")
    return RawCorpus((), examples, digests(files), dropped=dropped, task="generation")


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, [f"{STEM}.{language}" for language in ("en", "de")], PUBLISHER)


DEFAULTS = PrepareSpec(
    tokenizer="bpe",
    pieces=16000,
    dimension=256,
    max_length=100,
    dev_fraction=0.02,
    test_fraction=0.02,
)

PIECE = Piece(
    name="newscommentary",
    description="Editorials, English and German",
    make=read,
    find=find,
    paper="vashishth2019",
    needs=("data",),
    kind="generation",
    licence="unknown; research use",
    citation="Tiedemann 2012, Parallel Data, Tools and Interfaces in OPUS",
)
