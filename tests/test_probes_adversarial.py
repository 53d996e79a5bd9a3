"""The adversarial probe on models of every kind: feasible, never beaten, honest about ε."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

from heedful.errors import HeedfulError
from heedful.experiments import Findings, band
from heedful.interventions import frozen
from heedful.metrics import tvd
from heedful.models import probabilities
from heedful.types import Keep
from probing import LENGTHS, Bent, find, map_of, table
from reference.adversary import max_jsd
from tiny import FAMILIES, tiny_model, tiny_split

DISTRIBUTIONS = [parts for parts in FAMILIES if parts[1] != "gate"]  # what the probe needs

EPSILON = 0.01
SPLIT = tiny_split(LENGTHS)
FAST = {"search_steps": 30}
NAMES = ("adversary", "search", "entropy_matched")


@cache
def findings(encoder: str, attention: str, classes: int, double: bool) -> Findings:
    model = tiny_model(encoder, attention, classes, double=double)
    return find("adversarial", model, SPLIT, k=2, search_candidates=2, **FAST)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), DISTRIBUTIONS)
def test_every_adversary_leaves_the_output_in_place(
    encoder: str, attention: str, classes: int, double: bool
) -> None:
    found = findings(encoder, attention, classes, double)
    rows = table(found, SPLIT)
    for name in NAMES:
        assert rows[f"tvd_{name}"].max() <= EPSILON
        assert rows[f"jsd_{name}"].between(0, math.log(2)).all()
    model = tiny_model(encoder, attention, classes, double=double)
    batch = SPLIT.batch(range(len(SPLIT)))
    with torch.no_grad():
        original = probabilities(model(batch).logits)
        for name in ("adversary", "adversary_search", "adversary_entropy_matched"):
            edits = {"attention": frozen(map_of(found, name))}
            moved = tvd(probabilities(model(batch, edits).logits), original)
            assert bool((moved <= EPSILON + 1e-6).all())


@pytest.mark.parametrize(("encoder", "attention"), DISTRIBUTIONS)
def test_the_exact_value_is_exact_and_nothing_beats_it(encoder: str, attention: str) -> None:
    model = tiny_model(encoder, attention, double=True)
    rows = table(findings(encoder, attention, 2, True), SPLIT)
    with torch.no_grad():
        trace = model(SPLIT.batch(range(len(SPLIT))), keep=Keep(token_logits=True))
    linear = trace.token_logits["attention"]
    low, high = band(torch.sigmoid(trace.logits[:, 0]), linear.bias[0], EPSILON)
    for row, size in enumerate(SPLIT.lengths):
        if size > 6:
            continue
        q = trace.weights["attention"][row, 0, 0, 1 : size + 1].tolist()
        z = linear.values[row, 1 : size + 1, 0].tolist()
        best, free = max_jsd(q, z, float(low[row]), float(high[row])), max_jsd(q, z)
        assert best is not None and free is not None
        assert rows["jsd_exact"].iloc[row] == pytest.approx(best[0], abs=1e-9)
        assert rows["jsd_unconstrained"].iloc[row] == pytest.approx(free[0], abs=1e-9)
    for name in NAMES:
        assert (rows[f"jsd_{name}"] <= rows["jsd_exact"] + 1e-9).all()
    # pulled back into the band by no more than rounding asks for
    assert (rows["jsd_adversary"] >= rows["jsd_exact"] - 1e-5).all()
    assert (rows["jsd_diverse_2_local"] <= rows["jsd_exact"] + 1e-9).all()


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize(("encoder", "attention"), DISTRIBUTIONS)
def test_the_ratio_is_a_ratio(encoder: str, attention: str, double: bool) -> None:
    rows = table(findings(encoder, attention, 2, double), SPLIT)
    several = rows["jsd_exact_ratio"].dropna()
    assert len(several) == len(LENGTHS) - 1
    assert (several <= 1 + 1e-12).all() and (several > 0).all()
    expected = rows["jsd_exact"] / rows["jsd_unconstrained"]
    np.testing.assert_allclose(several, expected.dropna(), atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), DISTRIBUTIONS)
def test_a_text_of_one_token_has_no_adversary(encoder: str, attention: str, classes: int) -> None:
    one = table(findings(encoder, attention, classes, False), SPLIT).iloc[LENGTHS.index(1)]
    values = one.drop("jsd_exact_ratio", errors="ignore")
    assert (values == 0).all()
    if classes == 2:
        assert math.isnan(one["jsd_exact_ratio"])


def test_the_distance_grows_with_epsilon() -> None:
    """At each ε it is what a run with that ε alone calls exact; several classes have none."""
    model, curve = tiny_model("bilstm", "additive", 2, double=True), (0.001, 0.01, 0.05, 0.3)
    rows = table(find("adversarial", model, SPLIT, curve=curve, **FAST), SPLIT)
    at = [rows[f"jsd_epsilon:{one:g}"].to_numpy() for one in curve]
    assert all((more >= less).all() for less, more in pairwise(at)) and at[3].mean() > at[0].mean()
    np.testing.assert_array_equal(at[1], rows["jsd_exact"])
    alone = table(find("adversarial", model, SPLIT, epsilon=0.05, **FAST), SPLIT)
    np.testing.assert_array_equal(at[2], alone["jsd_exact"])
    several = tiny_model("bilstm", "additive", 3, double=True)
    found = table(find("adversarial", several, SPLIT, curve=curve, **FAST), SPLIT)
    assert not any(str(name).startswith("jsd_epsilon") for name in found)


def test_entropy_stays_near_the_attentions_own() -> None:
    found = findings("bilstm", "dot", 2, True)
    rows, attention = table(found, SPLIT), map_of(found, "attention")
    for name in SPLIT.ids:
        own = -sum(a * math.log(a) for a in attention[name].tolist() if a > 0)
        assert abs(rows.loc[name, "entropy_entropy_matched"] - own) <= 0.1 * own + 1e-5
    assert rows["jsd_entropy_matched"].mean() > 0.01


def test_uniform_attention_has_adversaries_of_its_entropy() -> None:
    """Every permutation of equal weights is α̂ itself, where the divergence has no slope."""
    model = tiny_model("average", "dot", double=True)
    with torch.no_grad():
        model.attention.query.zero_()
    rows = table(find("adversarial", model, SPLIT, epsilon=0.05, search_steps=100), SPLIT)
    long = np.array(LENGTHS) > 3
    assert (rows["jsd_entropy_matched"][long] > 1e-3).all()


def test_several_classes_are_searched_and_never_called_exact() -> None:
    model = tiny_model("bilstm", "additive", 3, double=True)
    rows = table(find("adversarial", model, SPLIT, search_steps=250), SPLIT)
    assert not [name for name in rows if "exact" in name or "diverse" in name]
    np.testing.assert_array_equal(rows["jsd_adversary"], rows["jsd_search"])
    assert rows["jsd_search"].mean() > 0.01


@pytest.mark.parametrize("classes", [2, 3])
def test_another_kind_of_site_is_resumed_and_gives_the_same(classes: int) -> None:
    model = tiny_model("bilstm", "additive", classes, double=True)
    options = {"search_steps": 25, "search_candidates": 2}
    linear = table(find("adversarial", model, SPLIT, **options), SPLIT)
    bent = table(find("adversarial", Bent(model), SPLIT, **options), SPLIT)
    assert "jsd_exact" not in bent
    shared = [f"{what}_{name}" for what in ("jsd", "tvd", "entropy") for name in NAMES[1:]]
    np.testing.assert_allclose(bent[shared], linear[shared], atol=1e-8)


def test_two_logits_are_their_difference() -> None:
    """A softmax over two classes has the same adversaries as one sigmoid."""
    one = tiny_model("average", "dot", 2, double=True)
    two = tiny_model("average", "dot", 3, double=True)
    two.load_state_dict({**two.state_dict(), **_without_decoder(one)})
    two.decoder = torch.nn.Linear(8, 2).double()
    with torch.no_grad():
        rows = torch.cat([torch.zeros_like(one.decoder.weight), one.decoder.weight])
        two.decoder.weight.copy_(rows + 1)
        two.decoder.bias.copy_(torch.tensor([2.0, 2.0 + one.decoder.bias.item()]))
    expected = table(find("adversarial", one, SPLIT, **FAST), SPLIT)
    found = table(find("adversarial", two, SPLIT, **FAST), SPLIT)
    pd.testing.assert_frame_equal(found[["jsd_exact"]], expected[["jsd_exact"]], atol=1e-9)


def _without_decoder(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {n: v for n, v in model.state_dict().items() if not n.startswith("decoder")}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"epsilon": 0.0}, "between 0 and 1"),
        ({"epsilon": 1.0}, "between 0 and 1"),
        ({"epsilon": math.nan}, "between 0 and 1"),
        ({"k": 0}, "at least 1"),
        ({"search_steps": 0}, "at least 1"),
    ],
)
def test_wrong_parameters_are_named(params: dict[str, float], message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        find("adversarial", tiny_model(), tiny_split((2,)), **params)
