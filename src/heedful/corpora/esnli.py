"""e-SNLI's tables: SNLI's pairs with the words that annotators highlighted on either side.

A cell of `Sentence1_Highlighted_1` lists positions of words (the sentence cut at blanks), as
in `3,4,7`, or is `{}`. The training tables have one annotator, dev and test three.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from heedful.corpora.example import Example, RawCorpus, Spans
from heedful.corpora.files import Publisher, Row, digests, find_files, read_rows
from heedful.corpora.inference import LABELS, labelled

PUBLISHER = Publisher("e-SNLI", "https://github.com/OanaMariaCamburu/e-SNLI")
FILES = {
    "esnli/esnli_train_1.csv": "train", "esnli/esnli_train_2.csv": "train",
    "esnli/esnli_dev.csv": "dev", "esnli/esnli_test.csv": "test",
}  # fmt: skip
SENTENCES = {"a": "Sentence1", "b": "Sentence2"}
ANNOTATORS = (1, 2, 3)
NEEDED = (
    "gold_label",
    "Sentence1",
    "Sentence2",
    *(f"{s}_Highlighted_1" for s in SENTENCES.values()),
)
MISFIT = "side whose highlights fit no word"


def read_highlighted(data_dir: Path | None) -> RawCorpus:
    """All pairs of the four tables. A side where a position fits no word has no rationale;
    such sides are counted."""
    files = find_files(data_dir, list(FILES), PUBLISHER)
    examples: list[Example] = []
    dropped = {"no gold label": 0, MISFIT: 0}
    for name, split in FILES.items():
        rows = read_rows(files[name], NEEDED)
        pairs, without = labelled(map(_plain, rows), Path(name).stem, split, name)
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
    words = list(re.finditer(r"\S+", text))
    if any(position >= len(words) for marks in annotations for position in marks):
        return None
    votes = [sum(i in marks for marks in annotations) for i in range(len(words))]
    return [word.span() for word, n in zip(words, votes, strict=True) if 2 * n > len(annotations)]


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
