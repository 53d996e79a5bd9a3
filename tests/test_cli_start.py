"""Whoever asks for a list or for help, or mistypes a column, does not wait for torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from heedful.cli.app import VERBS

HEAVY = ("torch", "numpy", "pandas", "pyarrow", "scipy", "sklearn", "transformers", "ray", "altair")
LOOK = (
    "import sys; from heedful.cli import main; code = main(sys.argv[1:]); "
    f"print(code, *sorted(set({HEAVY}) & sys.modules.keys()), file=sys.stderr)"
)
LISTS = ([], ["--json"], ["lrp"], ["measure"], ["corpus", "sst", "--json"], ["sufficiency"])


def outcome(*arguments: str, folder: Path | None = None) -> list[str]:
    """What was said to people; then the exit code, and the heavy packages that were imported."""
    asked = [sys.executable, "-c", LOOK, *arguments]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=folder)
    return done.stderr.splitlines()


def loaded(*arguments: str) -> str:
    return outcome(*arguments)[-1]


@pytest.mark.parametrize("arguments", LISTS, ids=" ".join)
def test_what_there_is_is_listed_without_importing_it(arguments: list[str]) -> None:
    assert loaded("list", *arguments) == "0"


def test_an_unknown_name_is_refused_as_fast() -> None:
    assert loaded("list", "comprehensivness") == "2"


@pytest.mark.parametrize("verb", VERBS)
def test_help_needs_nothing_of_what_the_verb_needs(verb: str) -> None:
    assert loaded(verb, "--help") == "0"


REFUSED = {
    "audit bert mine.csv --text-column tpyo": "name one with text_column (--text-column).",
    "audit bert mine.csv --label-map 0=a": "name one with label_column (--label-column), or none",
    "check org/model mine.csv --id-column tpyo": "name one with id_column (--id-column).",
    "annotate new bert mine.csv --label-column none --cluster-column tpyo": "name one with cluster",
    "prepare mine.csv --label-column tpyo": "name one with label_column (--label-column)",
    "train --corpus mine.csv --text-column tpyo --label-column stars": "name one with text_column",
    "repair --corpus mine.csv --split-column tpyo --label-column stars": "name one with split_col",
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_mistyped_column_is_reported_before_torch_is_imported(line: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("text,stars\na good film,5\n")
    (tmp_path / "bert").mkdir()
    config = {"architectures": ["BertForSequenceClassification"]}
    (tmp_path / "bert" / "config.json").write_text(json.dumps(config))
    *_, told, end = outcome(*line.split(), folder=tmp_path)
    assert "mine.csv has no column " in told and "its columns are text, stars; " in told
    assert "did you mean" not in told
    assert REFUSED[line] in told
    assert end.split()[0] == "2" and "torch" not in end


def test_the_column_that_was_meant_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("review,stars\na good film,5\n")
    line = "prepare mine.csv --text-column reviw --label-column stars"
    *_, told, _ = outcome(*line.split(), folder=tmp_path)
    assert "has no column 'reviw' (did you mean 'review'?): its columns are review, stars" in told


def test_a_language_model_needs_no_column_of_labels(tmp_path: Path) -> None:
    """So its absence is not refused before the model is known."""
    (tmp_path / "mine.csv").write_text("text\na good film\n")
    *_, told, _ = outcome("audit", "nowhere", "mine.csv", folder=tmp_path)
    assert "nowhere" in told and "column" not in told
