"""The runner: finished work is never redone, and a killed study ends as an unkilled one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from heedful.data import default_spec
from heedful.runner import Grid, Machine, grid, machine, run_study
from heedful.specs import ModelSpec
from heedful.store import Run, Store
from heedful.studies.papers import JAIN2019 as STUDY

SIZE = {"n_train": 120, "n_dev": 40, "n_test": 16}
OPTIONS = ["--corpora", "planted", "--encoders", "bilstm,average", "--attention", "additive"]
OPTIONS += ["--probes", "score,correlation,permutation,reachability", "--seeds", "1"]
QUICK = {"search_steps": 25, "search_candidates": 2, "k": 2}


def small_grid() -> Grid:
    models = (ModelSpec("average", "dot", hidden=16), ModelSpec("lstm", "additive", hidden=16))
    usual = STUDY.settings[0]
    probes = tuple(
        replace(probe, params=QUICK if probe.name == "adversarial" else {})
        for probe in usual.probes
    )
    setting = replace(usual, models=models, probes=probes, train=replace(usual.train, epochs=3))
    study = replace(STUDY, settings=(setting,))
    return grid(study, [default_spec("planted", params=SIZE)], seeds=[0])


def rows_and_summaries(store: Store) -> dict[str, bytes]:
    return {
        f"{run.key}/{name}": (run.path / name).read_bytes()
        for run in store.runs()
        for name in ("rows.parquet", "summary.parquet", "maps.parquet", "cells.parquet")
        if run.has(name)
    }


def stamps(store: Store) -> dict[str, int]:
    return {
        key: (store.root / "runs" / key / "run.json").stat().st_mtime_ns for key in store.keys()
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Run]:
    store = Store(tmp_path_factory.mktemp("store"))
    return store, run_study(small_grid(), store, Machine())


def test_a_study_lists_every_cell(finished: tuple[Store, Run]) -> None:
    store, run = finished
    cells = run.table("cells")
    assert len(cells) == 2 * len(STUDY.settings[0].probes)
    assert set(cells["model"]) == {"average-dot", "lstm-additive"}
    for key in cells["run"]:
        assert store.open(key).kind == "probe"


def test_a_second_start_does_nothing(finished: tuple[Store, Run]) -> None:
    store, run = finished
    before = stamps(store)
    assert run_study(small_grid(), store, Machine()).key == run.key
    assert stamps(store) == before


def test_one_seed_gives_the_same_bytes(finished: tuple[Store, Run], tmp_path: Path) -> None:
    again = Store(tmp_path)
    run_study(small_grid(), again, Machine())
    assert rows_and_summaries(again) == rows_and_summaries(finished[0])


def test_batch_size_changes_nothing(finished: tuple[Store, Run], tmp_path: Path) -> None:
    """In float32 up to rounding; the key is the same, so it must not matter who was first."""
    again = Store(tmp_path)
    run = run_study(small_grid(), again, Machine(batch_size=7))
    assert run.key == finished[1].key
    for key in finished[1].table("cells")["run"]:
        ours, theirs = again.open(key).table("summary"), finished[0].open(key).table("summary")
        assert ours["measure"].equals(theirs["measure"])
        assert abs(ours["mean"] - theirs["mean"]).max() < 1e-3


@pytest.mark.slow
def test_batch_size_changes_nothing_at_all_in_float64(tmp_path: Path) -> None:
    tables = []
    for size in (1, 64):
        store = Store(tmp_path / str(size))
        plan = replace(small_grid(), precision="float64")
        run = run_study(plan, store, Machine(batch_size=size))
        tables.append([store.open(key).table("rows") for key in run.table("cells")["run"]])
    for one, many in zip(*tables, strict=True):
        pd.testing.assert_frame_equal(one, many, rtol=1e-7, atol=1e-9)


def start(store: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "heedful.cli.main", "study", "jain2019", *OPTIONS]
    options = ["--limit", "60", "--epochs", "3", "--threads", "1", "--store", str(store)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*command, *options], **quiet)


def test_a_killed_study_ends_as_an_unkilled_one(tmp_path: Path) -> None:
    """SIGKILL once runs are there, start again: same bytes, finished runs untouched."""
    whole, killed = Store(tmp_path / "whole"), Store(tmp_path / "killed")
    assert start(whole.root).wait() == 0
    process = start(killed.root)
    while process.poll() is None and len(killed.keys()) < 5:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = stamps(killed)
    assert 5 <= len(before) < len(whole.keys())
    assert start(killed.root).wait() == 0
    assert rows_and_summaries(Store(killed.root)) == rows_and_summaries(whole)
    after = stamps(Store(killed.root))
    assert {key: after[key] for key in before} == before


def test_impossible_devices_are_refused() -> None:
    from heedful.errors import HeedfulError

    with pytest.raises(HeedfulError, match="choose one of auto, cpu, cuda"):
        machine("tpu")
