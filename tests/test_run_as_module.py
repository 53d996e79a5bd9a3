"""`python -m heedful`."""

from __future__ import annotations

import runpy
import sys

import pytest


def test_the_package_itself_can_be_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["heedful", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("heedful", run_name="__main__")
    assert not ended.value.code
    assert capsys.readouterr().out.startswith("heedful ")
