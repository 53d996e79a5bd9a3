"""The bibliography is whole, and `heedful cite` names what a run used and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import __version__
from heedful.auditing import NUMBERS
from heedful.cli import catalogues
from heedful.entries import Entry, Piece
from heedful.preregistration import (
    ALIASES,
    PROBE_METHODS,
    TOKENIZERS,
    Use,
    bibliography,
    citations,
    cited,
    entry_use,
    in_order,
    keys_in,
    read,
    statistics_of,
    uses_of_run,
)
from heedful.store import Store, run_key
from verbs import run

REQUIRED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "incollection": {"author", "title", "booktitle", "publisher", "year"},
    "book": {"author", "title", "publisher", "year"},
    "techreport": {"author", "title", "institution", "year"},
    "misc": {"author", "title"},
}
ENTRIES = [
    pytest.param(kind, catalogue[name], id=f"{kind}-{name}")
    for kind, catalogue in catalogues().items()
    for name in catalogue
]


@pytest.mark.parametrize(("kind", "piece"), ENTRIES)
def test_every_work_that_a_piece_names_has_an_entry(kind: str, piece: Entry) -> None:
    for text in filter(None, (piece.paper, piece.citation)):
        keys = keys_in(text)
        assert keys, f"{text!r} names no work: write `Author et al. 2020` or a key"
        assert set(keys) <= set(bibliography()), text
    foreign = kind == "corpus" and piece.licence and piece.licence != "part of Heedful"
    assert not foreign or keys_in(piece.citation), f"the corpus {piece.name} has no citation"


def test_every_work_that_is_cited_by_hand_has_an_entry() -> None:
    by_hand = [
        *(key for group in NUMBERS.values() for each in group.values() for key in each.papers),
        *citations.PRETRAINED.values(),
        *(key for keys in PROBE_METHODS.values() for key in keys),
        *TOKENIZERS.values(),
        *ALIASES.values(),
    ]
    assert set(by_hand) <= set(bibliography())


@pytest.mark.parametrize("entry", bibliography().values(), ids=lambda entry: entry.key)
def test_an_entry_is_whole(entry: Any) -> None:
    assert entry.kind in REQUIRED and REQUIRED[entry.kind] <= set(entry.fields)
    for name, value in entry.fields.items():
        depth = 0
        for char in value:
            depth += (char == "{") - (char == "}")
            assert depth >= 0, name
        assert depth == 0 and value.strip() == value and value, name
        assert value.isascii() and not re.search(r"(?<!\\)[%#&]", value), name
    year = entry.fields.get("year", "")
    assert not year or (entry.key.endswith(year) and 1900 < int(year) < 2100)
    assert re.fullmatch(r"\d+--\d+|e?\d+", entry.fields.get("pages", "1"))
    assert re.fullmatch(r"10\.\d{4,}/\S+", entry.fields.get("doi", "10.1000/x"))


def test_keys_are_unique_and_the_whole_file_is_read() -> None:
    path = Path(citations.__file__).with_name("references.bib")
    text = path.read_text(encoding="utf8")
    keys = re.findall(r"^@\w+\{([^,]+),$", text, re.MULTILINE)
    assert len(keys) == len(set(keys)) and len(bibliography()) == len(keys) + 1
    fields = len(re.findall(r"^  \w+ = \{", text, re.MULTILINE))
    assert fields == sum(len(entry.fields) for entry in read(text))
    again = "\n\n".join(entry.bibtex for entry in bibliography().values())
    assert {entry.key: entry for entry in read(again)} == dict(bibliography())


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("jain2019, Table 2", ["jain2019"]),
        ("vashishth2019, Tables 1 to 3; tutek2020, Table 1", ["vashishth2019", "tutek2020"]),
        ("Abnar & Zuidema 2020, Quantifying Attention Flow", ["abnar2020"]),
        ("Maggie, Culliton and Chen 2020, Tweets", ["kaggle2020"]),
        ("Rocktäschel et al. 2016; vashishth2019", ["rocktaschel2016", "vashishth2019"]),
        (
            "rationales: Zhong et al. 2019; heads: Strubell et al. 2018",
            ["zhong2019", "strubell2018"],
        ),
        ("a note without a work", []),
    ],
)
def test_how_works_are_named(text: str, keys: list[str]) -> None:
    assert keys_in(text) == keys


@given(st.text(max_size=60))
def test_any_text_can_be_looked_through(text: str) -> None:
    assert all(re.fullmatch(r"[a-z]*[12]\d{3}", key) for key in keys_in(text))


def test_a_stranger_s_piece_is_named_where_there_is_no_entry() -> None:
    strange = Piece("mine", "x", make=dict, paper="Nobody et al. 1999", origin="a package")
    found = cited([entry_use("probe", strange), Use("probe score", ("jain2019",))])
    assert found.unlisted == ("nobody1999 (probe mine)",)
    assert list(found.reasons) == ["heedful", "jain2019"]


def test_a_model_is_cited_by_its_parts(tmp_path: Path) -> None:
    model = {"family": "one_sequence", "encoder": "bilstm+residual", "attention": "sparsemax",
             "train_edit": "frozen", "terms": [{"name": "tying"}]}  # fmt: skip
    facts = {"model": model, "train": {"amsgrad": False}}
    known = {"jain2019", "tutek2020", "martins2016", "wiegreffe2019", "kingma2015"}
    assert model_keys(tmp_path, facts) == known
    assert model_keys(tmp_path, {**facts, "train": {"amsgrad": True}}) == known | {"reddi2018"}


def model_keys(place: Path, facts: dict[str, Any]) -> set[str]:
    store = Store(place)
    with store.writing("model", facts):
        pass
    run = store.open(run_key("model", facts))
    return {key for use in uses_of_run(store, run) for key in use.keys}


def statement(**given: Any) -> dict[str, Any]:
    plain = {"property": "importance", "decision": "SUPPORTED", "clusters": 50, "checkpoints": 1}
    return {**plain, **given}


def statistics(*statements: dict[str, Any], **settings: Any) -> dict[str, str]:
    chosen = {"alpha": 0.05, "resamples": 2000, "seed": 3, "look": 1, "looks": 1, **settings}
    found = statistics_of({"statements": statements, "settings": chosen})
    return {key: each.sentence for each in found for key in each.keys}


def test_only_statistics_that_were_used_are_said() -> None:
    one = statistics(statement(), statement(property="agreement", clusters=40))
    assert set(one) == {"efron1993", "hanley1983", "dunn1961"}
    assert "importance and agreement" in one["efron1993"]
    assert "40 to 50 clusters" in one["efron1993"]
    assert "2000 resamples, seed 3" in one["efron1993"]
    assert "hold together at 0.95: each is one-sided at 0.0125" in one["dunn1961"]
    crossed = statistics(statement(checkpoints=3))
    assert set(crossed) == {"student1908", "satterthwaite1946", "hanley1983", "dunn1961"}
    assert "3 checkpoints" in crossed["student1908"]
    looked = statistics(statement(), look=2, looks=4)
    assert "4 times and this is look 2" in looked["lan1983"] and "armitage1969" in looked
    assert statistics(statement(decision="NOT MEASURED", clusters=0, checkpoints=0)) == {}
    assert set(statistics(statement(decision="UNUSABLE", clusters=0))) == {"dunn1961"}
    assert "dunn1961" not in statistics(statement(property="plausibility"))


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("BertForSequenceClassification (classes)", {"wolf2020", "devlin2019"}),
        ("DebertaV2ForSequenceClassification (classes)", {"wolf2020", "he2021"}),
        ("GPT2LMHeadModel (label words)", {"wolf2020", "radford2019"}),
        ("NewForSequenceClassification (classes)", {"wolf2020"}),
        ("bilstm-additive", set()),
    ],
)
def test_families_of_pretrained_models(name: str, keys: set[str]) -> None:
    uses = list(citations._of_class(name))
    assert {key for use in uses for key in use.keys} == keys
    assert any(use.missing for use in uses) == name.startswith("New")


def test_the_whole_bibliography(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "cite", "--all")
    assert code == 0 and len(list(read(out))) == len(bibliography())
    assert f"note = {{Version {__version__}}}" in out
    code, out, _ = run(capsys, "cite", "--all", "--json")
    entries = json.loads(out)["entries"]
    assert code == 0 and [each["key"] for each in entries] == list(bibliography())
    assert in_order(["jain2019", "heedful"])[0].key == "heedful"


def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for given_, said in [
        ([], "name runs or folders"),
        (["x", "--all"], "name runs or folders"),
        (["study-1"], "there is no store at"),
        (["empty"], "is no audit"),
    ]:
        code, out, err = run(capsys, "cite", *given_)
        assert code == 2 and said in err and not out and err.count("\n") == 1, (given_, err)
