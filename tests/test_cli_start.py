"""Whoever asks for a list or for help does not wait for torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from heedful.cli.app import VERBS

HEAVY = ("torch", "numpy", "pandas", "pyarrow", "scipy", "sklearn", "transformers", "ray", "altair")
LOOK = (
    "import sys; from heedful.cli import main; code = main(sys.argv[1:]); "
    f"print(code, *sorted(set({HEAVY}) & sys.modules.keys()), file=sys.stderr)"
)
LISTS = ([], ["--json"], ["lrp"], ["measure"], ["corpus", "sst", "--json"], ["sufficiency"])


def loaded(*arguments: str) -> str:
    """The exit code, and the heavy packages that were imported."""
    asked = [sys.executable, "-c", LOOK, *arguments]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", LISTS, ids=" ".join)
def test_what_there_is_is_listed_without_importing_it(arguments: list[str]) -> None:
    assert loaded("list", *arguments) == "0"


def test_an_unknown_name_is_refused_as_fast() -> None:
    assert loaded("list", "comprehensivness") == "2"


@pytest.mark.parametrize("verb", VERBS)
def test_help_needs_nothing_of_what_the_verb_needs(verb: str) -> None:
    assert loaded(verb, "--help") == "0"
