"""The bench: rows, what is kept of them, the page; and that every part runs at all."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from bench import deletions
from bench.__main__ import _alone
from bench.measure import Cost, Row, Setting, measure
from bench.page import MEASURED, PAGE, kept_in, render, table
from bench.page import SECTIONS as DESCRIBED
from bench.parts import PARTS, SECTIONS, Part, chosen, outcome
from bench.results import Kept, begin, read, write

from heedful.errors import HeedfulError

ROOT = Path(__file__).resolve().parent.parent
HERE = {"cpu": "a processor", "cores": 2, "threads": 2, "memory_gb": 8, "torch": "2.13.0"}
ROW = Row("reach", "500 steps", "9 texts", "search", Cost(3.0, 20.0), Cost(1.5, None), "a note")


def measured(*rows: Row, **more: Any) -> dict[str, Any]:
    said = {"date": "2026-01-02", "load": [0.5, 1.25], "seconds": 1.0}
    return {**said, "rows": [row.as_json() for row in rows], **more}


def test_a_row_is_read_back_as_it_was() -> None:
    assert Row.from_json(json.loads(json.dumps(ROW.as_json()))) == ROW
    alone = Row("long", "erasure", "9 texts", "", None, Cost(0.5, 1.0))
    assert Row.from_json(alone.as_json()) == alone
    assert (ROW.as_json()["ratio"], alone.as_json()["ratio"]) == (2.0, None)


def test_parts_are_chosen_by_name_or_by_section() -> None:
    assert chosen(None) == list(PARTS)
    assert chosen(["long", "papers"]) == ["papers-sst", "papers-imdb", "long"]
    assert chosen(["captum-lime"]) == ["captum-lime"]
    assert [section.name for section in DESCRIBED] == list(SECTIONS)


def test_every_encoder_is_measured() -> None:
    from heedful.models import ENCODERS

    assert {f"deletions-{name}" for name in ENCODERS} <= set(PARTS)


def test_what_is_measured_beside_captum_has_our_names() -> None:
    from heedful.attributions import SALIENCIES

    beside = {name.removeprefix("captum-") for name in PARTS if name.startswith("captum-")}
    assert len(beside) >= 8 and beside <= set(SALIENCIES)


def test_a_stopped_bench_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "cpu.json"
    new = Kept("cpu", HERE, left=["reach", "attach", "long"])
    first = begin(path, new, None)
    write(path, first.with_part("reach", measured(ROW)))
    again = begin(path, new, None)
    assert again.left == ["attach", "long"]
    assert again.rows("reach") == [ROW]
    done = again.with_part("long", measured()).with_part("attach", measured())
    write(path, done)
    assert begin(path, new, None).left == new.left


def test_some_parts_leave_the_others_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "cpu.json"
    assert begin(path, Kept("cpu", HERE, left=["long"]), ["long"]).left == []  # no whole run
    write(path, Kept("cpu", HERE, left=["attach"], parts={"reach": measured(ROW)}))
    some = begin(path, Kept("cpu", HERE, left=["long"]), ["long"])
    assert (some.left, list(some.parts)) == (["attach"], ["reach"])


def test_machines_are_never_mixed(tmp_path: Path) -> None:
    path = tmp_path / "cpu.json"
    write(path, Kept("cpu", HERE, parts={"reach": measured(ROW)}))
    elsewhere = Kept("cpu", {**HERE, "cores": 64}, left=["long"])
    with pytest.raises(HeedfulError, match="another machine"):
        begin(path, elsewhere, ["long"])
    assert begin(path, elsewhere, None).parts == {}


def test_a_table_says_once_what_is_the_same_in_all_rows() -> None:
    other = Row("reach", "2,000 steps", "9 texts", "search", Cost(0.05, 3.0), Cost(0.1, 2.0))
    assert table([ROW, other]) == [
        "9 texts.",
        "",
        "| part | search s | ours s | ratio | search MB | ours MB | note |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| 500 steps | 3.00 | 1.50 | 2.0× | 20 | n/a | a note |",
        "| 2,000 steps | 0.0500 | 0.100 | 0.50× | 3 | 2 |  |",
    ]


def test_the_page_names_the_machine_and_what_was_not_measured() -> None:
    parts = {
        "reach": measured(ROW),
        "long": measured(skipped="no card"),
        "attach": measured(failed="ValueError: |x|"),
    }
    page = render([Kept("cpu", HERE, parts=parts)])
    assert "- CPU: a processor (8 GB of memory, 2 cores, 2 threads), torch 2.13.0" in page
    assert "2026-01-02, load 0.5 to 1.2." in page
    assert "Not measured on the CPU: `long` (no card)." in page
    assert "`attach` (ValueError: |x|)" in page
    assert "`papers-sst`, `papers-imdb` (not measured yet)" in page


def test_the_committed_page_is_what_was_measured() -> None:
    kept = kept_in(MEASURED)
    assert not any(each.quick for each in kept)
    assert PAGE.read_text(encoding="utf-8") == render(kept), "run python -m bench.page"


def test_a_missing_package_skips_its_parts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Part("reach", "bench.nowhere", "rows", needs=("json", "no_such_package"))
    monkeypatch.setitem(PARTS, "reach", part)
    found = outcome("reach", Setting(quick=True))
    assert found["skipped"].startswith("no_such_package is not installed: pip install")
    assert (found["rows"], "failed" in found) == ([], False)
    assert _alone(["long", "reach", "attach"]) == [["reach"], ["long"], ["attach"]]


def test_a_part_that_breaks_is_no_skipped_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "reach", Part("reach", "bench.nowhere", "rows"))
    found = outcome("reach", Setting(quick=True))
    assert "skipped" not in found
    assert found["failed"].startswith("ModuleNotFoundError")


def test_growth_is_the_exponent_of_time() -> None:
    short, long = (
        Row("deletions", "cnn", size, "naive", Cost(theirs, None), Cost(ours, None))
        for size, theirs, ours in (("T = 250", 1.0, 0.5), ("T = 2,000", 64.0, 4.0))
    )
    assert deletions._growth(short, long) == "growth from T = 250: naive T^2.0, ours T^1.0"


def test_memory_is_the_peak_of_the_work_alone() -> None:
    held = torch.ones(2**22)  # 16 MB that were there before
    found = measure(lambda: float((held.repeat(8) + 1).sum()), repeats=1)
    if found.peak_mb is None:
        pytest.skip("the system does not tell a process's peak")
    assert 200 < found.peak_mb < 300  # two tensors of 128 MB
    assert found.held_mb is not None and found.held_mb < 40


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The whole bench, tiny, in a process of its own as always."""
    folder = tmp_path_factory.mktemp("bench")
    command = [sys.executable, "-m", "bench", "--quick", "--out", str(folder)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert (folder / PAGE.name).read_text(encoding="utf-8") == render(kept_in(folder))
    return read(folder / "cpu.json")


@pytest.mark.slow
def test_every_part_runs_or_says_why_not(smoke: Kept) -> None:
    assert list(smoke.parts) == list(PARTS) and not smoke.left
    for name, found in smoke.parts.items():
        assert bool(found["rows"]) != ("skipped" in found), name


@pytest.mark.slow
def test_rows_are_of_their_section_and_complete(smoke: Kept) -> None:
    for section in SECTIONS:
        for row in smoke.rows(section):
            assert row.section == section and row.part and row.size
            assert row.ours.seconds > 0 and (row.theirs is None) == (section == "long")
            assert row.ratio is None or math.isfinite(row.ratio)
