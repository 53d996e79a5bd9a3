"""What a prediction is about, where that is a part of the text: a word that has a label, a span
that answers a question, a mask.

The part keeps its place and is not on trial: its tokens belong to no word, so whatever is done to
the words of a text, the model is asked about the same part of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from heedful import models
from heedful.data import OUTSIDE
from heedful.errors import HeedfulError
from heedful.targets.answers import THIS
from heedful.targets.disk_list import DOCUMENTS, DiskList
from heedful.targets.document import Document, Row, Span, inside, pad
from heedful.targets.options import MASK, Loading, Prompt, Reading
from heedful.targets.pretrained import (
    ANSWER,
    GAP,
    LABEL_WORDS,
    MASKED,
    READER,
    SPAN,
    TAGGER,
    WORD_LABEL,
    Loaded,
    Task,
    check_tokens,
    class_names,
    encode_some,
    token_places,
)
from heedful.targets.target import AuditTarget


@dataclass(frozen=True)
class Places:
    """Says of each document which part of it one model is asked about."""

    loaded: Loaded
    loading: Loading
    limit: int
    prompt: Prompt

    def placed(self, documents: Sequence[Document]) -> Sequence[Document]:
        finders = {TAGGER: self._word, READER: self._answer, MASKED: self._gap}
        if self.loaded.kind not in finders:
            return documents
        find = finders[self.loaded.kind]
        return DiskList.of((find(document) for document in documents), DOCUMENTS)

    def _word(self, document: Document) -> Document:
        """The word that the data or the user names, or else the one that the model chooses."""
        if document.asked is None and self.loading.at is not None:
            return replace(document, asked=named_word(document, self.loading.at))
        if document.asked is None:
            return replace(document, asked=self._chosen(document))
        return document

    def _chosen(self, document: Document) -> Span:
        """The first word with a label other than `O`, or the one that is least likely `O`."""
        atoms = document.atoms["a"]
        whole = replace(document, words={"a": atoms}, pieces=None)
        row, output = self._run(whole)
        p = output.logits[0].double().softmax(-1).cpu()
        words, first = np.unique(row.words, return_index=True)
        first, words = first[words >= 0], words[words >= 0]
        if not len(words):
            raise HeedfulError("the model's tokenizer finds no word in the text: write some.")
        outside = _outside(class_names(self.loaded.module.config))
        labelled = np.flatnonzero(p[first].argmax(-1).numpy() != outside)
        chosen = int(labelled[0]) if len(labelled) else int(p[first, outside].argmin())
        return atoms[words[chosen]]

    def _answer(self, document: Document) -> Document:
        """The span that is given, or the one that the model answers with."""
        said = document.answer if self.loading.answer is None else self.loading.answer
        text, place = document.texts["a"], document.asked
        if said is not None and place is not None:
            raise HeedfulError(
                f"the answer to {document.id!r} is given twice: leave the answer or its position "
                f"(--position-column) out."
            )
        if said is not None:
            place = occurrence(text, str(said).strip(), document.atoms["a"])
            if place is None:
                raise HeedfulError(
                    f"the answer {str(said)[:60]!r} to {document.id!r} is not in its text: give "
                    f"one that stands there, as it is written there."
                )
        if place is None:
            place = self._best(document)
        return replace(document, asked=place, answer=text[slice(*place)])

    def _best(self, document: Document) -> Span:
        """The likeliest span of the text: its first token as a start, its last one as an end."""
        row, output = self._run(document)
        there = torch.from_numpy(row.mask)
        start, end = (
            logits[0].double().cpu() for logits in (output.start_logits, output.end_logits)
        )
        spans = (there[:, None] & there).triu()
        if not spans.any():
            raise HeedfulError("the model's tokenizer finds no word in the text: write some.")
        scores = (start[:, None] + end).masked_fill(~spans, -torch.inf)
        first, last = divmod(int(scores.argmax()), len(row))
        places = token_places(self.loaded.tokenizer, document, self.limit, self.prompt)
        return int(places[first, 0]), int(places[last, 1])

    def _gap(self, document: Document) -> Document:
        """The mask, which is one word of the text where it stands there."""
        mask, prompt = mask_of(self.loaded), self.prompt.of(document.texts)
        whole = prompt.around(document.texts["a"])
        found = [match.span() for match in re.finditer(re.escape(mask), whole)]
        if len(found) != 1:
            raise HeedfulError(
                f"{self.loaded.name} says what stands at a mask, and {document.id!r} has "
                f"{len(found) or 'none'}: write {mask} once in each text, or {{mask}} in a "
                f"--template."
            )
        start, end = (place - len(prompt.before) for place in found[0])
        return replace(_one_word(document, (start, end)), asked=(start, end))

    def _run(self, document: Document) -> tuple[Row, Any]:
        """What the model itself says of the text."""
        row, _ = next(encode_some(self.loaded.tokenizer, [document], self.limit, self.prompt))
        check_tokens(self.loaded, [row])
        return row, models.outputs(self.loaded.module, pad([row]))


def _outside(names: Sequence[str]) -> int:
    """The class of words that are part of nothing; −1 where there is none."""
    return next((place for place, name in enumerate(names) if name.upper() == OUTSIDE), -1)


def named_word(document: Document, at: str | int) -> Span:
    """Where a word stands first in the text, or the word of a number."""
    words, said = document.atoms["a"], str(at).strip()
    place = None if isinstance(at, int) else occurrence(document.texts["a"], said, words, True)
    if place is not None:
        return place
    if not said.isdecimal():
        raise HeedfulError(
            f"{said[:60]!r} (--at) is no word of {document.id!r}: give one as it stands in the "
            f"text, or its number from 1 to {len(words)}."
        )
    if not 1 <= int(said) <= len(words):
        raise HeedfulError(
            f"{document.id!r} has {len(words)} words and no word {said} (--at): give a number from "
            f"1 to {len(words)}."
        )
    return words[int(said) - 1]


def occurrence(text: str, said: str, words: Sequence[Span], whole: bool = False) -> Span | None:
    """Where something stands first in a text as whole words; or else, unless only whole words will
    do, where it stands first."""
    found = [match.span() for match in re.finditer(re.escape(said), text)] if said else []
    starts, ends = ({span[side] for span in words} for side in (0, 1))
    wholes = [span for span in found if span[0] in starts and span[1] in ends]
    return next(iter(wholes if whole else [*wholes, *found]), None)


def _one_word(document: Document, span: Span) -> Document:
    """The document with a span of its text as one word."""
    pieces = document.pieces
    if pieces is not None:  # the longer units that hold it stay as they are
        return replace(document, pieces={**pieces, "a": _joined(pieces["a"], span)})
    return replace(document, words={**document.words, "a": _joined(document.words["a"], span)})


def _joined(words: Sequence[Span], span: Span) -> tuple[Span, ...]:
    overlaps = inside(words, [span]) if words else []
    if not any(overlaps):
        return tuple(words)
    pairs = list(zip(words, overlaps, strict=True))
    rest = [word for word, overlap in pairs if not overlap]
    return tuple(sorted([*rest, span]))


def mask_of(loaded: Loaded) -> str:
    """How the mask is written for a model."""
    mask = loaded.tokenizer.mask_token
    if mask is None:
        raise HeedfulError(
            f"the tokenizer of {loaded.name} has no mask: set tokenizer.mask_token, and save it."
        )
    return str(mask)


def with_place(loaded: Loaded, loading: Loading, text: str) -> str:
    """A text of ours with what the model is asked about."""
    named = [word for word in (loading.at, loading.answer) if isinstance(word, str)]
    if loaded.kind == MASKED and not any(m in loading.template for m in (MASK, mask_of(loaded))):
        return text.replace("good", mask_of(loaded))
    if loaded.kind in (TAGGER, READER) and named:
        return f"{text} It is about {named[0].strip()}."
    return text


def check_places(loaded: Loaded, reading: Reading, loading: Loading) -> None:
    """Refuse options that say which part of a text is asked about where another thing is."""
    if loaded.kind != TAGGER:
        loading.refuse(loaded.name, "at")
    if loaded.kind not in (TAGGER, READER) and reading.position_column is not None:
        raise HeedfulError(
            f"{loaded.name} is asked about no part of a text: leave position_column "
            f"(--position-column) out."
        )
    if loaded.kind == READER:
        loading.refuse(loaded.name, "generate", "contrast", "temperature", "token", "answer_score")
        loading.refuse(loaded.name, "label_words")
        if reading.contrast_column is not None:
            raise HeedfulError(
                f"{loaded.name} takes no contrast: leave contrast_column (--contrast-column) out."
            )
    if loaded.kind == MASKED:
        loading.refuse(loaded.name, "generate", "temperature", "token", "answer_score")
    if loading.at is not None and reading.position_column is not None:
        raise HeedfulError("--at and --position-column say the same: give one of them.")


def asked_at_places(
    draft: AuditTarget, loaded: Loaded, task: Task, loading: Loading, given: bool
) -> AuditTarget:
    """The target, with what is asked about in its key, its notes and its question; `given` says
    that the data names the parts of all texts."""
    if loaded.kind not in (TAGGER, READER, MASKED):
        return draft
    draft = replace(draft, key={**draft.key, "places": _digest(draft.rows)})
    if task.kind == ANSWER:
        return draft
    question = {
        WORD_LABEL: _about_word(draft.label_names, loading, given),
        SPAN: _about_span(loading, given),
        GAP: "asked is which token stands at the mask of each text; the mask is never removed.",
        LABEL_WORDS: "asked is which label word stands at the mask of each text; the mask is never "
        "removed.",
    }[task.kind]
    return replace(
        draft,
        asked=THIS if task.kind == SPAN else None,
        notes=(*draft.notes, question),
        question=question,
    )


def _about_word(names: Sequence[str], loading: Loading, given: bool) -> str:
    if loading.at is not None:
        word = f"the word {loading.at!r}" if isinstance(loading.at, str) else f"word {loading.at}"
    elif given:
        word = "the word that the data names"
    elif _outside(names) < 0:
        word = "the first word"
    else:
        word = "the first word that the model labels other than O, or else the one least likely O"
    return f"asked is the label of {word}, in each text; that word is never removed."


def _about_span(loading: Loading, given: bool) -> str:
    said = "the answer that the data gives" if given else "the answer that the model gives"
    if loading.answer is not None:
        said = f"the answer {loading.answer!r}"
    return (
        f"asked is the probability of {said}, against anything else: that of its first token as "
        f"a start times that of its last one as an end. The answer and the question are never "
        f"removed."
    )


def _digest(rows: Iterable[Row]) -> str:
    """Of where the model is asked."""
    total = hashlib.sha256()
    for row in rows:
        total.update(b"/" if row.read_at is None else row.read_at.tobytes() + b"/")
    return total.hexdigest()[:16]
