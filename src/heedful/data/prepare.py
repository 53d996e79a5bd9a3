"""Prepare a corpus: split, tokenise, filter, count words, look up vectors, and store it all.

This is the step that needs the data folder and spaCy; what it writes needs neither, so a
prepared corpus can be carried to a bare machine.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import save_file

from heedful.data.english import sentence_numbers
from heedful.data.example import SPLITS, Example, RawCorpus, Spans, cut_splits, limit_splits
from heedful.data.files import MissingData, digests
from heedful.data.marking import mark
from heedful.data.registry import CORPORA
from heedful.data.tokenize import Tokens, given_tokens, normalise_all, sub_words, tokenizer
from heedful.data.vocabulary import (
    Vocabulary,
    WordVectors,
    build_vocabulary,
    vectors_file,
    word_vectors,
)
from heedful.entries import Corpus
from heedful.errors import HeedfulError, unknown_name
from heedful.parameters import check_parameters, parameters_of
from heedful.progress import Progress
from heedful.specs import UNKNOWN, CorpusSpec, PrepareSpec
from heedful.store import Place, Run, Store, run_key, store_at

HANDED = ("data_dir",)
COUNTINGS = ("inclusive", "authors")
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
    """Refuse a corpus without examples, with an id twice, or with a label that is no class."""
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
    for example in raw.examples:
        if raw.labels and not 0 <= example.label < len(raw.labels):
            raise HeedfulError(
                f"the example {example.id!r} has the label {example.label}: its corpus has "
                f"the classes 0 to {len(raw.labels) - 1}."
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


@dataclass(frozen=True)
class Tokenised:
    """An example with the normalised tokens of each side."""

    example: Example
    sides: dict[str, Tokens]

    @property
    def words(self) -> list[str]:
        return [word for tokens in self.sides.values() for word in tokens.words]


def tokenise(
    examples: Sequence[Example], name: str, progress: Progress | None, pieces: int = 0
) -> list[Tokenised]:
    """Tokenise and normalise every side; sub-words (so many `pieces`) stay as they are."""
    known: dict[str, str] = {}
    sides = list(examples[0].texts) if examples else []
    if name == "bpe":
        found = sub_words(examples, pieces)
        return [
            Tokenised(example, {side: found[side][i] for side in sides})
            for i, example in enumerate(examples)
        ]
    columns = [_tokens(examples, side, name) for side in sides]
    done: list[Tokenised] = []
    for i, (example, *parts) in enumerate(zip(examples, *columns, strict=True), 1):
        tokens = {
            side: Tokens(normalise_all(part.words, known), part.starts, part.ends)
            for side, part in zip(sides, parts, strict=True)
        }
        done.append(Tokenised(example, tokens))
        if progress and (i % 500 == 0 or i == len(examples)):
            progress("tokenise", i, len(examples))
    return done


def table(items: Sequence[Tokenised], vocabulary: Vocabulary) -> pd.DataFrame:
    """The rows of `examples.parquet`, in the order of the corpus."""
    columns: dict[str, Any] = {
        "example": [item.example.id for item in items],
        "split": [item.example.split for item in items],
        "label": np.array([item.example.label for item in items], dtype=np.int64),
    }
    optional: dict[str, Callable[[Tokenised], Any]] = {
        "candidates": _candidates,
        "cluster": lambda item: item.example.cluster,
        "revises": lambda item: item.example.revises,
        "alignment": _alignment,
    }
    for column, values in optional.items():
        if any(getattr(item.example, column) is not None for item in items):
            columns[column] = [values(item) for item in items]
    for side in items[0].sides:
        tokens = [item.sides[side] for item in items]
        columns[f"text_{side}"] = [item.example.texts[side] for item in items]
        columns[f"tokens_{side}"] = [vocabulary.encode(t.words) for t in tokens]
        columns[f"starts_{side}"] = [t.starts for t in tokens]
        columns[f"ends_{side}"] = [t.ends for t in tokens]
        columns[f"rationale_{side}"] = [_marks(item, side, "rationales") for item in items]
        if any(item.example.impermissible is not None for item in items):
            marks = [_marks(item, side, "impermissible") for item in items]
            columns[f"impermissible_{side}"] = marks
        columns[f"sentences_{side}"] = [
            sentence_numbers(item.example.texts[side], item.sides[side].starts) for item in items
        ]
    return pd.DataFrame(columns)


def token_rationale(tokens: Tokens, spans: Spans) -> NDArray[np.bool_]:
    """A token belongs to the rationale where it overlaps one of its spans."""
    inside = np.zeros(len(tokens), dtype=bool)
    for start, end in spans:
        inside |= (tokens.starts < end) & (tokens.ends > start)
    return inside


def _marks(item: Tokenised, side: str, kind: str) -> NDArray[np.bool_] | None:
    spans = getattr(item.example, kind)
    if spans is None or side not in spans:
        return None
    return token_rationale(item.sides[side], spans[side])


def _candidates(item: Tokenised) -> NDArray[np.int32]:
    example = item.example
    if example.candidates is None:
        raise HeedfulError(
            f"example {example.id} names no candidates while others do: give all of them some."
        )
    return np.array(example.candidates, dtype=np.int32)


def _alignment(item: Tokenised) -> NDArray[np.int32] | None:
    """Pairs of positions among the real tokens, one after the other: a₀ b₀ a₁ b₁ …"""
    if item.example.alignment is None:
        return None
    pairs = {
        (int(a), int(b))
        for one, other in item.example.alignment
        for a in np.flatnonzero(token_rationale(item.sides["a"], [one]))
        for b in np.flatnonzero(token_rationale(item.sides["b"], [other]))
    }
    return np.array(sorted(pairs), dtype=np.int32).reshape(-1)


def _tokens(examples: Sequence[Example], side: str, name: str) -> Iterator[Tokens]:
    if name != "given":
        yield from tokenizer(name)(example.texts[side] for example in examples)
        return
    for example in examples:
        if example.tokens is None or side not in example.tokens:
            raise HeedfulError(
                f"example {example.id} brings no tokens: choose the spacy or whitespace tokenizer."
            )
        yield given_tokens(example.tokens[side])


@dataclass(frozen=True)
class Count:
    """How many examples of a split met a filter and how many it turned away."""

    filter: str
    split: str
    kept: int
    dropped: int


def filter_lengths(
    lengths: NDArray[np.int64], splits: Sequence[str], spec: PrepareSpec
) -> tuple[NDArray[np.bool_], list[Count]]:
    """Which examples stay. Bounds apply one after the other, so no example counts twice."""
    if spec.counting not in COUNTINGS:
        raise unknown_name("counting", spec.counting, list(COUNTINGS))
    keep = np.ones(len(lengths), dtype=bool)
    counts: list[Count] = []
    names = np.array(splits, dtype=object)
    for split in dict.fromkeys(splits):
        inside = names == split
        for name, low, high in _bounds(lengths[inside], spec):
            before = inside & keep
            keep &= ~inside | ((lengths >= low) & (lengths <= high))
            after = int((inside & keep).sum())
            counts.append(Count(name, split, after, int(before.sum()) - after))
    return keep, counts


def _bounds(lengths: NDArray[np.int64], spec: PrepareSpec) -> list[tuple[str, float, float]]:
    """The name of each bound, and the least and the greatest number of real tokens it lets
    through. jain2019's released filter is strict on both sides, and a bound that was not set is
    the split's own shortest or longest text, which is thereby lost (protocols, section 10)."""
    bounds: list[tuple[str, float, float]] = [("not empty", 1, np.inf)]
    low, high = spec.min_length, spec.max_length
    if spec.counting == "authors":
        low = low if low > 1 else int(lengths.min())
        high = int(lengths.max()) if high is None else high
        bounds.append((f"more than {low} tokens (authors)", low + 1, np.inf))
        bounds.append((f"fewer than {high} tokens (authors)", -np.inf, high - 1))
        return bounds
    if low > 1:
        bounds.append((f"at least {low} tokens", low, np.inf))
    if high is not None:
        bounds.append((f"at most {high} tokens", -np.inf, high))
    return bounds
