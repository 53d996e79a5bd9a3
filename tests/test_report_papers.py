"""The papers after the first: their tables, lines and figures, on numbers known exactly."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from heedful.metrics import survival
from heedful.report import (
    ANY,
    FIGURES,
    LESS,
    LONGEST,
    MORE,
    WIDEST,
    Evidence,
    Figure,
    Group,
    Removed,
    averages,
    build_report,
    cells,
    chosen_figures,
    class_colour,
    class_legend,
    compared,
    curves,
    decoders,
    five_lines,
    folded,
    gather,
    papers_of,
    published_beside_measured,
    quantiles,
    removals,
)
from heedful.report.figures.erasure import table as flip_table
from heedful.report.panels import Panel
from heedful.specs import ModelSpec
from heedful.store import Run, Store
from heedful.studies import published
from parsed_page import parse
from test_report_fake import BLEU, DELTAS, FLIPPED, SCORE, Fake, fake_study, write

KEYS = ["table", "dataset", "class", "model", "metric"]
HAN = ModelSpec("bigru", "additive", family="hierarchical")
FLAN = ModelSpec("bigru", "additive")
SINGLE = (ModelSpec("bilstm", "additive"), ModelSpec("bilstm", "gate"))
PAIR = tuple(
    ModelSpec("bilstm", "additive", family="pair", decoder=d) for d in ("context", "query")
)
LUONG = ModelSpec("bilstm", "general", family="seq2seq")
WRITES = (("task", "generation"),)
OF_SERRANO2019 = ("erasure", "flips", "importance_sets", "importance_mass")
OF_VASHISHTH2019 = ("permutation", "substitution", "erasure", "layers")
ALONE = "the second text reaches the prediction through attention alone"


@pytest.fixture(scope="module")
def serrano(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    fake = Fake(("yahoo", "mine"), texts=60, paper="serrano2019", specs=(HAN, FLAN), undefined=0)
    store, run = fake_study(tmp_path_factory.mktemp("serrano"), fake)
    return gather(store, [run])


@pytest.fixture(scope="module")
def vashishth(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[Run]]:
    """One text, two texts and generation, in one store."""
    root, runs = tmp_path_factory.mktemp("vashishth"), []
    for corpora, specs, report in (
        (("sst",), SINGLE, ()),
        (("snli", "<i>pairs</i>"), PAIR, ()),
        (("multi30k", "texts"), (LUONG,), WRITES),
    ):
        fake = Fake(corpora, texts=40, paper="vashishth2019", specs=specs, report=report)
        store, run = fake_study(root, fake)
        runs.append(run)
    return store, runs


def cells_of(evidence: Evidence, paper: str) -> pd.DataFrame:
    frame = published_beside_measured(evidence, paper).set_index(KEYS)
    assert frame.index.is_unique
    return frame


def test_flips_stand_beside_the_paper_in_per_cent(serrano: Evidence) -> None:
    found = cells_of(serrano, "serrano2019")
    han = "hierarchical-bigru-additive (han-rnn)"
    cell = found.loc[("2", "Yahoo", "all", han, "flip_percent:top_only")]
    assert cell["measured"] == pytest.approx(100 * FLIPPED["flip_top_only"])
    assert cell["published_paper"] == 8.7 and cell["difference"] == pytest.approx(20 - 8.7)
    assert cell["low"] < cell["measured"] < cell["high"] and cell["high"] > 1
    flat = found.loc[("2", "Yahoo", "all", "bigru-additive (flan-rnn)", "flip_percent:neither")]
    assert flat["measured"] == pytest.approx(65) and math.isnan(flat["published_paper"])
    assert set(found.index.get_level_values("dataset")) == {"Yahoo", "mine"}
    assert len(found) == 2 * 2 * 4


def test_a_substitute_has_no_difference(tmp_path: Path) -> None:
    report = (("stands_for", "IMDB-10"),)
    fake = Fake(("imdb8",), paper="serrano2019", specs=(HAN,), report=report)
    store, run = fake_study(tmp_path, fake)
    evidence = gather(store, [run])
    frame = published_beside_measured(evidence, "serrano2019")
    top = frame[frame["metric"] == "flip_percent:top_only"].iloc[0]
    assert top["dataset"] == "imdb8" and top["published_paper"] == 12.2
    assert math.isnan(top["difference"]) and "substitute for IMDB-10" in top["note"]
    assert "(12.2)" not in " ".join(flip_table(frame)["text"])


def test_changes_are_in_the_papers_unit(vashishth: tuple[Store, list[Run]]) -> None:
    found = cells_of(gather(*vashishth), "vashishth2019")
    one = ("1", "SST", "all", "bilstm-additive (bahdanau)")
    assert found.loc[(*one, "accuracy"), "measured"] == pytest.approx(100 * SCORE)
    assert found.loc[(*one, "accuracy"), "difference"] == pytest.approx(100 * SCORE - 83.4)
    for name, value in DELTAS.items():
        assert found.loc[(*one, f"delta_accuracy:{name}"), "measured"] == pytest.approx(100 * value)
    assert found.loc[(*one, "delta_accuracy:permute:infer"), "difference"] == pytest.approx(-5.3)
    written = ("3", "Multi30k", "all", "seq2seq-bilstm-general (luong)")
    assert found.loc[(*written, "bleu"), "measured"] == BLEU
    change = found.loc[(*written, "delta_bleu:uniform:infer")]
    assert change["measured"] == pytest.approx(-5) and change["published_paper"] == -29.7
    assert set(found.index.get_level_values("class")) == {"all"}


def test_other_corpora_join_the_table_of_their_kind(vashishth: tuple[Store, list[Run]]) -> None:
    frame = published_beside_measured(gather(*vashishth), "vashishth2019")
    tables = frame.groupby("dataset")["table"].unique().map(list).to_dict()
    assert tables["<i>pairs</i>"] == ["2"] and tables["texts"] == ["3"] and tables["SST"] == ["1"]
    metrics = frame[frame["dataset"] == "texts"]["metric"]
    assert set(metrics) == {"bleu", *(f"delta_bleu:{name}" for name in DELTAS)}


def test_quoted_averages_are_those_of_the_cells() -> None:
    """By hand: of two cells that lose 1 and 3 points of 80 and 60, 2 points and 3.1 per cent; a
    third has no printed number beside it. The table's own mean is what the text rounds to 0.5."""
    cells = [
        ("SST", "m", "accuracy", 80.0, 82.0),
        ("IMDB", "m", "accuracy", 60.0, 90.0),
        ("SST", "m", "delta_accuracy:uniform:train+infer", -1.0, -1.0),
        ("IMDB", "m", "delta_accuracy:uniform:train+infer", -3.0, -0.8),
        ("Own", "m", "delta_accuracy:uniform:train+infer", -50.0, math.nan),
    ]
    columns = ["dataset", "model", "metric", "measured", "published_paper"]
    frame = pd.DataFrame(cells, columns=columns).assign(table="1")
    frame = frame.assign(difference=frame["measured"] - frame["published_paper"])
    found = averages(frame).set_index("Unit")
    numbers = ["Text", "All its cells", "Same cells", "Measured", "Cells"]
    assert list(found.loc["points", numbers]) == ["−0.5", "−0.5", "−0.9", "−2.0", "2 of 8"]
    assert found.loc["% of the score", "Measured"] == "−3.1" and len(found) == 2


def test_the_papers_text_agrees_with_its_tables() -> None:
    """To 0.3, but for one number: its text has 0.1% where its table gives 0.6% of the score."""
    whole = published("vashishth2019")
    frame = whole.assign(measured=whole["value"], published_paper=whole["value"], difference=0.0)
    found = averages(frame)
    gaps = [
        abs(float(line["Text"].replace("−", "-")) - float(line["Measured"].replace("−", "-")))
        for line in found.to_dict("records")
    ]
    assert len(gaps) == 8 and [gap < 0.35 for gap in gaps].count(False) == 1
    assert list(found["Measured"]) == list(found["All its cells"]) == list(found["Same cells"])


def test_the_decoders_stand_beside_each_other(vashishth: tuple[Store, list[Run]]) -> None:
    frame = published_beside_measured(gather(*vashishth), "vashishth2019")
    frame.loc[frame["model"].str.endswith("query"), "measured"] += 2
    table = decoders(frame)
    assert len(table) == 2 * 6 and set(table["Model"]) == {"pair-bilstm-additive"}
    line = table[(table["Data"] == "SNLI") & table["Number"].str.contains("uniform after")].iloc[0]
    assert (line["Paper"], line["Context only"], line["With the query"]) == (
        "−42.9",
        "−5.0",
        "−3.0",
    )
    assert line["Query − context"] == "+2.0"
    assert decoders(frame[frame["table"] == "1"]).empty
    assert decoders(frame.iloc[:0]).empty


@pytest.mark.parametrize(
    ("corpus", "classes", "metric"), [("snli", 3, "micro_f1"), ("babi1", 6, "accuracy")]
)
def test_classes_are_split_where_the_paper_splits(
    tmp_path: Path, corpus: str, classes: int, metric: str
) -> None:
    spec = ModelSpec("bilstm", "additive", family="pair", decoder="query")
    store, run = fake_study(tmp_path, Fake((corpus,), specs=(spec,), texts=12))
    evidence = gather(store, [run])
    together = evidence.together
    more = [together.assign(group=f"class={n}") for n in range(classes)]
    lines = pd.concat([together[together["group"] == "all"], *more]).drop_duplicates(
        ["probe", "measure", "group", "model", "corpus"]
    )
    evidence.__dict__["together"] = lines
    frame = published_beside_measured(evidence)
    scores, taus = frame[frame["table"] == "1"], frame[frame["metric"] == "tau_gradient"]
    assert list(scores["metric"]) == [metric] and list(scores["class"]) == ["all"]
    assert list(taus["class"]) == (["0", "1", "2"] if classes == 3 else ["all"])
    assert set(frame["model"]) == {"pair-bilstm-additive-query (bilstm-additive)"}
    assert taus["published_paper"].notna().all() and scores["published_paper"].notna().all()


def test_a_limit_makes_a_subset(tmp_path: Path) -> None:
    count = {"filter": "limit", "split": "train", "kept": 10, "dropped": 5}
    store, run = fake_study(tmp_path, Fake(("imdb",), report=(("filters", [count]),), texts=8))
    notes = published_beside_measured(gather(store, [run]))["note"]
    assert notes.str.contains("subset of the training data").all()


def test_a_paper_without_printed_numbers_has_an_empty_table(serrano: Evidence) -> None:
    assert published_beside_measured(serrano, "nobody1999").empty


def test_lines_of_serrano2019_carry_their_numbers(serrano: Evidence) -> None:
    lines = five_lines(serrano)
    assert len(lines) == 5
    rows = serrano.rows("erasure", ["negative"])
    shares = sorted(100 * rows.groupby(["corpus", "label"])["value"].mean())
    assert f"{shares[0]:.1f}%" in lines[1] and f"{shares[-1]:.1f}%" in lines[1]
    assert "20.0%" in lines[2] and "65.0%" in lines[2] and "n 60" in lines[2]
    assert "gradient 0.10 (never for 10.0%)" in lines[3]
    assert "gradient in 4 (exact sign tests" in lines[4]
    assert "by gradient in 4 (mean share 0.19)" in lines[4]  # 0.9 · 0.1 + 0.1 · 1


def test_lines_of_vashishth2019_speak_of_each_kind(vashishth: tuple[Store, list[Run]]) -> None:
    lines = five_lines(gather(*vashishth))
    assert len(lines) == 5
    assert "uniform afterwards −5.0 (−6.0 to −4.0)" in lines[0] and ALONE not in lines[0]
    assert ALONE in lines[1] and "decoder with the query" in lines[1]
    assert "change of BLEU" in lines[2] and "shuffled afterwards −7.0" in lines[2]
    assert "the intervals overlap" in lines[4]
    assert "encoder 30.0 (29.0 to 31.0) to 15.0 (14.0 to 16.0)" in lines[4]


@pytest.mark.parametrize("paper", ["serrano2019", "vashishth2019"])
def test_too_few_texts_are_inconclusive(tmp_path: Path, paper: str) -> None:
    fake = Fake(("sst",), texts=12, paper=paper, specs=(SINGLE[0],))
    store, run = fake_study(tmp_path, fake)
    text = " ".join(five_lines(gather(store, [run])))
    assert text.count("inconclusive") >= 3
    assert ALONE not in text


def test_what_was_not_measured_is_said(serrano: Evidence) -> None:
    """Probe runs alone: their models and the paper they belong to are told by themselves."""
    flips = serrano.cells["run"][serrano.cells["probe"] == "flips"]
    alone = gather(serrano.store, [serrano.store.open(str(flips.iloc[0]))])
    lines = five_lines(alone)
    assert set(alone.cells["label"]) == {"hierarchical-bigru-additive"}
    assert lines[1].endswith("not measured.") and lines[4].endswith("not measured.")
    assert "65.0%" in lines[2]


def test_as_few_papers_as_have_the_probes(
    serrano: Evidence, vashishth: tuple[Store, list[Run]]
) -> None:
    def papers(evidence: Evidence, *probes: str) -> list[str]:
        cells = evidence.cells[evidence.cells["probe"].isin(probes)]
        return papers_of(Evidence(evidence.store, (), cells, evidence.skipped))

    of_pairs = gather(*vashishth)
    assert papers(serrano, "erasure") == ["serrano2019"]
    assert papers(of_pairs, "permutation") == papers(of_pairs, "score") == ["jain2019"]
    assert papers(of_pairs, "permutation", "erasure", "score") == ["vashishth2019"]


def test_figures_are_chosen_by_probes(
    serrano: Evidence, vashishth: tuple[Store, list[Run]]
) -> None:
    assert chosen_figures(serrano) == list(OF_SERRANO2019)
    assert chosen_figures(gather(*vashishth)) == list(OF_VASHISHTH2019)


def test_a_figure_that_the_study_should_have_is_missed(tmp_path: Path) -> None:
    """A study run whose `flips` failed still shows where they would be."""
    store, run = fake_study(tmp_path, Fake(("yahoo",), paper="serrano2019", specs=(HAN,), texts=8))
    evidence = gather(store, [run])
    fewer = evidence.cells[evidence.cells["probe"] == "score"].reset_index(drop=True)
    rest = Evidence(store, evidence.runs, fewer, evidence.skipped)
    assert chosen_figures(rest) == list(OF_SERRANO2019)
    for name in (*chosen_figures(rest), "substitution", "layers"):
        figure = FIGURES[name].make(rest)
        assert not figure.groups and "not measured" in figure.missing


@pytest.mark.slow
def test_altair_accepts_the_new_figures(
    serrano: Evidence, vashishth: tuple[Store, list[Run]]
) -> None:
    pytest.importorskip("altair")
    of_both = [(serrano, name) for name in OF_SERRANO2019]
    of_both += [(gather(*vashishth), name) for name in OF_VASHISHTH2019]
    for evidence, name in of_both:
        figure = FIGURES[name].make(evidence)
        figure.groups[0].panels[0].chart.to_dict(validate=True)
        assert all(panel.says for group in figure.groups for panel in group.panels)
        assert figure.caption and figure.chart().to_dict(validate=False)["vconcat"]


def test_many_classes_are_not_told_apart(serrano: Evidence) -> None:
    rows = pd.DataFrame({"corpus": ["many"] * 7 + ["few"] * 2, "predicted": [*range(7), 0, 1]})
    found = folded(serrano, rows)
    assert list(found["predicted"]) == [ANY] * 7 + [0, 1]
    assert class_legend(serrano, "many", found[:7]) == (("any prediction", class_colour(ANY)),)
    assert len(class_legend(serrano, "few", found[7:])) == 2


def test_predicted_words_are_no_classes(vashishth: tuple[Store, list[Run]]) -> None:
    """However few different ones there are: their numbers mean nothing to a reader."""
    evidence = gather(*vashishth)
    written = {str(name) for name in evidence.cells["corpus"] if evidence.writes(str(name))}
    others = set(evidence.cells["corpus"]) - written
    assert written and others
    rows = pd.DataFrame({"corpus": [*written, *others], "predicted": 3})
    found = folded(evidence, rows).set_index("corpus")["predicted"]
    assert all(found[name] == ANY for name in written)
    assert all(found[name] == 3 for name in others)


def test_a_figures_names_keep_out_of_each_others_way() -> None:
    """Long names of classes take more room, in several rows; long titles several lines."""
    alt = pytest.importorskip("altair")
    names = ["predicted yes", "predicted comp.sys.ibm.pc.hardware and its peripherals", "no"]
    legend = tuple((name, "#000000") for name in (*names, *names))
    chart = alt.Chart(pd.DataFrame({"x": [1]})).mark_point()
    title = "seq2seq-bilstm-additive+impermissible0.1+diversity0.5 (bahdanau)"
    figure = Figure("name", "Title", "", (Group("A", legend, (Panel(title, chart, ""),)),))
    key, grid = figure.spec()["vconcat"][0]["vconcat"]
    entries = key["data"]["values"]
    assert [entry["name"] for entry in entries] == [*names, *names]
    for one, other in pairwise(entries):
        assert one["x"] + 16 + 5.5 * len(one["name"]) <= one["end"] <= key["width"] <= WIDEST
        assert other["x"] == one["end"] if other["row"] == one["row"] else other["x"] == 0
    assert {entry["row"] for entry in entries} == {0, 1}
    lines = grid["concat"][0]["title"]["text"]
    assert "".join(lines).replace(" ", "") == title.replace(" ", "")
    assert max(map(len, lines)) <= LONGEST


def test_the_grid_counts_texts_and_marks_negatives() -> None:
    rows = pd.DataFrame({"value": [0.5, 0.52, -0.1, -1e-15], "weight": [0.99, 1.0, 0.0, 0.0]})
    found = cells(rows, step=0.1).set_index(["left", "low"])
    assert len(found) == 3
    assert list(found["colour"].value_counts()[[MORE, LESS]]) == [2, 1]
    below = found[found["colour"] == LESS].iloc[0]
    assert (below["high"], below["right"]) == pytest.approx((0.0, 1 / 24))
    assert found["shade"].max() == 1.0 and found["shade"].min() == pytest.approx(
        0.12 + 0.88 / 2**0.5
    )


def test_quantiles_keep_what_never_flips() -> None:
    shares = np.array([0.1, 0.2, 0.3, 1.0])
    some = Removed(shares, np.array([False, False, False, True]))
    assert [some.quantile(at) for at in (0.25, 0.5, 0.75)] == [0.1, 0.2, 0.3]
    assert math.isnan(some.quantile(0.95))
    table = quantiles({"attention": some}).iloc[0]
    assert (table["q95"], table["reached"], table["never"]) == (1.0, 0.2, "never 25%")
    few = quantiles({"attention": Removed(shares, np.array([False, True, True, True]))}).iloc[0]
    assert few["q50"] == 1.0 and math.isnan(few["reached"])


def test_quantiles_are_kaplan_and_meiers() -> None:
    rng = np.random.default_rng(0)
    shares, never = rng.integers(1, 20, 300) / 20, rng.random(300) < 0.4
    curve = survival(shares, never)
    for at in (0.05, 0.25, 0.5, 0.75):
        slow = next((t for t, a in zip(curve.times, curve.alive, strict=True) if a <= 1 - at), None)
        assert Removed(shares, never).quantile(at) == slow


def test_a_ranking_is_censored_where_its_own_weights_are_gone() -> None:
    """Both rows never flip; the weights of the first are gone after a quarter of its items."""
    lines = {"attention": {"tried": 1.0, "tried_attention": 0.25}, "random": {"tried": 0.5}}
    rows = [
        {
            "corpus": "c",
            "label": "m",
            "probe": "importance_sets",
            "seed": 0,
            "site": "attention",
            "head": 0,
        }
        | {"query": 0, "example": example, "measure": measure, "value": value}
        for example, told in lines.items()
        for measure, value in (
            told | {"never_attention": 1.0, "fraction_attention": np.nan}
        ).items()
    ]
    table = pd.DataFrame(rows)
    evidence: Any = SimpleNamespace(
        rows=lambda probe, measures: table[table["measure"].isin(measures)]
    )
    ((_, found),) = removals(evidence, "fraction")
    assert found["attention"].shares.tolist() == [0.25, 0.5] and found["attention"].never.all()


def test_every_ranking_covers_the_same_texts(serrano: Evidence) -> None:
    pairs = list(removals(serrano, "fraction"))
    assert len(pairs) == 4
    for _, found in pairs:
        assert {len(one.shares) for one in found.values()} == {60}
        test = compared(found["gradient"], found["attention"])
        assert (test.first, test.second, test.ties) == (54, 0, 6)


def test_curves_begin_at_none_and_end_at_all(vashishth: tuple[Store, list[Run]]) -> None:
    table = curves(gather(*vashishth).together)
    one = table[(table["corpus"] == "multi30k") & (table["group"] == "encoder")]
    first, last = (one[one["end"] == end] for end in ("first", "last"))
    assert list(first["count"]) == list(last["count"]) == [0, 1, 2, 3]
    assert list(first["mean"]) == [30, 25, 20, 15] and list(last["mean"]) == [30, 27, 24, 15]
    assert set(table["model"]) == {"seq2seq-bilstm-general"}


def test_numbers_for_all_sites_are_no_site_of_their_own(
    vashishth: tuple[Store, list[Run]],
) -> None:
    assert not any("@" in name for name in gather(*vashishth).together["model"])


def test_another_score_is_not_taken_for_accuracy(tmp_path: Path) -> None:
    fake = Fake(("sst",), texts=8, paper="vashishth2019", specs=SINGLE[:1])
    store, run = fake_study(tmp_path, fake)
    cells = gather(store, [run]).cells
    probe = store.open(str(cells.loc[cells["probe"] == "substitution", "run"].iloc[0]))
    changed = {**probe.facts, "params": {"metric": "f1"}}
    other = write(store, "probe", changed, {"summary": probe.table("summary")})
    assert len(published_beside_measured(gather(store, [probe]), "vashishth2019")) == 5
    assert published_beside_measured(gather(store, [other]), "vashishth2019").empty
    drawn = FIGURES["substitution"].make(gather(store, [other])).groups[0].panels[0]
    assert "Change of f1" in drawn.says


def test_the_page_of_a_study_is_whole(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    specs = (*PAIR, ModelSpec("<u>gru</u>\u202e", "additive", family="pair", decoder="context"))
    fake = Fake(("<i>pairs</i>",), texts=40, paper="vashishth2019", specs=specs)
    store, run = fake_study(tmp_path / "store", fake)
    files = build_report(store, [run], tmp_path / "report")
    page = files.page.read_text(encoding="utf8")
    tags = parse(page)
    assert not tags.tags & {"script", "img", "b", "i", "u", "iframe", "object"}
    text = " ".join(tags.words)
    for words in ("<i>pairs</i>", "pair-<u>gru</u>⟨U+202E⟩-additive", "The two decoders", ALONE):
        assert words in text
    assert "\u202e" not in page and "Attention replaced" in text and "Texts (jain" not in text
    assert {"table2.csv", "table2.tex", "decoders.tex"} <= {path.name for path in files.tables}
    for path in files.figures:
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_two_papers_share_a_page(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    store, first = fake_study(tmp_path / "store", Fake(texts=8))
    fake = Fake(("yahoo",), texts=8, paper="serrano2019", specs=(HAN,))
    second = fake_study(tmp_path / "store", fake)[1]
    files = build_report(store, [first, second], tmp_path / "report")
    assert len(files.summary) == 10
    names = {path.name for path in files.tables}
    assert {"jain2019_table2.csv", "serrano2019_table2.csv", "measured.csv"} <= names
    assert "serrano2019, Table 2" in files.page.read_text(encoding="utf8")
