"""Tables fit any terminal, and what is piped stays plain."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from heedful.cli.tables import Table, drawn, without_repetition, wrapped

LONG = "no, do not show attention: it does not mark the words that matter (importance 0.19)"
ROWS = (
    ("use", "SUPPORTED", "0.43", "does the output move when the weights do?"),
    ("importance", "NOT SUPPORTED", "0.19", LONG),
    ("baseline", "INCONCLUSIVE", "0.02", ""),
)
TABLE = Table(("property", "decision", "estimate", "why"), ROWS, "verdict", ("estimate",))
WIDTHS = [20, 40, 60, 80, 120, 160]
ESCAPE = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_is_broken_and_nothing_is_lost(width: int) -> None:
    lines = drawn(TABLE, width, colours=False).splitlines()
    assert max(map(len, lines)) <= width
    words = {word for row in ROWS for cell in row for word in cell.split()}
    assert words <= set(" ".join(lines).split())


@pytest.mark.parametrize("width", WIDTHS)
def test_wide_characters_count_twice(width: int) -> None:
    from rich.cells import cell_len

    table = Table(("text", "score"), [("非常に良い映画 です", "0.5"), ("bad", "0.1")])
    assert max(map(cell_len, drawn(table, width, colours=False).splitlines())) <= width


def test_decisions_have_their_colours() -> None:
    text = drawn(TABLE, 120, colours=True)
    assert re.search("\x1b\\[32mSUPPORTED", text)
    assert re.search("\x1b\\[31mNOT SUPPORTED", text)
    assert re.search("\x1b\\[33mINCONCLUSIVE", text)
    assert "\x1b" not in drawn(TABLE, 120, colours=False)


def test_cells_are_no_markup_and_obey_nobody() -> None:
    text = drawn(Table(("name",), [("[red]x[/red]\x1b[2J",)], "[bold]t\x1b"), 80, colours=True)
    assert "[red]x[/red]\ufffd[2J" in ESCAPE.sub("", text) and "\x1b[2J" not in text


@pytest.mark.parametrize("width", WIDTHS)
def test_prose_is_broken_between_words(width: int) -> None:
    lines = wrapped(f"  limits:        {LONG}", width)
    assert max(map(len, lines)) <= width and all(line.startswith("  ") for line in lines)
    assert " ".join(lines).split() == ["limits:", *LONG.split()]


def on_a_terminal(width: int, *arguments: str, **more: str) -> str:
    """What a terminal of this width is sent."""
    here, there = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(width), "TERM": "xterm", **more}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-m", "heedful", *arguments]
    with subprocess.Popen(command, stdout=there, stderr=there, env=environment) as process:
        os.close(there)
        parts = []
        while True:
            try:
                part = os.read(here, 65536)
            except OSError:  # Linux: everybody has closed the other end
                break
            if not part:
                break
            parts.append(part)
    os.close(here)
    assert process.returncode == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_list_fits_the_terminal_and_ends_with_the_next_step(width: int) -> None:
    *lines, last = ESCAPE.sub("", on_a_terminal(width, "list", "metric")).splitlines()
    assert max(map(len, lines)) <= width
    assert last.startswith("Next: `heedful list NAME`")


def test_no_color_is_respected() -> None:
    assert "\x1b" in on_a_terminal(80, "list", "metric")
    assert "\x1b" not in on_a_terminal(80, "list", "metric", NO_COLOR="1")


def test_what_is_piped_is_plain_however_wide_the_terminal(tmp_path: Path) -> None:
    def piped(columns: str) -> tuple[str, str]:
        environment = {**os.environ, "COLUMNS": columns, "FORCE_COLOR": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        command = [sys.executable, "-m", "heedful", "list", "metric"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return done.stdout, done.stderr

    out, err = piped("40")
    assert (out, err) == piped("160") and err == "" and "\x1b" not in out
    assert out.startswith("metric:\n  tvd              total variation distance of two output")


def test_what_every_row_says_is_said_once() -> None:
    rows = [("1", "sst", "", "f1"), ("2", "sst", "", "auc")]
    table, shared = without_repetition(Table(("row", "corpus", "note", "metric"), rows, "t"))
    assert table == Table(["row", "metric"], [("1", "f1"), ("2", "auc")], "t")
    assert shared == ["In every row: corpus sst."]
    alone = Table(("row",), [("1",)])
    assert without_repetition(alone) == (alone, [])


def test_plain_tables_have_columns() -> None:
    plain = list(Table(("a", "n"), [("x", "1.00"), ("long", "10.00")], numbers=("n",)).lines())
    assert plain == ["a         n", "x      1.00", "long  10.00"]
