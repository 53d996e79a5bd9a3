"""A model that is opened once and asked about texts that come later, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from heedful.corpora import Prepared
from heedful.errors import HeedfulError
from heedful.store import Run, store_of
from heedful.subjects.document import Document
from heedful.subjects.documents import documents_of, find_records
from heedful.subjects.encode import encode_documents, unseen
from heedful.subjects.hf_load import Loaded
from heedful.subjects.limits import LONGEST, check_tokens, longest
from heedful.subjects.loading import Loading
from heedful.subjects.named import corpus_name
from heedful.subjects.open import FINE_TUNED, reading_and_loading
from heedful.subjects.reading import Reading
from heedful.subjects.row import Row
from heedful.subjects.run import find_run, open_run, read_texts, reads_pairs
from heedful.subjects.run_rows import unknown_note
from heedful.subjects.subject import Subject

NEVER, ALWAYS, MAYBE = "never", "always", "maybe"
FIRST = "This is a first text, and a good one."
EXAMPLES = 8


@dataclass(frozen=True)
class Read:
    """One text, or a pair, as a model reads it. `notes` are sentences a reader should see."""

    document: Document
    row: Row
    notes: tuple[str, ...] = ()


Reader = Callable[[dict[str, str], Reading], Read]


@dataclass(frozen=True)
class Asked:
    """`subject` holds the model and the texts it was opened with; `pairs` says whether it
    reads a second text: never, always, maybe."""

    subject: Subject
    name: str
    pairs: str
    reader: Reader

    def about(self, text: str, text_b: str | None = None) -> Subject:
        """The same model with this text alone."""
        if text_b is not None and self.pairs == NEVER:
            raise HeedfulError(f"{self.name} reads one text: leave the second out.")
        if text_b is None and self.pairs == ALWAYS:
            raise HeedfulError(f"{self.name} reads pairs: give the second text too.")
        beside = {} if text_b is None else {"text_b": text_b}
        reading = Reading(label_column=None, text_b_column="text_b" if beside else None)
        read = self.reader({"text": text, **beside}, reading)
        if unseen([read.row]):
            raise HeedfulError("the model's tokenizer finds no word in the text: write some.")
        own = (read.document,), (read.row,)
        return replace(self.subject, documents=own[0], rows=own[1], notes=read.notes)


def open_asked(model: str | Path | Run, **options: Any) -> AbstractContextManager[Asked]:
    """`model` is a run of kind `model`, or a Hugging Face folder or id; options are those of
    `open_subject`."""
    reading, loading = reading_and_loading(options)
    run = find_run(model, reading.opened)
    if run is not None and not run.has(FINE_TUNED):
        return _own(run, reading, loading)
    source = run.folder("hf") if run is not None else str(model)
    return _hugging_face(source, reading, loading)


@contextmanager
def _own(run: Run, reading: Reading, loading: Loading) -> Iterator[Asked]:
    """Some texts of its own corpus are at hand, to begin with."""
    few = replace(reading, n=EXAMPLES, label_column="label")
    with open_run(run, None, few, loading) as subject:
        prepared = Prepared(store_of(run).open(run.source("corpus")))
        limit = LONGEST if loading.max_length is None else loading.max_length
        name = f"{subject.family} on {corpus_name(prepared.run)}"
        pairs = ALWAYS if reads_pairs(run) else NEVER
        yield Asked(subject, name, pairs, partial(_read_own, run, prepared, limit))


def _read_own(
    run: Run, prepared: Prepared, limit: int, texts: dict[str, str], reading: Reading
) -> Read:
    documents, rows = read_texts(run, prepared, [texts], reading, limit)
    lost = documents[0].length - int(rows[0].mask.sum())
    return Read(documents[0], rows[0], (*unknown_note(rows), *_cut(lost)))


@contextmanager
def _hugging_face(source: str | Path, reading: Reading, loading: Loading) -> Iterator[Asked]:
    from heedful.subjects.hf import open_hf
    from heedful.subjects.hf_load import CAUSAL, load

    loaded = load(source, loading)
    plain = replace(reading, label_column=None)
    with open_hf(loaded, [{"text": FIRST}], plain, loading) as subject:
        limit = longest(loaded, loading.max_length)
        read = partial(_read_hf, loaded, limit, loading)
        pairs = NEVER if loaded.kind == CAUSAL else MAYBE
        yield Asked(subject, loaded.name, pairs, read)


def _read_hf(
    loaded: Loaded, limit: int, loading: Loading, texts: dict[str, str], reading: Reading
) -> Read:
    documents = documents_of(find_records([texts], reading), reading)
    rows, lost = encode_documents(loaded.tokenizer, documents.items, limit, loading.prompt)
    check_tokens(loaded, rows)
    return Read(documents[0], rows[0], _cut(lost.words))


def _cut(lost: int) -> tuple[str, ...]:
    """Empty where nothing was cut."""
    return (f"the last {lost} words are more than the model reads, and were cut.",) if lost else ()
