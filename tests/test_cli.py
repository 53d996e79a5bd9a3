"""The command line: what it prints, and that bad input is one sentence and exit code 2."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pandas as pd
import pytest
import typer

from heedful.cli import app, names, seeds
from heedful.cli.app import VERBS
from heedful.errors import HeedfulError
from heedful.specs import ModelSpec
from heedful.store import Store
from heedful.studies import STUDIES
from heedful.studies.papers import ENTRIES
from heedful.studies.papers import JAIN2019 as STUDY
from heedful.verdict import PROPERTIES
from verbs import TINY, run

ROOT = Path(__file__).parent.parent


def test_list_describes_the_properties_of_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "property")
    assert code == 0 and all(
        f"  {name:<16} {each.question}" in out for name, each in PROPERTIES.items()
    )
    code, out, _ = run(capsys, "list", "importance")
    assert code == 0 and "--min-effect importance=0.67" in out
    assert "\nimportance_captured: " in out  # numbers whose names begin so are shown as well


def test_descriptions_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "corpus")
    names = [line for line in out.splitlines() if re.match("  [a-z]", line)]
    starts = {re.match(r"  \w+ +", line).end() for line in names}  # type: ignore[union-attr]
    assert code == 0 and "deception_occupation" in out and len(starts) == 1


def test_list_names_every_piece(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "--json")
    found = json.loads(out)
    assert (code, found["schema_version"]) == (0, 1)
    kinds = {"corpus", "encoder", "attention", "edit", "saliency", "metric", "probe", "study"}
    assert kinds <= {piece["kind"] for piece in found["pieces"]}
    for piece in found["pieces"]:
        assert piece["name"]
        assert piece["description"]
        assert piece["version"] >= 1
        assert "paper" in piece
    corpora = [piece for piece in found["pieces"] if piece["kind"] == "corpus"]
    assert all(piece["licence"] and piece["citation"] for piece in corpora if piece["needs"])


def test_every_name_is_the_pieces_own(capsys: pytest.CaptureFixture[str]) -> None:
    from heedful.cli import catalogues

    for catalogue in catalogues().values():
        for name in catalogue:
            assert catalogue[name].name == name


def test_prepare_says_what_it_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "prepare", "planted", "--store", tmp_path, *TINY, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["report"]["splits"]["train"]["examples"] == 60
    assert Store(tmp_path).open(found["run"]).kind == "corpus"


def test_train_on_a_users_own_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    rows = [{"review": f"a {w} film number {i}", "stars": w} for i in range(60) for w in "ab"]
    pd.DataFrame(rows).to_csv(tmp_path / "mine.csv", index=False)
    options = ["--text-column", "review", "--label-column", "stars", "--epochs", "2"]
    code, out, _ = run(
        capsys,
        *("train", "--corpus", tmp_path / "mine.csv", *options, "--hidden", "8"),
        *("--store", tmp_path / "store", "--json"),
    )
    found = json.loads(out)
    assert code == 0
    assert {score["measure"] for score in found["scores"]} >= {"f1", "accuracy", "roc_auc"}
    assert len(found["history"]) == 2


def test_a_study_of_nothing_says_why(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["--corpora", "planted", *TINY, "--encoders", "average", "--seeds", "1"]
    asked += ["--epochs", "1", "--probes", "translation", "--store", str(tmp_path / "store")]
    code, out, err = run(capsys, "study", "jain2019", *asked)
    assert (code, out) == (2, "")
    assert "(translation on planted) because it needs a corpus for generation: ask for" in err


def test_study_report_and_store(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("altair")
    common = ["--store", tmp_path / "store"]
    options = ["--corpora", "planted", "--encoders", "average", "--epochs", "1", "--limit", "40"]
    code, out, _ = run(capsys, "study", "jain2019", *options, *common, "--json")
    found = json.loads(out)
    assert code == 0
    assert len(found["summary"]) == 5
    assert found["measured"]
    code, out, _ = run(capsys, "report", found["run"], "-o", tmp_path / "out", *common)
    assert code == 0
    assert (tmp_path / "out" / "page.html").read_text(encoding="utf8").startswith("<!doctype html>")
    assert run(capsys, "store", "ls", *common)[0] == 0
    assert run(capsys, "store", "verify", *common)[0] == 0
    parts = tmp_path / "parts"
    assert run(capsys, "store", "pack", "-o", parts, "--what", "all", *common)[0] == 0
    code, out, _ = run(
        capsys, "store", "unpack", *parts.iterdir(), "--store", tmp_path / "other", "--json"
    )
    assert sorted(json.loads(out)["new"]) == Store(tmp_path / "store").keys()
    victim = next((tmp_path / "store" / "runs").glob("probe-*/rows.parquet"))
    victim.write_bytes(b"")
    assert run(capsys, "store", "verify", *common)[0] == 1
    assert run(capsys, "store", "gc", "--damaged", *common)[0] == 0
    assert run(capsys, "store", "verify", *common)[0] == 0


def test_a_table_is_exported_in_three_formats(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = pd.DataFrame({"example": ["a", "é, b"], "value": [0.1, math.nan]})
    place = ["--store", tmp_path / "store"]
    with Store(tmp_path / "store").writing("probe", {"piece": "x"}) as writer:
        writer.table("rows", table)
    (key,) = Store(tmp_path / "store").keys()
    readers = {
        "csv": pd.read_csv,
        "jsonl": lambda path: pd.read_json(path, lines=True),
        "parquet": pd.read_parquet,
    }
    for ending, read in readers.items():
        file = tmp_path / f"rows.{ending}"
        assert run(capsys, "store", "export", key, "rows", "-o", file, *place)[0] == 0
        pd.testing.assert_frame_equal(read(file), table, check_dtype=False)
    code, _, err = run(capsys, "store", "export", key, "rows", "-o", tmp_path / "rows.xls", *place)
    assert code == 2 and ".csv, .jsonl, .parquet" in err
    assert {path.name for path in tmp_path.iterdir()} == {"store", *(f"rows.{e}" for e in readers)}


def test_dry_run_costs_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = ["--corpora", "planted", "--encoders", "average", "--limit", "40", "--dry-run"]
    code, out, _ = run(capsys, "study", "jain2019", *options, "--store", tmp_path, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["seconds"] > 0
    assert not any(key.startswith(("model", "probe")) for key in Store(tmp_path).keys())


def test_a_dry_run_says_what_is_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    setting = replace(STUDY.settings[0], corpora=("sst", "planted"), models=(ModelSpec("average"),))
    piece = replace(STUDIES["jain2019"], make=lambda: replace(STUDY, settings=(setting,)))
    monkeypatch.setitem(ENTRIES, "jain2019", piece)
    given = ["study", "jain2019", "--dry-run", "--limit", "40", "--store", tmp_path]
    code, out, err = run(capsys, *given)
    assert code == 0 and "1 cells" in out
    assert "sst average-additive seed 0 is left out: no data folder was given" in err
    code, out, _ = run(capsys, *given, "--json")
    found = json.loads(out)
    assert code == 0 and [each["title"] for each in found["cells"]] == [
        "planted average-additive seed 0"
    ]
    assert list(found["left_out"]) == ["sst average-additive seed 0"]


BAD = {
    "no such verb": ["explode"],
    "no such option": ["list", "--colour"],
    "no such kind": ["list", "planets"],
    "no such corpus": ["prepare", "sstt"],
    "corpus without data": ["prepare", "sst"],
    "data dir missing": ["prepare", "sst", "--data-dir", "TMP/none"],
    "file missing": ["prepare", "TMP/none.csv"],
    "file of unknown kind": ["prepare", "TMP/file.xyz"],
    "empty file": ["prepare", "TMP/empty.csv"],
    "column missing": ["prepare", "TMP/good.csv", "--text-column", "review"],
    "label missing": ["prepare", "TMP/good.csv", "--label-column", "stars"],
    "one class": ["prepare", "TMP/one.csv"],
    "not utf8": ["prepare", "TMP/latin.csv"],
    "broken json": ["prepare", "TMP/broken.jsonl"],
    "broken parquet": ["prepare", "TMP/broken.parquet"],
    "limit of zero": ["prepare", "planted", "--limit", "0"],
    "parameter without value": ["prepare", "planted", "--param", "n_train"],
    "unknown parameter": ["prepare", "planted", "--param", "n_trian=5"],
    "impossible parameter": ["prepare", "planted", "--param", "n_train=-5"],
    "parameter of wrong type": ["prepare", "planted", "--param", "n_train=many"],
    "impossible tokenizer": ["prepare", "planted", "--param", "tokenizer=magic"],
    "vectors missing": ["prepare", "planted", "--param", "vectors=TMP/none.vec"],
    "vectors that are none": ["prepare", "planted", "--param", "vectors=TMP/rubbish.npz"],
    "nothing for a number": ["prepare", "planted", "--param", "n_train=none"],
    "a limit in words": ["prepare", "planted", "--param", "limit=abc"],
    "a fraction that is none": ["prepare", "planted", "--param", "dev_fraction=nan"],
    "no dimension": ["prepare", "planted", "--param", "dimension=0"],
    "too many dimensions": ["prepare", "planted", "--param", "dimension=100000000000"],
    "a parameter of ours": ["prepare", "planted", "--param", "params=1"],
    "columns of a named corpus": ["prepare", "planted", "--text-column", "zz"],
    "one column for both": ["prepare", "TMP/good.csv", "--label-column", "text"],
    "a path too long": ["prepare", "x" * 5000 + ".csv"],
    "no test split": ["train", "--corpus", "planted", "--param", "n_test=0"],
    "dev of one class": ["train", "--corpus", "planted", "--param", "n_dev=1"],
    "limit of one": ["train", "--corpus", "planted", "--limit", "1"],
    "infinite rate": ["train", "--corpus", "planted", "--learning-rate", "inf"],
    "infinite norm": ["train", "--corpus", "planted", "--clip", "inf"],
    "no patience": ["train", "--corpus", "planted", "--patience", "0"],
    "huge hidden size": ["train", "--corpus", "planted", "--hidden", "10000000000"],
    "huge seed": ["train", "--corpus", "planted", "--seed", "9" * 24],
    "too many threads": ["train", "--corpus", "planted", "--threads", "99999"],
    "study, too many seeds": ["study", "jain2019", "--corpora", "planted", "--seeds", "9" * 12],
    "study, a huge seed": ["study", "jain2019", "--corpora", "planted", "--seeds", f"0,{9**30}"],
    "study, report on a file": ["study", "jain2019", "--corpora", "planted", "-o", "TMP/good.csv"],
    "store alone": ["store"],
    "store is nothing": ["prepare", "planted", "--store", ""],
    "pack size": ["store", "pack", "--max-mb", "nan", "--store", "TMP/empty"],
    "corpus not given": ["train"],
    "unknown encoder": ["train", "--corpus", "planted", "--encoder", "gru9"],
    "unknown attention": ["train", "--corpus", "planted", "--attention", "magic"],
    "too many layers": ["train", "--corpus", "planted", "--layers", "9"],
    "unknown sizes": ["train", "--corpus", "planted", "--hidden-sizes", "huge"],
    "odd hidden size": ["train", "--corpus", "planted", "--hidden", "7"],
    "no epochs": ["train", "--corpus", "planted", "--epochs", "0"],
    "negative rate": ["train", "--corpus", "planted", "--learning-rate", "-1"],
    "unknown dev metric": ["train", "--corpus", "planted", "--select", "bleu"],
    "unknown device": ["train", "--corpus", "planted", "--device", "tpu"],
    "negative seed": ["train", "--corpus", "planted", "--seed", "-1"],
    "no threads": ["train", "--corpus", "planted", "--threads", "0"],
    "text for a number": ["train", "--corpus", "planted", "--epochs", "many"],
    "store is a file": ["train", "--corpus", "planted", "--store", "TMP/good.csv"],
    "unknown study": ["study", "jain2020"],
    "study, unknown corpus": ["study", "jain2019", "--corpora", "sts"],
    "study, unknown encoder": ["study", "jain2019", "--corpora", "planted", "--encoders", "x"],
    "study, empty name": ["study", "jain2019", "--corpora", "planted,,sst"],
    "study, twice the same": ["study", "jain2019", "--corpora", "planted,planted"],
    "study, seeds in words": ["study", "jain2019", "--corpora", "planted", "--seeds", "two"],
    "study, no seeds": ["study", "jain2019", "--corpora", "planted", "--seeds", "0"],
    "study, precision": ["study", "jain2019", "--corpora", "planted", "--precision", "half"],
    "study, batch size": ["study", "jain2019", "--corpora", "planted", "--batch-size", "0"],
    "report without runs": ["report"],
    "report of nothing": ["report", "study-0000"],
    "store missing": ["store", "ls", "--store", "TMP/none"],
    "verify nothing": ["store", "verify", "--store", "TMP/none"],
    "pack nothing": ["store", "pack", "--store", "TMP/empty"],
    "pack what": ["store", "pack", "--what", "everything", "--store", "TMP/empty"],
    "unpack nothing": ["store", "unpack", "TMP/none.000"],
    "unpack rubbish": ["store", "unpack", "TMP/good.csv"],
    "export nothing": ["store", "export", "probe-1", "rows", "-o", "TMP/x.csv"],
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.xyz").write_text("text,label\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "good.csv").write_text("text,label\ngood,1\nbad,0\n")
    (tmp_path / "one.csv").write_text("text,label\ngood,1\nfine,1\n")
    (tmp_path / "latin.csv").write_bytes("text,label\ncaf\xe9,1\nbad,0\n".encode("latin1"))
    (tmp_path / "broken.jsonl").write_text('{"text": "a", "label": 1}\n{"text": \n')
    (tmp_path / "rubbish.npz").write_bytes(b"PK and nothing more")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing more")
    return tmp_path


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD.keys())
def test_bad_input(
    arguments: list[str],
    files: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit code 2, one sentence on standard error, nothing on standard output, no run left."""
    monkeypatch.chdir(files)
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    code, out, err = run(capsys, *(argument.replace("TMP", str(files)) for argument in arguments))
    assert code == 2, err
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") <= 2  # a progress line may stand before it
    assert "Traceback" not in err
    assert not list(files.glob("**/model-*")) + list(files.glob("**/*.writing"))


def test_export(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = run(capsys, "prepare", "planted", "--store", tmp_path / "s", *TINY, "--json")
    key, store = json.loads(out)["run"], ["--store", tmp_path / "s"]
    assert run(capsys, "store", "export", key, "examples", "-o", tmp_path / "a.csv", *store)[0] == 0
    assert len(pd.read_csv(tmp_path / "a.csv")) == 92
    for table, target in (("zz", "a.csv"), ("examples", "a.txt"), ("examples", "none/a.csv")):
        code, _, err = run(capsys, "store", "export", key, table, "-o", tmp_path / target, *store)
        assert code == 2
        assert err.count("\n") == 1


def test_seeds_and_names() -> None:
    assert seeds("3") == [0, 1, 2]
    assert seeds("4,7") == [4, 7]
    assert names("a, b", "--x") == ["a", "b"]
    with pytest.raises(HeedfulError):
        seeds("1,-2")


BOUNDED = ("threads", "workers", "batch_size", "layers", "hidden", "exact_words")
"""Whole numbers that are refused where they are used, with a range of their own."""


def test_every_count_has_an_end() -> None:
    """A whole number that is typed is not passed on however large it is."""
    endless = []
    for verb, command in _commands(typer.main.get_command(app)):
        hints = get_type_hints(command.callback, include_extras=True)
        for name, hint in hints.items():
            kind, *more = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
            if int not in (kind, *get_args(kind)) or name in BOUNDED:
                continue
            if more[0].max is None:
                endless.append(f"{verb} {name}")
    assert not endless


def _commands(command: Any, verb: str = "") -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    for name, each in inner.items():
        yield from _commands(each, f"{verb} {name}")
    if not inner:
        yield verb, command


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version")[1].startswith("heedful ")
    code, out, _ = run(capsys)
    assert code == 0
    assert "study" in out


def test_what_data_says_a_terminal_does_not_obey(capsys: pytest.CaptureFixture[str]) -> None:
    from heedful.cli import say, show

    show("a\x1b[31mred\x07 \u200e naïve\tτ 猫")
    say("\x9b1m done")
    captured = capsys.readouterr()
    assert captured.out == "a\ufffd[31mred\ufffd \u200e naïve\tτ 猫\n"
    assert captured.err == "\ufffd1m done\n"


def test_every_verb_begins_its_help_with_its_line_in_the_list() -> None:
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        assert command.help.splitlines()[0] == VERBS[name][1]


def test_the_list_of_verbs_loads_none_of_them() -> None:
    look = (
        "import sys; from heedful.cli import main; main(['--help']); "
        "print(sorted(m for m in sys.modules if m.startswith('heedful.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    loaded = [f"heedful.cli.{name}" for name in ("app", "help", "main", "output")]
    assert done.stdout.splitlines()[-1] == str(loaded)


def test_the_command_line_starts_without_what_it_may_not_need() -> None:
    """`--help` must not wait for pandas."""
    heavy = ("torch", "pandas", "numpy", "pyarrow", "fsspec", "transformers", "ray")
    look = f"import sys, heedful.cli.app; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
