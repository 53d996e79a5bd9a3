"""Stores that are damaged, newer, elsewhere or no stores at all; packs."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bad_input.entry import Bad, World, bad, of_file, spoilt
from heedful.store import run_key

HERE = "--store store"
GC = "heedful store gc --damaged"


def run_of(store: Path, kind: str) -> Path:
    return min((store / "runs").glob(f"{kind}-*"))


def record(kind: str, **changes: Any) -> Callable[[Path], object]:
    def spoil(store: Path) -> None:
        path = run_of(store, kind) / "run.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return spoil


def rewritten(kind: str, change: Callable[[dict[str, Any]], object], command: str) -> Bad:
    """A model, or the corpus it names, whose facts no version writes: whole, and its key is the
    hash of its facts. `CHANGED` in a command line is the model."""

    def prepare(world: World) -> dict[str, str]:
        store = world.copy("store")
        model = run_of(store, "model")
        if kind == "model":
            return {"CHANGED": rewrite(model, change)}
        corpus = json.loads((model / "run.json").read_text())["facts"]["upstream"]["corpus"]
        other = rewrite(store / "runs" / corpus, change)
        return {"CHANGED": rewrite(model, lambda facts: facts["upstream"].update(corpus=other))}

    return Bad(f"{command} {HERE}", "its facts", "make it again with this version", prepare)


def rewrite(run: Path, change: Callable[[dict[str, Any]], object]) -> str:
    """The new key."""
    record = json.loads((run / "run.json").read_text())
    change(record["facts"])
    (run / "run.json").write_text(json.dumps(record))
    key = run_key(record["kind"], record["facts"])
    run.rename(run.with_name(key))
    return key


def filled(kind: str, name: str, content: bytes) -> Callable[[Path], object]:
    return lambda store: (run_of(store, kind) / name).write_bytes(content)


def without(kind: str, name: str) -> Callable[[Path], object]:
    return lambda store: (run_of(store, kind) / name).unlink()


def damaged(spoil: Callable[[Path], object], command: str, names: str, fix: str = GC) -> Bad:
    return spoilt("store", spoil, f"{command} {HERE}", names=names, fix=fix)


def packed(content: bytes | None, names: str, fix: str, member: str = "x", **facts: Any) -> Bad:
    """A pack with one member."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        info = tarfile.TarInfo(member)
        for name, value in facts.items():
            setattr(info, name, value)
        info.size = len(content or b"")
        tar.addfile(info, io.BytesIO(content) if content is not None else None)
    command = f"store unpack p.000 {HERE}"
    return of_file("p.000", stream.getvalue(), command, names=names, fix=fix)


def some_parts(world: World) -> None:
    folder = world.copy("pack")
    (folder / "heedful-pack.tar.001").unlink()


def added_to_pack(world: World) -> None:
    """A whole run, and a file that its record does not list."""
    run = run_of(world.shared / "store", "probe")
    with tarfile.open(world.here / "p.000", "w") as tar:
        tar.add(run, run.name)
        tar.addfile(tarfile.TarInfo(f"{run.name}/added.json"))


def deep(levels: int) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for _ in range(levels):
        facts = {"x": facts}
    return facts


STRANGE: dict[str, Bad] = {
    "a model of nothing to cite": rewritten("model", dict.clear, "cite CHANGED"),
    "a model of nothing to audit": rewritten("model", dict.clear, "audit CHANGED"),
    "a model of nothing to explain": rewritten("model", dict.clear, "explain CHANGED good"),
    "a model of nothing to serve": rewritten("model", dict.clear, f"serve CHANGED --port {0}"),
    "a model of nothing to annotate": rewritten(
        "model", dict.clear, "annotate new CHANGED -o s.db"
    ),
    "a model in words": rewritten(
        "model", lambda facts: facts.update(model="wide"), "explain CHANGED good"
    ),
    "a model in words to cite": rewritten(
        "model", lambda facts: facts.update(model="wide"), "cite CHANGED"
    ),
    "a model of other fields": rewritten(
        "model", lambda facts: facts["model"].update(wings=2), "audit CHANGED"
    ),
    "a model with text for a size": rewritten(
        "model", lambda facts: facts["model"].update(hidden="wide"), "audit CHANGED"
    ),
    "a model with terms in words": rewritten(
        "model", lambda facts: facts["model"].update(terms=["tying"]), "cite CHANGED"
    ),
    "a model of another size": rewritten(
        "model", lambda facts: facts["model"].update(hidden=16), "explain CHANGED good"
    ),
    "a seed in words": rewritten("model", lambda facts: facts.update(seed="one"), "audit CHANGED"),
    "no corpus": rewritten("model", lambda facts: facts["upstream"].clear(), "audit CHANGED"),
    "training in words": rewritten(
        "model", lambda facts: facts.update(train="long"), "cite CHANGED"
    ),
    "a corpus of nothing": rewritten("corpus", dict.clear, "audit CHANGED"),
    "a corpus prepared in words": rewritten(
        "corpus", lambda facts: facts.update(prepare="well"), "explain CHANGED good"
    ),
    "a corpus of nothing to cite": rewritten("corpus", dict.clear, "cite CHANGED"),
}
PACK = "give all its parts"
MODEL = "audit MODEL_KEY"
BAD: dict[str, Bad] = {
    **STRANGE,
    "facts that are missing": damaged(
        record("model", facts=None), "cite MODEL_KEY", names="cannot be read"
    ),
    "facts in words": damaged(
        record("model", facts="none"), "explain MODEL_KEY good", names="cannot be read"
    ),
    "facts that are too deep": damaged(
        record("model", facts=deep(200)), "cite MODEL_KEY", names="cannot be read"
    ),
    "facts of a path": damaged(
        record("model", facts={"upstream": {"corpus": "../../x"}}),
        "serve MODEL_KEY",
        names="hash of its facts",
    ),
    "a file from the root": damaged(
        record("model", files={"/etc/passwd": "0"}), MODEL, names="/etc/passwd"
    ),
    "a file that is not listed": damaged(
        filled("model", "added.json", b"{}"), MODEL, names="added.json", fix="move that out of"
    ),
    "a packed file that is not listed": Bad(
        "store unpack p.000 --store other", "added.json", "move that", added_to_pack
    ),
    "a name too long": bad(f"store ls --store {'x' * 5000}", names="xxx", fix="shorter"),
    "a run.json that was cut": damaged(
        filled("model", "run.json", b'{"schema_ver'), MODEL, names="MODEL_KEY"
    ),
    "a run.json of other bytes": damaged(
        filled("model", "run.json", b"\xff\xfe"), MODEL, names="MODEL_KEY"
    ),
    "a run.json too deep": damaged(
        filled("model", "run.json", b"[" * 100_000), MODEL, names="MODEL_KEY"
    ),
    "a run.json that is a list": damaged(
        filled("model", "run.json", b"[]"), MODEL, names="MODEL_KEY"
    ),
    "no run.json": damaged(without("model", "run.json"), MODEL, names="no run.json"),
    "a newer schema": damaged(
        record("model", schema_version=99), MODEL, names="schema 99", fix="update Heedful"
    ),
    "an older schema": damaged(record("model", schema_version=0), MODEL, names="schema 0"),
    "a schema in words": damaged(record("model", schema_version="one"), MODEL, names="schema one"),
    "facts that were changed": damaged(record("model", facts={}), MODEL, names="hash of its facts"),
    "files that are a list": damaged(record("model", files=["a"]), MODEL, names="MODEL_KEY"),
    "files elsewhere": damaged(record("model", files={"../../x": "0"}), MODEL, names="../../x"),
    "a digest that is wrong": damaged(
        filled("model", "weights.safetensors", b"x"), MODEL, names="weights.safetensors was changed"
    ),
    "a file that is missing": damaged(
        without("model", "weights.safetensors"), MODEL, names="weights.safetensors is missing"
    ),
    "a corpus that is damaged": damaged(
        filled("corpus", "examples.parquet", b"x"), "audit CORPUS_KEY", names="examples.parquet"
    ),
    "a damaged study to report": damaged(
        filled("study", "cells.parquet", b"x"), "report STUDY_KEY", names="cells.parquet"
    ),
    "a damaged audit to report": damaged(
        filled("audit", "rows.parquet", b"x"), "report AUDIT_KEY", names="rows.parquet"
    ),
    "a damaged probe to export": damaged(
        filled("probe", "rows.parquet", b"x"),
        "store export PROBE_KEY rows -o x.csv",
        names="rows.parquet",
    ),
    "a damaged run to pack": damaged(
        filled("probe", "rows.parquet", b"x"), "store pack PROBE_KEY -o out", names="rows.parquet"
    ),
    "a pack without a part": Bad(
        f"store unpack pack/heedful-pack.tar.000 pack/heedful-pack.tar.002 {HERE}",
        "pack",
        PACK,
        some_parts,
    ),
    "a pack that leads out": packed(b"x", "p.000", PACK, "../../evil"),
    "a pack from the root": packed(b"x", "p.000", PACK, "/tmp/evil"),
    "a pack with a link": packed(
        None, "p.000", PACK, "model-0/x", type=tarfile.SYMTYPE, linkname="/etc"
    ),
    "a pack with a device": packed(None, "p.000", PACK, "model-0/x", type=tarfile.CHRTYPE),
    "a pack of no run": packed(
        b"{}", "model-0123456789abcdef", "again", "model-0123456789abcdef/run.json"
    ),
    "a pack of a folder that is no run": packed(
        b"{}", "rubbish", "give a pack of runs", "rubbish/run.json"
    ),
}
