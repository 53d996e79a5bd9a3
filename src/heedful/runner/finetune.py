"""Fine-tune a pretrained classifier into the store, or find it there.

A raw corpus is enough: the words are the model's tokenizer's to find, so neither spaCy nor a
prepared corpus is needed.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.data import (
    CORPORA,
    RawCorpus,
    check_raw,
    corpus_facts,
    corpus_params,
    cut_splits,
    default_prepare,
    limit_splits,
    mark,
)
from heedful.errors import HeedfulError
from heedful.experiments import score_summary
from heedful.progress import Progress, silent
from heedful.runner.machine import Machine
from heedful.runner.train import claimed, typical
from heedful.specs import CorpusSpec
from heedful.store import Run, Store, canonical, run_key, write_folder
from heedful.targets import CUTTING
from heedful.training import (
    STATE_TERMS,
    FinetuneSpec,
    MaskedWords,
    check_terms,
    data_facts,
    encode_splits,
    finetune,
    load_pretrained,
    pretrained_digests,
    save_classifier,
)
from heedful.training.finetune import VERSION, Pretrained, check, masked_words, predict

IMPERMISSIBLE, MLM = "impermissible", "mlm"
FOLDER = "hf"
"""The run's Hugging Face folder."""

_RESAMPLES = 500
_SAMPLE = 4  # batches a forecast is timed on


@dataclass(frozen=True)
class Task:
    """What is to be fine-tuned on what."""

    folder: Path
    corpus: CorpusSpec
    raw: RawCorpus
    spec: FinetuneSpec
    facts: dict[str, Any]

    @property
    def title(self) -> str:
        return f"{self.corpus.title} {self.folder.resolve().name}"

    def key(self, seed: int) -> str:
        """The key of the run that training with this seed gives."""
        return run_key("model", {**self.facts, "seed": seed})


def task(folder: Path, corpus: CorpusSpec, spec: FinetuneSpec, data_dir: Path | None) -> Task:
    """Read the corpus and name the work by bytes: those of the model, and all it will read."""
    check_terms(spec.terms, STATE_TERMS)
    marked = IMPERMISSIBLE in _named(spec)
    _check_unprepared(corpus, marked)
    digests = pretrained_digests(folder)
    piece = CORPORA[corpus.name]
    params = corpus_params(piece, corpus.params)
    raw: RawCorpus = piece.make(data_dir, **params)
    check_raw(raw)
    chosen = limit_splits(cut_splits(raw.examples, corpus.prepare), corpus.prepare)
    raw = replace(raw, examples=mark(chosen, corpus.prepare.impermissible))
    if marked and all(e.impermissible is None for e in raw.examples if e.split == "train"):
        raise HeedfulError(
            "the term 'impermissible' needs marked tokens, and the corpus marks none: name them "
            "(--param impermissible=…)."
        )
    origin = corpus_facts(piece, params, corpus.prepare) | {"sources": dict(raw.sources)}
    origin["prepare"] = {name: origin["prepare"][name] for name in CUTTING}
    facts = {
        "piece": "finetune",
        "version": VERSION,
        "pretrained": digests,
        "corpus": origin,
        "data": hashlib.sha256(canonical(data_facts(raw, marked)).encode()).hexdigest(),
        "labels": list(raw.labels),
        "train": _training(spec),
    }
    return Task(folder, corpus, raw, spec, facts)


def _named(spec: FinetuneSpec) -> set[str]:
    return {term.name for term in spec.terms}


def _check_unprepared(corpus: CorpusSpec, marked: bool) -> None:
    """Of a preparation only the splits count here, and marks where a term asks for them."""
    counted = (*CUTTING, IMPERMISSIBLE) if marked else CUTTING
    usual = default_prepare(corpus.name)
    for name, value in asdict(corpus.prepare).items():
        if name not in counted and value != getattr(usual, name):
            raise HeedfulError(
                f"the parameter {name!r} is for models that are trained from scratch: a "
                f"pretrained one brings its own tokenizer and vectors, leave it out."
            )


def _training(spec: FinetuneSpec) -> dict[str, Any]:
    """How it is trained. Without terms nothing is said of any: such models keep their names."""
    facts = asdict(spec)
    if not facts.pop("terms"):
        return facts
    named = [{**asdict(term), "version": STATE_TERMS[term.name].version} for term in spec.terms]
    return {**facts, "terms": named}


def finetuned(
    store: Store, work: Task, seed: int, machine: Machine, progress: Progress = silent
) -> Run:
    """The fine-tuned model as a run; resumes where a killed training stopped."""
    check(work.spec, machine.device)
    key = work.key(seed)
    if not store.has(key):
        with claimed(store, key):
            if not store.has(key):  # another process may have been at it
                _make(store, work, seed, machine, progress)
    return store.open(key)


def _make(store: Store, work: Task, seed: int, machine: Machine, progress: Progress) -> None:
    start = load_pretrained(work.folder, work.raw.labels, seed, work.spec.max_length)
    data = encode_splits(work.raw, start, work.spec.max_length)
    scratch = store.scratch(work.key(seed))
    words = _words(work, start)
    result = finetune(start.model, data, work.spec, seed, machine.device, scratch, progress, words)
    test = data["test"]
    p = predict(result.model, test, machine.device)
    import transformers

    with store.writing("model", {**work.facts, "seed": seed}) as run:
        save_classifier(replace(start, model=result.model), run.path / FOLDER)
        write_folder(run.path / FOLDER)
        run.table("history", result.history)
        run.table("summary", score_summary(test.labels.numpy(), p, seed, _RESAMPLES))
        told = {"example": test.ids, "label": test.labels.numpy(), "predicted": p.argmax(1)}
        by_class = {f"p{number}": p[:, number] for number in range(p.shape[1])}
        run.table("predictions", pd.DataFrame({**told, **by_class}))
        run.json("splits", {n: {"examples": len(e), "cut": e.cut} for n, e in data.items()})
        run.made_with.update(machine.describe())
        run.made_with.update(transformers=transformers.__version__, title=work.title)


def _words(work: Task, start: Pretrained) -> MaskedWords | None:
    return masked_words(start, work.folder) if MLM in _named(work.spec) else None


def seconds(work: Task, machine: Machine) -> float:
    """About how long one seed takes, from two small epochs of typical length."""
    start = load_pretrained(work.folder, work.raw.labels, 0, work.spec.max_length)
    data = encode_splits(work.raw, start, work.spec.max_length)
    count = _SAMPLE * work.spec.batch_size
    sample = {name: typical(part, count) for name, part in data.items()}
    twice = replace(work.spec, epochs=2, patience=None, select="accuracy")
    words = _words(work, start)
    history = finetune(start.model, sample, twice, 0, machine.device, words=words).history
    growth = len(data["train"]) / len(sample["train"])
    return float(history["seconds"].iloc[-1]) * growth * work.spec.epochs
