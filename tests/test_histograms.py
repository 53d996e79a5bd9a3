"""Kept histograms by hand, and the page and pictures that are made of them alone."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from heedful.errors import HeedfulError
from heedful.specs import ProbeSpec
from heedful.store import Store
from heedful.studies import STUDIES
from paper_tables.checkout import DRAWN, FIGURES, HISTOGRAMS
from paper_tables.compact import write_compact
from paper_tables.figures_of_jain2019 import DRAWINGS, drawn, figures_drawn, figures_page
from paper_tables.histograms import (
    BINS,
    COLUMNS,
    ENDS,
    collect_histograms,
    counts,
    merged_histograms,
    read_histograms,
)
from probe_runs import put_model, put_probe

HERE = Path(__file__).parent.parent
SVG = "{http://www.w3.org/2000/svg}"


def row(measure: str, value: float, predicted: int = 0, weight: float = 0.1) -> dict[str, object]:
    one = {"measure": measure, "value": value, "predicted": predicted, "max_weight": weight}
    return {"example": "e", **one}


def test_values_fall_into_their_bins() -> None:
    """τ −1 is in the first of 20 bins, 0 in the eleventh, 1 in the last; what no text has counts
    nowhere, nor do other measures."""
    rows = [row("tau_gradient", value) for value in (-1.0, 0.0, 1.0, 1.0)]
    rows += [row("tau_gradient", math.nan), row("tau_gradient_loo", 0.5)]
    rows += [row("tvd_median", 0.049, predicted=1, weight=0.5), row("tvd_median", 0.05, 1, 1.0)]
    found = counts(pd.DataFrame(rows)).to_dict("records")
    keys = ("measure", "predicted", "weight", "bin", "count")
    assert [tuple(line[key] for key in keys) for line in found] == [
        ("tau_gradient", 0, 0, 0, 1),
        ("tau_gradient", 0, 0, BINS // 2, 1),
        ("tau_gradient", 0, 0, BINS - 1, 2),
        ("tvd_median", 1, 2, 0, 1),
        ("tvd_median", 1, 3, 1, 1),
    ]


def study_run(store: Store, rows: list[dict[str, object]], seed: int = 0) -> str:
    """A run of `correlation` in the study's own setting."""
    setting = STUDIES["jain2019"].make().settings[0]
    model = put_model(store, seed, setting.models[0], setting.train)
    return put_probe(store, model, ProbeSpec("correlation"), (), rows=pd.DataFrame(rows))


def test_runs_of_the_study_are_counted_and_read_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    study_run(store, [row("tau_loo", 0.0), row("tau_loo", 0.01)])
    table = collect_histograms(store)
    assert list(table.columns) == COLUMNS
    line = table.iloc[0]
    assert (line["paper"], line["model"], line["corpus"]) == ("jain2019", "bilstm-additive", "sst")
    assert (len(table), line["count"], line["bin"]) == (1, 2, BINS // 2)
    write_compact(table, path := tmp_path / "histograms.csv")
    pd.testing.assert_frame_equal(read_histograms(path), table, check_dtype=False)
    path.write_text(path.read_text().replace(",2,", ",−2,"))
    with pytest.raises(HeedfulError, match="count in line 2"):
        read_histograms(path)


def test_a_model_that_is_measured_again_leaves_nothing_behind(tmp_path: Path) -> None:
    old, new = Store(tmp_path / "old"), Store(tmp_path / "new")
    study_run(old, [row("tau_loo", -0.9), row("tau_gradient", 0.1)])
    study_run(old, [row("tau_loo", -0.9)], seed=1)
    study_run(new, [row("tau_loo", 0.9)])
    both = merged_histograms(collect_histograms(old), collect_histograms(new))
    left = both[["seed", "measure", "bin"]].to_numpy().tolist()
    assert left == [[0, "tau_gradient", 11], [0, "tau_loo", 19], [1, "tau_loo", 1]]


def table_of(*lines: tuple[str, int, int, int, int]) -> pd.DataFrame:
    made = [
        {
            "paper": "jain2019",
            "corpus": "sst",
            "model": "m",
            "size": "full",
            "seed": 0,
            **dict(zip(("measure", "predicted", "weight", "bin", "count"), line, strict=True)),
        }
        for line in lines
    ]
    return pd.DataFrame(made).reindex(columns=COLUMNS)


def bars(svg: str) -> list[tuple[float, float, float]]:
    """Left, top and height of each, without the white ground."""
    found = ElementTree.fromstring(svg).findall(f"{SVG}rect")[1:]
    return [tuple(float(bar.attrib[name]) for name in ("x", "y", "height")) for bar in found]  # type: ignore[misc]


def test_bars_stand_where_they_should() -> None:
    """The first class up and the second down, each as tall as its fullest bin."""
    svg = drawn(DRAWINGS[0], table_of(("tau_gradient", 0, 0, 0, 4), ("tau_gradient", 0, 0, 1, 2),
                                      ("tau_gradient", 1, 0, 0, 9)))  # fmt: skip
    assert svg is not None
    first, second, down = bars(svg)
    assert first[2] == 2 * second[2] == down[2]
    assert first[1] + first[2] == second[1] + second[2] == down[1]
    assert first[0] == down[0] < second[0]


def test_rows_are_by_the_largest_weight_and_many_classes_are_one() -> None:
    some = table_of(*(("tvd_median", label, 3, 0, 1) for label in range(4)))
    svg = drawn(next(each for each in DRAWINGS if each.name == "figure-3"), some)
    assert svg is not None and len(bars(svg)) == 1 and ">4</text>" in svg and ">0.75–1<" in svg


def test_nothing_is_drawn_of_nothing() -> None:
    empty = table_of()
    assert set(figures_drawn(empty).values()) == {None}
    assert figures_page(empty).count("No counts were kept yet.") == len(DRAWINGS)


def test_the_committed_page_and_pictures_are_what_the_counts_say() -> None:
    kept = read_histograms(HERE / HISTOGRAMS)
    assert (HERE / FIGURES).read_text(encoding="utf8") == figures_page(kept)
    made = figures_drawn(kept)
    found = {path.name: path.read_text(encoding="utf8") for path in (HERE / DRAWN).iterdir()}
    assert found == {name: text for name, text in made.items() if text is not None}
    assert set(kept["measure"]) <= {*ENDS}
