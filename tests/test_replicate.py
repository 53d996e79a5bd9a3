"""`heedful replicate`: what is registered cannot be changed unseen, and a paper's parts are made
of values alone."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import latex_checks
from heedful.auditing import Audit, AuditSpec
from heedful.cli import main
from heedful.errors import HeedfulError
from heedful.preregistration import (
    Audited,
    AuditText,
    Part,
    Registered,
    Table,
    differences,
    ended,
    enumerated,
    escape,
    grouped,
    hash_of,
    listed,
    paragraph,
    said,
    table,
    write,
)
from heedful.preregistration import read as read_bibtex
from heedful.store import MANIFEST
from heedful.verdict import Settings, judge
from verdict_tables import World, costs, rows_of

pytest.importorskip("transformers")

from tiny_tokenizers import saved
from verbs import run

DRAFT = """\
title: A 100% trial of {braces} & others
hypotheses:
  - Attention_is needed.
audits:
  - model: bert
    data: texts.csv
    n: 11
    quick: true
    explanations: attention
    only: [interventions]
    alpha: 0.1
    smallest: {use: 0.03}
studies:
  - study: jain2019
    corpora: [planted]
    encoders: average
    attention: dot
    probes: [score, correlation]
    seeds: 2
    epochs: 1
    params: {n_train: 40, n_dev: 20, n_test: 20}
"""
AUDIT_ONLY = DRAFT[: DRAFT.index("studies:")]
FILES = {"methods.tex", "tables.tex", "limitations.tex", "references.bib", "main.tex"}


def refused(capsys: pytest.CaptureFixture[str], said_: str, *arguments: object) -> None:
    code, out, err = run(capsys, "replicate", *arguments)
    assert code == 2 and said_ in err and err.count("\n") == 1 and not out, err


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, texts, a draft, its registration, and the folder it gave."""
    here = tmp_path_factory.mktemp("world")
    saved(here / "bert")
    words = ["good", "bad", "film", "story", "plot", "great", "dull"]
    texts = [{"text": f"the {words[n % 7]} {words[n // 7]}", "label": n % 2} for n in range(12)]
    pd.DataFrame(texts).to_csv(here / "texts.csv", index=False)
    (here / "draft.yaml").write_text(DRAFT, encoding="utf8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.delenv("HEEDFUL_STORE", raising=False)
        assert main(["replicate", "draft.yaml", "--register", "-o", "spec.json"]) == 0
        assert main(["replicate", "spec.json", "-o", "paper"]) == 0
    return here


@pytest.fixture
def here(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, to be spoiled."""
    monkeypatch.delenv("HEEDFUL_STORE", raising=False)
    shutil.copytree(world, tmp_path / "world")
    monkeypatch.chdir(tmp_path / "world")
    return tmp_path / "world"


def test_a_folder_that_can_be_compiled(world: Path) -> None:
    paper = world / "paper"
    assert {path.name for path in paper.iterdir()} == {*FILES, "replicate.json", MANIFEST}
    text = {path.name: path.read_text(encoding="utf8") for path in paper.iterdir()}
    for name in ("methods.tex", "tables.tex", "limitations.tex", "main.tex"):
        assert latex_checks.problems(text[name]) == [], name
    assert latex_checks.rows_fit(text["tables.tex"]) and r"\toprule" in text["tables.tex"]
    assert r"A 100\% trial of \{braces\} \& others" in text["main.tex"]
    assert r"\item Attention\_is needed." in text["methods.tex"]
    keys = {entry.key for entry in read_bibtex(text["references.bib"])}
    named = latex_checks.cited("".join(text[name] for name in FILES if name.endswith("tex")))
    assert named <= keys and {"heedful", "jain2019", "devlin2019", "efron1993"} <= keys
    assert "deyoung2020" not in keys and "abnar2020" not in keys  # erasure was not asked for


def test_paragraphs_say_what_the_values_say(world: Path) -> None:
    text = (world / "paper" / "methods.tex").read_text(encoding="utf8")
    spec = json.loads((world / "spec.json").read_text(encoding="utf8"))
    for said_ in [
        "attention of BertForSequenceClassification on 11 texts of texts.csv",
        "texts.csv, a random sample (seed 0)",
        "0.03 for use",
        "2000 resamples, seed 0",
        "hold together at 0.9",
        "10 permutations",
        "planted has 40 texts in train, 20 texts in dev and 20 texts in test",
        "Models: average-dot; seeds 0 and 1",
        "at most 1 epoch of Adam with AMSGrad",
        r"score~\cite{jain2019} and correlation~\cite{jain2019}",
        r"intervals are Student's t over seeds~\cite{student1908}",
        "none of its runs was in the store",
        spec["hash"][:16],
    ]:
        assert said_ in text, said_
    assert "in search of the best order" not in text and "Words were taken away" not in text
    limits = (world / "paper" / "limitations.tex").read_text(encoding="utf8")
    assert "Importance is not measured." in limits and "Interventions on attention hold" in limits
    assert "another seed was not tried (use)" in limits
    assert "every number is of one seed" not in limits.lower()


def test_the_record(world: Path) -> None:
    from hashlib import sha256

    record = json.loads((world / "paper" / "replicate.json").read_text(encoding="utf8"))
    spec = json.loads((world / "spec.json").read_text(encoding="utf8"))
    assert (
        record["hash"]
        == spec["hash"]
        == hash_of({name: value for name, value in spec.items() if name != "hash"})
    )
    assert set(record["files"]) == FILES
    for name, digest in record["files"].items():
        assert sha256((world / "paper" / name).read_bytes()).hexdigest() == digest
    (audit,), (study,) = record["audits"], record["studies"]
    assert audit["run"] == spec["rests_on"]["audits"][0]["key"] and study["cells"] == 4
    assert audit["statements"][0]["threshold"] == 0.03


def test_again_it_only_reads_and_gives_the_same_bytes(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from heedful.auditing import Measurer

    monkeypatch.setattr(Measurer, "__call__", lambda *_: pytest.fail("measured again"))
    before = {path.name: path.read_bytes() for path in (here / "paper").iterdir()}
    spec = json.loads((here / "spec.json").read_text(encoding="utf8"))
    again = ("replicate", "spec.json", "-o", "paper")
    code, out, err = run(capsys, *again, "--hash", spec["hash"][:8])
    assert code == 0 and "written: paper/main.tex" in out, err
    assert {path.name: path.read_bytes() for path in (here / "paper").iterdir()} == before
    code, out, _ = run(capsys, *again, "--json")
    assert code == 0 and json.loads(out)["hash"] == spec["hash"]
    code, out, _ = run(capsys, "cite", spec["rests_on"]["audits"][0]["key"])
    assert code == 0 and "@inproceedings{devlin2019," in out and "abnar2020" not in out
    code, out, _ = run(capsys, "replicate", "draft.yaml", "--register", "-o", "again.json")
    assert code == 0 and "is in the store already: this study is not blind to it" in out
    known = json.loads((here / "again.json").read_text(encoding="utf8"))
    assert len(known["already"]) == 3 and known["hash"] != spec["hash"]
    assert known["rests_on"] == spec["rests_on"]


def test_what_was_changed_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = (here / "spec.json").read_text(encoding="utf8")
    for old, new in [("0.03", "0.01"), ('"seed": 0', '"seed": 1'), ("bert", "beer")]:
        assert old in original
        (here / "spec.json").write_text(original.replace(old, new), encoding="utf8")
        refused(capsys, "was changed after it was registered", "spec.json", "-o", "new")
    (here / "spec.json").write_text(original, encoding="utf8")
    refused(capsys, "--hash is", "spec.json", "-o", "new", "--hash", "00000000")
    texts = (here / "texts.csv").read_text()
    (here / "texts.csv").write_text(texts.replace("good", "fine"))
    refused(capsys, "audits 1 data is not what was registered", "spec.json", "-o", "new")
    (here / "texts.csv").write_text(texts)
    saved(here / "bert", seed=1)
    capsys.readouterr()
    refused(capsys, "audits 1 weights is not what was registered", "spec.json", "-o", "new")
    assert not (here / "new").exists()


def test_a_piece_of_another_version_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace
    from importlib import import_module

    correlation = import_module("heedful.experiments.correlation")

    then, newer = correlation.ENTRY.version, replace(correlation.ENTRY, version=99)
    monkeypatch.setattr(correlation, "ENTRY", newer)
    said_ = f"cells 1 probes correlation version is not what was registered (then {then}, now 99)"
    refused(capsys, said_, "spec.json", "-o", "new")


def test_bad_input_is_one_sentence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, "spec.json is there already", "draft.yaml", "--register", "-o", "spec.json")
    refused(capsys, "there is no draft", "nothing.yaml", "--register", "-o", "x.json")
    refused(capsys, "there is no registration", "nothing.json", "-o", "x")
    refused(capsys, "is no registration", "draft.yaml", "-o", "x")
    refused(capsys, "name the folder", "spec.json")
    refused(capsys, "bert is there already", "spec.json", "-o", "bert")
    for text in ("[1]", "{}", '{"schema_version": 1, "hash": "x", "asked": []}', "\ud800"):
        (here / "list.json").write_bytes(text.encode("utf8", "surrogatepass"))
        refused(capsys, "is no registration", "list.json", "-o", "x")
    spec = json.loads((here / "spec.json").read_text(encoding="utf8"))
    (here / "newer.json").write_text(json.dumps({**spec, "schema_version": 99}))
    refused(capsys, "update Heedful", "newer.json", "-o", "x")


@pytest.mark.parametrize(
    ("draft", "said_"),
    [
        ("title: x\n", "nothing is asked"),
        ("audits: [{data: x.csv}]\n", "line 1: no `model` is named"),
        ("audits: []\n", "must be a list that is not empty"),
        ("studies:\n - {study: jain2020}\n", "line 2: unknown study 'jain2020'"),
        ("audits: [{model: bert, n: 0}]\n", "0 does not do"),
        ("audits: [{model: bert, alpha: many}]\n", "give a number here"),
        ("audits: [{model: bert, alpha: true}]\n", "give a number here"),
        ("audits: [{model: bert, budget: 5min}]\n", "unknown key 'budget'"),
        ("audits: [{model: bert, data: texts.csv, alpha: 0.7}]\n", "alpha is 0.7"),
        ("audits: [{model: bert, data: texts.csv, smallest: {taste: 1}}]\n", "'taste'"),
        ("audits: [{model: bert, data: texts.csv, explanations: nonsense}]\n", "'nonsense'"),
    ],
)
def test_a_bad_draft_is_one_sentence(
    here: Path, capsys: pytest.CaptureFixture[str], draft: str, said_: str
) -> None:
    (here / "bad.yaml").write_text(draft, encoding="utf8")
    refused(capsys, said_, "bad.yaml", "--register", "-o", "x.json")
    assert not (here / "x.json").exists()


def test_a_draft_may_be_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import yaml

    (here / "draft.json").write_text(json.dumps(yaml.safe_load(AUDIT_ONLY)))
    code, out, err = run(capsys, "replicate", "draft.json", "--register", "--json")
    assert code == 0, err
    path = Path(json.loads(out)["registered"])
    found, spec = Registered.read(path), Registered.read(Path("spec.json"))
    assert found.asked["audits"] == spec.asked["audits"]
    assert found.rests_on["audits"] == spec.rests_on["audits"] and found.asked["studies"] == []


def test_other_trainings_are_crossed_with_the_texts(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(here / "other", seed=3)
    (here / "crossed.yaml").write_text(
        AUDIT_ONLY.replace("model: bert", "model: bert\n    seed_models: other"), encoding="utf8"
    )
    assert run(capsys, "replicate", "crossed.yaml", "--register")[0] == 0
    spec = "crossed.registered.json"
    code, _, err = run(capsys, "replicate", spec, "-o", "crossed")
    assert code == 0, err
    methods = (here / "crossed" / "methods.tex").read_text(encoding="utf8")
    assert "in 2 trainings" in methods and "with 2 checkpoints and" in methods
    assert latex_checks.cited(methods) >= {"student1908", "satterthwaite1946"}
    assert "studentised bootstrap" not in methods
    saved(here / "other", seed=4)
    capsys.readouterr()
    refused(capsys, "audits 1 crossed_with 1 is not what was registered", spec, "-o", "new")


HOSTILE = "a_model & 100% \\\\input{x} $ # ^ ~ {"


@pytest.fixture(scope="module")
def judged() -> AuditText:
    """An audit with a ranking, of a model whose name is an attack."""
    facts = {
        "model": HOSTILE, "data": HOSTILE, "measured": 300, "key": "audit-0", "notes": [HOSTILE],
        "explanations": ["attention", "lrp", "gradient"], "operators": ["delete", "mask"],
        "skipped": {"lime": HOSTILE},
    }  # fmt: skip
    rows = rows_of(World(truth=0.2))
    verdict = judge(rows, costs(), {**facts, "classes": [HOSTILE, "b"]}, Settings(resamples=200))
    found = Audit.of(verdict, facts, rows=rows)
    return AuditText("audit-1", Audited.of(found), asdict(AuditSpec()), sampled=False)


def test_a_ranking_and_hostile_names(judged: AuditText) -> None:
    properties_, ranking, *_ = (table(one) for one in judged.tables())
    limits = paragraph(judged.limitations())
    for text in (properties_, ranking, limits, paragraph(judged.methods())):
        assert latex_checks.problems(text) == [] and latex_checks.rows_fit(text)
    assert ranking.count("lrp &") == 1 and "not supported" in properties_
    assert r"Lime was left out: a\_model \& 100\% \textbackslash{}" in limits
    methods = paragraph(judged.methods())
    assert "200 resamples" in methods and "a random sample" not in methods
    assert r"lrp~\cite{bastings2020,bach2015,arras2017,ali2022}" in methods
    assert r"by the operators delete~\cite{jain2019} and mask." in methods
    assert "at most 40 model runs a text in search of the best order" in methods


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@settings(max_examples=40)
@example({}, {"": None})
@given(plain, plain)
def test_values_differ_somewhere_or_have_one_hash(one: Any, other: Any) -> None:
    same = hash_of({"": one}) == hash_of({"": other})
    assert same == (not list(differences({"": one}, {"": other})))


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_no_text_gets_out_of_its_place(text: str) -> None:
    assert latex_checks.problems(escape(text)) == []
    sentence = enumerated(text, [Part(text, ("jain2019",)), Part(text)])
    assert latex_checks.problems(paragraph([sentence, said(text, "jain2019")])) == []
    made = table(Table("x", text, pd.DataFrame({text or "a": [text, text], "b": [text, "1"]})))
    assert latex_checks.problems(made) == [] and latex_checks.rows_fit(made)


def test_what_the_checks_of_latex_find() -> None:
    for bad in [
        "50% off",
        "a_b",
        r"\immediate\write18{x}",
        "{",
        "}",
        "$x",
        r"\begin{table}",
        "a & b",
    ]:
        assert latex_checks.problems(bad), bad
    row = "\\begin{tabular}{ll}\na & b & c \\\\\n\\end{tabular}"
    assert not latex_checks.rows_fit(row)


def test_a_cell_is_no_option_of_the_line_above() -> None:
    made = table(Table("x", "y", pd.DataFrame({"a": ["[1cm]", "*"], "b": ["c", "d"]})))
    assert "{}[1cm] &" in made and "{}* &" in made


def test_words() -> None:
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]
    assert ended("few examples: 40") == "Few examples: 40."
    assert grouped([("x.", "a"), ("y", "b"), ("x", "c")]) == ["x (a; c)", "y (b)"]
    assert escape("α ≤ 中\x00") == r"$\alpha$ $\leq$ [U+4E2D]"


def test_a_folder_of_another_registration_stays(tmp_path: Path) -> None:
    one, other = (Registered(title, (), {}, {}) for title in "ab")
    write(tmp_path / "out", one, [])
    write(tmp_path / "out", one, [])
    with pytest.raises(HeedfulError, match="is there already"):
        write(tmp_path / "out", other, [])
