"""Terms of the loss of a pretrained classifier: their values by hand, and what they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from heedful.errors import HeedfulError
from heedful.runner.finetune import _training
from heedful.specs import TermSpec
from heedful.training import (
    LAST,
    STATE_TERMS,
    Encoded,
    FinetuneSpec,
    Layers,
    States,
    finetune,
    finetune_loss,
)
from heedful.training.finetune import check
from tiny_hf import hf_batch, tiny_hf

FAMILIES = ["Bert", "Roberta", "DistilBert", "Albert", "ModernBert", "GPT2", "Llama"]
FIRST = "encoder.layer.0.attention.self"


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
@pytest.mark.parametrize("term", list(STATE_TERMS))
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


@pytest.mark.parametrize("name", list(STATE_TERMS))
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
        (TermSpec("mlm"), "choose one of diversity, tying"),
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
