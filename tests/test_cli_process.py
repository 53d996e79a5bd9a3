"""`heedful` as a process: whatever its streams, limits and folder are like, no traceback."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from heedful.cli import main

app = import_module("heedful.cli.app")


HEEDFUL = f"{sys.executable} -m heedful"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def shell(line: str, cwd: Path | None = None, **more: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a line of bash."""
    done = subprocess.run(
        ["bash", "-c", line.replace("heedful", HEEDFUL)],
        cwd=cwd,
        env={**ENVIRONMENT, **more},
        capture_output=True,
        timeout=120,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def one_sentence(said: str, part: str) -> None:
    assert said.startswith("error: ") and said.endswith(".\n") and said.count("\n") == 1, said
    assert part in said


def test_a_terminal_that_knows_only_ascii() -> None:
    code, out, err = shell("heedful list lrp", PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "") and "\\u03b5" in out and out.isascii()  # an epsilon


def test_json_is_json_in_any_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for encoding in ("ascii", "latin-1", "utf-8"):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
        assert main(["list", "lrp", "--json"]) == 0
        found.append(written.getvalue())
    assert found[0] == found[1] and found[0].isascii() and not found[2].isascii()
    assert json.loads(found[0]) == json.loads(found[2])


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("heedful --version >&-", 2, "standard output is closed"),
        ("heedful --version > /dev/full", 2, "No space left"),
        ("heedful --version 1< /dev/null", 2, "Bad file descriptor"),
        ("ulimit -n 16; heedful --version", 2, "only 16 files"),
        ("mkdir gone; cd gone; rmdir ../gone; heedful --version", 2, "folder is gone"),
        ("heedful nonsense 2>&-", 2, ""),
        ("heedful nonsense 2> /dev/full", 2, ""),
        ("heedful --version <&- >&- 2>&-", 2, ""),
        ("heedful --version <&-", 0, ""),
        ("ulimit -S -n 16; heedful --version", 0, ""),
        ("TERM=dumb COLUMNS=0 LC_ALL=C heedful --help", 0, ""),
        ("env -u HOME -u PATH -u LANG -u TERM heedful --help", 0, ""),
    ],
)
def test_odd_surroundings(tmp_path: Path, line: str, code: int, said: str) -> None:
    found, out, err = shell(line, tmp_path)
    assert found == code, err
    assert (out == "") == (code != 0)
    if said:
        one_sentence(err, said)
    else:
        assert err == ""


def test_a_pipe_that_nobody_reads_is_left_quietly() -> None:
    code, _, err = shell("heedful --help | true; exit ${PIPESTATUS[0]}")
    assert (code, err) == (141, "")


SLOW = """
import sys, time
sys.stderr.write("importing\\n")
sys.stderr.flush()
try:
    time.sleep(60)
except BaseException:
    pass
raise AttributeError("half a module")
"""


def test_ctrl_c_in_the_middle_of_an_import(tmp_path: Path) -> None:
    """Of a library that hides it, as numpy does, and fails later."""
    (tmp_path / "typer.py").write_text(SLOW)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-m", "heedful", "list"],
        stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "PYTHONPATH": path},
        text=True,
    )
    with process:
        assert process.stderr is not None and process.stderr.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert said.strip().startswith("stopped: ") and said.strip().count("\n") == 0


ENDS = """
import atexit, sys, threading, time
import heedful.cli.main
atexit.register(lambda: print("tidied up", flush=True))
if sys.argv[1] == "busy":
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
main = sys.modules["heedful.cli.main"]
main.main = lambda: int(sys.argv[2])
main.run()
"""


@pytest.mark.parametrize("given", [("idle", 0), ("busy", 0), ("idle", 2), ("busy", 130)])
def test_what_is_to_be_tidied_up_is_however_it_ends(given: tuple[str, int]) -> None:
    command = [sys.executable, "-c", ENDS, *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (given[1], "tidied up\n", "")


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (MemoryError(), "not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 bytes"), "not enough memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate"), "not enough memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "not enough memory"),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (ImportError("libx.so: cannot map", name="torch._C"), "libx.so: cannot map"),
        (ModuleNotFoundError("no", name="jinja2"), "the package jinja2 is missing"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "Broken pipe"),  # of something else
    ],
)
def test_what_the_machine_lacks_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    part: str,
) -> None:
    monkeypatch.setattr(app, "perform", _raising(error))
    assert main(["list"]) == 2
    one_sentence(capsys.readouterr().err, part)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("shapes do not fit"),
        ImportError("cannot import name 'x'", name="heedful.store"),
        ModuleNotFoundError("no", name="heedful.nothing"),
        ZeroDivisionError(),
    ],
)
def test_our_own_mistakes_are_not_hidden(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(app, "perform", _raising(error))
    with pytest.raises(type(error)):
        main(["list"])


def _raising(error: Exception) -> Any:
    def perform(_: list[str]) -> int:
        raise error

    return perform


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["/proc/nowhere", "/dev/null/nothing"])
def test_folders_that_cannot_be_written(tmp_path: Path, folder: str) -> None:
    """None of them is needed for a training; a store is, and is one sentence."""
    odd = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "HEEDFUL_CACHE", "HF_HOME"), folder)
    train = "heedful train --corpus planted --epochs 1 --encoder average --hidden 8 --threads 1"
    train += " --param n_train=60 --param n_dev=20 --param n_test=12"
    code, _, err = shell(f"{train} --store here", tmp_path, **odd)
    assert code == 0 and "Traceback" not in err
    code, out, err = shell(f"cd /proc && {train} --store there", tmp_path, **odd)
    assert (code, out) == (2, "")
    one_sentence(err.splitlines(keepends=True)[-1], "there")
