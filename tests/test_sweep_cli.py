"""`heedful sweep` and the engines of `heedful study`: what they print, and what they refuse."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heedful.cli import Tally, main, read
from heedful.runner import Event, Job
from heedful.store import Store
from sweeping import needs_ray, results
from verbs import run

GRID = """\
precision: float32
studies:
  - study: jain2019
    corpora: [planted]
    encoders: [average]
    attention: [additive]
    seeds: 2
    epochs: 1
    probes: [reachability]
    params: {n_train: 60, n_dev: 20, n_test: 12}
"""
KINDS = ("yaml", "python")
STUDY = ["--corpora", "planted", "--encoders", "average", "--epochs", "1", "--seeds", "2"]
STUDY += ["--probes", "reachability", "--attention", "additive"]
STUDY += [f"--param={each}" for each in ("n_train=60", "n_dev=20", "n_test=12")]


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "grid.yaml"
    path.write_text(GRID, encoding="utf8")
    return path


def test_a_dry_run_prints_the_plan(
    capsys: pytest.CaptureFixture[str], grid: Path, tmp_path: Path
) -> None:
    given = ["sweep", grid, "--store", tmp_path / "store", "--device", "cpu", "--dry-run"]
    code, out, _ = run(capsys, *given, "--workers", 2)
    assert code == 0
    assert "planted average-additive seed 1, probes  needs model-" in out
    assert out.splitlines()[-1].startswith("5 jobs, 1 of them done: about ")
    code, out, _ = run(capsys, *given, "--json")
    found = json.loads(out)
    assert (code, found["verb"], found["dry_run"]) == (0, "sweep", True)
    kinds = [job["kind"] for job in found["jobs"]]
    assert kinds == ["corpus", "model", "probes", "model", "probes"]
    assert all(job["cost"] > 0 for job in found["jobs"] if not job["done"])
    assert found["seconds"] == pytest.approx(sum(job["cost"] for job in found["jobs"]))
    assert [key.partition("-")[0] for key in Store(tmp_path / "store").keys()] == ["corpus"]


@pytest.mark.slow
def test_what_is_typed_beats_the_file_and_the_file_the_environment(
    capsys: pytest.CaptureFixture[str],
    grid: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HEEDFUL_STORE", str(tmp_path / "environment"))
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "nowhere"))
    sweep = ["sweep", grid, "--device", "cpu", "--dry-run"]
    assert run(capsys, *sweep)[0] == 2  # the environment's data folder is not there
    grid.write_text(f"store: {tmp_path / 'file'}\ndata_dir: {tmp_path / 'ours'}\n{GRID}")
    assert run(capsys, *sweep)[0] == 0
    assert Store(tmp_path / "file").keys() and not (tmp_path / "environment").exists()
    typed = ["--store", tmp_path / "typed", "--data-dir", tmp_path / "theirs"]
    assert run(capsys, *sweep, *typed)[0] == 0
    assert Store(tmp_path / "typed").keys()
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "ours"))
    grid.write_text(GRID)
    assert run(capsys, *sweep)[0] == 0
    assert Store(tmp_path / "environment").keys()


def test_two_sweeps_over_one_store(grid: Path, tmp_path: Path) -> None:
    """Started together they end whole, with what a study in one process has."""
    store, alone = tmp_path / "store", tmp_path / "alone"
    command = [sys.executable, "-m", "heedful.cli.main", "sweep", str(grid), "--device", "cpu"]
    options = ["--store", str(store), "--workers", "1", "--threads", "1"]
    both = [
        subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in both:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()
    assert Store(store).damaged() == {}
    given = ["study", "jain2019", *STUDY, "--store", str(alone), "--threads", "1", "--device=cpu"]
    assert main(given) == 0
    assert results(store) == results(alone)
    assert Store(store).keys() == Store(alone).keys()


def test_shards_of_a_study_and_a_second_start(
    capsys: pytest.CaptureFixture[str], grid: Path, tmp_path: Path
) -> None:
    common = ["--store", tmp_path / "store", "--device", "cpu", "--threads", "1"]
    for part in ("1/2", "2/2"):
        code, out, err = run(capsys, "study", "jain2019", *STUDY, *common, "--shard", part)
        assert (code, out) == (0, "")
        assert f"shard {part} is done: the same command without --shard lists all" in err
    store = Store(tmp_path / "store")
    kinds = [key.partition("-")[0] for key in store.keys()]
    assert (kinds.count("model"), kinds.count("probe"), kinds.count("study")) == (2, 2, 0)
    code, out, err = run(capsys, "sweep", grid, *common, "--json")
    found = json.loads(out)
    assert (code, found["performed"], found["failures"]) == (0, 0, [])
    assert "all 5 jobs are done already" in err
    assert len(store.open(found["studies"][0]["run"]).table("cells")) == 2


def test_the_examples_of_the_guide_are_valid(tmp_path: Path) -> None:
    guide = (Path(__file__).parent.parent / "docs" / "scale.md").read_text(encoding="utf8")
    grid, program = (guide.partition(f"```{kind}\n")[2].partition("```")[0] for kind in KINDS)
    (tmp_path / "grid.yaml").write_text(grid, encoding="utf8")
    file = read(tmp_path / "grid.yaml")
    assert [entry.values["study"] for entry in file.entries] == ["jain2019", "tutek2020"]
    assert file.entries[0].values["seeds"] == [0, 1] and file.entries[1].values["seeds"] == [0, 7]
    compile(program, "scale.md", "exec")
    assert "submitit" in program


BAD = {
    "unknown encoder": ("[average]", "[averag]", 5, "unknown encoder 'averag' (did you mean 'aver"),
    "unknown wrapper": ("[average]", "[average+x]", 5, "unknown wrapper 'x': choose one of concat"),
    "unknown study": ("jain2019", "jain2018", 3, "unknown study 'jain2018' (did you mean"),
    "unknown corpus": ("[planted]", "[plante]", 4, "unknown corpus 'plante' (did you mean"),
    "unknown probe": ("[reachability]", "[qqq]", 9, "unknown probe 'qqq': choose one of"),
    "unknown attention": ("[additive]", "additiv", 6, "unknown attention 'additiv' (did you"),
    "unknown key": ("    epochs", "    epoch", 8, "unknown key 'epoch' (did you mean 'epochs'?"),
    "unknown setting": ("precision", "prec", 1, "unknown setting 'prec' (did you mean 'preci"),
    "wrong type": ("seeds: 2", "seeds: two", 7, "give a whole number here"),
    "a flag for a number": ("epochs: 1", "epochs: true", 8, "give a whole number here"),
    "no epochs": ("epochs: 1", "epochs: 0", 8, "0 does not do: give a number from 1"),
    "a seed twice": ("seeds: 2", "seeds: [1, 1]", 7, "the seed 1 is there twice"),
    "a key twice": ("    epochs: 1\n", "    seeds: 1\n", 8, "`seeds` is there twice"),
    "an empty list": ("[average]", "[]", 5, "`encoders` must be a list that is not empty"),
    "no study": ("study: jain2019\n    ", "", 3, "no `study` is named"),
    "unknown parameter": ("n_dev", "n_def", 10, "unknown parameter of corpus planted 'n_def'"),
    "params no mapping": ("{n_train: 60, n_dev: 20, n_test: 12}", "5", 10, "write `params"),
    "not YAML": ("[planted]", "[planted", 5, "this is not YAML"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_grids_name_the_line(
    capsys: pytest.CaptureFixture[str], grid: Path, tmp_path: Path, case: str
) -> None:
    old, new, line, said = BAD[case]
    assert old in GRID
    grid.write_text(GRID.replace(old, new), encoding="utf8")
    code, out, err = run(capsys, "sweep", grid, "--store", tmp_path / "store", "--dry-run")
    assert (code, out) == (2, "")
    assert f"error: grid.yaml, line {line}: " in err and said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "grid.yaml, line 1: the file is empty"),
        (b"# nothing\n", "the file is empty"),
        (b"- a\n- b\n", "line 1: write `name: value` lines here"),
        (b"store: x\n", "line 1: there are no `studies`"),
        (b"studies: []\n", "line 1: `studies` must be a list that is not empty"),
        (b"studies: [a]\n", "line 1: write `name: value` lines here"),
        (b"\xff\xfe\x00", "grid.yaml is not UTF-8 text"),
        (b"a: \x00b\n", "grid.yaml is not YAML"),
        (b"studies: &a [*a]\n", "line 1: "),
    ],
)
def test_what_is_no_grid_is_refused(
    capsys: pytest.CaptureFixture[str], grid: Path, tmp_path: Path, text: bytes, said: str
) -> None:
    grid.write_bytes(text)
    code, _, err = run(capsys, "sweep", grid, "--store", tmp_path / "store")
    assert code == 2 and said in err and err.count("\n") == 1
    code, _, err = run(capsys, "sweep", tmp_path / "none.yaml", "--store", tmp_path / "store")
    assert code == 2 and "none.yaml" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "dask"], "unknown engine 'dask'"),
        (["--workers", "0", "--engine", "local"], "--workers is 0"),
        (["--workers", "2"], "--workers needs an engine"),
        (["--address", "auto"], "add --engine ray"),
        (["--gpu-fraction", "2", "--engine", "local"], "--gpu-fraction is 2"),
        (["--gpu-fraction", "0.5", "--engine", "local", "--device", "cpu"], "none would be used"),
        (["--shard", "3/2"], "write i/n"),
    ],
)
def test_impossible_engines_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], said: str
) -> None:
    code, _, err = run(capsys, "study", "jain2019", *STUDY, "--store", tmp_path, *options)
    assert code == 2 and said in err


@needs_ray
def test_a_cluster_that_is_not_there(
    capsys: pytest.CaptureFixture[str], grid: Path, tmp_path: Path
) -> None:
    given = ["sweep", grid, "--store", tmp_path, "--engine", "ray", "--address"]
    started = time.monotonic()
    for address, said in [("127.0.0.1:1", "no Ray cluster answers"), ("x", "write host:port")]:
        code, _, err = run(capsys, *given, address)
        assert code == 2 and said in err and err.count("\n") == 1
    assert time.monotonic() - started < 15


@pytest.mark.slow
@needs_ray
def test_something_else_at_the_address(
    capsys: pytest.CaptureFixture[str], grid: Path, tmp_path: Path
) -> None:
    """It takes connections and never answers: Ray alone would wait for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        started = time.monotonic()
        code, _, err = run(
            capsys, "sweep", grid, "--store", tmp_path, "--engine", "ray", "--address", address
        )
    assert code == 2 and "no Ray cluster answers" in err
    assert time.monotonic() - started < 20


def test_lines_and_totals_of_a_sweep() -> None:
    tally, job = Tally(2), Job("model", "model-1", "planted cnn seed 0")
    assert tally.line(Event("started", job, "w:1")) == "[0/2] started: planted cnn seed 0 (w:1)"
    died = Event("retried", job, "w:1", reason="its worker was killed (signal 9)")
    assert tally.line(died).endswith("seed 0: its worker was killed (signal 9) (w:1)")
    tally.line(Event("started", job, "w:2"))
    assert tally.line(Event("finished", job, "w:2", 4.2)).startswith("[1/2] finished")
    assert tally.totals.startswith("1 of 2 ended, 0 running, 1 retried")
