"""Whatever a file, an option or a request holds: a result or a `HeedfulError` (HTTP 4xx), never
another exception, and never a hang (pytest's time limit)."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import strategies as st

pytest.importorskip("transformers")
pytest.importorskip("fastapi")
pytest.importorskip("httpx")
pytest.importorskip("yaml")

from starlette.testclient import TestClient

from annotating import make_study
from fuzzing import FEW, MANY, as_json, fuzz, mutated, replaced, texts, values
from heedful.apps.annotation import Study, application, read_jsonl, read_label_studio
from heedful.apps.live import Limits, Opened, live_app
from heedful.auditing import Audit, named, names_in, seconds
from heedful.cli import (
    FileColumns,
    corpus_spec,
    main,
    names,
    numbers,
    pairs,
    parameter,
    seeds,
    terms,
)
from heedful.cli import read as read_grid
from heedful.data import (
    CORPORA,
    corpus_params,
    given_spec,
    impermissible_spans,
    iterate_rows,
    rationale_spans,
    read_text_vectors,
)
from heedful.data.tables import read as read_corpus
from heedful.errors import HeedfulError
from heedful.report import audit_of_folder
from heedful.runner import shard
from heedful.store import BROKEN, Run, Store, read_record, read_tar, write_tar
from heedful.targets import Loading, load, open_asked, read_documents
from heedful.verdict import Verdict
from tiny_tokenizers import saved

ROWS = [
    {"text": "good film, very", "label": 1, "id": "a", "why": [[0, 4]]},
    {"text": 'a "dull" plot\nindeed', "label": 0, "id": "b", "why": None},
    {"text": "naïve 猫 story", "label": 1, "id": "c", "why": "[[0, 2], [3, 5]]"},
]
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = pd.DataFrame(ROWS).to_csv(index=False).encode()
TSV = pd.DataFrame(ROWS).to_csv(index=False, sep="\t").encode()
GRID = b"""store: here
studies:
  - study: jain2019
    corpora: [planted]
    encoders: bilstm
    seeds: [0, 7]
    params: {n_train: 60}
    epochs: 3
"""


@dataclass(frozen=True)
class Place:
    """Good things, and a folder for what becomes of them."""

    good: Path
    here: Path
    live: TestClient
    annotated: TestClient

    def write(self, name: str, content: bytes) -> Path:
        path = self.here / name
        path.write_bytes(content)
        return path

    def spoilt(self, name: str, file: str, content: bytes) -> Path:
        """A copy of a good folder with one file otherwise."""
        folder = self.here / name
        if not folder.exists():
            shutil.copytree(self.good / name, folder)
        (folder / file).write_bytes(content)
        return folder

    def bytes(self, name: str) -> bytes:
        return (self.good / name).read_bytes()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    good, here = tmp_path_factory.mktemp("good"), tmp_path_factory.mktemp("here")
    saved(good / "bert")
    (good / "t.csv").write_bytes(CSV)
    make_audit(good)
    with Store(good / "store").writing("corpus", {"piece": "x"}) as run:
        run.table("rows", pd.DataFrame({"a": [1, 2]}))
    (Store(good / "store").root / "runs" / Store(good / "store").keys()[0]).rename(good / "run")
    study = make_study(good / "s.db", "rationale")
    person = {"authorization": f"Bearer {study.annotators()[0].token}"}
    with open_asked(str(good / "bert")) as asked:
        opened = Opened(asked, Limits())
        yield Place(
            good,
            here,
            TestClient(live_app([opened]), "http://127.0.0.1", raise_server_exceptions=True),
            TestClient(application(study), "http://127.0.0.1", headers=person),
        )


def make_audit(good: Path) -> None:
    given = ("--quick", "--explanations", "attention", "--only", "interventions")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        typed = ["audit", good / "bert", good / "t.csv", *given, "-o", good / "audit"]
        code = main([*map(str, typed), "--store", str(good / "audits")])
    assert code == 0, said.getvalue()


Check = Callable[[Place, Any], object]


def table(name: str) -> Check:
    """A table is read as texts, as a corpus, and as answers of annotators."""

    def check(place: Place, content: bytes) -> None:
        path = place.write(name, content)
        tried(lambda: list(iterate_rows(path)))
        options = {"id_column": "id", "rationale_column": "why"}
        tried(lambda: read_documents(str(path)))
        tried(lambda: read_documents(str(path), **options))
        tried(lambda: read_corpus(path=str(path), **options))

    return check


def read_answers(place: Place, content: bytes) -> None:
    study = Study(place.good / "s.db")
    path = place.write("answers.jsonl", content)
    tried(lambda: study.check(read_jsonl(study, path)))
    tried(lambda: study.check(read_label_studio(study, path)))


def read_run(place: Place, content: bytes) -> None:
    """It says what is wrong, and raises nothing."""
    Run(place.spoilt("run", "run.json", content)).problem()


def read_audit(file: str) -> Check:
    def check(place: Place, content: bytes) -> None:
        folder = place.spoilt("audit", file, content)
        tried(lambda: list(Audit.load(folder).rows.columns))
        tried(lambda: audit_of_folder(folder))
        (folder / file).write_bytes(place.bytes(f"audit/{file}"))

    return check


def read_verdict(place: Place, content: bytes) -> None:
    tried(lambda: Verdict.from_json(content.decode("utf8", "replace")).lines())


def unpack(place: Place, content: bytes) -> None:
    """Nothing is ever written outside the folder."""
    folder = place.here / "unpacked"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with suppress(*BROKEN, UnicodeError, OSError):
        read_tar(io.BytesIO(content), folder)
    with suppress(*BROKEN):
        read_record(content, "run")
    assert {path.name for path in place.here.iterdir()} <= KNOWN


def load_model(file: str) -> Check:
    def check(place: Place, content: bytes) -> None:
        folder = place.spoilt("bert", file, content)
        tried(lambda: load(str(folder), Loading(device="cpu")))
        (folder / file).write_bytes(place.bytes(f"bert/{file}"))

    return check


def parse(text: str) -> None:
    """Every small language of the command line."""
    for do in (seconds, shard, seeds, parameter, named, names_in):
        tried(lambda do=do: do(text))  # type: ignore[misc]
    tried(lambda: names(text, "--x"))
    tried(lambda: numbers([text], "--x"))
    tried(lambda: pairs(text, "--x"))
    tried(lambda: terms([text], [text]))
    tried(lambda: terms(["tying"], [text]))
    tried(lambda: corpus_spec(text if "/" not in text else "planted", [text], None, FileColumns()))
    tried(lambda: words_of(text))


def words_of(text: str) -> None:
    name, value = parameter(text)
    spec = given_spec("planted", {name: value})
    corpus_params(CORPORA["planted"], spec.params)


def mark(place: Place, value: Any) -> None:
    """Cells of spans, as values and as their JSON."""
    for cell in (value, json.dumps(value)):
        tried(lambda cell=cell: rationale_spans(cell, {"a": "a good film"}, "f"))  # type: ignore[misc]
        tried(lambda cell=cell: impermissible_spans(cell, "a good film", "f"))  # type: ignore[misc]
        rows = [{"text": "a good film", "label": 1, "why": cell}]
        tried(lambda rows=rows: read_documents(rows, rationale_column="why"))  # type: ignore[misc]


def ask(path: str) -> Check:
    def check(place: Place, body: bytes) -> None:
        headers = {"content-type": "application/json"}
        found = place.live.post(path, content=body, headers=headers)
        answered(found)

    return check


def answer(path: str) -> Check:
    def check(place: Place, body: bytes) -> None:
        headers = {"content-type": "application/json"}
        answered(place.annotated.post(path, content=body, headers=headers))

    return check


def answered(found: Any) -> None:
    """With an answer, or with a sentence that says what was wrong with the question."""
    assert found.status_code < 500, found.text
    if found.status_code >= 400:
        assert found.json()["error"].rstrip().endswith("."), found.text


def tried(do: Callable[[], object]) -> None:
    with suppress(HeedfulError):
        do()


KNOWN = {
    "unpacked", "bert", "audit", "run", "t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.csv.gz",
    "answers.jsonl", "g.yaml", "v.vec",
}  # fmt: skip
ASK = {"text": "a good film", "text_b": None, "model": 0, "explanations": ["occlusion"]}
EDIT = {
    "text": "a good film", "model": 0, "site": "bert.encoder.layer.0.attention.self", "head": 0,
    "weights": [0.2, 0.3, 0.5], "queries": "reading", "seed": 0,
}  # fmt: skip
KIND = {**EDIT, "weights": None, "kind": "shuffled"}
APART = {"text": "a good film", "site": EDIT["site"], "head": None, "of": "LABEL_1"}
SAID = {"item": 0, "value": [0, 1], "before": None, "request": "r"}
LINE = {"schema_version": 1, "item": 0, "id": "text-0", "answers": {"annotator 1": [0]}}
REGION = {"type": "labels", "to_name": "text", "value": {"start": 0, "end": 3}}
TASK = [
    {"data": {"item": 0, "id": "text-0"}, "annotations": [{"completed_by": 1, "result": [REGION]}]}
]
typed = texts | st.from_regex(r"[0-9]{0,6}[,/=.:a-z]{0,3}[-0-9e.]{0,8}(s|min|h)?", fullmatch=True)


def lines() -> st.SearchStrategy[bytes]:
    """JSON lines whose rows hold whatever they like."""
    row = replaced(ROWS[0]).map(as_json)
    return st.lists(row, max_size=3).map(lambda rows: b"\n".join([JSONL.split(b"\n")[0], *rows]))


def pairs_of() -> st.SearchStrategy[Any]:
    """What looks like spans: nearly two of nearly numbers each."""
    end = st.integers(-3, 14) | st.floats() | texts | st.just(float("inf"))
    return st.lists(st.lists(end, min_size=1, max_size=3) | st.tuples(end, end), max_size=3)


def requests(*good: Any) -> st.SearchStrategy[bytes]:
    one = st.sampled_from(good)
    changed = one.flatmap(replaced).map(as_json)
    return changed | one.flatmap(lambda body: mutated(as_json(body))) | st.binary(max_size=60)


def of_json(place: Place, name: str) -> st.SearchStrategy[bytes]:
    good = place.bytes(name)
    return replaced(json.loads(good)).map(as_json) | mutated(good) | st.binary(max_size=60)


def of_bytes(place: Place, name: str) -> st.SearchStrategy[bytes]:
    return mutated(place.bytes(name)) | st.binary(max_size=60)


def tar(place: Place) -> st.SearchStrategy[bytes]:
    stream = io.BytesIO()
    write_tar([place.good / "run"], stream)
    whole = stream.getvalue().rstrip(b"\0")
    ended = mutated(whole).map(lambda found: found + bytes(-len(found) % 512 + 1024))
    return ended | mutated(stream.getvalue())


Strategy = Callable[[Place], st.SearchStrategy[Any]]
ANY = st.binary(max_size=200)
FUZZED: dict[str, tuple[Strategy, Check]] = {
    "CSV": (lambda _: mutated(CSV) | ANY, table("t.csv")),
    "TSV": (lambda _: mutated(TSV) | ANY, table("t.tsv")),
    "JSONL": (lambda _: mutated(JSONL) | lines() | ANY, table("t.jsonl")),
    "Parquet": (lambda _: mutated(parquet()) | ANY, table("t.parquet")),
    "gzip": (lambda _: mutated(gzip.compress(CSV, mtime=0)) | ANY, table("t.csv.gz")),
    "grid": (
        lambda _: mutated(GRID) | ANY | texts.map(lambda text: text.encode("utf8", "ignore")),
        lambda place, content: tried(lambda: read_grid(place.write("g.yaml", content))),
    ),
    "vectors": (
        lambda _: mutated(b"good 0.1 0.2\nbad 1e3 -4\n") | ANY,
        lambda place, content: tried(
            lambda: read_text_vectors(place.write("v.vec", content), {"good", "bad"})
        ),
    ),
    "run.json": (lambda place: of_json(place, "run/run.json"), read_run),
    "verdict": (lambda place: of_json(place, "audit/verdict.json"), read_verdict),
    "verdict.json": (
        lambda place: of_json(place, "audit/verdict.json"),
        read_audit("verdict.json"),
    ),
    "facts.json": (lambda place: of_json(place, "audit/facts.json"), read_audit("facts.json")),
    "rows.parquet": (
        lambda place: of_bytes(place, "audit/rows.parquet"),
        read_audit("rows.parquet"),
    ),
    "tar": (tar, unpack),
    "config.json": (lambda place: of_json(place, "bert/config.json"), load_model("config.json")),
    "tokenizer.json": (
        lambda place: of_bytes(place, "bert/tokenizer.json"),
        load_model("tokenizer.json"),
    ),
    "model.safetensors": (
        lambda place: of_bytes(place, "bert/model.safetensors"),
        load_model("model.safetensors"),
    ),
    "options": (lambda _: typed, lambda _, text: parse(text)),
    "spans": (lambda _: pairs_of() | values, mark),
    "answers": (lambda _: requests(LINE, TASK), read_answers),
    "predict": (lambda _: requests(ASK), ask("/api/predict")),
    "edit": (lambda _: requests(EDIT, KIND), ask("/api/edit")),
    "explain": (lambda _: requests(APART), ask("/api/explain")),
    "annotators' answers": (lambda _: requests(SAID), answer("/api/answers")),
    "annotators' undo": (lambda _: requests({"request": "r"}), answer("/api/undo")),
}


CHEAP = ("options", "spans", "verdict", "vectors", "grid")


@pytest.mark.parametrize("name", FUZZED)
def test_any_bytes_are_read_or_refused(name: str, place: Place) -> None:
    strategy, check = FUZZED[name]
    count = 10 * FEW if name in CHEAP else FEW
    fuzz(count, strategy(place), lambda example: check(place, example))


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZED)
def test_many_bytes_are_read_or_refused(name: str, place: Place) -> None:
    strategy, check = FUZZED[name]
    fuzz(MANY, strategy(place), lambda example: check(place, example))


def parquet() -> bytes:
    stream = io.BytesIO()
    pd.DataFrame(ROWS).drop(columns="why").to_parquet(stream)
    return stream.getvalue()
