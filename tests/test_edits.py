"""What every edit promises, and what each of them does."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from edit_cases import CASES, edit_case
from heedful.errors import HeedfulError
from heedful.interventions import EDITS, build_edit, custom, erase, frozen, permute, random, uniform
from heedful.models import masked_softmax
from heedful.types import EditSpec, SiteCall, SiteSpec

SITE = SiteSpec("attention", "a", "tokens", True)
LENGTHS = (4, 1, 7, 2)
SHAPES = ["one", "heads", "causal"]


def make_call(shape: str, lengths: tuple[int, ...] = LENGTHS, pad: int = 0) -> SiteCall:
    """Weights of one query, of three heads and four queries, or of those seen causally."""
    width = max(lengths) + 2 + pad
    h, q = (1, 1) if shape == "one" else (3, 4)
    place = torch.arange(width)
    size = torch.tensor(lengths)[:, None, None, None]
    mask = ((place > 0) & (place <= size)).expand(-1, 1, 1, -1)
    if shape == "causal":
        mask = mask & (place <= torch.arange(1, q + 1)[:, None])
    generator = torch.Generator().manual_seed(0)
    # drawn at one width, so that padding takes nothing from the others
    scores = torch.randn(len(lengths), h, q, 40, generator=generator)[..., :width] * 2
    weights = masked_softmax(scores, mask.expand_as(scores))
    return SiteCall(SITE, weights, mask, tuple(f"text-{i}" for i in range(len(lengths))))


def allowed(call: SiteCall) -> dict[str, Tensor]:
    return {name: mask.any(0).any(0) for name, mask in zip(call.ids, call.mask, strict=True)}


def take(call: SiteCall, rows: list[int]) -> SiteCall:
    ids = tuple(call.ids[i] for i in rows)
    return replace(call, weights=call.weights[rows], mask=call.mask[rows], ids=ids)


def apply(name: str, call: SiteCall) -> Tensor:
    """The edit on the call; frozen weights cannot be the same for all queries if causal."""
    if name == "frozen" and call.mask.shape[2] > 1:
        given_weights = {
            i: w[..., m.any(0).any(0)]
            for i, w, m in zip(call.ids, uniform()(call), call.mask, strict=True)
        }
        return frozen(given_weights)(call)
    return edit_case(name, allowed(call))(call)


def test_the_cases_cover_the_catalogue() -> None:
    assert {name.split("-")[0] for name in CASES} == set(EDITS)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CASES)
def test_every_edit_returns_a_distribution(name: str, shape: str) -> None:
    call = make_call(shape)
    before = call.weights.clone()
    weights = apply(name, call)
    assert weights.shape == call.weights.shape and weights.dtype == call.weights.dtype
    assert torch.equal(call.weights, before)
    mask = call.mask.expand_as(weights)
    assert bool((weights[~mask] == 0).all()) and bool((weights >= 0).all())
    total = weights.sum(-1)
    # rows with one or two tokens may lose all of them to an erasure
    empty = (total == 0) & (mask.sum(-1) <= 2) & name.startswith("erase")
    torch.testing.assert_close(total[~empty], torch.ones_like(total[~empty]))
    assert bool(empty.any()) == name.startswith("erase")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CASES)
def test_every_edit_ignores_batches_and_padding(name: str, shape: str) -> None:
    call = make_call(shape)
    whole = apply(name, call)
    assert torch.equal(apply(name, call), whole)
    order = [2, 0, 3, 1]
    torch.testing.assert_close(apply(name, take(call, order)), whole[order], atol=1e-7, rtol=0)
    for row in range(len(LENGTHS)):
        torch.testing.assert_close(apply(name, take(call, [row])), whole[[row]], atol=1e-7, rtol=0)
    padded = apply(name, make_call(shape, pad=9))
    width = whole.shape[-1]
    torch.testing.assert_close(padded[..., :width], whole, atol=1e-7, rtol=0)
    assert not padded[..., width:].any()


@pytest.mark.parametrize("name", CASES)
def test_every_edit_takes_double_precision(name: str) -> None:
    call = make_call("one")
    call = replace(call, weights=call.weights.double())
    weights = apply(name, call)
    assert weights.dtype == torch.float64


@pytest.mark.parametrize("name", ["random", "permute"])
def test_seed_site_step_and_example_each_draw_anew(name: str) -> None:
    call = make_call("heads")
    make = {"random": random, "permute": permute}[name]
    base = make(3)(call)
    others = [
        make(4)(call),
        make(3)(replace(call, step=1)),
        make(3)(replace(call, site=replace(SITE, name="other"))),
        make(3)(replace(call, ids=tuple(f"other-{i}" for i in range(4)))),
    ]
    for other in others:
        assert not torch.equal(other, base)
    assert not torch.equal(base[:, 0], base[:, 1]) and not torch.equal(base[:, :, 0], base[:, :, 1])


def test_random_weights_are_uniform_numbers_normalised() -> None:
    call = make_call("one", (2,) * 2000)
    weights = random(0)(call)[:, 0, 0, 1]
    assert 0.48 < weights.mean() < 0.52 and weights.min() < 0.05 and weights.max() > 0.95


def test_uniform_weights() -> None:
    weights = uniform()(make_call("one"))
    assert weights[0, 0, 0].tolist() == [0.0, 0.25, 0.25, 0.25, 0.25] + [0.0] * 4
    assert weights[1, 0, 0].tolist() == [0.0, 1.0] + [0.0] * 7


MASKS = st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=4)


@settings(max_examples=40)
@given(MASKS, st.integers(0, 50))
def test_permute_only_reorders_the_real_weights(rows: list[list[bool]], seed: int) -> None:
    """Masks with holes too: what may be attended need not be one stretch."""
    mask = torch.tensor(rows)[:, None, None]
    scores = torch.randn(len(rows), 2, 3, 6, generator=torch.Generator().manual_seed(seed))
    weights = masked_softmax(scores, mask.expand_as(scores))
    ids = tuple(map(str, range(len(rows))))
    out = permute(seed)(SiteCall(SITE, weights, mask, ids))
    live = mask.expand_as(out)
    assert bool((out[~live] == 0).all())
    assert torch.equal(out.sort(-1).values, weights.sort(-1).values)


def test_every_order_is_drawn_about_equally_often() -> None:
    call = make_call("one", (3,) * 3000)
    marked = replace(call, weights=torch.tensor([0.0, 0.5, 0.3, 0.2, 0.0]).expand(3000, 1, 1, 5))
    orders = permute(1)(marked)[:, 0, 0, 1:4]
    _, counts = torch.unique(orders, dim=0, return_counts=True)
    assert len(counts) == 6 and bool((counts - 500).abs().max() < 5 * math.sqrt(500))


def test_erase_renormalises_the_rest() -> None:
    weights = torch.tensor([[[[0.0, 0.5, 0.3, 0.2, 0.0]]]])
    mask = torch.tensor([[[[False, True, True, True, False]]]])
    call = SiteCall(SITE, weights, mask, ("x",))
    by_place = erase(positions={"x": [2]})(call).flatten().tolist()
    assert by_place == pytest.approx([0.0, 5 / 7, 0.0, 2 / 7, 0.0])
    assert erase(top=2)(call).flatten().tolist() == pytest.approx([0, 0, 0, 1, 0])
    assert erase(top=9)(call).flatten().tolist() == [0.0] * 5
    assert torch.equal(erase(positions={"other": [1]})(call), weights)


@pytest.mark.parametrize("rest", [1e-25, 1e-38, 1e-300])
def test_erase_leaves_a_distribution_however_little_is_left(rest: float) -> None:
    weights = torch.tensor([[[[1.0, rest, 3 * rest]]]], dtype=torch.float64)
    call = SiteCall(SITE, weights, torch.ones(1, 1, 1, 3, dtype=torch.bool), ("x",))
    assert erase(top=1)(call).flatten().tolist() == pytest.approx([0, 0.25, 0.75])


@pytest.mark.parametrize("place", [0, 2, 5, 8, 9, -1])
def test_erase_refuses_a_place_outside_of_the_text_in_any_batch(place: int) -> None:
    """The second text has one token, at position 1; the batch is nine wide."""
    call = make_call("one")
    edit = erase(positions={"text-1": [place]})
    for each in (call, take(call, [1])):
        with pytest.raises(HeedfulError, match="outside of example 'text-1'"):
            edit(each)


def test_frozen_weights_are_put_on_the_real_tokens() -> None:
    call = make_call("one", (2, 1))
    weights = frozen({"text-1": [1.0], "text-0": [0.25, 0.75], "unused": [3.0]})(call)
    assert weights[:, 0, 0].tolist() == [[0.0, 0.25, 0.75, 0.0], [0.0, 1.0, 0.0, 0.0]]


def test_frozen_weights_may_differ_by_head_and_query() -> None:
    call = make_call("heads", (2,))
    given_weights = torch.rand(3, 4, 2, generator=torch.Generator().manual_seed(0))
    given_weights /= given_weights.sum(-1, keepdim=True)
    assert torch.equal(frozen({"text-0": given_weights})(call)[0, ..., 1:3], given_weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"text-0": [0.5, 0.5]}, "no frozen weights for example 'text-1'"),
        ({"text-0": [0.5, 0.5], "text-1": [0.5, 0.5]}, "another tokenisation"),
        ({"text-0": [0.5, 0.5], "text-1": []}, "another tokenisation"),
        ({"text-0": [0.5, 0.5], "text-1": 1.0}, "text-1"),
        ({"text-0": torch.full((2, 3, 2), 0.5), "text-1": [1.0]}, "text-0"),
    ],
)
def test_frozen_weights_that_do_not_match_are_refused(weights: dict, message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        frozen(weights)(make_call("one", (2, 1)))


def test_frozen_weights_may_not_sit_where_nothing_may_be_attended() -> None:
    call = make_call("causal", (3,))
    with pytest.raises(HeedfulError, match="text-0"):
        frozen({"text-0": [0.2, 0.3, 0.5]})(call)


def test_custom_weights_are_checked() -> None:
    call = make_call("one")
    with pytest.raises(HeedfulError, match=r"returned shape \(4, 1, 1, 3\)"):
        custom(lambda c: c.weights[..., :3])(call)
    with pytest.raises(HeedfulError, match="put weight on padding"):
        custom(lambda c: torch.full_like(c.weights, 0.1))(call)


def test_gradients_pass_through_custom_but_not_through_detach() -> None:
    call = make_call("one")
    call = replace(call, weights=call.weights.clone().requires_grad_())
    assert custom(lambda c: c.weights * 1)(call).requires_grad
    assert not build_edit(EditSpec("detach"))(call).requires_grad
    assert torch.equal(build_edit(EditSpec("detach"))(call), call.weights)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (EditSpec("shuffle"), "custom, detach, erase, frozen, permute, random, uniform"),
        (EditSpec("uniform", (("seed", 1),)), "unknown parameter of the edit uniform 'seed'"),
        (EditSpec("permute", (("size", 1),)), "unknown parameter of the edit permute 'size'"),
        (EditSpec("frozen"), "'frozen' needs the parameter 'weights'"),
        (EditSpec("custom"), "'custom' needs the parameter 'function'"),
        (EditSpec("erase"), "either positions or top"),
        (EditSpec("erase", (("top", -1),)), "'top' of the edit erase is -1.*from 0 to"),
        (EditSpec("erase", (("top", 1), ("positions", {}))), "either positions or top"),
    ],
)
def test_a_wrong_spec_is_named(spec: EditSpec, message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        build_edit(spec)


def test_specs_are_values() -> None:
    first, again = EditSpec("permute", (("seed", 1),)), EditSpec("permute", (("seed", 1),))
    assert first == again and hash(first) == hash(again)
    assert len({first, again, EditSpec("permute", (("seed", 2),)), EditSpec("permute")}) == 3
    call = make_call("one")
    assert torch.equal(build_edit(first)(call), permute(1)(call))
