"""Prepare a corpus: split, tokenise, filter, count words, look up vectors, and store it all.

This is the step that needs the data folder and spaCy; what it writes needs neither, so a
prepared corpus can be carried to a bare machine.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import save_file

from heedful.data.encode import Tokenised, table, tokenise
from heedful.data.example import Example, RawCorpus
from heedful.data.files import MissingData, digests
from heedful.data.impermissible import mark
from heedful.data.registry import CORPORA
from heedful.data.splitting import SPLITS, Count, cut_splits, filter_lengths, limit_splits
from heedful.data.vocabulary import (
    Vocabulary,
    WordVectors,
    build_vocabulary,
    vectors_file,
    word_vectors,
)
from heedful.entries import Corpus
from heedful.errors import HeedfulError
from heedful.parameters import check_parameters, parameters_of
from heedful.progress import Progress
from heedful.specs import UNKNOWN, CorpusSpec, PrepareSpec
from heedful.store import Place, Run, Store, run_key, store_at

HANDED = ("data_dir",)
PATH_PARAMS = ("path", "dev", "test", "target", "dev_target", "test_target")


def prepare(
    spec: CorpusSpec,
    store: Store | Place,
    data_dir: Path | None = None,
    progress: Progress | None = None,
) -> Run:
    """The prepared corpus as a run of kind `corpus`, made now or found in the store.

    The key holds the digests of the files that were read. Where they are not there, a
    single stored run made from the same spec is taken instead.
    """
    store, piece = store_at(store), CORPORA[spec.name]
    params = corpus_params(piece, spec.params)
    facts = corpus_facts(piece, params, spec.prepare)
    try:
        raw: RawCorpus = piece.make(data_dir, **params)
        check_raw(raw)
        vectors = vectors_file(spec.prepare.vectors, data_dir)
    except MissingData as missing:
        return _stored(store, facts, missing)
    facts["sources"] = {**raw.sources, **digests(vectors)}
    key = run_key("corpus", facts)
    if not store.has(key):
        _write(store, facts, raw, spec.prepare, next(iter(vectors.values()), None), progress)
    return store.open(key)


def _write(
    store: Store,
    facts: Mapping[str, Any],
    raw: RawCorpus,
    spec: PrepareSpec,
    vectors_path: Path | None,
    progress: Progress | None,
) -> None:
    items, counts = _items(raw, spec, progress)
    vocabulary = build_vocabulary(
        (item.words for item in items if item.example.split == "train"), spec.min_df
    )
    examples = table(items, vocabulary)
    vectors = word_vectors(vocabulary, spec, vectors_path)
    report = describe(raw, examples, counts, vocabulary, vectors)
    with store.writing("corpus", facts) as run:
        run.table("examples", examples)
        run.table("vocabulary", pd.DataFrame({"word": vocabulary.words, "df": vocabulary.df}))
        save_file({"vectors": vectors.matrix}, run.weights("vectors"))
        run.json("report", report)


def _items(
    raw: RawCorpus, spec: PrepareSpec, progress: Progress | None
) -> tuple[list[Tokenised], list[Count]]:
    """The examples that stay, tokenised, and what each filter let through."""
    everything = cut_splits(raw.examples, spec)
    examples = mark(limit_splits(everything, spec), spec.impermissible)
    counts = _limit_counts(everything, examples) if spec.limit else []
    items = tokenise(examples, spec.tokenizer, progress, spec.pieces)
    splits = [example.split for example in examples]
    keep = np.ones(len(items), dtype=bool)
    for side in items[0].sides:
        lengths = np.array([len(item.sides[side]) for item in items], dtype=np.int64)
        stay, by_length = filter_lengths(lengths, splits, spec)
        keep &= stay
        counts += by_length
    if "train" not in splits:
        raise HeedfulError("no example is in the split train: name some rows so in its column.")
    kept = [item for item, stays in zip(items, keep, strict=True) if stays]
    if not any(item.example.split == "train" for item in kept):
        raise HeedfulError(
            "no training example is left after the filters: change min_length or max_length."
        )
    return kept, counts


def check_raw(raw: RawCorpus) -> None:
    if not isinstance(raw, RawCorpus):
        raise HeedfulError(
            f"the corpus's reader gave a {type(raw).__name__}: let it return a RawCorpus."
        )
    if not raw.examples:
        raise HeedfulError("the corpus has no examples.")
    repeated = [name for name, n in Counter(e.id for e in raw.examples).items() if n > 1]
    if repeated:
        raise HeedfulError(
            f"{len(repeated)} example ids occur twice, the first is {repeated[0]!r}: "
            f"ids must be unique over all splits."
        )
    for each in raw.examples:
        if raw.labels and not 0 <= each.label < len(raw.labels):
            raise HeedfulError(
                f"the example {each.id!r} has the label {each.label}: its corpus has the classes "
                f"0 to {len(raw.labels) - 1}."
            )


def _limit_counts(before: list[Example], after: list[Example]) -> list[Count]:
    all_, kept = (Counter(example.split for example in examples) for examples in (before, after))
    return [Count("limit", s, kept[s], all_[s] - kept[s]) for s in SPLITS if all_[s]]


def corpus_params(piece: Corpus, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given parameters over the corpus's defaults, so that equal calls have equal keys."""
    check_parameters(f"corpus {piece.name}", piece.make, given, piece.bounds, HANDED)
    known = parameters_of(piece.make, HANDED)
    params = {name: parameter.default for name, parameter in known.items()} | dict(given)
    for name, value in params.items():
        if value is inspect.Parameter.empty:
            raise HeedfulError(f"the corpus {piece.name!r} needs the parameter {name!r}.")
    return params


def corpus_facts(piece: Corpus, params: Mapping[str, Any], spec: PrepareSpec) -> dict[str, Any]:
    """What names the run. Of a path only the file's name counts: its bytes are in `sources`."""
    own = {
        name: Path(value).name if name in PATH_PARAMS and value is not None else value
        for name, value in params.items()
    }
    treatment = {**asdict(spec), "vectors": Path(spec.vectors).name}
    named = {"piece": piece.name, "version": piece.version, **piece.plugin_facts}
    return {**named, "params": own, "prepare": treatment}


def _stored(store: Store, facts: Mapping[str, Any], missing: MissingData) -> Run:
    runs = store.find("corpus", facts)
    if len(runs) > 1:
        raise HeedfulError(
            f"{missing} (the store holds {len(runs)} prepared versions and cannot choose.)"
        ) from missing
    if not runs:
        raise missing
    return runs[0]


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
            split: _split_report(examples[examples["split"] == split], len(raw.labels))
            for split in SPLITS
        },
        "vocabulary": len(vocabulary),
        "dimension": int(vectors.matrix.shape[1]),
        "coverage": vectors.coverage(np.bincount(tokens, minlength=len(vocabulary))),
    }


def _split_report(rows: pd.DataFrame, classes: int) -> dict[str, Any]:
    """Lengths count real tokens of side a, without start and end."""
    ids = np.concatenate([row[1:-1] for row in rows["tokens_a"]] or [np.zeros(0, dtype=np.int32)])
    return {
        "examples": len(rows),
        "by_class": np.bincount(rows["label"].to_numpy(), minlength=max(1, classes)).tolist(),
        "average_length": len(ids) / max(1, len(rows)),
        "unknown_rate": float((ids == UNKNOWN).mean()) if len(ids) else 0.0,
        "rationales": int(rows["rationale_a"].notna().sum()),
    }
