"""Units: where they stand in a text, and that everything after them is about them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tiny_hf import tiny_hf  # sets HF_HUB_OFFLINE, which must come before transformers

pytest.importorskip("transformers")

import heedful
from heedful.attributions import explain
from heedful.auditing import AuditSpec
from heedful.data import default_spec, prepare
from heedful.errors import HeedfulError
from heedful.perturbations import removed
from heedful.runner import Machine, Recipe, trained
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store
from heedful.targets import (
    AuditTarget,
    grouped,
    open_asked,
    open_target,
    read_documents,
    split_words,
)
from heedful.units import UNITS, by_unit
from heedful.verdict import Settings, card
from heedful.words import to_words, word_mask
from tiny_tokenizers import byte_pairs, word_pieces

LONGER = ("sentence", "line", "paragraph")
GOLDEN = {
    "Dr. Smith went home. He slept.": ["Dr. Smith went home.", "He slept."],
    "It costs 3.5 dollars, e.g. today. Fine!": ["It costs 3.5 dollars, e.g. today.", "Fine!"],
    "Wait… what? Well... maybe. No": ["Wait… what?", "Well... maybe.", "No"],
    '"Stop!" he cried. "I am here."': ['"Stop!" he cried.', '"I am here."'],
    "A head\nand a line. End": ["A head", "and a line.", "End"],
    "今天很好。你好吗？我很好！走吧": ["今天很好。", "你好吗？", "我很好！", "走吧"],
    "「你好。」他说。Yes": ["「你好。」", "他说。", "Yes"],
    "  one  ": ["one"],
    " \u200b ": [],
}


def cut(text: str, unit: str) -> list[str]:
    return [text[start:end] for start, end in grouped(text, split_words(text), unit)]


@pytest.mark.parametrize("text", GOLDEN)
def test_golden_sentences(text: str) -> None:
    assert cut(text, "sentence") == GOLDEN[text]


def test_golden_lines_and_paragraphs() -> None:
    text = "One. Two.\r\nthree\n \t\nfour\n\n\n\nsix"
    assert cut(text, "line") == ["One. Two.", "three", "four", "six"]
    assert cut(text, "paragraph") == ["One. Two.\r\nthree", "four", "six"]


PARTS = [*"ab.!?…。」\"' \n\r\t\u2028-3", "Dr. ", "\n\n", "e\u0301"]


@given(st.lists(st.sampled_from([*PARTS, "<br />"]), max_size=30).map("".join))
def test_no_word_is_in_two_units_and_none_is_left_out(text: str) -> None:
    words = split_words(text)
    for unit in LONGER:
        spans = grouped(text, words, unit)
        held = [[word for word in words if a <= word[0] and word[1] <= b] for a, b in spans]
        assert tuple(word for some in held for word in some) == words
        assert [(some[0][0], some[-1][1]) for some in held] == list(spans)


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_sentences_stand_in_lines_and_lines_in_paragraphs(text: str) -> None:
    sentences, lines, paragraphs = (grouped(text, split_words(text), unit) for unit in LONGER)
    for inner, outer in ((sentences, lines), (lines, paragraphs)):
        assert all(any(a <= start and end <= b for a, b in outer) for start, end in inner)


def test_sentences_about_words_are_said_of_other_units() -> None:
    said = "Which words matter? Words and word frequency; a word."
    wanted = "Which lines matter? Lines and word frequency; a line."
    assert by_unit(said, "line") == wanted and by_unit(said, "word") == said


# Texts of a Hugging Face model.


TEXT = "The film is good. The plot is very bad! A story.\n\nIt was great."
TEXTS = [
    {"text": TEXT, "label": 1, "marks": [[18, 22]]},
    {"text": "Not bad. It is a film.\nGreat", "label": 0, "marks": [[0, 3], [24, 26]]},
]


def pair(**model: Any) -> tuple[Any, Any]:
    return tiny_hf(double=True, **model), word_pieces()


def opened(subject: AuditTarget) -> tuple[Any, Any]:
    batch = subject.encode(range(len(subject)))
    return batch, torch.zeros(len(batch), dtype=torch.long)


@pytest.mark.parametrize("unit", LONGER)
def test_a_unit_has_the_tokens_of_its_words(unit: str) -> None:
    """So its attention is that of its words, and to remove it is to remove them all."""
    with open_target(pair(), TEXTS) as by_words, open_target(pair(), TEXTS, unit=unit) as target:
        assert target.unit == unit and by_words.unit == "word"
        words, label = opened(by_words)
        longer, _ = opened(target)
        there = word_mask(longer.texts["a"])
        number = torch.full(word_mask(words.texts["a"]).shape, -1)
        for row, (fine, coarse) in enumerate(
            zip(by_words.documents, target.documents, strict=True)
        ):
            for place, (start, end) in enumerate(fine.words["a"]):
                number[row, place] = next(
                    i for i, (a, b) in enumerate(coarse.words["a"]) if a <= start and end <= b
                )
        scores = explain("attention", by_words.model, words, label)
        for row in range(len(TEXTS)):
            for place in range(int(there[row].sum())):
                own = number[row] == place
                whole = explain("attention", target.model, longer, label)[row, place]
                assert float(scores[row][own].sum()) == pytest.approx(float(whole), abs=1e-9)
        gone = torch.zeros_like(there)
        gone[:, 1] = True
        for operator in ("delete", "mask"):
            torch.testing.assert_close(
                removed(target.model, longer, gone, operator),
                removed(by_words.model, words, number == 1, operator),
            )


def test_a_rationale_marks_the_units_it_touches() -> None:
    with open_target(pair(), TEXTS, unit="sentence", rationale_column="marks") as target:
        assert target.documents[0].surface[1] == "The plot is very bad!"
        assert target.documents[0].rationale == (False, True, False, False)
        assert target.documents[1].rationale == (True, False, True)


def test_the_unit_is_part_of_the_key() -> None:
    keys = []
    for unit in ("word", "token", *LONGER):
        with open_target(pair(), [{"text": "bad\n\ngood", "label": 0}], unit=unit) as target:
            keys.append(json.dumps(target.key, sort_keys=True))
            assert target.key.get("unit", "word") == unit
    assert len(set(keys)) == len(keys)


def test_tokens_are_the_models_own() -> None:
    with open_target(pair(), [{"text": "Unlikely good, don't", "label": 1}], unit="token") as one:
        assert one.documents[0].surface == ("Un", "like", "ly", "good", ",", "don", "'", "t") or (
            one.documents[0].surface == ("Un", "like", "ly", "good", ",", "do", "'", "t")
        )
        row = one.rows[0]
        assert row.words[row.mask].tolist() == list(range(int(row.mask.sum())))
    model = tiny_hf("GPT2", "language", vocab_size=290), byte_pairs()
    with open_target(
        model, [{"text": " good film\n😀 a"}], unit="token", template="a {text}"
    ) as one:
        document, row = one.documents[0], one.rows[0]
        assert document.surface[0] in ("good", "go", "g") and "😀" in document.surface
        assert "" not in document.surface and all(map(str.strip, document.surface))
        known = row.words[row.words >= 0]
        assert set(known.tolist()) == set(range(document.length))  # four bytes are one unit
        assert (known == document.surface.index("😀")).sum() == 4


# Lists of documents.


DOCUMENTS = ["The film is good. Very.", "", "A plot", "is dull!"]


def as_file(folder: Path, kind: str) -> Any:
    rows = [{"text": DOCUMENTS, "label": 1}, {"text": ["bad", "film"], "label": 0}]
    if kind == "list":
        return rows
    if kind == "frame":
        return pd.DataFrame(rows)
    if kind == "dataset":
        return pytest.importorskip("datasets").Dataset.from_list(rows)
    path = folder / f"d.{kind}"
    if kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf8")
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("kind", ["list", "frame", "dataset", "jsonl", "parquet"])
def test_each_item_of_a_list_is_a_unit(tmp_path: Path, kind: str) -> None:
    read = read_documents(as_file(tmp_path, kind), unit="document", separator="\n--\n")
    assert read[0].texts["a"] == "\n--\n".join(DOCUMENTS)
    assert read[0].surface == ("The film is good. Very.", "A plot", "is dull!")
    assert read[1].surface == ("bad", "film") and read.unit == "document"
    with pytest.raises(HeedfulError, match="has a list in column 'text'.*--unit document"):
        read_documents(as_file(tmp_path, kind))


def test_documents_are_explained_with_a_question_that_is_not_on_trial() -> None:
    model = tiny_hf("GPT2", "language", vocab_size=290), byte_pairs()
    options: dict[str, Any] = {"template": "{text} / {text_b} is", "explanations": "occlusion"}
    found = heedful.explain(model, ["a good film", "bad is bad"], "a film", **options)
    assert found.unit == "document" and found.words == ("a good film", "bad is bad")
    assert "2 documents" in repr(found) and found.to_dict()["unit"] == "document"
    whole = heedful.explain(
        model, "a good film\n\nbad is bad / a film is", **options | {"template": "{text}"}
    )
    assert found.probability == pytest.approx(whole.probability, abs=1e-6)
    with pytest.raises(HeedfulError, match="holds {text_b}.*--text-b-column"):
        heedful.explain(model, ["a", "bad"], **options)


def test_bad_units_are_refused() -> None:
    def refused(match: str, text: Any = "a good film", **options: Any) -> None:
        with pytest.raises(HeedfulError, match=match):
            heedful.explain(pair(), text, explanations="attention", **options)

    refused("no text of the list has two sentences", unit="sentence")
    refused("no text of the list has two documents.*lists of texts", ["one"])
    refused("an? int among the documents", ["one", 2])
    refused("unknown unit 'words'", unit="words")
    refused("the unit token is the model's own", unit="token", words=lambda text: [(0, 1)])
    refused("no span covers 'film' at character 7", words=lambda text: [(0, 1), (2, 6)])
    refused("spans of words overlap", words=lambda text: [(0, 3), (2, 11)])
    refused("spans of words overlap", words=lambda text: [(2, 11), (0, 1)])
    refused("leave the text", words=lambda text: [(0, 12)])
    refused("a separator", separator=" ")


# Audits, and models of our own.


SPEC = AuditSpec(
    ("attention", "gradient_input", "occlusion"), ("occlusion",), permutations=2, ceiling=2,
    search_steps=2, exact=4, only=("interventions", "importance", "agreement"),
)  # fmt: skip


def test_an_audit_of_sentences_says_so_everywhere() -> None:
    pytest.importorskip("jinja2")
    openings = [f"{word} film. It is {end}!" for word in ("Good", "Bad") for end in "ax"]
    rows = [{"text": f"{opening} The plot. A story.", "label": 0} for opening in openings]
    found = heedful.audit(pair(), rows, SPEC, unit="sentence", progress=False)
    assert found.facts["unit"] == "sentence" and found.verdict.asked.unit == "sentence"
    assert list(found.documents["words"].iloc[0])[-2:] == ["The plot.", "A story."]
    assert "Which sentences matter:" in str(found) and "**Which sentences matter:**" in card(
        found.verdict
    )
    plain = json.loads(found.verdict.to_json())
    assert plain["settings"]["unit"] == "sentence"
    assert any("Erasing sentences" in caveat for caveat in plain["caveats"])
    from heedful.report import audit_page

    page = audit_page(found.as_parts())
    assert "0 is a random order of sentences" in page and "Which sentences matter?" in page
    assert "Which words matter" not in page
    by_words = heedful.audit(pair(), rows[:2], SPEC, progress=False)
    assert "unit" not in by_words.facts and by_words.verdict.asked.unit == "word"


def test_settings_of_words_have_the_digest_they_had() -> None:
    plain = Settings()
    assert plain.digest() == replace(plain, unit="word").digest()
    assert plain.digest() != replace(plain, unit="line").digest()


@pytest.fixture(scope="module")
def run(store: Store) -> Run:
    spec = default_spec("planted", n_train=60, n_dev=10, n_test=20, dimension=8)
    recipe = Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 0)
    return trained(store, prepare(spec, store), recipe, Machine())


def test_a_model_whose_tokens_are_words_reads_longer_units(run: Run) -> None:
    rows = [{"text": "good a film. It was bad! the end", "label": "1"}]
    names: dict[str, Any] = {"label_column": None, "device": "cpu"}
    with (
        open_target(run, rows, **names) as fine,
        open_target(run, rows, unit="sentence", **names) as one,
    ):
        words, label = opened(fine)
        longer, _ = opened(one)
        assert torch.equal(words.texts["a"].tokens, longer.texts["a"].tokens)
        assert one.documents[0].surface[0].startswith("good a film")
        scores = explain("attention", fine.model, words, label)[0]
        spans = fine.documents[0].words["a"]
        sizes = [sum(a <= w[0] < b for w in spans) for a, b in one.documents[0].words["a"]]
        wanted = [float(part.sum()) for part in scores.split(sizes)]
        found = explain("attention", one.model, longer, label)[0]
        assert found.tolist() == pytest.approx(wanted, abs=1e-7)
        assert to_words(longer.texts["a"].mask.double(), longer.texts["a"])[0].tolist() == sizes
    with open_target(run, rows, unit="token", **names) as tokens:
        assert tokens.documents[0].surface == fine.documents[0].surface
    cut_short = [{"text": "good film. " * 40}]
    with open_target(run, cut_short, unit="sentence", max_length=10, **names) as one:
        assert one.truncated.texts == 1 and "sentences were lost" in " ".join(one.notes)


def test_what_one_text_lost_is_counted_by_its_unit(store: Store, tmp_path: Path) -> None:
    """Eight tokens are read, two sentences of four."""
    rows = [f"It was {word}. A {n}. film.,{word}" for n in range(6) for word in ("bad", "good")]
    (tmp_path / "a.csv").write_text("\n".join(["text,label", *rows]), encoding="utf8")
    corpus = prepare(default_spec("file", path=str(tmp_path / "a.csv"), dimension=8), store)
    recipe = Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 0)
    run = trained(store, corpus, recipe, Machine())
    for unit, lost in (("word", "8 words"), ("sentence", "2 sentences")):
        with open_asked(run, unit=unit, max_length=10, device="cpu") as asked:
            notes = asked.about("It was bad. " * 4).notes
            assert any(f"its last {lost} were cut off" in note for note in notes)


def test_every_unit_is_told() -> None:
    assert set(UNITS) == {"token", "word", "sentence", "line", "paragraph", "document"}
