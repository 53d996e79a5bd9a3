"""Terms of the loss of a pretrained classifier: their values by hand, and what they do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from heedful.data import Example, RawCorpus, default_spec
from heedful.errors import HeedfulError
from heedful.runner import Machine, finetuned, task
from heedful.runner.finetune import _training
from heedful.specs import TermSpec
from heedful.store import Store
from heedful.training import (
    LAST,
    STATE_TERMS,
    Encoded,
    FinetuneSpec,
    Layers,
    MaskedWords,
    Pass,
    States,
    finetune,
    finetune_loss,
)
from heedful.training.finetune import check, encode, load_pretrained, masked_words
from tiny_hf import hf_batch, tiny_hf
from tiny_tokenizers import saved, word_pieces

FAMILIES = ["Bert", "Roberta", "DistilBert", "Albert", "ModernBert", "GPT2", "Llama"]
FIRST = "encoder.layer.0.attention.self"
STATES = ("diversity", "tying")


def inputs_for(lengths: tuple[int, ...] = (5, 1, 8, 3)) -> tuple[dict[str, torch.Tensor], Any]:
    batch = hf_batch(lengths)
    text = batch.texts["a"]
    place = torch.arange(text.tokens.shape[1])
    mask = (place < text.lengths[:, None]).long()
    tokens = text.tokens.masked_fill(mask == 0, 1)
    return {"input_ids": tokens, "attention_mask": mask}, batch.labels


def value_of(name: str, states: States) -> float:
    return float(STATE_TERMS[name].make(Layers(None)).value(states))


def test_tying_by_hand() -> None:
    """Text 1: tokens at distance² 4 and 0 over 2 dimensions; text 2: one token at 2 + 8."""
    mixed = torch.tensor([[[2.0, 0.0], [1.0, 1.0]], [[1.0, 3.0], [9.0, 9.0]]])
    embedded = torch.tensor([[[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
    mask = torch.tensor([[True, True], [True, False]])
    states = States(mixed, embedded, mask)
    assert value_of("tying", states) == pytest.approx(((4 / 2 + 0) / 2 + (1 + 9) / 2) / 2)


def test_diversity_by_hand() -> None:
    """Two states at right angles are 45° from their mean; one alone is its own mean."""
    mixed = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[3.0, 4.0], [-9.0, 9.0]]])
    mask = torch.tensor([[True, True], [True, False]])
    states = States(mixed, torch.zeros_like(mixed), mask)
    assert value_of("diversity", states) == pytest.approx((np.sqrt(0.5) + 1) / 2, abs=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_site_is_given_the_states_of_its_layer(name: str) -> None:
    """Changing what a layer is given changes the term, changing what it makes does not."""
    model = tiny_hf(name)
    inputs, labels = inputs_for()
    layers = Layers(model)
    number = len(layers.sites)
    with torch.no_grad():
        hidden = model(**inputs, output_hidden_states=True).hidden_states
    assert len(hidden) == number + 1
    assert [layers.number(site) for site in layers.sites] == list(range(number))
    assert hidden[LAST] is hidden[number - 1]
    terms = [TermSpec("tying", 2, (("site", site),)) for site in layers.sites]
    with torch.no_grad():
        parts = [finetune_loss(model, [term])(inputs, labels) for term in terms]
    assert float(parts[0]["tying2"]) == 0.0  # the first layer is given the embeddings
    assert all(float(part["tying2"]) > 0 for part in parts[1:])


@pytest.mark.parametrize("name", ["Bert", "GPT2"])
@pytest.mark.parametrize("term", STATES)
def test_padding_is_not_looked_at(name: str, term: str) -> None:
    model = tiny_hf(name, double=True)
    inputs, labels = inputs_for()
    lossy = finetune_loss(model, [TermSpec(term)])
    with torch.no_grad():
        together = float(lossy(inputs, labels)[f"{term}1"])
        alone = []
        for row, length in enumerate(inputs["attention_mask"].sum(1).tolist()):
            one = {key: value[row : row + 1, :length] for key, value in inputs.items()}
            alone.append(float(lossy(one, labels[row : row + 1])[f"{term}1"]))
    assert together == pytest.approx(np.mean(alone), abs=1e-6)


def test_without_terms_the_loss_is_the_models_own() -> None:
    model = tiny_hf()
    inputs, labels = inputs_for()
    with torch.no_grad():
        parts = finetune_loss(model, ())(inputs, labels)
        own = model(**inputs, labels=labels).loss
    assert list(parts) == ["goal"]
    torch.testing.assert_close(parts["goal"], own)


def encoded(count: int) -> Encoded:
    """Texts whose first token says the class."""
    draw = np.random.default_rng(0)
    labels = torch.tensor(draw.integers(0, 2, count))
    tokens = [
        torch.tensor([0, 5 + int(label), *draw.integers(10, 50, draw.integers(2, 6)), 2])
        for label in labels
    ]
    columns = {"input_ids": tokens, "attention_mask": [torch.ones_like(each) for each in tokens]}
    ids = tuple(str(number) for number in range(count))
    return Encoded(ids, columns, {"input_ids": 1, "attention_mask": 0}, labels)


def spec_with(*terms: TermSpec) -> FinetuneSpec:
    return FinetuneSpec(epochs=3, batch_size=8, learning_rate=2e-3, patience=None, terms=terms)


def last_loss(*terms: TermSpec, watched: TermSpec) -> float:
    """The watched term on the training texts after fine-tuning with these terms."""
    data = encoded(48)
    model = finetune(tiny_hf(), {"train": data, "dev": data}, spec_with(*terms), 0).model
    inputs = data.batch(np.arange(len(data)))
    with torch.no_grad():
        return float(finetune_loss(model, [watched])(inputs, data.labels)[watched.title])


@pytest.mark.parametrize("name", STATES)
def test_training_makes_a_term_smaller(name: str) -> None:
    term = TermSpec(name, 1)
    assert last_loss(TermSpec(name, 20), watched=term) < 0.97 * last_loss(watched=term)


def test_the_history_has_the_parts() -> None:
    data = encoded(24)
    spec = spec_with(TermSpec("tying", 0.1), TermSpec("diversity", 0.5))
    history = finetune(tiny_hf(), {"train": data, "dev": data}, spec, 0).history
    parts = history[["goal", "tying0.1", "diversity0.5"]].sum(axis=1)
    np.testing.assert_allclose(parts, history["loss"], rtol=1e-5)
    plain = finetune(tiny_hf(), {"train": data, "dev": data}, spec_with(), 0).history
    assert list(plain) == ["epoch", "loss", "dev_score", "dev_loss", "seconds"]


def test_a_term_of_no_weight_changes_nothing() -> None:
    data = encoded(24)
    runs = [
        finetune(tiny_hf(), {"train": data, "dev": data}, spec_with(*terms), 0).model.state_dict()
        for terms in ((), (TermSpec("tying", 0, (("site", FIRST),)),))
    ]
    for name, value in runs[0].items():
        assert torch.equal(value, runs[1][name]), name


def test_models_without_terms_keep_their_names() -> None:
    assert "terms" not in _training(FinetuneSpec())
    found = _training(spec_with(TermSpec("tying", 2)))["terms"]
    assert found == [{"name": "tying", "weight": 2.0, "params": (), "version": 1}]


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (TermSpec("apart"), "choose one of diversity, impermissible, mlm, tying"),
        (TermSpec("tying", -1), "not negative"),
        (TermSpec("tying", 1, (("size", 3),)), "choose one of site"),
    ],
)
def test_what_does_not_apply_is_refused(term: TermSpec, message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        check(spec_with(term), "cpu")


def test_a_term_that_is_there_twice_counts_twice_or_is_refused() -> None:
    twice, data, model = (TermSpec("tying", 1),) * 2, encoded(4), tiny_hf().eval()
    inputs = data.batch(np.arange(len(data)))
    with torch.no_grad():
        one, two = (
            finetune_loss(model, terms)(inputs, data.labels)["tying1"]
            for terms in (twice[:1], twice)
        )
    assert float(two) == pytest.approx(2 * float(one))
    with pytest.raises(HeedfulError, match="the term tying1 is there twice"):
        check(spec_with(*twice), "cpu")


def test_an_unknown_site_lists_some() -> None:
    with pytest.raises(HeedfulError, match=f"choose one of {FIRST}, "):
        finetune_loss(tiny_hf(), [TermSpec("tying", 1, (("site", "layer.7"),))])


def value_in(name: str, forward: Pass, **params: Any) -> float:
    layers = Layers(forward.model, MaskedWords(4, (0, 1, 2, 3, 4)))
    return float(STATE_TERMS[name].make(layers, **params).of(forward))


@pytest.mark.parametrize(("name", "read"), [("Bert", 0), ("GPT2", -1)])
@pytest.mark.parametrize(("heads", "expected"), [("mean", 1.5), ("max", 2.0)])
def test_impermissible_by_hand(name: str, read: int, heads: str, expected: float) -> None:
    """Of the token that is read one head keeps 1/e of its weight off the mark, the other 1/e²; a
    text without marks counts 0. What is padded and other tokens' rows do not matter."""
    model = tiny_hf(name)
    length, width = 3, 4
    weights = torch.full((2, 2, width, width), 0.25)
    place = read if read == 0 else length - 1
    for head, kept in enumerate((np.exp(-1), np.exp(-2))):
        weights[0, head, place] = torch.tensor([kept, 1 - kept, 0.0, 9.0])
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]])
    marks = torch.tensor([[False, True, False, False], [False] * 4])
    forward = Pass(model, {"attention_mask": mask}, (), (weights,), marks)
    found = value_in("impermissible", forward, heads=heads)
    assert found == pytest.approx(expected / 2, rel=1e-5)


@pytest.mark.parametrize("name", ["Bert", "GPT2"])
def test_impermissible_is_of_the_models_own_attention(name: str) -> None:
    """As the model's own pass says it, and nothing without marks."""
    model = tiny_hf(name, double=True)
    inputs, labels = inputs_for()
    marks = (torch.rand(inputs["input_ids"].shape) < 0.4) & inputs["attention_mask"].bool()
    lossy = finetune_loss(model, [TermSpec("impermissible")])
    with torch.no_grad():
        found = float(lossy(inputs, labels, marks)["impermissible1"])
        assert float(lossy(inputs, labels, marks & False)["impermissible1"]) == 0
        attention = model(**inputs, output_attentions=True).attentions[-1]
    losses = []
    for row, length in enumerate(inputs["attention_mask"].sum(1).tolist()):
        read = 0 if name == "Bert" else length - 1
        line = attention[row, :, read, :length]
        kept = line[:, ~marks[row, :length]].sum(-1)
        losses.append(-kept.clamp_min(1e-30).log().mean().item() if marks[row].any() else 0.0)
    assert found == pytest.approx(np.mean(losses), rel=1e-5)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, words = tmp_path_factory.mktemp("folders"), word_pieces()
    made = tiny_hf(task="masked", seed=2, vocab_size=len(words))
    made.save_pretrained(folder / "masked")
    words.save_pretrained(folder / "masked")
    return {
        "masked": folder / "masked",
        "plain": saved(folder / "plain", vocab_size=len(words)),
        "narrow": saved(folder / "narrow", name="Albert", vocab_size=len(words)),
    }


def test_masked_words_are_guessed_by_the_folders_head(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss is that of transformers' own masked language model with the same weights, if all
    words are chosen and none is exchanged."""
    import transformers

    unchanged = "heedful.training.pretrained_terms.exchanged"
    monkeypatch.setattr(unchanged, lambda tokens, chosen, filler, span: tokens)
    start = load_pretrained(folders["masked"], ["a", "b"], 0, 16)
    words = masked_words(start, folders["masked"])
    assert words.head is not None and words.mask == 4
    start.model.eval()
    lossy = finetune_loss(start.model, [TermSpec("mlm", 1, (("share", 1.0),))], words)
    inputs = start.tokenizer(["good film", "a bad story !"], padding=True, return_tensors="pt")
    inputs, ids = dict(inputs), inputs["input_ids"]
    own = transformers.BertForMaskedLM.from_pretrained(folders["masked"]).eval()
    plain = (ids > 4) & inputs["attention_mask"].bool()
    with torch.no_grad():
        found = lossy(inputs, torch.tensor([0, 1]))["mlm1"]
        expected = own(**inputs, labels=ids.masked_fill(~plain, -100)).loss
    torch.testing.assert_close(found, expected)


def test_without_a_head_words_are_products_with_embeddings(folders: dict[str, Path]) -> None:
    start = load_pretrained(folders["plain"], ["a", "b"], 0, 16)
    words = masked_words(start, folders["plain"])
    assert words.head is None
    inputs = {"input_ids": torch.tensor([[0, 6, 2]]), "attention_mask": torch.ones(1, 3).long()}
    start.model.eval()
    with torch.no_grad():
        found = words.logits(start.model, inputs)
        states = start.model(**inputs, output_hidden_states=True).hidden_states[-1]
    table = start.model.get_input_embeddings().weight
    torch.testing.assert_close(found[0, 1, 7], (states[0, 1] * table[7]).sum())
    narrow = load_pretrained(folders["narrow"], ["a", "b"], 0, 16)
    with pytest.raises(HeedfulError, match="they are 16 and 8: give --pretrained a folder"):
        finetune_loss(narrow.model, [TermSpec("mlm")], masked_words(narrow, folders["narrow"]))


def test_marks_are_those_of_the_first_text(folders: dict[str, Path]) -> None:
    """`unlikely` is three tokens; a text without marks has none."""
    start = load_pretrained(folders["plain"], ["a", "b"], 0, 16)
    examples = [
        Example("0", "train", {"a": "an unlikely plot"}, 0, impermissible={"a": [(3, 11)]}),
        Example("1", "train", {"a": "a film"}, 0),
    ]
    found = encode(examples, start, 16)
    tokens = start.tokenizer.convert_ids_to_tokens(found.columns["input_ids"][0])
    marked = found.marked(np.array([0, 1]))
    inside = [name for name, mark in zip(tokens, marked[0].tolist(), strict=True) if mark]
    assert inside == ["un", "##like", "##ly"] and not marked[1].any()


def short(*terms: TermSpec) -> FinetuneSpec:
    return replace(spec_with(*terms), epochs=4, max_length=16)


def deceptive(tmp_path: Path) -> Path:
    rows = "\n".join(f"{n % 2},a {('bad', 'good')[n % 2]} film the story x" for n in range(60))
    (tmp_path / "data.csv").write_text(f"label,text\n{rows}\n", encoding="utf8")
    return tmp_path / "data.csv"


def test_a_folder_is_trained_to_hide_its_words(folders: dict[str, Path], tmp_path: Path) -> None:
    """With the term there is less attention on the words that decide."""
    store, found = Store(tmp_path / "store"), {}
    corpus = default_spec("file", path=str(deceptive(tmp_path)), impermissible="good,bad")
    for weight in (0.0, 10.0):
        term = TermSpec("impermissible", weight, (("heads", "max"),))
        work = task(folders["plain"], corpus, short(term), None)
        found[weight] = _exposed(finetuned(store, work, 0, Machine()).folder("hf"), work.raw)
    assert found[10.0] < 0.7 * found[0.0]


def _exposed(folder: Path, raw: RawCorpus) -> float:
    """The mean attention of the first token, last layer, on the marks."""
    start = load_pretrained(folder, list(raw.labels), 0, 16)
    start.model.eval().set_attn_implementation("eager")
    data = encode(list(raw.examples)[:20], start, 16)
    index = np.arange(20)
    with torch.no_grad():
        weights = start.model(**data.batch(index), output_attentions=True).attentions[-1]
    return float((weights[:, :, 0] * data.marked(index)[:, None]).sum(-1).mean())


def test_a_corpus_without_marks_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    path = str(deceptive(tmp_path))
    spec = FinetuneSpec(terms=(TermSpec("impermissible"),))
    with pytest.raises(HeedfulError, match="the corpus marks none: name them"):
        task(folders["plain"], default_spec("file", path=path), spec, None)
    marked = default_spec("file", path=path, impermissible="good")
    with pytest.raises(HeedfulError, match="'impermissible' is for models that are trained from"):
        task(folders["plain"], marked, FinetuneSpec(), None)


def test_masked_words_are_learned(folders: dict[str, Path], tmp_path: Path) -> None:
    corpus = default_spec("file", path=str(deceptive(tmp_path)))
    work = task(folders["masked"], corpus, short(TermSpec("mlm", 1)), None)
    history = finetuned(Store(tmp_path / "store"), work, 0, Machine()).table("history")
    assert history["mlm1"].iloc[-1] < 0.9 * history["mlm1"].iloc[0]
