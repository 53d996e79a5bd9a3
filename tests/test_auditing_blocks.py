"""Audits of many texts: in blocks, on disk, and the same whatever the blocks."""

from __future__ import annotations

import gc
import shutil
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from audited import bert, texts
from heedful.auditing import Audit, AuditSpec, Plan, audit, tables
from heedful.errors import HeedfulError
from heedful.store import Store
from heedful.verdict import judge, tabulate_blocks

auditing = import_module("heedful.auditing.audit")
wave_settings = import_module("heedful.auditing.schedule")


pytest.importorskip("transformers")
LEAST = AuditSpec(explanations=("attention", "gradient"), only=("interventions", "agreement"))
TEXTS, BLOCK = 24, 8


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.auditing.tables.BLOCK", BLOCK)
    monkeypatch.setattr(tables, "BLOCK", BLOCK)
    monkeypatch.setattr(auditing, "waves", partial(wave_settings.waves, wave=4))


@pytest.fixture(scope="module")
def whole() -> Audit:
    return audit(bert(), texts(TEXTS), LEAST)


def by_example(rows: pd.DataFrame) -> pd.DataFrame:
    keys = ["model", "explanation", "operator", "measure", "example"]
    return rows.sort_values(keys, kind="stable", ignore_index=True)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_hold_what_one_table_holds(whole: Audit, tmp_path: Path) -> None:
    stored = audit(bert(), texts(TEXTS), LEAST, plan=Plan(Store(tmp_path)))
    again = Audit.load(stored.save(tmp_path / "saved"))
    for found in (audit(bert(), texts(TEXTS), LEAST), stored, again):
        sizes = [block["example"].nunique() for block in found.tables["rows"]]
        assert sizes == [BLOCK] * 3
        pd.testing.assert_frame_equal(by_example(found.rows), whole.rows, rtol=1e-3, atol=1e-5)
        assert found.verdict["use"].estimate == pytest.approx(whole.verdict["use"].estimate)
        assert set(found.documents["example"]) == set(whole.documents["example"])
        assert len(found.maps) == len(whole.maps) and len(found.shown) == len(whole.shown)
        assert "place" not in found.documents


@pytest.mark.usefixtures("small_blocks")
def test_a_page_has_the_first_block_and_says_so(tmp_path: Path) -> None:
    found = audit(bert(), texts(TEXTS), LEAST)
    first = set(found.tables["rows"].first["example"])
    parts = found.as_parts()
    assert len(first) == BLOCK
    assert first == set(parts["rows"]["example"]) == set(parts["documents"]["example"])
    assert f"charts are of {BLOCK} of the texts" in " ".join(found.facts["notes"])


@pytest.mark.usefixtures("small_blocks")
def test_of_very_many_texts_the_first_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_JUDGED", 2 * BLOCK)
    found = audit(bert(), texts(TEXTS), LEAST)
    statement = found.verdict["use"]
    assert statement.n == 2 * BLOCK
    first = pd.concat([*found.tables["rows"]][:2], ignore_index=True)
    assert statement.estimate == judge(first)["use"].estimate
    assert "decided on 16 of the 24 texts measured" in " ".join(found.facts["notes"])
    assert found.rows["example"].nunique() == TEXTS


def test_an_audit_of_few_texts_has_nothing_to_note(whole: Audit) -> None:
    assert not [note for note in whole.facts["notes"] if "random sample" in note]


@pytest.mark.usefixtures("small_blocks")
def test_whoever_finishes_first_is_followed(tmp_path: Path) -> None:
    """Another process may finish the same audit, and clean up, while this one measures."""
    model, rows, store = bert(), texts(TEXTS), Store(tmp_path)

    def overtaken(what: str, done: int, of: int) -> None:
        if done == 2 * BLOCK:
            audit(model, rows, LEAST, plan=Plan(store))

    found = audit(model, rows, LEAST, plan=Plan(store, progress=overtaken))
    assert found.facts["measured"] == TEXTS and len(store.keys("audit")) == 1
    assert found.rows["example"].nunique() == TEXTS


@pytest.mark.usefixtures("small_blocks")
def test_measurements_that_are_gone_are_said_to_be(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def swept(what: str, done: int, of: int) -> None:
        if done == 2 * BLOCK:
            shutil.rmtree(next(tmp_path.glob("scratch/audit-*")))

    with pytest.raises(HeedfulError, match="no longer in .*: run the command again"):
        audit(bert(), texts(TEXTS), LEAST, plan=Plan(store, progress=swept))
    assert not store.keys()


def test_a_saved_audit_that_is_damaged_within_is_a_sentence(whole: Audit, tmp_path: Path) -> None:
    folder = whole.save(tmp_path / "saved")
    table = folder / "rows.parquet"
    data = bytearray(table.read_bytes())
    data[4:400] = bytes(396)  # the end, where a table is described, is whole
    table.write_bytes(data)
    with pytest.raises(HeedfulError, match="no whole audit"):
        _ = Audit.load(folder).rows


def test_without_a_store_the_folder_goes_with_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = audit(bert(), texts(4), LEAST)
    tables = found.tables
    assert list(tmp_path.glob("heedful-*"))
    del found
    assert len(tables["rows"].whole)  # a table alone is enough to hold it
    del tables
    gc.collect()
    assert not list(tmp_path.glob("heedful-*"))


def test_a_table_is_the_same_in_blocks_of_examples() -> None:
    random = np.random.default_rng(0)
    names = [f"t{i}" for i in range(20)]
    rows = pd.DataFrame(
        [
            ("base", name, "", 1, 1, 0.5, 3, explanation, "delete", measure, random.random())
            for name in names
            for explanation in ("attention", "random", "late")
            for measure in ("a", "b")
            if explanation != "late" or name > "t4"
        ],
        columns=["model", "example", "cluster", "label", "predicted", "confidence", "length",
                 "explanation", "operator", "measure", "value"],
    )  # fmt: skip
    parts = [rows[rows["example"].isin(names[start::3])] for start in range(3)]
    one, many = tabulate_blocks([rows]), tabulate_blocks(parts)
    assert list(one.wide) == list(many.wide)
    for key, frame in one.wide.items():
        pd.testing.assert_frame_equal(frame, many.wide[key])
    pd.testing.assert_frame_equal(one.examples, many.examples)
