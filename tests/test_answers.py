"""Answers of models that write: how probable they are, and what is asked about them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tiny_hf import tiny_hf  # sets HF_HUB_OFFLINE, which must come before transformers

pytest.importorskip("transformers")

from tokenizers import AddedToken

import heedful
from heedful.attributions import explain, text_site
from heedful.errors import HeedfulError
from heedful.experiments import ForwardBatch
from heedful.models import answers, probabilities
from heedful.models.hf.inputs import Inputs, Side
from heedful.perturbations import removed
from heedful.targets import open_target
from heedful.types import Answer, Keep
from reference.answers import log_probabilities, odds, written_log_probabilities
from tiny_tokenizers import byte_pairs, saved, word_pieces

ROWS = [
    {"text": "a good film", "says": " is bad", "not": " is good"},
    {"text": "a very bad film is good", "says": " good", "not": " bad"},
    {"text": "a film", "says": " is a bad film", "not": " a film"},
]
PLAIN = [{"text": "the good film"}, {"text": "the plot was very dull"}, {"text": "a story"}]
TALK = "{% for m in messages %}<{{ m.role }}> {{ m.content }} <said>{% endfor %} it is"


def language_model(**config: Any) -> tuple[Any, Any]:
    """GPT-2 over bytes, which ends texts with token 0."""
    known = {"vocab_size": 290, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
    return tiny_hf("GPT2", "language", double=True, **{**known, **config}), byte_pairs()


def writer(name: str = "Bart") -> tuple[Any, Any]:
    return tiny_hf(name, "language", double=True, vocab_size=30), word_pieces()


def ending(lengths: list[int], asked: Answer) -> Inputs:
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return Inputs({}, {"a": Side(real, real)}, asked)


def test_the_logit_of_an_answer_by_hand() -> None:
    """Two tokens of probability 1/4 and 1/9, so a geometric mean of 1/6 and a product of 1/36."""
    first, second = [0.0, math.log(3.0)], [0.0, math.log(8.0)]
    output = SimpleNamespace(logits=torch.tensor([[first, second, [5.0, 5.0]]]))
    asked = Answer(torch.tensor([[0, 0, -1]]))
    inputs = ending([2], asked)
    for score, p in (("mean", 1 / 6), ("sum", 1 / 36)):
        found = probabilities(answers(score)(output, inputs))
        torch.testing.assert_close(found, torch.tensor([[1 - p, p]], dtype=torch.float64))


def test_a_certain_answer_keeps_its_odds() -> None:
    """p = 1 − e^−100 is 1 to the last digit; its logit is 100 all the same."""
    output = SimpleNamespace(logits=torch.tensor([[[100.0, 0.0]], [[2000.0, 0.0]]]))
    asked = Answer(torch.tensor([[0], [0]]))
    inputs = ending([1, 1], asked)
    found = answers()(output, inputs)
    assert float(found[0, 0]) == pytest.approx(100.0) and bool(found.isfinite().all())


@pytest.mark.parametrize("score", ["mean", "sum"])
def test_an_answer_is_as_probable_as_the_model_says(score: str) -> None:
    module, tokenizer = language_model()
    pair = (module, tokenizer)
    with open_target(pair, ROWS, answer_column="says", answer_score=score) as target:
        batch = target.encode([0, 1, 2])
        found = target.model(batch).logits[:, 0].tolist()
        for index, row in enumerate(ROWS):
            text, answer = (tokenizer(row[name])["input_ids"] for name in ("text", "says"))
            wanted = odds(log_probabilities(module, text, answer), score)
            assert found[index] == pytest.approx(wanted, abs=1e-9)
            alone = target.model(target.encode([index])).logits.item()
            assert alone == pytest.approx(found[index], abs=1e-9)
        assert target.label_names == ("anything else", "this answer")
        assert not target.labelled and ForwardBatch.of(target.model, batch).predicted.all()


def test_labels_of_the_data_are_of_another_question() -> None:
    """A corpus names places; whether the answer is right is not asked."""
    pair = language_model()
    options = {"template": "{text} {text_b} is", "params": {"n_test": 3, "n_train": 3, "n_dev": 3}}
    with open_target(pair, "babi", answer=" good", max_length=500, **options) as target:
        assert len(target) == 3 and not target.labelled and set(target.labels) == {-1}


def test_marks_that_end_an_answer_are_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokenizer names one of them; another is only marked as special, or ends the model's
    texts."""
    module, tokenizer = language_model()
    good, bad = (tokenizer(word)["input_ids"][0] for word in (" good", " bad"))
    written = {"ids": [good, bad, 289]}
    monkeypatch.setattr(
        "heedful.targets.pretrained_writer.models.write", lambda *given: written["ids"]
    )

    def said() -> str:
        with open_target((module, tokenizer), PLAIN[:1], generate=3) as target:
            return str(target.documents[0].answer)

    assert said() == " good bad" + tokenizer.decode([289])
    monkeypatch.setattr(module.generation_config, "eos_token_id", [0, 289])
    assert said() == " good bad"
    monkeypatch.setattr(module.generation_config, "eos_token_id", None)
    tokenizer.add_tokens(AddedToken("<|turn|>", special=True))
    written["ids"] = [good, tokenizer.convert_tokens_to_ids("<|turn|>"), bad]
    assert written["ids"][1] not in tokenizer.all_special_ids
    assert said() == " good"


def test_the_loss_of_transformers_is_the_mean() -> None:
    """With `labels` of the answer alone, a module's own loss is −log of the geometric mean."""
    module, tokenizer = language_model()
    with open_target((module, tokenizer), ROWS[2:], answer_column="says") as target:
        p = float(probabilities(target.model(target.encode([0])).logits.detach())[0, 1])
    text, answer = (tokenizer(ROWS[2][name])["input_ids"] for name in ("text", "says"))
    labels = torch.tensor([[-100] * len(text) + answer])
    loss = module(input_ids=torch.tensor([text + answer]), labels=labels).loss
    assert -math.log(p) == pytest.approx(float(loss.detach()), abs=1e-6)


@pytest.mark.parametrize("name", ["Bart", "T5", "Marian"])
def test_an_answer_of_an_encoder_decoder(name: str) -> None:
    module, tokenizer = writer(name)
    said = "the film was dull"
    with open_target((module, tokenizer), PLAIN, answer=said) as target:
        found = target.model(target.encode([0, 1, 2])).logits[:, 0].tolist()
        start = [module.config.decoder_start_token_id, 0]  # then [CLS], as its targets begin
        answer = tokenizer(said, add_special_tokens=False)["input_ids"]
        for index, row in enumerate(PLAIN):
            text = tokenizer(row["text"])["input_ids"]
            own = written_log_probabilities(module, text, start, answer)
            assert found[index] == pytest.approx(odds(own), abs=1e-9)
        site = text_site(target.model)
        assert site.keys == "a" and site.queries == "target"
        read = target.model(target.encode([0]), keep=Keep(readout_weights=True))
        assert (read.readout_weights[site.name] > 0).tolist() == [[False] + [True] * 4]


def test_words_are_removed_under_the_same_answer() -> None:
    module, tokenizer = language_model()
    whole = [ROWS[0], {**ROWS[1], "text": "a bad film is good"}]
    shorter = [{**ROWS[0], "text": "a film"}, {**ROWS[1], "text": "a film is good"}]
    options: dict[str, Any] = {"answer_column": "says", "template": "So {text} it"}
    with open_target((module, tokenizer), whole, **options) as target:
        batch = target.encode([0, 1])
        gone = torch.zeros(2, 5, dtype=torch.bool)
        gone[:, 1] = True
        found = removed(target.model, batch, gone)
        assert target.documents[0].surface == ("a", "good", "film")
    with open_target((module, tokenizer), shorter, **options) as target:
        torch.testing.assert_close(found, target.model(target.encode([0, 1])).logits)


def test_a_contrast_is_of_the_first_token_where_answers_part() -> None:
    module, tokenizer = language_model()
    options: dict[str, Any] = {"answer_column": "says", "contrast_column": "not"}
    with open_target((module, tokenizer), ROWS, **options) as target:
        found = target.model(target.encode([0, 1, 2])).logits[:, 0].tolist()
        names = [target.names_of(index) for index in range(3)]
    shared, wanted = ([" is"], [], []), []
    for row, common in zip(ROWS, shared, strict=True):
        text = tokenizer(row["text"] + "".join(common))["input_ids"]
        own, other = (tokenizer(row[side])["input_ids"][len(common)] for side in ("says", "not"))
        logits = module(input_ids=torch.tensor([text])).logits[0, -1]
        wanted.append(float((logits[own] - logits[other]).detach()))
    assert found == pytest.approx(wanted, abs=1e-9)
    assert names[:2] == [("good", "bad"), ("bad", "good")]


def test_one_token_of_an_answer() -> None:
    module, tokenizer = language_model()
    text, answer = tokenizer("a film")["input_ids"], tokenizer(" is a bad film")["input_ids"]
    own = log_probabilities(module, text, answer)
    for place in (1, len(answer)):
        options: dict[str, Any] = {"answer_column": "says", "token": place}
        with open_target((module, tokenizer), ROWS[2:], **options) as target:
            found = target.model(target.encode([0])).logits.item()
        assert found == pytest.approx(odds(own[place - 1 : place]), abs=1e-9)


def test_a_written_answer_is_the_likeliest_and_held_fixed() -> None:
    module, tokenizer = language_model()
    with open_target((module, tokenizer), ROWS, generate=3) as target:
        for index, row in enumerate(ROWS):
            text, wanted = tokenizer(row["text"])["input_ids"], list[int]()
            for _ in range(3):
                logits = module(input_ids=torch.tensor([text + wanted])).logits[0, -1]
                wanted.append(int(logits.argmax()))
            answer = target.rows[index].answer
            assert answer is not None and answer.tolist() == wanted
            assert target.documents[index].answer == tokenizer.decode(wanted)
            assert target.rows[index].tokens.tolist() == text + wanted[:-1]


def test_a_sampled_answer_depends_on_the_text_and_the_seed_alone() -> None:
    pair = language_model()
    rows = [{**row, "id": str(n)} for n, row in enumerate(ROWS)]

    def said(order: list[int], seed: int = 0, **options: Any) -> dict[str, Any]:
        some = [rows[n] for n in order]
        given: dict[str, Any] = {"id_column": "id", "generate": 4, "seed": seed, **options}
        with open_target(pair, some, **given) as target:
            return {each.id: each.answer for each in target.documents}

    first = said([0, 1, 2], temperature=2.0)
    assert said([2, 0, 1], temperature=2.0) == first
    assert said([1], temperature=2.0)["1"] == first["1"]
    assert said([0, 1, 2], seed=1, temperature=2.0) != first
    assert said([0, 1, 2], temperature=1e-4) == said([0, 1, 2])  # cold enough is greedy


def test_samples_follow_the_probabilities() -> None:
    module, tokenizer = language_model(seed=3)
    rows = [{"text": "a film", "id": f"{n}"} for n in range(400)]
    options: dict[str, Any] = {"generate": 1, "temperature": 1.5, "id_column": "id"}
    with open_target((module, tokenizer), rows, **options) as target:
        drawn = [int(row.answer[0]) for row in target.rows if row.answer is not None]
    text = torch.tensor([tokenizer("a film")["input_ids"]])
    p = (module(input_ids=text).logits[0, -1].detach() / 1.5).softmax(-1)
    top = int(p.argmax())
    spread = math.sqrt(float(p[top] * (1 - p[top])) / 400)
    assert abs(drawn.count(top) / len(drawn) - float(p[top])) < 4 * spread


def test_a_chat_template_stands_around_the_text() -> None:
    module, tokenizer = language_model()
    tokenizer.chat_template = TALK
    options: dict[str, Any] = {"chat": True, "answer": " bad", "template": "So: {text}!"}
    with open_target((module, tokenizer), ROWS, **options) as target:
        row, document = target.rows[0], target.documents[0]
        assert tokenizer.decode(row.tokens) == "<user> So: a good film! <said> it is"
        assert document.surface == ("a", "good", "film")
        assert tokenizer.decode(row.tokens[row.words >= 0]).strip() == "a good film"
        assert row.mask.sum() == (row.words >= 0).sum()


@pytest.mark.parametrize("name", ["attention", "gradient_input", "occlusion", "rollout"])
def test_explanations_do_not_depend_on_the_batch(name: str) -> None:
    for pair, options in (
        (language_model(), {"answer_column": "says"}),
        (writer("T5"), {"answer": "the film"}),
    ):
        with open_target(pair, ROWS, **options) as target:
            label = torch.ones(3, dtype=torch.long)
            every = explain(name, target.model, target.encode([0, 1, 2]), label)
            for index in range(3):
                one = explain(name, target.model, target.encode([index]), label[:1])
                torch.testing.assert_close(every[index, : one.shape[1]], one[0])


def test_the_gradient_is_that_of_the_log_likelihood() -> None:
    """∂logit/∂x = ∂(mean log p)/∂x / (1 − p), with the module's own embeddings as x."""
    module, tokenizer = language_model()
    with open_target((module, tokenizer), ROWS[:1], answer_column="says") as target:
        batch = target.encode([0])
        with torch.enable_grad():
            trace = target.model(batch, keep=Keep(embeddings=True))
            (found,) = torch.autograd.grad(trace.logits.sum(), trace.embeddings["a"])
        p = float(probabilities(trace.logits.detach())[0, 1])
    text, answer = (tokenizer(ROWS[0][name])["input_ids"] for name in ("text", "says"))
    x = module.get_input_embeddings()(torch.tensor([text + answer])).detach().requires_grad_()
    scores = module(inputs_embeds=x).logits[0].log_softmax(-1)
    said = [scores[len(text) - 1 + n, token] for n, token in enumerate(answer)]
    (wanted,) = torch.autograd.grad(torch.stack(said).mean(), x)
    torch.testing.assert_close(found * (1 - p), wanted[:, : found.shape[1]])


def test_explain_names_the_answer() -> None:
    pair = language_model()
    found = heedful.explain(pair, "a good film", answer=" is bad", explanations="occlusion")
    assert found.answer == " is bad" and found.explained == "is bad" == found.predicted
    assert str(found).startswith("answer: is bad\n") and len(found.scores["occlusion"]) == 3
    other = heedful.explain(
        pair, "a good film", answer=" bad", contrast=" good", explanations="occlusion"
    )
    assert other.explained == "bad" and other.to_dict()["answer"] == " bad"
    assert 0 < found.probability < 0.5  # explained though anything else is likelier


@pytest.mark.parametrize("name", ["GPT2", "Bart"])
def test_each_token_is_explained_by_itself(name: str) -> None:
    """By token, a table has what `token` gives, and an encoder-decoder's attention is the row of
    its last cross-attention where that token is written."""
    pair, said = (writer(), "film was dull") if name == "Bart" else (language_model(), " is bad")
    options: dict[str, Any] = {"answer": said, "explanations": "attention,occlusion"}
    found = heedful.explain(pair, "the good film", by_token=True, **options)
    assert len(found.tokens) == (3 if name == "Bart" else 2)
    for place in range(len(found.tokens)):
        one = heedful.explain(pair, "the good film", token=place + 1, **options)
        assert one.explained == found.tokens[place]
        for each, table in found.by_token.items():
            assert table[place] == pytest.approx(one.scores[each], abs=1e-9)
    if name == "Bart":
        ids = pair[1]("the good film")["input_ids"]
        decoder = [2, 0, *pair[1](said, add_special_tokens=False)["input_ids"]]
        pair[0].set_attn_implementation("eager")
        output = pair[0](
            input_ids=torch.tensor([ids]),
            decoder_input_ids=torch.tensor([decoder]),
            output_attentions=True,
        )
        last = output.cross_attentions[-1][0].mean(0).detach()
        rows = last[1 : 1 + len(found.tokens), 1:-1].tolist()
        for row, wanted in zip(found.by_token["attention"], rows, strict=True):
            assert row == pytest.approx(wanted, abs=1e-6)
    with pytest.raises(HeedfulError, match="no answer to explain by its tokens"):
        heedful.explain((tiny_hf(), word_pieces()), "good", by_token=True)


def test_a_page_of_one_text_has_the_tokens_of_its_answer() -> None:
    pytest.importorskip("jinja2")
    found = heedful.explain(
        writer("T5"), "the good film", answer="film was", explanations="attention", by_token=True
    )
    shown = found._repr_html_()
    assert "Answer: film was (" in shown and "Predicted" not in shown
    assert shown.count('<th scope="row">') == 2 and shown.count('class="words"') == 3


def test_a_text_makes_room_for_its_answer() -> None:
    pair = language_model()
    rows = [{"text": "a good film is " * 9}]
    options: dict[str, Any] = {"answer": " is bad", "template": "{text} is", "max_length": 20}
    with open_target(pair, rows, **options) as target:
        assert len(target.rows[0]) <= 20 and target.truncated.texts == 1
        answer = target.rows[0].answer
        assert answer is not None and target.rows[0].tokens[-1] == answer[-2]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "two sources": ({"answer": " a", "generate": 3}, "--answer and --generate both say"),
    "label words too": (
        {"answer": " a", "label_words": {"a": " good", "b": " bad"}},
        "two questions: leave one",
    ),
    "no answer": ({"token": 2}, "--token is about an answer, and there is none: add --answer"),
    "heat alone": ({"answer": " a", "temperature": 1.0}, "add --generate"),
    "cold": ({"generate": 3, "temperature": 0.0}, "temperature .* above 0"),
    "nothing written": ({"generate": 0}, "generate .* 1 or more"),
    "score": ({"answer": " a", "answer_score": "max"}, "'max'"),
    "empty": ({"answer": " "}, "the answer to 'row-000001' is empty"),
    "same": ({"answer": " is bad", "contrast": " is bad"}, "equals the one it is contrasted with"),
    "longer": ({"answer": " is bad", "contrast": " is"}, "begins like the one"),
    "no such token": ({"answer": " bad", "token": 9}, "choose a --token from 1 to"),
    "contrast and token": ({"answer": " a", "contrast": " b", "token": 1}, "leave --token"),
    "no chat": ({"answer": " a", "chat": True}, "has no chat template: leave --chat out"),
    "long": ({"answer": " is bad" * 50}, "room for 63: give a shorter one"),
    "long prompt": ({"answer": " bad", "template": "a film " * 99 + "{text}"}, "shorten the"),
}


@pytest.mark.parametrize("why", BAD)
def test_bad_questions_are_one_sentence(why: str) -> None:
    options, message = BAD[why]
    with pytest.raises(HeedfulError, match=message), open_target(language_model(), ROWS, **options):
        pass


def test_other_models_are_refused(tmp_path: Any) -> None:
    with pytest.raises(HeedfulError, match="classifies texts and writes no answers"):
        heedful.explain((tiny_hf(), word_pieces()), "good", generate=3)
    with pytest.raises(HeedfulError, match="say which answer to explain, with --answer TEXT"):
        heedful.explain(writer(), "good")
    with pytest.raises(HeedfulError, match="a token that .* does not know"):
        heedful.explain(writer(), "good", answer="zebra")
    folder = saved(tmp_path / "bart", name="Bart", task="language")
    assert heedful.explain(folder, "a film", answer="good", explanations="attention").words


def test_a_template_that_fails_is_one_sentence() -> None:
    for template, message in (
        ("{{ nothing.at.all }}", "cannot be used"),
        ("{{ messages[0].role }}", "does not hold the user's text once"),
    ):
        module, tokenizer = language_model()
        tokenizer.chat_template = template
        with pytest.raises(HeedfulError, match=message):
            heedful.explain((module, tokenizer), "good", answer=" a", chat=True)


def test_an_audit_says_what_was_asked(tmp_path: Any) -> None:
    """On the page and on the card; what an answer holds is text there, and nothing else."""
    evil = " <b>bad</b>"
    rows = [{**row, "says": evil} for row in ROWS]
    options: dict[str, Any] = {"answer_column": "says", "quick": True}
    found = heedful.audit(
        language_model(), rows, explanations="occlusion", only="interventions,agreement", **options
    )
    question = found.facts["asked"]
    assert question.startswith("asked is the probability of each answer, against anything else")
    assert found.facts["classes"] == ["anything else", "this answer"]
    page = found.to_html(tmp_path / "page.html").read_text(encoding="utf8")
    card = found.to_card(tmp_path / "card.md").read_text(encoding="utf8")
    assert "probability of the answer 0." in page and "predicted this answer" not in page
    assert "&lt;b&gt;bad" in page and evil.strip() not in page and question in page
    assert f"**Question:** {question}" in card
    kept = heedful.Audit.load(found.save(tmp_path / "audit"))
    assert list(kept.tables["documents"].whole["answer"]) == [evil] * 3
    rows_there = found.to_pandas()
    assert (rows_there["predicted"] == 1).all() and (rows_there["confidence"] < 0.5).any()


def test_the_live_page_explains_an_answer(tmp_path: Any) -> None:
    """Moving attention is asked about the same answer; what is written is written for each text."""
    pytest.importorskip("fastapi")
    from heedful.apps.live.editing import PRESETS, Change, edited
    from heedful.apps.live.models import Opened, explained, predict
    from heedful.targets import open_asked

    folder = saved(tmp_path / "t5", name="T5", task="language", vocab_size=30)
    with open_asked(folder, answer="film was dull") as asked:
        page = Opened(asked)
        seen = page.see("the plot was very good", None)
        said = predict(seen, ["occlusion"])
        assert said["predicted"] == said["answer"] == "film was dull"
        assert [each["name"] for each in said["classes"]] == ["anything else", "film was dull"]
        assert said["classes"][1]["probability"] < 0.5 and page.facts()["pairs"] == "never"
        direct = heedful.explain(
            folder, "the plot was very good", answer="film was dull", explanations="occlusion"
        )
        shown = explained(seen, "occlusion")["scores"]
        assert shown == pytest.approx(direct.scores["occlusion"], abs=1e-6)
        sight = seen.sights[page.facts()["main"]]
        change = Change(sight)
        moved = edited(seen, change, PRESETS["uniform"](seen, change, 0))
        assert moved["predicted"] == "film was dull" and moved["moved"] > 0
    with open_asked(folder, generate=3, temperature=5.0) as asked:
        written = asked.about("the dull plot").documents[0].answer
    alone = heedful.explain(
        folder, "the dull plot", generate=3, temperature=5.0, explanations="attention"
    )
    assert written == alone.answer
