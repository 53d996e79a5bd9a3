"""Train a model into the store, or find it there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from heedful.catalogue import Catalogue
from heedful.corpora.prepared import Prepared
from heedful.edits.edited import edited
from heedful.models import ATTENTIONS, ENCODERS, FAMILIES
from heedful.models.build import build
from heedful.models.family import Family
from heedful.progress import Progress, silent
from heedful.runner.machine import Machine
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store, run_key
from heedful.training.loop import VERSION, train


def model_facts(corpus: Run, model: ModelSpec, spec: TrainSpec, seed: int) -> dict[str, Any]:
    """What makes a trained model, and so names it."""
    return {
        "model": asdict(model),
        "versions": {
            "family": FAMILIES[model.family].version,
            "encoder": _version(ENCODERS, model.encoder),
            "attention": _version(ATTENTIONS, model.attention),
            "training": VERSION,
        },
        "train": asdict(spec),
        "seed": seed,
        "upstream": {"corpus": corpus.key},
        "corpus_digest": corpus.digest,
    }


def trained(
    store: Store,
    corpus: Run,
    model: ModelSpec,
    spec: TrainSpec,
    seed: int,
    machine: Machine,
    progress: Progress = silent,
) -> Run:
    """The trained model as a run; resumes where a killed training stopped."""
    facts = model_facts(corpus, model, spec, seed)
    key = run_key("model", facts)
    if not store.has(key):
        prepared = Prepared(corpus)
        fresh = edited(build(model, prepared.vectors, prepared.classes, seed), model, seed)
        scratch = store.scratch(key)
        result = train(fresh, prepared, spec, seed, machine.device, scratch, progress)
        with store.writing("model", facts) as run:
            weights = {name: t.cpu().contiguous() for name, t in result.model.state_dict().items()}
            save_file(weights, run.weights("weights"))
            run.table("history", result.history)
            run.made_with.update(machine.describe())
    return store.open(key)


def load_model(run: Run, corpus: Run, device: str) -> Family:
    """A trained model, ready to be probed."""
    prepared = Prepared(corpus)
    spec = ModelSpec(**run.facts["model"])
    fresh = build(spec, torch.zeros_like(prepared.vectors), prepared.classes, 0)
    model = edited(fresh, spec, int(run.facts["seed"]))
    model.load_state_dict(load_file(run.weights("weights")))
    return model.to(device).eval()


def _version(catalogue: Catalogue, name: str) -> int:
    """A part's version; 0 where a family has no such part."""
    return catalogue[name].version if name in catalogue else 0
