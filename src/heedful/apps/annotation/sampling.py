"""From a model and its texts to the items of a study (vashishth2019, manual evaluation)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from heedful.apps.annotation.database import RATIONALE, RELEVANCE, TASKS, Plan
from heedful.apps.annotation.items import ORIGINAL, PERMUTED, PLAIN, Item
from heedful.attributions import on_text, text_site
from heedful.errors import HeedfulError, unknown_name
from heedful.experiments import Intervention, base_trace, edits_at, ranking, read_map
from heedful.hashing import stable_hash
from heedful.models import explained_class
from heedful.targets import AuditTarget, open_target
from heedful.types import Batch, Trace
from heedful.words import to_words, word_mask


@dataclass(frozen=True)
class Wanted:
    """`n` items of each kind with their `top` words; n texts for the task `rationale`."""

    task: str = RELEVANCE
    n: int = 100
    top: int = 3
    seed: int = 0


def plan_study(model: Any, data: Any, wanted: Wanted, **options: Any) -> Plan:
    """The items in a random order, and the facts of the study. Options are `open_target`'s.

    A text is shown once, under its own weights or under permuted ones; where there are fewer
    than 2n texts, some are shown under both.
    """
    if wanted.task not in TASKS:
        raise unknown_name("task", wanted.task, list(TASKS))
    texts = wanted.n if wanted.task == RATIONALE else 2 * wanted.n
    with open_target(model, data, **{**options, "n": texts, "seed": wanted.seed}) as subject:
        chosen = _chosen(subject, wanted)
        items = [item for shown in chosen for item in _items(subject, shown, chosen, wanted)]
        facts = _facts(subject, str(model), wanted, chosen)
    items.sort(key=lambda item: stable_hash(wanted.seed, "item", item.shown, item.example))
    numbered = tuple(replace(item, number=number) for number, item in enumerate(items))
    return Plan(wanted.task, numbered, facts)


def _chosen(subject: AuditTarget, wanted: Wanted) -> dict[str, list[int]]:
    """The documents of each kind of item."""
    n, there = wanted.n, len(subject)
    if there < n:
        raise HeedfulError(f"{subject.source} has {there} texts and {n} are needed: lower --n.")
    ids = [document.id for document in subject.documents]
    order = sorted(range(there), key=lambda i: stable_hash(wanted.seed, "study", ids[i]))
    if wanted.task == RATIONALE:
        return {PLAIN: order[:n]}
    if not subject.labelled:
        raise HeedfulError(
            "whether a prediction is right needs labels: give data with labels, or ask for "
            "--task rationale."
        )
    return {ORIGINAL: order[:n], PERMUTED: order[-n:]}


def _facts(
    subject: AuditTarget, model: str, wanted: Wanted, chosen: Mapping[str, list[int]]
) -> dict[str, Any]:
    twice = len(set(chosen.get(ORIGINAL, ())) & set(chosen.get(PERMUTED, ())))
    shared = f"{twice} texts are shown twice, under both kinds of weights: there were too few."
    return {
        "model": model,
        "family": subject.family,
        "source": subject.source,
        "labels": list(subject.label_names),
        "n": wanted.n,
        "top": wanted.top,
        "seed": wanted.seed,
        "notes": [*subject.notes, *([shared] if twice else [])],
    }


def _items(
    subject: AuditTarget, shown: str, chosen: Mapping[str, list[int]], wanted: Wanted
) -> Iterator[Item]:
    mine = set(chosen[shown])
    for indices, batch in subject.batches():
        rows = [row for row, index in enumerate(indices.tolist()) if index in mine]
        if not rows:
            continue
        some = batch.take(torch.tensor(rows, device=batch.labels.device))
        trace = _trace(subject, some, shown, wanted.seed)
        predicted = explained_class(trace.logits, some).tolist()
        tops = _tops(subject, some, trace, wanted)
        for place, row in enumerate(rows):
            yield _item(subject, int(indices[row]), shown, predicted[place], tops[place])


def _trace(subject: AuditTarget, batch: Batch, shown: str, seed: int) -> Trace:
    """The forward pass under the weights that are shown."""
    trace = base_trace(subject.model, batch)
    if shown != PERMUTED:
        return trace
    edits = edits_at(subject.model, Intervention("permute", "main", seed=seed))
    with torch.no_grad():
        after = subject.model.resume(batch, trace, edits)
    return replace(after, readout_weights={**trace.readout_weights, **after.readout_weights})


def _tops(
    subject: AuditTarget, batch: Batch, trace: Trace, wanted: Wanted
) -> list[tuple[int, ...]]:
    """The words of largest weight first; a hash breaks ties."""
    if wanted.task == RATIONALE:
        return [()] * len(batch)
    text = batch.texts["a"]
    weights = read_map(trace, text_site(subject.model))
    there = word_mask(text)
    places = ranking(to_words(on_text(weights, batch), text), there, batch.ids, wanted.seed)
    most = there.sum(-1).clamp(max=wanted.top).tolist()
    return [
        tuple(order[:count]) for order, count in zip(places.argsort(-1).tolist(), most, strict=True)
    ]


def _item(
    subject: AuditTarget, index: int, shown: str, predicted: int, top: tuple[int, ...]
) -> Item:
    document = subject.documents[index]
    label, names = document.label, subject.label_names
    return Item(
        0,
        document.id,
        shown,
        dict(document.texts),
        dict(document.words),
        top,
        names[predicted],
        None if label is None else names[label],
        None if label is None else label == predicted,
    )
