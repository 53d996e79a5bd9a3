"""What is asked of all documents at once, kept small: nobody decodes a text for its id."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heedful.subjects.codecs import NAMES
from heedful.subjects.document import Document
from heedful.subjects.shelf import Filling


@dataclass(frozen=True)
class Overview:
    """Labels are −1 where there is none; `rationales` says whether any document has one, and
    `marked_share` is the share of words a rationale marks, on average over those that mark some."""

    ids: Sequence[str]
    clusters: Sequence[str]
    labels: NDArray[np.int64]
    rationales: bool
    marked_share: float


def overview(documents: Iterable[Document]) -> Overview:
    """In one pass."""
    ids, clusters, labels, marked = Filling(NAMES), Filling(NAMES), array("q"), False
    total, marking = 0.0, 0
    for document in documents:
        ids.add(document.id)
        clusters.add(document.cluster)
        labels.append(-1 if document.label is None else document.label)
        marked |= document.rationale is not None
        if document.rationale is not None and any(document.rationale):
            total += sum(document.rationale) / len(document.rationale)
            marking += 1
    numbers = np.array(labels, dtype=np.int64)
    return Overview(ids.done(), clusters.done(), numbers, marked, total / max(1, marking))
