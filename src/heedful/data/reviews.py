"""Reviews with their sentiment or stars (SST, IMDB, movies, Yelp, Amazon), and Yahoo's answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from heedful.data.example import (
    Example,
    GivenTokens,
    RawCorpus,
    index_of,
    join_tokens,
    marked_spans,
    matched_tokens,
    numbered,
    pick,
)
from heedful.data.files import Row, Source, by_split, digests, published, read_cells
from heedful.entries import SHARE, Corpus, by_name
from heedful.errors import HeedfulError
from heedful.hashing import stable_hash
from heedful.specs import PrepareSpec

SENTIMENT = ("negative", "positive")
STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")
RATINGS = (1, 2, 3, 4, 7, 8, 9, 10)
TOPICS = {"society_culture": "Society & Culture", "science_mathematics": "Science & Mathematics"}
BRACKETS = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
}  # fmt: skip
BREAK = "<br />"

SST = Source(
    "the Stanford Sentiment Treebank",
    "https://nlp.stanford.edu/sentiment",
    by_split("sst/*.jsonl.gz"),
)
IMDB = Source(
    "the Large Movie Review Dataset",
    "https://ai.stanford.edu/~amaas/data/sentiment",
    by_split("imdb/*.jsonl.gz", ("train", "test")),
)
MOVIES = Source(
    "ERASER's movie reviews",
    "https://www.eraserbenchmark.com",
    by_split("movies_rationales/*.jsonl.gz"),
)
YELP_SENTENCES = Source(
    "the Yelp sentences of Shen et al.",
    "https://github.com/shentianxiao/language-style-transfer",
    by_split("yelp_sentences/*_subset.jsonl.gz", ("train", "test")),
    "a part of the published sentences; not the review corpora of the papers",
)


def _of_zhang(what: str, folder: str) -> Source:
    """One of the classification tasks of Zhang et al. 2015, as CSV files."""
    title = f"the {what} files ({folder})"
    files = by_split(f"{folder}/*.csv", ("train", "test"))
    return Source(title, "https://course.fast.ai/datasets", files)


YAHOO2 = replace(
    _of_zhang("Yahoo Answers", "yahoo_answers_csv"),
    files=by_split("yahoo_2class/*_subset.jsonl.gz", ("train", "test")),
    note="two of ten topics, and a small part of their questions",
)


def read_sst(data_dir: Path | None, rationales: str | None = None) -> RawCorpus:
    """Neutral sentences are dropped; a token is a run of word characters.

    With `rationales="words"` the rationale of a sentence are the words that the treebank
    itself calls positive (3, 4) in a positive sentence, negative (0, 1) in a negative one.
    They were labelled out of context, so a negated word counts with its own sentiment.
    """
    if rationales not in (None, "words"):
        raise HeedfulError(f"rationales is {rationales!r}: give 'words', or leave it out.")
    columns = ("tokens", "label") if rationales is None else ("tokens", "label", "token_label5")
    make = partial(_sst_example, rationales)
    return SST.read(data_dir, SENTIMENT, columns, make, "neutral")


def _sst_example(rationales: str | None, split: str, number: int, row: Row) -> Example | None:
    if row["label"] is None:
        return None
    text, leaves = join_tokens(
        [BRACKETS.get(token, token).replace("\\/", "/") for token in row["tokens"]]
    )
    marks = None
    if rationales == "words":
        spans = marked_spans(leaves, telling(row["token_label5"], int(row["label"])))
        marks = None if spans is None else {"a": spans}
    tokens, name = matched_tokens(r"\w+", text), f"sst-{split}-{number:05d}"
    return Example(name, split, {"a": text}, int(row["label"]), {"a": tokens}, marks)


def telling(grades: str, label: int) -> list[bool]:
    """The words whose own grade, 0 to 4, points the way of the sentence's label."""
    wanted = "34" if label else "01"
    return [grade in wanted for grade in grades]


def read_imdb(data_dir: Path | None, test_sample: float = 0.2, seed: int = 0) -> RawCorpus:
    """`test_sample` of the test set, drawn by a hash of the ids: jain2019 drew theirs from
    texts sorted by length, which is no random sample."""
    return _imdb(data_dir, test_sample, seed, "label", lambda row: row["label"])


def read_imdb8(data_dir: Path | None, test_sample: float = 0.2, seed: int = 0) -> RawCorpus:
    """`test_sample` of the test set, by the same hash as in `imdb`: the same reviews.

    The Large Movie Review Dataset has no reviews rated 5 or 6, and other reviews and splits than
    serrano2019's (122121 and 13548 reviews, ten classes).
    """
    return replace(
        _imdb(data_dir, test_sample, seed, "rating", _rating),
        labels=tuple(map(str, RATINGS)),
        note="eight ratings instead of ten, and other reviews and splits than the paper's",
        stands_for="IMDB-10",
    )


def _imdb(
    data_dir: Path | None, share: float, seed: int, column: str, label: Callable[[Row], int]
) -> RawCorpus:
    """Line breaks stay where `<br />` stood, so that sentences end there."""
    if not 0 < share <= 1:
        raise HeedfulError(f"test_sample is {share}: give a number above 0 and up to 1.")

    def review(split: str, number: int, row: Row) -> Example:
        name, text = f"imdb-{split}-{row['id']}", blank_breaks(row["text"])
        return Example(name, split, {"a": text}, label(row))

    raw = IMDB.read(data_dir, SENTIMENT, ("id", "text", column), review)
    test = [example.id for example in raw.examples if example.split == "test"]
    left_out = set(test) - set(pick(test, round(len(test) * share), seed, "test sample"))
    examples = [example for example in raw.examples if example.id not in left_out]
    return replace(raw, examples=examples, dropped={"test set, not sampled": len(left_out)})


def blank_breaks(text: str) -> str:
    """A line break of the same length in place of the HTML one: offsets into the original
    text stay right."""
    return text.replace(BREAK, "\n" + " " * (len(BREAK) - 1))


def _rating(row: Row) -> int:
    if row["rating"] not in RATINGS:
        known = ", ".join(map(str, RATINGS))
        raise HeedfulError(f"the review {row['id']} is rated {row['rating']!r}: use {known}.")
    return RATINGS.index(row["rating"])


def _movie(split: str, number: int, row: Row) -> Example:
    """A sentence a line. Only the test set was annotated again so that all telling passages
    are marked; in train and dev some are (a tenth of the tokens against a third). A few
    published spans are empty and mark nothing."""
    text = "\n".join(row["sentences"])
    tokens = matched_tokens(r"\S+", text)
    marked = [(start, end) for start, end in row["rationale_spans"] if start != end]
    spans = [_characters(tokens, start, end, row["id"]) for start, end in marked]
    rationales = {"a": spans} if spans else None
    name = f"movies-{row['id']}"
    return Example(name, split, {"a": text}, int(row["label"]), {"a": tokens}, rationales)


def _characters(tokens: GivenTokens, start: int, end: int, name: str) -> tuple[int, int]:
    """From positions of tokens to characters of the text."""
    if not 0 <= start < end <= len(tokens):
        raise HeedfulError(
            f"the review {name} has the rationale [{start}, {end}) and {len(tokens)} tokens: "
            f"get the file again from {MOVIES.homepage}."
        )
    return tokens[start][1], tokens[end - 1][2]


def _yelp_sentence(split: str, number: int, row: Row) -> Example:
    """Sentences of at most fifteen words; each has its whole review's sentiment, so some
    labels do not fit their sentence."""
    name = f"yelp_sentences-{split}-{number:05d}"
    return Example(name, split, {"a": row["text"]}, row["label"])


def _answered(split: str, number: int, row: Row) -> Example:
    """A question's title and body and its best answer."""
    label = index_of(row["label"], numbered(TOPICS), f"row {number + 1} of {YAHOO2.files[split]}")
    return Example(f"yahoo2-{split}-{number:05d}", split, {"a": unescape(row["text"])}, label)


def read_rated(
    corpus: str,
    source: Source,
    labels: tuple[str, ...],
    data_dir: Path | None,
    sample: float = 1.0,
    seed: int = 0,
) -> RawCorpus:
    """Texts as they are commonly handed on: CSV files without a header, a class number from 1 on
    and then one or more texts (title, body, …).

    `sample` of the rows, chosen while reading by a hash of their place: the largest of these
    files have millions.
    """
    if not 0 < sample <= 1:
        raise HeedfulError(f"sample is {sample}: give a number above 0 and up to 1.")
    files = source.find(data_dir)
    examples: list[Example] = []
    rows = 0
    for split, name in source.files.items():
        for example in _rated(files[name], corpus, split, len(labels)):
            rows += 1
            if stable_hash(seed, "sample", example.id) < sample * 2.0**63:
                examples.append(example)
    return RawCorpus(
        labels,
        examples,
        digests(files),
        subset=sample < 1,
        note=f"a random sample of the rows, {sample:g} of all" if sample < 1 else "",
        dropped={"not sampled": rows - len(examples)} if sample < 1 else {},
    )


def unescape(text: str) -> str:
    """These files write a line break as a backslash and an n, and a backslash before quotes.
    Nothing moves, so offsets stay right."""
    return text.replace("\\n", "\n ").replace('\\"', ' "')


def _rated(path: Path, corpus: str, split: str, classes: int) -> Iterator[Example]:
    ranks = {str(rank): rank - 1 for rank in range(1, classes + 1)}
    for number, (line, cells) in enumerate(read_cells(path)):
        rank = cells[0].strip().lstrip("0")
        if rank not in ranks or len(cells) < 2:
            raise HeedfulError(
                f"line {line} of {path} is malformed: it needs a class from 1 to {classes} and a "
                f"text."
            )
        parts = [unescape(cell) for cell in cells[1:] if cell.strip()]
        yield Example(f"{corpus}-{split}-{number:07d}", split, {"a": "\n".join(parts)}, ranks[rank])


_reviews = partial(Corpus, needs=("data",))
_ZHANG = "Zhang et al. 2015, Character-level Convolutional Networks for Text Classification"
_MAAS = "Maas et al. 2011, Learning Word Vectors for Sentiment Analysis"
_YELP, _YAHOO = "academic use under Yelp's terms", "Yahoo Webscope terms; research use"
# serrano2019 does not say which words it keeps or how dev is cut, and filters no lengths: these
# are the hierarchical attention networks' of Yang et al. 2016, whose corpora they are.
_SERRANO = PrepareSpec(tokenizer="spacy", min_df=5, dev_fraction=0.1, vectors="glove")
_FEWER = PrepareSpec(tokenizer="spacy", min_df=3, dev_fraction=0.1, vectors="glove")


def _rated_piece(
    name: str, description: str, source: Source, labels: tuple[str, ...], **facts: Any
) -> Corpus:
    return _reviews(
        name=name,
        description=description,
        make=partial(read_rated, name, source, labels),
        bounds={"sample": SHARE},
        find=source.find,
        paper="serrano2019",
        prepare=_SERRANO,
        **facts,
    )


ENTRIES = by_name(
    _reviews(
        name="sst",
        description="Movie-review sentences, negative or positive",
        make=read_sst,
        find=SST.find,
        paper="jain2019",
        licence="research use; no formal licence known",
        citation="Socher et al. 2013, Recursive Deep Models for Semantic Compositionality",
        # Inferred from the counts, as no source states it: read as "length >= 5" the filter leaves
        # 190 training sentences more than jain2019's Table 1. With "more than 5" both splits agree
        # with it but for one sentence each, which fits a strict upper bound at the longest one:
        # counting="authors" with min_length=5 gives the table's counts exactly.
        prepare=PrepareSpec(tokenizer="given", min_df=1, min_length=6, vectors="glove"),
    ),
    _reviews(
        name="imdb",
        description="Movie reviews under 400 tokens, negative or positive",
        make=read_imdb,
        bounds={"test_sample": SHARE},
        find=IMDB.find,
        paper="jain2019",
        licence="research use; cite the paper",
        citation=_MAAS,
        prepare=PrepareSpec(
            tokenizer="spacy", min_df=10, max_length=399, dev_fraction=0.2, vectors="glove"
        ),
    ),
    _reviews(
        name="imdb8",
        description="Whole movie reviews, rated 1 to 4 or 7 to 10",
        make=read_imdb8,
        bounds={"test_sample": SHARE},
        find=IMDB.find,
        paper="serrano2019",
        licence="research use; cite the paper",
        citation=_MAAS,
        prepare=_SERRANO,
    ),
    published(
        MOVIES,
        SENTIMENT,
        ("id", "sentences", "label", "rationale_spans"),
        _movie,
        remark="rationales are exhaustive in the test set only",
        name="movies",
        description="Whole movie reviews, negative or positive, with marked passages",
        paper="deyoung2020",
        licence="research use",
        citation="DeYoung et al. 2020, ERASER; Zaidan et al. 2007; Pang and Lee 2004",
        prepare=PrepareSpec(tokenizer="given", min_df=2, vectors="glove"),
    ),
    published(
        YELP_SENTENCES,
        SENTIMENT,
        ("text", "label"),
        _yelp_sentence,
        name="yelp_sentences",
        description="Short sentences from Yelp reviews, negative or positive",
        paper="shen2017",
        licence=_YELP,
        citation="Shen et al. 2017, Style Transfer from Non-Parallel Text by Cross-Alignment",
        prepare=replace(_FEWER, tokenizer="whitespace"),
    ),
    published(
        YAHOO2,
        tuple(TOPICS),
        ("text", "label"),
        _answered,
        name="yahoo2",
        description="Questions with their best answers, society or science",
        paper="serrano2019",
        licence=_YAHOO,
        citation=_ZHANG,
        prepare=_FEWER,
    ),
    _rated_piece(
        "imdb10",
        "Whole movie reviews, rated 1 to 10",
        Source(
            "the IMDB reviews of Diao et al. 2014, as CSV",
            "https://github.com/nihalb/JMARS",
            by_split("imdb10/*.csv", ("train", "test")),
        ),
        tuple(str(rating) for rating in range(1, 11)),
        licence="research use; no formal licence known",
        citation="Diao et al. 2014, Jointly Modeling Aspects, Ratings and Sentiments",
    ),
    _rated_piece(
        "yelp",
        "Whole Yelp reviews, one to five stars",
        _of_zhang("Yelp review", "yelp_review_full_csv"),
        STARS,
        licence=_YELP,
        citation=_ZHANG,
    ),
    _rated_piece(
        "amazon",
        "Amazon reviews, title and body, one to five stars",
        _of_zhang("Amazon review", "amazon_review_full_csv"),
        STARS,
        licence="research use",
        citation=_ZHANG,
    ),
    _rated_piece(
        "yahoo",
        "Questions with their best answers, ten topics",
        _of_zhang("Yahoo Answers", "yahoo_answers_csv"),
        (
            *TOPICS.values(),
            "Health",
            "Education & Reference",
            "Computers & Internet",
            "Sports",
            "Business & Finance",
            "Entertainment & Music",
            "Family & Relationships",
            "Politics & Government",
        ),
        licence=_YAHOO,
        citation=_ZHANG,
    ),
)
