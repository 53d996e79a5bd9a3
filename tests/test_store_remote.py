"""A store at a URL: the same guarantees, with a place in between that fails as it likes."""

from __future__ import annotations

import errno
import io
import json
import multiprocessing
import os
import pickle
import shutil
import tarfile
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import gettempdir

import fsspec
import pandas as pd
import pytest

from faults import Dead, check_sentence, failing, one_sentence, pass_away, refuse
from faulty_files import (
    FaultyFiles,
    far_failing,
    far_refusing,
    faulty,
    half,
    on_machine,
    strangely,
    wordless,
)
from heedful.cli import main
from heedful.errors import HeedfulError
from heedful.store import (
    Damaged,
    Problem,
    Remote,
    Run,
    Store,
    cache_folder,
    pack,
    remote,
    run_key,
    store_at,
    store_of,
    unpack,
    url_of,
    write_folder,
)

FACTS = {"piece": "far", "seed": 1}
KEY = run_key("probe", FACTS)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test leaves anything in the user's cache, and none waits for a disk."""
    monkeypatch.setenv("HEEDFUL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    return tmp_path


def write(store: Store, facts: dict[str, object] = FACTS, value: object = 1) -> Run:
    """A run, made if it is not there."""
    key = run_key("probe", facts)
    if not store.has(key):
        with store.writing("probe", facts) as run:
            run.table("rows", pd.DataFrame({"value": [value] * 20}))
            run.json("value", value)
            (run.path / "model").mkdir()
            (run.path / "model" / "words.txt").write_text("one two")
            write_folder(run.path / "model")
    return store.open(key)


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def objects(far: Path) -> list[str]:
    return sorted(path.name for path in (far / "runs").glob("*"))


# Places.


def test_a_url_has_one_spelling_and_a_folder_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert url_of("s3://bucket/x/") == url_of("s3://bucket/x") == "s3://bucket/x"
    assert url_of("local:///a/../b/") == url_of("file:///b") == "file:///b"
    assert url_of("file://b") == f"file://{Path.cwd()}/b"
    assert url_of("memory://") == "memory://"
    folders = ["store", "/a/b", "a:b", "C:/x", "", "heedful-store/s3:/x", Path("file:///b")]
    assert [url_of(folder) for folder in folders] == [None] * len(folders)
    one, other = cache_folder("s3://a"), cache_folder("s3://b")
    assert one.parent == other.parent and one != other == cache_folder("s3://b")
    monkeypatch.delenv("HEEDFUL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder("s3://a") == Path("/somewhere/heedful") / one.name


def test_a_folder_stays_what_it_is(tmp_path: Path) -> None:
    store = store_at(tmp_path / "store")
    assert type(store) is Store and store.place == store.root == tmp_path / "store"
    assert store_of(write(store)) is store
    assert store_of(Run(tmp_path / "store/runs" / KEY)).root == (tmp_path / "store").resolve()
    assert not (tmp_path / "cache").exists()
    with one_sentence("is a URL: open it with `store_at`"):
        Store("s3://bucket/x")


WRONG = {
    "gopher2://x/y": "cannot open the store gopher2://x/y: Protocol not known: gopher2; fix",
    "S3://bucket": "Protocol not known: S3",
    "nowhere://x": "the store nowhere://x needs another package: Install no_such_package",
    "sftp://me:secret@host/x": "the store's URL holds a password, which others could read: leave",
}


@pytest.mark.parametrize("url", WRONG)
def test_what_cannot_be_opened_is_one_sentence(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with one_sentence(WRONG[url]):
        store_at(url)
    for verb in (["store", "ls"], ["prepare", "planted"], ["report", KEY]):
        assert main([*verb, "--store", url]) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1 and "secret" not in said.err


# There and back.


@pytest.mark.parametrize("protocol", ["file", "memory", "faulty"])
def test_what_one_machine_writes_another_finds(protocol: str, tmp_path: Path) -> None:
    url = f"{protocol}://{tmp_path}/far"
    one, other = (on_machine(tmp_path / name, url) for name in "ab")
    assert not other.has(KEY) and other.keys() == []
    run = write(one)
    assert other.has(KEY) and other.keys() == [KEY] == one.keys("probe")
    found = other.open(KEY)
    assert contents(found.path) == contents(run.path) and found.path != run.path
    assert (found.folder("model") / "words.txt").read_text() == "one two"
    assert other.resolve(KEY[:9]).key == KEY and store_of(found) is other
    assert other.place == one.place == url and other.keys("model") == []
    with one_sentence(f"no run 'probe-1' in {protocol}://"):
        other.resolve("probe-1")


def test_nothing_but_whole_runs_is_far_away(tmp_path: Path) -> None:
    store = store_at(f"file://{tmp_path}/far")
    (store.scratch("model-1") / "checkpoint").write_text("much")
    write(store)
    assert contents(tmp_path / "far").keys() == {f"runs/{KEY}.tar"}
    assert store.clear_scratch() == ["model-1"]


def test_the_same_run_is_the_same_object(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(on_machine(tmp_path / f"of-{name}", f"file://{tmp_path / name}"))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_run_is_published_by_another_process_after_we_looked(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/far"
    one, other = (on_machine(tmp_path / name, url) for name in "ab")
    assert not one.has(KEY) and one.keys() == []
    write(other, value=2)
    assert one.has(KEY) and write(one, value=1).json("value") == 2


def test_the_first_of_two_writers_stays(tmp_path: Path) -> None:
    """Both go on with it, also the one that finished later without knowing."""
    url = f"file://{tmp_path}/far"
    one, other = (on_machine(tmp_path / name, url) for name in "ab")
    with one.writing("probe", FACTS) as run:
        run.json("value", 1)
        write(other, value=2)
    assert one.open(KEY).json("value") == other.open(KEY).json("value") == 2
    assert objects(tmp_path / "far") == [f"{KEY}.tar"]


def _race(url: str, cache: str, number: int, barrier: object) -> None:
    store = on_machine(Path(cache), url)
    for seed in range(8):
        barrier.wait(20)  # type: ignore[attr-defined]
        run = write(store, {"race": seed}, number)
        assert set(run.table("rows")["value"]) == {run.json("value")}


def test_writers_of_one_key_are_never_mixed(tmp_path: Path) -> None:
    url, context = f"file://{tmp_path}/far", multiprocessing.get_context("fork")
    barrier = context.Barrier(3)
    children = [
        context.Process(target=_race, args=(url, str(tmp_path / f"{number % 2}"), number, barrier))
        for number in range(3)  # two of them on one machine
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 3
    seen = on_machine(tmp_path / "new", url)
    assert len(seen.keys()) == 8 == len(objects(tmp_path / "far")) and not seen.problems()
    for run in seen.runs():
        assert set(run.table("rows")["value"]) == {run.json("value")}


# Whatever fails.

FAILS = [refuse(errno.ENOSPC), refuse(errno.EACCES), strangely, wordless, pass_away]


@pytest.mark.parametrize("fail", FAILS)
def test_a_write_that_fails_at_every_point_loses_nothing(
    fail: Callable[[], None], tmp_path: Path
) -> None:
    """What was made once is never made again: it is here, and the next start uploads it."""
    for at in count(1):
        far, made = tmp_path / f"far-{at}", []

        def work() -> None:
            store = on_machine(tmp_path / f"a-{at}", faulty(far))  # noqa: B023
            if not store.has(KEY):
                with store.writing("probe", FACTS) as run:
                    run.json("value", 1)
                    made.append(1)  # noqa: B023

        with far_failing(at, fail) as disk, suppress(Dead):
            try:
                work()
            except HeedfulError as error:
                check_sentence(str(error))
        seen = on_machine(tmp_path / f"b-{at}", faulty(far))
        assert seen.keys() in ([], [KEY]) and not seen.problems()
        work()
        assert made == [1] and seen.open(KEY).json("value") == 1
        assert seen.clear_scratch() == [] or fail is pass_away or "remove" in disk.points
        assert objects(far) == [f"{KEY}.tar"]
        if not disk.failed:
            assert {"list", "look", "makedirs", "put", "move"} <= set(disk.points)
            return


@pytest.mark.parametrize("fail", FAILS)
def test_a_fetch_that_fails_at_every_point_leaves_nothing_half(
    fail: Callable[[], None], tmp_path: Path
) -> None:
    whole = contents(write(on_machine(tmp_path / "a", faulty(tmp_path / "far"))).path)
    for at in count(1):
        store = on_machine(tmp_path / f"b-{at}", faulty(tmp_path / "far"))
        with far_failing(at, fail) as disk, suppress(Dead):
            try:
                assert contents(store.open(KEY).path) == whole
            except HeedfulError as error:
                check_sentence(str(error))
        assert not Store(store.root).damaged()
        assert contents(store.open(KEY).path) == whole
        if not disk.failed:
            assert "read" in disk.points
            return


def test_nobody_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is taken for missing, and made again, because nobody could be asked."""
    write(on_machine(tmp_path / "a", faulty(tmp_path / "far")))
    store = store_at(faulty(tmp_path / "far"))
    for fail in (strangely, refuse(errno.ETIMEDOUT), refuse(errno.EHOSTUNREACH)):
        for ask in (lambda: store.has(KEY), lambda: store.open(KEY), store.keys, store.problems):
            with far_failing(1, fail), one_sentence("; check its address, your account and the n"):
                ask()
    for verb in (["store", "ls"], ["store", "gc"], ["report", KEY], ["prepare", "planted"]):
        with far_failing(1, strangely):
            assert main([*verb, "--store", faulty(tmp_path / "far")]) == 2
        said = capsys.readouterr()
        assert said.out == "" and "the far side said no; check" in said.err.splitlines()[-1]


def test_nobody_answers_a_second_question(tmp_path: Path) -> None:
    """There was no such run, and now nobody says whether there is: that is no `no`."""
    store = store_at(faulty(tmp_path / "far"))
    assert not store.has(KEY)
    write(on_machine(tmp_path / "a", faulty(tmp_path / "far")))
    with far_failing(1, refuse(errno.ETIMEDOUT)), one_sentence("Connection timed out; check"):
        store.has(KEY)
    assert store.has(KEY)


def test_a_place_that_may_only_be_read(tmp_path: Path) -> None:
    """What is there can be used; what is made stays here until somebody may write."""
    url = faulty(tmp_path / "far")
    write(on_machine(tmp_path / "a", url))
    store = on_machine(tmp_path / "b", url)
    kept = "Permission denied.*; the run is kept on this machine: fix that, and the next start"
    with far_refusing():
        assert store.open(KEY).json("value") == 1 and not store.problems()
        for _ in range(2):
            with one_sentence(kept):
                write(store, {"seed": 2})
        other = run_key("probe", {"seed": 2})
        assert store.keys() == sorted([KEY, other]) and store.record(other).kind == "probe"
        with one_sentence("cannot remove run"):
            store.remove(KEY)
        assert store.clear_scratch() == []
    assert objects(tmp_path / "far") == [f"{KEY}.tar"]
    assert on_machine(tmp_path / "b", url).has(other)
    assert on_machine(tmp_path / "c", url).open(other).json("value") == 1


def test_an_upload_that_is_quietly_cut_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = faulty(tmp_path / "far")
    with monkeypatch.context() as patched:
        cut = lambda self, one, other, **options: half(Path(one), Path(other))  # noqa: E731
        patched.setattr(FaultyFiles, "put_file", cut)
        with one_sentence("of [0-9]+ bytes arrived; the run is kept"):
            write(store_at(url))
    assert objects(tmp_path / "far") == []
    assert write(store_at(url), value=2).json("value") == 1


def test_an_object_store_is_asked_for_no_more_than_it_must_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows whole objects only: nothing is moved, nothing removed, also after a failure."""
    monkeypatch.setattr(remote, "_ATOMIC", {"faulty"})
    (tmp_path / "far" / "runs").mkdir(parents=True)
    url = faulty(tmp_path / "far")
    with far_refusing(("makedirs", "move", "remove")):
        write(store_at(url))
    before = contents(tmp_path / "far")
    (tmp_path / "pack").write_bytes(b"another's")
    with far_refusing(("put",)), one_sentence("cannot upload run .* Permission denied; the run is"):
        Remote(url).send(KEY, tmp_path / "pack")
    assert contents(tmp_path / "far") == before and list(before) == [f"runs/{KEY}.tar"]


@pytest.mark.parametrize("same", [True, False])
def test_somebody_else_is_first_where_files_are_not_replaced(
    same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_to_replace(self: FaultyFiles, one: str, other: str, **options: object) -> None:
        Path(other).write_bytes(Path(one).read_bytes() if same else b"half of it")
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    monkeypatch.setattr(FaultyFiles, "mv", refuse_to_replace)
    (tmp_path / "pack").write_bytes(b"some bytes of a run")
    place = Remote(faulty(tmp_path / "far"))
    if same:
        place.send(KEY, tmp_path / "pack")
    else:
        with one_sentence("cannot upload run .* File exists; the run is kept"):
            place.send(KEY, tmp_path / "pack")
    assert objects(tmp_path / "far") == [f"{KEY}.tar"]


def test_a_connection_that_breaks_off_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = faulty(tmp_path / "far")
    write(on_machine(tmp_path / "a", url))
    store = store_at(url)
    with monkeypatch.context() as patched:
        patched.setattr(FaultyFiles, "open", lambda *_: io.BytesIO(b"some"))
        with one_sentence("the connection broke off after 4 bytes; check"):
            store.open(KEY)
        with pytest.raises(HeedfulError, match="broke off"):
            store.clear_damaged()
    assert store.has(KEY)


def test_what_is_full_is_the_cache(tmp_path: Path) -> None:
    write(on_machine(tmp_path / "a", f"file://{tmp_path}/far"))
    with failing(4, refuse()), one_sentence("No space left.*choose another with HEEDFUL_CACHE"):
        store_at(f"file://{tmp_path}/far").open(KEY)
    assert store_at(f"file://{tmp_path}/far").has(KEY)


# Objects that are not what they were.


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5])
def test_a_cut_object_is_named_with_the_fix(
    share: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"file://{tmp_path}/far"
    one = on_machine(tmp_path / "a", url)
    write(one)
    path = tmp_path / "far" / "runs" / f"{KEY}.tar"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    store, again = store_at(url), "gc --damaged` and run the command again"
    for ask in (store.has, store.open, store.resolve, lambda _: list(store.runs())):
        with one_sentence(f"run {KEY} cannot be used because its pack at .* was cut off.*{again}"):
            ask(KEY)
    with one_sentence("was cut off"):
        write(store, value=2)
    assert main(["store", "verify", "--store", url]) == 1
    assert "1 runs, 1 damaged" in capsys.readouterr().out
    assert one.open(KEY).json("value") == 1  # a machine that has it goes on
    assert main(["store", "gc", "--damaged", "--store", url]) == 0
    assert objects(tmp_path / "far") == [] and not store_at(url).has(KEY)
    assert on_machine(tmp_path / "a", url).has(KEY)  # and brings it again
    assert store_at(url).open(KEY).json("value") == 1


def test_no_changed_byte_comes_through(tmp_path: Path) -> None:
    url, path = f"file://{tmp_path}/far", tmp_path / "far" / "runs" / f"{KEY}.tar"
    run = write(on_machine(tmp_path / "a", url))
    whole, good = path.read_bytes(), contents(run.path)
    for at in range(0, len(whole), 331):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        store = on_machine(tmp_path / f"b-{at}", url)
        try:
            found = contents(store.open(KEY).path)
        except HeedfulError as error:
            check_sentence(str(error))
            assert store.root.joinpath("runs").exists() is False
        else:
            assert found.items() >= good.items() or found == good


def member(name: str, kind: bytes = tarfile.REGTYPE, data: bytes = b"x", link: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data)
    blocks = data + bytes(-len(data) % 512)
    return info.tobuf() + (blocks if kind == tarfile.REGTYPE else b"")


OUTSIDE = f"{gettempdir()}/heedful-outside"
HOSTILE = {
    "up": [member("../../../evil")],
    "up inside": [member(f"{KEY}/../../../../evil")],
    "absolute": [member(f"{OUTSIDE}/evil")],
    "link": [member(f"{KEY}/link", tarfile.SYMTYPE, b"", OUTSIDE), member(f"{KEY}/link/evil")],
    "link to itself": [member(f"{KEY}/run.json", tarfile.SYMTYPE, b"", "run.json")],
    "hard link": [member(f"{KEY}/link", tarfile.LNKTYPE, b"", "pack")],
    "device": [member(f"{KEY}/zero", tarfile.CHRTYPE, b"")],
    "pipe": [member(f"{KEY}/pipe", tarfile.FIFOTYPE, b"")],
    "twice": [member(f"{KEY}/run.json"), member(f"{KEY}/run.json", data=b"{}")],
    "file as folder": [member(f"{KEY}/a"), member(f"{KEY}/a/b")],
    "folder as file": [member(f"{KEY}/a/b"), member(f"{KEY}/a")],
    "its own pack": [member("pack")],
    "another run": [member("probe-0000000000000000/run.json")],
    "deep": [member(f"{KEY}/run.json", data=b"[" * 9**5)],
    "nothing": [],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_object_writes_nowhere(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "far" / "runs"
    folder.mkdir(parents=True)
    (folder / f"{KEY}.tar").write_bytes(b"".join(HOSTILE[name]) + bytes(1024))
    store = store_at(f"file://{tmp_path}/far")
    before = contents(tmp_path)
    for ask in (store.open, store.record):
        with pytest.raises(Damaged):
            ask(KEY)
    plain = Store(tmp_path / "plain")
    if name in ("nothing", "its own pack"):
        assert unpack(plain, [folder / f"{KEY}.tar"]) == ([], [])
    else:
        with one_sentence("the pack cannot be read|was not taken into the store"):
            unpack(plain, [folder / f"{KEY}.tar"])
    assert contents(tmp_path) == before and not Path(OUTSIDE).exists()


def test_names_that_no_run_has_are_nobodys(tmp_path: Path) -> None:
    folder = tmp_path / "far" / "runs"
    folder.mkdir(parents=True)
    for name in (
        "notes.txt",
        "..tar",
        "probe-1.tar",
        f"{KEY}.tar.gz",
        "PROBE-0123456789abcdef.tar",
    ):
        (folder / name).write_text("much work")
    store = store_at(f"file://{tmp_path}/far")
    assert store.keys() == [] and not store.has("../runs/notes") and store.clear_damaged() == []
    assert store.clear_scratch() == [] and len(objects(tmp_path / "far")) == 5


def test_an_ordinary_store_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    write(Store(tmp_path / "store"))
    with one_sentence("holds runs as folders: give an ordinary folder without a protocol"):
        store_at(f"file://{tmp_path}/store").has(KEY)


def test_a_newer_run_is_not_cleaned_away(tmp_path: Path) -> None:
    url, old = f"file://{tmp_path}/far", on_machine(tmp_path / "a", "memory://newer")
    record = write(old).path / "run.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "schema_version": 2}))
    folder = tmp_path / "far" / "runs"
    folder.mkdir(parents=True)
    with tarfile.open(folder / f"{KEY}.tar", "w") as tar:
        tar.add(record.parent, KEY)
    store = store_at(url)
    for ask in (store.open, store.record):
        with one_sentence("of a newer Heedful, this one reads 1: update Heedful"):
            ask(KEY)
    assert store.clear_damaged() == [] and objects(tmp_path / "far") == [f"{KEY}.tar"]


def test_a_damaged_run_can_be_told_to_another_process() -> None:
    error = Damaged(KEY, Problem("it is old"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# What is fetched, and when.


def test_records_are_read_without_the_rest(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/far"
    one = on_machine(tmp_path / "a", url)
    for seed in range(3):
        write(one, {"piece": "far", "seed": seed})
    store = store_at(url)
    assert [store.record(key).facts["piece"] for key in store.keys()] == ["far"] * 3
    assert not store.root.exists()
    assert [run.facts["seed"] for run in store.find("probe", {"seed": 2})] == [2]
    assert len(Store(store.root).keys()) == 1
    assert store.find("probe", {"seed": 9}) == [] == store.find("model", {})


def test_a_long_record_is_read_too(tmp_path: Path) -> None:
    facts = {"words": ["word"] * 30_000}
    write(on_machine(tmp_path / "a", f"file://{tmp_path}/far"), facts)
    store = store_at(f"file://{tmp_path}/far")
    assert store.record(run_key("probe", facts)).facts == facts


def test_removed_here_and_there(tmp_path: Path) -> None:
    store = store_at(f"file://{tmp_path}/far")
    write(store)
    store.remove(KEY)
    assert not store.has(KEY) and objects(tmp_path / "far") == []
    assert write(store, value=2).json("value") == 2


def test_packs_go_in_and_out(tmp_path: Path) -> None:
    plain = Store(tmp_path / "plain")
    write(plain)
    parts = pack(plain, [KEY], tmp_path / "parts", 1)
    store = on_machine(tmp_path / "a", f"file://{tmp_path}/far")
    assert unpack(store, parts) == ([KEY], []) and unpack(store, parts) == ([], [KEY])
    other = on_machine(tmp_path / "b", f"file://{tmp_path}/far")
    assert unpack(other, parts) == ([], [KEY])
    again = pack(other, other.keys(), tmp_path / "again", 1)
    assert [part.read_bytes() for part in again] == [part.read_bytes() for part in parts]


def test_unfinished_uploads_are_cleaned_away(tmp_path: Path) -> None:
    store = store_at(f"file://{tmp_path}/far")
    write(store)
    left = tmp_path / "far" / "runs" / f"{KEY}.tar.0123456789ab.writing"
    left.write_text("half")
    assert store.keys() == [KEY] and not store.problems()
    assert store.clear_scratch() == [left.name] and objects(tmp_path / "far") == [f"{KEY}.tar"]


def test_the_command_line_looks_after_a_store_at_a_url(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "memory://far/store"
    given = ["--store", url]
    fsspec.filesystem("memory").store.clear()
    assert main(["store", "ls", *given]) == 2
    assert "there is no store at memory://far/store" in capsys.readouterr().err
    write(on_machine(tmp_path / "a", url))
    monkeypatch.setenv("HEEDFUL_STORE", url)
    assert main(["store", "ls", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [run["key"] for run in listed["runs"]] == [KEY] and listed["damaged"] == {}
    for verb in (["ls", "probe"], ["verify"], ["gc"], ["pack", "-o", str(tmp_path / "packs")]):
        assert main(["store", *verb]) == 0, verb
    assert main(["store", "export", KEY, "rows", "-o", str(tmp_path / "rows.csv")]) == 0
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 21
    shutil.rmtree(tmp_path / "cache")
    parts = [str(path) for path in (tmp_path / "packs").iterdir()]
    assert main(["store", "unpack", *parts, "--store", "memory://other"]) == 0
    assert store_at("memory://other").keys() == [KEY]
    assert not Path("memory:").exists()
