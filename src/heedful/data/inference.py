"""Natural language inference: SNLI, with e-SNLI's highlights or counterfactual, and MultiNLI.

A cell of `Sentence1_Highlighted_1` in e-SNLI's tables lists positions of words (the sentence cut
at blanks), as in `3,4,7`, or is `{}`. The training tables have one annotator, dev and test three.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from heedful.data.example import Example, RawCorpus, Spans, matched_tokens
from heedful.data.files import PART_OF_TRAIN, Row, Source, by_split, digests, read_rows
from heedful.entries import Corpus
from heedful.errors import HeedfulError, unknown_name
from heedful.specs import PrepareSpec

# jain2019 numbers the classes in this order: its Table 1 has 3219, 3237 and 3368 test pairs of
# the classes 0, 1 and 2, which are SNLI's counts of these three.
LABELS = ("neutral", "contradiction", "entailment")
NO_GOLD = "-"
COLUMNS = ("premise", "hypothesis", "label")
SNLI = Source(
    "the Stanford Natural Language Inference corpus",
    "https://nlp.stanford.edu/projects/snli",
    by_split("snli/*.jsonl.gz"),
)
SNLI_CAD = Source(
    "the counterfactually augmented SNLI",
    "https://github.com/acmi-lab/counterfactually-augmented-data",
    by_split("snli_cad/*.jsonl.gz"),
)
MNLI = Source(
    "MultiNLI",
    "https://cims.nyu.edu/~sbowman/multinli",
    {"train": "mnli/train.jsonl.gz", "test": "mnli/dev_matched.jsonl.gz"},
)
MNLI_NOTE = "tested on the published dev set (matched), dev is cut from train"
ESNLI_FILES = {
    "esnli/esnli_train_1.csv": "train", "esnli/esnli_train_2.csv": "train",
    "esnli/esnli_dev.csv": "dev", "esnli/esnli_test.csv": "test",
}  # fmt: skip
ESNLI = Source(
    "e-SNLI",
    "https://github.com/OanaMariaCamburu/e-SNLI",
    {Path(name).stem: name for name in ESNLI_FILES},
)
PARTS = ("all", "original", "revised")
SENTENCES = {"a": "Sentence1", "b": "Sentence2"}
ANNOTATORS = (1, 2, 3)
NEEDED = ("gold_label", *SENTENCES.values(), *(f"{s}_Highlighted_1" for s in SENTENCES.values()))
MISFIT = "side whose highlights fit no word"


def read_snli(data_dir: Path | None, highlights: bool = False) -> RawCorpus:
    """Pairs without a gold label are dropped. The files differ in how they are tokenised
    (train is raw), so one tokeniser goes over all of them.

    With `highlights` the pairs come from e-SNLI's tables instead, which hold all of SNLI, and
    the words its annotators highlighted are the rationales of both sides.
    """
    return _highlighted(data_dir) if highlights else _pairs(data_dir, "snli", SNLI)


def read_mnli(data_dir: Path | None) -> RawCorpus:
    """The published test set has no labels, so the matched dev set is tested on, and
    `prepare` cuts a dev set from train."""
    raw = _pairs(data_dir, "mnli", MNLI)
    return replace(raw, note="; ".join(filter(None, (raw.note, MNLI_NOTE))))


def _pairs(data_dir: Path | None, corpus: str, whole: Source) -> RawCorpus:
    source = whole.with_train(data_dir)
    files = source.find(data_dir)
    examples, without = [], 0
    for split, name in source.files.items():
        rows = read_rows(files[name], COLUMNS)
        pairs, left_out = _labelled(rows, corpus, split, files[name].name)
        examples += pairs
        without += left_out
    return RawCorpus(
        LABELS,
        examples,
        digests(files),
        subset=source is not whole,
        note=PART_OF_TRAIN if source is not whole else "",
        dropped={"no gold label": without},
    )


def _find(whole: Source, data_dir: Path | None) -> dict[str, Path]:
    return whole.with_train(data_dir).find(data_dir)


def read_snli_cad(data_dir: Path | None, part: str = "all") -> RawCorpus:
    """Pairs that people changed until the label changed. `part` is all pairs, the original ones,
    or the revised ones. The originals of dev and test are also in SNLI's dev and test sets."""
    if part not in PARTS:
        raise unknown_name("part", part, list(PARTS))
    files = SNLI_CAD.find(data_dir)
    examples, other = [], 0
    for split, name in SNLI_CAD.files.items():
        rows = read_rows(files[name], (*COLUMNS, "source"))
        pairs, _ = _labelled(rows, "snli_cad", split, name)
        sources = [rows[int(pair.id[-6:])]["source"] for pair in pairs]
        kept = [pair for pair, own in zip(pairs, sources, strict=True) if part in ("all", own)]
        examples += kept
        other += len(pairs) - len(kept)
    return RawCorpus(LABELS, examples, digests(files), dropped={"of the other part": other})


def _labelled(
    rows: Iterable[Row], corpus: str, split: str, where: str
) -> tuple[list[Example], int]:
    """The pairs, and how many had no gold label and were left out. A name is a pair's place in
    its file, so leaving some out renames none."""
    examples, without = [], 0
    for number, row in enumerate(rows):
        if row["label"] in (NO_GOLD, None, ""):
            without += 1
        else:
            examples.append(_pair(row, f"{corpus}-{split}-{number:06d}", split, where))
    return examples, without


def _pair(row: Row, name: str, split: str, where: str) -> Example:
    """The premise is attended: side a. The hypothesis asks: side b."""
    texts, label = {"a": row["premise"], "b": row["hypothesis"]}, row["label"]
    if not all(isinstance(text, str) for text in texts.values()):
        raise HeedfulError(f"{name} of {where} lacks a text: give it a premise and a hypothesis.")
    if label not in LABELS:
        known = ", ".join(LABELS)
        raise HeedfulError(f"{name} of {where} has label {label!r}, the classes are {known}.")
    return Example(name, split, texts, LABELS.index(label))


def _highlighted(data_dir: Path | None) -> RawCorpus:
    """All pairs of e-SNLI's four tables. A side where a position fits no word has no rationale;
    such sides are counted."""
    files = ESNLI.find(data_dir)
    examples: list[Example] = []
    dropped = {"no gold label": 0, MISFIT: 0}
    for name, split in ESNLI_FILES.items():
        rows = read_rows(files[name], NEEDED)
        pairs, without = _labelled(map(_plain, rows), Path(name).stem, split, name)
        marked = [_marked(pair, rows[int(pair.id[-6:])]) for pair in pairs]
        examples += [pair for pair, _ in marked]
        dropped["no gold label"] += without
        dropped[MISFIT] += sum(misfits for _, misfits in marked)
    return RawCorpus(LABELS, examples, digests(files), dropped=dropped)


def positions(cell: str | None) -> set[int] | None:
    """The positions in a cell; None where nobody annotated or it is no list of them."""
    text = (cell or "").strip()
    if text == "{}":
        return set()
    if not re.fullmatch(r"\d{1,6}(\s*,\s*\d{1,6})*", text, re.ASCII):
        return None
    return {int(number) for number in text.split(",")}


def highlighted(text: str, annotations: Sequence[set[int]]) -> Spans | None:
    """The words that more than half of the annotators marked; None where a position fits none."""
    words = matched_tokens(r"\S+", text)
    if any(position >= len(words) for marks in annotations for position in marks):
        return None
    votes = [sum(i in marks for marks in annotations) for i in range(len(words))]
    return [word[1:] for word, n in zip(words, votes, strict=True) if 2 * n > len(annotations)]


def _marked(pair: Example, row: Row) -> tuple[Example, int]:
    """The pair with its rationales, and how many of its sides had misfitting highlights."""
    found = {side: _side(pair.texts[side], row, name) for side, name in SENTENCES.items()}
    rationales = {side: spans for side, spans in found.items() if spans}
    misfits = sum(spans is None for spans in found.values())
    return replace(pair, rationales=rationales or None), misfits


def _side(text: str, row: Row, sentence: str) -> Spans | None:
    cells = [row.get(f"{sentence}_Highlighted_{n}") for n in ANNOTATORS]
    given = [cell for cell in cells if cell is not None and cell.strip()]
    marks = [positions(cell) for cell in given]
    fitting = [each for each in marks if each is not None]
    return highlighted(text, fitting) if len(fitting) == len(marks) else None


def _plain(row: Row) -> Row:
    return {"premise": row["Sentence1"], "hypothesis": row["Sentence2"], "label": row["gold_label"]}


_inference = partial(Corpus, needs=("data",), kind="pair")
_PREPARE = PrepareSpec(tokenizer="spacy", min_df=3, vectors="glove")
ENTRIES = {
    "snli": _inference(
        name="snli",
        description="A premise and a hypothesis: entailment, contradiction or neither",
        make=read_snli,
        find=partial(_find, SNLI),
        paper="jain2019",
        licence="CC BY-SA 4.0; e-SNLI: MIT",
        citation="Bowman et al. 2015, A Large Annotated Corpus for Learning NLI; "
        "highlights: Camburu et al. 2018, e-SNLI",
        prepare=_PREPARE,
    ),
    "snli_cad": _inference(
        name="snli_cad",
        description="SNLI pairs and their counterfactual revisions",
        make=read_snli_cad,
        find=SNLI_CAD.find,
        paper="kaushik2020",
        licence="Apache 2.0; SNLI: CC BY-SA 4.0",
        citation="Kaushik et al. 2020, Learning the Difference That Makes a Difference",
        prepare=_PREPARE,
    ),
    "mnli": _inference(
        name="mnli",
        description="A premise from one of several genres and a hypothesis",
        make=read_mnli,
        find=partial(_find, MNLI),
        paper="vashishth2019",
        licence="OANC terms; parts CC BY or CC BY-SA",
        citation="Williams et al. 2018, A Broad-Coverage Challenge Corpus for Sentence "
        "Understanding",
        prepare=replace(_PREPARE, dev_fraction=0.1),
    ),
}
