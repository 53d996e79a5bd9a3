"""Train a model into the store, or find it there; models that have learned nothing."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import save_file

from heedful.attributions import SALIENCIES
from heedful.data import Masked, Prepared, Split, at_a_quarter, shown_to
from heedful.experiments import Evidence
from heedful.interventions import edited, restored, weights_by_id
from heedful.models import ATTENTIONS, ENCODERS, FAMILIES, WRAPPERS, build, encoder_parts
from heedful.progress import Progress, silent
from heedful.registry import Registry
from heedful.runner.machine import Machine
from heedful.runner.masking import MASKS, masks_of, masks_table
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store, file_digest, make_folder, run_key
from heedful.training import TERMS, Encoded, Objective, train
from heedful.training.loop import VERSION
from heedful.types import Model

FILES = ("arcs",)
"""Parameters of terms that are paths."""


@dataclass(frozen=True)
class Masking:
    """That percentage of each text's words is masked, in training as in testing: those the
    `explanation` of another model, `of`, names first."""

    explanation: str
    percent: int
    of: Recipe

    @property
    def title(self) -> str:
        return f", {self.percent}% masked by {self.explanation}"


@dataclass(frozen=True)
class Recipe:
    """With the corpus it names a trained model, before there is one."""

    model: ModelSpec
    train: TrainSpec
    seed: int
    teacher: Recipe | None = None
    masking: Masking | None = None

    @property
    def title(self) -> str:
        masked = self.masking.title if self.masking else ""
        return f"{self.model.name} seed {self.seed}{masked}"

    @property
    def before(self) -> dict[str, Recipe]:
        """The models it needs, by their roles."""
        explained = self.masking.of if self.masking else None
        needed = {"teacher": self.teacher, "explained": explained}
        return {role: recipe for role, recipe in needed.items() if recipe is not None}


def model_facts(corpus: Run, recipe: Recipe) -> dict[str, Any]:
    """What makes a trained model, and so names it."""
    model = recipe.model
    others = {role: model_key(corpus, other) for role, other in recipe.before.items()}
    return {
        "model": asdict(model),
        "versions": model_versions(model),
        "train": asdict(recipe.train),
        "seed": recipe.seed,
        "upstream": {"corpus": corpus.key, **others},
        "corpus_digest": corpus.digest,
        **_files(model),
        **_masking_facts(recipe.masking),
    }


def _masking_facts(masking: Masking | None) -> dict[str, Any]:
    if masking is None:
        return {}
    piece = SALIENCIES[masking.explanation]
    named = {"explanation": piece.name, "version": piece.version, **piece.plugin_facts}
    return {"masking": {**named, "percent": masking.percent}}


def model_versions(model: ModelSpec) -> dict[str, int]:
    """Of its parts, as they are today."""
    encoder, wrappers = encoder_parts(model.encoder)
    return {
        "family": FAMILIES[model.family].version,
        "encoder": _version(ENCODERS, encoder),
        "attention": _version(ATTENTIONS, model.attention),
        "training": VERSION,
        **{wrapper: WRAPPERS[wrapper].version for wrapper in wrappers},
        **{term.name: TERMS[term.name].version for term in model.terms},
    }


def _files(model: ModelSpec) -> dict[str, Any]:
    """Of what terms read from files the bytes count, not the name alone."""
    digests = {
        f"{term.name}.{name}": file_digest(Path(str(path)))
        for term in model.terms
        for name, path in term.params
        if name in FILES and path and Path(str(path)).is_file()
    }
    return {"files": digests} if digests else {}


def model_key(corpus: Run, recipe: Recipe) -> str:
    """The key of the run that this recipe gives on a prepared corpus."""
    return run_key("model", model_facts(corpus, recipe))


def trained(
    store: Store, corpus: Run, recipe: Recipe, machine: Machine, progress: Progress = silent
) -> Run:
    """The trained model as a run, those it needs before it; resumes a killed training."""
    key = model_key(corpus, recipe)
    if not store.has(key):
        with claimed(store, key):
            if not store.has(key):  # another process may have been at it
                _make(store, corpus, recipe, machine, progress)
    return store.open(key)


def _make(store: Store, corpus: Run, recipe: Recipe, machine: Machine, progress: Progress) -> None:
    spec, seed, device = recipe.model, recipe.seed, machine.device
    frozen_weights = teacher = None
    if recipe.teacher is not None:
        taught_by = trained(store, corpus, recipe.teacher, machine, progress)
        teacher = restored(taught_by, device)
        if spec.train_edit == "frozen":
            frozen_weights = weights_by_id(taught_by, device)
    data = Prepared(corpus)
    model = edited(build(spec, data.vectors, data.classes, seed), spec, seed, frozen_weights)
    objective = Objective(spec.goal, spec.terms, teacher)
    scratch, shown, masks = store.scratch(model_key(corpus, recipe)), shown_to(spec, data), None
    if recipe.masking is not None:
        wanted, explained = (
            recipe.masking,
            trained(store, corpus, recipe.masking.of, machine, progress),
        )
        masks = masks_of(explained, wanted.explanation, wanted.percent, device, progress)
        shown = Masked(shown, masks)
    result = train(model, shown, recipe.train, seed, device, scratch, progress, objective)
    with store.writing("model", model_facts(corpus, recipe)) as run:
        weights = {name: t.cpu().contiguous() for name, t in result.model.state_dict().items()}
        save_file(weights, run.weights("weights"))
        run.table("history", result.history)
        if masks is not None:
            run.table(MASKS, masks_table(masks))
        run.made_with.update(machine.describe())


def _version(registry: Registry[Any], name: str) -> int:
    """A part's version; 0 where a family has no such part."""
    return registry[name].version if name in registry else 0


def untrained(
    corpus: Run, spec: ModelSpec, machine: Machine = Machine(), count: int | None = None
) -> Evidence:
    """All of the test split, or `count` texts of typical length."""
    data = Prepared(corpus)
    model = build(spec, data.vectors, data.classes, 0).to(machine.device).eval()
    return evidence_of(model, shown_to(spec, data), machine, count=count)


def evidence_of(
    model: Model, corpus: Prepared, machine: Machine, split: str = "test", count: int | None = None
) -> Evidence:
    """For the experiments on a model: the texts of a split, and those of training."""
    some, learned = corpus.split(split), corpus.split("train")
    if count is not None:
        some, learned = typical(some, count), typical(learned, count)
    return Evidence(
        {"base": model},
        at_a_quarter(some) if corpus.task == "generation" else some,
        0,
        machine.device,
        machine.batch_size,
        task=corpus.task,
        whole=some,
        words=corpus.words,
        training=learned,
    )


Part = TypeVar("Part", Split, Encoded)


def typical(split: Part, count: int) -> Part:
    """Evenly spaced over the lengths, so that the sample's mean length is the corpus's."""
    order = split.lengths.argsort(kind="stable")
    step = max(1, len(order) // count)
    return split.subset(order[::step][:count])


@contextmanager
def claimed(store: Store, key: str, wait: bool = True) -> Iterator[bool]:
    """One process at a time on one run: whoever comes second waits, and then finds it done, or
    without `wait` is told False at once.

    This only saves work. Without it (a file system that knows no locks) two processes would do
    the same thing twice, and the store keeps the first. A process that dies lets go.
    """
    path = store.scratch(f"{key}.claim") / "lock"
    try:
        descriptor = _lock(path, wait)
    except BlockingIOError:
        yield False
        return
    try:
        yield True
    finally:
        if descriptor is not None:
            with suppress(OSError):  # somebody else waits there
                path.unlink(missing_ok=True)
                path.parent.rmdir()
            os.close(descriptor)


def _lock(path: Path, wait: bool) -> int | None:
    """A lock on the file that is there now: it may have been removed while we waited."""
    kind = fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB
    while True:
        try:
            make_folder(path.parent)
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
        except FileNotFoundError:  # the last owner tidied up in between
            continue
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, kind)
        except BlockingIOError:
            os.close(descriptor)
            raise
        except OSError:
            os.close(descriptor)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)
