"""The live page, before anybody sees it."""

from __future__ import annotations

import socket

from bad_input.entry import Bad, World, bad, spoilt
from bad_input.models import filled, without

SERVE = ("serve", "SHARED/bert")
_HELD: list[socket.socket] = []


def port_in_use(world: World) -> None:
    """Held until the next one asks for it: ports are of the whole machine."""
    while _HELD:
        _HELD.pop().close()
    here = socket.socket()
    here.bind(("127.0.0.1", PORT))
    here.listen(1)
    _HELD.append(here)


PORT = 48731
IN_USE = str(PORT)
BAD: dict[str, Bad] = {
    "no model": bad("serve", names="MODEL", fix="--help"),
    "a model that is not there": bad("serve", "./none", names="none", fix="give a model's folder"),
    "a file": bad("serve", "SHARED/good.csv", names="good.csv", fix="give the folder"),
    "a model without a config": spoilt(
        "bert",
        without("config.json"),
        "serve",
        "bert",
        "--port",
        "0",
        names="bert",
        fix="save_pretrained",
    ),
    "a model without weights": spoilt(
        "bert",
        filled("model.safetensors", b""),
        "serve",
        "bert",
        "--port",
        "0",
        names="bert",
        fix="save_pretrained",
    ),
    "a second model that is not there": bad(
        *SERVE, "./none", "--port", "0", names="none", fix="give a model's folder"
    ),
    "three models": bad(*SERVE, "SHARED/bert", "SHARED/bert", names="argument", fix="--help"),
    "a run that is not there": bad(
        "serve",
        "model-0123456789abcdef",
        "--store",
        "SHARED/store",
        "--port",
        "0",
        names="model-0123",
        fix="store ls",
    ),
    "a run of another kind": bad(
        "serve",
        "CORPUS_KEY",
        "--store",
        "SHARED/store",
        "--port",
        "0",
        names="of kind corpus",
        fix="give a run of kind model",
    ),
    "a port in words": bad(*SERVE, "--port", "http", names="--port", fix="integer"),
    "a port below 0": bad(*SERVE, "--port", "-1", names="--port", fix="--help"),
    "a port too large": bad(*SERVE, "--port", "70000", names="--port", fix="--help"),
    "a port in use": Bad((*SERVE, "--port", IN_USE), IN_USE, "choose another --port", port_in_use),
    "a port in use, for annotators": Bad(
        ("annotate", "serve", "SHARED/rationale.db", "--port", IN_USE),
        IN_USE,
        "choose another --port",
        port_in_use,
    ),
    "a host that is not there": bad(
        *SERVE, "--host", "no.such.host.invalid", names="no.such", fix="--host"
    ),
    "a host of another machine": bad(
        *SERVE, "--host", "192.0.2.1", names="192.0.2.1", fix="--host"
    ),
    "an empty host": bad(*SERVE, "--host", "", "--port", "0", names="--host", fix="give"),
    "an empty token": bad(*SERVE, "--token", "", names="--token", fix="leave it out"),
    "a blank token": bad(*SERVE, "--token", "  ", names="--token", fix="leave it out"),
    "an unknown device": bad(*SERVE, "--device", "tpu", "--port", "0", names="'tpu'", fix="choose"),
    "an unknown precision": bad(
        *SERVE, "--dtype", "half", "--port", "0", names="'half'", fix="choose one of"
    ),
}
