"""Connections that send nothing, little or too slowly: they end, and nobody else has to wait."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

pytest.importorskip("uvicorn", reason="servers need uvicorn (heedful[web])")
pytest.importorskip("starlette", reason="servers need starlette (heedful[web])")

from heedful.apps import bound, errors_once, most_connections, taken_at_once

SECONDS, MOST = 0.4, 8
SLACK = 5.0  # a machine may be busy
ASK = b"GET /%s HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
SERVER = """
import asyncio, resource, sys
from heedful.apps import server

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    more = True
    while more:
        more = (await receive()).get("more_body", False)
    await asyncio.sleep(1.2 if scope["path"] == "/slow" else 0)
    body = b"x" * 30_000_000 if scope["path"] == "/large" else b"here"
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})

server.SECONDS, files = float(sys.argv[1]), int(sys.argv[3])
server.MOST = int(sys.argv[2])
here = server.bound("127.0.0.1", 0)
print(here.getsockname()[1], flush=True)
if files:
    server.most_connections = lambda: server.MOST
    server.taken_at_once = lambda: 128
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
server.serve(app, here)
"""


@contextmanager
def served(most: int = MOST, files: int = 0) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A port, and the process behind it."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(SECONDS), str(most), str(files)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served() as (port, _):
        yield port


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), SLACK)


def answered(here: socket.socket, path: bytes | None = b"") -> bool:
    """Whether the whole answer comes; None where the question was asked before."""
    if path is not None:
        here.sendall(ASK % path)
    got = b""
    while not got.endswith(b"\r\n\r\nhere") and (part := here.recv(4096)):
        got += part
    return got.endswith(b"here")


def ends(here: socket.socket, sent: bytes = b"") -> float:
    """Seconds until the server closes; meanwhile a byte is sent now and then."""
    began, drops = time.monotonic(), [sent[i : i + 1] for i in range(len(sent))]
    here.settimeout(0.1)
    while time.monotonic() - began < SECONDS + SLACK:
        try:
            if drops:
                here.sendall(drops.pop(0))
            if not here.recv(4096):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("begun", "dropped"),
    [
        (b"", b""),
        (b"GET / HT", b""),
        (b"", b"GET / HTTP/1.1\r\nx: " + b"y" * 1000),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n", b"z" * 500),
    ],
    ids=["nothing", "half a line", "headers byte by byte", "a body byte by byte"],
)
def test_a_request_that_does_not_come_is_not_waited_for(
    port: int, begun: bytes, dropped: bytes
) -> None:
    with connected(port) as here:
        here.sendall(begun)
        assert SECONDS * 0.8 < ends(here, dropped) < SECONDS + SLACK / 2


def test_requests_in_time_are_answered_on_one_connection(port: int) -> None:
    """Each begins its own time, and one after another is no idleness."""
    with connected(port) as here:
        for _ in range(4):
            assert answered(here)
            time.sleep(SECONDS * 0.5)
        assert ends(here) < SECONDS + SLACK / 2  # and then nothing


def test_an_answer_may_take_longer_than_a_request(port: int) -> None:
    with connected(port) as here:
        assert answered(here, b"slow")


def test_an_answer_that_nobody_takes_is_given_up(port: int) -> None:
    with connected(port) as here:
        here.sendall(ASK % b"large")
        time.sleep(SLACK)
        got = 0
        with pytest.raises(ConnectionResetError):
            while part := here.recv(1 << 20):
                got += len(part)
            raise ConnectionResetError  # a close without a reset, but before the end
        assert got < 30_000_000


def test_idle_connections_make_room(port: int) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(port)) for _ in range(MOST * 5)]
        began = time.monotonic()
        with connected(port) as here:
            assert answered(here)
        assert time.monotonic() - began < SLACK
        assert sum(_open(each) for each in idle) <= MOST


def test_whoever_is_being_answered_is_never_put_out(port: int) -> None:
    with ExitStack() as stack:
        busy = [stack.enter_context(connected(port)) for _ in range(MOST)]
        for each in busy:
            each.sendall(ASK % b"slow")
        time.sleep(0.3)
        with connected(port) as late:
            assert ends(late) < SECONDS  # there is no room, and nobody to make some
        assert all(answered(each, None) for each in busy)


def _open(here: socket.socket) -> bool:
    here.settimeout(0.02)
    try:
        return here.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def test_no_file_left_is_said_once() -> None:
    """With a limit on connections that is set too high on purpose."""
    with served(most=10_000, files=40) as (port, process):
        with ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(connected(port))
            time.sleep(0.2)
        with connected(port) as here:
            assert answered(here)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1]
    assert said == "a connection was refused: Too many open files.\n"


def test_other_errors_of_the_loop_are_told_as_ever(caplog: pytest.LogCaptureFixture) -> None:
    loop, handle = asyncio.new_event_loop(), errors_once()
    try:
        for _ in range(3):
            handle(loop, {"exception": OSError(errno.EMFILE, "no file"), "message": "m"})
            handle(loop, {"exception": ValueError("ours"), "message": "told"})
    finally:
        loop.close()
    said = [record.message for record in caplog.records]
    assert sum("no file" in line for line in said) == 1
    assert sum("told" in line for line in said) == 3


def test_there_are_files_left_for_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {1024: (341, 128), 1 << 20: (400, 128), 60: (20, 7), 3: (10, 4), -1: (400, 128)}
    for files, limits in known.items():
        monkeypatch.setattr("resource.getrlimit", lambda _, files=files: (files, files))
        assert (most_connections(), taken_at_once()) == limits


def test_small_answers_are_sent_at_once() -> None:
    """Nagle's algorithm is off: with it every answer came 40 ms late."""

    async def scene() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def taken(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            here = writer.get_extra_info("socket")
            found.set_result(here.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with bound("127.0.0.1", 0) as here:
            async with await asyncio.start_server(taken, sock=here):
                _, writer = await asyncio.open_connection(*here.getsockname())
                value = await found
                writer.close()
        return value

    assert asyncio.run(scene())
