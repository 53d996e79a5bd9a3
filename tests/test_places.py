"""Labels of words, answers in a text and masked tokens: where a prediction is read, and what is
asked about it when other words are gone."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tiny_hf import tiny_hf  # sets HF_HUB_OFFLINE, which must come before transformers

pytest.importorskip("transformers")

import heedful
from heedful.attributions import explain
from heedful.errors import HeedfulError
from heedful.models import attach, label_words, one_token, probabilities, span
from heedful.models.hf.inputs import Inputs, Side
from heedful.perturbations import removed
from heedful.targets import AuditTarget, open_asked, open_target
from heedful.types import Keep
from reference.places import best_span, chosen_word, run, span_probability
from tiny_tokenizers import saved, word_pieces

LABELS = {0: "O", 1: "B-X", 2: "B-Y"}
NAMES: dict[str, Any] = {"id2label": LABELS, "label2id": {n: i for i, n in LABELS.items()}}
TAGGED = [
    {
        "tokens": ["the", "plots", "was", "a", "great", "film"],
        "tags": ["O", "B-X", "O"] + ["O"] * 3,
    },
    {"tokens": ["good", "unlikely", "story"], "tags": ["B-Y", "O", "B-X"]},
    {"tokens": ["a", "film", ",", "not", "a", "plot", "."], "tags": ["O"] * 5 + ["B-Y", "O"]},
]
WORDS: dict[str, Any] = {"text_column": "tokens", "label_column": "tags"}
ASKED = [
    {"text": "the film was a very good film", "text_b": "was it good", "answer": "very good"},
    {"text": "a dull plot", "text_b": "is the story unlikely", "answer": "plot"},
    {"text": "it was not great , the story was unlikely .", "text_b": "do", "answer": "unlikely"},
]
PAIR: dict[str, Any] = {"text_b_column": "text_b"}
GAPS = [
    {"text": "the [MASK] was very good"},
    {"text": "[MASK] film"},
    {"text": "it is a story [MASK] ."},
]


def tagger(name: str = "Bert", **config: Any) -> tuple[Any, Any]:
    options = {"vocab_size": 30, **NAMES, **config}
    return tiny_hf(name, "words", 3, double=True, **options), word_pieces()


def reader(name: str = "Bert", **config: Any) -> tuple[Any, Any]:
    return tiny_hf(name, "span", double=True, vocab_size=30, **config), word_pieces()


def masked(name: str = "Bert") -> tuple[Any, Any]:
    return tiny_hf(name, "masked", double=True, vocab_size=30), word_pieces()


def logits_of(target: AuditTarget, *indices: int) -> torch.Tensor:
    with torch.no_grad():
        return target.model(target.encode(indices)).logits


def gone(batch: Any, *words: int) -> torch.Tensor:
    """The same words of every text."""
    width = int(batch.texts["a"].words.max()) + 1
    return torch.zeros(len(batch), width, dtype=torch.bool).index_fill(1, torch.tensor(words), True)


# Heads, by hand.


def test_the_logit_of_a_span_by_hand() -> None:
    """The first token starts with p = 3/4, the second ends with p = 2/3: p = 1/2, a logit of 0.
    Padding has no part in it."""
    start = torch.tensor([[math.log(3.0), 0.0, 50.0]], dtype=torch.float64)
    end = torch.tensor([[0.0, math.log(2.0), 50.0]], dtype=torch.float64)
    real = torch.tensor([[True, True, False]])
    output = SimpleNamespace(start_logits=start, end_logits=end)
    inputs = Inputs({}, {"a": Side(real, real)}, read_at=torch.tensor([[1, 2, 0]]))
    assert span(output, inputs).item() == pytest.approx(0.0, abs=1e-12)
    one = Inputs({}, {"a": Side(real, real)}, read_at=torch.tensor([[3, 0, 0]]))
    p = float(probabilities(span(output, one))[0, 1])  # 3/4 · 1/3
    assert p == pytest.approx(1 / 4)


def test_a_token_is_read_where_it_is_marked() -> None:
    real = torch.ones(2, 3, dtype=torch.bool)
    output = SimpleNamespace(logits=torch.arange(18.0).reshape(2, 3, 3))
    marks = torch.tensor([[0, 3, 0], [1, 2, 0]])
    inputs = Inputs({}, {"a": Side(real, real)}, read_at=marks)
    assert one_token(output, inputs).tolist() == [[3, 4, 5], [9, 10, 11]]
    assert label_words([2, 0])(output, inputs).tolist() == [[5, 3], [11, 9]]
    assert one_token(output, Inputs({}, {"a": Side(real, real)})).tolist()[0] == [6, 7, 8]


# Labels of words.


@pytest.mark.parametrize("name", ["Bert", "XLNet", "GPT2"])
def test_a_label_is_that_of_the_plain_model(name: str) -> None:
    """Of each word's first token, alone and in a padded batch; XLNet is padded on the left."""
    module, tokenizer = tagger(name)
    with open_target((module, tokenizer), TAGGED, **WORDS) as target:
        assert list(target.ids) == ["row-000001-2", "row-000002-1", "row-000002-3", "row-000003-6"]
        assert [list(target.ids).index(name) for name in target.clusters] == [0, 1, 1, 3]
        assert target.labels.tolist() == [1, 2, 1, 2] and target.label_names == ("O", "B-X", "B-Y")
        found = logits_of(target, 0, 1, 2, 3)
        for index, (row, word) in enumerate(((0, 1), (1, 0), (1, 2), (2, 5))):
            encoded = tokenizer(TAGGED[row]["tokens"], is_split_into_words=True)
            place = encoded.word_ids().index(word)
            types = encoded["token_type_ids"] if name == "Bert" else None
            wanted = run(module, encoded["input_ids"], types).logits[0, place]
            torch.testing.assert_close(found[index], wanted)
            torch.testing.assert_close(logits_of(target, index)[0], wanted)


def test_marks_are_turned_with_the_padding() -> None:
    module, tokenizer = tagger()
    with open_target((module, tokenizer), TAGGED, **WORDS) as target:
        batch, right = target.encode([0, 1, 2, 3]), logits_of(target, 0, 1, 2, 3)
    with attach(module, {"unk": 3}, one_token, padding="left") as model, torch.no_grad():
        torch.testing.assert_close(model(batch).logits, right)


def test_other_words_are_removed_around_the_one_that_is_asked_about() -> None:
    """Its first token moves with the text: without word 0 it is one place further left."""
    module, tokenizer = tagger()
    with open_target((module, tokenizer), TAGGED[:1], **WORDS) as target:
        batch = target.encode([0])
        text = batch.texts["a"]
        assert text.words is not None
        assert text.words.tolist() == [[-1, 0, -1, -1, 2, 3, 4, 5, -1]]
        assert text.read_at is not None and text.read_at.tolist() == [[0, 0, 1, 2, 0, 0, 0, 0, 0]]
        assert target.documents[0].surface[1] == "plots" and target.documents[0].about == (1,)
        for operator, words in (
            ("delete", [0, 3]),
            ("delete", [0, 1, 2, 3, 4, 5]),
            ("mask", [1, 2]),
        ):
            found = removed(target.model, batch, gone(batch, *words), operator)[0]
            ids, types = tokenizer(" ".join(TAGGED[0]["tokens"]))["input_ids"], [0] * 9
            out = [at for at in range(9) if int(text.words[0, at]) in words]
            if operator == "mask":
                ids = [4 if at in out else token for at, token in enumerate(ids)]
                out = []
            kept = [at for at in range(9) if at not in out]
            output = run(module, [ids[at] for at in kept], [types[at] for at in kept])
            torch.testing.assert_close(found, output.logits[0, kept.index(2)].double())


@pytest.mark.parametrize("seed", range(2))
def test_the_model_chooses_a_word_where_none_is_named(seed: int) -> None:
    module, tokenizer = tagger(seed=seed)
    rows = [{"text": " ".join(row["tokens"])} for row in TAGGED]
    with open_target((module, tokenizer), rows, label_column=None) as target:
        for row, document in zip(TAGGED, target.documents, strict=True):
            encoded = tokenizer(row["tokens"], is_split_into_words=True)
            words = [-1 if word is None else word for word in encoded.word_ids()]
            wanted = chosen_word(module, encoded["input_ids"], words, 0)
            assert document.about == (wanted,)
        assert "first word that the model labels other than O" in target.notes[0]


def test_labelled_words_are_those_of_the_data_whatever_is_on_trial() -> None:
    """Tokens, or words that are cut otherwise, do not count as the row's words do."""
    halves: dict[str, Any] = {
        "words": lambda text: ((0, len(text) // 2), (len(text) // 2, len(text)))
    }
    for options in ({}, {"unit": "token"}, halves):
        with open_target(tagger(), TAGGED, **WORDS, **options) as target:
            said = [each.texts["a"][slice(*each.asked or ())] for each in target.documents]
            assert said == ["plots", "good", "story", "plot"]


def test_words_are_named_by_the_user_or_the_data() -> None:
    text = "a plot is a plot , not a do-like plot"
    wanted = {"plot": [2, 6], "not a": [19, 24], 3: [7, 9], "6": [17, 18], "do-like": [25, 32]}
    for at, (start, end) in wanted.items():
        with open_target(tagger(), [{"text": text}], label_column=None, at=at) as target:
            assert (
                target.documents[0].asked == (start, end) and repr(at) in target.notes[0]
            ) or at == 3
    rows = [
        {"text": text, "label": "B-X", "where": place}
        for place in (2, [2, 6], "[2, 6]", "2", [7, 9])
    ]
    with open_target(tagger(), rows, position_column="where") as target:
        spans = [document.asked for document in target.documents]
        assert spans == [(2, 6)] * 4 + [(7, 9)] and target.labels.tolist() == [1] * 5
        assert "the word that the data names" in target.question


def test_the_key_tells_places_apart() -> None:
    keys = []
    for at in (1, 2, 2):
        with open_target(tagger(), [{"text": "a dull film"}], label_column=None, at=at) as target:
            keys.append(target.key)
    assert keys[0] != keys[1] == keys[2]


def test_a_sentence_goes_without_the_word_that_is_asked_about() -> None:
    module, tokenizer = tagger()
    rows = [{"text": "the plot was dull. it was great."}]
    options: dict[str, Any] = {"label_column": None, "at": "plot", "unit": "sentence"}
    with open_target((module, tokenizer), rows, **options) as target:
        batch = target.encode([0])
        found = removed(target.model, batch, gone(batch, 0))[0]
    ids = tokenizer("plot it was great.")["input_ids"]
    torch.testing.assert_close(found, run(module, ids, [0] * len(ids)).logits[0, 1].double())


def test_names_of_numbers_and_words_without_labels() -> None:
    """A dataset's numbers know their names; −100 is no label, and O is nothing to explain."""
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        tokens=datasets.Sequence(datasets.Value("string")),
        tags=datasets.Sequence(datasets.ClassLabel(names=["O", "B-Y", "B-X"])),
    )
    rows = {
        "tokens": [["a", "film", "was", "dull"], ["it", "is"]],
        "tags": [[0, 2, -100, 1], [0, 0]],
    }
    data = datasets.Dataset.from_dict(rows, features=features)
    with open_target(tagger(), data, **WORDS) as target:
        assert list(target.ids) == ["row-000001-2", "row-000001-4"] and target.labels.tolist() == [
            1,
            2,
        ]
        assert target.dropped == {"without a label": 1}
    pos = {0: "NOUN", 1: "VERB", 2: "DET"}
    names = {"id2label": pos, "label2id": {name: place for place, name in pos.items()}}
    rows = [{"tokens": ["a", "", "film"], "tags": ["DET", "DET", "NOUN"]}]
    with open_target(tagger(**names), rows, **WORDS) as target:
        assert target.labels.tolist() == [2, 0] and target.documents[1].about == (1,)


# Answers in a text.


def test_the_probability_of_a_span_is_that_of_the_loss() -> None:
    """With its place as labels, a module's own loss is −½ log p; and by loops."""
    module, tokenizer = reader()
    with open_target((module, tokenizer), ASKED, answer_column="answer", **PAIR) as target:
        found = probabilities(logits_of(target, 0, 1, 2))[:, 1].tolist()
        for index, row in enumerate(ASKED):
            encoded = tokenizer(row["text_b"], row["text"])
            ids = encoded["input_ids"]
            start = row["text"].index(row["answer"])
            first = encoded.char_to_token(0, start, 1)
            last = encoded.char_to_token(0, start + len(row["answer"]) - 1, 1)
            places = {
                "start_positions": torch.tensor([first]),
                "end_positions": torch.tensor([last]),
            }
            given = {name: torch.tensor([values]) for name, values in encoded.items()}
            loss = float(module(**given, **places).loss.detach())
            assert found[index] == pytest.approx(math.exp(-2 * loss), rel=1e-9)
            output = run(module, ids, encoded["token_type_ids"])
            scores = output.start_logits[0].tolist(), output.end_logits[0].tolist()
            assert found[index] == pytest.approx(span_probability(*scores, first, last))
            assert target.names_of(index) == ("anything else", row["answer"])
            alone = probabilities(logits_of(target, index))[0, 1]
            assert float(alone) == pytest.approx(found[index])
        assert not target.labelled and set(target.encode([0]).texts) == {"a"}


@pytest.mark.parametrize("seed", range(2))
def test_the_answer_of_a_model_is_its_likeliest_span(seed: int) -> None:
    module, tokenizer = (
        tiny_hf("Bert", "span", double=True, vocab_size=30, seed=seed),
        word_pieces(),
    )
    with open_target((module, tokenizer), ASKED, **PAIR, label_column=None) as target:
        for row, document in zip(ASKED, target.documents, strict=True):
            encoded = tokenizer(row["text_b"], row["text"])
            output = run(module, encoded["input_ids"], encoded["token_type_ids"])
            allowed = [at for at, side in enumerate(encoded.sequence_ids(0)) if side == 1]
            scores = output.start_logits[0].tolist(), output.end_logits[0].tolist()
            first, last = best_span(*scores, allowed)
            start, end = encoded["input_ids"], encoded.token_to_chars
            assert start[first] and document.asked == (end(first).start, end(last).end)
            assert document.answer == row["text"][slice(*document.asked)]


def test_words_of_a_text_go_and_the_question_and_the_answer_stay() -> None:
    module, tokenizer = reader()
    with open_target((module, tokenizer), ASKED[:1], answer_column="answer", **PAIR) as target:
        batch = target.encode([0])
        assert target.documents[0].about == (4, 5) and target.documents[0].length == 7
        found = probabilities(removed(target.model, batch, gone(batch, 0, 1, 4, 5, 6)))[0, 1]
    encoded = tokenizer("was it good", "was a very good")
    output = run(module, encoded["input_ids"], encoded["token_type_ids"])
    scores = output.start_logits[0].tolist(), output.end_logits[0].tolist()
    assert float(found) == pytest.approx(span_probability(*scores, 7, 8))


def test_an_answer_is_found_as_whole_words_first() -> None:
    text = "unlikely do like it"  # "like" is also a part of the first word
    rows = [{"text": text, "text_b": "is it", "where": [0, 2]}]
    for options, place in (
        ({"answer": "like"}, (12, 16)),
        ({"answer": "nlik"}, (1, 5)),
        ({"position_column": "where"}, (0, 2)),
    ):
        given: dict[str, Any] = {"label_column": None, **PAIR, **options}
        with open_target(reader(), rows, **given) as target:
            assert target.documents[0].asked == place
            assert target.documents[0].answer == text[slice(*place)]


# Masked tokens.


def test_the_token_at_a_mask_is_that_of_the_plain_model() -> None:
    module, tokenizer = masked()
    with open_target((module, tokenizer), GAPS) as target:
        found = logits_of(target, 0, 1, 2)
        for index, row in enumerate(GAPS):
            ids = tokenizer(row["text"])["input_ids"]
            wanted = run(module, ids, [0] * len(ids)).logits[0, ids.index(4)]
            torch.testing.assert_close(found[index], wanted)
        assert [document.about for document in target.documents] == [(1,), (0,), (4,)]
        assert target.documents[0].surface[:2] == ("the", "[MASK]") and not target.labelled
        batch = target.encode([0, 2])
        less = removed(target.model, batch, gone(batch, 0, 2), "mask")  # other masks beside it
    ids = tokenizer("[MASK] [MASK] [MASK] very good")["input_ids"]
    wanted = run(module, ids, [0] * len(ids)).logits[0, 2].double()
    torch.testing.assert_close(less[0], wanted)


def test_a_mask_may_stand_in_the_template_and_have_label_words() -> None:
    module, tokenizer = masked()
    rows = [
        {"text": "a dull film", "label": "bad"},
        {"text": "the plot was great", "label": "good"},
    ]
    options: dict[str, Any] = {"template": "it was {mask} : {text} ."}
    with open_target((module, tokenizer), rows, **options) as target:
        ids = tokenizer("it was [MASK] : a dull film .")["input_ids"]
        logits = run(module, ids, [0] * len(ids)).logits[0, 3]
        torch.testing.assert_close(logits_of(target, 0)[0], logits)
        assert target.documents[0].about == () and target.rows[0].words.max() == 2
    words = {"good": "good", "bad": "dull"}
    with open_target((module, tokenizer), rows, label_words=words, **options) as target:
        chosen = [tokenizer.convert_tokens_to_ids(word) for word in words.values()]
        torch.testing.assert_close(logits_of(target, 0)[0], logits[chosen])
        assert (
            target.labels.tolist() == [1, 0] and "label word stands at the mask" in target.question
        )
    p = logits.softmax(-1)
    for extra, name in (({}, "anything else"), ({"contrast": "bad"}, "bad")):
        with open_target((module, tokenizer), rows, answer="great", **extra, **options) as target:
            own, other = (tokenizer.convert_tokens_to_ids(word) for word in ("great", "bad"))
            wanted = p[own] / (p[own] + p[other]) if extra else p[own]
            found = probabilities(logits_of(target, 0))[0, 1]
            assert float(found) == pytest.approx(float(wanted))
            assert target.names_of(0) == (name, "great") and "at the mask" in target.question


def test_what_stands_after_a_text_that_is_cut_keeps_its_place() -> None:
    """The mask is read where it is, and no word that was cut off is taken for the template's."""
    module, tokenizer = masked()
    rows = [{"text": "a very dull film , " * 9}]
    options: dict[str, Any] = {"template": "{text} it was {mask} .", "max_length": 20}
    with open_target((module, tokenizer), rows, **options) as target:
        row = target.rows[0]
        assert len(row) <= 20 and target.truncated.texts == 1
        assert row.read_at is not None and row.read_at.nonzero()[0].tolist() == [len(row) - 3]
        assert row.tokens[len(row) - 3] == 4 and (row.words[-5:] == -1).all()
        assert row.words[1:-5].tolist() == list(range(len(row) - 6))


# What holds for all of them.

CASES: dict[str, Any] = {
    "tagger": (tagger, TAGGED, WORDS, 4),
    "reader": (reader, ASKED, {**PAIR, "answer_column": "answer"}, 3),
    "masked": (masked, GAPS, {}, 3),
}


@pytest.mark.parametrize("case", CASES)
def test_identity_edits_change_nothing_and_attention_is_read_there(case: str) -> None:
    make, rows, options, count = CASES[case]
    with open_target(make(), rows, **options) as target:
        batch = target.encode(range(count))
        trace = target.model(batch, keep=Keep(readout_weights=True))
        same = {site.name: lambda call: call.weights for site in target.model.sites}
        torch.testing.assert_close(target.model(batch, same).logits, trace.logits, rtol=0, atol=0)
        read = trace.readout_weights[target.model.sites[-1].name]
        marks = batch.texts["a"].read_at
        assert marks is not None
        if case == "reader":  # all tokens might have been the answer
            there = torch.arange(read.shape[1]) < batch.texts["a"].lengths[:, None]
            assert torch.equal(read > 0, there) and bool((read[marks > 0] > 0).all())
        else:
            assert torch.equal(read, (marks & 1).to(read.dtype))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["attention", "lrp", "occlusion"])
def test_explanations_do_not_depend_on_the_batch(case: str, name: str) -> None:
    make, rows, options, count = CASES[case]
    with open_target(make(), rows, **options) as target:
        label = torch.ones(count, dtype=torch.long)
        every = explain(name, target.model, target.encode(range(count)), label)
        for index in range(count):
            one = explain(name, target.model, target.encode([index]), label[:1])
            torch.testing.assert_close(every[index, : one.shape[1]], one[0])
            assert not one[0, [w for w in target.documents[index].about if w < one.shape[1]]].any()


def test_attention_is_the_row_of_the_word() -> None:
    module, tokenizer = tagger()
    found = heedful.explain(
        (module, tokenizer), "a dull film was great", at="film", explanations="attention"
    )
    module.set_attn_implementation("eager")
    ids = torch.tensor([tokenizer("a dull film was great")["input_ids"]])
    weights = module(input_ids=ids, output_attentions=True).attentions[-1][0].mean(0)[3].tolist()
    wanted = [*weights[1:3], math.nan, *weights[4:6]]
    assert found.scores["attention"] == pytest.approx(wanted, nan_ok=True)
    assert found.about == (2,) and str(found).startswith(f"predicted: {found.predicted} for film\n")
    assert found.to_dict()["about"] == [2]


def test_decompx_adds_up_at_a_word() -> None:
    """Of a tagger and a masked model the logit is linear in the last state; of a span it is not."""
    for make, options in ((tagger, {"at": "film"}), (masked, {})):
        text = "a dull film was [MASK]"
        found = heedful.explain(make(), text, explanations="decompx", target="logit", **options)
        assert all(math.isfinite(each) for each in found.scores["decompx"][:2])
    with pytest.raises(HeedfulError, match="decompx knows no rule"):
        heedful.explain(reader(), "a dull film", "is it", explanations="decompx")


def test_what_is_asked_about_is_no_special_token() -> None:
    from heedful.targets import one_text

    with open_target(tagger(), TAGGED[:1], **WORDS) as target:
        assert one_text(target).sides["a"].special == (True, *(False,) * 7, True)


def test_pipelines_are_opened_too() -> None:
    from transformers import pipeline

    for kind, make, text in (
        ("token-classification", tagger, "a dull film"),
        ("fill-mask", masked, "a [MASK] film"),
    ):
        module, tokenizer = make()
        whole = pipeline(kind, model=module, tokenizer=tokenizer)
        found, wanted = (heedful.explain(m, text, explanations="lrp") for m in (whole, make()))
        assert found.scores["lrp"] == pytest.approx(wanted.scores["lrp"], nan_ok=True)


def test_a_head_view_reads_a_question_first() -> None:
    view = heedful.head_view(reader(), "a dull film", "was it")
    assert view.tokens == ("[CLS]", "was", "it", "[SEP]", "a", "dull", "film", "[SEP]")
    assert heedful.head_view(masked(), "a [MASK] film").tokens[2] == "[MASK]"
    assert heedful.head_view(tagger(), "a film").tokens[1:3] == ("a", "film")


def test_an_audit_shows_what_was_asked(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    options: dict[str, Any] = {"quick": True, "explanations": "occlusion", **WORDS}
    found = heedful.audit(tagger(), TAGGED, only="interventions,agreement", **options)
    assert found.facts["asked"].startswith("asked is the label of the word that the data names")
    assert "read at the token that is asked about" in found.facts["site"]
    kept = heedful.Audit.load(found.save(tmp_path / "audit"))
    assert [list(each) for each in kept.tables["documents"].whole["about"]] == [[1], [0], [2], [5]]
    page = kept.to_html(tmp_path / "page.html").read_text(encoding="utf8")
    assert '<bdi class="asked" title="– asked about">plots</bdi>' in page and "framed" in page


def test_a_model_is_opened_with_its_mask_as_the_template_writes_it(tmp_path: Path) -> None:
    folder = saved(tmp_path / "masked", name="Bert", task="masked", vocab_size=30)
    for mask in ("{mask}", "[MASK]"):
        with open_asked(folder, template=f"{{text}} is {mask}") as asked:
            assert asked.about("a dull film").documents[0].asked == (15, 21)


@pytest.mark.slow
def test_the_live_page_asks_about_each_text(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from heedful.apps.live.models import Opened, predict

    cases: tuple[tuple[str, dict[str, Any], str, str | None, str], ...] = (
        ("words", {"at": "film"}, "a dull film", None, "never"),
        ("span", {}, "a dull film", "was it", "always"),
        ("masked", {}, "a [MASK] film", None, "never"),
    )
    for task, options, text, other, pairs in cases:
        folder = saved(tmp_path / task, name="Bert", task=task, vocab_size=30)
        with open_asked(folder, **options) as asked:
            page = Opened(asked)
            said = predict(page.see(text, other), ["occlusion"])
            assert page.facts()["pairs"] == pairs
            direct = heedful.explain(folder, text, other, explanations="occlusion", **options)
            assert said["predicted"] == direct.predicted
            scores = [
                math.nan if s is None else s for s in said["explanations"]["occlusion"]["scores"]
            ]
            assert scores == pytest.approx(direct.scores["occlusion"], nan_ok=True, abs=1e-6)


BAD: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "no mask": (masked, "a film", {}, "has none: write .MASK. once"),
    "two masks": (masked, "[MASK] and [MASK]", {}, "has 2: write"),
    "two tokens": (masked, "a [MASK]", {"answer": "unlikely"}, "3 tokens, and a mask"),
    "written": (masked, "a [MASK]", {"generate": 3}, "takes no generate"),
    "at a mask": (masked, "a [MASK]", {"at": "a"}, "takes no at: leave it .--at. out"),
    "chat": (masked, "a [MASK]", {"chat": True}, "leave --chat out"),
    "nothing else": (masked, "[MASK]", {}, "no word besides the ones asked about"),
    "no such word": (tagger, "a film", {"at": "plot"}, "'plot' .--at. is no word of"),
    "half a word": (tagger, "unlikely", {"at": "like"}, "is no word of"),
    "no such number": (tagger, "a film", {"at": 3}, "has 2 words and no word 3"),
    "number 0": (tagger, "a film", {"at": "0"}, "give a number from 1 to 2"),
    "cut": (tagger, "a film " * 9 + "plot", {"at": "plot", "max_length": 9}, "raise --max-length"),
    "an answer": (tagger, "a film", {"answer": "a"}, "classifies words and writes no answers"),
    "a template": (tagger, "a film", {"template": "{text}!"}, "a template .* leave it out"),
    "no question": (reader, "a film", {}, "reads a question, and .* has single texts"),
    "not there": (reader, ("a film", "is it"), {"answer": "plot"}, "is not in its text"),
    "why not": (reader, ("a film", "is it"), {"answer": "a", "contrast": "film"}, "no contrast"),
    "long": (reader, ("a film", "is it " * 20), {"max_length": 9}, "shorten the --template, the q"),
    "cut answer": (
        reader, ("a film " * 9 + "plot", "is"), {"answer": "plot", "max_length": 9}, "--max-length",
    ),
    "classifier": (
        lambda: (tiny_hf("Bert", vocab_size=30), word_pieces()), "a film", {"at": "a"}, "no at",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", BAD)
def test_bad_questions_are_one_sentence(why: str) -> None:
    make, texts, options, message = BAD[why]
    pair = (texts,) if isinstance(texts, str) else texts
    with pytest.raises(HeedfulError, match=message) as error:
        heedful.explain(make(), *pair, explanations="attention", **options)
    assert str(error.value).count("\n") == 0


ROWS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str]] = {
    "lengths": ([{"tokens": ["a"], "tags": ["O", "O"]}], WORDS, "1 words and 2 labels"),
    "no text": ([{"tokens": ["a", 3], "tags": ["O", "O"]}], WORDS, "a word that is no text"),
    "one label": ([{"tokens": ["a"], "tags": "O"}], WORDS, "none of their labels in the column"),
    "at too": ([{"tokens": ["a"], "tags": ["O"]}], {**WORDS, "at": 1}, "leave --at and"),
    "no position": (
        [{"text": "a film", "p": "x"}], {"position_column": "p", "label_column": None},
        "no position in the column 'p'",
    ),
    "a position outside": (
        [{"text": "a film", "p": [2, 99]}], {"position_column": "p", "label_column": None},
        r"has the position \[2, 99\), its text has 6 characters",
    ),
    "no such word": (
        [{"text": "a film", "p": 3}], {"position_column": "p", "label_column": None},
        "has 2 words and no word 3",
    ),
    "twice": (
        [{"text": "a film", "p": 1}], {"position_column": "p", "label_column": None, "at": 1},
        "--at and --position-column say the same",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", ROWS)
def test_bad_rows_are_one_sentence(why: str) -> None:
    rows, options, message = ROWS[why]
    with pytest.raises(HeedfulError, match=message), open_target(tagger(), rows, **options):
        pass
