"""Commands of the command line, run in this process."""

from __future__ import annotations

import pytest

from heedful.cli import main

TINY = ["--param", "n_train=60", "--param", "n_dev=20", "--param", "n_test=12"]
"""Sizes of a generated corpus."""


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """The exit code, and what was written to standard output and standard error."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err
