"""Plugins: entries added by a script, or offered by an installed package."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

import heedful
from heedful.attributions import SALIENCIES, explain
from heedful.cli import main
from heedful.data import CORPORA, Example, Prepared, RawCorpus, default_spec, prepare
from heedful.entries import Experiment, Measure, Piece
from heedful.errors import HeedfulError
from heedful.experiments import PROBES, Evidence, Findings, by_rows
from heedful.report import drawn_figures, gather
from heedful.runner import Machine, Reading, Recipe, probe_facts, probed, trained, unfit
from heedful.specs import ModelSpec, PrepareSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store, run_key
from probing import evidence
from tiny import tiny_batch, tiny_model, tiny_split

OPEN = (CORPORA, PROBES, SALIENCIES)


@pytest.fixture(autouse=True)
def nothing_stays() -> Any:
    yield
    for catalogue in OPEN:
        catalogue.added.clear()


def ones(model: Any, batch: Any, factor: float = 1.0) -> Any:
    return batch.texts["a"].mask.float() * factor


def saliency(name: str = "ones", make: Any = ones, **facts: Any) -> Piece:
    return Piece(name, "as much for every token", make, **{"uses": (), **facts})


def test_a_function_becomes_a_saliency_by_name() -> None:
    heedful.extend("saliency", saliency())
    batch = tiny_batch((3, 2))
    found = explain("ones", tiny_model(), batch, torch.zeros(2, dtype=torch.long), factor=2.0)
    assert found.tolist() == [[2.0, 2.0, 2.0], [2.0, 2.0, 0.0]]
    assert "ones" in list(SALIENCIES) and "ones" in SALIENCIES


def test_where_it_comes_from_is_written_down_and_follows_the_code() -> None:
    first = heedful.extend("saliency", saliency())
    assert first.origin.startswith(f"{__name__}:ones sha256 ")
    other = heedful.extend("saliency", saliency("others", make=lambda model, batch: None))
    assert other.origin != first.origin
    assert SALIENCIES["attention"].origin == "" and SALIENCIES["attention"].plugin_facts == {}


def test_what_was_typed_at_a_prompt_is_told_apart() -> None:
    origins = []
    for number in (1, 2):
        space: dict[str, Any] = {"__name__": "prompt"}
        exec(f"def mine(model, batch):\n    return {number}", space)
        origins.append(heedful.extend("saliency", saliency("mine", space["mine"])).origin)
    assert origins[0] != origins[1]  # and the cell of a notebook may be run again


@pytest.mark.parametrize(
    ("kind", "piece", "says"),
    [
        ("saliency", saliency("gradient"), "there is a saliency 'gradient' already"),
        ("encoder", saliency(), "unknown kind of piece to extend 'encoder'"),
        ("corpus", saliency().make, "is added as a heedful.extending.Corpus, not as a function"),
        ("saliency", ones, "is added as a heedful.extending.Attribution, not as a function"),
        ("saliency", saliency("a,b"), "cannot be called 'a,b'"),
        ("saliency", saliency(uses=None), r"set the field uses of .* or uses=\(\) if it uses none"),
        ("saliency", saliency(uses="mask"), "the field uses of .* is 'mask': give a tuple"),
        ("saliency", saliency(uses=(1,)), r"the field uses of .* is \(1,\): give a tuple"),
        (
            "saliency",
            saliency(uses=("masc",)),
            "unknown perturbation in the field uses of the saliency 'ones' from .* 'masc'",
        ),
        (
            "saliency",
            saliency(uses=("=operator",)),
            "unknown parameter in the field uses of the saliency 'ones' from .* 'operator'",
        ),
        ("saliency", saliency(uses=("=factor",)), "unknown parameter in the field uses"),
    ],
)
def test_what_cannot_be_added_is_one_sentence(kind: str, piece: Any, says: str) -> None:
    with pytest.raises(HeedfulError, match=says):
        heedful.extend(kind, piece)


def test_another_function_of_the_same_name_is_refused() -> None:
    heedful.extend("saliency", saliency())
    with pytest.raises(HeedfulError, match="there is a saliency 'ones' already"):
        heedful.extend("saliency", saliency(make=test_a_function_becomes_a_saliency_by_name))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda model, batch: batch.texts["a"].mask[:, :1], "gave scores of shape (2, 1)"),
        (lambda model, batch: [0.0], "gave a list: give a tensor of (2, 5)"),
    ],
)
def test_scores_of_another_shape_are_one_sentence(make: Any, says: str) -> None:
    batch = tiny_batch((3, 2))
    with pytest.raises(HeedfulError) as error:
        explain(saliency(make=make), tiny_model(), batch, torch.zeros(2, dtype=torch.long))
    assert says.split(" of ")[0] in str(error.value)


def read(data_dir: Path | None = None, n: int = 40, odd: int = 1) -> RawCorpus:
    words = ("dry", "wet")
    examples = [
        Example(f"day-{i}", "", {"a": f"day {i} was {words[i % 2]}"}, i % 2 * odd) for i in range(n)
    ]
    return RawCorpus(words, examples, {})


def weather(**facts: Any) -> Piece:
    return Piece("weather", "made-up days", read, **facts)


def test_a_corpus_is_prepared_as_it_says(tmp_path: Path) -> None:
    piece = heedful.extend("corpus", weather(prepare=PrepareSpec("whitespace", dimension=8)))
    run = prepare(default_spec("weather", n=30), Store(tmp_path))
    assert run.facts["origin"] == piece.origin and run.facts["prepare"]["dimension"] == 8
    assert sum(len(Prepared(run).split(name)) for name in ("train", "dev", "test")) == 30
    CORPORA.added["weather"] = replace(piece, origin="another package")
    assert prepare(default_spec("weather", n=30), Store(tmp_path)).key != run.key


def test_a_corpus_without_a_treatment_needs_no_spacy() -> None:
    heedful.extend("corpus", weather())
    assert default_spec("weather").prepare == PrepareSpec("words")


def test_a_corpus_with_a_class_too_many_is_refused(tmp_path: Path) -> None:
    heedful.extend("corpus", weather())
    with pytest.raises(HeedfulError, match="has the label 2: its corpus has the classes 0 to 1"):
        prepare(default_spec("weather", odd=2), Store(tmp_path))


def test_what_a_probe_needs_must_be_known() -> None:
    heedful.extend("probe", Piece("mine", "nothing", lambda evidence: None, needs=("luck",)))
    with pytest.raises(HeedfulError, match="unknown need of a probe 'luck'"):
        unfit("mine", evidence(tiny_model(), tiny_split((3, 2))))


def test_the_origin_of_a_probe_is_part_of_its_name(planted: Prepared) -> None:
    piece = heedful.extend("probe", Piece("mine", "nothing", lambda evidence: None, version=3))
    run = trained_on(planted)
    facts = probe_facts(run, ProbeSpec("mine"), Reading(0), {})
    assert (facts["piece"], facts["version"], facts["origin"]) == ("mine", 3, piece.origin)
    assert "origin" not in probe_facts(run, ProbeSpec("score"), Reading(0), {})


def trained_on(planted: Prepared) -> Any:
    class Trained:
        key = "model-0"

        def source(self, role: str) -> str:
            return {"corpus": planted.run.key}[role]

    return Trained()


def test_the_origin_of_a_saliency_is_part_of_an_audit(tmp_path: Path) -> None:
    from heedful.auditing import identity
    from heedful.targets import open_target
    from test_targets_run import Mine

    piece = heedful.extend("saliency", saliency())
    rows = [{"text": "good film", "label": "positive"}]
    spec = heedful.AuditSpec(explanations=("attention", "ones"))
    with open_target(Mine(), rows) as subject:
        found = identity(subject, spec)
        plain = identity(subject, heedful.AuditSpec())
    assert found["origins"] == {"ones": piece.origin} and found["pieces"]["ones"] == 1
    assert "origins" not in plain


PACKAGE = """
import heedful

def ones(model, batch):
    return batch.texts["a"].mask.float()

ENTRY = heedful.Piece(name="ones", description="from a package", make=ones, version=2, uses=())
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Installs what pip would: a module, and a dist-info folder that names its pieces."""

    def install(name: str, source: str, points: str) -> None:
        folder = tmp_path / name
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"{name}.py").write_text(source)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, name, raising=False)

    return install


def test_an_installed_package_is_known_by_name(
    package: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    package("norms_one", PACKAGE, "[heedful.saliency]\nones = norms_one:ENTRY\n")
    assert "ones" in SALIENCIES and "norms_one" not in sys.modules  # known, and not imported
    assert (SALIENCIES["ones"].origin, SALIENCIES["ones"].version) == ("norms_one", 2)
    assert main(["list", "saliency"]) == 0
    assert "from a package (from norms_one)" in capsys.readouterr().out
    with pytest.raises(HeedfulError, match="there is a saliency 'ones' already"):
        heedful.extend("saliency", saliency())


def test_a_package_that_fails_is_one_sentence_and_costs_only_itself(
    package: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    package(
        "norms_two", "raise RuntimeError('no luck today')", "[heedful.probe]\nbad = norms_two:P\n"
    )
    says = (
        r"probe 'bad' of the package norms_two cannot be imported \(RuntimeError: no luck today\)"
    )
    with pytest.raises(HeedfulError, match=says):
        PROBES["bad"]
    assert PROBES["score"].name == "score"
    assert main(["list", "probe", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["left_out"]) == 1 and "norms_two" in found["left_out"][0]
    assert any(piece["name"] == "score" for piece in found["pieces"])


def test_a_name_belongs_to_one_package(package: Any) -> None:
    package("norms_three", PACKAGE, "[heedful.saliency]\ngradient = norms_three:ENTRY\n")
    with pytest.raises(HeedfulError, match="'gradient' is named by Heedful and by norms_three"):
        SALIENCIES["gradient"]
    package("norms_four", PACKAGE, "[heedful.saliency]\nones = norms_four:ENTRY\n")
    package("norms_five", PACKAGE, "[heedful.saliency]\nones = norms_five:ENTRY\n")
    with pytest.raises(HeedfulError, match="named by norms_five and by norms_four"):
        SALIENCIES["ones"]


@pytest.mark.parametrize("point", ["twos = norms_six:ENTRY", "ones = norms_six:ones"])
def test_what_is_no_piece_of_that_name_is_refused(package: Any, point: str) -> None:
    package("norms_six", PACKAGE, f"[heedful.saliency]\n{point}\n")
    with pytest.raises(
        HeedfulError, match="of the package norms_six is no heedful.extending.Attribution with the"
    ):
        SALIENCIES[point.partition(" ")[0]]


def test_a_package_that_does_not_say_what_it_uses_is_refused(
    package: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = PACKAGE.replace(", uses=()", "")
    package("norms_seven", silent, "[heedful.saliency]\nones = norms_seven:ENTRY\n")
    assert main(["audit", "nowhere", "--also", "ones"]) == 2
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0 and "'ones' from norms_seven" in said and "field uses" in said
    assert main(["list", "saliency", "--json"]) == 0
    [left_out] = json.loads(capsys.readouterr().out)["left_out"]
    assert left_out in said


def test_packages_are_not_looked_for_before_somebody_asks() -> None:
    look = (
        "import heedful.cli.app, heedful.registry; "
        "print(heedful.registry._installed.cache_info().misses)"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_an_experiment_without_a_figure_is_drawn_measure_by_measure(tmp_path: Path) -> None:
    """Also one that no report has heard of; and none whose numbers are for tables only."""
    store, runs = Store(tmp_path), []
    names = {"site": "a", "head": 0, "query": 0, "predicted": 0, "length": 3, "max_weight": 0.5}
    rows = [{**names, "example": str(n), "measure": "focus", "value": n / 10} for n in range(9)]
    summary = {"site": "a", "measure": "focus", "group": "all", "n": 9, "mean": 0.4}
    for piece in ("mine", "score"):
        facts = {"piece": piece, "seed": 0, "upstream": {}}
        with store.writing("probe", facts) as run:
            run.table("rows", pd.DataFrame(rows))
            run.table("summary", pd.DataFrame([summary]))
        runs.append(store.open(run_key("probe", facts)))
    [figure] = drawn_figures(gather(store, runs))
    assert figure.title == "mine: focus" and not figure.missing
    assert "9 texts; focus mean 0.40; from 0.00 to 0.80" in figure.groups[0].panels[0].says
    assert figure.caption.startswith("The measure focus of the experiment mine. One value")


def top(evidence: Evidence) -> Findings:
    """The heaviest weight of each text."""
    passes = evidence.passes("top")
    return by_rows(evidence, passes, lambda view: {"top_1": view.weights.amax(-1)})


def test_a_report_says_of_an_experiment_what_its_entry_says(tmp_path: Path) -> None:
    """By its run alone: whoever writes the report need not have the experiment."""
    entry = Experiment(
        name="top",
        description="where the weight is",
        make=top,
        measures={"top_*": Measure("weight of the heaviest tokens")},
        higher="weights are more peaked",
        limits="Peaked need not be right.",
    )
    heedful.extend("probe", entry)
    store, sizes = Store(tmp_path), {"n_train": 20, "n_dev": 5, "n_test": 12}
    corpus = prepare(default_spec("planted", sizes, dimension=8), store)
    recipe = Recipe(ModelSpec(encoder="average", hidden=4), TrainSpec(epochs=1), 0)
    model = trained(store, corpus, recipe, Machine())
    [(_, run)] = probed(store, recipe, [ProbeSpec("top")], Reading(0), Machine(), lambda _: model)
    PROBES.added.clear()
    assert isinstance(run, Run)
    [figure] = drawn_figures(gather(store, [run]))
    assert figure.caption.startswith("Weight of the heaviest tokens. One value per text")
    assert figure.caption.endswith(
        "Higher means: weights are more peaked. Peaked need not be right."
    )
