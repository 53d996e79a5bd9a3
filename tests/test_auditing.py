"""What an audit measures, and that nothing but the texts and the model changes it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from heedful.attributions import SALIENCIES
from heedful.auditing import (
    BASELINES,
    COLUMNS,
    EXTRA,
    NUMBERS,
    SEEDS,
    Audit,
    AuditSpec,
    Measuring,
    checked_texts,
    estimate,
    explain,
    named,
    names_in,
    tables,
)
from heedful.auditing import measure as measuring
from heedful.cli import catalogue, main
from heedful.entries import ANY
from heedful.errors import HeedfulError
from heedful.experiments import SINK_MEASURES
from heedful.store import Run, Store
from heedful.verdict import Verdict

pytest.importorskip("transformers")

from audited import (
    AGREE,
    ERASURE,
    EXPLANATIONS,
    IMPORTANCE,
    LEAST,
    MOVED,
    ONE,
    PLAUSIBLE,
    SMALL,
    audit,
    auditing,
    bert,
    planted_run,
    texts,
    values,
    wave_settings,
)
from tiny_hf import tiny_hf
from tiny_tokenizers import byte_pairs, saved, word_pieces


@pytest.fixture(scope="module")
def run(store: Store) -> Run:
    return planted_run(store)


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
    pairs = [{**row, "of": f"p{number // 2}"} for number, row in enumerate(texts(4))]
    revised = audit(bert(), pairs, replace(LEAST, only=("counterfactuals",)), pair_column="of")
    every = (of_run, of_bert, beside, revised)
    names = {str(name) for each in every for name in each.rows["measure"]}
    declared = {name: group for group, each in NUMBERS.items() if group != SEEDS for name in each}
    assert {re.sub("^(tau|search_gap):.*", r"\1:*", name) for name in names} == set(declared)
    for name in names:
        assert catalogue().measured(name, catalogue().of_audits()), name
    ranges = {name: each.range for group in NUMBERS.values() for name, each in group.items()}
    for name, numbers in of_run.rows.groupby("measure")["value"]:
        low, high = ranges.get(str(name)) or ANY
        assert numbers.dropna().between(low - 1e-6, high + 1e-6).all(), name


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
    monkeypatch.setattr(measuring, "randomised", lambda model, *_: nullcontext(model))
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
