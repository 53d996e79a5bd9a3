"""An audit goes on after a kill, never does finished work twice, and keeps to its budget."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from heedful.auditing import (
    Audit,
    Measurer,
    Plan,
)
from heedful.errors import HeedfulError
from heedful.store import Store

pytest.importorskip("transformers")

from audited import (
    FEW,
    LEAST,
    ONE,
    audit,
    auditing,
    bert,
    texts,
    wave_settings,
)


class Stop(Exception):
    pass


def stopping(after: int) -> Callable[[str, int, int], None]:
    def listen(label: str, done: int, total: int) -> None:
        if done >= after:
            raise Stop

    return listen


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The texts of every batch that is measured."""
    seen: list[tuple[str, ...]] = []
    whole = Measurer.__call__

    def call(self: Measurer, batch: Any, *rest: Any) -> Any:
        seen.append(batch.ids)
        return whole(self, batch, *rest)

    monkeypatch.setattr(Measurer, "__call__", call)
    return seen


def kept(store: Store, pattern: str = "*") -> list[Path]:
    return sorted(store.root.glob(f"scratch/{pattern}"))


def test_a_killed_audit_goes_on(
    counted: list[tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "waves", partial(wave_settings.waves, wave=4))
    model, rows, store = bert(), texts(12), Store(tmp_path)
    whole = audit(model, rows, LEAST)
    counted.clear()
    with pytest.raises(Stop):
        audit(model, rows, LEAST, plan=Plan(store, progress=stopping(4)), all=True)
    first = [name for ids in counted for name in ids]
    assert len(first) == 4 and not store.keys() and len(kept(store, "audit-*/part-*")) == 5
    counted.clear()
    found = audit(model, rows, LEAST, plan=Plan(str(tmp_path)), all=True)
    rest = [name for ids in counted for name in ids]
    assert not set(first) & set(rest) and len(first + rest) == 12
    pd.testing.assert_frame_equal(found.rows, whole.rows)
    assert found.verdict.decision == whole.verdict.decision
    folders = whole.save(tmp_path / "whole"), found.save(tmp_path / "found")
    same = [(folder / "rows.parquet").read_bytes() for folder in folders]
    assert same[0] == same[1]


@pytest.fixture(scope="module")
def three() -> Audit:
    return audit(bert(), texts(3), LEAST)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with what an audit of three texts left that was stopped before it was judged."""
    root = tmp_path_factory.mktemp("stopped")
    with pytest.raises(Stop):
        audit(bert(), texts(3), LEAST, plan=Plan(Store(root), progress=stopping(1)))
    return root


@pytest.mark.parametrize(
    ("kind", "how"),
    [("rows", "cut"), ("maps", "cut"), ("costs", "cut"), ("rows", "empty"), ("maps", "gone"),
     ("rows", "other"), ("costs", "other"), ("shown", "cut"), ("shown", "other")],
)  # fmt: skip
def test_a_damaged_part_is_measured_again(
    kind: str, how: str, stopped: Path, three: Audit, tmp_path: Path, request: Any
) -> None:
    counted = request.getfixturevalue("counted")  # after what is shared was measured
    store = Store(shutil.copytree(stopped, tmp_path / "store"))
    (path,) = kept(store, f"audit-*/part-*.{kind}.parquet")
    if how == "gone":
        path.unlink()
    elif how == "other":
        pd.DataFrame({"x": [1]}).to_parquet(path)
    else:
        path.write_bytes(path.read_bytes()[:-20] if how == "cut" else b"")
    found = audit(bert(), texts(3), LEAST, plan=Plan(store))
    assert len(counted) == 1
    pd.testing.assert_frame_equal(found.rows, three.rows)


def test_a_part_that_is_whole_is_not_measured_again(
    counted: list[tuple[str, ...]], stopped: Path, three: Audit, tmp_path: Path
) -> None:
    store = Store(shutil.copytree(stopped, tmp_path / "store"))
    counted.clear()
    found = audit(bert(), texts(3), LEAST, plan=Plan(store))
    assert not counted
    pd.testing.assert_frame_equal(found.rows, three.rows)


def test_a_finished_audit_is_a_run_and_only_judged_again(
    counted: list[tuple[str, ...]], tmp_path: Path
) -> None:
    model, rows, store = bert(), texts(12), Store(tmp_path)
    first = audit(model, rows, LEAST, plan=Plan(store))
    (run,) = store.runs("audit")
    assert run.key == first.facts["key"] and not kept(store) and not store.damaged()
    assert run.json("verdict")["headline"] == first.verdict.headline
    assert run.json("facts")["texts"] == 12 and len(run.table("documents")) == 12
    counted.clear()
    again = audit(model, rows, LEAST, plan=Plan(store))
    assert not counted
    assert again.verdict.to_json() == first.verdict.to_json() and again.facts == first.facts
    pd.testing.assert_frame_equal(again.rows, first.rows)
    pd.testing.assert_frame_equal(again.costs, first.costs)
    assert [list(s) for s in again.maps["scores"]] == [list(s) for s in first.maps["scores"]]
    assert list(again.documents["text"]) == list(first.documents["text"])
    strict = replace(FEW, effects={"agreement": 0.9})
    other = audit(model, rows, LEAST, strict, Plan(store))
    assert not counted and other.verdict.settings["effects"]["agreement"] == 0.9
    assert other.verdict.to_json() == audit(model, rows, LEAST, strict).verdict.to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"spec": replace(LEAST, seed=1)},
        {"spec": replace(LEAST, epsilon=0.02)},
        {"model": bert(seed=1)},
        {"data": texts(7)},
        {"data": [{**row, "label": 1 - row["label"]} for row in texts(6)]},
        {"dtype": "float64"},
        {"max_length": 5},
    ],
    ids=["seed", "spec", "model", "texts", "labels", "dtype", "length"],
)
def test_what_changes_a_number_changes_the_key(
    change: dict[str, Any], counted: list[tuple[str, ...]], tmp_path: Path
) -> None:
    store = Store(tmp_path)
    given: dict[str, Any] = {"model": bert(), "data": texts(6), "spec": LEAST}
    audit(**given, plan=Plan(store))
    counted.clear()
    audit(**{**given, **change}, plan=Plan(store))
    assert counted and len(store.keys()) == 2


def test_new_names_of_classes_need_no_new_measurement(
    counted: list[tuple[str, ...]], tmp_path: Path
) -> None:
    store, names = Store(tmp_path), {0: "no", 1: "yes"}
    model, tokenizer = bert(seed=0)
    audit((model, tokenizer), texts(6), LEAST, plan=Plan(store))
    model.config.id2label, model.config.label2id = names, {v: k for k, v in names.items()}
    counted.clear()
    found = audit((model, tokenizer), texts(6), LEAST, plan=Plan(store))
    assert not counted and found.facts["classes"] == ["no", "yes"]


def test_what_was_left_out_is_refused_once_it_is_asked_for(tmp_path: Path) -> None:
    """A finished audit without an explanation does not answer who asked for it by name."""
    spec = replace(LEAST, explanations=("attention", *ONE, "attention:layer=9"))
    given: dict[str, Any] = {"model": bert(), "data": texts(4), "spec": spec}
    found = audit(**given, plan=Plan(Store(tmp_path)))
    assert "choose one from 0 to 1" in found.facts["skipped"]["attention:layer=9"]
    assert "attention:layer=9" not in set(found.rows["explanation"])
    must = frozenset({"attention:layer=9"})
    for store in (Store(tmp_path), None):
        with pytest.raises(HeedfulError, match="no layer 9: choose one from 0 to 1"):
            audit(**given, plan=Plan(store, must=must))


def test_what_was_left_out_is_said_everywhere(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    spec = replace(LEAST, explanations=("attention", *ONE, "attention:layer=9"))
    found = audit(bert(), texts(4), spec)
    told = json.loads(found.verdict.to_json())["facts"]["skipped"]
    assert set(told) == {"attention:layer=9"} and told == found.facts["skipped"]
    page = found.to_html(tmp_path / "page.html").read_text(encoding="utf8")
    left_out = page[page.index("Left out, and why") :]
    assert "attention:layer=9" in left_out and "choose one from 0 to 1" in left_out


def test_a_damaged_run_is_said_to_be_so(tmp_path: Path) -> None:
    store = Store(tmp_path)
    given: dict[str, Any] = {"model": bert(), "data": texts(4), "spec": LEAST}
    audit(**given, plan=Plan(store))
    next(tmp_path.glob("runs/audit-*/rows.parquet")).write_bytes(b"")
    with pytest.raises(HeedfulError, match="rows.parquet was changed"):
        audit(**given, plan=Plan(Store(tmp_path)))


# --- time


def test_a_budget_stops_early_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "waves", partial(wave_settings.waves, wave=2))
    store, model, rows = Store(tmp_path), bert(), texts(16)
    found = audit(model, rows, LEAST, plan=Plan(store, budget=1e-9))
    assert found.facts["measured"] == found.rows["example"].nunique() == 2
    assert found.facts["texts"] == 16 and found.facts["notes"][-1] == (
        "stopped early: 2 of 16 texts were measured (--all: all of them)."
    )
    assert len(found.documents) == 2 and found.verdict.facts["measured"] == 2
    assert found.verdict.asked.looked == (0.125,)
    assert not store.keys() and kept(store)
    whole = audit(model, rows, LEAST, plan=Plan(store), all=True)
    assert whole.facts["measured"] == 16 and not whole.facts["notes"]
    assert whole.verdict.asked.looked == (0.125, 1.0)
    assert len(store.keys()) == 1 and not kept(store)
    again = audit(model, rows, LEAST, plan=Plan(store, budget=1e-9))
    assert again.facts["measured"] == 16 and again.verdict.asked.looked == (0.125, 1.0)
