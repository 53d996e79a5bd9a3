"""Two texts that attend to each other: against the formulas, by hand, and under edits."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_cases import CASES, edit_case
from heedful.attributions import text_site
from heedful.auditing import audit
from heedful.data import default_spec, prepare
from heedful.errors import HeedfulError
from heedful.interventions import custom, uniform
from heedful.models import BiAttention, build, probabilities
from heedful.runner import Machine, Recipe, trained
from heedful.specs import ModelSpec, TermSpec, TrainSpec
from heedful.store import Run, Store
from heedful.types import Batch, Keep
from reference.biattention import forward
from test_models_pair import pairs, rows_b
from tiny import EMBEDDING, HIDDEN, WORDS, batch_of, rows_of

EVERYTHING = Keep(True, True, True, values=True, readout_weights=True)
SITES = ("text_to_question", "question_to_text")
PARTS = [("bilstm", "trilinear"), ("bilstm", "dot"), ("cnn", "trilinear"), ("none", "dot")]


def tiny(encoder: str = "bilstm", attention: str = "trilinear", classes: int = 3) -> BiAttention:
    """In double precision, with weights so large that attention is uneven."""
    vectors = torch.randn(WORDS, EMBEDDING, generator=torch.Generator().manual_seed(0))
    spec = ModelSpec(encoder, attention, hidden=HIDDEN, family="biattention")
    model = build(spec, vectors, classes, 0)
    assert isinstance(model, BiAttention)
    with torch.no_grad():
        for part in (model.encoder, model.attention, model.decoder):
            for parameter in part.parameters():
                parameter *= 2
        model.embeddings["b"].weight[1:] += 0.5
    return model.double().eval()


@pytest.fixture
def batch() -> Batch:
    return pairs((4, 1, 9, 2), (3, 5, 1, 2))


@pytest.mark.parametrize("parts", PARTS)
def test_forward_is_what_the_paper_says(parts: tuple[str, str], batch: Batch) -> None:
    model = tiny(*parts)
    parameters = {name: value.tolist() for name, value in model.state_dict().items()}
    trace = model(batch)
    for row, (a, b) in enumerate(zip(rows_of(batch), rows_b(batch), strict=True)):
        logits, to_question, to_text = forward(parameters, *parts, a, b)
        each = trace.weights[SITES[0]][row, 0, 1 : len(a) - 1, 1 : len(b) - 1]
        assert each.flatten().tolist() == pytest.approx(
            [w for line in to_question for w in line], abs=1e-9
        )
        found = trace.weights[SITES[1]][row, 0, 0, 1 : len(a) - 1]
        assert found.tolist() == pytest.approx(to_text, abs=1e-9)
        assert trace.logits[row].tolist() == pytest.approx(logits, abs=1e-9)


def test_by_hand() -> None:
    """No encoders. The text is (√2·log 3, 0) and (0, 0), the question (1, 0) and (0, 0), so the
    similarities are log 3, 0; 0, 0. The first token sees the question as (3/4, 0), the second as
    (1/2, 0); they get 3/4 and 1/4. The decoder adds up what was seen: 9/16 + 1/8."""
    a, b = torch.zeros(6, 2), torch.zeros(6, 2)
    a[4, 0], b[4, 0] = math.sqrt(2) * math.log(3), 1.0
    model = BiAttention(ModelSpec("none", "dot", family="biattention"), a, 2)
    with torch.no_grad():
        model.embeddings["b"].weight.copy_(b)
        model.decoder.weight.copy_(torch.tensor([[0.0, 0.0, 1.0, 1.0, 0.0, 0.0]]))
        model.decoder.bias.fill_(0.0)
    one, other = (batch_of([[2, 4, 5, 3]], ("x",), [0], pad) for pad in (0, 2))
    trace = model(replace(one, texts={"a": one.texts["a"], "b": other.texts["a"]}))
    assert trace.weights[SITES[0]][0, 0, 1:3, 1:3].flatten().tolist() == pytest.approx(
        [0.75, 0.25, 0.5, 0.5]
    )
    assert trace.weights[SITES[1]].flatten().tolist() == pytest.approx([0, 0.75, 0.25, 0])
    assert trace.logits.item() == pytest.approx(9 / 16 + 1 / 8)


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4),
    st.integers(0, 4),
    st.sampled_from(PARTS),
)
def test_padding_and_batching_change_nothing(
    sizes: list[tuple[int, int]], pad: int, parts: tuple[str, str]
) -> None:
    model = tiny(*parts)
    a, b = zip(*sizes, strict=True)
    batch = pairs(a, b, pad)
    with torch.no_grad():
        whole = model(batch)
        for row in range(len(sizes)):
            alone = model(batch.take(torch.tensor([row])))
            torch.testing.assert_close(alone.logits[0], whole.logits[row], atol=1e-9, rtol=0)
            for site in SITES:
                mine, theirs = alone.weights[site][0], whole.weights[site][row].clone()
                part = theirs[:, : mine.shape[1], : mine.shape[2]]
                torch.testing.assert_close(mine, part, atol=1e-9, rtol=0)
                part.zero_()
                assert not theirs.any()


def test_the_site_that_is_shown_is_over_the_text(batch: Batch) -> None:
    model = tiny()
    assert [site.name for site in model.sites] == list(SITES)
    assert [site.main for site in model.sites] == [False, True]
    assert text_site(model).name == SITES[1] and text_site(model).linear
    assert not model.sites[0].linear and model.sites[0].keys == "b"


@pytest.mark.parametrize("parts", PARTS)
def test_token_logits_are_exact_under_any_edit_of_the_question(
    parts: tuple[str, str], batch: Batch
) -> None:
    for edits in ({}, {SITES[0]: uniform()}):
        trace = tiny(*parts)(batch, edits, EVERYTHING)
        linear = trace.token_logits[SITES[1]]
        product = (trace.weights[SITES[1]][:, 0] @ linear.values)[:, 0] + linear.bias
        torch.testing.assert_close(product, trace.logits, atol=1e-12, rtol=0)


@pytest.mark.parametrize("site", SITES)
def test_the_identity_edit_changes_nothing_and_another_does(site: str, batch: Batch) -> None:
    model = tiny()
    base = model(batch).logits
    assert torch.equal(model(batch, {site: custom(lambda call: call.weights)}).logits, base)
    assert not torch.allclose(model(batch, {site: uniform()}).logits[[0, 3]], base[[0, 3]])


@pytest.mark.parametrize(
    ("site", "name"),
    # one frozen row for all queries would also be one for start and end, which attend to nothing
    [pair for pair in product(SITES, CASES) if pair != (SITES[0], "frozen")],
)
def test_resume_equals_a_full_run(site: str, name: str, batch: Batch) -> None:
    model = tiny()
    side = "b" if site == SITES[0] else "a"
    allowed = dict(zip(batch.ids, batch.texts[side].mask, strict=True))
    edits = {site: edit_case(name, allowed)}
    base = model(batch, keep=EVERYTHING)
    full, resumed = model(batch, edits), model.resume(batch, base, edits)
    torch.testing.assert_close(resumed.logits, full.logits, atol=1e-12, rtol=0)
    for other in SITES:
        assert torch.equal(resumed.weights[other], full.weights[other])


def test_resume_keeps_what_was_edited_before(batch: Batch) -> None:
    """As in a full run with both edits."""
    model, edits = tiny(), {site: uniform() for site in SITES}
    before = model(batch, {SITES[0]: uniform()}, EVERYTHING)
    after = model.resume(batch, before, {SITES[1]: uniform()})
    torch.testing.assert_close(after.logits, model(batch, edits).logits, atol=1e-12, rtol=0)


def test_deletions_are_runs_on_shorter_texts() -> None:
    model, batch = tiny(), pairs((3, 1), (2, 4))
    with torch.no_grad():
        deleted = model.leave_one_out_logits(batch)
        for row, tokens in enumerate(rows_of(batch)):
            for place in range(1, len(tokens) - 1):
                one = batch_of([tokens[:place] + tokens[place + 1 :]], ("x",), [0], 0)
                other = batch.texts["b"].take(torch.tensor([row]))
                shorter = replace(one, texts={**one.texts, "b": other})
                expected = model(shorter).logits[0]
                torch.testing.assert_close(deleted.less[row, place], expected, atol=1e-9, rtol=0)


def test_gradients_reach_both_texts(batch: Batch) -> None:
    trace = tiny()(batch, keep=EVERYTHING)
    slopes = torch.autograd.grad(trace.logits.sum(), [trace.embeddings[side] for side in "ab"])
    for side, slope in zip("ab", slopes, strict=True):
        assert bool((slope.abs().sum(-1)[batch.texts[side].mask] > 0).all())


def test_classes_that_are_no_candidates_have_no_probability(batch: Batch) -> None:
    allowed = torch.tensor([[1, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1]]).bool()
    some, model = replace(batch, candidates=allowed), tiny()
    p = probabilities(model(some).logits)
    assert torch.equal(p == 0, ~allowed)
    trace = model(some, {SITES[1]: uniform()}, EVERYTHING)
    linear = trace.token_logits[SITES[1]]
    product = (trace.weights[SITES[1]][:, 0] @ linear.values)[:, 0] + linear.bias
    assert torch.equal(probabilities(product) == 0, ~allowed)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (ModelSpec(family="biattention"), "choose one of dot, trilinear"),
        (ModelSpec("conditional", "dot", family="biattention"), "unknown encoder"),
        (ModelSpec("bilstm", "dot", family="biattention", decoder="query"), "there is one only"),
    ],
)
def test_a_wrong_spec_is_named(spec: ModelSpec, message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        build(spec, torch.zeros(9, 4), 3, 0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


def _trained(store: Store, model: ModelSpec) -> Run:
    """On the embedded pairs."""
    spec = default_spec("aspects", n_train=200, n_dev=40, n_test=40, dimension=8)
    return trained(store, prepare(spec, store), Recipe(model, TrainSpec(epochs=1), 0), Machine())


def test_its_attention_over_the_text_is_audited(store: Store) -> None:
    run = _trained(store, ModelSpec("average", "trilinear", hidden=8, family="biattention"))
    found = audit(run, n=10, quick=True)
    assert found.verdict["use"].estimate > 0


def test_tying_is_refused_with_a_way_out(store: Store) -> None:
    spec = ModelSpec("average", "dot", hidden=8, family="biattention", terms=(TermSpec("tying"),))
    with pytest.raises(HeedfulError, match="choose the family pair"):
        _trained(store, spec)
