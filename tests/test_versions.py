"""What an older or a newer Heedful left is read or refused by one sentence, never misread."""

from __future__ import annotations

import json
import re
import sqlite3
import tarfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import heedful
from annotating import make_study
from heedful.apps.annotation import (
    Study,
    read_jsonl,
    read_label_studio,
    write_jsonl,
    write_label_studio,
)
from heedful.cli import main
from heedful.cli import read as read_grid
from heedful.errors import HeedfulError
from heedful.report import audit_of_folder, audit_of_run
from heedful.schemas import check_version, unread
from heedful.store import (
    Damaged,
    PartGone,
    Run,
    Store,
    parse_record,
    read_part,
    read_record,
    table_version,
    write_part,
    write_tar,
)
from heedful.training import TrainingState, load, save
from heedful.verdict import Settings, Verdict, judge, stored_verdict
from verdict_tables import World, rows_of

OLDER, NEWER, MISSING = 0, 3, None
VERSIONS = {"an older": OLDER, "a newer": NEWER, "no": MISSING}
every_version = pytest.mark.parametrize("version", VERSIONS.values(), ids=list(VERSIONS))
VERDICTS = 2
"""The schema of verdicts; that of version 0.1 was 1."""
every_verdict = pytest.mark.parametrize("version", [OLDER, 1, NEWER, MISSING])


def refused(error: pytest.ExceptionInfo[HeedfulError], version: int | None, known: int = 1) -> None:
    """One sentence with both versions and the fix, which is an update where that would help."""
    text = str(error.value)
    assert text.endswith(".") and "\n" not in text and len(text) < 400
    said = "it says no schema version" if version is None else f"it has schema {version}"
    assert said in text and re.search(rf"(this Heedful|this one) reads {known}: ", text)
    assert ("update Heedful" in text) == (version == NEWER)


def put(path: Path, version: int | None, name: str = "schema_version") -> None:
    """The JSON file with another version."""
    known = json.loads(path.read_text(encoding="utf8"))
    known.pop(name, None)
    path.write_text(json.dumps(known if version is None else {**known, name: version}))


def put_table(path: Path, version: int | None) -> None:
    table = pq.read_table(path)
    said = {} if version is None else {"heedful_schema_version": str(version)}
    pq.write_table(table.replace_schema_metadata(said), path)


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return judge(rows_of(SMALL), facts={"model": "m", "spec": "s"}, settings=QUICK)


QUICK = Settings(resamples=100, metrics=("comprehensiveness",))
SMALL = World(examples=20, per_cluster=2)


@pytest.fixture
def folder(verdict: Verdict, tmp_path: Path) -> Path:
    """What `heedful audit -o` leaves."""
    maps = pd.DataFrame({"example": ["a"], "explanation": ["attention"], "scores": [[1.0]]})
    documents = pd.DataFrame({"example": ["a"], "words": [["w"]]})
    costs = pd.DataFrame({"explanation": ["attention"], "milliseconds_per_text": [1.0]})
    tables = {"rows": rows_of(SMALL), "maps": maps, "costs": costs, "documents": documents}
    return heedful.Audit.of(verdict, {"model": "m"}, **tables).save(tmp_path / "audit")


READERS: list[Callable[[Path], object]] = [heedful.Audit.load, audit_of_folder]
readers = pytest.mark.parametrize("reader", READERS, ids=["load", "report"])


@readers
@every_verdict
def test_a_folders_verdict(
    folder: Path, reader: Callable[[Path], object], version: int | None
) -> None:
    put(folder / "verdict.json", version)
    with pytest.raises(HeedfulError) as error:
        reader(folder)
    refused(error, version, VERDICTS)


@readers
@pytest.mark.parametrize("version", [OLDER, NEWER])
def test_a_folders_facts_and_tables(
    folder: Path, reader: Callable[[Path], object], version: int
) -> None:
    reader(folder)
    put(folder / "facts.json", version)
    with pytest.raises(HeedfulError, match=r"facts\.json") as error:
        reader(folder)
    refused(error, version)
    put(folder / "facts.json", 1)
    put_table(folder / "rows.parquet", version)
    with pytest.raises(HeedfulError, match=r"rows\.parquet") as error:
        reader(folder)
    refused(error, version)


@readers
def test_a_folder_of_the_first_versions_is_read(
    folder: Path, reader: Callable[[Path], object]
) -> None:
    """They had no version in `facts.json`, and no table `shown`."""
    put(folder / "facts.json", MISSING)
    put_table(folder / "rows.parquet", MISSING)
    (folder / "shown.parquet").unlink()
    facts = reader(folder).facts  # type: ignore[attr-defined]
    assert getattr(facts, "named", facts)["model"] == "m"


@readers
@pytest.mark.parametrize("text", ["[]", "1", '"x"', "{", ""])
def test_facts_that_are_none_are_refused(
    folder: Path, reader: Callable[[Path], object], text: str
) -> None:
    (folder / "facts.json").write_text(text)
    with pytest.raises(HeedfulError, match="no whole audit"):
        reader(folder)


@every_verdict
def test_a_baseline(
    verdict: Verdict, tmp_path: Path, version: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused before anything is measured."""
    path, data = tmp_path / "verdict.json", tmp_path / "data.csv"
    data.write_text("text,label\na good film,1\n", encoding="utf8")
    path.write_text(verdict.to_json(), encoding="utf8")
    put(path, version)
    with pytest.raises(HeedfulError) as error:
        Verdict.from_json(path.read_text())
    refused(error, version, VERDICTS)
    assert main(["check", "nowhere", str(data), "--baseline", str(path)]) == 2
    assert "this verdict cannot be read because it" in capsys.readouterr().err


@every_verdict
def test_the_verdict_of_a_stored_audit(
    verdict: Verdict, tmp_path: Path, version: int | None
) -> None:
    store = Store(tmp_path)
    with store.writing("audit", {"version": 1}) as writer:
        said = {**json.loads(verdict.to_json()), "schema_version": version}
        writer.json("verdict", said)
        writer.json("facts", {"skipped": {}})
        for name in ("rows", "maps", "costs", "documents", "shown"):
            writer.table(name, rows_of(SMALL))
    run = store.open(store.keys()[0])
    for ask in (stored_verdict, audit_of_run):
        with pytest.raises(HeedfulError, match="another --store|update Heedful") as error:
            ask(run)
        refused(error, version, VERDICTS)


@every_version
def test_a_run(tmp_path: Path, version: int | None) -> None:
    store = Store(tmp_path)
    with store.writing("probe", {"piece": "x"}) as writer:
        writer.table("rows", pd.DataFrame({"value": [1.0]}))
    (key,) = store.keys()
    put(tmp_path / "runs" / key / "run.json", version)
    with pytest.raises(HeedfulError) as error:
        Store(tmp_path).open(key)
    refused(error, version)
    lost = Store(tmp_path).problems()[key].lost
    assert lost == (version != NEWER), "what a newer one wrote is not to be cleaned away"


@every_version
def test_the_beginning_of_a_packed_run(tmp_path: Path, version: int | None) -> None:
    """What a store at a URL looks at before it fetches."""
    store = Store(tmp_path / "store")
    with store.writing("probe", {"piece": "x"}):
        pass
    (key,) = store.keys()
    put(store.root / "runs" / key / "run.json", version)
    with (tmp_path / "t.tar").open("wb") as stream:
        write_tar([store.root / "runs" / key], stream)
    with pytest.raises(Damaged) as caught:
        parse_record(key, read_record((tmp_path / "t.tar").read_bytes(), key))
    assert caught.value.problem.reason == unread(version, 1)


@every_version
def test_an_annotation_study(tmp_path: Path, version: int | None) -> None:
    """SQLite's version is 0 where nobody set it."""
    path = make_study(tmp_path / "s.db").path
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version={version or 0}")
    with pytest.raises(HeedfulError) as error:
        Study(path)
    refused(error, version or 0)


@every_version
def test_exported_annotations(tmp_path: Path, version: int | None) -> None:
    study = make_study(tmp_path / "s.db")
    lines, tasks = tmp_path / "a.jsonl", tmp_path / "a.json"
    write_jsonl(study, lines)
    written = [json.loads(line) for line in lines.read_text().splitlines()]
    assert all(line.pop("schema_version") == 1 for line in written)
    said = {} if version is None else {"schema_version": version}
    lines.write_text("".join(json.dumps({**said, **line}) + "\n" for line in written))
    write_label_studio(study, tasks)
    known = json.loads(tasks.read_text())
    for task in known:
        assert task["data"].pop("schema_version") == 1
        task["data"] |= said
    tasks.write_text(json.dumps(known))
    if version is None:  # as the first ones were
        assert read_jsonl(study, lines) == read_label_studio(study, tasks) == {}
        return
    with pytest.raises(HeedfulError) as error:
        read_jsonl(study, lines)
    refused(error, version)
    with pytest.raises(HeedfulError) as error:
        read_label_studio(study, tasks)
    refused(error, version)


@every_version
def test_a_sweeps_file(tmp_path: Path, version: int | None) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "grid.yaml"
    said = "" if version is None else f"schema_version: {version}\n"
    path.write_text(f"precision: float32\n{said}studies: [{{study: jain2019}}]\n")
    if version is None:
        assert [entry.values for entry in read_grid(path).entries] == [{"study": "jain2019"}]
        return
    with pytest.raises(HeedfulError, match=r"grid\.yaml, line 2: ") as error:
        read_grid(path)
    refused(error, version)


@every_version
def test_parts_of_unfinished_work_are_made_again(tmp_path: Path, version: int | None) -> None:
    path = tmp_path / "part.parquet"
    table = pd.DataFrame({"example": ["a", "b"], "value": [1.0, float("nan")]})
    with path.open("wb") as stream:
        write_part(stream, table)
    assert table_version(path) == 1
    pd.testing.assert_frame_equal(read_part(path), table)
    put_table(path, version)
    with pytest.raises(PartGone):
        read_part(path)


@pytest.mark.parametrize("version", ["1", "3", None])
def test_a_checkpoint_of_another_version_is_not_resumed(
    tmp_path: Path, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters())
    path = tmp_path / "checkpoint.safetensors"
    save(path, model, optimizer, TrainingState([{"epoch": 1}]))
    found = load(path, model, optimizer)
    assert found is not None and found.epochs == 1
    if version is None:
        from safetensors.torch import save_file

        save_file({"model.weight": torch.zeros(1)}, path)
    else:
        monkeypatch.setattr("heedful.training.loop.SCHEMA_VERSION", version)
    assert load(path, model, optimizer) is None


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just([1])))
def test_only_the_very_version_is_read(found: object) -> None:
    """True is 1 to Python, and 1.0 too; neither is a version."""
    if type(found) is int and found == 1:
        check_version("it", found, 1, "fix it")
        return
    with pytest.raises(HeedfulError) as error:
        check_version("it", found, 1, "fix it")
    assert str(error.value).endswith((": fix it.", ": update Heedful."))
    assert ("newer" in str(error.value)) == (type(found) is int and found > 1)


def test_a_run_of_this_version_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.writing("probe", {"piece": "x"}) as writer:
        writer.table("rows", pd.DataFrame({"value": [1.0]}))
    assert isinstance(store.open(store.keys()[0]), Run)


FIRST = Path(__file__).parent / "golden" / "version-0.1" / "store.tar.xz"
"""A store that version 0.1 wrote: a small corpus, a model trained on it, its score, an audit."""
MODEL, AUDIT = "model-3407aad54096222e", "audit-7f79149109836f4e"
STUDY = "study-dd0ed4026c67cc11"


def test_a_store_of_the_first_version_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its runs are whole, its study is reported, its model audited as the same model: both find
    the same numbers. Its verdict is refused, since properties have other thresholds now."""
    with tarfile.open(FIRST) as packed:
        packed.extractall(tmp_path / "store", filter="data")

    def sentence(*arguments: str, options: Sequence[str] = ()) -> str:
        """What is said on standard error, by a command that is refused."""
        code = main([*arguments, *options])
        written = capsys.readouterr().err
        assert (code, written.count("\n")) == (2, 1)
        return written

    store, where = Store(tmp_path / "store"), ["--store", str(tmp_path / "store")]
    assert len(store.keys()) == 5 and not store.damaged()
    page, new = tmp_path / "page.html", tmp_path / "new"
    assert main(["report", STUDY, "-o", str(page), *where]) == 0
    assert "How well the models predict" in page.read_text("utf8")
    least = ["--n", "4", "--quick", "--only", "interventions"]
    assert main(["audit", MODEL, *least, "-o", str(new), *where]) == 0
    capsys.readouterr()
    before, now = store.open(AUDIT).table("rows"), pd.read_parquet(new / "rows.parquet")
    keys = ["example", "measure", "operator", "explanation"]
    both = before.merge(now, on=keys)
    assert len(both) > 20 and abs(both["value_x"] - both["value_y"]).max() < 1e-5

    old = tmp_path / "store" / "runs" / AUDIT
    baseline = ["--baseline", str(old / "verdict.json"), "--n", "4"]
    refused = [
        sentence("report", AUDIT, "-o", str(page), options=where),
        sentence("check", MODEL, *baseline, options=where),
        sentence("compare", str(old), str(new)),
    ]
    for words in refused:
        assert "schema 1, this Heedful reads 2: " in words
