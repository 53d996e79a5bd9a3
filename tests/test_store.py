"""The store: whole runs or none, keys by content, carried without loss."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import HeedfulError
from heedful.store import Run, Store, canonical, make_folder, pack, run_key, unpack

FACTS = {"piece": "demo", "seed": 1}


def write(store: Store, facts: dict[str, object] = FACTS, rows: int = 3) -> Run:
    with store.writing("probe", facts) as run:
        run.table("rows", pd.DataFrame({"value": range(rows)}))
    return store.open(run_key("probe", facts))


def test_a_run_is_read_back(tmp_path: Path) -> None:
    run = write(Store(tmp_path))
    assert run.facts == FACTS
    assert run.table("rows")["value"].tolist() == [0, 1, 2]


def test_key_golden() -> None:
    """A changed key would orphan every store there is."""
    text = b'{"facts":{"params":{"k":5},"piece":"a","seed":0},"kind":"probe"}'
    key = run_key("probe", {"piece": "a", "params": {"k": 5}, "seed": 0})
    assert key == f"probe-{hashlib.sha256(text).hexdigest()[:16]}" == "probe-a899d87fc8fa385e"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4))
def test_order_never_changes_a_key(facts: dict[str, object]) -> None:
    backwards = dict(reversed(facts.items()))
    assert run_key("probe", facts) == run_key("probe", backwards)
    assert json.loads(canonical(facts)) == facts


def test_different_facts_have_different_keys() -> None:
    assert run_key("probe", {"seed": 1}) != run_key("probe", {"seed": 2})
    assert run_key("probe", {"seed": 1}) != run_key("model", {"seed": 1})
    assert run_key("probe", {"eps": 1.0}) == run_key("probe", {"eps": 1})


def test_an_exception_leaves_no_run(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(RuntimeError), store.writing("probe", FACTS) as run:
        run.json("x", 1)
        raise RuntimeError
    assert store.keys() == []
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_run_without_its_record_does_not_exist(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = write(store)
    (run.path / "run.json").unlink()
    with pytest.raises(HeedfulError, match="no run.json"):
        Store(tmp_path).open(run.key)


@pytest.mark.parametrize("damage", ["cut", "changed", "gone", "garbled", "schema", "renamed"])
def test_damage_is_found_and_named(tmp_path: Path, damage: str) -> None:
    run = write(Store(tmp_path))
    rows, record = run.path / "rows.parquet", run.path / "run.json"
    key = run.key
    if damage == "cut":
        rows.write_bytes(rows.read_bytes()[:20])
    elif damage == "changed":
        rows.write_bytes(rows.read_bytes()[:-1] + b"x")
    elif damage == "gone":
        rows.unlink()
    elif damage == "garbled":
        record.write_text("{")
    elif damage == "schema":
        record.write_text(json.dumps({**json.loads(record.read_text()), "schema_version": 0}))
    else:
        key = "probe-0000000000000000"
        run.path.rename(run.path.with_name(key))
    fresh = Store(tmp_path)
    with pytest.raises(HeedfulError, match="heedful store gc --damaged"):
        fresh.has(key)
    assert list(fresh.damaged()) == [key]


def test_equal_content_has_equal_bytes(tmp_path: Path) -> None:
    one, two = write(Store(tmp_path / "1")), write(Store(tmp_path / "2"))
    assert (one.path / "rows.parquet").read_bytes() == (two.path / "rows.parquet").read_bytes()
    assert one.digest == two.digest
    assert write(Store(tmp_path / "3"), rows=4).digest != one.digest


def _write_often(root: Path) -> None:
    for seed in range(20):
        write(Store(root), {"piece": "race", "seed": seed})


def test_concurrent_writers_of_the_same_runs(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write_often, args=(tmp_path,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(Store(tmp_path).keys()) == 20
    assert Store(tmp_path).damaged() == {}


def _write_and_die(root: Path) -> None:
    with Store(root).writing("probe", FACTS) as run:
        run.json("half", 1)
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_writer_leaves_nothing_to_read(tmp_path: Path) -> None:
    worker = multiprocessing.get_context("spawn").Process(target=_write_and_die, args=(tmp_path,))
    worker.start()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL
    store = Store(tmp_path)
    assert store.keys() == []
    assert write(store).table("rows").shape == (3, 1)
    assert store.clear_scratch() != []


def test_prefix_and_unknown_keys(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = write(store)
    write(store, {"piece": "other"})
    assert store.resolve(run.key[:12]).key == run.key
    with pytest.raises(HeedfulError, match="fits 2 runs"):
        store.resolve("probe-")
    with pytest.raises(HeedfulError, match="store ls"):
        store.resolve("nothing")


def test_find_by_part_of_the_facts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = write(store)
    assert [found.key for found in store.find("probe", {"piece": "demo"})] == [run.key]
    assert store.find("probe", {"piece": "other"}) == []


def test_a_pack_carries_runs_in_small_parts(tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    keys = [write(here, {"piece": "big", "seed": seed}, 2000).key for seed in range(4)]
    parts = pack(here, keys, tmp_path / "parts", max_mb=0.005)
    assert len(parts) > 1
    assert max(part.stat().st_size for part in parts) <= 5000
    assert unpack(there, parts) == (sorted(keys), [])
    assert unpack(there, parts) == ([], sorted(keys))
    assert there.damaged() == {}


def test_a_pack_with_a_part_missing_is_refused(tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    parts = pack(here, [write(here, rows=5000).key], tmp_path / "parts", max_mb=0.01)
    with pytest.raises(HeedfulError, match="give all its parts"):
        unpack(there, parts[1:])
    with pytest.raises(HeedfulError, match="give all its parts"):
        unpack(there, parts[:1])
    assert there.keys() == []


def test_a_store_at_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeedfulError, match="is a file"):
        Store(tmp_path / "file")


@pytest.mark.parametrize("place", ["outside", "../../../outside"])
def test_a_record_lists_no_file_outside_its_folder(tmp_path: Path, place: str) -> None:
    """Not even one that is there, with the right digest."""
    outside = tmp_path / "outside"
    outside.write_text("somebody else's")
    digest = hashlib.sha256(outside.read_bytes()).hexdigest()
    store = Store(tmp_path / "store")
    with store.writing("corpus", {"piece": "x"}) as run:
        run.table("rows", pd.DataFrame({"a": [1]}))
    [key] = store.keys()
    path = tmp_path / "store" / "runs" / key / "run.json"
    record = json.loads(path.read_text())
    record["files"][str(outside) if place == "outside" else place] = digest
    path.write_text(json.dumps(record))
    with pytest.raises(HeedfulError, match="no file of a run"):
        store.open(key)


def test_a_folder_that_is_tidied_up_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`mkdir` finds it there, and a moment later it is gone."""
    made, found = Path.mkdir, [True]

    def mkdir(path: Path, *given: Any, **options: Any) -> None:
        if found.pop() if found else False:
            raise FileExistsError(path)
        made(path, *given, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    make_folder(tmp_path / "a/b")
    assert (tmp_path / "a/b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")
