"""Texts and their translations: Multi30k, News Commentary, WMT13, and a user's own files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from heedful.data.example import Example, GivenTokens, Links, RawCorpus, matched_tokens
from heedful.data.files import MissingData, Row, Source, by_split, digests, read_rows
from heedful.entries import Corpus, by_name
from heedful.errors import HeedfulError, unknown_name
from heedful.input_files import read_lines
from heedful.specs import PrepareSpec

Pairs = list[tuple[str, str]]
LANGUAGES = ("en", "de")
TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
MULTI30K = {
    test_set: Source(
        "Multi30k (task 1)",
        "https://github.com/multi30k/dataset",
        {
            "train": "multi30k/train.jsonl.gz",
            "dev": "multi30k/val.jsonl.gz",
            "test": f"multi30k/{test_set}.jsonl.gz",
        },
    )
    for test_set in TESTS
}
ALIGNED = Source(
    "the aligned Multi30k",
    "https://github.com/danishpruthi/deceptive-attention",
    by_split("pruthi_deception/multi30k_en_de_aligned_*.jsonl.gz"),
)


def _in_lines(stems: Mapping[str, str]) -> dict[str, str]:
    """The files of both languages of each split, by split and language; `stems` are their names
    without the language."""
    return {
        f"{split}.{language}": f"{stem}.{language}"
        for split, stem in stems.items()
        for language in LANGUAGES
    }


NEWS = Source(
    "News Commentary v11",
    "https://www.statmt.org/wmt16/translation-task.html",
    _in_lines({"": "newscommentary/news-commentary-v11.de-en"}),
)
WMT13 = Source(
    "WMT13's training parts, joined into train.en and train.de, and its news tests",
    "https://www.statmt.org/wmt13/translation-task.html",
    _in_lines({"train": "wmt13/train", "dev": "wmt13/newstest2012", "test": "wmt13/newstest2013"}),
)


def read_multi30k(
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
    languages = _languages(direction)
    source = ALIGNED if aligned else MULTI30K[test_set]
    columns = (*languages, "align") if aligned else languages
    return source.read(data_dir, (), columns, partial(_caption, languages), task="generation")


def _caption(languages: tuple[str, str], split: str, number: int, row: Row) -> Example:
    name = f"multi30k-{split}-{number + 1:05d}"
    texts = {side: row[language] for side, language in zip("ab", languages, strict=True)}
    _check_pair(texts["a"], texts["b"], f"example {name}")
    if "align" not in row:
        return Example(name, split, texts, 0)
    tokens = {side: matched_tokens(r"[^ ]+", text) for side, text in texts.items()}
    if languages[0] == "en":  # pairs are English first
        pairs = _links(row["align"], tokens["a"], tokens["b"])
    else:
        pairs = [(a, b) for b, a in _links(row["align"], tokens["b"], tokens["a"])]
    return Example(name, split, texts, 0, tokens, alignment=pairs)


def _links(pairs: str, source: GivenTokens, target: GivenTokens) -> Links:
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


def read_in_lines(
    corpus: str, source: Source, data_dir: Path | None, direction: str = "en-de"
) -> RawCorpus:
    """The files as they are in the archives. A training line that is empty on one side is no pair
    and is counted as dropped; what is in no split is cut by a hash of the line's number."""
    languages = _languages(direction)
    files = source.find(data_dir)
    examples: list[Example] = []
    dropped: dict[str, int] = {}
    for split in dict.fromkeys(key.partition(".")[0] for key in source.files):
        one, other = (files[source.files[f"{split}.{language}"]] for language in languages)
        pairs, empty = _from_lines(one, other, drop_empty=split in ("", "train"))
        examples += _as_examples(pairs, corpus, split)
        dropped |= empty
    return RawCorpus((), examples, digests(files), dropped=dropped, task="generation")


def read_parallel(
    data_dir: Path | None = None,
    path: str | None = None,
    target: str | None = None,
    dev: str | None = None,
    dev_target: str | None = None,
    test: str | None = None,
    test_target: str | None = None,
    source_column: str = "source",
    target_column: str = "target",
) -> RawCorpus:
    """`path` holds the sources and `target`, line by line, their translations; without a
    `target`, `path` is a table with both columns. The same goes for dev and test; where they
    are not given, they are cut by a hash of the line's number."""
    if path is None:
        raise HeedfulError("the corpus `parallel` needs the parameter `path`: the file to read.")
    given = {"": (path, target), "dev": (dev, dev_target), "test": (test, test_target)}
    files = {split: _files(split or "path", *pair) for split, pair in given.items() if any(pair)}
    examples: list[Example] = []
    for split, pair in files.items():
        pairs = _pairs(pair, source_column, target_column)
        where = "train" if split == "" and "test" in files else split
        examples += _as_examples(pairs, "parallel", where)
    used = {name: f for split, pair in files.items() for name, f in _named(split or "train", pair)}
    return RawCorpus((), examples, digests(used), task="generation")


def _as_examples(pairs: Pairs, name: str, split: str) -> list[Example]:
    """Texts on side a, their translations on side b."""
    return [
        Example(f"{name}-{split or 'line'}-{number:07d}", split, {"a": one, "b": other}, 0)
        for number, (one, other) in enumerate(pairs, 1)
    ]


def _from_lines(
    source: Path, target: Path, drop_empty: bool = False
) -> tuple[Pairs, dict[str, int]]:
    """Pairs line by line, and how many were dropped for an empty side; where none may be,
    the line is named. White space at both ends of a line is not text. Lines end at a line feed
    only: other separators of Unicode stand inside texts."""
    sides = [[line.strip() for line in read_lines(file, "\n")] for file in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise HeedfulError(
            f"{source} has {len(sides[0])} lines and {target} has {len(sides[1])}: line "
            f"{min(map(len, sides)) + 1} has no counterpart, give files of equal length."
        )
    pairs = list(zip(*sides, strict=True))
    if drop_empty:
        kept = [pair for pair in pairs if all(pair)]
        return kept, {"an empty side": len(pairs) - len(kept)}
    for number, (one, other) in enumerate(pairs, 1):
        _check_pair(one, other, f"line {number} of {source.name} and {target.name}")
    return pairs, {}


def _check_pair(source: object, target: object, where: str) -> None:
    """A source or a target that is empty says nothing of translation."""
    for name, text in (("source", source), ("target", target)):
        if not isinstance(text, str) or not text.strip():
            raise HeedfulError(f"{where} has an empty {name}: take the pair out.")


def _languages(direction: str) -> tuple[str, str]:
    """Those of the source and of the target."""
    first, second = LANGUAGES
    known = {f"{first}-{second}": (first, second), f"{second}-{first}": (second, first)}
    if direction not in known:
        raise HeedfulError(f"the direction is {direction!r}: choose {' or '.join(known)}.")
    return known[direction]


def _named(split: str, files: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    """A name for each file, in which its folder does not count. Two of the same name (de/all.txt
    and en/all.txt) are told apart, or one of them could change without anybody noticing."""
    alike = len({file.name for file in files}) < len(files)
    for role, file in zip(("source", "target"), files, strict=False):
        yield f"{split}/{role}/{file.name}" if alike else f"{split}/{file.name}", file


def _pairs(files: tuple[Path, ...], source: str, target: str) -> Pairs:
    if len(files) == 2:
        return _from_lines(*files)[0]
    if source == target:
        raise HeedfulError(f"source and target are both read from {source!r}: name two columns.")
    rows = read_rows(files[0], (source, target))
    for number, row in enumerate(rows, 1):
        _check_pair(row[source], row[target], f"row {number} of {files[0].name}")
    return [(row[source], row[target]) for row in rows]


def _files(role: str, source: str | None, target: str | None) -> tuple[Path, ...]:
    if source is None:
        raise HeedfulError(f"{role}_target is given without {role}: name the file of its sources.")
    files = tuple(Path(name).expanduser() for name in (source, target) if name is not None)
    for file in files:
        if not file.is_file():
            raise MissingData(f"there is no file {file}.")
    return files


_translation = partial(Corpus, kind="generation")
_PREPARE = PrepareSpec(tokenizer="bpe", pieces=8000, dimension=256, max_length=100)
ENTRIES = by_name(
    _translation(
        name="multi30k",
        description="Captions of pictures, English and German",
        make=read_multi30k,
        find=MULTI30K[TESTS[0]].find,  # where nothing else is asked for
        paper="vashishth2019, pruthi2020",
        needs=("data",),
        licence="non-commercial research and education",
        citation="Elliott et al. 2016, Multi30K",
        prepare=_PREPARE,
    ),
    _translation(
        name="newscommentary",
        description="Editorials, English and German",
        make=partial(read_in_lines, "newscommentary", NEWS),
        find=NEWS.find,
        paper="vashishth2019",
        needs=("data",),
        licence="unknown; research use",
        citation="Tiedemann 2012, Parallel Data, Tools and Interfaces in OPUS",
        prepare=replace(_PREPARE, pieces=16000, dev_fraction=0.02, test_fraction=0.02),
    ),
    _translation(
        name="wmt13",
        description="The news translation task of 2013, English and German",
        make=partial(read_in_lines, "wmt13", WMT13),
        find=WMT13.find,
        paper="vashishth2019",
        needs=("data",),
        licence="research use; terms differ by part",
        citation="Bojar et al. 2013, Findings of the Workshop on Statistical Machine Translation",
        prepare=replace(_PREPARE, pieces=32000, dimension=512),
    ),
    _translation(
        name="parallel",
        description="Your own texts and their translations: two files or two columns",
        make=read_parallel,
        licence="",
        prepare=_PREPARE,
    ),
)
