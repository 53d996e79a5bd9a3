"""`heedful doctor`: the answer first, what fixes it, exit code 2 for a core that is ill."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from heedful.cli import Package, bring, doctor, main, packages, state
from heedful.data import CORPORA, MissingData
from heedful.entries import Piece
from heedful.errors import HeedfulError
from heedful.store import Store
from verbs import run

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
FOR_USERS = re.search(r"\[(.*)\]", EXTRAS["all"][0])[1].split(",")  # type: ignore[index]
NEEDS = {"core": PROJECT["dependencies"], **{extra: EXTRAS[extra] for extra in FOR_USERS}}


@pytest.fixture
def few_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for all of them imports much, and is tried below."""
    found = {
        "planted": "ready, it is generated",
        "sst": "no data folder was given: get it from there.",
    }
    monkeypatch.setattr("heedful.cli.doctor._corpora", lambda data_dir: found)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """Versions that are not those of this machine; None is not installed at all."""
    others: dict[str, str | None] = {}
    real = metadata.version

    def version(name: str) -> str:
        found = others.get(name, real(name)) if name in others else real(name)
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(metadata, "version", version)
    return others


def test_every_need_is_declared_once_and_read_from_the_installation() -> None:
    """The same packages and ranges as pyproject.toml; what is for developers is left out."""
    wanted = {
        (extra, *re.split("(?=[<>=])", need, maxsplit=1))
        for extra, needs in NEEDS.items()
        for need in needs
    }
    found = {(each.extra, each.name, each.wants) for each in packages()}
    assert found == wanted, "what is installed is older than pyproject.toml: run make setup"


@pytest.mark.parametrize(
    ("wants", "version", "verdict"),
    [
        (">=2.6", "2.6", "ok"),
        (">=2.6", "2.13.0+cpu", "ok"),
        (">=2.6", "2.7rc1", "ok"),
        (">=2.6", "2.5.9", "too old"),
        (">=2.6", "2.6rc1", "too old"),
        (">=2.6,<3", "2.10", "ok"),
        (">=2.6,<3", "3.0", "too new"),
        (">=2.6,<3", "2.1", "too old"),
        ("==2.6.*", "2.7", "too new"),
        ("==2.6.*", "2.5", "too old"),
        ("~=2.6", "3.1", "too new"),
        ("", "0.1", "ok"),
        (">=2.6", None, "missing"),
    ],
)
def test_a_version_is_held_to_the_range(wants: str, version: str | None, verdict: str) -> None:
    assert state(SpecifierSet(wants), version) == verdict


def test_the_command_that_mends_names_no_more_than_it_must() -> None:
    found = [
        Package("core", "numpy", ">=2.0", "1.26", "too old"),
        Package("core", "scipy", ">=1.13", None, "missing"),
        Package("core", "pandas", ">=2.2", "2.3", "ok"),
        Package("hf", "sacrebleu", ">=2.4", None, "missing"),
    ]
    assert bring("core", found) == "pip install 'numpy>=2.0' 'scipy>=1.13'"
    assert bring("hf", found) == "pip install 'heedful[hf]'"
    assert bring("core", found[2:]) is None


def test_it_works_without_data_and_makes_no_store(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = run(capsys, "doctor", "--json", "--store", tmp_path / "none")
    found = json.loads(out)
    assert code == 0 and found["core"] is True
    assert found["corpora"]["planted"] == "ready, it is generated"
    assert "no data folder was given" in found["corpora"]["sst"]
    assert not (tmp_path / "none").exists()


def test_files_of_a_corpus_are_looked_for_and_not_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / "sst").mkdir(exist_ok=True)
        (tmp_path / "sst" / f"{split}.jsonl.gz").write_bytes(b"no gzip file")
    code, out, _ = run(capsys, "doctor", "--json", "--data-dir", tmp_path)
    found = json.loads(out)["corpora"]
    assert code == 0 and found["sst"] == "ready, its files are there"
    assert "imdb/train.jsonl.gz is missing" in found["imdb"]


@pytest.mark.parametrize("name", [each for each in CORPORA if each not in ("file", "parallel")])
def test_a_corpus_misses_the_same_file_when_looked_for_and_when_read(name: str) -> None:
    piece = CORPORA[name]
    assert (piece.find is not None) == ("data" in piece.needs)
    if piece.find is not None:
        with pytest.raises(MissingData) as when_read:
            piece.make(None)
        with pytest.raises(MissingData) as when_looked_for:
            piece.find(None)
        assert str(when_looked_for.value) == str(when_read.value)


def test_a_corpus_of_others_that_does_not_say_where_its_files_are_is_not_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = Piece("theirs", "Texts of others", make=pytest.fail, needs=("data",))
    monkeypatch.setitem(CORPORA.added, "theirs", theirs)
    found = json.loads(run(capsys, "doctor", "--json")[1])["corpora"]
    assert found["theirs"] == "unknown before it is read: heedful prepare theirs tries."


@pytest.mark.usefixtures("few_corpora")
def test_the_answer_comes_first_and_the_rest_is_short(
    capsys: pytest.CaptureFixture[str], installed: dict[str, str | None], tmp_path: Path
) -> None:
    installed.update(altair=None, uvicorn="0.1")
    code, out, _ = run(capsys, "doctor", "--store", tmp_path / "none")
    lines = out.splitlines()
    assert code == 0 and len(lines) <= 16
    assert lines[0].endswith("; not report, web: pip install 'heedful[report,web]'.")
    bounds = {each.name: each.wants for each in packages()}
    old = f"uvicorn 0.1 is too old ({bounds['uvicorn']}): pip install 'heedful[web]'"
    assert "report   altair is missing: pip install 'heedful[report]'" in lines
    assert f"web      {old}" in lines
    assert "corpora  1 ready: planted" in lines


@pytest.mark.usefixtures("few_corpora")
def test_the_long_sentences_are_there_when_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ["doctor", "--store", tmp_path / "none"]
    assert "get it from there" not in run(capsys, *given)[1]
    assert "get it from there" in run(capsys, *given, "--corpora")[1]
    every = run(capsys, *given, "--all")[1]
    assert "get it from there" in every
    assert all(f" {each.name} " in every for each in packages())


@pytest.mark.parametrize(("name", "version"), [("scipy", None), ("numpy", "1.26.4")])
def test_a_core_that_is_incomplete_is_exit_code_2(
    capsys: pytest.CaptureFixture[str],
    installed: dict[str, str | None],
    name: str,
    version: str | None,
) -> None:
    installed[name] = version
    code, out, _ = run(capsys, "doctor")
    need = next(each for each in packages() if each.name == name)
    assert code == 2
    assert "the core does NOT work" in out.splitlines()[0]
    assert f"pip install '{name}{need.wants}'." in out.splitlines()[0]


def test_a_torch_that_cannot_be_imported_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    code, out, _ = run(capsys, "doctor", "--json")
    found = json.loads(out)
    assert (code, found["core"], found["device"]) == (2, False, "unknown")
    assert "torch" in found["torch_problem"]
    code, out, _ = run(capsys, "doctor")
    assert code == 2 and "torch cannot be imported" in out.splitlines()[0]


@pytest.mark.usefixtures("few_corpora")
def test_a_damaged_run_is_seen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.writing("corpus", {"name": "none"}):
        pass
    assert "1 runs" in run(capsys, "doctor", "--store", tmp_path)[1]
    (key,) = store.keys()
    (tmp_path / "runs" / key / "run.json").write_text("{", encoding="utf-8")
    assert f"{key} damaged" in run(capsys, "doctor", "--store", tmp_path)[1]


def test_heedful_that_is_not_installed_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_OURSELVES", "heedful-that-nobody-has")
    with pytest.raises(HeedfulError, match=r"pip install --editable \."):
        packages()


def test_a_missing_package_sends_people_to_the_doctor(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        def fail(*given: object) -> None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        monkeypatch.setattr("heedful.cli.doctor.packages", fail)

    missing("scipy.stats")
    code, _, err = run(capsys, "doctor")
    assert code == 2 and "`heedful doctor`" in err and "scipy.stats" in err
    missing("heedful.nowhere")
    with pytest.raises(ModuleNotFoundError):
        main(["doctor"])
