"""What is written for people: the same command again, what others keep beside it, and work that
ends in the middle."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")

from annotating import KEY, items
from bad_input.shared import QUICK, good_table
from heedful.apps.annotation import RELEVANCE, Plan, Study, new_study
from heedful.auditing import Audit
from heedful.cli import main
from heedful.errors import HeedfulError
from heedful.report import charts, render
from heedful.store import MANIFEST, output_folder, read_manifest, write_file
from kept_schemas import check
from tiny_tokenizers import saved

AUDIT = ("audit", "bert", "good.csv", *QUICK, "-o", "out", "--card", "card.md")
SPEC = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, texts, and a store with the audit in it."""
    here = tmp_path_factory.mktemp("made")
    saved(here / "bert")
    (here / "good.csv").write_text(good_table())
    before = Path.cwd()
    os.chdir(here)
    assert main([*AUDIT]) == 0
    os.chdir(before)
    return here


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, with nothing written but the store."""
    for name in ("bert", "heedful-store"):
        shutil.copytree(made / name, tmp_path / name)
    shutil.copyfile(made / "good.csv", tmp_path / "good.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_same_command_again_writes_the_same(here: Path) -> None:
    assert main([*AUDIT]) == 0
    before = files(here)
    check("manifest", json.loads(before[f"out/{MANIFEST}"]))
    manifest = read_manifest(here / "out")
    assert manifest and set(manifest["files"]) == set(files(here / "out")) - {MANIFEST}
    assert main([*AUDIT]) == 0
    assert files(here) == before


def test_a_gate_writes_over_its_own_files(here: Path) -> None:
    typed = ["check", "bert", "good.csv", *QUICK, "--junit", "j.xml", "--write-baseline", "b.json"]
    for baseline in ([], ["--baseline", "b.json"]):
        assert main([*typed, *baseline]) == 0
    assert b'<testsuite name="heedful"' in files(here)["j.xml"]
    (here / "b.json").write_text(json.dumps(json.loads((here / "b.json").read_text())))
    assert main(typed) == 0  # also where somebody's tool laid it out anew


def test_what_others_keep_in_a_folder_stays(here: Path) -> None:
    assert main([*AUDIT]) == 0
    (here / "out" / "notes").mkdir()
    (here / "out" / "notes" / "a.txt").write_text("mine")
    (here / "out" / "empty").mkdir()
    (here / "out" / "link").symlink_to("nowhere")
    (here / "out" / "page.html").unlink()
    assert main([*AUDIT]) == 0
    out = here / "out"
    assert (out / "notes" / "a.txt").read_text() == "mine" and (out / "page.html").is_file()
    assert (out / "empty").is_dir() and (out / "link").is_symlink()
    assert not list(here.glob(".*"))


def test_a_link_to_a_folder_is_followed(here: Path) -> None:
    (here / "elsewhere").mkdir()
    (here / "out").symlink_to("elsewhere")
    for _ in range(2):
        assert main([*AUDIT]) == 0
        assert (here / "out").is_symlink() and (here / "elsewhere" / "page.html").is_file()


def test_a_report_keeps_what_is_not_its_own(tmp_path: Path) -> None:
    out = tmp_path / "report"
    for text in ("old", "new"):
        with output_folder(out, "report") as building:
            (building / "tables").mkdir()
            (building / "tables" / f"{text}.csv").write_text(text)
        (out / "tables" / "mine.csv").write_text("mine")
    names = {MANIFEST, "tables/new.csv", "tables/mine.csv"}
    assert set(files(out)) == names
    refused = pytest.raises(HeedfulError, match=r"mine\.csv was not written by Heedful")
    with refused, output_folder(out, "report") as building:
        (building / "tables").mkdir()
        (building / "tables" / "mine.csv").write_text("ours")
    assert files(out)["tables/mine.csv"] == b"mine" and set(files(out)) == names


def test_an_audit_that_ended_while_it_drew_is_finished_by_the_same_command(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Audit, "to_html", killed)
        with pytest.raises(Killed):
            main([*AUDIT])
    assert Audit.load(here / "out").facts["key"] and (here / "card.md").is_file()
    assert main([*AUDIT]) == 0
    assert (here / "out" / "page.html").is_file()


def test_a_page_that_was_being_written_is_no_change(tmp_path: Path) -> None:
    with output_folder(tmp_path / "out", "audit") as building:
        (building / "a").write_text("a")
    write_file(tmp_path / "out" / "page.html", "one")
    found = json.loads((tmp_path / "out" / MANIFEST).read_text())
    found["files"]["page.html"] = None  # killed before its digest was known
    (tmp_path / "out" / MANIFEST).write_text(json.dumps(found))
    (tmp_path / "out" / "page.html.0123456789ab.writing").write_text("half")
    with output_folder(tmp_path / "out", "audit") as building:
        (building / "a").write_text("b")
    assert set(files(tmp_path / "out")) == {MANIFEST, "a"}


def without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))"
    monkeypatch.setattr(charts, "PROGRAM", f"{limit}\n{charts.PROGRAM}")
    charts._renderer.cache_clear()


def test_without_memory_for_charts_the_tables_are_there(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        without_memory(patch)
        assert main([*AUDIT]) == 1
        out, err = capfd.readouterr()
        assert err.count("\n") == 1 and "signal 5" in err
        assert "`heedful report out -o out/page.html` draws it later." in err
        assert main(["report", "out", "-o", "report"]) == 2
        assert capfd.readouterr().err.count("\n") == 1 and not (here / "report").exists()
    assert Audit.load(here / "out").verdict.headline in out and (here / "card.md").is_file()
    assert not (here / "out" / "page.html").exists()
    assert main(["report", "out", "-o", "out/page.html"]) == 0
    assert (here / "out" / "page.html").is_file()
    assert main([*AUDIT]) == 0


def test_after_a_renderer_that_ended_there_is_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    first = render(SPEC)
    with monkeypatch.context() as patch:
        without_memory(patch)
        with pytest.raises(charts.Undrawn):
            render(SPEC)
    assert render(SPEC) == first
    with pytest.raises(ValueError, match="conversion failed"):
        render({"mark": 3})
    assert render(SPEC) == first


def test_an_audits_figures_are_in_its_report(here: Path) -> None:
    assert main([*AUDIT]) == 0
    assert main(["report", "out", "-o", "report"]) == 0
    figures = {path.name: path.read_text() for path in (here / "report" / "figures").iterdir()}
    assert "audit_changed.svg" in figures
    assert all(text.startswith("<svg ") for text in figures.values())


def test_python_replaces_no_file_of_somebody(here: Path) -> None:
    assert main([*AUDIT]) == 0
    audit = Audit.load(here / "out")
    (here / "mine.html").write_text("<html>mine</html>")
    with pytest.raises(HeedfulError, match="is not a page of Heedful"):
        audit.to_html("mine.html")
    assert (here / "mine.html").read_text() == "<html>mine</html>"
    for _ in range(2):
        audit.to_html("page.html")


def plan() -> Plan:
    facts = {"source": "x", "family": "x", "labels": ["no", "yes"], "seed": 0, "notes": []}
    return Plan(RELEVANCE, items(RELEVANCE), {**facts, "model": "m", "n": 2, "top": 2})


def test_a_study_is_there_with_its_annotators_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    for place in (
        "heedful.apps.annotation.database.Item.to_json",
        "heedful.apps.annotation.study._invite",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, full)
            with pytest.raises(HeedfulError, match=r"disk is full.*make room") as caught:
                new_study(path, plan(), 2)
        assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())
    assert [each.name for each in new_study(path, plan(), 2)] == ["annotator 1", "annotator 2"]
    assert len(Study(path).annotators()) == 2 and Study(path).key != KEY
    assert [each.name for each in tmp_path.iterdir()] == ["s.db"]
