"""Probes over many texts: given in parts they find what they find at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from heedful.data import default_spec, prepare
from heedful.experiments import PROBES, Evidence, Findings
from heedful.runner import Machine, Reading, Recipe, probed, trained
from heedful.runner import probe as parts
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store

BY_TEXT = [name for name in PROBES if PROBES[name].by_text]
SIZE = {"n_train": 60, "n_dev": 20, "n_test": 20}
RECIPE = Recipe(ModelSpec("average", hidden=8), TrainSpec(epochs=1), 0)
READING = Reading(0, precision="float64")


class Killed(BaseException):
    pass


@pytest.fixture(scope="module")
def model(store: Store) -> Run:
    corpus = prepare(default_spec("planted", params=SIZE), store)
    return trained(store, corpus, RECIPE, Machine())


def run(store: Store, model: Run, name: str) -> Run:
    probe = ProbeSpec(name)
    ((_, found),) = probed(store, RECIPE, [probe], READING, Machine(), lambda recipe: model)
    assert isinstance(found, Run)
    return found


def tables(found: Run) -> dict[str, pd.DataFrame]:
    return {
        name: found.table(name)
        for name in ("rows", "maps", "summary")
        if found.has(f"{name}.parquet")
    }


def sizes(found: Run) -> list[int]:
    return [each["example"].nunique() for each in found.frames("rows")]


@pytest.mark.parametrize("name", BY_TEXT)
def test_parts_of_the_texts_give_the_same_as_all(
    store: Store, model: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(store, model, name)
    expected = tables(whole)
    assert sizes(whole) == [20]
    store.remove(whole.key)
    monkeypatch.setattr(parts, "AT_ONCE", 8)
    again = run(store, model, name)
    found = tables(again)
    assert again.key == whole.key and sizes(again) == [8, 8, 4] and set(found) == set(expected)
    pd.testing.assert_frame_equal(found.pop("summary"), expected.pop("summary"))
    for kind, table in found.items():
        keys = [each for each in ("measure", "map", "example", "head", "query") if each in table]
        same = (each.sort_values(keys, ignore_index=True) for each in (table, expected[kind]))
        pd.testing.assert_frame_equal(next(same), next(same), rtol=1e-9)


def test_a_killed_probe_goes_on_after_its_last_part(
    store: Store, model: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "AT_ONCE", 8)
    seen: list[int] = []
    make = PROBES["erasure"].make

    def stopping(evidence: Evidence, after: int, **params: Any) -> Findings:
        if len(seen) == after:
            raise Killed
        seen.append(len(evidence.data))
        findings: Findings = make(evidence, **params)
        return findings

    key = run(store, model, "erasure").key
    expected = tables(store.open(key))
    store.remove(key)
    with _made(monkeypatch, partial(stopping, after=2)), pytest.raises(Killed):
        run(store, model, "erasure")
    assert seen == [8, 8] and not store.has(key)
    broken = next(store.scratch(key).glob("texts-000001.rows.parquet"))
    broken.write_bytes(broken.read_bytes()[:-20])
    seen.clear()
    with _made(monkeypatch, partial(stopping, after=9)):
        run(store, model, "erasure")
    assert seen == [8, 8, 4]  # the first for its notes, the second because it was cut
    pd.testing.assert_frame_equal(tables(store.open(key))["rows"], expected["rows"])
    assert not list(Path(store.root).glob("scratch/*"))


def test_whoever_finishes_first_is_followed(
    store: Store, model: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may finish the same probe, and clean up, while this one is at it."""
    monkeypatch.setattr(parts, "AT_ONCE", 8)
    make, calls = PROBES["erasure"].make, []
    key = run(store, model, "erasure").key
    store.remove(key)

    def overtaken(evidence: Evidence, **params: Any) -> Findings:
        calls.append(len(evidence.data))
        if len(calls) == 2:
            with _made(monkeypatch, make):
                run(store, model, "erasure")
        findings: Findings = make(evidence, **params)
        return findings

    with _made(monkeypatch, overtaken):
        assert run(store, model, "erasure").key == key
    assert calls == [8, 8, 4] and sizes(store.open(key)) == [8, 8, 4]


@pytest.mark.parametrize("name", ["score", "mutual_information", "importance_sets"])
def test_what_is_said_of_all_texts_together_is_not_said_of_parts(name: str) -> None:
    assert not PROBES[name].by_text


@contextmanager
def _made(monkeypatch: pytest.MonkeyPatch, make: Any) -> Iterator[None]:
    pieces = {name: PROBES[name] for name in PROBES}
    with monkeypatch.context() as patch:
        changed = {**pieces, "erasure": replace(pieces["erasure"], make=make)}
        patch.setattr("heedful.runner.probe.PROBES", changed)
        yield
