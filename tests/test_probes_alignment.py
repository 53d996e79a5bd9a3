"""Alignment error rates against sets of links; rationales; the sites that are looked at."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from heedful.data import Split
from heedful.errors import HeedfulError
from heedful.experiments import PROBES, Findings, cross_sites
from heedful.metrics import error_rate, link_counts, precision, recall
from heedful.metrics import mass as mass_of
from probing import LENGTHS, find, table
from reference import alignment as reference
from tiny import tiny_model, tiny_split
from tiny_pairs import tiny_writer
from translations import SOURCES, TARGETS, tiny_translations, writing_evidence


def aligned(seed: int = 0) -> Split:
    """Random links; the last example has none that anyone knows of."""
    generator = np.random.default_rng(seed)
    links = [
        np.array(
            [(int(generator.integers(a)), j) for j in range(b) if generator.random() < 0.7],
            dtype=np.int32,
        ).reshape(-1)
        for a, b in zip(SOURCES, TARGETS, strict=True)
    ]
    return replace(tiny_translations(), alignments=[*links[:-1], None])


def run(name: str, split: Split, batch_size: int = 64, **params: object) -> Findings:
    found: Findings = PROBES["alignment"].make(
        writing_evidence(tiny_writer(name), split, batch_size), resamples=20, **params
    )
    return found


@pytest.mark.parametrize("query", ["writing", "reading"])
@pytest.mark.parametrize("name", ["additive", "prenorm"])
def test_scores_are_those_of_sets_of_links(name: str, query: str) -> None:
    split, model = aligned(), tiny_writer(name)
    found = run(name, split, 2, query=query)
    totals: dict[str, list[int]] = {site.name: [0, 0, 0] for site in cross_sites(model)}
    for index in range(len(split) - 1):
        gold = {(int(i), int(j)) for i, j in split.alignment(index)}  # type: ignore[union-attr]
        with torch.no_grad():
            trace = model(split.batch([index]))
        for site in cross_sites(model):
            late = query == "reading"
            mean = trace.weights[site.name][0].mean(0)
            b, a = TARGETS[index], SOURCES[index]
            weights = mean[late : b + late, 1 : a + 1].tolist()
            links = reference.hard_links(weights)
            rows = found.rows.query("example == @split.ids[@index] and site == @site.name")
            row = rows.set_index(["measure", "head"])["value"]
            assert row["aer", 0] == pytest.approx(reference.error_rate(links, gold))
            assert row["precision", 0] == pytest.approx(len(links & gold) / len(links))
            if gold:
                assert row["recall", 0] == pytest.approx(len(links & gold) / len(gold))
                assert row["mass", 0] == pytest.approx(reference.mass(weights, gold))
            for i, number in enumerate((len(links & gold), len(links), len(gold))):
                totals[site.name][i] += number
    for site, (both, links_, gold_) in totals.items():
        assert both > 0
        line = summary_of(found).loc[site, "aer", "all"]
        assert line["mean"] == pytest.approx(1 - 2 * both / (links_ + gold_))
        assert line["low"] <= line["mean"] <= line["high"] and line["n"] == len(split) - 1


def summary_of(found: Findings) -> pd.DataFrame:
    assert found.summary is not None
    return found.summary.set_index(["site", "measure", "group"])


def test_heads_are_measured_one_by_one() -> None:
    split, model = aligned(), tiny_writer("prenorm")
    found = run("prenorm", split)
    assert {site.name for site in cross_sites(model)} == {"decoder.0.cross", "decoder.1.cross"}
    with torch.no_grad():
        weights = model(split.batch([4])).weights["decoder.1.cross"][0]
    links = reference.hard_links(weights[2, :8, 1:6].tolist())
    gold = {(int(i), int(j)) for i, j in split.alignment(4)}  # type: ignore[union-attr]
    rows = found.rows.query("example == 'pair-4' and site == 'decoder.1.cross' and head == 2")
    row = rows.set_index("measure")["value"]
    assert row["aer_head"] == pytest.approx(reference.error_rate(links, gold))
    assert ("decoder.1.cross", "aer_head", "head=3") in summary_of(found).index
    assert "aer_head" not in set(run("additive", split).rows["measure"])


def test_batches_change_nothing() -> None:
    one, many = (run("prenorm", aligned(), size) for size in (1, 64))
    np.testing.assert_allclose(one.rows["value"], many.rows["value"], atol=1e-9)
    numbers = ["mean", "low", "high", "n"]
    np.testing.assert_allclose(one.summary[numbers], many.summary[numbers], atol=1e-9)  # type: ignore[index]


def test_counts_worked_out_by_hand() -> None:
    """Three target tokens, the third without a gold link; the first column is no real token.
    Links 1–1 (right), 2–3 (wrong), 3–1. AER = 1 − 2·1/(3 + 2), mass (.6/.8 + .3/.9)/2."""
    weights = torch.tensor([[[0.2, 0.6, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.0, 0.5, 0.3, 0.2]]])
    gold = torch.zeros(1, 3, 4, dtype=torch.bool)
    gold[0, 0, 1] = gold[0, 1, 2] = True
    there, real = torch.ones(1, 3).bool(), torch.tensor([[False, True, True, True]])
    counts = link_counts(weights, gold, there, real)
    assert counts[0].tolist() == pytest.approx([1, 3, 2, 0.6 / 0.8 + 0.3 / 0.9, 2])
    assert error_rate(counts).item() == pytest.approx(0.6)
    assert precision(counts).item() == pytest.approx(1 / 3)
    assert recall(counts).item() == pytest.approx(1 / 2)
    assert mass_of(counts).item() == pytest.approx((0.75 + 1 / 3) / 2)
    nothing = link_counts(weights, torch.zeros_like(gold), ~there, real)
    assert math.isnan(error_rate(nothing).item())


def test_without_gold_links_it_is_refused() -> None:
    with pytest.raises(HeedfulError, match="no example has a gold alignment"):
        run("additive", tiny_translations())
    with pytest.raises(HeedfulError, match="writing"):
        run("additive", aligned(), query="late")


def test_attention_inside_rationales() -> None:
    split, model = tiny_split(LENGTHS), tiny_model(double=True)
    marks: list[np.ndarray | None] = [np.arange(n) % 3 == 1 for n in LENGTHS]
    marks[4] = None
    side = replace(split.sides["a"], rationales=marks)
    found = table(find("rationale", model, replace(split, sides={"a": side}), 3), split)
    for index, name in enumerate(split.ids):
        with torch.no_grad():
            alpha = model(split.batch([index])).weights["attention"][0, 0, 0, 1:-1].numpy()
        inside = marks[index]
        row = found.loc[name]
        if inside is None or not inside.any():
            assert row.isna().all()
            continue
        assert row["mass_inside"] == pytest.approx(alpha[inside].sum())
        assert row["share_inside"] == pytest.approx(inside.mean())
        order = np.argsort(-alpha)
        hits = inside[order]
        precisions = hits.cumsum() / np.arange(1, len(hits) + 1)
        assert row["auprc"] == pytest.approx(precisions[hits].mean())
