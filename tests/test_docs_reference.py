"""The reference is what the pieces say, and what they say of their numbers holds."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tools.reference import CATALOGUE, FOLDER, pages

from counted import count_by_blanks
from heedful.attributions import SALIENCIES, explain
from heedful.cli import catalogue_text, in_words, main, measures_of
from heedful.data import Prepared
from heedful.entries import Experiment, Measure
from heedful.experiments import ERASURE_MEASURES, PROBES, Findings
from heedful.metrics import METRICS
from heedful.models import OneSequence, probabilities
from heedful.preregistration import in_order
from heedful.registry import Registry
from probing import FITTING, find
from test_deception import marked
from test_probes_alignment import aligned
from test_probes_alignment import run as align
from test_probes_families import PARAMS, run

OWN = [
    pytest.param(catalogue, name, id=f"{catalogue.kind}-{name}")
    for catalogue in (METRICS, PROBES, SALIENCIES)
    for name in catalogue.modules
]
WRITING = ("translation", "layers")
FEWER = ("adversarial", "permutation", "substitution", "guides", "score", "mutual_information")
MARKED = ("deception", "detector")


def test_the_committed_pages_are_what_the_pieces_say() -> None:
    wanted = pages()
    written = {name: (FOLDER / name).read_text(encoding="utf-8") for name in wanted}
    stale = [name for name, text in wanted.items() if written[name] != text]
    assert not stale, "run `make reference`"
    assert CATALOGUE.read_text(encoding="utf-8") == catalogue_text(), "run `make reference`"


@pytest.mark.parametrize(("catalogue", "name"), OWN)
def test_our_own_say_how_to_read_them(catalogue: Registry, name: str) -> None:
    piece = catalogue[name]
    assert all((piece.formula, piece.higher, piece.cost, piece.limits))
    assert measures_of(piece) if catalogue is PROBES else piece.range is not None
    for measure in measures_of(piece).values():
        assert measure.range is not None
        low, high = measure.range
        assert low < high and (low < 0) >= measure.signed


@pytest.fixture(scope="module")
def ours(planted: Prepared) -> Any:
    return planted.split("test").subset(range(12))


@pytest.mark.parametrize("name", [name for name in FITTING if name in PROBES.modules])
def test_what_a_probe_measures_is_documented(
    name: str, trained_model: OneSequence, ours: Any
) -> None:
    params = PARAMS[name] if name in FEWER else {}
    extra = {"correlation": {"also": "integrated_gradients"}, "adversarial": {"k": 2}}
    found = find(name, trained_model, ours, **params, **extra.get(name, {}))
    _documented(PROBES[name], found)


def test_of_rationales_too(trained_model: OneSequence, ours: Any) -> None:
    _documented(PROBES["rationale"], find("rationale", trained_model, ours))


@pytest.mark.parametrize("name", MARKED)
def test_of_impermissible_tokens_too(name: str, trained_model: OneSequence, ours: Any) -> None:
    _documented(PROBES[name], find(name, trained_model, marked(ours)))


@pytest.mark.parametrize("name", WRITING)
def test_of_what_is_written_and_of_layers_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count_by_blanks(monkeypatch)
    _documented(PROBES[name], run("hierarchical" if name == "layers" else "additive", name, 64))


def test_of_alignments_too() -> None:
    _documented(PROBES["alignment"], align("prenorm", aligned()))


def _documented(piece: Experiment, found: Findings) -> None:
    """Of rows and of summaries, whose means and bounds may leave a range only by their error."""
    for measure, values in found.rows.groupby("measure")["value"]:
        _within(piece, str(measure), values)
    if found.summary is not None:
        for measure, values in found.summary.groupby("measure")["mean"]:
            _within(piece, str(measure), values)


def _within(piece: Experiment, name: str, values: pd.Series) -> None:
    measure = _measure(piece, name)
    assert measure is not None, f"{piece.name} measures {name!r} and does not say so"
    assert measure.range is not None
    low, high = measure.range
    known = values.dropna()
    assert known.between(low - 1e-6, high + 1e-6).all(), (name, known.min(), known.max())


def _measure(piece: Experiment, name: str) -> Measure | None:
    starred = (
        m for key, m in piece.measures.items() if key[-1] == "*" and name.startswith(key[:-1])
    )
    return piece.measures.get(name) or next(starred, None)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in SALIENCIES.modules
        if "layers" not in SALIENCIES[name].needs and SALIENCIES[name].fit is None
    ],
)
def test_scores_lie_in_their_range(name: str, trained_model: OneSequence, ours: Any) -> None:
    batch = ours.batch(range(4))
    label = probabilities(trained_model(batch).logits).argmax(-1)
    params = {"samples": 64} if name in ("lime", "kernel_shap") else {}
    scores = explain(name, trained_model, batch, label, **params).numpy()
    assert SALIENCIES[name].range is not None
    low, high = SALIENCIES[name].range
    assert (scores >= low - 1e-9).all() and (scores <= high + 1e-9).all() and scores.any()


def test_a_terminal_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "metric", "tvd"]) == 0
    out = capsys.readouterr().out
    assert METRICS["tvd"].formula in out and METRICS["tvd"].limits in out and "0 to 1" in out
    assert main(["list", "erasure"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("probe erasure") and "js_difference" in out and "−ln 2 to ln 2" in out
    assert main(["list", "flip_share"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("flip_share: share of words gone") and "heedful audit (erasure)" in out
    assert main(["list", "js_difference", "--json"]) == 0
    (number,) = json.loads(capsys.readouterr().out)["measures"]
    assert number["by"] == "probe erasure" and number["name"] == "js_difference"
    assert main(["list", "probe", "tvd"]) == 2
    assert "unknown probe 'tvd'" in capsys.readouterr().err
    assert main(["list", "nonsense"]) == 2
    assert "unknown kind of piece 'nonsense'" in capsys.readouterr().err
    assert main(["list", "comprehensivness"]) == 2
    assert "(did you mean 'comprehensiveness'?)" in capsys.readouterr().err


def test_the_measures_of_an_audit_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """From where they are defined: with formula, range and paper, in a list of their own."""
    assert main(["list"]) == 0
    listed = capsys.readouterr().out.partition("\nmeasure:\n")[2]
    assert main(["list", "--json"]) == 0
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)["measures"]}
    page = pages()["properties.md"]
    for name, measure in ERASURE_MEASURES.items():
        assert re.search(rf"^  {name} +{re.escape(measure.description)}", listed, re.MULTILINE)
        assert found[name]["formula"] == measure.formula and measure.formula in page
        assert found[name]["range"] is not None
        assert main(["list", name]) == 0
        told = capsys.readouterr().out
        assert measure.formula in told and all(
            in_order([key])[0].words in told for key in measure.papers
        )
    assert main(["list", "measure", "sufficiency"]) == 0
    assert capsys.readouterr().out.startswith("sufficiency: ")
    for beginning in ("deletion", "insertion"):
        assert main(["list", beginning]) == 0
        assert capsys.readouterr().out.startswith(f"{beginning}_auc: ")
    assert main(["list", "measure", "magic"]) == 2
    assert "unknown measure 'magic'" in capsys.readouterr().err


def test_a_name_of_several_kinds_is_told_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "diversity", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["pieces"]
    assert [piece["kind"] for piece in found] == ["term", "pretrained-term"]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ((0.0, 1.0), "0 to 1"),
        ((-1.0, 1.0), "−1 to 1"),
        ((0.0, np.log(2)), "0 to ln 2"),
        ((1.0, np.inf), "1 and above"),
        ((-np.inf, 0.0), "0 and below"),
        ((-np.inf, np.inf), "any number"),
        (None, ""),
    ],
)
def test_ranges_in_words(limits: Any, words: str) -> None:
    assert in_words(limits) == words
