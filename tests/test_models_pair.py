"""Two texts: against the papers' formulas one pair at a time, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_cases import CASES, edit_case
from heedful.attributions import attention as attention_map
from heedful.attributions import gradient_input
from heedful.errors import HeedfulError
from heedful.interventions import custom, uniform
from heedful.models import (
    ENCODERS,
    IMPOSSIBLE,
    Attention,
    Chain,
    Pair,
    build,
    make_query_attention,
    probabilities,
)
from heedful.specs import ModelSpec
from heedful.types import Batch, Keep
from reference.pair import forward
from tiny import EMBEDDING, HIDDEN, WORDS, batch_of, rows_of, tiny_batch

EVERYTHING = Keep(True, True, True, values=True, readout_weights=True)
DECODERS = ("context", "query")
PARTS = [
    *((encoder, "additive", "query") for encoder in [*ENCODERS, "conditional"]),
    *((encoder, "dot", "context") for encoder in [*ENCODERS, "conditional"]),
    ("bilstm", "gate", "context"),
    ("bilstm", "sparsemax", "query"),
    ("bilstm", "entmax", "context"),
    ("bilstm", "structured", "context"),
    ("conditional", "additive", "context"),
    ("bilstm", "dot", "query"),
]


def tiny(
    encoder: str = "bilstm",
    attention: str = "additive",
    decoder: str = "context",
    classes: int = 3,
    layers: int = 1,
) -> Pair:
    """In double precision, with weights so large that attention is uneven."""
    vectors = torch.randn(WORDS, EMBEDDING, generator=torch.Generator().manual_seed(0))
    spec = ModelSpec(encoder, attention, layers, hidden=HIDDEN, family="pair", decoder=decoder)
    model = build(spec, vectors, classes, 0)
    assert isinstance(model, Pair)
    with torch.no_grad():
        for part in (model.attention, model.decoder):
            for parameter in part.parameters():
                parameter *= 3
        if isinstance(model.attention.weighting, Chain):
            model.attention.weighting.transitions.copy_(torch.tensor([[0, -1], [1, 2]]))
        model.embeddings["b"].weight[1:] += 0.5
    return model.double().eval()


def pairs(a: tuple[int, ...], b: tuple[int, ...], pad: int = 0, seed: int = 0) -> Batch:
    """Sides are padded each for itself."""
    one, other = tiny_batch(a, seed, pad, classes=3), tiny_batch(b, seed + 1, 2 * pad)
    return replace(one, texts={"a": one.texts["a"], "b": other.texts["a"]})


def rows_b(batch: Batch) -> list[list[int]]:
    return rows_of(replace(batch, texts={"a": batch.texts["b"]}))


@pytest.fixture
def batch() -> Batch:
    return pairs((4, 1, 9, 2), (3, 5, 1, 2))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("parts", PARTS)
def test_forward_is_what_the_papers_say(
    parts: tuple[str, str, str], layers: int, batch: Batch
) -> None:
    if parts[0] == "conditional" and layers > 1:
        with pytest.raises(HeedfulError, match="conditional encoder has 1"):
            tiny(*parts, layers=layers)
        return
    model = tiny(*parts, layers=layers)
    parameters = {name: value.tolist() for name, value in model.state_dict().items()}
    trace = model(batch)
    for row, (a, b) in enumerate(zip(rows_of(batch), rows_b(batch), strict=True)):
        logits, weights = forward(parameters, parts, layers, a, b)
        found = trace.weights["attention"][row, 0, 0, 1 : len(a) - 1]
        assert found.tolist() == pytest.approx(weights, abs=1e-9)
        assert trace.logits[row].tolist() == pytest.approx(logits, abs=1e-9)


def by_hand() -> Pair:
    """No encoders: h = (1, 0) and (0, 2). The question's one word gives the query (0, √2), so
    the scores are 0 and 2·√2/√2. The decoder takes 3·c₁ − c₂ + 1."""
    a, b = torch.zeros(6, 2), torch.zeros(6, 2)
    a[4], a[5], b[4] = *torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([0, math.sqrt(2)])
    spec = ModelSpec(encoder="none", attention="dot", family="pair", decoder="context")
    model = Pair(spec, a, 2)
    with torch.no_grad():
        model.embeddings["b"].weight.copy_(b)
        model.decoder.final.weight.copy_(torch.tensor([[3.0, -1.0]]))
        model.decoder.final.bias.fill_(1.0)
    return model.double()


def test_by_hand() -> None:
    one, other = batch_of([[2, 4, 5, 3]], ("x",), [0], 0), batch_of([[2, 4, 3]], ("x",), [0], 1)
    batch = replace(one, texts={"a": one.texts["a"], "b": other.texts["a"]})
    e2, model = math.exp(2), by_hand()
    trace = model(batch)
    expected = [0.0, 1 / (1 + e2), e2 / (1 + e2), 0.0]
    assert trace.weights["attention"].flatten().tolist() == pytest.approx(expected)
    assert trace.logits.item() == pytest.approx((3 - 2 * e2) / (1 + e2) + 1)
    deleted = model.leave_one_out_logits(batch).less[0, :, 0]
    assert deleted[1:3].tolist() == pytest.approx([-2 + 1, 3 + 1])
    assert deleted.isnan().tolist() == [True, False, False, True]


SIZES = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4)


@settings(max_examples=8)
@given(SIZES, st.integers(0, 4), st.integers(0, 99))
@pytest.mark.parametrize("encoder", ["bilstm", "bigru", "cnn", "none", "conditional"])
def test_padding_and_batching_change_nothing(
    encoder: str, sizes: list[tuple[int, int]], pad: int, seed: int
) -> None:
    model = tiny(encoder, decoder="query")
    a, b = zip(*sizes, strict=True)
    batch = pairs(a, b, pad, seed)
    with torch.no_grad():
        whole = model(batch)
        for row in range(len(sizes)):
            alone = model(batch.take(torch.tensor([row])))
            torch.testing.assert_close(alone.logits[0], whole.logits[row], atol=1e-9, rtol=0)
            mine = alone.weights["attention"][0]
            theirs = whole.weights["attention"][row]
            torch.testing.assert_close(mine, theirs[..., : mine.shape[-1]], atol=1e-9, rtol=0)
            assert not theirs[..., mine.shape[-1] :].any()


def test_sites() -> None:
    assert [tiny(decoder=name).sites[0].linear for name in DECODERS] == [True, False]
    assert not tiny(attention="gate").sites[0].normalised
    (site,) = tiny().sites
    assert (site.name, site.keys, site.level, site.main) == ("attention", "a", "tokens", True)


def other_question(batch: Batch) -> Batch:
    text = batch.texts["b"]
    tokens = torch.where(text.mask, (text.tokens + 7 - 4) % (WORDS - 4) + 4, text.tokens)
    return replace(batch, texts={**batch.texts, "b": replace(text, tokens=tokens)})


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "conditional"])
def test_uniform_attention_removes_the_question_from_the_context_alone(
    encoder: str, batch: Batch
) -> None:
    other = other_question(batch)
    for decoder in DECODERS:
        model = tiny(encoder, decoder=decoder)
        assert not torch.allclose(model(batch).logits, model(other).logits)
        edits = {"attention": uniform()}
        same = torch.equal(model(batch, edits).logits, model(other, edits).logits)
        assert same is (decoder == "context")


def test_the_sides_have_embeddings_and_encoders_of_their_own(batch: Batch) -> None:
    model = tiny(decoder="query")
    before = model(batch)
    with torch.no_grad():
        model.embeddings["b"].weight += 1
    after = model(batch)
    assert not torch.allclose(after.logits, before.logits)
    first = model(batch, keep=EVERYTHING).states["attention"]
    with torch.no_grad():
        for parameter in model.encoder.b.parameters():
            parameter *= 2
    assert torch.equal(model(batch, keep=EVERYTHING).states["attention"], first)


@pytest.mark.parametrize("parts", PARTS)
def test_token_logits_are_exact(parts: tuple[str, str, str], batch: Batch) -> None:
    trace = tiny(*parts)(batch, keep=EVERYTHING)
    if parts[2] == "query":
        assert not trace.token_logits
        return
    linear = trace.token_logits["attention"]
    product = (trace.weights["attention"][:, 0] @ linear.values)[:, 0] + linear.bias
    torch.testing.assert_close(product, trace.logits, atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "parts", [("bilstm", "additive", "query"), ("conditional", "dot", "context")]
)
def test_resume_equals_a_full_run(parts: tuple[str, str, str], name: str, batch: Batch) -> None:
    model = tiny(*parts)
    allowed = dict(zip(batch.ids, batch.texts["a"].mask, strict=True))
    edits = {"attention": edit_case(name, allowed)}
    base = model(batch, keep=EVERYTHING)
    full, resumed = model(batch, edits), model.resume(batch, base, edits)
    torch.testing.assert_close(resumed.logits, full.logits, atol=1e-12, rtol=0)
    assert torch.equal(resumed.weights["attention"], full.weights["attention"])
    if name not in ("detach", "erase-positions"):
        assert not torch.allclose(full.logits, base.logits)
    again = model.resume(batch, resumed, {})
    torch.testing.assert_close(again.logits, base.logits, atol=1e-12, rtol=0)


def test_the_identity_edit_changes_nothing(batch: Batch) -> None:
    model = tiny(decoder="query")
    edited = model(batch, {"attention": custom(lambda call: call.weights)})
    assert torch.equal(edited.logits, model(batch).logits)


@pytest.mark.parametrize(
    "parts", [("bilstm", "additive", "query"), ("conditional", "dot", "context")]
)
def test_deletions_shorten_the_first_text(parts: tuple[str, str, str]) -> None:
    model, batch = tiny(*parts), pairs((3, 1), (2, 4))
    with torch.no_grad():
        deleted = model.leave_one_out_logits(batch)
        torch.testing.assert_close(deleted.whole, model(batch).logits)
        for row, tokens in enumerate(rows_of(batch)):
            for place in range(1, len(tokens) - 1):
                one = batch_of([tokens[:place] + tokens[place + 1 :]], ("x",), [0], 0)
                other = batch.texts["b"].take(torch.tensor([row]))
                shorter = replace(one, texts={**one.texts, "b": other})
                expected = model(shorter).logits[0]
                torch.testing.assert_close(deleted.less[row, place], expected, atol=1e-9, rtol=0)


def test_gradients_reach_both_texts(batch: Batch) -> None:
    trace = tiny("lstm", decoder="query")(batch, keep=EVERYTHING)
    slopes = torch.autograd.grad(trace.logits.sum(), [trace.embeddings[side] for side in "ab"])
    for side, slope in zip("ab", slopes, strict=True):
        assert bool((slope.abs().sum(-1)[batch.texts[side].mask] > 0).all())
    with torch.no_grad():
        bare = tiny()(batch, keep=EVERYTHING)
    kept = [bare.logits, *bare.states.values(), bare.token_logits["attention"].bias]
    assert not any(tensor.requires_grad for tensor in kept)


def test_embeddings_of_one_side_may_be_given(batch: Batch) -> None:
    model = tiny(decoder="query")
    own = model.embed(batch)
    assert set(own) == {"a", "b"}
    for sides in ("a", "b", "ab"):
        given = {side: own[side] for side in sides}
        assert torch.equal(model(batch, embeddings=given).logits, model(batch).logits)
        zeros = {side: torch.zeros_like(own[side]) for side in sides}
        assert not torch.allclose(model(batch, embeddings=zeros).logits, model(batch).logits)


def test_saliencies_know_nothing_of_pairs(batch: Batch) -> None:
    model = tiny(decoder="query")
    shown = attention_map(model, batch, batch.labels)
    assert torch.equal(shown, model(batch).weights["attention"][:, 0, 0])
    assert gradient_input(model, batch, batch.labels).shape == batch.texts["a"].tokens.shape


def among(batch: Batch) -> Batch:
    allowed = torch.tensor([[1, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1]]).bool()
    return replace(batch, candidates=allowed)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("double", [True, False])
def test_other_classes_than_candidates_have_no_probability(
    decoder: str, double: bool, batch: Batch
) -> None:
    model = tiny(decoder=decoder).to(torch.float64 if double else torch.float32)
    some = among(batch)
    p = probabilities(model(some).logits)
    assert torch.equal(p == 0, ~some.candidates) and p[2, 1] == 1.0
    free = probabilities(model(batch).logits) * some.candidates
    torch.testing.assert_close(p, free / free.sum(-1, keepdim=True))
    assert torch.equal(model(batch).logits[3], model(some).logits[3])


@pytest.mark.parametrize("double", [True, False])
def test_token_logits_know_the_candidates(double: bool, batch: Batch) -> None:
    model, some = tiny().to(torch.float64 if double else torch.float32), among(batch)
    trace = model(some, {"attention": uniform()}, EVERYTHING)
    linear = trace.token_logits["attention"]
    product = (trace.weights["attention"][:, 0] @ linear.values)[:, 0] + linear.bias
    torch.testing.assert_close(product, trace.logits, rtol=1e-6, atol=1e-5)
    assert torch.equal(probabilities(product) == 0, ~some.candidates)
    assert trace.logits[2, 0] == IMPOSSIBLE
    assert torch.equal(model.resume(some, trace, {"attention": uniform()}).logits, trace.logits)


def test_candidates_of_another_corpus_are_refused(batch: Batch) -> None:
    with pytest.raises(HeedfulError, match="3 classes and the model has 1 logits"):
        tiny(classes=2)(among(batch))


def test_single_texts_are_refused() -> None:
    for ask in (tiny(), tiny().embed):
        with pytest.raises(HeedfulError, match=r"single texts: .* one_sequence"):
            ask(tiny_batch((3, 2)))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (ModelSpec(family="pair"), "context, query"),
        (ModelSpec("transformer", family="pair", decoder="query"), "conditional"),
        (ModelSpec("conditional"), "unknown encoder"),
        (
            ModelSpec(attention="sparse", family="pair", decoder="query"),
            "additive, dot, entmax, gate",
        ),
        (ModelSpec(layers=4, family="pair", decoder="query"), "choose 1, 2 or 3"),
        (ModelSpec(decoder="query"), "one_sequence"),
    ],
)
def test_a_wrong_spec_is_named(spec: ModelSpec, message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        build(spec, torch.zeros(9, 4), 3, 0)


def test_attention_by_name() -> None:
    assert not list(make_query_attention("dot", 4).parameters())
    with pytest.raises(HeedfulError, match="additive, dot, entmax, gate"):
        make_query_attention("sparse", 4)


def test_dropout_is_on_embeddings_and_the_context() -> None:
    spec = ModelSpec("none", family="pair", decoder="query", dropout=0.5)
    vectors = torch.randn(WORDS, EMBEDDING, generator=torch.Generator().manual_seed(0))
    model, batch = build(spec, vectors, 3, 0), pairs((3, 2), (2, 4))
    shapes: list[int] = []
    model.dropout.register_forward_hook(lambda _, given, out: shapes.append(out.ndim))
    assert not torch.equal(model.train()(batch).logits, model(batch).logits)
    assert shapes == [3, 3, 2, 3, 3, 2]
    assert torch.equal(model.eval()(batch).logits, model(batch).logits)


def test_attention_is_known_as_such_to_the_optimiser() -> None:
    """Weight decay is not on attention, whichever kind it is."""
    model = tiny()
    assert [module for module in model.modules() if isinstance(module, Attention)] == [
        model.attention
    ]
