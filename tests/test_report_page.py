"""The page: self-contained, escaped, honest about what is missing, there whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from heedful.errors import HeedfulError
from heedful.report import (
    FIGURES,
    build_report,
    chosen_figures,
    five_lines,
    gather,
    of_first,
    sheet,
)
from heedful.store import Run, Store
from parsed_page import loads_nothing, parse
from test_report_fake import HOSTILE, Fake, fake_study

OF_JAIN2019 = (
    "published", "tau_gradient", "tau_leave_one_out", "tau_length", "permutation", "jsd",
    "jsd_by_class", "jsd_by_max",
)  # fmt: skip

pytest.importorskip("altair")
pytest.importorskip("vl_convert")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Run]:
    return fake_study(tmp_path_factory.mktemp("store"), Fake(seeds=(0, 1)))


@pytest.fixture(scope="module")
def page(study: tuple[Store, Run], tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("out") / "report"
    files = build_report(study[0], [study[1]], out)
    assert files.page.stat().st_size < 3_000_000
    return files.page.read_text(encoding="utf8")


def test_numbers_beside_a_shown_head_are_its_own() -> None:
    """Not the mean over all heads."""
    rows = pd.DataFrame(
        [("x", "s", head, 0, "jsd_exact", 0.1 + head) for head in (0, 1)],
        columns=["example", "site", "head", "query", "measure", "value"],
    )
    maps = rows[["example", "site", "head", "query"]].assign(map="attention")
    shown, weights = of_first(rows, maps)
    assert shown["value"].tolist() == [0.1] and weights["head"].tolist() == [0]
    assert of_first(rows, maps.iloc[:0])[0].empty


def test_hostile_texts_are_only_text(page: str) -> None:
    tags = parse(page)
    assert not tags.tags & {"script", "img", "b", "iframe", "object"} and len(tags.scripts) == 2
    for word in (word for word in HOSTILE if "\u202e" not in word):
        assert word in tags.words
    assert "\u202e" not in page and "a⟨U+202E⟩b" in tags.words
    assert not any(name.startswith("on") for name, _ in tags.attributes)


def test_the_page_loads_nothing(page: str) -> None:
    assert loads_nothing(parse(page))
    assert "@import" not in page and "url(http" not in page


def test_ids_are_unique(page: str) -> None:
    ids = [value for name, value in parse(page).attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_the_page_says_what_it_must(page: str) -> None:
    text = " ".join(parse(page).words)
    for words in ("In five lines", "over seeds", "needs the patients' records", "drawn at random"):
        assert words in text
    assert "largest distance" in text and "study-" in text


def test_the_same_store_gives_the_same_page(
    study: tuple[Store, Run], page: str, tmp_path: Path
) -> None:
    again = build_report(study[0], [study[1]], tmp_path / "again").page
    assert again.read_text(encoding="utf8") == page


def test_figures_are_well_formed(study: tuple[Store, Run], tmp_path: Path) -> None:
    files = build_report(study[0], [study[1]], tmp_path / "report")
    assert [path.stem for path in files.figures] == sorted(OF_JAIN2019)
    for path in files.figures:
        root = ElementTree.parse(path).getroot()
        assert root.tag.endswith("svg") and len(list(root.iter())) > 50
    assert {path.suffix for path in files.tables} == {".csv", ".tex", ".json"}


def test_altair_accepts_the_figures(study: tuple[Store, Run]) -> None:
    evidence = gather(study[0], [study[1]])
    assert chosen_figures(evidence) == list(OF_JAIN2019)
    for name in OF_JAIN2019:
        figure = FIGURES[name].make(evidence)
        figure.groups[0].panels[0].chart.to_dict(validate=True)
        assert figure.chart().to_dict(validate=False)["vconcat"]


@pytest.mark.parametrize("change", [{"texts": 1}, {"undefined": 1.0}, {"corpora": ("new",)}])
def test_too_little_data_is_said(tmp_path: Path, change: dict[str, object]) -> None:
    store, run = fake_study(tmp_path / "store", replace(Fake(), **change))  # type: ignore[arg-type]
    files = build_report(store, [run], tmp_path / "report")
    lines = " ".join(files.summary)
    assert len(files.summary) == 5
    if change.get("texts") == 1:
        assert lines.count("inconclusive") >= 4
    if change.get("undefined"):
        assert "Attention against gradients: inconclusive" in lines
        assert "undefined for all" in files.page.read_text(encoding="utf8")


def test_model_and_probe_runs_are_gathered(study: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = study
    model = store.open(str(run.table("cells")["model_run"].iloc[0]))
    cells = gather(store, [model]).cells
    assert len(cells) == 5 and set(cells["label"]) == {"bilstm-additive"}
    probe = store.open(str(cells["run"][cells["probe"] == "correlation"].iloc[0]))
    lines = five_lines(gather(store, [probe]))
    assert "τ" in lines[1] and lines[3].endswith("not measured.")
    assert build_report(store, [probe], tmp_path / "one").page.exists()
    assert len(gather(store, [run, model]).cells) == len(gather(store, [run]).cells)


def test_bad_input_is_one_sentence(study: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = study
    corpus = store.open(str(run.table("cells")["corpus_run"].iloc[0]))
    with pytest.raises(HeedfulError, match="is of kind corpus"):
        build_report(store, [corpus], tmp_path / "report")
    with pytest.raises(HeedfulError, match="at least one run"):
        build_report(store, [], tmp_path / "report")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.doc").touch()
    with pytest.raises(HeedfulError, match="holds no earlier report"):
        build_report(store, [run], tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_failure_leaves_the_old_report(
    study: tuple[Store, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report"
    before = build_report(study[0], [study[1]], out).page.read_bytes()

    def broken(*_: object) -> str:
        raise RuntimeError

    monkeypatch.setattr("heedful.report.build.page", broken)
    with pytest.raises(RuntimeError):
        build_report(study[0], [study[1]], out)
    assert out.joinpath("page.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_missing_extra_names_the_remedy() -> None:
    with pytest.raises(HeedfulError, match=r'pip install "heedful\[report\]"'):
        sheet.need("no_such_package_of_the_report")


def test_no_torch_is_imported(study: tuple[Store, Run], tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from heedful.store import Store; "
        "from heedful.report import build_report; s = Store(sys.argv[1]); "
        "build_report(s, [s.open(sys.argv[2])], Path(sys.argv[3])); "
        "assert 'torch' not in sys.modules"
    )
    command = [sys.executable, "-c", code, str(study[0].root), study[1].key, str(tmp_path / "r")]
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
