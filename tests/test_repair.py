"""Repair: the methods, the rules by hand, and the whole of it on a tiny corpus."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from heedful.auditing import (
    ATTENTION,
    IMPORTANCE,
    METHODS,
    AuditSpec,
    Bounded,
    check_methods,
    choose_method,
    dominated_by,
    entrants,
    repair_method,
    score_over_seeds,
    spread,
    upwards,
)
from heedful.cli import main
from heedful.errors import HeedfulError
from heedful.report import careful
from heedful.specs import ModelSpec, ProbeSpec, TermSpec
from heedful.store import Store
from parsed_page import loads_nothing, parse
from verbs import run

NAN = math.nan
runs = import_module("heedful.auditing.repair")


def at(value: float, half: float = 0.05) -> Bounded:
    return Bounded(value, value - half, value + half)


# methods and models


def test_a_method_is_a_change_of_the_spec() -> None:
    base = ModelSpec("bilstm", "additive")
    found = entrants(base, ["diversity", "sparsemax", "orthogonal", "concat"], 20)
    assert found["base"] == base
    assert found["diversity"] == ModelSpec(terms=(TermSpec("diversity", 0.5),))
    assert found["sparsemax"] == ModelSpec(attention="sparsemax")
    assert found["orthogonal"] == ModelSpec(encoder="orthogonal")
    assert found["concat"] == ModelSpec(encoder="bilstm+concat")
    assert list(found) == ["base", "diversity", "sparsemax", "orthogonal", "concat"]


def test_all_states_are_as_wide_as_embeddings_where_one_method_needs_it() -> None:
    """Two directions have half of it each; one direction has all."""
    found = entrants(ModelSpec(), ["tying", "diversity", "orthogonal", "concat"], 20)
    assert found["tying"].terms == (TermSpec("tying", 0.03),)
    sizes = {name: model.hidden for name, model in found.items()}
    assert sizes == {"base": 10, "tying": 10, "diversity": 10, "orthogonal": 20, "concat": 10}
    with pytest.raises(HeedfulError, match="as wide as embeddings of 7"):
        entrants(ModelSpec(), ["tying"], 7)


def test_methods_are_joined() -> None:
    found = entrants(ModelSpec(), ["tying+diversity", "sparsemax+residual"], 20)
    assert found["tying+diversity"].name == "bilstm-additive+tying0.03+diversity0.5"
    assert found["sparsemax+residual"].name == "bilstm+residual-sparsemax"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["tieing"], "choose one of concat, diversity"),
        (["tying+tying"], "names a part twice"),
        (["tying+mlm", "mlm+tying"], "same method as tying"),
        (["sparsemax+entmax"], "more than one attention"),
        (["concat+residual"], "choose one"),
        (["tying+"], "unknown method ''"),
    ],
)
def test_wrong_methods_are_named(names: list[str], message: str) -> None:
    with pytest.raises(HeedfulError, match=message.replace("+", r"\+")):
        check_methods(names)


def test_a_method_the_base_has_is_refused() -> None:
    with pytest.raises(HeedfulError, match="has sparsemax already"):
        entrants(ModelSpec(attention="sparsemax"), ["sparsemax"], 20)


def test_the_bases_wrapper_stays() -> None:
    found = entrants(ModelSpec(encoder="bilstm+concat"), ["orthogonal"], 20)
    assert found["orthogonal"].encoder == "orthogonal+concat"
    with pytest.raises(HeedfulError, match="has concat already"):
        entrants(ModelSpec(encoder="bilstm+concat"), ["concat"], 20)


def test_methods_the_corpus_has_nothing_for_are_left_out_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is trained."""
    texts = tmp_path / "texts.csv"
    lines = [f"good w{i % 7} fine,{i % 2}" for i in range(60)]
    texts.write_text("\n".join(["text,label", *lines]) + "\n")
    common = ["repair", "--corpus", str(texts), "--store", str(tmp_path / "s"), "--seeds", "1"]
    assert main([*common, "--methods", "diversity,supervised"]) == 2
    assert "supervised does not fit" in capsys.readouterr().err
    narrow = ["--param", "dimension=6", "--dry-run", "--n", "3", "--quick", "--epochs", "1"]
    assert main([*common, *narrow]) == 0
    said = capsys.readouterr()
    for name in ("tying", "mlm", "supervised"):
        assert f"{name} is left out" in said.err + said.out
    assert not list((tmp_path / "s" / "runs").glob("model-*"))


def test_a_base_at_chance_is_called_so() -> None:
    facts = {"seeds": [0, 1, 2], "width": None, "score": "accuracy"}
    assert "commonest class" in careful({**facts, "low": 0.5, "majority": 0.52})[0]
    assert not any("commonest" in x for x in careful({**facts, "low": 0.7, "majority": 0.52}))


def test_every_part_of_every_method_exists() -> None:
    from heedful.models import ATTENTIONS, ENCODERS, WRAPPERS
    from heedful.training import TERMS

    for name in METHODS:
        found = repair_method(name)
        assert all(term.name in TERMS for term in found.terms)
        for part, catalogue in (
            (found.encoder, ENCODERS),
            (found.wrapper, WRAPPERS),
            (found.attention, ATTENTIONS),
        ):
            assert not part or part in catalogue


# rules, by hand


def test_dominated_by_hand() -> None:
    """b beats a in the property beyond a's interval at the same score; c alone is better than a
    in both, but inside a's intervals; d gave score for property, so nobody beats it in both."""
    scores = {"a": at(0.80), "b": at(0.80), "c": at(0.81), "d": at(0.60)}
    found = {"a": at(0.30), "b": at(0.40), "c": at(0.32), "d": at(0.90)}
    assert dominated_by(scores, found, "a") == "b"
    assert dominated_by(scores, found, "b") == ""
    assert dominated_by(scores, found, "c") == ""
    assert dominated_by(scores, found, "d") == ""
    some = {name: found[name] for name in ("a", "c", "d")}
    assert dominated_by(scores, some, "a") == ""


def test_the_score_alone_may_dominate_and_no_number_never_does() -> None:
    scores = {"a": at(0.80), "b": at(0.90), "c": at(0.99)}
    found = {"a": at(0.30), "b": at(0.30), "c": Bounded(NAN, NAN, NAN, "unusable")}
    assert dominated_by(scores, found, "a") == "b"
    assert dominated_by(scores, found, "c") == ""
    no_interval = {"a": Bounded(0.3, NAN, NAN), "b": Bounded(0.9, NAN, NAN)}
    level = {"a": at(0.8), "b": at(0.8)}
    assert dominated_by(level, no_interval, "a") == ""


def test_less_is_better_for_uniqueness_alone() -> None:
    assert upwards("uniqueness", Bounded(0.4, 0.3, 0.6)) == Bounded(-0.4, -0.6, -0.3)
    assert upwards("importance", at(0.4)) == at(0.4)


def test_the_choice_by_hand() -> None:
    """far ranks best and lost 4 points; near lost 2."""
    scores = {"base": at(0.80), "far": at(0.76), "near": at(0.78), "worse": at(0.90)}
    ranking = {"base": at(0.30), "far": at(0.90), "near": at(0.50), "worse": at(0.20)}
    chosen = choose_method(scores, ranking, 0.03, "accuracy")
    assert chosen.method == "near"
    assert chosen.sentence == (
        "near gains 0.20 in importance (from 0.30 to 0.50, beyond both intervals), and costs 2.0 "
        "points of accuracy."
    )
    assert choose_method(scores, ranking, 0.05, "accuracy").method == "far"
    kept = choose_method(scores, {**ranking, "near": at(0.29)}, 0.03, "accuracy")
    assert kept.method == "base" and "the base is kept" in kept.sentence
    nothing = dict.fromkeys(scores, Bounded(NAN, NAN, NAN, "unusable"))
    assert choose_method(scores, nothing, 0.03, "accuracy").method == "base"


def test_a_gain_inside_the_intervals_is_called_so() -> None:
    scores = {"base": at(0.8), "other": at(0.8)}
    chosen = choose_method(scores, {"base": at(0.3), "other": at(0.33)}, 0.0, "accuracy")
    assert "but the intervals overlap), and costs no accuracy." in chosen.sentence


def test_a_score_over_seeds_by_hand() -> None:
    """Two seeds 0.5 and 0.6: their mean's error is 0.05, with one degree of freedom."""
    found = spread(np.array([0.5, 0.6]), 0.0, 0.05)
    half = stats.t.ppf(0.95, 1) * 0.05
    assert found.value == pytest.approx(0.55)
    assert (found.low, found.high) == pytest.approx((0.55 - half, 0.55 + half))
    assert spread(np.array([0.9, 1.0]), 0.0, 0.05).high == 1.0
    # errors of 0.05 from seeds and from texts: √2 as much, with 4 degrees of freedom
    both = spread(np.array([0.5, 0.6]), 0.05, 0.05)
    assert both.high == pytest.approx(0.55 + stats.t.ppf(0.95, 4) * 0.05 * math.sqrt(2))


def test_one_seed_has_the_texts_interval() -> None:
    table = pd.DataFrame({"measure": ["f1", "accuracy"], "mean": [0.1, 0.8]})
    table = table.assign(low=table["mean"] - 0.098, high=table["mean"] + 0.098)
    found = score_over_seeds([table], "accuracy", 0.05)
    half = stats.norm.ppf(0.95) * 0.098 / stats.norm.ppf(0.975)
    assert (found.value, found.low) == pytest.approx((0.8, 0.8 - half))


# the whole of it

TINY = [
    *("--corpus", "planted", "--param", "n_train=40", "--param", "n_dev=12"),
    *("--param", "n_test=12", "--param", "dimension=8", "--hidden", "4"),
    *("--n", "10", "--epochs", "1"),
]
SMALL = AuditSpec(
    explanations=(ATTENTION, *IMPORTANCE),
    only=("interventions", "erasure"),
    permutations=2,
    ceiling=6,
)


@pytest.fixture(scope="module", autouse=True)
def small_audits() -> Iterator[None]:
    """What is audited and how scores are resampled is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "REPAIR_SPEC", SMALL)
        patch.setattr(runs, "SCORED", ProbeSpec("score", {"resamples": 20}))
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("repair")


def test_page_picture_table_and_model(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    pytest.importorskip("altair")
    from heedful.interventions import restored

    options = [*TINY, "--methods", "diversity,sparsemax", "--seeds", 2, "--store", place / "store"]
    code, out, _ = run(capsys, "repair", *options, "-o", place / "out", "--json")
    assert code == 0
    found = json.loads(out)
    folder = place / "out"
    assert sorted(each.name for each in folder.iterdir()) == [
        "heedful-manifest.json", "model", "repair.csv", "repair.html", "repair.svg",
    ]  # fmt: skip
    page = (folder / "repair.html").read_text(encoding="utf8")
    assert found["sentence"][1:] in page.replace("&#39;", "'")
    assert "the base" in page and loads_nothing(parse(page))
    assert page.count("<figure>") >= 2  # words hardly matter to a model of one epoch
    table = pd.read_csv(folder / "repair.csv")
    assert set(table["method"]) == {"base", "diversity", "sparsemax"}
    assert {"accuracy", "use", "importance", "stability"} <= set(table["quantity"])
    assert (folder / "repair.svg").read_text(encoding="utf8").startswith("<svg")
    taken = Store(folder / "model")
    assert restored(taken.open(found["model"])).sites
    where: dict[str, Any] = {}
    exec(found["load"], where)  # the line that people are told to type
    assert where["model"].sites[0].main


def test_what_is_done_is_not_done_again(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    """The same command: every run is found, and the same is said."""
    store = place / "store"
    before = {path: path.stat().st_mtime_ns for path in store.glob("runs/*/run.json")}
    options = [*TINY, "--methods", "diversity,sparsemax", "--seeds", 2, "--store", store]
    code, out, _ = run(capsys, "repair", *options)
    assert code == 0
    assert {path: path.stat().st_mtime_ns for path in store.glob("runs/*/run.json")} == before
    lines = out.splitlines()
    assert lines[0].split()[:2] == ["method", "accuracy"]
    assert any(line.startswith("Rule: ") for line in lines)
    assert sum("(chosen)" in line for line in lines) == 1
    (place / "out" / "notes.txt").write_text("mine")
    code, out, err = run(capsys, "repair", *options, "-o", place / "out")
    assert code == 0 and err.endswith(f"page: {place / 'out' / 'repair.html'}\n")
    assert (place / "out" / "notes.txt").read_text() == "mine"
    (place / "out" / "repair.csv").write_text("mine")
    code, out, err = run(capsys, "repair", *options, "-o", place / "out")
    assert code == 2 and "is there already" in err


def test_one_seed_says_that_there_is_no_interval_over_seeds(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    options = [*TINY, "--methods", "diversity", "--seeds", 1, "--store", place / "store"]
    code, out, _ = run(capsys, "repair", *options)
    assert code == 0
    assert "there is no interval over seeds" in out


def test_a_dry_run_trains_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = [*TINY, "--methods", "diversity", "--seeds", 2, "--store", tmp_path]
    code, out, _ = run(capsys, "repair", *options, "--dry-run", "--json")
    found = json.loads(out)
    assert code == 0
    assert [each["method"] for each in found["methods"]] == ["base", "diversity"]
    assert all(each["audit_seconds"] > 0 for each in found["methods"])
    assert {key.split("-")[0] for key in Store(tmp_path).keys()} == {"corpus"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "tieing"], "choose one of concat"),
        (["--methods", "diversity,,tying"], "empty name"),
        (["--methods", "diversity", "--max-score-drop", "1.5"], "--max-score-drop is 1.5"),
        (["--methods", "diversity", "--score", "bleu"], "choose one of accuracy"),
        (["--methods", "diversity", "--seeds", "none"], "--seeds is 'none'"),
        (["--methods", "diversity", "--corpus", "toytranslation"], "choose a corpus with classes"),
        (["--methods", "sparsemax", "--attention", "sparsemax"], "leave it out"),
    ],
)
def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], message: str
) -> None:
    code, _, err = run(capsys, "repair", *TINY, *options, "--store", tmp_path)
    assert code == 2
    assert message in err and err.count("\n") == 1
