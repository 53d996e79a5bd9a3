"""Words, then sentences: against a loop over sentences, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.attributions import attention as attention_map
from heedful.data import Prepared
from heedful.experiments import ExclusivityParams, ForwardBatch, exclusivity
from heedful.interventions import custom, permute, uniform
from heedful.metrics import jsd
from heedful.models import ENCODERS, Hierarchical, build
from heedful.specs import ModelSpec, TrainSpec
from heedful.training import train
from heedful.types import Batch, Edit, Keep, Text
from heedful.words import without_tokens
from reference.hierarchical import forward
from tiny import EMBEDDING, HIDDEN, WORDS, batch_of

Sentences = list[list[int]]
EVERYTHING = Keep(True, True, True, values=True, readout_weights=True)
TEXTS: list[Sentences] = [
    [[4, 5, 6], [7], [8, 9]],
    [[10]],
    [[11, 12], [13, 14, 15, 16]],
    [[17], [18], [19], [20, 21]],
]
FAMILIES = [
    *((name, "additive") for name in ENCODERS),
    ("bilstm", "dot"),
    ("bigru", "gate"),
    ("bigru", "sparsemax"),
    ("bigru", "structured"),
]


def tiny(
    encoder: str = "bigru", attention: str = "additive", classes: int = 3, layers: int = 1
) -> Hierarchical:
    """In double precision, with weights so large that attention is uneven."""
    vectors = torch.randn(WORDS, EMBEDDING, generator=torch.Generator().manual_seed(0))
    spec = ModelSpec(encoder, attention, layers, hidden=HIDDEN, family="hierarchical")
    model = build(spec, vectors, classes, 0)
    assert isinstance(model, Hierarchical)
    with torch.no_grad():
        for level in (model.words, model.sentences):
            for parameter in level.attention.parameters():
                parameter *= 3
        model.decoder.weight *= 4
    return model.double().eval()


def batch_from(texts: list[Sentences], pad: int = 0) -> Batch:
    rows = [[2, *chain(*sentences), 3] for sentences in texts]
    batch = batch_of(rows, tuple(map(str, range(len(rows)))), [0] * len(rows), pad)
    numbers = torch.full_like(batch.texts["a"].tokens, -1)
    for row, sentences in enumerate(texts):
        own = [number for number, tokens in enumerate(sentences) for _ in tokens]
        numbers[row, 1 : 1 + len(own)] = torch.tensor(own)
    return with_text(batch, replace(batch.texts["a"], sentences=numbers))


def with_text(batch: Batch, text: Text) -> Batch:
    return replace(batch, texts={"a": text})


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_equals_a_loop_over_sentences(encoder: str, attention: str, layers: int) -> None:
    model = tiny(encoder, attention, layers=layers)
    trace = model(batch_from(TEXTS, pad=2))
    parameters = {name: value.tolist() for name, value in model.state_dict().items()}
    for row, sentences in enumerate(TEXTS):
        logits, within, over = forward(parameters, encoder, attention, layers, sentences)
        assert trace.logits[row].tolist() == pytest.approx(logits, abs=1e-9)
        assert trace.weights["sentences"][row, 0, 0].tolist() == pytest.approx(padded(over, 4))
        place = 1
        for number, weights in enumerate(within):
            found = trace.weights["words"][row, 0, number].tolist()
            expected = [0.0] * place + weights
            assert found == pytest.approx(padded(expected, len(found)))
            place += len(weights)


def padded(values: list[float], size: int) -> list[float]:
    return values + [0.0] * (size - len(values))


def test_by_hand() -> None:
    """No encoders. All words of a sentence count alike: the sentences are (½, 1) and (0, 2).
    The sentences' scores are 1 and 2, their logits 3·½ − 1 and −2."""
    vectors = torch.zeros(6, 2)
    vectors[4], vectors[5] = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])
    spec = ModelSpec(encoder="none", attention="dot", family="hierarchical")
    model = Hierarchical(spec, vectors, 2).double()
    with torch.no_grad():
        model.words.attention.query.zero_()
        model.sentences.attention.query.copy_(torch.tensor([0.0, math.sqrt(2)]))
        model.decoder.weight.copy_(torch.tensor([[3.0, -1.0]]))
        model.decoder.bias.fill_(1.0)
    trace = model(batch_from([[[4, 5], [5]]]), keep=EVERYTHING)
    share = 1 / (1 + math.e)
    assert trace.weights["words"][0, 0].tolist() == [[0, 0.5, 0.5, 0, 0], [0, 0, 0, 1, 0]]
    assert trace.weights["sentences"].flatten().tolist() == pytest.approx([share, 1 - share])
    assert trace.token_logits["sentences"].values[0, :, 0].tolist() == pytest.approx([0.5, -2])
    assert trace.logits.item() == pytest.approx(0.5 * share - 2 * (1 - share) + 1)
    shown = attention_map(model, batch_from([[[4, 5], [5]]]), torch.tensor([0]))
    assert shown[0].tolist() == pytest.approx([0, share / 2, share / 2, 1 - share, 0])


def test_sites_and_shapes() -> None:
    model = tiny()
    words, sentences = model.sites
    assert (words.level, words.linear, words.main) == ("tokens", False, False)
    assert (sentences.level, sentences.linear, sentences.main) == ("sentences", True, True)
    trace = model(batch_from(TEXTS), keep=EVERYTHING)
    assert trace.weights["words"].shape == trace.masks["words"].shape == (4, 1, 4, 8)
    assert trace.weights["sentences"].shape == trace.masks["sentences"].shape == (4, 1, 1, 4)
    for name in ("words", "sentences"):
        weights, mask = trace.weights[name], trace.masks[name]
        assert bool((weights[~mask] == 0).all())
        torch.testing.assert_close(weights.sum(-1), mask.any(-1).double())
    torch.testing.assert_close(trace.readout_weights["words"].sum(-1), torch.ones(4).double())
    assert trace.readout_weights["sentences"].tolist() == [[1.0]] * 4
    assert trace.values["words"].shape == (4, 1, 8, 16)


def test_gates_at_both_levels() -> None:
    assert not any(site.normalised for site in tiny(attention="gate").sites)
    assert all(site.normalised for site in tiny(attention="dot").sites)


def test_sentences_are_read_by_shares_that_sum_to_one() -> None:
    """Also where their weights are gates."""
    for attention in ("gate", "additive"):
        trace = tiny(attention=attention)(batch_from(TEXTS), keep=EVERYTHING)
        row = trace.weights["sentences"][:, 0, 0]
        shares = trace.readout_weights["words"]
        torch.testing.assert_close(shares.sum(-1), torch.ones(4).double())
        torch.testing.assert_close(shares * row.sum(-1, keepdim=True), row)
    gone = {"sentences": custom(lambda call: torch.zeros_like(call.weights))}
    trace = tiny(attention="gate")(batch_from(TEXTS), gone, EVERYTHING)
    assert not trace.readout_weights["words"].any()


def test_the_search_sees_the_sentences_as_they_are_then() -> None:
    """Other words change which sentence counts, and with it what a reader would see."""
    model, batch = tiny(), batch_from(TEXTS)
    old = model(batch, keep=EVERYTHING)
    found = exclusivity(ForwardBatch.of(model, batch), ExclusivityParams(epsilon=0.2, steps=20))
    new = model(batch, {"words": custom(lambda _: found.weights)}, EVERYTHING)
    maps = [
        torch.einsum("bs,bst->bt", trace.readout_weights["words"], weights[:, 0])
        for trace, weights in ((old, old.weights["words"]), (new, found.weights))
    ]
    assert (new.readout_weights["words"] - old.readout_weights["words"]).abs().max() > 0.01
    torch.testing.assert_close(found.jsd, jsd(maps[1], maps[0]))


SIZES = st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), min_size=1, max_size=4)


@settings(max_examples=10)
@given(SIZES, st.integers(0, 4), st.integers(0, 99))
@pytest.mark.parametrize("encoder", ["bigru", "conv", "none"])
def test_padding_and_batching_change_nothing(
    encoder: str, sizes: list[list[int]], pad: int, seed: int
) -> None:
    model = tiny(encoder)
    generator = torch.Generator().manual_seed(seed)
    texts = [
        [torch.randint(4, WORDS, (n,), generator=generator).tolist() for n in text]
        for text in sizes
    ]
    with torch.no_grad():
        whole = model(batch_from(texts, pad))
        for row, text in enumerate(texts):
            alone = model(batch_from([text]))
            torch.testing.assert_close(alone.logits[0], whole.logits[row], atol=1e-9, rtol=0)
            for site in model.sites:
                mine, theirs = alone.weights[site.name][0], whole.weights[site.name][row].clone()
                part = theirs[:, : mine.shape[1], : mine.shape[2]]
                torch.testing.assert_close(mine, part, atol=1e-9, rtol=0)
                part.zero_()
                assert not theirs.any()


def test_start_and_end_are_not_read() -> None:
    model, batch = tiny("bilstm"), batch_from(TEXTS)
    before = model(batch).logits
    with torch.no_grad():
        model.embedding.weight[2:4] += 100
        model.embedding.weight[0] = math.nan
    assert torch.equal(model(batch).logits, before)


def test_unknown_sentences_are_one() -> None:
    model, batch = tiny("bilstm"), batch_from(TEXTS)
    bare = with_text(batch, replace(batch.texts["a"], sentences=None))
    joined = batch_from([[list(chain(*sentences))] for sentences in TEXTS])
    assert torch.equal(model(bare).logits, model(joined).logits)
    assert model(bare).weights["words"].shape == (4, 1, 1, 8)
    assert not torch.allclose(model(bare).logits, model(batch).logits)


def test_numbers_of_sentences_may_have_gaps() -> None:
    model, batch = tiny("bilstm"), batch_from(TEXTS)
    text = batch.texts["a"]
    wide = torch.where(text.sentences >= 0, 2 * text.sentences + 3, -1)
    assert torch.equal(
        model(with_text(batch, replace(text, sentences=wide))).logits, model(batch).logits
    )


@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_deletions_equal_runs_on_shorter_texts(encoder: str, attention: str) -> None:
    """A sentence that loses its only word is gone; so is all of a text of one word."""
    model = tiny(encoder, attention)
    with torch.no_grad():
        deleted = model.leave_one_out_logits(batch_from(TEXTS))
        for row, sentences in enumerate(TEXTS):
            places = [(s, t) for s, tokens in enumerate(sentences) for t in range(len(tokens))]
            for place, (s, t) in enumerate(places, 1):
                left = [
                    [token for number, token in enumerate(tokens) if (own, number) != (s, t)]
                    for own, tokens in enumerate(sentences)
                ]
                logits = model.decoder.bias
                if any(left):
                    logits = model(batch_from([[tokens for tokens in left if tokens]])).logits[0]
                torch.testing.assert_close(deleted.less[row, place], logits, atol=1e-9, rtol=0)


@pytest.mark.parametrize("encoder", ["bigru", "bilstm", "conv", "none"])
def test_a_text_without_tokens_leaves_the_bias(encoder: str) -> None:
    model, batch = tiny(encoder), batch_from(TEXTS)
    text = batch.texts["a"]
    empty = with_text(batch, without_tokens(text, text.mask))
    torch.testing.assert_close(model(empty).logits, model.decoder.bias.expand(4, 3))


def test_hidden_words_are_seen_by_encoders_only() -> None:
    """A sentence of hidden words has no weight; what is left of the weights still sums to 1."""
    model, batch = tiny("bilstm"), batch_from(TEXTS)
    text = batch.texts["a"]
    hidden = (text.sentences == 0) & (text.lengths > 3)[:, None]
    trace = model(with_text(batch, replace(text, hidden=hidden)))
    assert not trace.weights["sentences"][[0, 2, 3], 0, 0, 0].any()
    assert not trace.weights["words"][[0, 2, 3], 0, 0].any()
    torch.testing.assert_close(trace.weights["sentences"].sum(-1), torch.ones(4, 1, 1).double())


def test_token_logits_are_exact() -> None:
    trace = tiny()(batch_from(TEXTS), keep=EVERYTHING)
    linear = trace.token_logits["sentences"]
    product = (trace.weights["sentences"][:, 0] @ linear.values)[:, 0] + linear.bias
    torch.testing.assert_close(product, trace.logits, atol=1e-12, rtol=0)


EDITS: dict[str, dict[str, Edit]] = {
    "words": {"words": uniform()},
    "sentences": {"sentences": permute(1)},
    "both": {"words": permute(2), "sentences": uniform()},
}


@pytest.mark.parametrize("name", EDITS)
def test_resume_equals_a_full_run(name: str) -> None:
    model, batch = tiny(), batch_from(TEXTS)
    base = model(batch, keep=EVERYTHING)
    full, resumed = model(batch, EDITS[name]), model.resume(batch, base, EDITS[name])
    torch.testing.assert_close(resumed.logits, full.logits, atol=1e-12, rtol=0)
    assert not torch.allclose(full.logits, base.logits)
    for site in ("words", "sentences"):
        torch.testing.assert_close(resumed.weights[site], full.weights[site], atol=1e-12, rtol=0)
    again = model.resume(batch, resumed, EDITS["words"])
    torch.testing.assert_close(again.logits, model(batch, EDITS["words"]).logits)


def test_editing_words_moves_sentences_but_not_the_other_way_round() -> None:
    model, batch = tiny(), batch_from(TEXTS)
    base = model(batch)
    words, sentences = model(batch, EDITS["words"]), model(batch, EDITS["sentences"])
    assert not torch.allclose(words.weights["sentences"], base.weights["sentences"])
    assert torch.equal(sentences.weights["words"], base.weights["words"])


def test_the_identity_edit_changes_nothing() -> None:
    model, batch = tiny(), batch_from(TEXTS)
    same = custom(lambda call: call.weights)
    edited = model(batch, {"words": same, "sentences": same})
    assert torch.equal(edited.logits, model(batch).logits)


def test_gradients_reach_the_words_and_nothing_else() -> None:
    batch = batch_from(TEXTS, pad=1)
    trace = tiny()(batch, keep=EVERYTHING)
    (slope,) = torch.autograd.grad(trace.logits.sum(), trace.embeddings["a"])
    assert torch.equal(slope.abs().sum(-1) > 0, batch.texts["a"].mask)
    with torch.no_grad():
        bare = tiny()(batch, keep=EVERYTHING)
    kept = [bare.logits, *bare.states.values(), bare.token_logits["sentences"].bias]
    assert not any(tensor.requires_grad for tensor in kept)


def test_embeddings_given_take_the_place_of_the_tokens_own() -> None:
    model, batch = tiny(), batch_from(TEXTS)
    own = model.embed(batch)
    assert torch.equal(model(batch, embeddings=own).logits, model(batch).logits)
    double = {"a": 2 * own["a"]}
    assert not torch.allclose(model(batch, embeddings=double).logits, model(batch).logits)


def test_dropout_is_on_embeddings_and_the_text_in_training_only() -> None:
    vectors = torch.randn(WORDS, EMBEDDING, generator=torch.Generator().manual_seed(0))
    spec = ModelSpec("none", family="hierarchical", dropout=0.5)
    model, batch = build(spec, vectors, 3, 0), batch_from(TEXTS)
    shapes: list[int] = []
    model.dropout.register_forward_hook(lambda _, given, out: shapes.append(out.ndim))
    assert not torch.equal(model.train()(batch).logits, model(batch).logits)
    assert shapes == [3, 2, 3, 2]
    assert torch.equal(model.eval()(batch).logits, model(batch).logits)


def test_training_takes_it_as_any_other(planted: Prepared) -> None:
    spec = ModelSpec("bigru", hidden=8, family="hierarchical", dropout=0.1)
    model = build(spec, planted.vectors, 2, 0)
    history = train(model, planted, TrainSpec(epochs=3, learning_rate=0.02), seed=0).history
    assert history["loss"].iloc[-1] < history["loss"].iloc[0]
