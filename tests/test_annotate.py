"""Studies: what is asked, what is kept, what comes out of it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
import torch

from annotating import make_study
from heedful.apps.annotation import (
    ORIGINAL,
    PERMUTED,
    RATIONALE,
    Answer,
    Item,
    Plan,
    Refusal,
    Study,
    Wanted,
    agreement,
    create,
    figure5,
    interface,
    invite,
    is_published,
    item_of,
    merged,
    plan_study,
    published_figure5,
    read_jsonl,
    read_label_studio,
    results,
    unsure,
    write_jsonl,
    write_label_studio,
)
from heedful.attributions import explain, text_site
from heedful.auditing import Audit
from heedful.cli import main
from heedful.data import Prepared, default_spec, prepare
from heedful.errors import HeedfulError
from heedful.hashing import stable_hash
from heedful.interventions import permute
from heedful.metrics import wilson
from heedful.models import probabilities
from heedful.runner import Machine, Recipe, trained
from heedful.specs import CorpusSpec, ModelSpec, PrepareSpec, TrainSpec
from heedful.store import MANIFEST, Run, Store
from heedful.targets import open_target, read_documents

PLANTED = default_spec("planted", n_train=60, n_dev=10, n_test=20, dimension=8)
WANTED = Wanted(n=8, top=2, seed=5)


def train(store: Store, spec: CorpusSpec, model: ModelSpec = ModelSpec(hidden=8)) -> Run:
    recipe = Recipe(model, TrainSpec(epochs=2, learning_rate=0.02), 0)
    return trained(store, prepare(spec, store), recipe, Machine())


@pytest.fixture(scope="module")
def run(store: Store) -> Run:
    return train(store, PLANTED)


@pytest.fixture(scope="module")
def plan(run: Run) -> Plan:
    return plan_study(run, None, WANTED)


def said(study: Study, name: str, values: dict[int, object]) -> None:
    for number, value in values.items():
        study.answer(name, Answer(number, value, None, f"{name}-{number}-{value}"))


# --- what is asked -------------------------------------------------------------------------


def test_half_of_the_items_are_permuted_and_no_text_comes_twice(plan: Plan) -> None:
    shown = [item.shown for item in plan.items]
    assert shown.count(ORIGINAL) == shown.count(PERMUTED) == 8
    assert shown != sorted(shown) and shown != sorted(shown, reverse=True)
    assert len({item.example for item in plan.items}) == 16
    assert [item.number for item in plan.items] == list(range(16))
    assert not plan.facts["notes"]


def test_items_show_what_the_model_does_under_the_shown_weights(run: Run, plan: Plan) -> None:
    """By other ways: the map of `explain`, and a run of the model with an edit."""
    seed = stable_hash(WANTED.seed, "intervention", 0)
    with open_target(run) as subject:
        places = {document.id: index for index, document in enumerate(subject.documents)}
        changed = 0
        for item in plan.items:
            batch = subject.encode([places[item.example]])
            site = text_site(subject.model).name
            edits = {site: permute(seed)} if item.shown == PERMUTED else {}
            with torch.no_grad():
                trace = subject.model(batch, edits)
            predicted = int(probabilities(trace.logits).argmax())
            weights = trace.weights[site][0, 0, 0][batch.texts["a"].mask[0]]
            assert sorted(item.top) == sorted(weights.argsort(descending=True)[:2].tolist())
            assert item.prediction == subject.label_names[predicted]
            assert item.correct == (predicted == int(batch.labels[0]))
            label = torch.tensor([predicted])
            own = explain("attention", subject.model, batch, label)[0]
            changed += sorted(own.argsort(descending=True)[:2].tolist()) != sorted(item.top)
    assert 0 < changed <= 8


def test_a_seed_makes_a_study_and_another_makes_another(run: Run, plan: Plan) -> None:
    assert plan_study(run, None, WANTED) == plan
    other = plan_study(run, None, Wanted(n=8, top=2, seed=6))
    assert [item.example for item in other.items] != [item.example for item in plan.items]


def test_few_texts_are_shown_under_both_weights_and_it_is_said(run: Run) -> None:
    both = plan_study(run, None, Wanted(n=15))
    assert "10 texts are shown twice" in both.facts["notes"][0]
    with pytest.raises(HeedfulError, match="lower --n"):
        plan_study(run, None, Wanted(n=21))


def test_pairs_show_both_texts_and_ask_about_the_first(tmp_path: Path) -> None:
    rows = [
        {"text": f"it was {word} there", "text_b": "how was it", "label": word}
        for word in ("good", "bad") * 20
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    params = {"path": str(file), "text_b_column": "text_b"}
    made = PrepareSpec(tokenizer="words", dev_fraction=0.2, test_fraction=0.3, dimension=4)
    model = ModelSpec(hidden=8, family="pair", decoder="query")
    run = train(Store(tmp_path / "store"), CorpusSpec("file", params, made), model)
    item = plan_study(run, None, Wanted(n=3)).items[0]
    assert item.texts["b"] == "how was it" and set(item.words) == {"a"}
    assert item.pieces()["b"] == [{"text": "how was it"}]


def test_hugging_face_models_are_asked_about_too(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from tiny_tokenizers import saved

    rows = [{"text": f"the film is {w} good", "label": i % 2} for i, w in enumerate(["a", "b"] * 4)]
    found = plan_study(saved(tmp_path / "bert"), rows, Wanted(n=4, top=3))
    assert len(found.items) == 8 and all(len(set(item.top)) == 3 for item in found.items)


def test_without_labels_only_rationales_can_be_asked_for(run: Run) -> None:
    rows = [{"text": "the hotel was fine"}, {"text": "a dull film"}]
    with pytest.raises(HeedfulError, match="needs labels"):
        plan_study(run, rows, Wanted(n=1), label_column=None)
    found = plan_study(run, rows, Wanted(RATIONALE, n=2), label_column=None)
    assert [(item.top, item.correct, item.asks_label) for item in found.items] == [
        ((), None, False)
    ] * 2


def test_pieces_are_the_text_whatever_is_in_it(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    for item in study.items.values():
        pieces = item.pieces()["a"]
        assert "".join(piece["text"] for piece in pieces) == item.texts["a"]
        assert [piece["word"] for piece in pieces if "word" in piece] == list(range(item.length))
        assert item_of(item.to_json()) == item


def test_spans_join_neighbours() -> None:
    words = {"a": ((0, 3), (4, 7), (8, 9)), "b": ((0, 2), (2, 4))}
    item = Item(0, "x", "plain", {"a": "one two 3", "b": "abcd"}, words, (), "p", None, None)
    assert item.spans((1, 0, 2, 4)) == {"a": [(0, 9)], "b": [(2, 4)]}
    assert item.spans((0, 2)) == {"a": [(0, 3), (8, 9)]}
    assert item.spans(()) == {}


# --- what is kept --------------------------------------------------------------------------


def test_an_answer_is_kept_once_and_its_history_for_ever(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    study.answer("annotator 1", Answer(0, "yes", None, "r1"))
    study.answer("annotator 1", Answer(0, "yes", None, "r1"))  # the reply was lost
    study.answer("annotator 1", Answer(0, "yes", None, "r2"))  # another tab, the same mind
    assert study.answers("annotator 1") == {0: "yes"} and study.changes() == 1
    with pytest.raises(Refusal, match="elsewhere") as refused:
        study.answer("annotator 1", Answer(0, "no", None, "r3"))
    assert refused.value.status == 409 and refused.value.more == {"value": "yes"}
    study.answer("annotator 1", Answer(0, "no", "yes", "r4"))
    study.answer("annotator 1", Answer(0, "yes", None, "r1"))  # late: it was granted long ago
    assert study.answers("annotator 1") == {0: "no"}
    assert study.answers("annotator 2") == {}
    with closing(sqlite3.connect(study.path)) as db:
        rows = db.execute("SELECT value, before FROM history ORDER BY id").fetchall()
    assert rows == [("yes", None), ("no", "yes")]


def test_undo_goes_back_step_by_step(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    study.answer("annotator 1", Answer(0, "yes", None, "r1"))
    study.answer("annotator 1", Answer(0, "no", "yes", "r2"))
    study.answer("annotator 2", Answer(1, "no", None, "r1"))
    study.answer("annotator 1", Answer(1, "unsure", None, "r3"))
    assert study.undo("annotator 1", "u1") == 1
    assert study.undo("annotator 1", "u1") == 1  # the same request again
    assert study.answers("annotator 1") == {0: "no"}
    assert study.undo("annotator 1", "u2") == 0
    assert study.answers("annotator 1") == {0: "yes"}
    study.answer("annotator 1", Answer(2, "yes", None, "r4"))
    assert [study.undo("annotator 1", f"v{i}") for i in range(3)] == [2, 0, None]
    assert study.everybody() == {"annotator 2": {1: "no"}}
    assert study.changes() == 9  # nothing was forgotten


def test_orders_are_everybodys_own_and_stay(tmp_path: Path) -> None:
    first, again = (make_study(tmp_path / f"{i}.db", count=30) for i in range(2))
    one, other = first.annotators()
    assert sorted(one.places) == sorted(other.places) == list(range(30))
    assert one.places != other.places
    assert [each.places for each in again.annotators()] == [one.places, other.places]
    assert one.token not in [each.token for each in again.annotators()]


@pytest.mark.parametrize(
    ("task", "value"),
    [("relevance", "maybe"), ("relevance", [1]), (RATIONALE, "yes"), (RATIONALE, [99]),
     (RATIONALE, [-1]), (RATIONALE, [True])],
)  # fmt: skip
def test_what_is_no_answer_is_refused(tmp_path: Path, task: str, value: object) -> None:
    study = make_study(tmp_path / "s.db", task)
    with pytest.raises(Refusal) as refused:
        study.answer("annotator 1", Answer(0, value, None, "r"))
    assert refused.value.status == 422 and study.changes() == 0


def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    with closing(sqlite3.connect(study.path)) as db:
        db.execute("DROP TABLE answers")
    with pytest.raises(Refusal, match="cannot be used") as refused:
        study.answer("annotator 1", Answer(0, "yes", None, "r1"))
    assert refused.value.status == 503


# --- what comes out ------------------------------------------------------------------------


def test_figure_5_by_hand() -> None:
    rows = [
        ("a", "original", True, "yes"), ("a", "original", True, "yes"),
        ("b", "original", True, "no"), ("c", "original", False, "no"),
        ("c", "original", False, "unsure"), ("d", "permuted", False, "yes"),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["example", "shown", "correct", "value"])
    found = figure5(table).set_index(["shown", "cell"])
    assert found["percent"].tolist() == [50, 25, 0, 25, 0, 0, 100, 0]
    assert found["answers"].tolist() == [2, 1, 0, 1, 0, 0, 1, 0]
    assert unsure(table) == {"original": 1, "permuted": 0}
    low, high = found.loc[("original", "correct+meaningful"), ["low", "high"]]
    assert (low, high) == pytest.approx(tuple(100 * each for each in wilson(0.5, 3)))
    assert figure5(table[:0])["percent"].isna().all()


def test_wilson_by_hand() -> None:
    """With z = 2 and n = 4: the middle is (p + 1/2)/2, at p = 0 the interval is [0, 1/2]."""
    assert wilson(0.0, 4, z=2.0) == pytest.approx((0, 0.5))
    assert wilson(1.0, 4, z=2.0) == pytest.approx((0.5, 1))
    assert wilson(0.5, 4, z=2.0) == pytest.approx((0.5 - 0.125**0.5, 0.5 + 0.125**0.5))


def test_the_published_figure_stands_beside() -> None:
    imdb = published_figure5("imdb")
    assert list(imdb) == ["IMDB"] and imdb["IMDB"]["original:correct+meaningful"] == 79.5
    assert imdb["IMDB"]["cohen_kappa"] == 0.84
    assert list(published_figure5("babi1")) == ["bAbI"] and is_published("babi3")
    assert list(published_figure5("planted")) == ["IMDB", "bAbI"] and not is_published("planted")


def test_results_of_a_small_study(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    empty = results(study)
    assert empty["agreement"]["alpha"] is None and empty["figure5"][0]["percent"] is None
    said(study, "annotator 1", {0: "yes", 1: "yes", 2: "no", 3: "no"})
    said(study, "annotator 2", {0: "yes", 1: "no", 2: "no"})
    found = results(study)
    percents = [cell["percent"] for cell in found["figure5"]]
    assert percents == pytest.approx([50, 0, 25, 25, 0, 200 / 3, 0, 100 / 3])
    (pair,) = found["agreement"]["pairs"]
    assert pair["items"] == 3 and pair["kappa"] == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    assert found["progress"][1] == {"annotator": "annotator 2", "answered": 3}
    json.dumps(found, allow_nan=False)


def test_agreement_on_rationales_is_by_words(tmp_path: Path) -> None:
    study = make_study(tmp_path / "r.db", RATIONALE)
    said(study, "annotator 1", {3: [0], 0: []})
    said(study, "annotator 2", {3: [0, 1]})
    found = agreement(study, study.everybody())
    # "bad & plain": 1 0 0 against 1 1 0, so 2/3 seen and 4/9 by chance
    assert found.pairs[0].kappa == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    assert found.alpha == pytest.approx(1 - (1 / 3) / (3 * 3 * 2 / 30))


def test_merged_rationales() -> None:
    marked = [[0, 1], [1, 2], [1]]
    assert merged(marked) == (1,) and merged(marked, "union") == (0, 1, 2)
    assert merged([[0], [1]]) == () and merged([], "union") is None
    assert merged(marked, "intersection") == (1,)
    with pytest.raises(HeedfulError, match="majority"):
        merged(marked, "mean")


@pytest.mark.parametrize("task", ["relevance", RATIONALE])
@pytest.mark.parametrize("kind", ["jsonl", "label-studio"])
def test_what_is_exported_can_be_imported(tmp_path: Path, task: str, kind: str) -> None:
    study = make_study(tmp_path / "s.db", task)
    values: dict[int, object] = (
        {0: "yes", 2: "unsure"} if task == "relevance" else {0: [2, 3], 1: []}
    )
    said(study, "annotator 1", values)
    said(study, "annotator 2", dict(list(values.items())[:1]))
    file = tmp_path / ("out.jsonl" if kind == "jsonl" else "out.json")
    arguments = [str(study.path), str(file), "--format", kind]
    assert main(["annotate", "export", *arguments]) == 0
    other = make_study(tmp_path / "other.db", task, annotators=1)
    arguments[0] = str(other.path)
    assert main(["annotate", "import", *arguments]) == 0
    assert other.everybody() == study.everybody()
    assert main(["annotate", "import", *arguments]) == 0  # again: nothing new
    assert other.changes() == 3


def test_label_studio_counts_in_its_own_units_and_stays_blind(tmp_path: Path) -> None:
    study = make_study(tmp_path / "r.db", RATIONALE)
    said(study, "annotator 1", {0: [3]})  # "film", after an emoji of two units
    write_label_studio(study, tmp_path / "x.json")
    task = json.loads((tmp_path / "x.json").read_text())[0]
    (region,) = task["annotations"][0]["result"]
    assert region["value"]["text"] == "film"
    text = task["data"]["text"].encode("utf-16-le")
    start, end = region["value"]["start"], region["value"]["end"]
    assert text[2 * start : 2 * end].decode("utf-16-le") == "film"
    assert read_label_studio(study, tmp_path / "x.json") == {"annotator 1": {0: [3]}}
    judged = make_study(tmp_path / "s.db")
    write_label_studio(judged, tmp_path / "y.json")
    whole = (tmp_path / "y.json").read_text()
    assert "original" not in whole and "permuted" not in whole and "correct" not in whole
    assert "<Choices" in interface(judged) and "<Choices" not in interface(study)


def test_both_texts_of_a_pair_can_be_marked_in_label_studio(tmp_path: Path) -> None:
    """Every region belongs to a tag of the interface that labels the region's own text."""
    words = {"a": ((0, 3), (4, 7)), "b": ((0, 2), (2, 4))}
    texts = {"a": "one two", "b": "abcd"}
    item = Item(0, "x", "plain", texts, words, (), "p", None, None)
    facts = {"source": "pairs", "labels": ["p"], "seed": 0}
    create(tmp_path / "p.db", Plan(RATIONALE, (item,), facts), "key")
    study = Study(tmp_path / "p.db")
    invite(study, 1)
    said(study, "annotator 1", {0: [1, 3]})
    write_label_studio(study, tmp_path / "p.json")
    tags = ElementTree.fromstring((tmp_path / "p.xml").read_text()).iter("Labels")
    known = {(tag.get("name"), tag.get("toName")) for tag in tags}
    assert known == {("reason", "text"), ("reason_b", "text_b")}
    (task,) = json.loads((tmp_path / "p.json").read_text())
    regions = task["annotations"][0]["result"]
    assert {(each["from_name"], each["to_name"]) for each in regions} == known
    assert [each["value"]["text"] for each in regions] == ["two", "cd"]
    assert read_label_studio(study, tmp_path / "p.json") == {"annotator 1": {0: [1, 3]}}


def test_an_import_is_all_or_nothing(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db")
    said(study, "annotator 1", {1: "no"})
    file = tmp_path / "in.jsonl"
    rows = [{"item": n, "answers": {"new": "yes", "annotator 1": "yes"}} for n in (0, 1)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["annotate", "import", str(study.path), str(file)]) == 2
    assert study.everybody() == {"annotator 1": {1: "no"}}
    assert [each.name for each in study.annotators()] == ["annotator 1", "annotator 2"]
    study.answer("annotator 1", Answer(1, "yes", "no", "on second thoughts"))
    assert main(["annotate", "import", str(study.path), str(file)]) == 0
    assert study.everybody()["new"] == {0: "yes", 1: "yes"}
    for bad in ({"item": 9, "answers": {}}, {"item": 0, "answers": 3}, {"item": 0}):
        file.write_text(json.dumps(bad))
        with pytest.raises(HeedfulError):
            read_jsonl(study, file)


def test_marked_words_become_plausibility_in_an_audit(
    tmp_path: Path, store: Store, run: Run
) -> None:
    """People's answers → rationales in a file → the audit's table, against the words marked."""
    path = tmp_path / "r.db"
    asked = ["annotate", "new", str(run.path), "--task", RATIONALE, "--n", "12", "-o", str(path)]
    assert main([*asked, "--annotators", "3"]) == 0
    study = Study(path)
    for name, words in {"annotator 1": [1, 2], "annotator 2": [1], "annotator 3": [3]}.items():
        said(study, name, {number: words for number in study.items if number != 0})
    file = tmp_path / "people.jsonl"
    assert main(["annotate", "export", str(path), str(file)]) == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row, item in zip(rows, study.items.values(), strict=True):
        start, end = item.words["a"][1]
        assert row["rationale"] == (None if item.number == 0 else [[start, end]])
    out = tmp_path / "audit"
    columns = ["--rationale-column", "rationale", "--id-column", "id", "--label-column", "label"]
    fast = ["--quick", "--explanations", "attention", "--only", "plausibility"]
    assert main(["audit", str(run.path), str(file), *columns, *fast, "-o", str(out)]) == 0
    table = Audit.load(out).rows
    told = table[(table["measure"] == "token_f1") & (table["explanation"] == "attention")]
    values = told.set_index("example")["value"].dropna()
    assert sorted(values.index) == sorted(row["id"] for row in rows if row["rationale"])
    with open_target(run, str(file), id_column="id") as subject:
        for index, document in enumerate(subject.documents):
            scores = explain(
                "attention", subject.model, subject.encode([index]), torch.tensor([0])
            )[0]
            if document.id in values.index:
                assert values[document.id] == float(scores.argmax() == 1)


def test_a_corpus_of_ones_own_reads_the_marks(tmp_path: Path) -> None:
    from heedful.data.tables import read as read_corpus

    study = make_study(tmp_path / "r.db", RATIONALE)
    said(study, "annotator 1", {0: [1]})
    write_jsonl(study, tmp_path / "x.jsonl")
    found = read_corpus(None, str(tmp_path / "x.jsonl"), rationale_column="rationale")
    assert found.examples[0].rationales == {"a": [(2, 6)]}
    assert found.examples[1].rationales is None


def test_marks_of_pairs_are_read_by_training_and_by_an_audit(tmp_path: Path, store: Store) -> None:
    """What people marked in either text stands at its words, whichever command reads it."""
    words = {"a": ((0, 3), (4, 7)), "b": ((0, 2), (3, 6))}
    texts = {"a": "one two", "b": "so far"}
    named = {number: "pn"[number % 2] for number in range(40)}
    items = tuple(
        Item(number, f"x{number}", "plain", texts, words, (), label, label, True)
        for number, label in named.items()
    )
    create(tmp_path / "p.db", Plan(RATIONALE, items, {"labels": ["n", "p"], "seed": 0}), "key")
    study = Study(tmp_path / "p.db")
    invite(study, 1)
    said(study, "annotator 1", {number: [1, 3] for number in named})
    file = str(tmp_path / "people.jsonl")
    assert main(["annotate", "export", str(study.path), file]) == 0
    columns = {"text_b_column": "text_b", "rationale_column": "rationale", "id_column": "id"}
    typed = [f"--param={name}={column}" for name, column in columns.items()]
    typed += ["--param=min_df=1", "--param=tokenizer=whitespace", "--store", str(store.root)]
    model = ["--family", "pair", "--decoder", "query", "--hidden", "4", "--epochs", "1"]
    assert main(["train", "--corpus", file, *typed, *model]) == 0
    spec = CorpusSpec(
        "file", {"path": file, **columns}, PrepareSpec(tokenizer="whitespace", min_df=1)
    )
    split = Prepared(prepare(spec, store)).split("train")
    for side in ("a", "b"):
        marks = split.rationale(0, side)
        assert marks is not None and marks.tolist() == [False, True]
    assert read_documents(file, **columns)[0].rationale == (False, True, False, True)


# --- the command line ----------------------------------------------------------------------


def test_results_in_words_and_in_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_study(tmp_path / "s.db")
    said(study, "annotator 1", {0: "yes", 2: "no"})
    said(study, "annotator 2", {0: "yes", 2: "no"})
    assert main(["annotate", "results", str(study.path), "-o", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "annotator 1: 2 of 4 answered" in out and "100.0 %" in out and "IMDB 79.5" in out
    assert "Krippendorff's α 1.000" in out
    names = {"results.json", "agreement.csv", "figure5.csv", "judgements.csv", MANIFEST}
    assert {each.name for each in (tmp_path / "out").iterdir()} == names
    assert main(["annotate", "results", str(study.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == 4
    assert main(["annotate", "invite", str(study.path), "--annotators", "2"]) == 0
    assert [each.name for each in study.annotators()][2:] == ["annotator 3", "annotator 4"]


def test_bad_input_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study(tmp_path / "s.db")
    (tmp_path / "text.db").write_text("no database at all, but long enough to be one " * 40)
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE x (y)")
    with closing(sqlite3.connect(make_study(tmp_path / "old.db").path)) as db:
        db.execute("PRAGMA user_version=7")
    store = ["--store", str(tmp_path / "store")]
    cases = {
        "no study at": ["results", str(tmp_path / "missing.db")],
        "is no study": ["results", str(tmp_path / "text.db")],
        "is no study:": ["serve", str(tmp_path / "other.db")],
        "schema 7": ["serve", str(tmp_path / "old.db")],
        "is there already": ["new", "model-0123", "-o", str(study.path), *store],
        "model-0123": ["new", "model-0123", "-o", str(tmp_path / "new.db"), *store],
        "unknown format": ["export", str(study.path), str(tmp_path / "x"), "--format", "xml"],
        "ending in .jsonl": ["export", str(study.path), str(tmp_path / "x.csv")],
        "there is no file": ["import", str(study.path), str(tmp_path / "none.jsonl")],
        "folder that is there": ["export", str(study.path), str(tmp_path / "no" / "x.jsonl")],
    }
    for sentence, arguments in cases.items():
        assert main(["annotate", *arguments]) == 2, arguments
        assert sentence in capsys.readouterr().err
    assert not (tmp_path / "new.db").exists()
