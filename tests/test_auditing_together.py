"""Several audits: of other seeds of a model, and side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon

from heedful.auditing import (
    Audit,
    Measurements,
    Part,
    compare,
    made_with,
    over_seeds,
    to_markdown,
    write_part,
)
from heedful.errors import HeedfulError
from heedful.store import Frames
from heedful.verdict import judge

TEXTS = 24


def audit(seed: int, shift: float = 0.0) -> Audit:
    """An audit of made-up numbers: attention captures 0.7 + shift of the importance."""
    random = np.random.default_rng(seed)
    ids = [f"text-{i}" for i in range(TEXTS)]
    facts = {"cluster": ids, "label": 1, "predicted": 1, "confidence": 0.9, "length": 4}
    rows = [
        pd.DataFrame(
            {
                "model": "base",
                "example": ids,
                **facts,
                "explanation": name,
                "operator": operator,
                "measure": "importance_captured",
                "value": level + 0.05 * random.standard_normal(TEXTS),
            }
        )
        for name, level in (("attention", 0.7 + shift), ("random", 0.5), ("search", 0.9))
        for operator in ("delete", "mask")
    ]
    maps = [0.3 * random.dirichlet(np.ones(4)) for _ in ids]  # the rest is on special tokens
    table = pd.concat(rows, ignore_index=True)
    return Audit.of(
        judge(table),
        {"model": "made up", "classes": ["no", "yes"]},
        rows=table,
        maps=pd.DataFrame({"example": ids, "explanation": "attention", "scores": maps}),
        costs=pd.DataFrame(columns=["explanation", "milliseconds_per_text", "passes_per_text"]),
        documents=pd.DataFrame({"example": ids}),
    )


def test_seeds_are_crossed_with_texts() -> None:
    audits = [audit(seed, shift) for seed, shift in ((0, 0.0), (1, 0.05), (2, -0.05))]
    found = over_seeds(audits)
    assert set(found.rows["model"]) == {"base", "seed=1", "seed=2"}
    assert found.facts["checkpoints"] == 3
    assert found.verdict["importance"].checkpoints == 3
    assert found.verdict["importance"].seed_error > 0


def test_the_distance_between_seeds_is_that_of_scipy() -> None:
    audits = [audit(seed) for seed in (0, 1, 2)]
    rows = over_seeds(audits).rows
    found = rows[rows["measure"] == "jsd_seeds"].set_index("example")["value"]
    for place, example in enumerate(audits[0].maps["example"]):
        here, *others = (np.asarray(each.maps["scores"][place]) for each in audits)
        wanted = np.mean([jensenshannon(here, other) ** 2 for other in others])
        assert found[example] == pytest.approx(wanted)


def test_the_distance_between_seeds_is_a_share_of_the_furthest() -> None:
    """Nothing is further than all weight on one word; a word without a token cannot have it."""
    audits = [audit(seed) for seed in (0, 1)]
    for each in audits:
        each.maps.at[0, "scores"] = np.append(each.maps["scores"][0], np.nan)
    rows = over_seeds(audits).rows
    found = rows[rows["measure"] == "jsd_seeds_ratio"].set_index("example")["value"]
    for place, example in enumerate(audits[0].maps["example"]):
        here, other = (np.asarray(each.maps["scores"][place])[:4] for each in audits)
        furthest = max(jensenshannon(here, one) ** 2 for one in np.eye(4))
        assert found[example] == pytest.approx(jensenshannon(here, other) ** 2 / furthest)


def test_a_word_without_a_token_does_not_make_seeds_agree() -> None:
    """No seed can attend to it, so that it is last everywhere says nothing."""
    audits = [audit(seed) for seed in (0, 1)]
    plain = over_seeds(audits).rows
    for each in audits:
        each.maps.at[0, "scores"] = np.append([np.nan], each.maps["scores"][0])
    rows = over_seeds(audits).rows
    found, wanted = (
        part[part["measure"] == "tau_seeds"]["value"].tolist() for part in (rows, plain)
    )
    assert found == pytest.approx(wanted) and abs(found[0]) < 1


def test_one_word_is_no_distance() -> None:
    audits = [audit(seed) for seed in (0, 1)]
    for each in audits:
        each.maps["scores"] = [np.array([0.3, np.nan]), *each.maps["scores"][1:]]
    rows = over_seeds(audits).rows
    found = rows[rows["measure"] == "jsd_seeds_ratio"].set_index("example")["value"]
    assert np.isnan(found["text-0"]) and found.notna().sum() == TEXTS - 1


def test_one_training_twice_is_perfectly_stable() -> None:
    found = over_seeds([audit(0), audit(0)])
    assert found.verdict["stability"].estimate == pytest.approx(1.0)
    assert found.verdict["stability"].numbers["jsd_seeds"] == pytest.approx(0.0)


def test_other_texts_are_refused() -> None:
    other = audit(1)
    rows = other.rows[other.rows["example"] != "text-3"]
    with pytest.raises(HeedfulError, match="same data"):
        over_seeds([audit(0), _with_rows(other, rows)])


def _with_rows(each: Audit, rows: pd.DataFrame) -> Audit:
    return Audit(each.verdict, {**each.tables, "rows": Frames.of(rows)}, {})


def test_comparing_gives_means_over_clusters_with_intervals() -> None:
    one, two = audit(0), audit(1, 0.2)
    one.rows.loc[one.rows["example"] == "text-1", "cluster"] = "text-0"
    table = compare({"one": one, "two": two}, "importance_captured", "delete")
    row = table[(table["audit"] == "one") & (table["explanation"] == "attention")].iloc[0]
    values = one.rows.query("explanation == 'attention' and operator == 'delete'")
    by_cluster = values.groupby("cluster")["value"].mean()
    assert row["mean"] == pytest.approx(by_cluster.mean()) and row["n"] == TEXTS - 1
    assert row["low"] < row["mean"] < row["high"]
    text = to_markdown(table)
    assert text.splitlines()[0] == "| explanation | one | two |"
    assert text.splitlines()[2].startswith("| search |")


def test_what_an_operator_made_is_not_compared_by_it() -> None:
    made = replace(audit(0).verdict, settings={"uses": {"attention": ["delete"]}})
    audits = {"one": replace(audit(0), verdict=made), "two": audit(1)}
    table = compare(audits, "importance_captured", "delete")
    assert set(table[table["explanation"] == "attention"]["audit"]) == {"two"}
    assert made_with(audits, ["delete"]) == ["attention"] and made_with(audits, ["mask"]) == []
    table = compare(audits, "importance_captured", "mask")
    assert set(table[table["explanation"] == "attention"]["audit"]) == {"one", "two"}


def test_seeds_are_judged_with_what_made_the_first() -> None:
    made = replace(audit(0).verdict, settings={"uses": {"attention": ["delete"]}})
    audits = [replace(audit(0), verdict=made), audit(1)]
    assert over_seeds(audits).verdict.settings["uses"] == {"attention": ["delete"]}


def test_a_measure_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(HeedfulError, match="importance_captured"):
        compare({"one": audit(0)}, "auprc")
    with pytest.raises(HeedfulError, match="delete, mask: choose one"):
        compare({"one": audit(0)}, "importance_captured")
    with pytest.raises(HeedfulError, match="unknown operator 'unk'"):
        compare({"one": audit(0)}, "importance_captured", "unk")


def test_an_explanation_is_measured_on_all_texts_or_on_none(tmp_path: Path) -> None:
    whole = audit(0)
    half = whole.rows["example"] < "text-2"
    parts = [
        Part(whole.rows[half], whole.maps, {}, {}),
        Part(whole.rows[~half], whole.maps, {}, {"random": "failed on one text."}),
    ]
    found, seen = Measurements(tmp_path), []
    for number, part in enumerate(parts):
        write_part(tmp_path, f"part-{number}", part)
        found.add(f"part-{number}", part, int(part.rows["example"].nunique()))
        seen.append(set(found.tables()["rows"].whole["explanation"]))
    assert seen == [{"attention", "random", "search"}, {"attention", "search"}]


def test_lower_is_better_for_some_measures() -> None:
    one = audit(0)
    rows = one.rows.assign(measure="sufficiency")
    table = compare({"one": _with_rows(one, rows)}, "sufficiency", "delete")
    assert list(table["explanation"]) == ["random", "attention", "search"]
    assert to_markdown(table).splitlines()[2].startswith("| random |")


def test_a_decision_that_never_flips_counts_as_all_words() -> None:
    one = audit(0)
    shares = one.rows.assign(measure="flip_share", value=0.5)
    never = shares["example"] == "text-0"
    shares.loc[never, "value"] = np.nan
    censored = shares.assign(measure="flip_censored", value=never.astype(float))
    rows = pd.concat([shares, censored], ignore_index=True)
    table = compare({"one": _with_rows(one, rows)}, "flip_share", "delete")
    assert table["n"].tolist() == [TEXTS] * 3
    assert table["mean"].tolist() == pytest.approx([(0.5 * (TEXTS - 1) + 1) / TEXTS] * 3)


def test_names_do_not_break_the_table() -> None:
    text = to_markdown(compare({"a|b": audit(0)}, "importance_captured", "mask"))
    assert text.splitlines()[0] == r"| explanation | a\|b |"
