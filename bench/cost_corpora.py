"""How large the studies' corpora are, as published, and where that is written.

Only sizes: nothing here is read by Heedful, and a corpus need not be there to be counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from heedful.corpora import CORPORA, default_prepare

JAIN, SERRANO = "jain2019, table 1", "Serrano & Smith 2019, table 1; vocabulary assumed"
COUNTED = "counted by `heedful prepare`"


@dataclass(frozen=True)
class Corpus:
    """Texts of the splits, mean tokens of side a and side b, and what a model has to know."""

    train: int
    test: int
    length: int
    vocabulary: int
    second: int = 0
    classes: int = 2
    marks: tuple[str, ...] = ()
    source: str = JAIN


def dev(name: str) -> int:
    """Where a corpus brings none, the part that is cut off for it; else taken to be as large."""
    return round(SIZES[name].train * default_prepare(name).dev_fraction)


def dimension(name: str) -> int:
    return default_prepare(name).dimension


def kind(name: str) -> str:
    return CORPORA[name].kind


STORY = ("rationales",)
FORBIDDEN = ("impermissible",)
ALIGNED = ("alignment", "impermissible")
STORIES = f"{JAIN}; lengths {COUNTED}"
OCCUPATION = "test part counted, 20% of all; train taken to be 70%, its vocabulary assumed"
QUESTIONS = f"{JAIN}; questions Hermann et al. 2015"

SIZES: dict[str, Corpus] = {
    "sst": Corpus(6355, 1725, 19, 16_175),
    "imdb": Corpus(25_000, 4356, 179, 13_916),
    "adr": Corpus(16_385, 4123, 20, 8686),
    "20news": Corpus(1426, 334, 115, 8853),
    "agnews": Corpus(60_000, 3800, 36, 14_752),
    "diabetes": Corpus(7734, 1614, 1858, 22_316),
    "anemia": Corpus(5098, 1262, 2188, 19_743),
    "snli": Corpus(
        549_367, 9824, 14, 20_982, 8, 3, source=f"{JAIN}; hypotheses Bowman et al. 2015"
    ),
    "mnli": Corpus(
        392_702, 9815, 20, 40_000, 10, 3, source="Williams et al. 2018; vocabulary assumed"
    ),
    "cnn": Corpus(380_298, 3198, 761, 74_790, 13, 600, source=f"{QUESTIONS}; classes assumed"),
    "babi1": Corpus(10_000, 1000, 37, 25, 4, 6, STORY, STORIES),
    "babi2": Corpus(10_000, 1000, 94, 39, 5, 6, STORY, STORIES),
    "babi3": Corpus(10_000, 1000, 302, 40, 8, 6, STORY, STORIES),
    "yahoo": Corpus(1_400_000, 50_000, 104, 100_000, 0, 10, source=SERRANO),
    "imdb10": Corpus(122_121, 13_548, 395, 100_000, 0, 10, source=SERRANO),
    "amazon": Corpus(3_000_000, 650_000, 73, 100_000, 0, 5, source=SERRANO),
    "yelp": Corpus(650_000, 50_000, 125, 100_000, 0, 5, source=SERRANO),
    "multi30k": Corpus(29_000, 1000, 14, 7790, 14, source=COUNTED),
    "newscommentary": Corpus(242_770, 3000, 30, 16_000, 30, source="WMT16's page; lengths assumed"),
    "wmt13": Corpus(4_500_000, 3000, 30, 32_000, 30, source="WMT13's page; lengths assumed"),
    "deception": Corpus(1500, 500, 17, 94, marks=FORBIDDEN + STORY, source=COUNTED),
    "deception_occupation": Corpus(1500, 500, 22, 123, marks=FORBIDDEN + STORY, source=COUNTED),
    "pronoun": Corpus(9017, 1127, 22, 8710, marks=FORBIDDEN, source=COUNTED),
    "occupation": Corpus(17_629, 5037, 48, 12_000, marks=FORBIDDEN, source=OCCUPATION),
    "sst_wiki": Corpus(6920, 1821, 43, 14_957, marks=FORBIDDEN, source=COUNTED),
    "toy_copy": Corpus(4000, 500, 7, 104, 7, marks=ALIGNED, source=COUNTED),
    "toy_reverse": Corpus(4000, 500, 7, 104, 7, marks=ALIGNED, source=COUNTED),
    "toy_flip": Corpus(4000, 500, 7, 104, 7, marks=ALIGNED, source=COUNTED),
}
