"""The report of a prepared corpus: what is in it, what was left out, how well words are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from heedful.corpora.example import RawCorpus
from heedful.corpora.filters import Count
from heedful.corpora.splitting import SPLITS
from heedful.corpora.vectors import WordVectors
from heedful.corpora.vocabulary import Vocabulary
from heedful.specs import UNKNOWN


def describe(
    raw: RawCorpus,
    examples: pd.DataFrame,
    counts: Sequence[Count],
    vocabulary: Vocabulary,
    vectors: WordVectors,
) -> dict[str, Any]:
    columns = [column for column in examples if str(column).startswith("tokens_")]
    train = examples[examples["split"] == "train"]
    tokens = np.concatenate([ids for column in columns for ids in train[column]])
    return {
        "task": raw.task,
        "labels": list(raw.labels),
        "subset": raw.subset,
        "note": raw.note,
        "stands_for": raw.stands_for,
        "dropped": dict(raw.dropped),
        "filters": [asdict(count) for count in counts],
        "splits": {
            split: _split(examples[examples["split"] == split], len(raw.labels)) for split in SPLITS
        },
        "vocabulary": len(vocabulary),
        "dimension": int(vectors.matrix.shape[1]),
        "coverage": vectors.coverage(np.bincount(tokens, minlength=len(vocabulary))),
    }


def _split(rows: pd.DataFrame, classes: int) -> dict[str, Any]:
    """Lengths count real tokens of side a, without start and end."""
    ids = np.concatenate([row[1:-1] for row in rows["tokens_a"]] or [np.zeros(0, dtype=np.int32)])
    return {
        "examples": len(rows),
        "by_class": np.bincount(rows["label"].to_numpy(), minlength=max(1, classes)).tolist(),
        "average_length": len(ids) / max(1, len(rows)),
        "unknown_rate": float((ids == UNKNOWN).mean()) if len(ids) else 0.0,
        "rationales": int(rows["rationale_a"].notna().sum()),
    }
