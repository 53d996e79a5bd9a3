"""Multi30k: captions of pictures in English and German."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heedful.catalogue import Piece
from heedful.corpora.example import Example, GivenTokens, Links, RawCorpus
from heedful.corpora.files import Publisher, digests, find_files, read_rows
from heedful.corpora.parallel import check_pair, flipped
from heedful.errors import HeedfulError, unknown_name
from heedful.specs import PrepareSpec

PUBLISHER = Publisher("Multi30k (task 1)", "https://github.com/multi30k/dataset")
ALIGNED = Publisher("the aligned Multi30k", "https://github.com/danishpruthi/deceptive-attention")
TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")


def read(
    data_dir: Path | None,
    direction: str = "en-de",
    test_set: str = TESTS[0],
    aligned: bool = False,
) -> RawCorpus:
    """With `aligned`, the tokenised texts of pruthi2020 and which of their words an automatic
    aligner says belong together; there is the test set of 2016 only."""
    if test_set not in TESTS:
        raise unknown_name("test set of multi30k", test_set, list(TESTS))
    if aligned and test_set != TESTS[0]:
        raise HeedfulError(f"only {TESTS[0]} is aligned: leave out test_set, or aligned.")
    languages = ("de", "en") if flipped(direction, "en-de") else ("en", "de")
    names = _aligned_names() if aligned else _names(test_set)
    publisher = ALIGNED if aligned else PUBLISHER
    files = find_files(data_dir, list(names.values()), publisher)
    columns = (*languages, "align") if aligned else languages
    examples = [
        _example(row, f"multi30k-{split}-{number:05d}", split, languages)
        for split, name in names.items()
        for number, row in enumerate(read_rows(files[name], columns), 1)
    ]
    return RawCorpus((), examples, digests(files), task="generation")


def find(data_dir: Path | None) -> dict[str, Path]:
    """What is read where nothing else is asked for."""
    return find_files(data_dir, list(_names(TESTS[0]).values()), PUBLISHER)


def links(pairs: str, source: GivenTokens, target: GivenTokens) -> Links:
    """`0-0 1-2 …`, positions of words, as pairs of spans of characters."""
    found = []
    for pair in pairs.split():
        one, _, other = pair.partition("-")
        if not (one.isdecimal() and other.isdecimal()):
            raise HeedfulError(f"the alignment {pair!r} is no pair of positions such as 0-0.")
        if int(one) >= len(source) or int(other) >= len(target):
            raise HeedfulError(f"the alignment {pair!r} names a word that is not in its text.")
        found.append((source[int(one)][1:], target[int(other)][1:]))
    return found


def words(text: str) -> GivenTokens:
    """The words between blanks, with their places."""
    tokens, at = [], 0
    for word in text.split(" "):
        if word:
            tokens.append((word, at, at + len(word)))
        at += len(word) + 1
    return tokens


def _example(row: dict[str, Any], name: str, split: str, languages: tuple[str, str]) -> Example:
    texts = {side: row[language] for side, language in zip("ab", languages, strict=True)}
    check_pair(texts["a"], texts["b"], f"example {name}")
    if "align" not in row:
        return Example(name, split, texts, 0)
    tokens = {side: words(text) for side, text in texts.items()}
    if languages[0] == "en":  # pairs are English first
        pairs = links(row["align"], tokens["a"], tokens["b"])
    else:
        pairs = [(a, b) for b, a in links(row["align"], tokens["b"], tokens["a"])]
    return Example(name, split, texts, 0, tokens, alignment=pairs)


def _names(test_set: str) -> dict[str, str]:
    parts = {"train": "train", "dev": "val", "test": test_set}
    return {split: f"multi30k/{part}.jsonl.gz" for split, part in parts.items()}


def _aligned_names() -> dict[str, str]:
    folder = "pruthi_deception/multi30k_en_de_aligned"
    return {split: f"{folder}_{split}.jsonl.gz" for split in ("train", "dev", "test")}


DEFAULTS = PrepareSpec(tokenizer="bpe", pieces=8000, dimension=256, max_length=100)

PIECE = Piece(
    name="multi30k",
    description="Captions of pictures, English and German",
    make=read,
    find=find,
    paper="vashishth2019, pruthi2020",
    needs=("data",),
    kind="generation",
    licence="non-commercial research and education",
    citation="Elliott et al. 2016, Multi30K",
)
