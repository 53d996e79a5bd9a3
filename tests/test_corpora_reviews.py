"""Reviews, answers and clinical notes: what a user brings, on made-up tables of the same form."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from data_folder import DATA, needs_data, put
from heedful.data import CORPORA, Prepared, clean, default_spec, patient_split, prepare, unescape
from heedful.errors import HeedfulError
from heedful.store import Store
from heedful.studies import dataset_name, published

FOLDERS = {"yelp": "yelp_review_full_csv", "amazon": "amazon_review_full_csv",
           "yahoo": "yahoo_answers_csv", "imdb10": "imdb10"}  # fmt: skip


def sheet(path: Path, rows: list[list[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf8", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(rows)


def test_escapes_do_not_move_anything() -> None:
    text = 'He said \\"no\\".\\n\\nThen left.'
    assert len(unescape(text)) == len(text)
    assert unescape(text).split() == ["He", "said", '"no', '".', "Then", "left."]


@pytest.mark.parametrize(
    ("name", "classes"), [("yelp", 5), ("amazon", 5), ("yahoo", 10), ("imdb10", 10)]
)
def test_rated_tables(tmp_path: Path, name: str, classes: int) -> None:
    rows = [[str(n % classes + 1), "A title", "", f"Body, {n}.\\nMore"] for n in range(200)]
    folder = tmp_path / FOLDERS[name]
    sheet(folder / "train.csv", rows)
    with pytest.raises(HeedfulError, match=f"{FOLDERS[name]}/test.csv is missing: get .* https://"):
        CORPORA[name].make(tmp_path)
    sheet(folder / "test.csv.gz", rows[:classes])
    raw = CORPORA[name].make(tmp_path)
    assert len(raw.labels) == classes and len(raw.examples) == 200 + classes and not raw.subset
    assert raw.examples[3].label == 3
    assert raw.examples[3].texts["a"] == "A title\nBody, 3.\n More"
    part = CORPORA[name].make(tmp_path, sample=0.5)
    assert part.subset and 70 < len(part.examples) < 140
    assert part.dropped["not sampled"] == len(raw.examples) - len(part.examples)
    assert {e.id for e in part.examples} < {e.id for e in raw.examples}
    published_names = {n for p in ("serrano2019", "vashishth2019") for n in published(p)["dataset"]}
    assert dataset_name(name) in published_names


@pytest.mark.parametrize(
    "row", [["6", "x"], ["0", "x"], ["x", "x"], ["1"], ["", "x"], ["9" * 30, "x"]]
)
def test_malformed_rows_are_named(tmp_path: Path, row: list[str]) -> None:
    sheet(tmp_path / FOLDERS["yelp"] / "train.csv", [["1", "good"], row])
    sheet(tmp_path / FOLDERS["yelp"] / "test.csv", [["1", "good"]])
    with pytest.raises(HeedfulError, match="line 2 of .*train.csv is malformed: .* 1 to 5"):
        CORPORA["yelp"].make(tmp_path)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'"1","a\n', "line 1 of .* malformed"),
        (b"\xff,a\n", "not UTF-8"),
        (b'1,"a"b\n', "malformed"),
    ],
)
def test_unreadable_tables(tmp_path: Path, body: bytes, message: str) -> None:
    for split in ("train", "test"):
        sheet(tmp_path / FOLDERS["yelp"] / f"{split}.csv", [["1", "good"]])
    (tmp_path / FOLDERS["yelp"] / "train.csv").write_bytes(body)
    with pytest.raises(HeedfulError, match=message):
        CORPORA["yelp"].make(tmp_path)
    (tmp_path / FOLDERS["yelp"] / "train.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(HeedfulError, match="no whole gzip file"):
        CORPORA["yelp"].make(tmp_path)
    with pytest.raises(HeedfulError, match="sample is 0: give"):
        CORPORA["yelp"].make(tmp_path, sample=0)


def test_imdb8_has_the_reviews_of_imdb_and_other_classes(tmp_path: Path) -> None:
    ratings = [1, 2, 3, 4, 7, 8, 9, 10]
    rows = [
        {
            "id": f"x/{n}",
            "text": "Bad.<br /><br />Mr. X is good",
            "label": 0,
            "rating": ratings[n % 8],
        }
        for n in range(40)
    ]
    for split in ("train", "test"):
        put(tmp_path, f"imdb/{split}.jsonl.gz", rows)
    raw = CORPORA["imdb8"].make(tmp_path)
    assert raw.labels == ("1", "2", "3", "4", "7", "8", "9", "10") and raw.stands_for == "IMDB-10"
    assert [e.label for e in raw.examples[:8]] == list(range(8))
    assert [e.id for e in raw.examples] == [e.id for e in CORPORA["imdb"].make(tmp_path).examples]
    spec = default_spec("imdb8", vectors="random")
    part = Prepared(prepare(spec, Store(tmp_path / "store"), tmp_path)).split("train")
    assert part.sides["a"].sentences[0].tolist() == [0, 0, 1, 1, 1, 1]
    put(tmp_path, "imdb/test.jsonl.gz", [{**rows[0], "rating": 5}])
    with pytest.raises(HeedfulError, match="the review x/0 is rated 5: use 1, 2"):
        CORPORA["imdb8"].make(tmp_path)


def test_parts_say_that_they_are_parts(tmp_path: Path) -> None:
    for split in ("train", "test"):
        rows = [{"text": "nice place .", "label": n % 2} for n in range(4)]
        put(tmp_path, f"yelp_sentences/{split}_subset.jsonl.gz", rows)
        topics = ("society_culture", "science_mathematics")
        answers = [{"text": "Why?\\nSo.", "label": topics[n % 2]} for n in range(4)]
        put(tmp_path, f"yahoo_2class/{split}_subset.jsonl.gz", answers)
    for name in ("yelp_sentences", "yahoo2"):
        raw = CORPORA[name].make(tmp_path)
        assert raw.subset and "part" in raw.note and len(raw.examples) == 8
        assert [e.label for e in raw.examples[:4]] == [0, 1, 0, 1]
        assert dataset_name(name) == name  # never read against the whole corpus's numbers
    assert raw.examples[0].texts["a"] == "Why?\n So."


NOTES = ["ROW_ID", "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CHARTTIME", "STORETIME", "CATEGORY",
         "DESCRIPTION", "CGID", "ISERROR", "TEXT"]  # fmt: skip


def note(patient: str, stay: str, text: str, **more: str) -> list[str]:
    cells = {"SUBJECT_ID": patient, "HADM_ID": stay, "TEXT": text, "CHARTDATE": "2101-01-01",
             "CATEGORY": "Discharge summary", "DESCRIPTION": "Report", **more}  # fmt: skip
    return [cells.get(name, "") for name in NOTES]


def mimic(folder: Path, codes: dict[tuple[str, str], list[str]], notes: list[list[str]]) -> None:
    sheet(folder / "mimic" / "NOTEEVENTS.csv.gz", [NOTES, *notes])
    rows = [["1", *key, "1", code] for key, some in codes.items() for code in some]
    header = ["ROW_ID", "SUBJECT_ID", "HADM_ID", "SEQ_NUM", "ICD9_CODE"]
    sheet(folder / "mimic" / "DIAGNOSES_ICD.csv", [header, *rows])


def test_summaries_are_joined_and_cleaned(tmp_path: Path) -> None:
    notes = [
        note("1", "10", "later", DESCRIPTION="Addendum", CHARTDATE="2100-01-01"),
        note("1", "10.0", "Mr. [**Known\nlastname 12**] came ------ home", CHARTDATE="2101-02-01"),
        note("1", "10", "wrong", ISERROR="1"),
        note("1", "10", "a nurse", CATEGORY="Nursing"),
        note("1", "", "no stay"),
        note("2", "20", "no diagnosis"),
        note("3", "30", "thin", CHARTDATE="2101-01-01"),
    ]
    mimic(tmp_path, {("1", "10"): ["4019", "25000"], ("3", "30"): ["250.01"]}, notes)
    raw = CORPORA["diabetes"].make(tmp_path)
    assert [(e.id, e.label) for e in raw.examples] == [("mimic-10", 1), ("mimic-30", 0)]
    assert raw.examples[0].texts["a"] == "Mr.  deidentified  came -  home later"
    assert [e.label for e in CORPORA["diabetes"].make(tmp_path, any_kind=True).examples] == [1, 1]
    assert clean("a [**x**] b [**y**]...") == "a  deidentified  b  deidentified . "[:-1]


def test_anemia_is_chronic_or_acute_never_both(tmp_path: Path) -> None:
    codes = {"1": ["2851"], "2": ["28521"], "3": ["2851", "28529"], "4": ["2859"], "5": ["2852"]}
    stays = {(str(int(n) + 100), n): some for n, some in codes.items()}
    mimic(tmp_path, stays, [note(patient, stay, "text") for patient, stay in stays])
    raw = CORPORA["anemia"].make(tmp_path)
    found = {e.id: raw.labels[e.label] for e in raw.examples}
    assert found == {"mimic-1": "acute", "mimic-2": "chronic", "mimic-5": "chronic"}
    assert raw.labels == ("chronic", "acute") and list(raw.dropped.values()) == [2]


def test_a_patient_is_in_one_split(tmp_path: Path) -> None:
    stays = {(str(n // 4), str(n)): ["25000" if n % 3 else "4019"] for n in range(400)}
    mimic(tmp_path, stays, [note(patient, stay, "text") for patient, stay in stays])
    raw = CORPORA["diabetes"].make(tmp_path)
    owner = {f"mimic-{stay}": patient for patient, stay in stays}
    seen = {(owner[e.id], e.split) for e in raw.examples}
    assert len(seen) == 100 and {split for _, split in seen} == {"train", "dev", "test"}
    splits = Counter(patient_split(str(n), 0) for n in range(4000))
    assert abs(splits["test"] - 800) < 80 and abs(splits["dev"] - 480) < 70
    other = CORPORA["diabetes"].make(tmp_path, seed=1)
    assert [e.split for e in other.examples] != [e.split for e in raw.examples]


def test_diabetes_reads_the_authors_lists(tmp_path: Path) -> None:
    stays = {(str(n), str(n)): ["25000"] for n in range(5)}
    mimic(tmp_path, stays, [note(patient, stay, "text") for patient, stay in stays])
    with pytest.raises(HeedfulError, match="train_50_hadm_ids.csv is missing"):
        CORPORA["diabetes"].make(tmp_path, lists=True)
    for split, numbers in {"train": "01", "dev": "2", "test": "3"}.items():
        sheet(tmp_path / "mimic" / f"{split}_50_hadm_ids.csv", [[n] for n in numbers])
    raw = CORPORA["diabetes"].make(tmp_path, lists=True)
    assert [e.split for e in raw.examples] == ["train", "train", "dev", "test"]
    assert dict(raw.dropped) == {"in no list": 1} and not raw.note


def test_broken_clinical_tables(tmp_path: Path) -> None:
    mimic(tmp_path, {("1", "1"): ["25000"]}, [["1", "2"]])
    with pytest.raises(HeedfulError, match="line 2 of .*NOTEEVENTS.* has 2 cells"):
        CORPORA["diabetes"].make(tmp_path)
    sheet(tmp_path / "mimic" / "DIAGNOSES_ICD.csv", [["subject_id", "hadm_id"]])
    with pytest.raises(HeedfulError, match="no column ICD9_CODE"):
        CORPORA["anemia"].make(tmp_path)


@needs_data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [("imdb8", {"train": 25000, "test": 5000}), ("yelp_sentences", {"train": 50000, "test": 9106}),
     ("yahoo2", {"train": 4000, "test": 418})],
)  # fmt: skip
def test_counts(name: str, sizes: dict[str, int]) -> None:
    raw = CORPORA[name].make(DATA)
    assert Counter(example.split for example in raw.examples) == sizes
    assert set(Counter(example.label for example in raw.examples)) == set(range(len(raw.labels)))


@needs_data
@pytest.mark.parametrize("name", ["imdb8", "yelp_sentences", "yahoo2"])
def test_they_can_be_prepared(tmp_path: Path, name: str) -> None:
    prepared = Prepared(prepare(default_spec(name, limit=40), Store(tmp_path), DATA))
    part = prepared.split("test")
    counts = [int(numbers.max()) + 1 for numbers in part.sides["a"].sentences]
    assert len(part) == 40
    assert (sum(counts) / 40 > 2) == (name != "yelp_sentences")
