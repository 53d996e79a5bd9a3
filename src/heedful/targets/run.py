"""A model Heedful trained itself, with its own corpus or with new texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heedful.data import (
    Prepared,
    Tokens,
    Vocabulary,
    normalise,
    sentence_numbers,
    tokenizer,
)
from heedful.errors import HeedfulError
from heedful.interventions import restored
from heedful.models import FAMILIES, Answering, Family, Gumbel, Search, Writer, generate
from heedful.specs import START, UNKNOWN
from heedful.store import Run, Store, store_of
from heedful.targets.answers import (
    Encoded,
    Said,
    asked_for_answers,
    asks_for_answers,
    encode_answers,
    no_answer,
    too_long,
    unknown_token,
)
from heedful.targets.disk_list import DOCUMENTS, ROWS, DiskList
from heedful.targets.document import (
    Document,
    Row,
    Span,
    Truncation,
    framed,
    on_trial,
    pad,
    split_words,
    truncation,
    words_of,
)
from heedful.targets.documents import Documents, documents_of, find_records, prepared_records
from heedful.targets.options import ANSWERING, ANSWERING_COLUMNS, LONGEST, Loading, Reading
from heedful.targets.target import AuditTarget, finish, finish_labelled, weights_digest
from heedful.types import Batch

Tokenizer = Callable[[Iterable[str]], Iterator[Tokens]]
_KEY = r"(model|corpus|probe|study|audit)-[0-9a-f]{1,16}"


def find_run(source: str | Path | Run, store: Store | None) -> Run | None:
    """The run a user means by its folder, or by a key of the store; None for anything else."""
    if isinstance(source, Run):
        return source
    path = Path(source).expanduser()
    if path.name == "hf" and (path.parent / "run.json").is_file():
        path = path.parent
    if (path / "run.json").is_file():
        return Store(path.resolve().parent.parent).open(path.resolve().name)
    if re.fullmatch(_KEY, str(source)):
        if store is None:
            raise HeedfulError(
                f"{source} looks like the key of a run: name the store it is in "
                "(--store, in Python store='heedful-store')."
            )
        return store.resolve(str(source))
    return None


@contextmanager
def open_run(run: Run, data: Any, reading: Reading, loading: Loading) -> Iterator[AuditTarget]:
    """`data` left out, or the name of its own corpus, is the corpus it was trained on."""
    prepared = check_run(run)
    yield (_writer if writes(prepared) else _classifier)(run, prepared, data, reading, loading)


def check_run(run: Run) -> Prepared:
    """The corpus of a model; what cannot be audited is refused."""
    if run.kind != "model":
        raise HeedfulError(f"{run.key} is of kind {run.kind}: give a run of kind model.")
    corpus = store_of(run).open(run.source("corpus"))
    if corpus.fact("prepare.tokenizer", str) == "bpe":
        raise HeedfulError(
            f"run {run.key} reads sub-words, and an audit is of words: train one with another "
            f"tokenizer than bpe."
        )
    if run.spec.blind:
        raise HeedfulError(
            f"run {run.key} never sees impermissible tokens, and an audit shows whole texts: use "
            f"`heedful study` or probes on it, or audit a model that is not blind."
        )
    if "masking" in run.facts:
        raise HeedfulError(
            f"run {run.key} learned from texts with masked words (`heedful roar`), and an audit "
            f"shows whole texts: audit the model that learned from these."
        )
    return Prepared(corpus)


def writes(prepared: Prepared) -> bool:
    """Whether models of the corpus write texts."""
    return prepared.task == "generation"


def _classifier(
    run: Run, prepared: Prepared, data: Any, reading: Reading, loading: Loading
) -> AuditTarget:
    loading.refuse(f"run {run.key}", "label", "label_words", "template", *ANSWERING)
    reading.refuse(f"run {run.key}", *ANSWERING_COLUMNS)
    documents, rows = read_texts(run, prepared, data, reading, longest(loading))
    draft = AuditTarget(
        restored(run, loading.best_device).to(loading.torch_dtype),
        documents.items,
        prepared.labels,
        rows,
        truncated(rows, documents),
        documents.source,
        run.spec.name,
        loading.best_device,
        {},
        documents.dropped,
        unknown_note(rows),
        unit=documents.unit,
        single_tokens=_single_tokens(prepared),
    )
    draft = replace(draft, key=_key(run, draft.model, loading))
    return finish_labelled(draft, documents, loading.label_map)


def _single_tokens(prepared: Prepared) -> Callable[[Sequence[str]], list[int | None]]:
    known = _vocabulary(prepared).ids
    return lambda words: [known.get(word) for word in words]


def _key(run: Run, model: Any, loading: Loading) -> dict[str, Any]:
    return {
        "family": run.spec.family,
        "run": run.key,
        "weights": weights_digest(model),
        "tokenizer": run.source("corpus"),
        "dtype": loading.dtype or "float32",
        "max_length": longest(loading),
    }


def longest(loading: Loading) -> int:
    return LONGEST if loading.max_length is None else loading.max_length


def _writer(
    run: Run, prepared: Prepared, data: Any, reading: Reading, loading: Loading
) -> AuditTarget:
    """Asked for answers: the references of its own corpus, where no others are named."""
    name = f"run {run.key}"
    loading.refuse(name, "label", "label_words", "label_map", "template", "chat", "at")
    reading.refuse(name, "position")
    own = _is_own_corpus(prepared, data)
    if not asks_for_answers(reading, loading, references=own):
        raise no_answer(name)
    model = restored(run, loading.best_device).to(loading.torch_dtype)
    assert isinstance(model, Writer)
    writer = RunWriter(run, prepared, model, longest(loading))
    documents, encoded = read_answers(writer, data, reading, loading)
    references = own and loading.answer is None and loading.generate is None
    draft = AuditTarget(
        Answering(model, loading.answer_score),
        encoded.documents,
        (),
        encoded.rows,
        encoded.truncated,
        documents.source,
        run.spec.name,
        loading.best_device,
        _key(run, model, loading),
        {**documents.dropped, **encoded.dropped},
        (*unknown_note(encoded.rows), *((REFERENCES,) if references else ())),
        spell=writer.spell,
        unit=documents.unit,
    )
    return finish(asked_for_answers(draft, loading), documents.digest)


REFERENCES = "the answers are the corpus's own, whatever the model would write."
UNKNOWN_WORDS = "its reference has a word that the model does not know"


class RunWriter:
    """Keeps `heedful.targets.answers.WritingModel`."""

    decodes = True

    def __init__(self, run: Run, prepared: Prepared, model: Family, limit: int) -> None:
        self.run, self.prepared, self.model, self.limit = run, prepared, model, limit
        self.name, self.vocabulary = f"run {run.key}", _vocabulary(prepared)

    def row(self, document: Document, before: int) -> tuple[Row, bool]:
        if before > self.limit:
            raise too_long(document, before, self.limit, self.name)
        row = _row_of(alone(document), self.vocabulary, (), self.limit)
        return row, words_lost(row, document) > 0

    def tokens(self, text: str, document: Document) -> Said:
        """A reference was cut with its corpus."""
        reference = document.words.get("b") if text == document.texts.get("b") else None
        ids = self.encode(text, _cutting(self.prepared)(text) if reference is None else reference)
        if UNKNOWN in ids:
            raise unknown_token(text, document, self.name)
        return [START], ids

    def encode(self, text: str, spans: tuple[Span, ...]) -> list[int]:
        words = [_normalised(text[start:end]) for start, end in spans]
        ids: list[int] = self.vocabulary.encode(words)[1:-1].tolist()
        return ids

    def write(self, row: Row, document: Document, most: int, noise: Gumbel | None) -> Said:
        batch = Batch((document.id,), {"a": pad([row])}, torch.tensor([-1]))
        device = next(self.model.parameters()).device
        search = Search(longest=most, noise=noise)
        return [START], generate(self.model, batch.to(device), search=search)[0]

    def text(self, answer: Sequence[int]) -> str:
        return " ".join(self.spell(answer))

    def spell(self, tokens: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.vocabulary.words[token] for token in tokens)


def read_answers(
    writer: RunWriter, data: Any, reading: Reading, loading: Loading
) -> tuple[Documents, Encoded]:
    """Texts with their answers, as the model of the run reads and writes them."""
    if reading.text_b_column is not None:
        raise HeedfulError(f"{writer.name} reads one text: leave text_b_column out.")
    read = _documents(writer.prepared, data, replace(reading, label_column=None))
    if loading.answer is None and loading.generate is None and "b" in read[0].texts:
        read = _with_references(read, writer)
    encoded = encode_answers(writer, read.items, loading, reading.seed)
    documents = DiskList.of(map(alone, encoded.documents), DOCUMENTS)
    cut = truncated(encoded.rows, documents)  # of what is read, without references
    return read, replace(encoded, documents=documents, truncated=cut)


def _with_references(read: Documents, writer: RunWriter) -> Documents:
    """Each document with its reference as its answer; less those that the model cannot write."""
    known = DiskList.of(
        (
            replace(document, answer=document.texts["b"])
            for document in read
            if UNKNOWN not in writer.encode(document.texts["b"], document.words["b"])
        ),
        DOCUMENTS,
    )
    gone = len(read) - len(known)
    if not len(known):
        raise HeedfulError(
            f"every reference of {read.source} has a word that {writer.name} does not know: let it "
            f"write the answers (--generate N)."
        )
    dropped = {**read.dropped, **({UNKNOWN_WORDS: gone} if gone else {})}
    return replace(read, items=known, marks=read.marks[: len(known)], dropped=dropped)


def alone(document: Document) -> Document:
    """Without the text that a model writes."""
    return replace(on_trial(document), texts={"a": document.texts["a"]})


def read_texts(
    run: Run, prepared: Prepared, data: Any, reading: Reading, limit: int
) -> tuple[Documents, DiskList[Row]]:
    """Texts as the model of the run reads them."""
    pair = reads_pairs(run)
    if reading.text_b_column is not None and not pair:
        raise HeedfulError(f"run {run.key} reads one text: leave text_b_column out.")
    read = _documents(prepared, data, reading)
    if pair and "b" not in read[0].texts:
        raise HeedfulError(
            f"run {run.key} reads pairs, and {read.source} has single texts: name the "
            f"column of the second text (--text-b-column)."
        )
    documents = read
    if "b" in read[0].texts:
        documents = replace(read, items=DiskList.of(map(on_trial, read), DOCUMENTS))
    vocabulary, labels = _vocabulary(prepared), prepared.labels
    rows = DiskList.of((_row_of(each, vocabulary, labels, limit) for each in read), ROWS)
    return documents, rows


def words_lost(row: Row, document: Document) -> int:
    """Every word is one token, so a text was cut where it has fewer tokens than words."""
    return len(document.atoms["a"]) - int(row.mask.sum())


def truncated(rows: Iterable[Row], documents: Iterable[Document]) -> Truncation:
    pairs = zip(rows, documents, strict=True)
    return truncation((row, each, words_lost(row, each) > 0) for row, each in pairs)


def reads_pairs(run: Run) -> bool:
    return bool(FAMILIES[run.spec.family].kind == "pair")


def _vocabulary(prepared: Prepared) -> Vocabulary:
    return Vocabulary(tuple(prepared.words), ())


def _is_own_corpus(prepared: Prepared, data: Any) -> bool:
    named = isinstance(data, str) and data == prepared.run.fact("piece", str)
    return data is None or named


def _documents(prepared: Prepared, data: Any, reading: Reading) -> Documents:
    """Words are the model's tokens: new texts are cut as its corpus was."""
    if _is_own_corpus(prepared, data):
        reading.refuse_params("the corpus of a run, as it was prepared,")
        reading.refuse_columns("the corpus of a run")
        return documents_of(prepared_records(prepared, reading.part), reading)
    if prepared.run.fact("prepare.tokenizer", str) != GIVEN:
        reading = replace(reading, words=_cutting(prepared))
    return documents_of(find_records(data, reading), reading)


GIVEN = "given"
"""Tokens that a corpus brought along: new texts are cut by nobody's rules but ours."""


def _cutting(prepared: Prepared) -> Callable[[str], tuple[Span, ...]]:
    """How new texts are cut into words."""
    name = prepared.run.fact("prepare.tokenizer", str)
    return split_words if name == GIVEN else partial(_spans, tokenizer(name))


def _spans(cut: Tokenizer, text: str) -> tuple[Span, ...]:
    tokens = next(cut([text]))
    return tuple(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True))


MANY_UNKNOWN = 0.1
_normalised = lru_cache(maxsize=1 << 16)(normalise)


def unknown_note(rows: Iterable[Row]) -> tuple[str, ...]:
    words = unknown = 0
    for row in rows:
        words += int(row.mask.sum())
        unknown += int((row.tokens[row.mask] == UNKNOWN).sum())
    share = unknown / words if words else 0.0
    if share <= MANY_UNKNOWN:
        return ()
    return (f"{share:.0%} of all words are unknown to the model and look the same to it.",)


def _row_of(document: Document, vocabulary: Vocabulary, labels: tuple[str, ...], limit: int) -> Row:
    """Side a, with side b beside it where there is one, and with the classes that can be the
    answer where the corpus says which."""
    sides = {
        side: _row(document.texts[side], document.atoms[side], vocabulary, limit)
        for side in document.texts
    }
    if document.pieces is not None:
        number = words_of(document.pieces["a"], document.words["a"])
        own = sides["a"].words
        sides["a"] = replace(sides["a"], words=np.where(own >= 0, number[own], -1))
    known = None
    if document.candidates is not None:
        places = {name: place for place, name in enumerate(labels)}
        known = tuple(places[name] for name in document.candidates if name in places)
    return replace(sides["a"], beside=sides.get("b"), candidates=known)


def _row(text: str, spans: tuple[Span, ...], vocabulary: Vocabulary, limit: int) -> Row:
    """Start, the words, end; every word is one token."""
    spans = spans[: limit - 2]
    row = framed(vocabulary.encode([_normalised(text[a:b]) for a, b in spans]))
    starts = np.array([start for start, _ in spans], dtype=np.int32)
    sentences = np.full(len(row), -1, dtype=np.int64)
    sentences[1:-1] = sentence_numbers(text, starts)
    return replace(row, sentences=sentences)
