"""`--term` and `--term-param`: what they make, and that wrong ones are one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heedful.cli import main, terms
from heedful.errors import HeedfulError
from heedful.specs import TermSpec
from heedful.store import Store

TINY = [
    *("train", "--corpus", "planted", "--epochs", "1", "--hidden", "8"),
    *("--param", "n_train=40", "--param", "n_dev=20", "--param", "n_test=12"),
]


def test_terms_as_typed() -> None:
    assert terms(None, None) == ()
    found = terms(["tying=10", "diversity"], ["tying.site=layer.0", "tying.size=3"])
    params = (("site", "layer.0"), ("size", 3))
    assert found == (TermSpec("tying", 10, params), TermSpec("diversity", 1))


@pytest.mark.parametrize(
    ("given", "params", "message"),
    [
        (["tying=much"], [], "write name=weight"),
        (["tying="], [], "write name=weight"),
        (["tying=1", "tying=2"], [], "twice"),
        (["tying"], ["tying=1"], "write name.key=value"),
        (["tying"], ["tying.site"], "write name.key=value"),
        (["tying"], ["mlm.share=1"], "there is no --term mlm"),
    ],
)
def test_wrong_terms_are_named(given: list[str], params: list[str], message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        terms(given, params)


def test_a_term_is_part_of_the_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = [*TINY, "--store", str(tmp_path), "--term", "diversity=0.5", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    facts = Store(tmp_path).open(found["run"]).facts
    assert facts["model"]["terms"] == [{"name": "diversity", "weight": 0.5, "params": []}]
    assert set(found["history"][0]) >= {"loss", "goal", "diversity0.5"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--term", "tieing=1"], "choose one of"),
        (["--term", "diversity=-1"], "not negative"),
        (["--term", "diversity=nan"], "not negative"),
        (["--term", "diversity=a lot"], "write name=weight"),
        (["--term", "diversity", "--term-param", "diversity.site=x"], "unknown parameter"),
        (["--term", "mlm", "--term-param", "mlm.share=half"], "give a value like 0.15"),
        (["--term", "mlm", "--term-param", "mlm.share=true"], "give a value like 0.15"),
    ],
)
def test_wrong_options_are_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], message: str
) -> None:
    assert main([*TINY, "--store", str(tmp_path), *options]) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1
    assert Store(tmp_path).keys() == []


def test_data_without_marks_are_refused_before_training(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The first cell of the study has no term, and is not trained either."""
    study = ["study", "pruthi2020", "--corpora", "planted", "--epochs", "1", "--limit", "40"]
    assert main([*study, "--store", str(tmp_path)]) == 2
    assert "marks none" in capsys.readouterr().err
    assert not [key for key in Store(tmp_path).keys() if key.startswith("model")]


@pytest.mark.parametrize("name", ["coherence", "supervised"])
def test_a_pretrained_model_takes_only_what_applies(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    pytest.importorskip("transformers")
    command = ["train", "--corpus", "planted", "--pretrained", str(tmp_path), "--term", name]
    assert main(command) == 2
    assert "choose one of diversity, impermissible, mlm, tying" in capsys.readouterr().err


def test_list_has_the_terms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "term"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("term:") and "diversity" in out and "tying" in out
