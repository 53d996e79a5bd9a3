"""The store under fire: whatever fails and whenever, a result is there whole or not at all, and
what is said about it is one sentence."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from faults import (
    Work,
    check_sentence,
    dead_everywhere,
    failing,
    in_a_child,
    killed_everywhere,
    one_sentence,
    refuse,
    refused_everywhere,
)
from heedful.auditing import Audit, Cost, Part, read_part, write_part
from heedful.cli import main
from heedful.errors import HeedfulError
from heedful.store import (
    Run,
    Store,
    output_folder,
    pack,
    refusals,
    run_key,
    unpack,
    write_folder,
    write_text,
)
from heedful.store import run as runs
from heedful.verdict import judge
from verdict_tables import World, costs, rows_of

FACTS = {"piece": "fire", "seed": 1}
KEY = run_key("probe", FACTS)
IDS = ("a", "b")
NAME = "part-0123456789abcdef"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `fsync` does is only seen after a power cut; that it is called is counted below."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def write(root: Path, facts: dict[str, object] = FACTS, rows: int = 50) -> Run:
    """A run with everything a run may hold, made if it is not there."""
    store, key = Store(root), run_key("probe", facts)
    if not store.has(key):
        with store.writing("probe", facts) as run:
            run.table("rows", pd.DataFrame({"value": np.arange(rows) / 7}))
            run.json("about", {"rows": rows})
            save_file({"w": np.arange(rows, dtype=np.float32)}, run.weights("weights"))
            folder = run.path / "model"
            (folder / "inner").mkdir(parents=True)
            (folder / "inner" / "words.txt").write_text("one two")
            write_folder(folder)
    return store.open(key)


def write_little(root: Path, facts: dict[str, object] = FACTS) -> Run:
    store, key = Store(root), run_key("probe", facts)
    if not store.has(key):
        with store.writing("probe", facts) as run:
            run.json("about", facts)
    return store.open(key)


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


# What is done, and what must hold after it failed.


def whole_or_not_there(place: Path, whole: Path, again: Callable[[Path], Run] = write) -> None:
    store = Store(place)
    assert store.keys() in ([], [KEY]) and not store.damaged()
    assert contents(again(place).path) == contents(whole)
    store.clear_scratch()
    assert [path.name for path in place.iterdir()] == ["runs"]


def writing(given: Path) -> Work:
    whole = write(given).path
    return Work(write, lambda place: whole_or_not_there(place, whole))


def adopting(given: Path) -> Work:
    whole = write(given).path
    return Work(
        lambda place: Store(place).adopt(whole), lambda place: whole_or_not_there(place, whole)
    )


def removing(given: Path) -> Work:
    whole = write_little(given).path
    return Work(
        lambda place: Store(place).remove(KEY),
        lambda place: whole_or_not_there(place, whole, write_little),
        prepare=write_little,
    )


def cleaning(given: Path) -> Work:
    whole = write_little(given).path

    def leave(place: Path) -> None:
        folder = Store(place).scratch(KEY)
        (folder / "checkpoint").write_text("much")
        (folder.parent / "stray").write_text("a file")

    return Work(
        lambda place: Store(place).clear_scratch(),
        lambda place: whole_or_not_there(place, whole, write_little),
        prepare=leave,
    )


def two_packed(given: Path) -> list[Path]:
    for seed in (1, 2):
        write_little(given / "store", {"seed": seed})
    store = Store(given / "store")
    return pack(store, store.keys(), given / "parts", max_mb=0.004)


def unpacking(given: Path) -> Work:
    parts = two_packed(given)

    def check(place: Path) -> None:
        assert not Store(place).damaged()
        new, known = unpack(Store(place), parts)
        assert sorted(new + known) == Store(given / "store").keys() == Store(place).keys()
        Store(place).clear_scratch()
        assert [path.name for path in place.iterdir()] == ["runs"]
        assert contents(place) == contents(given / "store")

    return Work(lambda place: unpack(Store(place), parts), check)


def packing(given: Path) -> Work:
    """A pack that was not finished is refused as a whole, and packing again fixes it."""
    parts = two_packed(given)
    store = Store(given / "store")

    def check(place: Path) -> None:
        there = Store(place / "there")
        try:
            assert len(unpack(there, place.glob("heedful-pack.*"))[0]) == 2
        except HeedfulError as error:
            check_sentence(str(error))
        assert not there.damaged() and len(there.keys()) in (0, 2)
        again = pack(store, store.keys(), place, max_mb=0.004)
        assert [part.read_bytes() for part in again] == [part.read_bytes() for part in parts]

    return Work(lambda place: pack(store, store.keys(), place, max_mb=0.004), check)


def part() -> Part:
    rows = pd.DataFrame({"example": list(IDS) * 30, "value": np.arange(60) / 7})
    maps = pd.DataFrame({"example": IDS, "scores": [[1.0, 2.0], [3.0]]})
    shown = pd.DataFrame({"example": ["a"], "kind": ["k"], "name": ["n"], "scores": [[0.5]]})
    documents = pd.DataFrame({"example": IDS, "text": ["x y", "z"], "place": [3, 1]})
    return Part(rows, maps, {"lrp": Cost(1.5, 2, 3)}, {"lime": "it is slow"}, shown, documents)


def same_part(found: Part) -> None:
    for kind in ("rows", "maps", "shown", "documents"):
        pd.testing.assert_frame_equal(getattr(found, kind), getattr(part(), kind))
    assert (found.costs, found.skipped) == (part().costs, part().skipped)


def part_writing(given: Path) -> Work:
    """Leftovers of parts are gone when their audit is finished."""
    write_part(given, NAME, part())

    def check(place: Path) -> None:
        store = Store(place)
        folder = store.scratch(KEY)
        found = read_part(folder, NAME, IDS)
        if found is not None:
            same_part(found)
        write_part(folder, NAME, part())
        assert contents(given).items() <= contents(folder).items()
        write_little(place)
        assert not list((place / "scratch").iterdir())

    return Work(lambda place: write_part(Store(place).scratch(KEY), NAME, part()), check)


@cache
def audit() -> Audit:
    rows, some = rows_of(World(examples=20)), pd.DataFrame({"value": [1.0, 2.0]})
    tables = dict.fromkeys(("rows", "maps", "costs", "documents"), some)
    return Audit.of(judge(rows, costs()), {"notes": ["a ≠ b"]}, **tables)


def saving(given: Path) -> Work:
    """Also into a folder that is there and empty: it stays there until the audit is."""
    whole = contents(audit().save(given / "whole"))

    def prepare(place: Path) -> None:
        (place / "audit.b").mkdir()
        (place / ".audit.b.0123456789ab.writing").mkdir()
        if int(place.name) % 2:
            (place / "audit").mkdir()

    def check(place: Path) -> None:
        out = place / "audit"
        assert out.is_dir() or not int(place.name) % 2
        assert not out.is_dir() or contents(out) in ({}, whole)
        if not out.is_dir() or not contents(out):
            audit().save(out)
            others = {".audit.b.0123456789ab.writing", "audit.b"}  # another audit's: not ours
            assert {path.name for path in place.iterdir()} == {"audit", *others}
        assert contents(out) == whole
        pd.testing.assert_frame_equal(Audit.load(out).rows, audit().rows)

    return Work(lambda place: audit().save(place / "audit"), check, prepare)


def put_report(out: Path, text: str) -> Path:
    with refusals(f"write {out}", "make room"), output_folder(out, "report") as building:
        (building / "figures").mkdir()
        for name in ("page.html", "figures/one.svg"):
            (building / name).write_text(f"{text}: {name}")
    return out


def keep_notes(out: Path) -> Path:
    (out / "figures" / "mine").mkdir()
    (out / "figures" / "mine" / "notes.txt").write_text("of somebody")
    return out


def replacing(given: Path) -> Work:
    """A report where an older one is: either of them, and the older one is never lost, nor what
    somebody kept in it."""
    old, new = (contents(keep_notes(put_report(given / t, t))) for t in ("old", "new"))

    def check(place: Path) -> None:
        out = place / "report"
        if out.exists():
            assert contents(out) in (old, new)
        else:
            (aside,) = place.glob(".report.*.old")
            assert contents(aside) == old
        put_report(out, "new")
        assert contents(out) == new and not list(place.glob(".*.writing"))

    def prepare(place: Path) -> None:
        keep_notes(put_report(place / "report", "old"))

    return Work(lambda place: put_report(place / "report", "new"), check, prepare)


def put_page(place: Path, text: str = "new") -> None:
    with refusals(f"write a page to {place}", "make room"):
        write_text(place / "link.html", text * 1000)


def page_writing(given: Path) -> Work:
    """A file behind a link: the file is replaced, and the link stays."""

    def prepare(place: Path) -> None:
        (place / "page.html").write_text("old")
        (place / "link.html").symlink_to(place / "page.html")

    def check(place: Path) -> None:
        assert (place / "page.html").read_text() in ("old", "new" * 1000)
        put_page(place)
        assert (place / "link.html").is_symlink()
        assert (place / "page.html").read_text() == "new" * 1000

    return Work(put_page, check, prepare)


EVERY = [
    writing, adopting, removing, cleaning, unpacking, packing, part_writing, saving, replacing,
]  # fmt: skip


@pytest.mark.parametrize("making", EVERY)
def test_the_disk_is_full_at_every_point(making: Callable[[Path], Work], tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    work = making(tmp_path / "given")
    points = refused_everywhere(work, tmp_path / "places", errno.ENOSPC)
    assert len(points) >= 7 and set(points) & {"rename", "replace", "write"}


def test_a_page_is_there_whole_whatever_happens(tmp_path: Path) -> None:
    work = page_writing(tmp_path)
    assert refused_everywhere(work, tmp_path / "full", errno.ENOSPC)
    assert dead_everywhere(work, tmp_path / "dead")


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "told")
    assert os.read(reader, 10) == b"told" and (tmp_path / "pipe").is_fifo()
    os.close(reader)


@pytest.mark.parametrize("making", EVERY)
def test_the_work_ends_at_every_point(making: Callable[[Path], Work], tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    assert dead_everywhere(making(tmp_path / "given"), tmp_path / "places") >= 4


@pytest.mark.parametrize(
    ("making", "step"), [(writing, 1), (unpacking, 5), (part_writing, 7), (saving, 7)]
)
def test_the_process_is_killed(making: Callable[[Path], Work], step: int, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    work = making(tmp_path / "given")
    assert killed_everywhere(work, tmp_path / "places", step) >= 30


@pytest.mark.parametrize("making", [writing, part_writing, saving])
def test_contents_are_on_disk_before_the_name(
    making: Callable[[Path], Work], tmp_path: Path
) -> None:
    """After a power cut a name must not be there without what it names."""
    (tmp_path / "given").mkdir()
    with failing(0, refuse()) as disk:
        making(tmp_path / "given").do(tmp_path)
    last = max(place for place, name in enumerate(disk.points) if name in ("rename", "replace"))
    written = [place for place, name in enumerate(disk.points) if name == "write"]
    assert written and max(written) < last
    assert "fsync" in disk.points[max(written) : last]


# Several at once.


def _race(root: str, number: int, barrier: object, seeds: int) -> None:
    for seed in range(seeds):
        barrier.wait(20)  # type: ignore[attr-defined]
        facts = {"race": seed}
        with Store(root).writing("probe", facts) as run:  # contents differ from writer to writer
            run.table("rows", pd.DataFrame({"writer": [number] * 100}))
            run.json("about", number)
        found = Store(root).open(run_key("probe", facts))
        seen = [seed, found.json("about"), *found.table("rows")["writer"].unique().tolist()]
        with (Path(root) / f"seen-{number}.jsonl").open("a") as stream:
            stream.write(json.dumps(seen) + "\n")


def test_writers_of_one_key_all_get_the_first_ones_run(tmp_path: Path) -> None:
    """Contents may differ (another device, a time that was taken): they are never mixed, and
    nobody goes on with something else than what is there."""
    writers, seeds = 4, 15
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(writers)
    children = [
        context.Process(target=_race, args=(str(tmp_path), number, barrier, seeds))
        for number in range(writers)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * writers
    assert len(Store(tmp_path).keys()) == seeds and not Store(tmp_path).damaged()
    seen = [(tmp_path / f"seen-{number}.jsonl").read_text() for number in range(writers)]
    assert len(set(seen)) == 1
    assert all(about == rows for _, about, rows in map(json.loads, seen[0].splitlines()))
    assert not list((tmp_path / "scratch").iterdir())


def test_what_is_cleaned_away_while_it_is_written_does_not_appear(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with one_sentence("removed meanwhile, run the command again"), store.writing("probe", FACTS):
        assert len(store.clear_scratch()) == 1
    assert store.keys() == [] and write(tmp_path).has("rows.parquet")


def test_cleaning_at_every_point_of_a_write_leaves_a_whole_run_or_none(tmp_path: Path) -> None:
    whole = contents(write(tmp_path / "whole").path)
    for at in range(1, 200):
        place = tmp_path / str(at)
        with failing(at, lambda: Store(place).clear_scratch() and None) as disk:  # noqa: B023
            try:
                write(place)
            except HeedfulError as error:
                check_sentence(str(error))
        assert not Store(place).damaged()
        assert all(contents(place / "runs" / key) == whole for key in Store(place).keys())
        if not disk.failed:
            return
    raise AssertionError


def test_an_audit_finished_by_another_process_stops_nobody(tmp_path: Path) -> None:
    folder = Store(tmp_path).scratch(KEY)
    write(tmp_path)
    assert not folder.exists()
    write_part(folder, NAME, part())
    found = read_part(folder, NAME, IDS)
    assert found is not None
    same_part(found)


# Disks.


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A real disk of 128 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk can only be mounted by root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_really_full(small: Path, tmp_path: Path) -> None:
    """Also what writes without Python is told in one sentence."""
    whole, messages = contents(write(tmp_path, rows=5000).path), set()
    for left in range(1, 32):
        (small / "ballast").write_bytes(bytes(128 * 1024 - 4096 * left))
        try:
            write(small / "store", rows=5000)
        except HeedfulError as error:
            check_sentence(str(error))
            messages.add(str(error))
            assert Store(small / "store").keys() == []
        (small / "ballast").unlink()
        found = write(small / "store", rows=5000)
        assert contents(found.path) == whole
        Store(small / "store").remove(KEY)
    assert messages and all("No space left on device" in each for each in messages)


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    whole = contents(write(tmp_path / "whole", rows=5000).path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in range(0, 41_000, 5_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            write(tmp_path / "store", rows=5000)
        except HeedfulError as error:
            check_sentence(str(error))
            assert "File too large" in str(error) and limit < 40_000
            assert Store(tmp_path / "store").keys() == []
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert contents(write(tmp_path / "store", rows=5000).path) == whole


def refused_writes(root: Path, tmp_path: Path) -> None:
    """A store that may be read and not written."""
    store, other = Store(root), write(tmp_path / "other", {"seed": 2})
    assert store.open(KEY).table("rows").shape == (50, 1) and not store.damaged()
    writes: list[Callable[[], object]] = [
        lambda: write(root, {"seed": 2}),
        lambda: store.scratch("model-1"),
        lambda: store.remove(KEY),
        lambda: store.clear_scratch(),
        lambda: store.adopt(other.path),
        lambda: write_part(root / "scratch" / KEY, NAME, part()),
        lambda: audit().save(root / "audit"),
        lambda: pack(store, [KEY], root / "packs", 1),
    ]
    for each in writes:
        with one_sentence("Read-only file system|Permission denied"):
            each()
    assert store.keys() == [KEY] and not store.damaged()


def with_leftovers(root: Path) -> Path:
    write(root)
    (Store(root).scratch("model-0") / "checkpoint").write_text("much")
    return root


def test_a_read_only_disk(small: Path, tmp_path: Path) -> None:
    root = with_leftovers(small / "store")
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    refused_writes(root, tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    root = with_leftovers(tmp_path / "store")
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o500)
    try:
        refused_writes(root, tmp_path)
    finally:
        for path in folders:
            path.chmod(0o700)


def test_a_disk_that_turned_read_only(tmp_path: Path) -> None:
    """Without a disk of one's own: every call that changes something is refused."""
    with failing(1, refuse(errno.EROFS)), one_sentence("Read-only file system"):
        write(tmp_path)
    with failing(1, refuse(errno.EROFS)), one_sentence("Read-only file system"):
        audit().save(tmp_path / "audit")
    with failing(1, refuse(errno.EROFS)), one_sentence("Read-only file system"):
        write_part(tmp_path / "parts", NAME, part())


@pytest.mark.parametrize("now", [0.0, 4e9])
def test_clocks_do_not_matter(now: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither today's time nor a file's decides about anything."""
    whole = contents(write(tmp_path / "whole").path)
    monkeypatch.setattr(time, "time", lambda: now)
    run = write(with_leftovers(tmp_path / "store"))
    for path in (tmp_path / "store").rglob("*"):
        os.utime(path, (4e9 - now, 4e9 - now))
    store = Store(tmp_path / "store")
    assert contents(run.path) == whole and not store.damaged() and store.has(KEY)
    assert store.scratch("model-0").joinpath("checkpoint").read_text() == "much"
    assert store.clear_scratch() == ["model-0"]
    assert store.adopt(run.path) is False


# Runs that are not what they were.


def garble(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def put_record(path: Path, **changes: object) -> None:
    record = path / "run.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), **changes}))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


AGAIN = "remove it with `heedful store gc --damaged` and run the command again"
DAMAGE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "parquet cut": (lambda p: cut(p / "rows.parquet"), "file rows.parquet was changed", AGAIN),
    "parquet empty": (lambda p: (p / "rows.parquet").write_bytes(b""), "was changed", AGAIN),
    "one bit": (lambda p: garble(p / "rows.parquet", 30), "rows.parquet was changed", AGAIN),
    "weights cut": (lambda p: cut(p / "weights.safetensors"), "was changed", AGAIN),
    "json cut": (lambda p: cut(p / "about.json"), "file about.json was changed", AGAIN),
    "file missing": (lambda p: (p / "rows.parquet").unlink(), "is missing", AGAIN),
    "folder's file": (lambda p: cut(p / "model/inner/words.txt"), "words.txt was changed", AGAIN),
    "folder missing": (lambda p: shutil.rmtree(p / "model"), "words.txt was changed", AGAIN),
    "record cut": (lambda p: cut(p / "run.json"), "run.json cannot be read", AGAIN),
    "record gone": (lambda p: (p / "run.json").unlink(), "it has no run.json", AGAIN),
    "record a list": (lambda p: (p / "run.json").write_text("[1]"), "cannot be read", AGAIN),
    "record deep": (lambda p: (p / "run.json").write_text("[" * 9**5), "cannot be read", AGAIN),
    "record binary": (lambda p: (p / "run.json").write_bytes(b"\xff\0"), "cannot be read", AGAIN),
    "files a list": (lambda p: put_record(p, files=["rows"]), "run.json cannot be read", AGAIN),
    "wrong digest": (lambda p: put_record(p, files={"about.json": "0"}), "was changed", AGAIN),
    "other facts": (lambda p: put_record(p, facts={}), "not the hash of its facts", AGAIN),
    "an older one": (lambda p: put_record(p, schema_version=0), "it has schema 0", AGAIN),
    "a strange one": (lambda p: put_record(p, schema_version="x"), "it has schema x", AGAIN),
    "a newer one": (lambda p: put_record(p, schema_version=2), "of a newer Heedful", "update"),
    "nothing": (lambda p: (shutil.rmtree(p), p.mkdir()), "it has no run.json", AGAIN),
    "record a folder": (
        lambda p: ((p / "run.json").unlink(), (p / "run.json").mkdir()),
        "it cannot be read (Is a directory",
        "fix that",
    ),
}


@pytest.mark.parametrize("upstream", [None, "base", {"base": 5}])
def test_a_run_made_from_nothing_readable_is_damaged(tmp_path: Path, upstream: object) -> None:
    """Its name is right: the hash of facts that no version writes."""
    path, facts = write(tmp_path).path, {"upstream": upstream}
    put_record(path, facts=facts)
    key = run_key("probe", facts)
    path.rename(path.with_name(key))
    with pytest.raises(HeedfulError, match="its run.json cannot be read"):
        Store(tmp_path).open(key)


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_run_is_named_with_the_fix(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harm, reason, fix = DAMAGE[name]
    harm(write(tmp_path).path)
    store = Store(tmp_path)
    for ask in (store.open, store.has, store.resolve, lambda _: list(store.runs())):
        with pytest.raises(HeedfulError) as caught:
            ask(KEY)
        check_sentence(str(caught.value))
        assert all(word in str(caught.value) for word in (KEY, reason, fix))
    with one_sentence("was not taken into the store because"):
        Store(tmp_path / "other").adopt(tmp_path / "runs" / KEY)
    given = ["--store", str(tmp_path)]
    assert main(["store", "verify", *given]) == 1
    out = capsys.readouterr().out
    assert all(word in out for word in (f"{KEY}: ", reason, fix))
    assert main(["store", "gc", "--damaged", *given]) == 0
    assert store.keys() == ([] if fix == AGAIN else [KEY])


@pytest.mark.parametrize("name", ["parquet cut", "record cut", "a newer one", "an older one"])
@pytest.mark.parametrize("command", [["report"], ["store", "export", "-o", "x.csv", "-"]])
def test_the_command_line_refuses_a_damaged_run(
    name: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harm, reason, fix = DAMAGE[name]
    harm(write(tmp_path / "store").path)
    words = [word for word in command if word != "-"]
    table = ["rows"] if "-" in command else []
    assert main([*words, KEY, *table, "--store", str(tmp_path / "store")]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert all(word in said.err for word in (KEY, reason, fix))


def test_a_study_refuses_a_damaged_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--store", str(tmp_path)]
    assert main(["prepare", "planted", *given]) == 0
    (key,) = Store(tmp_path).keys()
    cut(tmp_path / "runs" / key / "examples.parquet")
    capsys.readouterr()
    study = ["study", "jain2019", "--corpora", "planted", "--encoders", "average", *given]
    assert main(study) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert key in said and "examples.parquet was changed" in said and AGAIN in said
    assert Store(tmp_path).keys() == [key]


def test_a_folder_that_is_not_a_run_is_nobodys_to_remove(tmp_path: Path) -> None:
    write(tmp_path)
    notes = tmp_path / "runs" / "my-notes"
    notes.mkdir()
    (notes / "notes.txt").write_text("much work")
    store = Store(tmp_path)
    with one_sentence("run my-notes cannot be used because it has no run.json: move it out of"):
        store.open("my-notes")
    assert store.damaged() == {"my-notes": "it has no run.json"}
    assert store.clear_damaged() == [] and (notes / "notes.txt").is_file()
    assert store.find("probe", {"seed": 1})[0].key == KEY  # and it is in nobody's way


def test_what_a_disk_does_not_give_out_is_not_taken_for_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> str:
        raise OSError(errno.EIO, "Input/output error", str(path))

    write(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(runs, "file_digest", fail)
        with one_sentence("Input/output error at .*: fix that and run the command again"):
            Store(tmp_path).open(KEY)
        assert Store(tmp_path).clear_damaged() == []
    assert Store(tmp_path).has(KEY)


@pytest.mark.parametrize("harm", [cut, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_run_damaged_after_it_was_opened(harm: Callable[[Path], object], tmp_path: Path) -> None:
    run = write(tmp_path)
    harm(run.path / "rows.parquet")
    harm(run.path / "about.json")
    with one_sentence(f"run {KEY} cannot be used because its file rows.parquet cannot be read"):
        run.table("rows")
    with one_sentence(f"run {KEY} cannot be used because its file about.json cannot be read"):
        run.json("about")


@pytest.mark.parametrize("file", ["verdict.json", "facts.json", "rows.parquet", "shown.parquet"])
def test_a_damaged_audit_folder_is_refused(file: str, tmp_path: Path) -> None:
    folder = audit().save(tmp_path / "audit")
    cut(folder / file)
    with one_sentence("this is no verdict|is no whole audit"):
        Audit.load(folder)


def test_any_changed_byte_of_a_part_is_found(tmp_path: Path) -> None:
    """What was measured is found as it was, or measured again."""
    for kind in ("rows", "maps", "shown", "costs"):
        write_part(tmp_path, NAME, part())
        path = tmp_path / f"{NAME}.{kind}.parquet"
        whole, step = path.read_bytes(), 97
        for at in range(0, len(whole), step):
            garble(path, at)
            found = read_part(tmp_path, NAME, IDS)
            if found is not None:
                same_part(found)
            path.write_bytes(whole)


# Packs.


def test_a_pack_cut_anywhere_is_refused(tmp_path: Path) -> None:
    """Also where a run ends: else those behind it would be missed by nobody."""
    whole = b"".join(path.read_bytes() for path in two_packed(tmp_path))
    place = tmp_path / "cut.tar.000"
    for size in range(0, len(whole.rstrip(b"\0")), 512):
        place.write_bytes(whole[:size])
        with one_sentence("give all its parts"):
            unpack(Store(tmp_path / "there"), [place])
    assert Store(tmp_path / "there").keys() == []


def test_a_changed_pack_never_brings_a_changed_run(tmp_path: Path) -> None:
    whole = b"".join(path.read_bytes() for path in two_packed(tmp_path))
    good = contents(tmp_path / "store")
    place = tmp_path / "pack.tar.000"
    random = np.random.default_rng(0)
    for trial in range(80):
        place.write_bytes(whole)
        garble(place, int(random.integers(len(whole))))
        there = Store(tmp_path / f"there-{trial}")
        try:
            unpack(there, [place])
        except HeedfulError as error:
            check_sentence(str(error))
        assert not there.damaged()
        assert contents(there.root).items() <= good.items()


def test_many_parts_are_joined_in_order(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    with Store(tmp_path / "here").writing("probe", FACTS) as run:
        save_file({"w": random.random(130_000)}, run.weights("weights"))
    parts = pack(Store(tmp_path / "here"), [KEY], tmp_path / "parts", max_mb=0.001)
    assert len(parts) > 1000
    assert unpack(Store(tmp_path / "there"), reversed(parts)) == ([KEY], [])


def test_a_child_that_is_not_killed_is_no_proof() -> None:
    """The walk above ends with the first child that lives; one that raises must not end it."""
    assert not in_a_child(lambda: None)
    with pytest.raises(AssertionError, match="ended with 1"):
        in_a_child(lambda: 1 / 0)
