"""The server: what it shows and hides, what it refuses, and that a kill loses no answer."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import httpx
from starlette.testclient import TestClient

from annotating import KEY, TEXTS, make_study
from heedful.apps.annotation import (
    LARGEST,
    PAGES,
    RATIONALE,
    RELEVANCE,
    STATIC,
    Study,
    application,
    links,
)
from heedful.cli import main

PEOPLE, ITEMS = 50, 30
JSON = {"content-type": "application/json"}
ALIVE = 20.0  # seconds a server may take to start


HERE = "http://127.0.0.1"


def client(study: Study, person: int = 0) -> TestClient:
    token = study.annotators()[person].token
    return TestClient(application(study), HERE, headers={"authorization": f"Bearer {token}"})


def body(item: int, value: object, before: object = None, request: str = "r") -> dict[str, Any]:
    return {"item": item, "value": value, "before": before, "request": request}


def test_an_annotator_walks_through_the_study(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    web, order = client(study), study.annotators()[0].places
    start = web.get("/api/study").json()
    assert (start["task"], start["answered"], start["total"], start["next"]) == (
        "relevance", 0, 4, 0
    )  # fmt: skip
    for place in range(4):
        item = web.get(f"/api/items/{place}").json()
        assert item["item"] == order[place] and item["value"] is None
        saved = web.post("/api/answers", json=body(item["item"], "yes", request=f"r{place}")).json()
        assert saved["saved"] and saved["answered"] == place + 1
        assert saved["next"] == (place + 1 if place < 3 else None)
    assert client(study).get("/api/study").json()["answered"] == 4  # resumed, on any device
    assert client(study, 1).get("/api/study").json()["answered"] == 0
    undone = web.post("/api/undo", json={"request": "u"}).json()
    assert (undone["undone"], undone["answered"], undone["next"]) == (3, 3, 3)


def test_annotators_are_told_nothing_that_unblinds(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    web = client(study)
    items = [web.get(f"/api/items/{place}").json() for place in range(4)]
    for item in items:
        assert set(item) == {"place", "item", "texts", "top", "class", "of", "value"}
        assert item["of"] == "prediction"
        assert item["class"] == study.items[item["item"]].prediction
    told = json.dumps([*items, web.get("/api/study").json()])
    assert "original" not in told and "permuted" not in told and "correct" not in told


def test_a_stale_tab_is_told_and_changes_nothing(tmp_path: Path) -> None:
    web = client(make_study(tmp_path / "s.db"))
    assert web.post("/api/answers", json=body(0, "yes", request="a")).status_code == 200
    stale = web.post("/api/answers", json=body(0, "no", request="b"))
    assert stale.status_code == 409 and stale.json()["value"] == "yes"
    assert web.post("/api/answers", json=body(0, "no", "yes", "c")).status_code == 200


def test_words_are_picked_for_the_label(tmp_path: Path) -> None:
    study = make_study(tmp_path / "r.db", RATIONALE)
    web = client(study)
    item = web.get("/api/items/0").json()
    assert item["of"] == "label" and item["top"] == []
    assert web.post("/api/answers", json=body(item["item"], [1, 0])).status_code == 200
    assert web.get("/api/items/0").json()["value"] == [0, 1]


def test_pages_run_nothing_but_their_own_script(tmp_path: Path) -> None:
    """Nothing of a text is in a page, and the page's policy allows no other source."""
    web = TestClient(application(make_study(tmp_path / "s.db")), HERE)
    kinds = {".html": "text/html", ".js": "javascript", ".css": "text/css"}
    files = {f"/static/{file.name}": file.name for file in STATIC.iterdir()}
    assert len(files) == 7
    for path, name in {**PAGES, **files}.items():
        got = web.get(path)
        kind = got.headers["content-type"]
        assert got.status_code == 200 and kinds[Path(name).suffix] in kind
        policy = got.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'" in policy and "unsafe" not in policy
        assert not any(text in got.text for text in TEXTS)
        assert "http://" not in got.text and "https://" not in got.text
        if kind.startswith("text/html"):
            assert "style=" not in got.text and "<script>" not in got.text
        if "javascript" in kind:
            assert "innerHTML" not in got.text and "insertAdjacentHTML" not in got.text
    assert web.get("/docs").status_code == 404


@pytest.mark.parametrize(
    ("status", "path", "send"),
    [
        (
            400,
            "/api/answers",
            {"content": b"{no json", "headers": JSON},
        ),
        (413, "/api/answers", {"content": b" " * (LARGEST + 1)}),
        (422, "/api/answers", {"content": b"[]"}),
        (422, "/api/answers", {"json": {"item": 0, "value": "yes"}}),
        (422, "/api/answers", {"json": body(0, "perhaps")}),
        (422, "/api/answers", {"json": body(0, "yes", request="")}),
        (422, "/api/answers", {"json": {**body(0, "yes"), "item": "0"}}),
        (404, "/api/answers", {"json": body(99, "yes")}),
        (404, "/api/answers", {"json": body(10**30, "yes")}),
        (422, "/api/answers", {"content": json.dumps(body(0, "\ud83d")), "headers": JSON}),
        (422, "/api/answers", {"content": json.dumps({"\ud83d": 1}), "headers": JSON}),
        (422, "/api/answers", {"json": body(0, [10**30])}),
        (404, "/api/nothing", {"json": {}}),
        (405, "/api/study", {"json": {}}),
    ],
)
def test_bad_requests_get_a_sentence(
    tmp_path: Path, status: int, path: str, send: dict[str, Any]
) -> None:
    study = make_study(tmp_path / "s.db")
    got = client(study).post(path, **send)
    assert got.status_code == status, got.text
    said = got.json()["error"]
    assert said.endswith(".") and "\n" not in said and "Traceback" not in said
    assert study.changes() == 0


def test_strangers_and_unknown_places_are_refused(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    web = client(study)
    assert web.get("/api/items/4").status_code == web.get("/api/items/-1").status_code == 404
    assert web.get("/api/items/x").status_code == 422
    stranger = TestClient(application(study), HERE)
    for path in ("/api/study", "/api/items/0", "/api/results"):
        got = stranger.get(path)
        assert got.status_code == 401 and got.json()["error"].endswith(".")
    assert web.get("/api/results").status_code == 401  # an annotator's link opens no results


def test_results_are_live(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    web = client(study)
    owner = TestClient(application(study), HERE, headers={"authorization": f"Bearer {KEY}"})
    assert owner.get("/api/results").json()["progress"][0]["answered"] == 0
    web.post("/api/answers", json=body(0, "yes"))
    found = owner.get("/api/results").json()
    assert found["progress"][0]["answered"] == 1
    assert found["figure5"][0]["percent"] == 100 and found["same_corpus"] is True


def test_another_sites_name_is_refused(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    assert TestClient(application(study), "http://evil.example").get("/").status_code == 421
    assert TestClient(application(study, None), "http://our.host").get("/").status_code == 200


def test_links_open_the_pages(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    found = links(study, "http://127.0.0.1:9/")
    assert found["results"] == f"http://127.0.0.1:9/results?key={KEY}"
    assert found["annotator 2"].endswith(study.annotators()[1].token)


def test_a_taken_port_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study(tmp_path / "s.db")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["annotate", "serve", str(study.path), "--port", port]) == 2
    assert "--port" in capsys.readouterr().err


# --- killed in the middle ------------------------------------------------------------------


@contextmanager
def server(path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A real process, and its address."""
    command = [sys.executable, "-m", "heedful.cli.main", "annotate", "serve", str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1].partition("/?")[0]
        _wait_for(address)
        yield process, address
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _wait_for(address: str) -> None:
    end = time.monotonic() + ALIVE
    while time.monotonic() < end:
        try:
            httpx.get(f"{address}/")
            return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the server did not start")


class Person(threading.Thread):
    """Answers one item after another, and remembers what was acknowledged. Some answer in two
    tabs: the same items twice, at the same time."""

    def __init__(self, address: str, token: str, number: int, tab: str) -> None:
        super().__init__()
        self.address, self.token, self.number, self.tab = address, token, number, tab
        self.acknowledged: dict[int, str] = {}

    def run(self) -> None:
        headers = {"authorization": f"Bearer {self.token}"}
        try:
            with httpx.Client(
                base_url=self.address, headers=headers, timeout=30, verify=False
            ) as web:
                for item in range(ITEMS):
                    sent = body(item, self.value(item), request=f"{self.tab}-{item}")
                    got = web.post(f"{self.address}/api/answers", json=sent)
                    if got.status_code == 200:
                        self.acknowledged[item] = self.value(item)
        except httpx.TransportError:
            pass  # killed: what was not acknowledged may be asked again

    def value(self, item: int) -> str:
        return ("yes", "no", "unsure")[(self.number + item) % 3]


def answering(study: Study, address: str) -> list[Person]:
    people = [
        Person(address, each.token, number, tab)
        for number, each in enumerate(study.annotators())
        for tab in (("a", "b") if number < 5 else ("a",))
    ]
    for person in people:
        person.start()
    return people


def check_kept(study: Study, people: list[Person]) -> int:
    """Every acknowledged answer is there as it was given."""
    kept, names = study.everybody(), [each.name for each in study.annotators()]
    for person in people:
        mine = kept.get(names[person.number], {})
        for item, value in person.acknowledged.items():
            assert mine.get(item) == value
    return sum(len(person.acknowledged) for person in people)


def test_fifty_annotators_at_once_lose_nothing_when_the_server_is_killed(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db", RELEVANCE, PEOPLE, ITEMS)
    with server(study.path) as (process, address):
        people = answering(study, address)
        while sum(len(person.acknowledged) for person in people) < 300:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        for person in people:
            person.join()
    before = check_kept(study, people)
    assert 300 <= before < (PEOPLE + 5) * ITEMS  # in the middle
    with server(study.path) as (_, address):
        again = answering(study, address)  # the same answers, under the same names
        for person in again:
            person.join()
    assert check_kept(study, again) == (PEOPLE + 5) * ITEMS
    assert study.changes() == PEOPLE * ITEMS  # none twice, in the history neither
