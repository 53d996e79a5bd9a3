"""The head view of one text: the model's own weights, as arrays and as a page."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tiny_hf import END, PAD, tiny_hf  # sets HF_HUB_OFFLINE, which must come before transformers

transformers = pytest.importorskip("transformers")
pytest.importorskip("jinja2", reason="pages need jinja2 (heedful[report])")

import heedful  # noqa: E402
from heedful.errors import HeedfulError  # noqa: E402
from parsed_page import parse  # noqa: E402
from reference.head_words import between_words  # noqa: E402
from tiny import tiny_model  # noqa: E402
from tiny_tokenizers import byte_pairs, saved, word_pieces  # noqa: E402

TEXT, OTHER = "The film is unlikely good.", "It was a dull plot"
HOSTILE = "film <script>window.ran=1</script> </script> <img src=x onerror=window.ran=2> \u202egood"
BYTES = {"vocab_size": 300, "pad_token_id": 0}


def own(model: Any, **inputs: Any) -> Any:
    """What the model itself says of its attention."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return model(**inputs, output_attentions=True)


def page_of(view: heedful.HeadView) -> str:
    """What a notebook is given to frame."""
    shown = view._repr_html_()
    return html.unescape(shown[shown.index('srcdoc="') + 8 : shown.rindex('">')])


def assert_equal(view: heedful.HeadView, wanted: Mapping[str, Any]) -> None:
    """Weights by the side that attends and the side that is attended, layer by layer."""
    for sides, layers in wanted.items():
        found = [s.name for s in view.sites if f"{s.queries} {s.keys}" == sides]
        assert len(found) == len(layers) > 0
        for name, layer in zip(found, layers, strict=True):
            np.testing.assert_allclose(view.weights[name], layer[0].numpy(), atol=1e-6)
    for weights in view.weights.values():
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("texts", [(TEXT,), (TEXT, OTHER)])
@pytest.mark.parametrize("family", ["Bert", "Roberta", "ModernBert"])
def test_weights_are_the_models_own(family: str, texts: tuple[str, ...]) -> None:
    model, tokenizer = tiny_hf(family), word_pieces()
    if family != "Bert":
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    view = heedful.head_view((model, tokenizer), *texts)
    wanted = own(model, **tokenizer(*texts, return_tensors="pt"))
    assert_equal(view, {"a a": wanted.attentions})
    assert view.tokens[:6] == ("[CLS]", "the", "film", "is", "un", "##like")
    text = view.sides["a"]
    assert text.special == tuple(token in ("[CLS]", "[SEP]") for token in text.tokens)
    assert text.parts == (0,) * 10 + (1,) * (len(text) - 10)
    words = {text.surface[word] for word in text.words if word >= 0}
    assert words == set(re.findall(r"\w+|\.", " ".join(texts)))


@pytest.mark.parametrize("family", ["GPT2", "Llama"])
def test_a_decoder_looks_back_only(family: str) -> None:
    model, tokenizer = tiny_hf(family, "language", **BYTES), byte_pairs()
    text = "a good film, é"
    view = heedful.head_view((model, tokenizer), text)
    wanted = own(model, **tokenizer(text, return_tensors="pt"))
    assert_equal(view, {"a a": wanted.attentions})
    assert all(not np.triu(weights, 1).any() for weights in view.weights.values())
    assert view.tokens[:3] == ("a", "good", "film")
    assert view.tokens[-2:] == ("Ã", "©")  # two bytes of one character
    assert view.by_words().tokens[-1] == "é"


@pytest.mark.parametrize("family", ["Marian", "T5", "Bart"])
def test_an_encoder_and_a_decoder(family: str) -> None:
    model, tokenizer = tiny_hf(family, "language"), word_pieces()
    view = heedful.head_view((model, tokenizer), TEXT, target=OTHER)
    labels = tokenizer(text_target=OTHER)["input_ids"]
    start = {"T5": PAD}.get(family, END)
    inputs = {**tokenizer(TEXT, return_tensors="pt"), "decoder_input_ids": [start, *labels[:-1]]}
    inputs["decoder_input_ids"] = torch.tensor([inputs["decoder_input_ids"]])
    inputs.pop("token_type_ids", None)
    wanted = own(model, **inputs)
    own_sides = {
        "a a": wanted.encoder_attentions,
        "target target": wanted.decoder_attentions,
        "target a": wanted.cross_attentions,
    }
    assert_equal(view, own_sides)
    assert view.sides["target"].tokens[1:] == ("[CLS]", "it", "was", "a", "dull", "plot")


def test_a_classifier_whose_decoder_reads_the_same_text() -> None:
    model, tokenizer = tiny_hf("Bart"), word_pieces()
    view = heedful.head_view((model, tokenizer), TEXT)
    inputs = dict(tokenizer(TEXT, return_tensors="pt"))
    inputs.pop("token_type_ids")
    wanted = own(model, **inputs)
    assert_equal(view, {"a a": wanted.encoder_attentions, "target a": wanted.cross_attentions})
    assert view.sides["target"].tokens[:3] == ("(start)", "[CLS]", "the")


def test_words_sum_what_their_tokens_are_given_and_average_what_they_give() -> None:
    view = heedful.head_view((tiny_hf(), word_pieces()), TEXT, OTHER)
    words, places = view.by_words(), list[list[int]]()
    for place, word in enumerate(view.sides["a"].words):
        if word >= 0 and place and view.sides["a"].words[place - 1] == word:
            places[-1].append(place)
        else:
            places.append([place])
    assert [4, 5, 6] in places and len(places) == len(words.tokens)
    assert words.tokens[4] == "unlikely"
    for name, weights in view.weights.items():
        for head, matrix in enumerate(weights.tolist()):
            wanted = between_words(matrix, places, places)
            np.testing.assert_allclose(words.weights[name][head], wanted, atol=1e-6)
        np.testing.assert_allclose(words.weights[name].sum(-1), 1, atol=1e-5)
    again = words.by_words()
    assert again.tokens == words.tokens
    np.testing.assert_allclose(*[list(each.weights.values()) for each in (again, words)])


def test_bare_models_need_no_head(tmp_path: Path) -> None:
    """As they come from the hub: neither fine-tuned nor with a pooler that was trained."""
    masked = saved(tmp_path / "masked", name="Bert", task="language")
    writer = saved(tmp_path / "writer", name="Marian", task="language")
    view = heedful.head_view(masked, TEXT)
    model = tiny_hf("Bert", "language")
    wanted = own(model, **word_pieces()(TEXT, return_tensors="pt"))
    assert_equal(view, {"a a": wanted.attentions})
    assert len(heedful.head_view(str(writer), TEXT, target=OTHER).sites) == 6
    base = transformers.AutoModel.from_pretrained(masked)
    assert_equal(heedful.head_view((base, word_pieces()), TEXT), {"a a": wanted.attentions})


def test_a_model_is_left_as_it_was() -> None:
    model, tokenizer = tiny_hf().train(), word_pieces()
    heedful.head_view((model, tokenizer), TEXT)
    assert model.training and model.config._attn_implementation != "heedful"
    assert tokenizer.backend_tokenizer.truncation is None


class Split:
    """A tokenizer that tells no characters, and writes a mark where a word begins."""

    is_fast, model_max_length, name_or_path = False, 64, "slow"
    pieces = ("</s>", "<pad>", "▁film", "▁un", "like", "ly", "▁good")
    all_special_ids = (0, 1)

    def __len__(self) -> int:
        return len(self.pieces)

    def __call__(self, text: str = "", text_target: str | None = None) -> dict[str, list[int]]:
        known = {"film": [2], "unlikely": [3, 4, 5], "good": [6]}
        ids = [token for word in (text_target or text).split() for token in known[word]]
        return {"input_ids": [*ids, 0]}

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [self.pieces[i] for i in ids]


def test_a_tokenizer_that_is_not_fast_marks_its_words() -> None:
    model = tiny_hf("Marian", "language", decoder_start_token_id=1)
    view = heedful.head_view((model, Split()), "film unlikely good", target="unlikely film")
    assert view.tokens == ("film", "un", "like", "ly", "good", "</s>")
    assert view.sides["target"].tokens == ("<pad>", "un", "like", "ly", "film")
    assert view.by_words().tokens == ("film", "unlikely", "good", "</s>")
    assert view.by_words().sides["target"].tokens == ("<pad>", "unlikely", "film")


class Averaging:
    """A model of ours that looks once at a text of two known words."""

    label_names = ("bad", "good")

    def __init__(self) -> None:
        self.model = tiny_model("average", "additive")

    def tokenise(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        spans = [match.span() for match in re.finditer(r"\S+", text)]
        return [1, *range(4, 4 + len(spans)), 2], [(0, 0), *spans, (len(text), len(text))]


def test_a_query_that_is_no_token_has_a_name() -> None:
    view = heedful.head_view(Averaging(), "a good film")
    (site,) = view.sites
    assert site.queries == "query" and view.sides["query"].tokens == ("query",)
    assert view.weights[site.name].shape == (1, 1, 5)
    assert view.by_words().weights[site.name].shape == (1, 1, 5)
    assert view.tokens == ("·", "a", "good", "film", "·")


def test_the_page_holds_the_weights() -> None:
    """As bytes, each off by at most 0.004; the notes of what was cut stand beside them."""
    view = heedful.head_view((tiny_hf(), word_pieces()), TEXT, OTHER, max_length=10)
    assert view.notes == ("the text is longer than the model reads: 4 words were cut off.",)
    data = parse(page_of(view)).blob("heads")
    found = (np.frombuffer(base64.b64decode(data["weights"]), np.uint8) / 255.0) ** 2
    wanted = np.concatenate([view.weights[site["name"]].ravel() for site in data["sites"]])
    assert 0 < np.abs(found - wanted).max() <= 0.004
    assert data["notes"] == list(view.notes) and data["sides"]["a"]["tokens"] == list(view.tokens)


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    tokenizer = word_pieces()
    view = heedful.head_view((tiny_hf(), tokenizer), HOSTILE, "</textarea>" + "x" * 500)
    shown = view._repr_html_()
    assert shown.count("<") == 4 and 'sandbox="allow-scripts"' in shown  # a paragraph and a frame
    frame = page_of(view)
    page = parse(frame)
    assert page.tags <= {"html", "head", "meta", "link", "title", "style", "body", "a", "header",
        "p", "h1", "h2", "main", "div", "noscript", "code", "footer"}  # fmt: skip
    assert len(page.scripts) == 2 and "default-src 'none'" in page.policy
    file = view.to_html(tmp_path / "page.html")
    assert file.read_text(encoding="utf8") == frame
    assert max(map(len, page.blob("heads")["sides"]["a"]["surface"])) <= 100


def test_what_it_says_of_itself() -> None:
    view = heedful.head_view((tiny_hf("Marian", "language"), word_pieces()), TEXT, target=OTHER)
    assert repr(view) == "<HeadView of MarianMTModel: 6 layers, 12 heads, 10 and 7 tokens>"
    first = view.sites[0]
    one = replace(view, sites=(first,), weights={first.name: view.weights[first.name][:1]})
    assert "1 layer, 1 head, " in repr(one)


def test_texts_in_a_list_are_refused() -> None:
    with pytest.raises(HeedfulError, match="the text is not a text but a list: give one str"):
        heedful.head_view((tiny_hf("Bert"), word_pieces()), [TEXT])


@pytest.mark.parametrize(
    ("model", "texts", "sentence"),
    [
        ("FNet", {"text": TEXT}, "has no softmax over tokens that could be reached"),
        ("Marian", {"text": TEXT}, "give what it wrote as target=…"),
        ("Marian", {"text": TEXT, "text_b": OTHER, "target": OTHER}, "reads one text"),
        ("Bert", {"text": TEXT, "target": OTHER}, "leave the target out"),
        ("GPT2", {"text": TEXT, "text_b": OTHER}, "leave the second out"),
        ("Bert", {"text": " "}, "the text is empty"),
        ("Bert", {"text": TEXT, "text_b": ""}, "the text_b is empty"),
        ("Bert", {"text": TEXT, "template": "{text} It was"}, "leave it out"),
        ("GPT2", {"text": TEXT, "template": "{text_b} {text}"}, "leave {text_b} out"),
        ("Bert", {"text": TEXT, "label": "good"}, "no keyword 'label'"),
        ("Bert", {"text": TEXT, "layres": 3}, "no keyword 'layres'"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_sentence(
    model: str, texts: dict[str, Any], sentence: str
) -> None:
    task = "classification" if model in ("Bert", "FNet") else "language"
    pair = tiny_hf(model, task), word_pieces()
    with pytest.raises(HeedfulError, match=re.escape(sentence)):
        heedful.head_view(pair, **texts)


def test_a_text_too_long_for_a_page_names_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    from heedful.auditing import heads

    monkeypatch.setattr(heads, "MOST_WEIGHTS", 4 * 8**2)
    pair = tiny_hf(), word_pieces()
    with pytest.raises(HeedfulError, match="has 10 tokens.* holds 8: .*max_length=8"):
        heedful.head_view(pair, TEXT)
    assert len(heedful.head_view(pair, TEXT, max_length=8).tokens) == 8
