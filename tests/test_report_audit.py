"""The page of an audit: verdict first, escaped, honest about gaps, the same each time."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from heedful.report import (
    ACCURACY,
    LARGEST,
    MOVED,
    SMALLEST,
    TERMS,
    WRONG,
    Marks,
    alone,
    audit_page,
    bar,
    bounds,
    eraser,
    evidence_of,
    heads,
    heaviest,
    infidelity,
    layers_line,
    milliseconds,
    null_space,
    padded,
    percent,
    plain,
    positions,
    sanity,
    scale_of,
    shown,
    stack_numbers,
    stack_panels,
    stacks,
    texts,
    window,
    word_map,
)
from heedful.report.audit_texts import SHOWN
from heedful.report.formats import weight
from heedful.verdict import PROPERTIES, Decision, Statement, judge
from parsed_page import loads_nothing, parse
from verdict_tables import World, costs, rows_of

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytest.importorskip("jinja2")

HOSTILE = '<script>alert("x")</script><img src=x onerror=y>'


def parts_of(world: World, **facts: Any) -> dict[str, Any]:
    """An audit as it would have been left: rows of a known world, its verdict, made-up maps."""
    rows = pd.concat([rows_of(world), *_extra(world)], ignore_index=True)
    known = {"model": "tiny", "data": "made up", "classes": ["alpha", "beta"], **facts}
    verdict = json.loads(judge(rows, costs(), known).to_json())
    maps, documents = _texts(rows)
    return {
        "verdict": verdict,
        "facts": known,
        "rows": rows,
        "maps": maps,
        "costs": costs(),
        "documents": documents,
    }


def _extra(world: World) -> list[pd.DataFrame]:
    """Measures that the world of the verdict's tests does without."""
    base = rows_of(world)
    first = base[(base["measure"] == "correct") & (base["operator"] == "")]
    share = np.linspace(0.1, 0.9, len(first))
    return [
        first.assign(explanation="attention", measure="jsd_same_output_ratio", value=share),
        first.assign(explanation="attention", measure="jsd_entropy_matched", value=share / 3),
    ]


def _texts(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    random = np.random.default_rng(0)
    facts = rows.drop_duplicates("example").sort_values("example")
    maps, documents = [], []
    for number, line in enumerate(facts.to_dict("records")):
        size = int(line["length"])
        scores = random.dirichlet(np.ones(size))
        signed = random.normal(size=size)
        signed[-1] = np.nan
        maps += [(line["example"], "attention", scores), (line["example"], "lrp", signed)]
        words = [f"w{number}.{i}" for i in range(size + 2)]
        rationale = [i == 0 for i in range(size)] if number % 2 else None
        documents.append((line["example"], words, " ".join(words), "", line["label"], rationale))
    columns = ["example", "words", "text", "text_b", "label", "rationale"]
    return (
        pd.DataFrame(maps, columns=["example", "explanation", "scores"]),
        pd.DataFrame(documents, columns=columns),
    )


@pytest.fixture(scope="module")
def parts() -> dict[str, Any]:
    return parts_of(World(truth=0.2, examples=60))


@pytest.fixture(scope="module")
def page(parts: dict[str, Any]) -> str:
    return audit_page(parts)


def test_the_verdict_comes_first(page: str, parts: dict[str, Any]) -> None:
    text, verdict = parse(page).text, parts["verdict"]
    body = page.index("<body>")
    assert verdict["decision"] == "NOT SUPPORTED"
    headline = re.sub(r" \([^()]*, asked [^()]*\)", "", verdict["headline"])
    assert "✗ Not supported" in text and headline[1:] in text
    assert headline != verdict["headline"]  # its numbers stand below, as drawings
    assert verdict["recommendation"]["sentence"][1:] in text
    assert page.index("<h1>") < page.index('id="properties"') < page.index('id="choice"')
    assert body < page.index('class="badge no large"') < page.index("<h1>")
    for warning in verdict["warnings"]:
        assert warning in text
    for caveat in verdict["caveats"]:
        assert caveat in text


def test_every_statement_is_shown_with_its_numbers(page: str, parts: dict[str, Any]) -> None:
    text = parse(page).text
    for one in parts["verdict"]["statements"]:
        assert f"Behind {one['property']}" in text
        if one["estimate"] is not None:
            assert bounds(one["low"], one["high"]) in text
        for part in one["parts"]:
            assert part["usable"] or part["reason"] in text
    assert "alpha" in text and "shortest" in text and "surest" in text


def test_ranking_and_prices(page: str, parts: dict[str, Any]) -> None:
    text = parse(page).text
    for each in parts["verdict"]["recommendation"]["ranked"]:
        assert plain(each["explanation"]) in text
    assert "cannot be told apart" in text or "worse" in text
    assert "recommended" in text and "31" in text


def test_the_page_loads_nothing(page: str) -> None:
    tags = parse(page)
    assert loads_nothing(tags) and "script" not in tags.tags
    assert "@import" not in page and "url(http" not in page


def test_ids_are_unique_and_links_lead_somewhere(page: str) -> None:
    attributes = parse(page).attributes
    ids = [value for name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for name, value in attributes if name == "href" and value != "data:,"} <= set(
        ids
    )


def test_every_drawing_has_words(page: str) -> None:
    for tag in re.findall(r"<svg[^>]*>", page):
        assert 'aria-label="' in tag or 'aria-hidden="true"' in tag


def test_the_same_audit_gives_the_same_page(page: str, parts: dict[str, Any]) -> None:
    shuffled = {**parts, "rows": parts["rows"].sample(frac=1, random_state=1)}
    shuffled["maps"] = parts["maps"].sample(frac=1, random_state=2)
    assert audit_page(parts) == page
    assert audit_page(shuffled) == page


def test_two_hundred_texts_are_small() -> None:
    big = parts_of(World(examples=200))
    assert len(audit_page(big).encode()) < 2_000_000


def test_hostile_text_is_only_text() -> None:
    hostile = parts_of(
        World(examples=24, others={HOSTILE: 0.9, "lrp": 0.3}),
        model=HOSTILE,
        data=HOSTILE,
        classes=[HOSTILE, HOSTILE],
        skipped={HOSTILE: HOSTILE},
        notes=[HOSTILE],
    )
    hostile["documents"]["words"] = [[HOSTILE, "a\u202eb"] * 30] * 24
    hostile["documents"]["text_b"] = HOSTILE
    for name in ("rows", "maps", "documents"):
        table = hostile[name]
        table["example"] = table["example"] + HOSTILE
    hostile["rows"]["cluster"] = hostile["rows"]["example"]
    hostile["verdict"] = json.loads(judge(hostile["rows"], None, hostile["facts"]).to_json())
    hostile["verdict"]["warnings"] = [HOSTILE]
    hostile["verdict"]["headline"] = HOSTILE
    hostile["verdict"]["digest"] = HOSTILE
    hostile["verdict"]["statements"][0]["notes"] = [HOSTILE]
    found = audit_page(hostile)
    tags = parse(found)
    assert not tags.tags & {"script", "img", "iframe", "object", "base"}
    assert not any(name.startswith("on") for name, _ in tags.attributes)
    assert HOSTILE in tags.text and "\u202e" not in found and "a⟨U+202E⟩b" in tags.text


def test_one_example() -> None:
    text = parse(audit_page(parts_of(World(examples=1)))).text
    assert "1 text ·" in text and "e0000" in text
    assert "nan" not in text.lower().replace("nance", "")


def test_no_labels() -> None:
    parts = parts_of(World(examples=30))
    rows = parts["rows"][parts["rows"]["measure"] != "correct"].assign(label=-1)
    parts |= {"rows": rows, "documents": parts["documents"].assign(label=-1)}
    parts["verdict"] = json.loads(judge(rows, costs(), parts["facts"]).to_json())
    text = parse(audit_page(parts)).text
    assert "no labels" in text and "no label" in text
    assert "wrong prediction" not in text.replace("where the model is wrong", "")


def test_undefined_numbers_are_dashes(parts: dict[str, Any]) -> None:
    rows = parts["rows"].assign(value=np.nan, confidence=np.nan)
    maps = parts["maps"].assign(scores=[np.full(len(s), np.nan) for s in parts["maps"]["scores"]])
    verdict = json.loads(judge(rows, None, parts["facts"]).to_json())
    found = parse(audit_page({**parts, "rows": rows, "maps": maps, "verdict": verdict}))
    values = [value or "" for _, value in found.attributes]
    assert not re.search(r"\b(nan|NaN|None|inf)\b", " ".join([found.text, *values]))
    assert "–" in found.text and "confidence –" in found.text


def test_empty_tables(parts: dict[str, Any]) -> None:
    only = {"verdict": parts["verdict"], "facts": parts["facts"]}
    text = parse(audit_page(only)).text
    for words in (
        "Neither importance nor erasure was measured",
        "No change of attention",
        "No text with a map",
    ):
        assert words in text
    empty = {name: parts[name].iloc[:0] for name in ("rows", "maps", "costs", "documents")}
    assert audit_page({**only, **empty}) == audit_page(only)


def test_a_vocabulary_of_classes_is_never_embedded() -> None:
    many = parts_of(World(examples=40, classes=30), classes=[f"piece{i}" for i in range(50_000)])
    page = audit_page(many)
    assert len(page) < 1_000_000 and "piece49999" not in page and "50000 classes" in page
    assert "piece49999" not in json.dumps(parse(page).blob("examples"))
    unnamed = parts_of(World(examples=12), classes=[])
    assert "class 1" in parse(audit_page(unnamed)).text
    assert "and 18 more with fewer texts" in parse(page).text


def test_texts_are_chosen_by_rule(parts: dict[str, Any]) -> None:
    from scipy.stats import kendalltau

    evidence = evidence_of(parts)
    maps = parts["maps"].set_index(["explanation", "example"])["scores"]
    taus = {
        name: kendalltau(maps["attention", name][:-1], np.abs(maps["lrp", name][:-1])).statistic
        for name in parts["documents"]["example"]
    }
    order = sorted(taus, key=lambda name: taus[name])
    found = texts(evidence)
    assert [each.example for each in found if each.why == LARGEST] == order[:3]
    assert [each.example for each in found if each.why == SMALLEST] == order[::-1][:3]
    assert len(found) == len({each.example for each in found}) == 12
    assert all(each.wrong for each in found if each.why == WRONG)


def test_positions_are_those_of_the_verdict(parts: dict[str, Any]) -> None:
    by_name = {one["property"]: one for one in parts["verdict"]["statements"]}
    expected = {
        (part["measure"], part["operator"]): part["estimate"]
        for part in by_name["importance"]["parts"]
    }
    found = positions(evidence_of(parts))
    assert {one.measure for one in found} == {"importance_captured"}
    for one in found:
        mine = one.table.set_index("explanation").loc["attention", "position"]
        assert mine == pytest.approx(expected[one.measure, one.operator])


def test_shades_keep_the_order_of_scores() -> None:
    scores = np.array([0.0, 0.01, -0.5, 1.0, np.nan, np.nan])
    drawn = word_map("lrp", list("abcdef"), scores, Marks([True], [5]), (0, 6))
    assert [word.shade for word in drawn.words] == ["0", "10", "71", "100", "0", "0"]
    assert [word.kind for word in drawn.words] == ["marked", "", "down", "", "cut", "asked"]
    assert drawn.signed and drawn.top == (("d", "1.000"), ("c", "−0.500"), ("b", "0.010"))
    assert heaviest(np.zeros(3)) == []


def test_long_texts_are_cut_to_where_the_weight_is() -> None:
    scores = np.zeros(1000)
    scores[700] = 1.0
    start, stop = window([scores, padded([], 1000)])
    assert start <= 700 < stop and stop - start == SHOWN


def test_bars_stand_between_floor_and_ceiling() -> None:
    one = Statement("use", Decision.SUPPORTED, "", floor=0.1, ceiling=0.6, threshold=0.05)
    scale = scale_of(replace(one, estimate=0.25, low=0.2, high=0.3))
    assert (scale.low, scale.high, scale.floor, scale.ceiling) == (0.0, 0.5, 0.0, 0.5)
    drawn = bar(scale, 0.25, 0.2, 0.3)
    assert drawn is not None and drawn.estimate == "50.0" and drawn.width == "18.8"
    assert drawn.says.startswith("estimate 0.25, bounds 0.20 to 0.30; threshold 0.05")
    assert bar(scale, math.nan, 0.2, 0.3) is None


def test_agreement_beyond_the_ceiling_is_drawn_whole() -> None:
    one = Statement("agreement", Decision.SUPPORTED, "", threshold=0.5)
    scale = scale_of(replace(one, estimate=1.5, low=1.3, high=1.8))
    drawn = bar(scale, 1.5, 1.3, 1.8)
    assert (scale.low, scale.high) == (-0.15, 1.8)
    assert drawn is not None and float(drawn.estimate) < float(drawn.low) + float(drawn.width) - 5


def test_labels_of_floor_and_ceiling_do_not_run_into_each_other() -> None:
    one = Statement("use", Decision.SUPPORTED, "", floor=0.1, threshold=0.05)
    one = replace(one, estimate=0.4, low=0.3, high=0.5)
    apart, near, only = (
        bar(scale_of(replace(one, ceiling=ceiling)), one.estimate, one.low, one.high)
        for ceiling in (0.6, 0.15, math.nan)
    )
    assert apart is not None and near is not None
    assert [(end.anchor, end.text) for end in apart.ends] == [
        ("start", "floor 0.00"), ("end", "ceiling 0.50"),
    ]  # fmt: skip
    assert [(end.anchor, end.text) for end in near.ends] == [("start", "floor 0.00, ceiling 0.050")]
    assert only is not None and [end.text for end in only.ends] == ["floor 0.00"]


def test_numbers() -> None:
    assert [shown(x) for x in (None, float("nan"), 0.5, 0.05, -0.25, 1e-5, "x")] == [
        *("–", "–", "0.50", "0.050", "−0.25", "<0.001", "–")
    ]
    assert (percent(None), percent(0.126), bounds(None, None)) == ("–", "13%", "–")
    assert (milliseconds(31.4), milliseconds(None), weight(-1e-6)) == ("31", "–", "−<0.001")
    assert plain("occlusion:operator=mask") == "occlusion (mask)"


# --- layers and heads


RIGHT = {"first=1": 48, "first=2": 36, "first=3": 30, "last=1": 54, "last=2": 42}
"""Of sixty texts so many are right with these layers shuffled."""


def inside(group: str = "encoder", texts: int = 60, per_cluster: int = 1) -> pd.DataFrame:
    """Rows of a model of three layers and two heads, right on 95%; nothing else measured."""
    rows = rows_of(World(examples=texts, per_cluster=per_cluster))
    one = rows[(rows["measure"] == "correct") & (rows["operator"] == "")]
    wrong = np.arange(texts) < texts / 20
    one = one.assign(label=np.where(wrong, 1 - one["predicted"], one["predicted"]))
    return pd.concat([_measured(one, *each) for each in _inside(group, texts)], ignore_index=True)


def _measured(
    one: pd.DataFrame, explanation: str, operator: str, measure: str, value: Any
) -> pd.DataFrame:
    return one.assign(explanation=explanation, operator=operator, measure=measure, value=value)


def _inside(group: str, texts: int) -> Any:
    place = np.arange(texts)
    for stack, right in RIGHT.items():
        yield "", f"permute {group}:{stack}", ACCURACY, (place < right * texts / 60) * 1.0
        yield "", f"permute {group}:{stack}", MOVED, place / texts / len(stack)
    for layer in range(3):
        for edit in ("permute", "uniform"):
            for mode in ("recomputed", "held"):
                moved = 0.1 * (layer + 1) * (1 + (edit == "permute")) / (1 + (mode == "held"))
                yield f"attention:layer={layer}", f"{edit} {mode}", "tvd_layer", moved
        for head in range(2):
            name = f"attention:layer={layer},head={head}"
            yield name, "", "head_entropy", 2.0 * head + layer
            yield name, "", "head_special", 0.25 * head
            yield name, "", "head_self", np.nan
    for head in range(2):
        name = f"attention:head={head}"
        yield name, "", "null_space_freedom", np.where(place < texts / 2, 4.0 * head, 0.0)
        yield name, "", "null_space_jsd", 0.3 * head
        yield name, "", "null_space_tvd", 1e-6
    yield "occlusion:operator=mask", "", "tau_randomised", 0.125
    yield "occlusion:operator=mask", "", "moved_by_shift", 0.0
    yield "gradient_input", "", "moved_by_shift", 0.75


def parts_inside(rows: pd.DataFrame) -> dict[str, Any]:
    known = {"model": "tiny", "data": "made up", "classes": ["alpha", "beta"]}
    return {"verdict": json.loads(judge(rows, None, known).to_json()), "facts": known, "rows": rows}


VERDICT = judge(rows_of(World(examples=2)))
"""Of no interest: what is asked is what a page makes of rows."""


def only_rows(rows: pd.DataFrame) -> dict[str, Any]:
    return {"verdict": VERDICT, "rows": rows}


@pytest.fixture(scope="module")
def inside_page() -> str:
    return audit_page(parts_inside(inside()))


def test_layers_and_heads_have_a_section_only_where_they_were_measured(
    page: str, inside_page: str
) -> None:
    assert 'id="inside"' not in page and 'href="#layers"' not in page
    tags = parse(inside_page)
    assert ("id", "inside") in tags.attributes and ("href", "#layers") in tags.attributes
    titles = ("More and more layers shuffled", "One layer changed", "What each head does")
    for words in (*titles, "recomputed", "Held", "not surgical", "lower bound"):
        assert words in tags.text
    some = inside()
    some = some[some["measure"] == "head_entropy"]
    text = parse(audit_page(parts_inside(some))).text
    assert titles[2] in text and not any(each in text for each in titles[:2])
    assert "Other statistics" not in text


@pytest.mark.parametrize("per_cluster", [1, 3])
def test_stacks_go_from_none_to_all_with_bounds_over_clusters(per_cluster: int) -> None:
    from scipy import stats

    rows = inside(per_cluster=per_cluster)
    table = stacks(evidence_of(only_rows(rows)))
    found = table.set_index(["measure", "end", "count"])
    curve = {"first": [0.95, 0.8, 0.6, 0.5], "last": [0.95, 0.9, 0.7, 0.5]}
    for end, means in curve.items():
        assert found.loc[ACCURACY, "mean"][end].tolist() == pytest.approx(means)
        assert found.loc[MOVED, "mean"][end].iloc[0] == 0 and set(table["n"]) == {60}
    own = rows[(rows["measure"] == ACCURACY) & rows["operator"].str.endswith("first=2")]
    sums = own.assign(off=own["value"] - 0.6).groupby("cluster")["off"].sum()
    groups = len(sums)
    error = math.sqrt((sums**2).sum() * groups / (groups - 1)) / 60
    half = stats.t.ppf(0.95, groups - 1) * error
    line = found.loc[ACCURACY, "first", 2]
    assert (line["low"], line["high"]) == pytest.approx((0.6 - half, 0.6 + half))


def test_all_texts_right_is_not_certainty() -> None:
    rows = inside()
    rows["label"] = rows["predicted"]
    line = stacks(evidence_of(only_rows(rows))).query("count == 0").iloc[0]
    assert (line["mean"], line["high"]) == (1.0, 1.0)
    assert line["low"] == pytest.approx(0.05 ** (1 / 60))  # none of 60 wrong: the rule of three
    one = stacks(evidence_of(only_rows(inside(texts=1))))
    assert one.query("count == 1")["low"].isna().all() and one["mean"].notna().all()


def test_the_drawn_numbers_are_said_and_listed(inside_page: str) -> None:
    evidence = evidence_of(only_rows(inside()))
    accuracy, moved = stack_panels(evidence)
    assert "from the first layer on: 0.95 at 0, 0.80 at 1, 0.60 at 2, 0.50 at 3" in accuracy.says
    assert "from the last layer on: 0.95 at 0, 0.90 at 1, 0.70 at 2, 0.50 at 3" in accuracy.says
    assert accuracy.says.split(":")[0] == "Accuracy by layers shuffled; from the first layer on"
    listed = stack_numbers(evidence)
    assert [line["name"] for line in listed["lines"]] == ["none", "1", "2", "3"]
    assert listed["columns"][0] == "accuracy, from the first layer on"
    text = parse(inside_page).text
    for line in listed["lines"]:
        assert all(cell in text for cell in line["cells"])
    assert "untouched model, 95% of 60 texts" in text
    marks = [layer["data"] for layer in accuracy.bare["layer"] if "data" in layer]
    assert marks[-1] == {"values": [{"mean": pytest.approx(0.95)}]}
    assert moved.title == "Mean change of the output"


def test_single_layers_by_edit_and_mode() -> None:
    found = alone(evidence_of(only_rows(inside()))).set_index(["edit", "mode", "layer"])["mean"]
    assert found["permute", "recomputed", 2] == pytest.approx(0.6)
    assert found["uniform", "held", 0] == pytest.approx(0.05) and len(found) == 12


def test_layers_without_labels() -> None:
    rows = inside().assign(label=-1)
    rows = rows[rows["measure"] != ACCURACY]
    evidence = evidence_of(only_rows(rows))
    assert [one.title for one in stack_panels(evidence)] == ["Mean change of the output"]
    text = parse(audit_page(parts_inside(rows))).text
    assert "There are no labels, so no accuracy" in text and "nan" not in text
    assert layers_line(evidence) == (
        "Layers shuffled: mean TVD 0.00 with none, 0.070 with the first, 0.082 with the last, "
        "0.070 with all 3 (60 texts)."
    )


def test_a_line_for_the_terminal() -> None:
    rows = inside()
    assert layers_line(evidence_of(only_rows(rows))) == (
        "Layers shuffled: accuracy 95% with none, 80% with the first, 90% with the last, "
        "50% with all 3 (60 texts)."
    )
    cross = rows[rows["operator"] == "permute encoder:first=1"]
    both = pd.concat([rows, cross.assign(operator="permute cross:first=1")])
    evidence = evidence_of(only_rows(both))
    assert layers_line(evidence).startswith("Layers of encoder shuffled: accuracy 95%")
    assert [one.title[:10] for one in stack_panels(evidence)] == ["Accuracy ·", "Mean chang"]
    names = [line["name"] for line in stack_numbers(evidence)["lines"]]
    assert names[:2] == ["none · cross", "1 · cross"]
    assert layers_line(evidence_of(only_rows(rows[rows["measure"] == "head_entropy"]))) == ""


def test_heads_as_a_matrix() -> None:
    rows = inside()
    evidence = evidence_of(only_rows(rows))
    spread, special = heads(evidence)  # attention to oneself was undefined throughout
    assert spread["columns"] == [0, 1] and spread["texts"] == "60 texts"
    assert [line["name"] for line in spread["lines"]] == ["layer 0", "layer 1", "layer 2"]
    cells = [[(c["text"], c["shade"]) for c in line["cells"]] for line in spread["lines"]]
    assert cells[0] == [("0.00", "0"), ("2.00", "50")] and cells[2][1] == ("4.00", "100")
    assert special["lines"][0]["cells"][1] == {"text": "0.25", "shade": "25"}
    ragged = rows[rows["explanation"] != "attention:layer=1,head=1"]
    gap = heads(evidence_of(only_rows(ragged)))[0]["lines"][1]["cells"][1]
    assert gap == {"text": "–", "shade": "0"}


def test_of_very_many_heads_only_the_spread_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = evidence_of(only_rows(inside()))
    for most, wanted in ((6, 2), (5, 1)):
        monkeypatch.setattr("heedful.report.audit_interventions.MOST", most)
        assert len(heads(evidence)) == wanted


def test_the_null_space_in_a_sentence() -> None:
    rows = inside()
    said = null_space(evidence_of(only_rows(rows)))
    assert "in 25% of all pairs of text and head" in said and "along 4 directions" in said
    assert "divergence of 0.30 (mean; 0.69 is" in said and "never above <0.001" in said
    bound = rows.assign(value=rows["value"].where(rows["measure"] != "null_space_freedom", 0.0))
    assert "no head’s weights can move" in null_space(evidence_of(only_rows(bound)))
    assert null_space(evidence_of(only_rows(rows[rows["measure"] == MOVED]))) == ""


def test_sanity_by_explanation(inside_page: str) -> None:
    assert sanity(evidence_of(only_rows(inside()))) == [
        {"name": "gradient input", "tau": "–", "moved": "0.75", "n": "60"},
        {"name": "occlusion (mask)", "tau": "0.12", "moved": "0.00", "n": "60"},
    ]
    assert "τ with random weights" in parse(inside_page).text


DELETED = replace(VERDICT, settings={"uses": {"occlusion": ["delete"]}})


def test_infidelity_by_explanation() -> None:
    """Not by the operator that made it: occlusion deletes."""
    rows = inside().iloc[:2].assign(model="base", label=0)
    numbers = [
        ("gradient", "infidelity", "delete", 0.25),
        ("gradient", "infidelity", "mask", 0.5),
        ("gradient", "max_sensitivity", "", 0.125),
        ("occlusion", "infidelity", "delete", 0.0),
        ("occlusion", "infidelity", "mask", 0.75),
    ]
    parts = [
        rows.assign(explanation=name, measure=measure, operator=operator, value=value)
        for name, measure, operator, value in numbers
    ]
    table = pd.concat(parts).drop_duplicates(["example", "explanation", "measure", "operator"])
    found = infidelity(evidence_of({"verdict": DELETED, "rows": table}))
    assert [(line["name"], line["gap"], line["moved"]) for line in found] == [
        ("gradient", "delete 0.2500, mask 0.5000", "0.12"),
        ("occlusion", "mask 0.7500", "not asked"),
    ]


def test_eraser_by_explanation() -> None:
    """Not by the operator that made it; F1 of spans is of mean precision and mean recall."""
    numbers = [
        ("gradient", "eraser_comprehensiveness", "delete", (0.25, 0.75)),
        ("gradient", "eraser_comprehensiveness", "mask", (0.5, 0.5)),
        ("gradient", "eraser_token_f1", "", (0.5, 0.25)),
        ("gradient", "eraser_iou_precision", "", (1.0, 0.5)),
        ("gradient", "eraser_iou_recall", "", (0.5, 1.0)),
        ("occlusion", "eraser_comprehensiveness", "delete", (1.0, 1.0)),
    ]
    rows = inside().drop_duplicates("example").iloc[:2].assign(model="base", label=0)
    table = pd.concat(
        rows.assign(explanation=name, measure=measure, operator=operator, value=values)
        for name, measure, operator, values in numbers
    )
    gradient, occlusion = eraser(evidence_of({"verdict": DELETED, "rows": table}))
    assert gradient["eraser_comprehensiveness"] == "delete 0.50, mask 0.50"
    assert (gradient["eraser_token_f1"], gradient["eraser_iou_f1"]) == ("0.38", "0.75")
    assert occlusion["eraser_comprehensiveness"] == occlusion["eraser_iou_f1"] == "–"
    page = parse(audit_page({**parts_inside(inside()), "rows": table})).text
    assert "By ERASER’s definitions" in page and "delete 0.50, mask 0.50" in page


def test_hostile_names_of_layers_are_only_text() -> None:
    rows = inside(HOSTILE, texts=12)
    other = rows[rows["operator"].str.startswith("permute <")]
    other = other.assign(operator=other["operator"].str.replace(HOSTILE, "a\u202eb", regex=False))
    named = {"gradient_input": HOSTILE}
    rows = pd.concat([rows.replace({"explanation": named}), other])
    page = audit_page(parts_inside(rows))
    tags = parse(page)
    assert not tags.tags & {"script", "img"} and "\u202e" not in page
    assert not any(name.startswith("on") for name, _ in tags.attributes)
    assert "Accuracy · <script>" in tags.text and "a⟨U+202E⟩b" in tags.text


def test_the_page_needs_no_torch() -> None:
    code = "import heedful.report.page, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_model_is_called_what_its_owner_calls_it(parts: dict[str, Any]) -> None:
    """By its folder, where that is known; its class stands among the facts."""
    facts = {**parts["facts"], "model": "BertForSequenceClassification", "name": "my-reviews"}
    text = parse(audit_page({**parts, "facts": facts})).text
    assert "my-reviews on" in text and "BertForSequenceClassification on" not in text
    assert "BertForSequenceClassification" in text


def test_every_property_and_every_word_of_the_glossary_is_explained_once(page: str) -> None:
    tags = parse(page)
    words = [word.lower() for term in TERMS for word in (term.name, *term.words)]
    assert len(words) == len(set(words)) and len({term.key for term in TERMS}) == len(TERMS)
    assert {term.name for term in TERMS if term.titles} == set(PROPERTIES)
    assert all(term.says in tags.text for term in TERMS)
