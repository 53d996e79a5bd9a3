"""A trained model back from the store, with whatever its attention was replaced by."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from heedful.corpora import Prepared, shown_to
from heedful.edits.edited import edited
from heedful.models import Family, build, main_site
from heedful.store import Run, store_of

Given = Mapping[str, Tensor]
"""Weights by example id, `[heads, queries, keys]`."""
_TOKENS_AT_ONCE = 1 << 13


def restored(run: Run, device: str = "cpu") -> Family:
    """The model of a run, ready to be probed."""
    store, spec = store_of(run), run.spec
    corpus = Prepared(store.open(run.source("corpus")))
    given = None
    if spec.train_edit == "frozen":
        given = weights_by_id(store.open(run.source("teacher")), device)
    try:
        fresh = build(spec, torch.zeros_like(corpus.vectors), corpus.classes, 0)
        model = edited(fresh, spec, run.seed, given)
        model.load_state_dict(load_file(run.weights("weights")))
    except (RuntimeError, ValueError, SafetensorError) as error:
        raise run.unfit("its weights are not those of the model in its facts") from error
    return model.to(device).eval()


@torch.no_grad()
def weights_by_id(teacher: Run, device: str = "cpu") -> Given:
    """What a trained model attends to in every example of its corpus, at its main site."""
    store = store_of(teacher)
    corpus = shown_to(teacher.spec, Prepared(store.open(teacher.source("corpus"))))
    model = restored(teacher, device)
    site = main_site(model).name
    found: dict[str, Tensor] = {}
    for name in ("train", "dev", "test"):
        for _, batch in corpus.split(name).batches(256, _TOKENS_AT_ONCE):
            trace = model(batch.to(device))
            weights, masks = trace.weights[site].cpu(), trace.masks[site].cpu()
            for row, example in enumerate(batch.ids):
                found[example] = weights[row][..., masks[row].any(0).any(0)].clone()
    return found
