"""Open a model for an audit, with its examples; or open it once and ask about one text at a time.

What a Hugging Face model or an adapter needs is imported when one is opened.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful import models
from heedful.errors import HeedfulError
from heedful.keywords import takes
from heedful.specs import PrepareSpec, spec_from_plain
from heedful.store import Run, Store
from heedful.targets.answers import asks_for_answers, no_answer
from heedful.targets.document import Document, Row
from heedful.targets.documents import check_source, corpus_name
from heedful.targets.options import Loading, Reading, reading_and_loading
from heedful.targets.run import (
    RunWriter,
    check_run,
    find_run,
    longest,
    open_run,
    read_answers,
    read_texts,
    reads_pairs,
    truncated,
    unknown_note,
    writes,
)
from heedful.targets.target import AuditTarget, unseen
from heedful.units import DOCUMENT, TOKEN, WORD, by_unit

if TYPE_CHECKING:
    from heedful.targets.pretrained import Loaded

FINE_TUNED = "hf.folder.json"  # what a run of a fine-tuned model has
NEVER, ALWAYS, MAYBE = "never", "always", "maybe"
FIRST = "This is a first text, and a good one."
FIRST_OF_TWO = ("This is a first text.", "It is a good one.")
"""Of two units, where they are longer than words."""
QUESTION = "What is it like?"
EXAMPLES = 8


@takes(Reading, Loading)
@contextmanager
def open_target(model: Any, data: Any = None, **options: Any) -> Iterator[AuditTarget]:
    """`model` is a Hugging Face folder or hub id, a pipeline, a (model, tokenizer) pair, a
    run of kind `model` (its key with `store=`, its folder, or the run), an `Adapter`, or a model
    of TransformerLens or nnsight.
    `data` is what `read_documents` takes; a run may do without and uses its own corpus.
    """
    reading, loading = reading_and_loading(options)
    with _opened(model, data, reading, loading) as subject:
        yield subject if loading.infill is None else _infilled(subject, loading)


open_subject = open_target
"""Its name in 0.1."""


def _infilled(subject: AuditTarget, loading: Loading) -> AuditTarget:
    from heedful.targets.infill import with_infill

    return with_infill(subject, loading)


def source_of(model: str | Path, store: Store | None) -> str:
    """One spelling for each model: the folder of a run, another folder, or an id of the hub."""
    run = find_run(model, store)
    path = run.path if run is not None else Path(model).expanduser()
    return str(path.resolve()) if path.exists() else str(model)


def described(model: str | Path, store: Store | None) -> dict[str, str]:
    """What trainings of one model that differ by their seeds have in common, in words. No
    weights are read."""
    from heedful.targets.pretrained import class_names

    run = find_run(model, store)
    if run is not None and not run.has(FINE_TUNED):
        if run.kind != "model":
            raise HeedfulError(f"{run.key} is of kind {run.kind}: give a run of kind model.")
        own = {"kind": "a Heedful model", "architecture": run.spec.name}
        return {**own, "corpus": run.source("corpus")}
    models.transformers()
    with models.opened(models.find_folder(model if run is None else run.folder("hf"))) as place:
        config = place.config()
    names = class_names(config)
    sizes = [getattr(config, name, None) for name in ("num_hidden_layers", "hidden_size")]
    return {
        "kind": "a Hugging Face model",
        "architecture": f"{', '.join(config.architectures or ())} {sizes}",
        "classes": ", ".join(names[:20]),
    }


def _opened(
    model: Any, data: Any, reading: Reading, loading: Loading
) -> AbstractContextManager[AuditTarget]:
    run = _run(model, reading)
    if run is not None and not run.has(FINE_TUNED):
        return open_run(run, data, reading, loading)
    if run is not None:
        reading = replace(reading, trained=_trained(run))
    if data is None and not reading.trained:
        raise HeedfulError("there are no texts: give a corpus by name, a file or a table.")
    check_source(data, reading)
    from heedful.targets.adapter import Adapter, open_module

    if isinstance(model, Adapter):
        return open_module(model, data, reading, loading)
    from heedful.targets.hf import open_hf

    return open_hf(hugging_face(model, reading, loading), data, reading, loading)


def _run(model: Any, reading: Reading) -> Run | None:
    named = isinstance(model, (str, Path, Run))
    return find_run(model, reading.opened) if named else None


def is_own(model: Any, reading: Reading) -> bool:
    """Whether it is no model of transformers, but a run of ours or an adapter."""
    from heedful.targets.adapter import Adapter

    run = _run(model, reading)
    return isinstance(model, Adapter) or (run is not None and not run.has(FINE_TUNED))


def own_writer(model: Any, reading: Reading) -> bool:
    """Whether it is a run of ours that writes texts."""
    run = _run(model, reading)
    return run is not None and not run.has(FINE_TUNED) and writes(check_run(run))


def hugging_face(model: Any, reading: Reading, loading: Loading, asked: bool = True) -> Loaded:
    """`asked` models must decide something (`load`)."""
    from heedful.targets.hooked import unwrapped
    from heedful.targets.pretrained import adopt, load

    run, library = _run(model, reading), sys.modules.get("transformers")
    if run is not None:
        return load(run.folder("hf"), loading, asked)
    if isinstance(model, (str, Path)):
        return load(model, loading, asked)
    if library is not None and isinstance(model, library.Pipeline):
        return adopt(model.model, model.tokenizer, loading, asked)
    pair = unwrapped(model)
    if isinstance(pair, tuple) and len(pair) == 2:
        return adopt(*pair, loading, asked)
    raise HeedfulError(
        f"a {type(model).__name__} cannot be put on trial: give a folder or hub id, a "
        f"pipeline, a (model, tokenizer) pair, a run, a model of TransformerLens or nnsight, or an "
        f"Adapter (heedful.Adapter)."
    )


def _trained(run: Run) -> dict[str, Any]:
    """The corpus that a model was fine-tuned on: its name, its parameters, how it was cut."""
    prepare = run.fact("corpus.prepare", dict)
    try:
        spec_from_plain(PrepareSpec, prepare)
    except ValueError as error:
        raise run.unfit(f"its facts do not say how its corpus was cut ({error})") from error
    own = {"piece": run.fact("corpus.piece", str), "params": run.fact("corpus.params", dict)}
    return {**own, "prepare": prepare}


Read = tuple[Document, Row, tuple[str, ...]]
"""One text, or a pair, as a model reads it, and sentences a reader should see."""
Reader = Callable[[dict[str, Any], Reading], Read]


@dataclass(frozen=True)
class Asked:
    """`subject` holds the model and the texts it was opened with; `pairs` says whether it
    reads a second text: never, always, maybe. Another text is read as the `reading` says."""

    subject: AuditTarget
    name: str
    pairs: str
    reader: Reader
    reading: Reading

    def about(self, text: str | Sequence[str], text_b: str | None = None) -> AuditTarget:
        """The same model with this text alone: a list is one of documents."""
        if not isinstance(text, str) and self.reading.unit != DOCUMENT:
            raise HeedfulError(
                f"a list of texts needs --unit document, and the unit is {self.reading.unit}: give "
                f"one text, or that option."
            )
        if text_b is not None and self.pairs == NEVER:
            raise HeedfulError(f"{self.name} reads one text: leave the second out.")
        if text_b is None and self.pairs == ALWAYS:
            raise HeedfulError(f"{self.name} reads pairs: give the second text too.")
        beside = {} if text_b is None else {"text_b": text_b}
        second = "text_b" if beside else None
        reading = replace(self.reading, label_column=None, text_b_column=second)
        document, row, notes = self.reader({"text": text, **beside}, reading)
        if unseen([row]):
            raise HeedfulError("the model's tokenizer finds no word in the text: write some.")
        return replace(self.subject, documents=(document,), rows=(row,), notes=notes)


def open_asked(model: str | Path | Run, **options: Any) -> AbstractContextManager[Asked]:
    """`model` is a run of kind `model`, or a Hugging Face folder or id; options are those of
    `open_target`."""
    reading, loading = reading_and_loading(options)
    run = find_run(model, reading.opened)
    if run is not None and not run.has(FINE_TUNED):
        return _asked_own(run, reading, loading)
    source = run.folder("hf") if run is not None else str(model)
    return _asked_hugging_face(source, reading, loading)


@contextmanager
def _asked_own(run: Run, reading: Reading, loading: Loading) -> Iterator[Asked]:
    """Some texts of its own corpus are at hand, to begin with."""
    few, prepared = replace(reading, n=EXAMPLES, label_column="label"), check_run(run)
    if writes(prepared) and not asks_for_answers(reading, loading):
        raise no_answer(f"run {run.key}")
    with open_run(run, None, few, loading) as subject:
        model = subject.model

        def read(texts: dict[str, Any], reading: Reading) -> Read:
            if isinstance(model, models.Answering):
                writer = RunWriter(run, prepared, model.model, longest(loading))
                found = read_answers(writer, [texts], reading, loading)[1]
                document, row = found.documents[0], found.rows[0]
            else:
                documents, rows = read_texts(run, prepared, [texts], reading, longest(loading))
                document, row = documents[0], rows[0]
            lost = truncated([row], [document]).words
            return document, row, (*unknown_note([row]), *_cut(lost, reading.unit))

        name = f"{subject.family} on {corpus_name(prepared.run)}"
        yield Asked(subject, name, ALWAYS if reads_pairs(run) else NEVER, read, _plain(reading))


@contextmanager
def _asked_hugging_face(source: str | Path, reading: Reading, loading: Loading) -> Iterator[Asked]:
    from heedful.targets.hf import documents_as, open_hf
    from heedful.targets.places import with_place
    from heedful.targets.pretrained import CLASSIFIER, check_tokens, load, task_of
    from heedful.targets.pretrained_writer import encode, prompt_of

    loaded = load(source, loading)

    def read(texts: dict[str, Any], reading: Reading) -> Read:
        documents = documents_as(loaded, [texts], reading, loading)
        task = task_of(loaded, loading, asks_for_answers(reading, loading))
        encoded = encode(loaded, task, documents.items, loading, reading.seed)
        check_tokens(loaded, encoded.rows)
        return encoded.documents[0], encoded.rows[0], _cut(encoded.truncated.words, reading.unit)

    asks = prompt_of(loaded, loading).holds_b
    plain = replace(reading, label_column=None, text_b_column="text_b" if asks else None)
    parts = [FIRST] if reading.unit in (TOKEN, WORD) else list(FIRST_OF_TWO)
    parts[-1] = with_place(loaded, loading, parts[-1])
    text = parts if reading.unit == DOCUMENT else "\n\n".join(parts)
    first = {"text": text, **({"text_b": QUESTION} if asks else {})}
    pairs = MAYBE if loaded.kind == CLASSIFIER else NEVER
    with open_hf(loaded, [first], plain, loading) as subject:
        yield Asked(subject, loaded.name, ALWAYS if asks else pairs, read, _plain(reading))


def _plain(reading: Reading) -> Reading:
    """What of it holds for any text."""
    return Reading(unit=reading.unit, separator=reading.separator, seed=reading.seed)


def _cut(lost: int, unit: str) -> tuple[str, ...]:
    """Empty where nothing was cut."""
    sentence = f"the text is longer than the model reads: its last {lost} words were cut off."
    return (by_unit(sentence, unit),) if lost else ()
