"""Nothing leaves this machine: no telemetry, no remote part of a page, servers on loopback."""

from __future__ import annotations

import inspect
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import heedful
from heedful import privacy
from heedful.cli import main
from heedful.cli.apps import serve, serve_study
from heedful.models.hf import folder
from no_network import NetworkUsed, no_network

pytest.importorskip("transformers")
pytest.importorskip("jinja2")

from tiny_tokenizers import saved

STATIC = [
    path
    for part in (
        *("assets", "report/static", "report/templates"),
        *("apps/live/static", "apps/annotation/static"),
    )
    for path in sorted((Path(heedful.__file__).parent / part).iterdir())
]
LOADING = {"src", "srcset", "poster", "data", "action", "formaction", "background", "manifest"}
IN_STYLES = re.compile(r"@import|url\(\s*['\"]?\s*(?:https?:)?//", re.IGNORECASE)
IN_SCRIPTS = re.compile(
    r"(?:fetch|import|importScripts|WebSocket|EventSource|sendBeacon|Worker)\s*\(?\s*"
    r"['\"`](?:https?:|wss?:)?//"
)


class Loads(HTMLParser):
    """Addresses elsewhere that a browser would load by itself; a link is only followed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            loads = name in LOADING or (name in ("href", "xlink:href") and tag != "a")
            if loads and re.match(r"\s*(?:[a-z]+:)?//", value or "", re.IGNORECASE):
                self.found.append(f"{tag} {name}={value}")


def loaded_from_elsewhere(text: str) -> list[str]:
    page = Loads()
    page.feed(text)
    return [*page.found, *IN_STYLES.findall(text), *IN_SCRIPTS.findall(text)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody said that the hub is offline: it must not be asked for all that."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HEEDFUL_DATA", "HEEDFUL_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    saved(tmp_path / "bert")
    rows = [
        {"text": "a good film" if n % 2 else "the plot is dull", "label": n % 2} for n in range(4)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "texts.csv", index=False)
    return tmp_path


def done(*arguments: object) -> None:
    assert main([str(each) for each in arguments]) == 0, arguments


def test_every_verb_does_without_a_network(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fast = ("--quick", "--explanations", "attention", "--only", "interventions")
    with no_network() as tried:
        done("audit", "bert", "texts.csv", *fast, "-o", "audited")
        done("explain", "bert", "a good film", "--explanations", "attention")
        done("check", "bert", "texts.csv", *fast, "--write-baseline", "verdict.json")
        small = ("--param", "n_train=40", "--param", "n_dev=20", "--param", "n_test=20")
        done("train", "--corpus", "planted", *small, "--epochs", 1, "--encoder", "average")
        capsys.readouterr()
        done("store", "ls", "--json")
        runs = [run["key"] for run in json.loads(capsys.readouterr().out)["runs"]]
        study = next(key for key in runs if key.startswith("study-"))
        done("report", study, "audited", "-o", "report")
        done("cite", study, "audited")
        done("list")
    assert tried == []
    pages = list(here.rglob("*.html"))
    assert {page.parent.name for page in pages} == {"audited", "report"}
    for page in pages:
        assert loaded_from_elsewhere(page.read_text(encoding="utf8")) == [], page


def test_the_watch_itself_sees_what_it_should() -> None:
    """Else the test above could not fail."""
    with no_network() as tried:
        with pytest.raises(NetworkUsed):
            socket.create_connection(("192.0.2.1", 80), 0.1)
        with pytest.raises(NetworkUsed):
            socket.getaddrinfo("huggingface.co", 443)
        with socket.socket() as one, pytest.raises(NetworkUsed):
            one.bind(("0.0.0.0", 0))
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
    assert len(tried) == 3
    with socket.socket() as one:  # nobody is watching any more
        one.bind(("0.0.0.0", 0))


@pytest.mark.parametrize("path", STATIC, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_pages_are_made_of_loads_nothing_from_elsewhere(path: Path) -> None:
    assert loaded_from_elsewhere(path.read_text(encoding="utf8")) == []


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//cdn.example/x.css">',
        '<img srcset="https://x.example/a.png 2x">',
        "<style>@import 'x.css'; a { background: url(https://x.example/i.png) }</style>",
        '<script>fetch("https://x.example/")</script>',
        '<form action="http://x.example/"></form>',
    ],
)
def test_a_remote_part_of_a_page_would_be_found(text: str) -> None:
    assert loaded_from_elsewhere(text)
    assert loaded_from_elsewhere('<a href="https://x.example/">a link is not loaded</a>') == []


def test_the_hub_is_asked_only_for_what_has_an_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def fetched(name: str) -> Path:
        asked.append(name)
        return here

    here = saved(tmp_path / "bert")
    monkeypatch.setattr(folder, "_fetched", fetched)
    assert folder.find_folder(str(here)).name == str(here) and asked == []
    assert folder.find_folder("somebody/some-model").name == "somebody/some-model"
    assert asked == ["somebody/some-model"]


def test_statistics_of_other_libraries_are_off_before_they_are_imported() -> None:
    """In a process of its own: here they are imported already."""
    free = {name: value for name, value in os.environ.items() if name not in privacy.QUIET}
    code = (
        "import heedful, sys; import os\n"
        "assert 'huggingface_hub' not in sys.modules and 'ray' not in sys.modules\n"
        "from huggingface_hub import constants\n"
        "print(constants.HF_HUB_DISABLE_TELEMETRY, os.environ['RAY_USAGE_STATS_ENABLED'])"
    )
    found = subprocess.run([sys.executable, "-c", code], env=free, capture_output=True, text=True)
    assert found.stdout.split() == ["True", "0"], found.stderr


def test_what_the_user_said_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in privacy.QUIET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "YES")
    privacy.keep_quiet()
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "YES"
    assert {name: os.environ[name] for name in privacy.QUIET if name.startswith("RAY")} == {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_USAGE_STATS_PROMPT_ENABLED": "0",
    }


def _hosts() -> Iterator[str]:
    for verb in (serve, serve_study):
        yield inspect.signature(verb).parameters["host"].default


def test_servers_listen_on_this_machine_unless_told_otherwise() -> None:
    assert set(_hosts()) == {"127.0.0.1"}
