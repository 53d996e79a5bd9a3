"""Stores with a forged or damaged run: its record, one of its files, or what lies beside them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from conformance.cases import QUICK, Place, Typed
from conformance.spoiling import TEXTS, as_json, spoilt, spoilt_bytes, value
from heedful.store import file_digest, run_key

STORE = ("--store", "store")


def record_case(random: Random, place: Place) -> Typed:
    if random.randrange(6) == 0:
        return _audit_folder(random, place)
    place.copy("store")
    runs = place.here / "store" / "runs"
    run = random.choice(sorted(runs.iterdir()))
    key = random.choice((_forged, _forged, _forged_file, _damaged))(random, run)
    return _verb(random, runs, key)


def _forged(random: Random, run: Path) -> str:
    """A record that says other things, named as its new facts want it: an attacker can count."""
    record = spoilt(random, json.loads((run / "run.json").read_bytes()), random.randint(1, 2))
    return _rename(run, record) if random.randrange(4) else _write(run, record)


def _forged_file(random: Random, run: Path) -> str:
    """Another file of the run is spoilt, and its new digest stands in the record."""
    record = json.loads((run / "run.json").read_bytes())
    name = random.choice(sorted(record["files"]))
    path = run / name
    if path.suffix == ".json":
        path.write_bytes(as_json(spoilt(random, json.loads(path.read_bytes()))))
    else:
        path.write_bytes(spoilt_bytes(random, path.read_bytes()))
    record["files"][name] = file_digest(path)
    return _write(run, record)


def _damaged(random: Random, run: Path) -> str:
    way = random.randrange(5)
    if way == 0:
        (run / "run.json").write_bytes(spoilt_bytes(random, (run / "run.json").read_bytes()))
    elif way == 1:
        random.choice(sorted(run.iterdir())).unlink()
    elif way == 2:
        (run / "extra.parquet").write_bytes(random.randbytes(40))
    elif way == 3:
        path = random.choice(sorted(run.iterdir()))
        path.unlink()
        path.symlink_to(random.choice(("../../nothing", path.name, "/etc/hostname", "..")))
    else:
        record = json.loads((run / "run.json").read_bytes())
        outside = random.choice(("/etc/hostname", "../../x", "a/../../x", *TEXTS[:6]))
        record["files"][outside] = "0" * 64
        return _write(run, record)
    return run.name


def _write(run: Path, record: Any) -> str:
    (run / "run.json").write_bytes(as_json(record))
    return run.name


def _rename(run: Path, record: Any) -> str:
    """With the name that its facts have; other runs that were made from it follow."""
    _write(run, record)
    try:
        key = run_key(record["kind"], record["facts"])
    except (TypeError, KeyError, ValueError, AttributeError, RecursionError):
        return run.name
    if "/" in key or len(key) > 200 or "\0" in key or key == run.name:
        return run.name
    run.rename(run.with_name(key))
    for other in sorted(run.parent.iterdir()):
        text = (other / "run.json").read_text() if (other / "run.json").is_file() else ""
        if run.name in text:
            _rename(other, json.loads(text.replace(run.name, key)))
    return key


def _verb(random: Random, runs: Path, key: str) -> Typed:
    keys = sorted(path.name for path in runs.iterdir())
    models = [each for each in keys if each.startswith("model-")]
    model = key if key.startswith("model-") else random.choice(models or [key])
    store = (
        ("cite", key), ("cite", *keys), ("report", key, "-o", "out"), ("store", "verify"),
        ("report", key, "-o", "out.html"), ("store", "ls"), ("store", "pack", "-o", "out"),
        ("store", "export", key, random.choice(("rows", "summary", "cells")), "-o", "out.csv"),
        ("audit", model, "--n", "3", *QUICK), ("audit", model, "good.csv", "--n", "3", *QUICK),
        ("explain", model, "good film"), ("check", model, "--n", "3", *QUICK),
        ("annotate", "new", model, "--n", "2", "-o", "out.db"),
        ("train", "--corpus", "planted", "--param", "n_train=60", "--param", "n_dev=20", "--param",
         "n_test=12", "--encoder", "average", "--hidden", "8", "--epochs", "1", "--threads", "1"),
        ("study", "jain2019", "--corpora", "planted", "--encoders", "average", "--epochs", "1",
         "--limit", "40", "--probes", "permutation", "-o", "out"),
        ("serve", model, "--port", "0"), ("doctor",), ("store", "gc", "--damaged"),
    )  # fmt: skip
    return (*random.choice(store), *STORE)


def _audit_folder(random: Random, place: Place) -> Typed:
    """A saved audit, with one of its files spoilt."""
    folder = place.copy("audit")
    path = random.choice(sorted(folder.iterdir()))
    if path.suffix == ".json" and random.randrange(4):
        path.write_bytes(as_json(spoilt(random, json.loads(path.read_bytes()), 2)))
    elif random.randrange(4):
        path.write_bytes(spoilt_bytes(random, path.read_bytes()))
    else:
        path.write_bytes(as_json(value(random)))
    return random.choice(
        (
            ("report", "audit", "-o", "out.html"),
            ("report", "audit", "-o", "out"),
            ("compare", "audit", str(place.shared / "audit")),
            ("cite", "audit"),
            ("check", str(place.shared / "bert"), "good.csv", *QUICK, "--baseline",
             "audit/verdict.json"),
        )
    )  # fmt: skip
