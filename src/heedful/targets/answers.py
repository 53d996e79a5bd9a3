"""Answers of models that write, as audit targets: why did the model say this?

An answer is given with the texts, or the model writes it once and it is held fixed. Its tokens
follow the text (in a decoder that reads an encoder, they are what it has written) and belong to no
word, so whatever is done to the words of a text is done under the same answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

import numpy as np

from heedful import models
from heedful.errors import HeedfulError
from heedful.models import Gumbel
from heedful.targets.disk_list import DOCUMENTS, ROWS, DiskListWriter
from heedful.targets.document import Document, Row, Truncation, truncation
from heedful.targets.options import LONGEST, MASK, Loading, Prompt, Reading
from heedful.targets.places import Places, check_places, mask_of
from heedful.targets.pretrained import (
    ANSWER,
    CAUSAL,
    CLASSIFIER,
    CONTRASTED,
    MASKED,
    OTHERWISE,
    READER,
    TAGGER,
    THIS,
    WRITER,
    Loaded,
    Task,
    encode_documents,
    encode_some,
    encode_target,
    longest,
    start_token,
)
from heedful.targets.target import AuditTarget

SILENT = "the model writes no answer"
GIVEN = "--answer TEXT, --answer-column NAME or --generate N"


@dataclass(frozen=True)
class Encoded:
    """Documents, with the answers that the model wrote; their rows; how many texts were cut, and
    how many were left out."""

    documents: Sequence[Document]
    rows: Sequence[Row]
    truncated: Truncation
    dropped: Mapping[str, int] = field(default_factory=dict)


def encode(
    loaded: Loaded, task: Task, documents: Sequence[Document], loading: Loading, seed: int
) -> Encoded:
    """The rows that the model is given, with answers where it is asked for them."""
    limit, prompt = longest(loaded, loading.max_length), prompt_of(loaded, loading)
    documents = Places(loaded, loading, limit, prompt).placed(documents)
    if task.kind != ANSWER:
        return Encoded(documents, *encode_documents(loaded.tokenizer, documents, limit, prompt))
    writer = Answers(loaded, loading, limit, prompt, seed)
    kept, rows, cut = DiskListWriter(DOCUMENTS), DiskListWriter(ROWS), list[bool]()
    for document in documents:
        found = writer.encode(document)
        if found is not None:
            kept.add(found[0])
            rows.add(found[1])
            cut.append(found[2])
    if not cut:
        raise HeedfulError(
            f"{loaded.name} writes no answer to any of the texts: give answers ({GIVEN}), or "
            f"another --template."
        )
    asked, encoded = kept.done(), rows.done()
    lost, silent = truncation(zip(encoded, asked, cut, strict=True)), len(documents) - len(cut)
    return Encoded(asked, encoded, lost, {SILENT: silent} if silent else {})


def asks_for_answers(reading: Reading, loading: Loading) -> bool:
    """Whether an answer is explained; options that do not go together are refused."""
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
    if not given:
        _refuse_without_answer(loading, contrasted)
        return False
    if loading.label_words is not None:
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


def prompt_of(loaded: Loaded, loading: Loading) -> Prompt:
    """What stands around the text: the template, within the tokenizer's own for a chat. A model
    that finds answers in a text reads a question before it."""
    if loaded.kind == READER and not loading.chat:
        return Prompt(question=True)
    if loaded.kind == MASKED and MASK in loading.template:
        loading = replace(loading, template=loading.template.replace(MASK, mask_of(loaded)))
    if not loading.chat:
        return loading.prompt
    if loaded.kind != CAUSAL or not getattr(loaded.tokenizer, "chat_template", None):
        raise HeedfulError(
            f"{loaded.name} has no chat template: leave --chat out, and write the prompt as a "
            f"--template."
        )
    message = [{"role": "user", "content": loading.template}]
    try:
        whole = loaded.tokenizer.apply_chat_template(
            message, tokenize=False, add_generation_prompt=True
        )
    except Exception as error:  # a template is a program and may raise anything
        raise HeedfulError(
            f"the chat template of {loaded.name} cannot be used "
            f"({models.first_sentence(error)}): leave --chat out, and write a --template."
        ) from error
    if str(whole).count("{text}") != 1:
        raise HeedfulError(
            f"the chat template of {loaded.name} does not hold the user's text once: leave --chat "
            f"out, and write a --template."
        )
    before, _, after = str(whole).partition("{text}")
    return Prompt(before, after, special=True)


class Answers:
    """Asks one model about the answers to texts, one after the other."""

    def __init__(
        self, loaded: Loaded, loading: Loading, limit: int, prompt: Prompt, seed: int
    ) -> None:
        self.loaded, self.loading, self.limit = loaded, loading, limit
        self.prompt, self.seed = prompt, seed
        self.tokenizer, self.decodes = loaded.tokenizer, loaded.kind == WRITER
        room = models.max_positions(loaded.module.config)
        self.written_limit = min(limit, LONGEST if room is None else room)

    def encode(self, document: Document) -> tuple[Document, Row, bool] | None:
        """The document with its answer, its row, and whether the text was cut; None where the
        model writes nothing."""
        if self.loading.generate is None:
            return self._given(document)
        most = self.loading.generate
        row, short = self._row(document, most)
        start, answer = self._parted(self._write(row, document, most))
        if not answer:
            return None
        text = self.tokenizer.decode(answer, clean_up_tokenization_spaces=False)
        document = replace(document, answer=text, instead=document.instead or self.loading.contrast)
        return document, self._asked(row, document, start, answer), short

    def _given(self, document: Document) -> tuple[Document, Row, bool]:
        text = document.answer if self.loading.answer is None else self.loading.answer
        document = replace(document, answer=text, instead=document.instead or self.loading.contrast)
        start, answer = self._tokens(str(text), document)
        row, short = self._row(document, len(start) + len(answer) - 1)
        return document, self._asked(row, document, start, answer), short

    def _row(self, document: Document, more: int) -> tuple[Row, bool]:
        """The row of the text, where so many tokens are written before the last one."""
        room = self.written_limit if self.decodes else self.limit - 1
        if more > room:
            raise HeedfulError(
                f"the answer to {document.id!r} has {more + 1} tokens, and {self.loaded.name} has "
                f"room for {room}: give a shorter one (--generate), or raise --max-length."
            )
        room = self.limit if self.decodes else self.limit - more
        return next(encode_some(self.tokenizer, [document], room, self.prompt))

    def _write(self, row: Row, document: Document, most: int) -> list[int]:
        heat = self.loading.temperature
        noise = None if heat is None else Gumbel(heat, self.seed, document.id)
        return models.write(self.loaded.module, row.tokens.tolist(), most, noise)

    def _tokens(self, text: str, document: Document) -> tuple[list[int], list[int]]:
        """What a decoder begins with, and the tokens of an answer that was given."""
        if self.decodes:
            asked = replace(document, texts={"a": text}, words={"a": ()})
            ids = encode_target(self.tokenizer, asked).tokens.tolist()
            start, answer = self._parted([start_token(self.loaded.module.config), *ids])
        else:
            with models.tokenizing(self.tokenizer.name_or_path):
                ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
            start, answer = [], list(ids)
        self._check(text, ids, answer, document)
        return start, answer

    def _check(self, text: str, ids: list[int], answer: list[int], document: Document) -> None:
        size = models.token_embeddings(self.loaded.module).weight.shape[0]
        if text.strip() and (self.tokenizer.unk_token_id in ids or max(ids, default=0) >= size):
            raise HeedfulError(
                f"the answer {text[:60]!r} to {document.id!r} has a token that {self.loaded.name} "
                f"does not know: write it with others."
            )
        if not text.strip() or not answer:
            raise HeedfulError(f"the answer to {document.id!r} is empty: write at least one word.")
        if self.loaded.kind == MASKED and len(answer) > 1:
            raise HeedfulError(
                f"the answer {text[:60]!r} to {document.id!r} has {len(answer)} tokens, and a mask "
                f"stands for one: give a shorter one."
            )

    def _parted(self, ids: list[int]) -> tuple[list[int], list[int]]:
        """The special tokens that a decoder begins with, and the tokens up to the next one."""
        special = set(self.tokenizer.all_special_ids)
        start = ids[:1] if self.decodes else []
        rest = ids[len(start) :]
        if self.decodes:
            start += takewhile(lambda token: token in special, rest)
        plain = ids[len(start) :]
        return start, list(takewhile(lambda token: token not in special, plain))

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
        given = replace(row, target=written) if self.decodes else row.followed_by(written)
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


def check_asked(loaded: Loaded, answers: bool, reading: Reading, loading: Loading) -> None:
    """An answer is asked of models that write, and of some nothing else can be asked."""
    check_places(loaded, reading, loading)
    if answers and loaded.kind in (CLASSIFIER, TAGGER):
        what = "texts" if loaded.kind == CLASSIFIER else "words"
        raise HeedfulError(
            f"{loaded.name} classifies {what} and writes no answers: leave out {GIVEN}."
        )
    if not answers and loaded.kind == WRITER:
        raise HeedfulError(
            f"{loaded.name} reads a text and writes another: say which answer to explain, with "
            f"{GIVEN}."
        )


def asked_for_answers(draft: AuditTarget, loading: Loading) -> AuditTarget:
    """The target, where "this answer" is explained whatever else is likelier."""
    contrasted = any(row.instead is not None for row in draft.rows)
    masked = any(row.read_at is not None for row in draft.rows)
    question = _question(loading, contrasted, masked)
    return replace(
        draft,
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
