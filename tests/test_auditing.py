"""The audit as a whole: what it measures, that nothing but the texts and the model changes it,
that it goes on after a kill, and that finished work is never done twice."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import heedful
from heedful.attributions import SALIENCIES, check_uses
from heedful.auditing import (
    BASELINES,
    COLUMNS,
    EXTRA,
    GROUPS,
    LOOKS,
    NUMBERS,
    SEEDS,
    Audit,
    AuditSpec,
    Measurer,
    Measuring,
    Plan,
    checked_texts,
    compare,
    estimate,
    explain,
    named,
    names_in,
    spec_digest,
    tables,
)
from heedful.auditing import measure as measuring
from heedful.cli import catalogue, main
from heedful.data import default_spec, prepare
from heedful.entries import ANY, Piece
from heedful.errors import HeedfulError
from heedful.experiments import ERASER_MEASURES, SINK_MEASURES
from heedful.metrics import f1_of_means
from heedful.parameters import parameters_of
from heedful.runner import Machine, Recipe, trained
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store
from heedful.targets import open_target
from heedful.verdict import Settings, Verdict, importance_cells, tabulate_blocks

pytest.importorskip("transformers")

from tiny_hf import tiny_hf
from tiny_tokenizers import byte_pairs, saved, word_pieces

auditing = import_module("heedful.auditing.audit")
wave_settings = import_module("heedful.auditing.schedule")


PLANTED = default_spec("planted", n_train=60, n_dev=10, n_test=12, dimension=8)
EXPLANATIONS = ("attention", "gradient_input", "integrated_gradients", "occlusion")
SMALL = AuditSpec(EXPLANATIONS, permutations=2, ceiling=6, orders=4, exact=5, search_steps=2)
AGREE = replace(SMALL, only=("interventions", "agreement"))
MOVED = replace(SMALL, explanations=("attention",), only=("interventions",))
ONE = ("gradient_input",)
LEAST = replace(SMALL, explanations=("attention", *ONE), importance=ONE, only=("agreement",))
WORDS = [
    "good", "bad", "film", "the", "a", "is", "very", "not", "unlike", "story", "plot", "it", "was",
    "great", "dull",
]  # fmt: skip
ERASURE = {
    "comprehensiveness", "sufficiency", "deletion_auc", "insertion_auc", "flip_share",
    "flip_censored",
}  # fmt: skip
IMPORTANCE = {"importance_captured", "importance_tau"}
PLAUSIBLE = {"auprc", "token_f1", "iou_f1", "mass_inside"}
FEW = Settings(resamples=100)


def audit(
    model: Any,
    data: Any = None,
    spec: AuditSpec = SMALL,
    settings: Settings = FEW,
    plan: Plan = Plan(),
    **options: Any,
) -> Audit:
    return auditing.audit(model, data, spec, settings, plan, **options)


def texts(n: int, classes: int = 2, seed: int = 0) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [
        {"text": " ".join(draw.sample(WORDS, draw.randint(3, 9))), "label": i % classes}
        for i in range(n)
    ]


def bert(**model: Any) -> tuple[Any, Any]:
    """The plain one is shared: an audit gives it back as it was."""
    return (tiny_hf(**model), word_pieces()) if model else plain()


@cache
def plain() -> tuple[Any, Any]:
    return tiny_hf(), word_pieces()


@pytest.fixture(scope="module")
def run(store: Store) -> Run:
    corpus = prepare(PLANTED, store)
    return trained(store, corpus, Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 0), Machine())


@pytest.fixture(scope="module")
def of_run(run: Run) -> Audit:
    return audit(run, spec=SMALL)


@pytest.fixture(scope="module")
def of_bert(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    folder = saved(tmp_path_factory.mktemp("bert"))
    rows = [{**row, "why": [[0, 2]]} for row in texts(12)]
    return audit(folder, rows, SMALL, rationale_column="why")


def cells(rows: pd.DataFrame, model: str = "base") -> dict[tuple[str, str], set[str]]:
    """Measures by explanation and operator."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in (
        rows[rows["model"] == model]
        .drop_duplicates(["explanation", "operator", "measure"])[
            ["explanation", "operator", "measure"]
        ]
        .itertuples(index=False)
    ):
        found.setdefault((row.explanation, row.operator), set()).add(row.measure)
    return found


@pytest.mark.parametrize("which", ["of_run", "of_bert"])
def test_rows_keep_the_contract(which: str, request: pytest.FixtureRequest) -> None:
    found: Audit = request.getfixturevalue(which)
    rows, there = found.rows, cells(found.rows)
    assert tuple(rows.columns) == COLUMNS
    assert set(rows["model"]) == {"base", "randomised"}
    assert rows["value"].dtype == np.float64
    assert not rows.drop(columns="value").isna().any().any()
    assert not np.isinf(rows["value"]).any()
    assert rows["example"].nunique() == 12 and rows["length"].between(1, 40).all()
    assert set(rows["label"]) | set(rows["predicted"]) <= {0, 1}
    assert rows["confidence"].between(0.5, 1).all()
    keys = ["model", "example", "explanation", "operator", "measure"]
    assert not rows.duplicated(keys).any()
    assert there["", ""] == {"correct"}
    for edit in ("uniform", "permute", "uniform everywhere", "permute everywhere"):
        assert there["", edit] == {"correct", "tvd"}
    taus = {"tau:occlusion", "tau:integrated_gradients"}
    for name in (*EXPLANATIONS, *BASELINES):
        assert there[name, ""] >= (taus - {f"tau:{name}"}) | PLAUSIBLE
        assert f"tau:{name}" not in there[name, ""]
    own = {"tvd_permuted", "js_top", "js_random", "js_best", "jsd_same_output"}
    assert there["attention", ""] >= own | {"jsd_same_output_ratio", "jsd_entropy_matched"}
    assert ("reachable" in there["attention", ""]) == (which == "of_run")
    for operator in ("delete", "mask"):
        for name in (*EXPLANATIONS, *BASELINES, "search"):
            assert there[name, operator] >= (ERASURE - {"flip_censored"}) | IMPORTANCE
    for row in rows[rows["measure"].str.startswith("tau:")].itertuples():
        assert math.isnan(row.value) or -1 - 1e-9 <= row.value <= 1 + 1e-9


def test_every_number_says_what_it_is(of_run: Audit, of_bert: Audit) -> None:
    """`heedful list` knows every name of the table, and no name that is in none."""
    marked = [{**row, "why": [[0, 2]]} for row in texts(4)]
    beside = audit(bert(), marked, replace(LEAST, only=EXTRA), rationale_column="why")
    names = {str(name) for each in (of_run, of_bert, beside) for name in each.rows["measure"]}
    declared = {name: group for group, each in NUMBERS.items() if group != SEEDS for name in each}
    assert {re.sub("^(tau|search_gap):.*", r"\1:*", name) for name in names} == set(declared)
    for name in names:
        assert catalogue().measured(name, catalogue().of_audits()), name
    ranges = {name: each.range for group in NUMBERS.values() for name, each in group.items()}
    for name, values in of_run.rows.groupby("measure")["value"]:
        low, high = ranges.get(str(name)) or ANY
        assert values.dropna().between(low - 1e-6, high + 1e-6).all(), name


def test_health_is_measured_on_a_quarter_whatever_the_batches(of_bert: Audit) -> None:
    random_rows = of_bert.rows[of_bert.rows["model"] == "randomised"]
    ids = sorted(set(of_bert.rows["example"]))
    assert set(random_rows["example"]) == checked_texts(ids, 0) and len(checked_texts(ids, 0)) == 3
    assert set(cells(of_bert.rows, "randomised")) == {
        (name, way) for name in (*EXPLANATIONS, *BASELINES, "search") for way in ("delete", "mask")
    }
    assert checked_texts(["only"], 0) == {"only"}


def test_health_compares_like_with_like(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may differ but the weights: where they stay as they are, all is the same."""
    monkeypatch.setattr(measuring, "randomised", lambda model, seed: nullcontext(model))
    spec = replace(SMALL, only=("erasure", "randomization_check"), ceiling=40)
    found = values(audit(bert(), texts(8), spec, dtype="float64"))
    again = found["randomised"]
    base = found["base"].reindex(again.index)
    assert set(again.index.get_level_values("example")) == checked_texts(_ids(found), 0)
    assert np.allclose(again, base, rtol=0, atol=1e-9, equal_nan=True)


def _ids(found: pd.Series) -> list[str]:
    return sorted(set(found.index.get_level_values("example")))


@pytest.mark.parametrize("size", [0.0, 1e-3])
def test_a_model_to_which_no_word_matters_cannot_be_ranked(size: float) -> None:
    """A search finds something above the floor in the last digits too."""
    model, tokenizer = tiny_hf(), word_pieces()
    with torch.no_grad():
        model.classifier.weight.mul_(size)
    spec = replace(SMALL, only=("importance", "erasure", "randomization_check"))
    found = audit((model, tokenizer), texts(24), spec).verdict
    assert found["importance"].decision == "UNUSABLE"
    assert {part.reason for part in found["importance"].parts} == {"no example has it defined"}
    assert found.recommendation.best == found.direction.best == ""


def test_the_search_is_no_worse_than_what_it_started_from(of_bert: Audit) -> None:
    """A ceiling below an explanation would be no ceiling."""
    rows = of_bert.rows[(of_bert.rows["model"] == "base") & (of_bert.rows["operator"] == "delete")]
    for measure, sign in (("comprehensiveness", 1), ("sufficiency", -1), ("deletion_auc", -1)):
        wide = rows[rows["measure"] == measure].pivot(
            index="example", columns="explanation", values="value"
        )
        best = sign * wide.drop(columns="search").mul(sign).max(axis=1)
        assert (sign * (wide["search"] - best) >= -1e-6).all(), measure


def test_the_search_is_held_against_the_exact_optimum(of_bert: Audit, of_run: Audit) -> None:
    """On texts of at most five words, of which the first data has some and the second none."""
    short = set(of_bert.rows[of_bert.rows["length"] <= 5]["example"])
    gaps = of_bert.rows[of_bert.rows["measure"].str.startswith("search_gap:")]
    assert set(gaps["example"]) == short and set(gaps["model"]) == {"base"}
    assert set(gaps["operator"]) == {"delete", "mask"} and (gaps["value"] >= 0).all()
    found = of_bert.facts["oracle"]
    assert found["exact_words"] == 5 and found["examples"] == len(short) > 0
    assert found["equal"] == pytest.approx((gaps["value"] <= 1e-6).mean())
    deletion = gaps[gaps["measure"] == "search_gap:deletion_auc"]["value"]
    assert found["gap_by_measure"]["deletion_auc"] == pytest.approx(deletion.mean())
    assert set(found["equal_by_measure"]) == ERASURE - {"flip_censored"}
    assert of_run.rows["length"].min() > 5 and "oracle" not in of_run.facts


def test_exact_texts_cost_every_set_once_under_each_operator() -> None:
    """And nothing else is asked of the model about them: not for curves, search or its gaps."""
    model, tokenizer = bert(seed=0)
    seen: list[int] = []
    model.register_forward_hook(lambda module, given, out: seen.append(len(out.logits)))
    rows = [{"text": "a good film is not dull", "label": 1}]
    spec = replace(SMALL, exact=6, ceiling=40, explanations=("attention",))
    passes = []
    for only in ((), ("erasure",), ("importance",), ("erasure", "importance")):
        seen.clear()
        audit((model, tokenizer), rows, replace(spec, only=only))
        passes.append(sum(seen))
    assert [each - passes[0] for each in passes[1:]] == [2 * 2**6] * 3


def test_maps_and_texts_fit_together(of_run: Audit, of_bert: Audit) -> None:
    for found in (of_run, of_bert):
        words = {row.example: len(row.words) for row in found.documents.itertuples()}
        assert set(words) == set(found.rows["example"])
        assert set(found.maps["explanation"]) == {*EXPLANATIONS, *BASELINES}
        for row in found.maps.itertuples():
            assert len(row.scores) == words[row.example] and np.isfinite(row.scores).all()
        assert set(found.costs["explanation"]) == set(EXPLANATIONS)
        assert (found.costs["milliseconds_per_text"] > 0).all()
        assert (found.costs["passes_per_text"] >= 1).all()


def test_a_verdict_and_an_audit_come_back_as_they_were(of_bert: Audit, tmp_path: Path) -> None:
    text = of_bert.verdict.to_json()
    assert Verdict.from_json(text).to_json() == text
    folder = of_bert.save(tmp_path / "audit")
    again = Audit.load(folder)
    assert again.verdict.to_json() == text and again.facts == dict(of_bert.facts)
    for name in ("rows", "costs"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(of_bert, name))
    assert [list(s) for s in again.maps["scores"]] == [list(s) for s in of_bert.maps["scores"]]
    words = ([list(each) for each in found.documents["words"]] for found in (again, of_bert))
    assert next(words) == next(words)
    with pytest.raises(HeedfulError, match="is there already"):
        of_bert.save(folder)
    with pytest.raises(HeedfulError, match="no verdict.json"):
        Audit.load(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["audit"]


def test_an_audit_is_printed_as_its_verdict(of_bert: Audit) -> None:
    assert str(of_bert).splitlines() == of_bert.verdict.lines() == str(of_bert.verdict).splitlines()
    whole = (f"<Audit of {of_bert.facts['measured']} texts: ", "<Verdict: ")
    for shown, start in zip((repr(of_bert), repr(of_bert.verdict)), whole, strict=True):
        assert shown == f"{start}{of_bert.verdict.headline}>"


def test_what_is_shown_is_escaped(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    evil = "<script>alert(1)</script>"
    names = {0: evil, 1: "a&b"}
    model, tokenizer = bert(id2label=names, label2id={v: k for k, v in names.items()})
    rows = [{**row, "text": f"good {evil} {row['text']}"} for row in texts(12)]
    found = audit((model, tokenizer), rows, LEAST)
    page = found.to_html(tmp_path / "page.html").read_text(encoding="utf8")
    assert evil not in page and evil not in found._repr_html_()
    one = explain((model, tokenizer), f"good {evil}", explanations="attention")
    assert evil not in one._repr_html_() and "script" in one._repr_html_()


def values(found: Audit) -> pd.Series:
    keys = ["model", "example", "explanation", "operator", "measure"]
    return found.rows.set_index(keys)["value"].sort_index()


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text by itself, in waves of three."""
    monkeypatch.setattr(wave_settings, "TOKENS_AT_ONCE", 1)
    monkeypatch.setattr(auditing, "waves", partial(wave_settings.waves, wave=3))


@pytest.mark.parametrize(
    ("which", "dtype"),
    [("run", "float64"), ("bert", "float64"), ("bert", "float32"), ("gpt2", "float64")],
)
def test_batches_change_nothing(
    which: str, dtype: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SMALL if dtype == "float64" else AGREE
    subjects: dict[str, Callable[[], Audit]] = {
        "run": lambda: audit(run, spec=SMALL, dtype=dtype, n=3),
        "bert": lambda: audit(bert(), texts(3), spec, dtype=dtype),
        "gpt2": lambda: audit(writer(), texts(3), AGREE, dtype=dtype, **ASKED),
    }
    together = subjects[which]()
    alone(monkeypatch)
    apart = subjects[which]()
    one, other = values(together), values(apart)
    assert one.index.equals(other.index)
    near = 1e-8 if dtype == "float64" else 1e-4
    off = ~np.isclose(one, other, rtol=0, atol=near, equal_nan=True)
    assert not off.any(), pd.DataFrame({"one": one[off], "other": other[off]}).to_string()


def test_the_side_of_padding_changes_nothing() -> None:
    model, tokenizer = bert(double=True)
    right = audit((model, tokenizer), texts(10), LEAST)
    tokenizer.padding_side = tokenizer.truncation_side = "left"
    left = audit((model, tokenizer), texts(10), LEAST)
    pd.testing.assert_frame_equal(right.rows, left.rows)


def test_the_same_audit_twice_is_the_same_bytes(run: Run, tmp_path: Path) -> None:
    for number in (1, 2):
        audit(run, spec=SMALL, n=3).save(tmp_path / str(number))
    for name in ("rows.parquet", "maps.parquet", "documents.parquet"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_other_seeds_draw_otherwise() -> None:
    one, other = (audit(bert(), texts(10), replace(MOVED, seed=seed)) for seed in (0, 1))
    assert (one.maps["explanation"] == other.maps["explanation"]).all()
    drawn = [values(each).xs("tvd_permuted", level="measure") for each in (one, other)]
    assert not np.allclose(*drawn)


# --- layers


LAYERS = replace(SMALL, explanations=("attention",), only=("layers",))
STACKS = ("first=1", "first=2", "first=3", "last=1", "last=2")


def stacks_of(found: Audit, measure: str) -> dict[str, pd.Series]:
    """By stack, without the name of the layers' group; values by example."""
    rows = found.rows[found.rows["measure"] == measure]
    kinds = rows["operator"].str.rpartition(":")
    assert set(kinds[0]) <= {"permute encoder.layer.attention.self"}
    by_stack = rows.set_index("example")["value"].groupby(kinds[2].to_numpy())
    return {str(name): part for name, part in by_stack}


def test_stacks_of_layers_are_shuffled_from_both_ends() -> None:
    """Where a stack is one layer or all of them, other groups measure the same thing."""
    model = bert(num_hidden_layers=3)
    spec = replace(LAYERS, only=("layers", "interventions"))
    found = audit(model, texts(6), spec, dtype="float64")
    moved, right = stacks_of(found, "tvd_stack"), stacks_of(found, "correct_stack")
    assert tuple(moved) == tuple(right) == STACKS
    all_values = values(found)["base"]
    for stack, layer in {"first=1": 0, "last=1": 2}.items():
        alone = all_values[:, f"attention:layer={layer}", "permute recomputed", "tvd_layer"]
        assert np.allclose(moved[stack], alone, atol=1e-12)
    assert np.allclose(moved["first=3"], all_values[:, "", "permute everywhere", "tvd"], atol=1e-12)
    assert (right["first=3"] == all_values[:, "", "permute everywhere", "correct"]).all()
    assert not np.allclose(moved["first=2"], moved["last=2"])
    assert set(found.rows.query("measure == 'correct_stack'")["value"]) <= {0.0, 1.0}


def test_stacks_need_layers_and_accuracy_needs_labels(of_run: Audit) -> None:
    assert not of_run.rows["measure"].str.contains("stack|layer").any()  # it has one layer
    rows = [{"text": row["text"]} for row in texts(3)]
    found = audit(bert(), rows, LAYERS, label_column=None)
    assert set(found.rows["measure"]) - SINK_MEASURES.keys() == {"tvd_layer", "tvd_stack"}


@pytest.mark.parametrize("layers", [2, 3])
def test_what_layers_cost_is_foreseen(layers: int) -> None:
    """A pass for each of two edits in two modes at each layer, and for each stack: an estimate
    makes them all, also a quick one's, for one text and again for four."""
    model, tokenizer = bert(num_hidden_layers=layers)
    seen: list[int] = []
    model.register_forward_hook(lambda module, given, output: seen.append(1))
    passes = []
    for only in ((), ("layers",)):
        seen.clear()
        estimate((model, tokenizer), texts(4), replace(LAYERS, only=only))
        passes.append(len(seen))
    assert passes[1] - passes[0] == 2 * (4 * layers + 2 * layers - 1)
    assert "layers" in Measuring(quick=True).spec().only


def test_layers_are_one_line_in_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "bert")
    pd.DataFrame(texts(6)).to_csv("data.csv", index=False)
    for only, wanted in (("layers", 1), ("heads", 0)):
        assert main(["audit", str(tmp_path / "bert"), "data.csv", "--only", only]) == 0
        said = [line for line in capsys.readouterr().out.splitlines() if "shuffled" in line]
        assert len(said) == wanted
    assert not said


# --- every kind of subject


def writer() -> tuple[Any, Any]:
    return tiny_hf("GPT2", "language", vocab_size=300), byte_pairs()


ASKED: dict[str, Any] = {"label_words": {"0": " bad", "1": " good"}, "template": "{text} is"}


def test_without_labels() -> None:
    rows = [{"text": row["text"]} for row in texts(10)]
    found = audit(bert(), rows, MOVED, label_column=None)
    assert "correct" not in set(found.rows["measure"]) and set(found.rows["label"]) == {-1}
    assert "accuracy lost (uniform)" not in found.verdict["use"].numbers
    assert any(text.startswith("no labels") for text in found.verdict.warnings)
    assert set(found.documents["label"]) == {-1}


def test_pairs_are_explained_over_both_texts() -> None:
    rows = [{**row, "b": "the film is good"} for row in texts(10)]
    found = audit(bert(), rows, MOVED, text_b_column="b")
    assert (found.documents["text_b"] == "the film is good").all()
    assert all(
        list(words)[-4:] == ["the", "film", "is", "good"] for words in found.documents["words"]
    )
    same = audit(bert(), [{**row, "text": "a story"} for row in rows], AGREE, text_b_column="b")
    assert same.rows["cluster"].nunique() == 1
    blocked = same.verdict["agreement"].blocked
    assert blocked.startswith("too few examples: 1 (texts that are equal or share a cluster count")


def test_a_number_and_one_of_many_labels_are_asked_yes_or_no() -> None:
    numbers = [{**row, "label": i / 7} for i, row in enumerate(texts(10))]
    found = audit(bert(classes=1, problem_type="regression"), numbers, MOVED)
    assert found.facts["classes"][0].startswith("at most ")
    assert found.facts["notes"][0].startswith("the model predicts a number")
    assert set(found.rows["predicted"]) == {0, 1}  # the median splits them
    many = [{**row, "label": [i % 3]} for i, row in enumerate(texts(10))]
    model = bert(classes=3, problem_type="multi_label_classification")
    found = audit(model, many, MOVED, label="LABEL_1")
    assert found.facts["notes"] == ["of 3 labels only 'LABEL_1' is on trial."]
    assert found.documents["label"].tolist() == [i % 3 == 1 for i in range(10)]


def test_language_models_are_asked_for_a_word_or_the_next_token() -> None:
    found = audit(writer(), texts(6), MOVED, **ASKED)
    assert found.facts["classes"] == ["0", "1"] and set(found.rows["label"]) == {0, 1}
    found = audit(writer(), texts(6), replace(MOVED, only=("interventions",)))
    assert set(found.rows["label"]) == {-1} and len(found.facts["classes"]) == 300
    assert len(found.verdict.to_json()) < 50_000


def test_a_vocabulary_is_no_part_of_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MANY_CLASSES", 2)
    found = audit(bert(classes=3), texts(6, 3), MOVED)
    assert "classes" not in found.verdict.facts and len(found.facts["classes"]) == 3


STRANGE = {
    "one text": [{"text": "a good film", "label": 1}],
    "one word": [{"text": "good", "label": 1}, {"text": "bad", "label": 0}],
    "the same word": [{"text": "good good good", "label": i % 2} for i in range(3)],
    "long": [{"text": "good film " * 5000, "label": 1}, {"text": "bad", "label": 0}],
    "signs": [
        {"text": text, "label": i % 2}
        for i, text in enumerate(
            ["\x00good\x07 film\x1b[31m", "😀 👩‍👩‍👧 good", "שלום עולם", "x" * 100_000,
             "\u202egood\u202c film", "\ufeffbad\u200b plot", "e\u0301 ﷽ ｆｕｌｌ"]
        )
    ],
}  # fmt: skip


@pytest.mark.parametrize("which", STRANGE)
def test_strange_texts(which: str) -> None:
    found = audit(bert(), STRANGE[which], SMALL)
    assert found.verdict.decision == "INCONCLUSIVE"
    assert found.verdict.warnings[0].startswith("too few examples")
    assert "explains these predictions: too few examples: " in str(found).splitlines()[0]
    assert Verdict.from_json(found.verdict.to_json()).decision == "INCONCLUSIVE"
    assert found.facts["measured"] == len(STRANGE[which]) - sum(found.facts["dropped"].values())
    if which == "long":
        assert "99.4% of all words were lost" in found.facts["notes"][0]


def test_a_long_text_of_our_own_model_is_cut(run: Run) -> None:
    """Time goes by the square of the length: ten thousand words would take hours."""
    rows = [{"text": "good film " * 5000, "label": "positive"}]
    found = audit(run, rows, replace(LEAST, only=()))
    assert found.rows["length"].tolist() == [1022] * len(found.rows)
    assert "1 of 1 texts were longer than the model reads" in " ".join(found.facts["notes"])


# --- bad input to the library


def refused(match: str, model: Any, data: Any, spec: AuditSpec = LEAST, **options: Any) -> None:
    with pytest.raises(HeedfulError, match=match) as caught:
        audit(model, data, spec, **options)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_outputs_that_are_no_numbers_are_refused() -> None:
    model, tokenizer = bert(seed=0)
    with torch.no_grad():
        model.classifier.weight[0, 0] = torch.nan
    refused("output for text 'row-.*' is not a number", (model, tokenizer), texts(3))
    with pytest.raises(HeedfulError, match="is not a number"):
        explain((model, tokenizer), "good film")


@pytest.mark.parametrize("names", ["attention", "lrp, occlusion:operator=mask"])
def test_names_of_explanations_are_no_second_text(names: str) -> None:
    with pytest.raises(HeedfulError, match="write explanations="):
        explain(bert(), "good film", names)


def test_bad_texts_and_specs_are_refused() -> None:
    half = [{"text": "good \ud83d film", "label": 1}]
    refused("row 1 of the list has half of a character at 5", bert(), half)
    odd = [{"text": "good", "label": 1, "id": "\udc80"}]
    refused("half of a character", bert(), odd, id_column="id")
    refused("has a word in it", bert(), [{"text": " ", "label": 1}, {"text": "", "label": 0}])
    refused("needs at least one row", bert(), [])
    refused(
        "unknown removal operator 'burn'", bert(), texts(2), replace(LEAST, operators=("burn",))
    )
    wrongs: list[dict[str, Any]] = [
        {"only": ("magic",)},
        {"permutations": 0},
        {"search_steps": 0},
        {"ceiling": -1},
        {"orders": 3},
        {"exact": 17},
        {"target": "loss"},
        {"importance": ()},
        {"epsilon": -1.0},
    ]
    for wrong in wrongs:
        with pytest.raises(HeedfulError):
            replace(SMALL, **wrong)


@pytest.mark.parametrize("name", sorted(SALIENCIES))
@pytest.mark.parametrize("value", ["-7", "99", "0", "1.5", "words", "None", "1e999"])
def test_parameters_of_explanations_work_or_are_refused(name: str, value: str) -> None:
    """Whatever is written after the colon: scores, or one sentence; never a crash."""
    import inspect

    known = inspect.signature(SALIENCIES[name].make).parameters
    for parameter in known:
        if parameter in ("model", "batch", "label", "target"):
            continue
        try:
            found = explain(bert(), "a good film", explanations=f"{name}:{parameter}={value}")
        except HeedfulError as error:
            assert "\n" not in str(error)
        else:
            (scores,) = found.scores.values()
            assert np.isfinite(scores).all()


def test_names_of_explanations() -> None:
    assert names_in("attention:layer=0,head=1, lime , occlusion:operator=mask") == [
        "attention:layer=0,head=1",
        "lime",
        "occlusion:operator=mask",
    ]
    assert named("attention:layer=0, head=1").params == {"layer": 0, "head": 1}
    assert named("attention:head=None").params == {"head": None}
    for text in ("attention:", "attention:layer", "attention:=1", "attention:layer=" + "9" * 5000):
        with pytest.raises(HeedfulError):
            named(text)
    for text in ("", "attention,,lime", ",attention"):
        with pytest.raises(HeedfulError, match="has no name"):
            names_in(text)


def test_the_prior_counts_all_texts_however_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    alone(monkeypatch)
    priors = ("prior:kind=type", "prior:kind=position")
    spec = replace(LEAST, explanations=("attention", *ONE, *priors))
    maps = audit(bert(), texts(6), spec).maps.set_index(["explanation", "example"])["scores"]
    for name in maps["prior"].index:
        assert list(maps["prior", name]) == list(maps["prior:kind=type", name])
        assert list(maps["prior", name]) != list(maps["prior:kind=position", name])


# --- killed and started again


class Stop(Exception):
    pass


def stopping(after: int) -> Callable[[str, int, int], None]:
    def listen(label: str, done: int, total: int) -> None:
        if done >= after:
            raise Stop

    return listen


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The texts of every batch that is measured."""
    seen: list[tuple[str, ...]] = []
    whole = Measurer.__call__

    def call(self: Measurer, batch: Any, *rest: Any) -> Any:
        seen.append(batch.ids)
        return whole(self, batch, *rest)

    monkeypatch.setattr(Measurer, "__call__", call)
    return seen


def kept(store: Store, pattern: str = "*") -> list[Path]:
    return sorted(store.root.glob(f"scratch/{pattern}"))


def test_a_killed_audit_goes_on(
    counted: list[tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "waves", partial(wave_settings.waves, wave=4))
    model, rows, store = bert(), texts(12), Store(tmp_path)
    whole = audit(model, rows, LEAST)
    counted.clear()
    with pytest.raises(Stop):
        audit(model, rows, LEAST, plan=Plan(store, progress=stopping(4)))
    first = [name for ids in counted for name in ids]
    assert len(first) == 4 and not store.keys() and len(kept(store, "audit-*/part-*")) == 5
    counted.clear()
    found = audit(model, rows, LEAST, plan=Plan(str(tmp_path)))
    rest = [name for ids in counted for name in ids]
    assert not set(first) & set(rest) and len(first + rest) == 12
    pd.testing.assert_frame_equal(found.rows, whole.rows)
    assert found.verdict.decision == whole.verdict.decision
    folders = whole.save(tmp_path / "whole"), found.save(tmp_path / "found")
    same = [(folder / "rows.parquet").read_bytes() for folder in folders]
    assert same[0] == same[1]


@pytest.fixture(scope="module")
def three() -> Audit:
    return audit(bert(), texts(3), LEAST)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with what an audit of three texts left that was stopped before it was judged."""
    root = tmp_path_factory.mktemp("stopped")
    with pytest.raises(Stop):
        audit(bert(), texts(3), LEAST, plan=Plan(Store(root), progress=stopping(1)))
    return root


@pytest.mark.parametrize(
    ("kind", "how"),
    [("rows", "cut"), ("maps", "cut"), ("costs", "cut"), ("rows", "empty"), ("maps", "gone"),
     ("rows", "other"), ("costs", "other"), ("shown", "cut"), ("shown", "other")],
)  # fmt: skip
def test_a_damaged_part_is_measured_again(
    kind: str, how: str, stopped: Path, three: Audit, tmp_path: Path, request: Any
) -> None:
    counted = request.getfixturevalue("counted")  # after what is shared was measured
    store = Store(shutil.copytree(stopped, tmp_path / "store"))
    (path,) = kept(store, f"audit-*/part-*.{kind}.parquet")
    if how == "gone":
        path.unlink()
    elif how == "other":
        pd.DataFrame({"x": [1]}).to_parquet(path)
    else:
        path.write_bytes(path.read_bytes()[:-20] if how == "cut" else b"")
    found = audit(bert(), texts(3), LEAST, plan=Plan(store))
    assert len(counted) == 1
    pd.testing.assert_frame_equal(found.rows, three.rows)


def test_a_part_that_is_whole_is_not_measured_again(
    counted: list[tuple[str, ...]], stopped: Path, three: Audit, tmp_path: Path
) -> None:
    store = Store(shutil.copytree(stopped, tmp_path / "store"))
    counted.clear()
    found = audit(bert(), texts(3), LEAST, plan=Plan(store))
    assert not counted
    pd.testing.assert_frame_equal(found.rows, three.rows)


def test_a_finished_audit_is_a_run_and_only_judged_again(
    counted: list[tuple[str, ...]], tmp_path: Path
) -> None:
    model, rows, store = bert(), texts(12), Store(tmp_path)
    first = audit(model, rows, LEAST, plan=Plan(store))
    (run,) = store.runs("audit")
    assert run.key == first.facts["key"] and not kept(store) and not store.damaged()
    assert run.json("verdict")["headline"] == first.verdict.headline
    assert run.json("facts")["texts"] == 12 and len(run.table("documents")) == 12
    counted.clear()
    again = audit(model, rows, LEAST, plan=Plan(store))
    assert not counted
    assert again.verdict.to_json() == first.verdict.to_json() and again.facts == first.facts
    pd.testing.assert_frame_equal(again.rows, first.rows)
    pd.testing.assert_frame_equal(again.costs, first.costs)
    assert [list(s) for s in again.maps["scores"]] == [list(s) for s in first.maps["scores"]]
    assert list(again.documents["text"]) == list(first.documents["text"])
    strict = replace(FEW, effects={"agreement": 0.9})
    other = audit(model, rows, LEAST, strict, Plan(store))
    assert not counted and other.verdict.settings["effects"]["agreement"] == 0.9
    assert other.verdict.to_json() == audit(model, rows, LEAST, strict).verdict.to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"spec": replace(LEAST, seed=1)},
        {"spec": replace(LEAST, epsilon=0.02)},
        {"model": bert(seed=1)},
        {"data": texts(7)},
        {"data": [{**row, "label": 1 - row["label"]} for row in texts(6)]},
        {"dtype": "float64"},
        {"max_length": 5},
    ],
    ids=["seed", "spec", "model", "texts", "labels", "dtype", "length"],
)
def test_what_changes_a_number_changes_the_key(
    change: dict[str, Any], counted: list[tuple[str, ...]], tmp_path: Path
) -> None:
    store = Store(tmp_path)
    given: dict[str, Any] = {"model": bert(), "data": texts(6), "spec": LEAST}
    audit(**given, plan=Plan(store))
    counted.clear()
    audit(**{**given, **change}, plan=Plan(store))
    assert counted and len(store.keys()) == 2


def test_new_names_of_classes_need_no_new_measurement(
    counted: list[tuple[str, ...]], tmp_path: Path
) -> None:
    store, names = Store(tmp_path), {0: "no", 1: "yes"}
    model, tokenizer = bert(seed=0)
    audit((model, tokenizer), texts(6), LEAST, plan=Plan(store))
    model.config.id2label, model.config.label2id = names, {v: k for k, v in names.items()}
    counted.clear()
    found = audit((model, tokenizer), texts(6), LEAST, plan=Plan(store))
    assert not counted and found.facts["classes"] == ["no", "yes"]


def test_what_was_left_out_is_refused_once_it_is_asked_for(tmp_path: Path) -> None:
    """A finished audit without an explanation does not answer who asked for it by name."""
    spec = replace(LEAST, explanations=("attention", *ONE, "attention:layer=9"))
    given: dict[str, Any] = {"model": bert(), "data": texts(4), "spec": spec}
    found = audit(**given, plan=Plan(Store(tmp_path)))
    assert "choose one from 0 to 1" in found.facts["skipped"]["attention:layer=9"]
    assert "attention:layer=9" not in set(found.rows["explanation"])
    must = frozenset({"attention:layer=9"})
    for store in (Store(tmp_path), None):
        with pytest.raises(HeedfulError, match="no layer 9: choose one from 0 to 1"):
            audit(**given, plan=Plan(store, must=must))


def test_what_was_left_out_is_said_everywhere(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    spec = replace(LEAST, explanations=("attention", *ONE, "attention:layer=9"))
    found = audit(bert(), texts(4), spec)
    told = json.loads(found.verdict.to_json())["facts"]["skipped"]
    assert set(told) == {"attention:layer=9"} and told == found.facts["skipped"]
    page = found.to_html(tmp_path / "page.html").read_text(encoding="utf8")
    left_out = page[page.index("Left out, and why") :]
    assert "attention:layer=9" in left_out and "choose one from 0 to 1" in left_out


def test_a_damaged_run_is_said_to_be_so(tmp_path: Path) -> None:
    store = Store(tmp_path)
    given: dict[str, Any] = {"model": bert(), "data": texts(4), "spec": LEAST}
    audit(**given, plan=Plan(store))
    next(tmp_path.glob("runs/audit-*/rows.parquet")).write_bytes(b"")
    with pytest.raises(HeedfulError, match="rows.parquet was changed"):
        audit(**given, plan=Plan(Store(tmp_path)))


# --- time


def looked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(look, looks) of every judgement."""
    seen: list[tuple[int, int]] = []
    judge = tables.judge

    def listen(rows: Any, costs: Any, facts: Any, chosen: Settings) -> Verdict:
        seen.append((chosen.look, chosen.looks))
        return judge(rows, costs, facts, chosen)

    monkeypatch.setattr(tables, "judge", listen)
    return seen


def test_a_budget_stops_early_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "waves", partial(wave_settings.waves, wave=2))
    seen, store = looked(monkeypatch), Store(tmp_path)
    model, rows = bert(), texts(16)
    found = audit(model, rows, LEAST, plan=Plan(store, budget=1e-9))
    assert found.facts["measured"] == found.rows["example"].nunique() == 2
    assert found.facts["texts"] == 16 and found.facts["notes"][-1] == (
        "stopped early: 2 of 16 texts were measured."
    )
    assert len(found.documents) == 2 and found.verdict.facts["measured"] == 2
    assert seen == [(LOOKS, LOOKS)]  # out of time between two looks
    assert not store.keys() and kept(store)
    seen.clear()
    whole = audit(model, rows, LEAST, plan=Plan(store))
    assert whole.facts["measured"] == 16 and not whole.facts["notes"] and seen == [(1, 1)]
    assert len(store.keys()) == 1 and not kept(store)
    seen.clear()
    again = audit(model, rows, LEAST, plan=Plan(store, budget=1e-9))
    assert again.facts["measured"] == 16 and seen == [(1, 1)]  # nothing was peeked at


def test_looks_spend_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "waves", partial(wave_settings.waves, wave=3))
    seen = looked(monkeypatch)
    found = audit(bert(), texts(12), MOVED, plan=Plan(budget=1e9))
    assert seen == [(look, LOOKS) for look in range(1, LOOKS + 1)]
    assert found.facts["measured"] == 12 and not found.facts["notes"]
    once = audit(bert(), texts(12), MOVED).verdict
    wide, narrow = found.verdict["use"], once["use"]
    assert wide.estimate == pytest.approx(narrow.estimate, abs=1e-6)  # other batches
    assert wide.low < narrow.low and wide.high > narrow.high
    assert found.verdict.digest == once.digest  # when it was looked is no setting


@pytest.mark.parametrize("steps", [*range(1, 12), 100])
def test_the_last_look_is_the_last(steps: int) -> None:
    looks = auditing._looks([32] * steps)
    assert looks[steps] == LOOKS and list(looks.values()) == sorted(set(looks.values()))
    assert min(looks) >= 1 and max(looks) == steps and min(looks.values()) >= 1


def test_two_names_of_one_operator_count_once(run: Run) -> None:
    """A model without a mask token is shown its unknown word by both."""
    erased = replace(SMALL, only=("importance",))
    found = audit(run, spec=replace(erased, operators=("mask", "unk")))
    assert found.facts["operators"] == ["mask"]
    assert set(found.rows["operator"]) == {"", "mask"}
    assert any("mask and unk are the same" in note for note in found.facts["notes"])
    assert "at least 2 removal operators" in found.verdict["importance"].blocked
    renamed = audit(run, spec=replace(erased, operators=("unk", "delete")))
    assert renamed.facts["operators"] == ["mask", "delete"]
    usual = audit(run, spec=erased)
    assert not any("mask" in note for note in usual.facts["notes"])
    pd.testing.assert_frame_equal(renamed.rows, usual.rows)


def test_a_mask_of_its_own_is_another_operator() -> None:
    spec = replace(SMALL, only=("erasure",), operators=("mask", "unk", "mask"))
    found = audit(bert(), texts(3), spec)
    assert found.facts["operators"] == ["mask", "unk"] and not found.facts["notes"]


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("attention", ()),
        ("gradient_input", ()),
        ("leave_one_out", ("delete",)),
        ("occlusion", ("delete",)),
        ("occlusion:operator=zero", ("zero",)),
        ("occlusion:magnitude=true,operator=mask", ("mask",)),
        ("lime", ("mask",)),
        ("kernel_shap:samples=20,operator=delete", ("delete",)),
        ("integrated_gradients", ("mask",)),
        ("integrated_gradients:baseline=zero", ("zero",)),
        ("integrated_gradients:baseline=pad", ("zero",)),  # padding's embedding is zero
    ],
)
def test_what_an_explanation_uses(name: str, uses: tuple[str, ...]) -> None:
    assert named(name).uses == uses


def test_every_explanation_of_ours_says_what_it_uses() -> None:
    for name in SALIENCIES.modules:
        piece = SALIENCIES[name]
        check_uses(piece)
        ways = {"operator", "baseline"} & set(parameters_of(piece.make))
        assert {f"={way}" for way in ways} <= set(piece.uses or ()), name


def test_no_explanation_is_scored_by_what_made_it(run: Run) -> None:
    """Integrated gradients by their baseline, a stranger's by what it declares; a model without
    a mask of its own masks with its unknown word."""
    mine = Piece("mine", "", SALIENCIES["gradient"].make, uses=("delete",))
    heedful.extend("saliency", mine)
    try:
        unknown = "integrated_gradients:baseline=unk"
        names = ("attention", "integrated_gradients", unknown, "occlusion", "mine")
        spec = replace(SMALL, explanations=names, only=("importance",))
        of_run, of_bert = audit(run, spec=spec, n=4), audit(bert(), texts(4), spec)
    finally:
        SALIENCIES.added.clear()
    uses = {"integrated_gradients": ["mask"], "occlusion": ["delete"], "mine": ["delete"]}
    assert of_run.verdict.settings["uses"] == {**uses, unknown: ["mask"]}
    assert of_bert.verdict.settings["uses"] == {**uses, unknown: ["unk"]}
    chosen, table = Settings.from_dict(of_run.verdict.settings), tabulate_blocks([of_run.rows])
    scored = {
        name: {cell.operator for cell in importance_cells(table, "base", name, chosen)}
        for name in names
    }
    assert scored == {
        "attention": {"delete", "mask"},
        "integrated_gradients": {"delete"},
        unknown: {"delete"},
        "occlusion": {"mask"},
        "mine": {"mask"},
    }
    ranked = {each.explanation for each in of_run.verdict.recommendation.ranked}
    assert ranked <= set(names)


def test_groups_are_known_by_their_earlier_names() -> None:
    """And audits that were stored under them are found."""
    spec = AuditSpec(only=("exclusivity", "erasure", "health", "sanity"))
    assert spec == AuditSpec(only=("uniqueness", "erasure", "randomization_check", "map_sanity"))
    assert spec_digest(AuditSpec()) == "154737ac1c1f7c14"
    assert spec_digest(AuditSpec(only=("map_sanity", "erasure", "health"))) == "7d4cdcf7ca268788"


def test_only_some_groups() -> None:
    rows = [{**row, "why": [[0, 2]]} for row in texts(4)]
    groups = {
        "interventions": {"correct", "tvd", "tvd_permuted"}
        | {f"{by}_{item}" for by in ("js", "tvd") for item in ("top", "random", "best")},
        "agreement": {"tau:occlusion", "tau:integrated_gradients"},
        "erasure": ERASURE,
        "plausibility": PLAUSIBLE,
        "uniqueness": {"jsd_same_output", "jsd_same_output_ratio", "jsd_entropy_matched"},
    }
    assert set(groups) <= set(GROUPS)
    for group, measures in groups.items():
        spec = replace(SMALL, only=(group,))
        found = audit(bert(), rows, spec, rationale_column="why")
        assert set(found.rows["measure"]) - {*SINK_MEASURES, "tie_rate"} == measures, group
        assert found.verdict.decision == "INCONCLUSIVE"


def test_what_needs_weights_that_sum_to_one_is_left_out_for_gates(store: Store) -> None:
    gate, softmax = (
        trained(
            store,
            prepare(PLANTED, store),
            Recipe(ModelSpec("average", attention, hidden=8), TrainSpec(epochs=1), 0),
            Machine(),
        )
        for attention in ("gate", "additive")
    )
    spec = replace(MOVED, only=("interventions", "uniqueness", "null_space"))
    whole, found = (audit(each, spec=spec, n=4) for each in (softmax, gate))
    needed = {"js_top", "tvd_best", "jsd_same_output", "jsd_entropy_matched", "reachable"}
    needed.add("null_space_jsd")
    assert needed <= set(whole.rows["measure"]) and not whole.facts["skipped"]
    assert not needed & set(found.rows["measure"])
    assert {"tvd", "tvd_permuted"} <= set(found.rows["measure"])
    skipped = found.facts["skipped"]
    assert set(skipped) == {"erasure of an item of attention", "uniqueness", "null_space"}
    assert all("this model has a gate" in why for why in skipped.values())


def test_importance_can_be_measured_alone(store: Store) -> None:
    """Of every explanation and the oracle, by each operator; a random order finds nothing."""
    corpus = prepare(PLANTED, store)
    run = trained(store, corpus, Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 0), Machine())
    maps = {"attention", "gradient_input", "occlusion"}
    spec = replace(SMALL, explanations=tuple(sorted(maps)), only=("importance",))
    found = audit(run, spec=spec, n=8).rows
    held = found[found["measure"] == "importance_captured"]
    sinks = {"attention:sinks=first", "attention:sinks=punctuation"}  # one head: no special
    assert set(held["explanation"]) == {*maps, *BASELINES, "search", *sinks}
    assert set(held["operator"]) == {"delete", "mask"} and held["value"].between(-1, 1).all()
    means = held.groupby("explanation")["value"].mean()
    assert means["search"] > 0.1 and abs(means["random"]) < 0.1
    tau = found[found["measure"] == "importance_tau"]
    assert set(tau["explanation"]) == {*maps, *BASELINES, "search"}


def test_layers_and_heads_are_scored_by_the_importance_they_capture(of_run: Audit) -> None:
    """As if each had been asked for by name; the last layer's mean is `attention` itself."""
    spec = replace(SMALL, explanations=("attention",), only=("importance", "heads"))
    free = values(audit(bert(), texts(5), spec, dtype="float64"))
    sites = sorted({name for name in free.index.get_level_values(2) if "layer" in name})
    heads = [f"attention:layer={layer},head={head}" for layer in (0, 1) for head in (0, 1)]
    assert sites == sorted(["attention:layer=0", *heads])
    asked = replace(spec, explanations=("attention", *sites), only=("importance",))
    named = values(audit(bert(), texts(5), asked, dtype="float64"))
    chosen = named[named.index.get_level_values("measure") == "importance_captured"]
    assert np.allclose(free.reindex(chosen.index), chosen, rtol=0, atol=1e-9, equal_nan=True)
    alone = replace(spec, only=("importance",))
    assert not values(audit(bert(), texts(2), alone)).index.get_level_values(2).isin(sites).any()
    held = of_run.rows.query("measure == 'importance_captured'")
    assert not held["explanation"].str.contains("layer=").any()  # one layer of one head


def test_only_so_many_heads_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MOST_SITES", 2)
    spec = replace(SMALL, explanations=("attention",), only=("importance", "heads"))
    found = audit(bert(), texts(2), spec)
    rows = found.rows.query("measure == 'importance_captured'")
    sites = {name for name in rows["explanation"] if "layer" in name}
    assert sites == {"attention:layer=0", "attention:layer=0,head=0"}
    assert "only the first 2 were scored" in found.facts["skipped"]["other layers and heads"]


@pytest.mark.parametrize(("target", "size"), [("probability", 1e-3), ("logit", 1e-3)])
def test_where_no_word_matters_nothing_is_captured(target: str, size: float) -> None:
    model, tokenizer = tiny_hf(), word_pieces()
    spec = replace(SMALL, target=target, explanations=("attention",), only=("importance",))
    usual = audit((model, tokenizer), texts(3), spec).rows.query("operator != ''")
    with torch.no_grad():
        model.classifier.weight.mul_(size)
    found = audit((model, tokenizer), texts(3), spec).rows.query("operator != ''")
    assert set(found["measure"]) == IMPORTANCE and found["value"].isna().all()
    assert usual["value"].notna().any()


def test_candidates_are_measured_on_request() -> None:
    """Of every map by each operator; with importance they ask for no drawn set again."""
    spec = replace(SMALL, explanations=("attention", "gradient_input"), only=("candidates",))
    found = audit(bert(), texts(3), spec).rows.query("operator != ''")
    assert set(found["measure"]) == set(NUMBERS["candidates"])
    assert set(found["explanation"]) == {"attention", "gradient_input", *BASELINES}
    assert set(found["operator"]) == {"delete", "mask"} and set(found["model"]) == {"base"}
    with_both = audit(bert(), texts(3), replace(spec, only=("importance", "candidates")))
    same = with_both.rows[with_both.rows["measure"].isin(set(found["measure"]))]
    assert np.allclose(same["value"], found["value"], equal_nan=True)


def test_infidelity_is_measured_on_request(store: Store) -> None:
    """Random sets by each operator, and noise for the maps that take the text as it is."""
    corpus = prepare(PLANTED, store)
    run = trained(store, corpus, Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 0), Machine())
    maps = ("attention", "gradient_input", "occlusion")
    found = audit(run, spec=replace(SMALL, explanations=maps, only=("infidelity",)), n=4).rows
    gaps = found[found["measure"] == "infidelity"]
    assert set(gaps["explanation"]) == {*maps, *BASELINES}
    assert set(gaps["operator"]) == {"delete", "mask"} and (gaps["value"] >= 0).all()
    noisy = found[found["measure"] == "max_sensitivity"]
    assert set(noisy["explanation"]) == {"attention", "gradient_input"}
    assert noisy["value"].between(0, 5).all() and (noisy["value"] > 0).any()


def test_eraser_is_measured_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Words that people marked: the first of six and the first two of four, so a third of the
    words on average. Precision and recall are joined by `compare`."""
    rows = [
        {"text": "good film the plot it was", "label": 1, "why": [[0, 4]]},
        {"text": "good film is great", "label": 0, "why": [[0, 9]]},
        {"text": "dull story", "label": 0, "why": []},
    ]
    spec = replace(SMALL, explanations=("attention", "occlusion"), only=("eraser",))
    with open_target(bert(), rows, rationale_column="why") as subject:
        assert subject.marked_share == pytest.approx(1 / 3)
    found = audit(bert(), rows, spec, rationale_column="why")
    names = set(ERASER_MEASURES)
    assert set(found.rows["measure"]) - SINK_MEASURES.keys() == names
    erased = found.rows[found.rows["measure"] == "eraser_sufficiency"]
    assert set(erased["operator"]) == {"delete", "mask"} and set(erased["model"]) == {"base"}
    mine = found.rows.query("explanation == 'attention' and operator == ''")
    wide = mine.pivot(index="example", columns="measure", values="value")
    marked = wide.dropna(subset=["eraser_auprc"])
    assert len(marked) == 2
    tokens = marked[["eraser_token_precision", "eraser_token_recall"]]
    assert tokens.isin([0.0, 0.5, 1.0]).all(axis=None)  # two words of each are chosen
    found.save(tmp_path / "one")
    assert main(["compare", str(tmp_path / "one"), "--measure", "eraser_iou_f1", "--json"]) == 0
    compared = {row["explanation"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    parts = (marked[f"eraser_iou_{part}"].to_numpy() for part in ("precision", "recall"))
    assert compared["attention"]["mean"] == pytest.approx(f1_of_means(*parts))
    assert compared["attention"]["n"] == 2
    with pytest.raises(HeedfulError, match="did you mean 'eraser_iou_f1'"):
        compare({"one": found}, "eraser_iou_f")


def test_eraser_without_rationales_is_about_erasure_and_always_of_probabilities() -> None:
    spec = replace(SMALL, explanations=("attention",), only=("erasure", "eraser"))
    plain, logits = (
        audit(bert(), texts(3), replace(spec, target=target)).rows
        for target in ("probability", "logit")
    )
    names = {"eraser_comprehensiveness", "eraser_sufficiency"}
    assert {name for name in plain["measure"] if name.startswith("eraser")} == names
    one, two = (
        rows[rows["measure"].isin(names)].reset_index(drop=True) for rows in (plain, logits)
    )
    pd.testing.assert_frame_equal(one, two)
    ours = [rows[rows["measure"] == "comprehensiveness"]["value"] for rows in (plain, logits)]
    assert not np.allclose(*ours)
