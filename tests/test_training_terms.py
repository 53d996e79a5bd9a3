"""Terms of the loss: golden values, the papers restated, and training with several of them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from heedful.data import Prepared
from heedful.errors import HeedfulError
from heedful.interventions import edited
from heedful.models import Family, build
from heedful.specs import ModelSpec, TermSpec, TrainSpec
from heedful.training import TERMS, Objective, Term, TermContext, Trained, loss_of, train
from heedful.training.loss import check
from heedful.types import Batch, Keep, Trace
from killing import Killed, dies_in
from reference import terms as reference
from tiny import WORDS, pick, tiny_batch
from tiny_pairs import tiny_pairs, tiny_writer

WIDTH = 8
VECTORS = torch.randn(WORDS, WIDTH, generator=torch.Generator().manual_seed(1))
SPEC = TrainSpec(epochs=3, learning_rate=0.02)
STATES = Keep(states=True)


def model_of(encoder: str = "bilstm", hidden: int | None = 4, width: int = WIDTH) -> Family:
    vectors = torch.randn(WORDS, width, generator=torch.Generator().manual_seed(0))
    return build(ModelSpec(encoder, hidden=hidden), vectors, 2, 0).double().eval()


def term_of(name: str, model: Family, vectors: Tensor = VECTORS, **params: Any) -> Term:
    corpus: Any = SimpleNamespace(vectors=vectors)
    term: Term = TERMS[name].make(TermContext(model, corpus), **params)
    return term


def value_of(name: str, model: Family, batch: Batch, **params: Any) -> float:
    with torch.no_grad():
        return float(term_of(name, model, **params).value(batch, model(batch, keep=STATES)))


def trace_with(states: Tensor, batch: Batch) -> Trace:
    mask = batch.texts["a"].mask[:, None, None]
    site = {"attention": states}
    return Trace(states.new_zeros(len(batch), 1), {}, {"attention": mask}, states=site)


def test_tying_by_hand() -> None:
    """Squared distances 1 and 4 in a text of two tokens, 9 in one of a single token."""
    model, batch = model_of(), tiny_batch((2, 1))
    states = torch.full_like(own := model.embed(batch)["a"], math.nan)
    states[batch.texts["a"].mask] = own[batch.texts["a"].mask]
    states[0, 1, 3] += 1
    states[0, 2, :4] -= 1
    states[1, 1, 0] += 3
    found = term_of("tying", model).value(batch, trace_with(states, batch))
    assert float(found) == pytest.approx((2.5 + 9) / 2)


def test_tying_by_the_distance_itself() -> None:
    """Distances 1 and 2 in a text of two tokens, 3 in one of a single token; by the reference on a
    model's own states; and a slope where a state is its embedding already."""
    model, batch = model_of(), tiny_batch((2, 1))
    states = torch.full_like(own := model.embed(batch)["a"], math.nan)
    states[batch.texts["a"].mask] = own[batch.texts["a"].mask]
    states[0, 1, 3] += 1
    states[0, 2, :4] -= 1
    states[1, 1, 0] += 3
    found = term_of("tying", model, squared=False).value(batch, trace_with(states, batch))
    assert float(found) == pytest.approx((1.5 + 3) / 2)
    trace, masks = model(batch, keep=STATES), batch.texts["a"].mask
    expected = [
        reference.tying(trace.states["attention"][row][mask].tolist(), own[row][mask].tolist(), 0.5)
        for row, mask in enumerate(masks)
    ]
    assert value_of("tying", model, batch, squared=False) == pytest.approx(sum(expected) / 2)
    same = own.detach().clone().requires_grad_()
    term_of("tying", model, squared=False).value(batch, trace_with(same, batch)).backward()
    assert same.grad is not None and same.grad.isfinite().all()


def test_states_that_are_embeddings_are_tied_already() -> None:
    assert value_of("tying", model_of("none"), tiny_batch((4, 2))) == 0.0


def test_states_come_to_embeddings_and_not_the_other_way_round() -> None:
    model, batch = model_of(), tiny_batch((3, 5))
    states = torch.zeros_like(model.embed(batch)["a"]).requires_grad_()
    term_of("tying", model).value(batch, trace_with(states, batch)).backward()
    assert states.grad is not None and states.grad[batch.texts["a"].mask].abs().min() > 0
    assert all(parameter.grad is None for parameter in model.parameters())


def test_diversity_by_hand() -> None:
    """Two at right angles are 45° from their mean, and three that agree make one ray."""
    model, batch = model_of(), tiny_batch((2, 3))
    states = torch.ones(2, 5, 2, dtype=torch.float64)
    states[0, 1], states[0, 2] = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 5.0])
    states[0, 2] /= 5
    found = term_of("diversity", model).value(batch, trace_with(states, batch))
    assert float(found) == pytest.approx((math.sqrt(0.5) + 1) / 2)


@pytest.mark.parametrize("name", ["tying", "diversity"])
@pytest.mark.parametrize("encoder", ["bilstm", "bilstm+residual", "orthogonal"])
def test_a_term_is_what_the_paper_says(name: str, encoder: str) -> None:
    model, batch = model_of(encoder, 8 if encoder == "orthogonal" else 4), tiny_batch((4, 1, 9))
    trace, own = model(batch, keep=STATES), model.embed(batch)["a"]
    expected = []
    for row, mask in enumerate(batch.texts["a"].mask):
        states = trace.states["attention"][row][mask].tolist()
        if name == "tying":
            expected.append(reference.tying(states, own[row][mask].tolist()))
        else:
            expected.append(reference.conicity(states))
    assert value_of(name, model, batch) == pytest.approx(sum(expected) / 3, abs=1e-9)


@pytest.mark.parametrize("name", ["tying", "diversity"])
def test_padding_and_batching_change_nothing(name: str) -> None:
    model, batch = model_of(), tiny_batch((4, 1, 9, 2))
    alone = [value_of(name, model, pick(batch, [row], pad=row)) for row in range(4)]
    assert len(set(alone)) > 1
    assert value_of(name, model, pick(batch, [2, 0, 3, 1], pad=3)) == pytest.approx(sum(alone) / 4)


def test_hidden_tokens_are_not_tied() -> None:
    model, batch = model_of(), tiny_batch((4,))
    text = batch.texts["a"]
    hidden = torch.zeros_like(text.mask)
    hidden[0, 2] = True
    fewer = replace(batch, texts={"a": replace(text, hidden=hidden)})
    states = torch.zeros_like(own := model.embed(batch)["a"])
    trace = replace(trace_with(states, batch), masks=model(fewer).masks)
    expected = own[0, [1, 3, 4]].square().sum() / 3
    found = term_of("tying", model).value(fewer, trace)
    assert float(found) == pytest.approx(float(expected))


@pytest.mark.parametrize("name", ["tying", "mlm"])
@pytest.mark.parametrize(
    ("encoder", "width", "message"),
    [
        ("bilstm", 100, "256 and 100: give --hidden 50"),
        ("bigru", 100, "100"),
        ("lstm", 100, "128 and 100: give --hidden 100"),
        ("orthogonal", 60, "128 and 60: give --hidden 60"),
        ("cnn", 60, "128 and 60: give --hidden 60"),
        ("cnn", 50, "128 and 50: no --hidden"),
        ("bilstm", 25, "256 and 25: no --hidden"),
        ("bilstm+concat", 100, "356 and 100: no --hidden"),
    ],
)
def test_unequal_widths_are_refused_with_what_mends_them(
    name: str, encoder: str, width: int, message: str
) -> None:
    model, batch = model_of(encoder, None, width), tiny_batch((30, 30))
    term = term_of(name, model, torch.zeros(WORDS, width))
    if encoder == "bigru":
        assert term.value(batch, model(batch, keep=STATES)).isfinite()
        return
    match = f"{name} needs states as wide as the embeddings, and they are {message}"
    with pytest.raises(HeedfulError, match=match) as error:
        term.value(batch, model(batch, keep=STATES))
    if "no --hidden" not in message:
        mended = model_of(encoder, int(str(error.value).rstrip(".").split()[-1]), width)
        assert term_of(name, mended, torch.zeros(WORDS, width)).value(
            batch, mended(batch, keep=STATES)
        )


def test_the_advice_sees_through_edits_and_pairs() -> None:
    inner = model_of("bilstm", None)
    model = edited(inner, ModelSpec(train_edit="uniform"), 0)
    batch = tiny_batch((3,))
    with pytest.raises(HeedfulError, match="256 and 8: give --hidden 4"):
        term_of("tying", model).value(batch, model(batch, keep=STATES))
    pairs = tiny_pairs([3, 2], [2, 4])
    for encoder, advice in (("bilstm", 4), ("lstm", 8), ("conditional", 8)):
        spec = ModelSpec(encoder, family="pair", decoder="query")
        pair = build(spec, VECTORS, 2, 0)
        with pytest.raises(HeedfulError, match=f"and 8: give --hidden {advice}\\."):
            term_of("tying", pair).value(pairs, pair(pairs, keep=STATES))
        fitting = build(replace(spec, hidden=advice), VECTORS, 2, 0)
        assert term_of("tying", fitting).value(pairs, fitting(pairs, keep=STATES)) > 0


@pytest.mark.parametrize("name", ["tying", "mlm"])
def test_attention_over_sentences_is_refused(name: str) -> None:
    model = build(ModelSpec(hidden=4, family="hierarchical"), VECTORS, 2, 0)
    with pytest.raises(HeedfulError, match="main attention is over sentences of side a: choose"):
        term_of(name, model)


@pytest.mark.parametrize("name", ["tying", "diversity", "mlm"])
def test_writers_have_terms_where_their_states_are_kept(name: str) -> None:
    batch = tiny_pairs([3, 5], [2, 4])
    writer, other = tiny_writer("additive"), tiny_writer("prenorm")
    params = {"share": 1.0} if name == "mlm" else {}
    term = term_of(name, writer, VECTORS[:12].clone(), **params)
    assert term.value(batch, writer(batch, keep=STATES)) > 0
    term = term_of(name, other, VECTORS[:12].clone(), **params)
    with pytest.raises(HeedfulError, match="does not keep the states that .*cross"):
        term.value(batch, other(batch, keep=STATES))


def second_pass(model: Family, batch: Batch, seed: int = 0, **params: Any) -> tuple[float, Batch]:
    """What mlm says, and the batch it made of this one."""
    seen: list[Batch] = []
    trace = model(batch, keep=STATES)
    hook = model.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    torch.manual_seed(seed)
    found = term_of("mlm", model, **params).value(batch, trace).item()
    hook.remove()
    assert len(seen) == 1
    return found, seen[0]


def test_without_vectors_every_word_is_as_likely() -> None:
    model, batch = model_of(), tiny_batch((9, 5))
    term = term_of("mlm", model, torch.zeros(WORDS, WIDTH), share=1.0)
    assert term.value(batch, model(batch)).item() == pytest.approx(math.log(WORDS))


def test_the_words_have_to_be_found_again() -> None:
    """With all chosen, the states are those of the disguised text and the words the true ones."""
    model, batch = model_of(), tiny_batch((9, 1, 5))
    found, disguised = second_pass(model, batch, share=1.0)
    states = model(disguised, keep=STATES).states["attention"]
    mask, tokens = batch.texts["a"].mask, batch.texts["a"].tokens
    vectors = VECTORS.double().tolist()
    expected = reference.word_loss(states[mask].tolist(), vectors, tokens[mask].tolist())
    assert found == pytest.approx(expected, abs=1e-9)
    assert not torch.equal(disguised.texts["a"].tokens, tokens)
    assert disguised.ids == batch.ids and torch.equal(disguised.labels, batch.labels)


@pytest.mark.parametrize("share", [0.15, 0.6])
def test_tokens_are_disguised_as_in_bert(share: float) -> None:
    model, batch = model_of("none"), tiny_batch([30] * 400)
    text = batch.texts["a"]
    after = second_pass(model, batch, share=share)[1].texts["a"].tokens
    assert torch.equal(after[~text.mask], text.tokens[~text.mask])
    before, after = text.tokens[text.mask], after[text.mask]
    unknown = (after == 1).double().mean()
    other = ((after != 1) & (after != before)).double().mean()
    assert float(unknown) == pytest.approx(0.8 * share, rel=0.08)
    assert float(other) == pytest.approx(0.1 * share, rel=0.2)
    assert after[after != 1].min() >= 4


def test_only_chosen_tokens_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of two is chosen, and its fate is to stay."""
    model, batch = model_of(), tiny_batch((2,))
    draws = [torch.tensor([[0.9, 0.1, 0.2, 0.9]]), torch.full((1, 4), 0.95)]
    monkeypatch.setattr(torch, "rand", lambda *size, device: draws.pop(0))
    found, disguised = second_pass(model, batch)
    assert torch.equal(disguised.texts["a"].tokens, batch.texts["a"].tokens)
    state = model(batch, keep=STATES).states["attention"][0, 1].tolist()
    word = int(batch.texts["a"].tokens[0, 1])
    expected = reference.word_loss([state], VECTORS.double().tolist(), [word])
    assert found == pytest.approx(expected, abs=1e-9)


def test_where_no_token_is_chosen_nothing_is_asked() -> None:
    model, batch = model_of(), tiny_batch((3,))
    trace = model(batch)
    model.register_forward_pre_hook(lambda *_: pytest.fail("a second pass"))
    assert term_of("mlm", model, share=1e-12).value(batch, trace).item() == 0.0


def test_the_vectors_of_the_corpus_are_not_trained() -> None:
    vectors = VECTORS.clone().requires_grad_()
    model, batch = model_of().float(), tiny_batch((9, 5))
    term_of("mlm", model, vectors.detach(), share=1.0).value(batch, model(batch)).backward()
    assert torch.equal(vectors, VECTORS)
    grads = {name for name, p in model.named_parameters() if p.grad is not None}
    assert "embedding.weight" in grads and any("encoder" in name for name in grads)
    assert not any("decoder" in name for name in grads)


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5, math.nan])
def test_an_impossible_share_is_refused(share: float) -> None:
    with pytest.raises(HeedfulError, match="above 0, up to 1"):
        term_of("mlm", model_of(), share=share)


def fresh(planted: Prepared, seed: int = 0) -> Family:
    return build(ModelSpec(hidden=8), planted.vectors, 2, seed)  # 8 per direction: 16 as embedded


TERM_SPECS = (TermSpec("tying", 2), TermSpec("diversity", 0.5))


def test_a_term_that_is_there_twice_counts_twice_or_is_refused(planted: Prepared) -> None:
    model, batch = fresh(planted), planted.split("train").batch(range(12))
    once, twice = ((TermSpec("tying", 2),) * count for count in (1, 2))
    with torch.no_grad():
        (less, parts), (more, _) = (
            loss_of(model, planted, SPEC, Objective(terms=terms))(batch) for terms in (once, twice)
        )
    assert float(more - less) == pytest.approx(float(parts["tying2"]), rel=1e-6)
    with pytest.raises(HeedfulError, match="the term tying2 is there twice"):
        check(ModelSpec(terms=twice))
    check(ModelSpec(terms=(TermSpec("tying", 2), TermSpec("tying", 3))))


def test_terms_add_up(planted: Prepared) -> None:
    model, batch = fresh(planted), planted.split("train").batch(range(12))
    both = loss_of(model, planted, SPEC, Objective(terms=TERM_SPECS))
    single = [Objective(terms=(replace(spec, weight=1.0),)) for spec in TERM_SPECS]
    with torch.no_grad():
        total, parts = both(batch)
        each = [loss_of(model, planted, SPEC, objective)(batch)[1] for objective in single]
    alone = each[0] | each[1]
    assert set(parts) == {"goal", "tying2", "diversity0.5"}
    assert float(parts["tying2"]) == pytest.approx(2 * float(alone["tying1"]), rel=1e-6)
    assert float(parts["diversity0.5"]) == pytest.approx(0.5 * float(alone["diversity1"]), rel=1e-6)
    assert float(total) == pytest.approx(sum(float(part) for part in parts.values()), rel=1e-6)


def test_training_brings_states_to_embeddings_and_apart_from_each_other(planted: Prepared) -> None:
    batch = planted.split("test").batch(range(40))
    strong = (TermSpec("tying", 2), TermSpec("diversity", 10))
    found = {}
    for name, terms in (("plain", ()), ("both", strong)):
        model = train(
            fresh(planted), planted, SPEC, 0, objective=Objective(terms=terms)
        ).model.double()
        found[name] = [value_of(term, model, batch) for term in ("tying", "diversity")]
    assert found["both"][0] < 0.8 * found["plain"][0]
    assert found["both"][1] < 0.8 * found["plain"][1]


def weights(result: Trained) -> dict[str, bytes]:
    return {name: value.numpy().tobytes() for name, value in result.model.state_dict().items()}


def test_a_killed_training_with_terms_ends_like_one_that_was_not(
    planted: Prepared, tmp_path: Path
) -> None:
    objective = Objective(terms=(*TERM_SPECS, TermSpec("mlm", 0.3)))
    whole = train(fresh(planted), planted, SPEC, 0, objective=objective)
    with pytest.raises(Killed):
        train(
            fresh(planted),
            planted,
            SPEC,
            0,
            scratch=tmp_path,
            progress=dies_in(3),
            objective=objective,
        )
    resumed = train(fresh(planted, 99), planted, SPEC, 0, scratch=tmp_path, objective=objective)
    assert weights(resumed) == weights(whole)
    columns = ["epoch", "loss", "goal", "tying2", "diversity0.5", "mlm0.3", "dev_score", "dev_loss"]
    assert resumed.history[columns].equals(whole.history[columns])
    plain = train(fresh(planted), planted, SPEC, 0, objective=Objective(terms=TERM_SPECS))
    assert weights(plain) != weights(whole)
