"""A Hugging Face model with its texts: loaded or given, asked what it was made for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from heedful.models import attach, classes, evaluating, label_words, next_token
from heedful.subjects.digest import tokenizer_digest, weights_digest
from heedful.subjects.documents import Documents, documents_of, find_records
from heedful.subjects.encode import encode_documents
from heedful.subjects.hf_load import Loaded
from heedful.subjects.labels import with_labels
from heedful.subjects.limits import check_tokens, fillers, longest
from heedful.subjects.loading import Loading
from heedful.subjects.reading import Reading
from heedful.subjects.settle import finish, settle
from heedful.subjects.subject import Subject
from heedful.subjects.tasks import CLASSES, LABEL_WORDS, NEXT, Task, task_of
from heedful.subjects.yes_no import yes_no


@contextmanager
def open_hf(loaded: Loaded, data: Any, reading: Reading, loading: Loading) -> Iterator[Subject]:
    """The module is lent: outside the block it is as it was."""
    task = task_of(loaded, loading)
    if task.kind == NEXT:
        reading = replace(reading, label_column=None)
    documents = documents_of(find_records(data, reading), reading)
    limit = longest(loaded, loading.max_length)
    rows, truncated = encode_documents(loaded.tokenizer, documents.items, limit, loading.prompt)
    check_tokens(loaded, rows)
    draft = Subject(
        loaded.module,
        documents.items,
        task.names,
        rows,
        truncated,
        documents.source,
        f"{type(loaded.module).__name__}{task.aside}",
        str(loaded.module.device),
        _key(loaded, task, loading, limit),
        documents.dropped,
    )
    with (
        evaluating(loaded.module),
        _asked(loaded, task, draft, documents, loading) as subject,
    ):
        yield subject


@contextmanager
def _asked(
    loaded: Loaded, task: Task, draft: Subject, documents: Documents, loading: Loading
) -> Iterator[Subject]:
    filler = fillers(loaded)
    if task.kind == CLASSES:
        with attach(loaded.module, filler, classes) as model:
            yield settle(replace(draft, model=model), documents, loading.label_map)
    elif task.kind == LABEL_WORDS:
        with attach(loaded.module, filler, label_words(task.tokens)) as model:
            yield settle(replace(draft, model=model), documents, loading.label_map)
    elif task.kind == NEXT:
        nothing = itertools.repeat(None, len(draft))
        unlabelled = with_labels(draft.documents, nothing)
        with attach(loaded.module, filler, next_token) as model:
            yield finish(replace(draft, model=model, documents=unlabelled), documents.digest)
    else:
        question = yes_no(loaded, task, draft, documents, loading)
        with attach(loaded.module, filler, question.head) as model:
            yield finish(replace(question.subject, model=model), documents.digest)


def _key(loaded: Loaded, task: Task, loading: Loading, limit: int) -> dict[str, Any]:
    return {
        "family": "hf",
        "model": type(loaded.module).__name__,
        "weights": weights_digest(loaded.module),
        "tokenizer": tokenizer_digest(loaded.tokenizer),
        "dtype": str(loaded.module.dtype).removeprefix("torch."),
        "task": task.kind,
        "label_tokens": list(task.tokens),
        "template": loading.template,
        "max_length": limit,
    }
