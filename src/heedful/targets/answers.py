"""Answers of models that write, as audit targets: why did the model say this?

An answer is given with the texts, or the model writes it once and it is held fixed. Its tokens
follow the text (in a decoder that reads an encoder, they are what it has written) and belong to no
word, so whatever is done to the words of a text is done under the same answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Protocol

import numpy as np

from heedful.errors import HeedfulError
from heedful.models import Gumbel
from heedful.targets.disk_list import DOCUMENTS, ROWS, DiskListWriter
from heedful.targets.document import Document, Row, Truncation, truncation
from heedful.targets.options import Loading, Reading
from heedful.targets.target import AuditTarget, with_labels

SILENT = "the model writes no answer"
GIVEN = "--answer TEXT, --answer-column NAME or --generate N"
OTHERWISE = ("anything else", "this answer")
CONTRASTED = ("the other answer", "this answer")
THIS = 1
"""The class that is explained of an answer."""
Said = tuple[list[int], list[int]]
"""What a decoder begins with (nothing in a language model), and the tokens of an answer."""


class WritingModel(Protocol):
    """A model that writes, and its tokenizer. `decodes` says that a decoder of its own writes the
    answer, and not the model that reads the text."""

    name: str
    decodes: bool

    def row(self, document: Document, before: int) -> tuple[Row, bool]:
        """The row of a text that leaves room for so many tokens to be written before the last one,
        and whether the text was cut."""
        ...

    def tokens(self, text: str, document: Document) -> Said:
        """Those of an answer that was given; one that the model cannot write is refused."""
        ...

    def write(self, row: Row, document: Document, most: int, noise: Gumbel | None) -> Said:
        """What the model writes, of at most so many tokens; without those that end an answer."""
        ...

    def text(self, answer: Sequence[int]) -> str: ...


@dataclass(frozen=True)
class Encoded:
    """Documents, with the answers that the model wrote; their rows; how many texts were cut, and
    how many were left out."""

    documents: Sequence[Document]
    rows: Sequence[Row]
    truncated: Truncation
    dropped: Mapping[str, int] = field(default_factory=dict)


def encode_answers(
    writer: WritingModel, documents: Sequence[Document], loading: Loading, seed: int
) -> Encoded:
    """The rows that the model is given, each with what it is asked for."""
    answers = Answers(writer, loading, seed)
    kept, rows, cut = DiskListWriter(DOCUMENTS), DiskListWriter(ROWS), list[bool]()
    for document in documents:
        found = answers.encode(document)
        if found is not None:
            kept.add(found[0])
            rows.add(found[1])
            cut.append(found[2])
    if not cut:
        raise HeedfulError(
            f"{writer.name} writes no answer to any of the texts: give answers ({GIVEN}), or "
            f"other texts."
        )
    asked, encoded = kept.done(), rows.done()
    lost, silent = truncation(zip(encoded, asked, cut, strict=True)), len(documents) - len(cut)
    return Encoded(asked, encoded, lost, {SILENT: silent} if silent else {})


def asks_for_answers(reading: Reading, loading: Loading, references: bool = False) -> bool:
    """Whether an answer is explained; options that do not go together are refused. `references`
    are answers that the texts bring along, where no others are named."""
    sources = {
        "--answer": loading.answer,
        "--answer-column": reading.answer_column,
        "--generate": loading.generate,
    }
    given = [option for option, value in sources.items() if value is not None]
    if len(given) > 1:
        raise HeedfulError(f"{' and '.join(given)} both say what the answer is: give one of them.")
    others = [loading.contrast, reading.contrast_column]
    if None not in others:
        raise HeedfulError("--contrast and --contrast-column say the same: give one of them.")
    contrasted = others != [None, None]
    if not given and not references:
        _refuse_without_answer(loading, contrasted)
        return False
    if given and loading.label_words is not None:
        raise HeedfulError(
            f"label_words (--label-words) and an answer ({given[0]}) are two questions: leave one "
            f"of them out."
        )
    if contrasted and (loading.token is not None or loading.answer_score != "mean"):
        raise HeedfulError(
            "a contrast is of the first token where two answers part: leave --token and "
            "--answer-score out."
        )
    if loading.temperature is not None and loading.generate is None:
        raise HeedfulError("a --temperature is for answers that the model writes: add --generate.")
    return True


def _refuse_without_answer(loading: Loading, contrasted: bool) -> None:
    asked = {
        "--contrast": contrasted,
        "--token": loading.token is not None,
        "--temperature": loading.temperature is not None,
        "--answer-score": loading.answer_score != "mean",
    }
    for option, there in asked.items():
        if there:
            raise HeedfulError(f"{option} is about an answer, and there is none: add {GIVEN}.")


class Answers:
    """Asks one model about the answers to texts, one after the other."""

    def __init__(self, writer: WritingModel, loading: Loading, seed: int) -> None:
        self.writer, self.loading = writer, loading
        heat = loading.temperature
        self.noise = None if heat is None else Gumbel(heat, seed)

    def encode(self, document: Document) -> tuple[Document, Row, bool] | None:
        """The document with its answer, its row, and whether the text was cut; None where the
        model writes nothing."""
        if self.loading.generate is None:
            return self._given(document)
        most = self.loading.generate
        row, short = self.writer.row(document, most)
        start, answer = self.writer.write(row, document, most, self.noise)
        if not answer:
            return None
        text = self.writer.text(answer)
        document = replace(document, answer=text, instead=document.instead or self.loading.contrast)
        return document, self._asked(row, document, start, answer), short

    def _given(self, document: Document) -> tuple[Document, Row, bool]:
        text = document.answer if self.loading.answer is None else self.loading.answer
        document = replace(document, answer=text, instead=document.instead or self.loading.contrast)
        start, answer = self._tokens(str(text), document)
        row, short = self.writer.row(document, len(start) + len(answer) - 1)
        return document, self._asked(row, document, start, answer), short

    def _tokens(self, text: str, document: Document) -> Said:
        start, answer = self.writer.tokens(text, document)
        if not text.strip() or not answer:
            raise HeedfulError(f"the answer to {document.id!r} is empty: write at least one word.")
        return start, answer

    def _asked(self, row: Row, document: Document, start: list[int], answer: list[int]) -> Row:
        """The row with the answer: all of it, one of its tokens, or where it parts from another."""
        before, tokens, instead = answer[:-1], answer, None
        place = self.loading.token
        if place is not None:
            if place > len(answer):
                raise HeedfulError(
                    f"the answer {str(document.answer)[:60]!r} has {len(answer)} tokens: choose a "
                    f"--token from 1 to {len(answer)}."
                )
            before, tokens = answer[: place - 1], answer[place - 1 : place]
        if document.instead is not None:
            other = self._tokens(document.instead, document)[1]
            apart = self._parting(answer, other, document)
            before, tokens = answer[:apart], answer[apart : apart + 1]
            instead = np.array(other[apart : apart + 1], dtype=np.int64)
        written = np.array([*start, *before], dtype=np.int64)
        given = replace(row, target=written) if self.writer.decodes else row.followed_by(written)
        return replace(given, answer=np.array(tokens, dtype=np.int64), instead=instead)

    def _parting(self, own: list[int], other: list[int], document: Document) -> int:
        """The first place where two answers differ."""
        pairs = enumerate(zip(own, other, strict=False))
        apart = next((place for place, (a, b) in pairs if a != b), None)
        if apart is None:
            same = "equals" if own == other else "begins like"
            raise HeedfulError(
                f"the answer {str(document.answer)[:60]!r} to {document.id!r} {same} the one it is "
                f"contrasted with, {str(document.instead)[:60]!r}: give answers that part."
            )
        return apart


def no_answer(name: str) -> HeedfulError:
    return HeedfulError(
        f"{name} reads a text and writes another: say which answer to explain, with {GIVEN}."
    )


def too_long(document: Document, before: int, room: int, name: str) -> HeedfulError:
    return HeedfulError(
        f"the answer to {document.id!r} takes {before + 1} tokens, and {name} has room for {room}: "
        f"give a shorter one (--generate), or raise --max-length."
    )


def unknown_token(text: str, document: Document, name: str) -> HeedfulError:
    return HeedfulError(
        f"the answer {text[:60]!r} to {document.id!r} has a token that {name} does not know: write "
        f"it with others."
    )


def asked_for_answers(draft: AuditTarget, loading: Loading) -> AuditTarget:
    """The target, where "this answer" is explained whatever else is likelier. It is neither right
    nor wrong: labels of the data are of another question."""
    contrasted = any(row.instead is not None for row in draft.rows)
    masked = any(row.read_at is not None for row in draft.rows)
    question = _question(loading, contrasted, masked)
    return replace(
        draft,
        documents=with_labels(draft.documents, repeat(None, len(draft))),
        label_names=CONTRASTED if contrasted else OTHERWISE,
        asked=THIS,
        key={
            **draft.key,
            "answers": _digest(draft.rows),
            "answer_score": loading.answer_score,
        },
        notes=(*draft.notes, question),
        question=question,
    )


def _digest(rows: Iterable[Row]) -> str:
    """Of what the model is asked for."""
    total = hashlib.sha256()
    for row in rows:
        for column in (row.answer, row.instead, row.target):
            total.update(b"/" if column is None else column.tobytes() + b"/")
    return total.hexdigest()[:16]


def _question(loading: Loading, contrasted: bool, masked: bool) -> str:
    """What is explained, in a sentence."""
    said = "each answer" if loading.answer is None else f"the answer {loading.answer!r}"
    if masked:
        other = "the other" if loading.contrast is None else repr(loading.contrast)
        rather = f"rather than {other}" if contrasted else "against anything else"
        return (
            f"asked is how probable {said} is at the mask of each text, {rather}; the mask is "
            f"never removed."
        )
    if contrasted:
        other = "the other" if loading.contrast is None else repr(loading.contrast)
        return (
            f"asked is why the model says {said} rather than {other}, at the first token where the "
            f"two part."
        )
    if loading.token is not None:
        return (
            f"asked is the probability of token {loading.token} of {said}, after those before it."
        )
    if loading.answer_score == "sum":
        return f"asked is the probability of the whole of {said}, against anything else."
    return (
        f"asked is the probability of {said}, against anything else: the geometric mean of the "
        f"probabilities of its tokens."
    )
