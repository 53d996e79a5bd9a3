"""The way in: a model on trial, whatever MODEL and DATA are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError, unknown_name
from heedful.specs import PrepareSpec, spec_from_plain
from heedful.store import Run, Store
from heedful.subjects.loading import Loading
from heedful.subjects.module import Adapter, open_module
from heedful.subjects.reading import Reading
from heedful.subjects.run import find_run, open_run
from heedful.subjects.subject import Subject

FINE_TUNED = "hf.folder.json"  # what a run of a fine-tuned model has


@contextmanager
def open_subject(model: Any, data: Any = None, **options: Any) -> Iterator[Subject]:
    """`model` is a Hugging Face folder or hub id, a pipeline, a (model, tokenizer) pair, a
    run of kind `model` (its key with `store=`, its folder, or the run), or an `Adapter`.
    `data` is what `read_documents` takes; a run may do without and uses its own corpus.
    Options are those of `Reading` and `Loading`.
    """
    reading, loading = reading_and_loading(options)
    with _opened(model, data, reading, loading) as subject:
        yield subject


def source_of(model: str | Path, store: Store | None) -> str:
    """One spelling for each model: the folder of a run, another folder, or an id of the hub."""
    run = find_run(model, store)
    path = run.path if run is not None else Path(model).expanduser()
    return str(path.resolve()) if path.exists() else str(model)


def described(model: str | Path, store: Store | None) -> dict[str, str]:
    """What trainings of one model that differ by their seeds have in common, in words. No
    weights are read."""
    run = find_run(model, store)
    if run is not None and not run.has(FINE_TUNED):
        if run.kind != "model":
            raise HeedfulError(f"{run.key} is of kind {run.kind}: give a run of kind model.")
        own = {"kind": "a Heedful model", "architecture": run.spec.name}
        return {**own, "corpus": run.source("corpus")}
    from heedful.subjects.hf_load import config_of
    from heedful.subjects.tasks import class_names

    config = config_of(model if run is None else run.folder("hf"))
    names = class_names(config)
    sizes = [getattr(config, name, None) for name in ("num_hidden_layers", "hidden_size")]
    return {
        "kind": "a Hugging Face model",
        "architecture": f"{', '.join(config.architectures or ())} {sizes}",
        "classes": ", ".join(names[:20]),
    }


def _opened(
    model: Any, data: Any, reading: Reading, loading: Loading
) -> AbstractContextManager[Subject]:
    if isinstance(model, (str, Path, Run)):
        run = find_run(model, reading.opened)
        if run is not None and not run.has(FINE_TUNED):
            return open_run(run, data, reading, loading)
        if run is not None:
            model, reading = run.folder("hf"), replace(reading, trained=_trained(run))
    if data is None and not reading.trained:
        raise HeedfulError("there are no texts: give a corpus by name, a file or a table.")
    if isinstance(model, Adapter):
        return open_module(model, data, reading, loading)
    return _hugging_face(model, data, reading, loading)


def _trained(run: Run) -> dict[str, Any]:
    """The corpus that a model was fine-tuned on: its name, its parameters, how it was cut."""
    prepare = run.fact("corpus.prepare", dict)
    try:
        spec_from_plain(PrepareSpec, prepare)
    except ValueError as error:
        raise run.unfit(f"its facts do not say how its corpus was cut ({error})") from error
    own = {"piece": run.fact("corpus.piece", str), "params": run.fact("corpus.params", dict)}
    return {**own, "prepare": prepare}


def _hugging_face(
    model: Any, data: Any, reading: Reading, loading: Loading
) -> AbstractContextManager[Subject]:
    from heedful.subjects.hf import open_hf
    from heedful.subjects.hf_load import adopt, load

    if isinstance(model, (str, Path)):
        return open_hf(load(model, loading), data, reading, loading)
    library = sys.modules.get("transformers")
    if library is not None and isinstance(model, library.Pipeline):
        return open_hf(adopt(model.model, model.tokenizer, loading), data, reading, loading)
    if isinstance(model, tuple) and len(model) == 2:
        return open_hf(adopt(*model, loading), data, reading, loading)
    raise HeedfulError(
        f"a {type(model).__name__} cannot be put on trial: give a folder or hub id, a pipeline, "
        f"a (model, tokenizer) pair, a run, or an Adapter (heedful.subjects.module)."
    )


def reading_and_loading(options: dict[str, Any]) -> tuple[Reading, Loading]:
    reading, loading = ({each.name for each in fields(kind)} for kind in (Reading, Loading))
    for name in options:
        if name not in reading | loading:
            raise unknown_name("option", name, sorted(reading | loading))
    return (
        Reading(**{name: value for name, value in options.items() if name in reading}),
        Loading(**{name: value for name, value in options.items() if name in loading}),
    )
