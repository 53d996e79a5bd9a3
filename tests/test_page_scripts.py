"""What the page computes by itself, against numpy and scipy: node runs the page's own modules."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from scipy.stats import kendalltau

from heedful.experiments import agreement
from heedful.metrics import tied_ranks

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

CALLS = """
import { createInterface } from "node:readline";
const plain = (_, value) => (typeof value === "number" && !Number.isFinite(value) ? "none" : value);
for await (const line of createInterface({ input: process.stdin })) {
  const out = [];
  for (const [file, name, ...given] of JSON.parse(line)) {
    out.push((await import(`./${file}.js`))[name](...given));
  }
  console.log(JSON.stringify(out, plain));
}
"""


@dataclass(frozen=True)
class Scripts:
    """The page's modules in a node of their own."""

    node: subprocess.Popen[str]

    def call(self, *calls: tuple[Any, ...]) -> list[Any]:
        """What functions answer, each call being (module, function, arguments…)."""
        assert self.node.stdin is not None and self.node.stdout is not None
        self.node.stdin.write(json.dumps(calls) + "\n")
        self.node.stdin.flush()
        found: list[Any] = json.loads(self.node.stdout.readline())
        return found


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    folder = tmp_path_factory.mktemp("scripts")
    for package, name in (("heedful", "assets"), ("heedful.report", "static")):
        for script in files(package).joinpath(name).iterdir():
            if script.name.endswith(".js"):
                (folder / script.name).write_text(script.read_text(encoding="utf8"), "utf8")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "calls.js").write_text(CALLS)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [str(NODE), "calls.js"], cwd=folder, stdin=pipe, stdout=pipe, text=True, encoding="utf8"
    ) as node:
        yield Scripts(node)


def test_kendall_is_scipys(scripts: Scripts) -> None:
    rng = np.random.default_rng(0)
    pairs: list[tuple[Any, Any]] = [
        (rng.normal(size=n), rng.normal(size=n)) for n in (2, 3, 17, 60)
    ]
    pairs += [(rng.integers(0, 4, n), rng.integers(0, 3, n)) for n in (5, 12, 40)]
    found = scripts.call(*(("kendall", "kendall", x.tolist(), y.tolist()) for x, y in pairs))
    assert found == pytest.approx([kendalltau(x, y).statistic for x, y in pairs], abs=1e-12)


def test_kendall_is_undefined_for_a_constant_or_a_single_word(scripts: Scripts) -> None:
    cases = [([1, 1, 1], [1, 2, 3]), ([1], [2]), ([], [])]
    assert scripts.call(*(("kendall", "kendall", x, y) for x, y in cases)) == ["none"] * 3


def test_agreement_is_of_sizes_over_the_words_both_have(scripts: Scripts) -> None:
    first = {"scores": [0.1, -0.9, 0.5, None, 0.3], "signed": True}
    second = {"scores": [0.2, -0.8, 0.6, 0.7, None], "signed": True}
    sizes = kendalltau([0.1, 0.9, 0.5], [0.2, 0.8, 0.6]).statistic
    assert scripts.call(("kendall", "agreement", first, second)) == pytest.approx([sizes])


@pytest.mark.parametrize("own", [True, False])
def test_ties_are_those_of_the_measures(scripts: Scripts, own: bool) -> None:
    """Scores a little nearer and a little further apart than the tolerance, large and small."""
    rng = np.random.default_rng(3)
    steps = rng.choice([0.5e-6, 0.9e-6, 1.1e-6, 3e-6], size=(40, 9))
    rows = (1 + steps.cumsum(-1)) * rng.choice([1.0, 1e-4], size=(40, 9))
    rows = rng.permuted(rows * rng.choice([-1, 1], size=rows.shape), axis=-1)
    given = torch.tensor(rows)
    expected = tied_ranks(given, torch.ones_like(given, dtype=torch.bool), 1e-6, own)
    found = scripts.call(*(("kendall", "tiedRanks", row.tolist(), own) for row in rows))
    assert found == expected.tolist() and 0 < expected.max(-1).values.min() < 8


def test_agreement_is_that_of_an_audit(scripts: Scripts) -> None:
    rng = np.random.default_rng(5)
    attention = rng.dirichlet(np.full(12, 0.2), size=30).round(4).clip(1e-9)
    attention[:, 5] = attention[:, 3] * (1 + 5e-7)
    other = rng.normal(size=(30, 12)).round(1)
    other[:, 7] = -other[:, 2] + 4e-7
    maps = {"attention": torch.tensor(attention), "other": torch.tensor(other)}
    expected = agreement(maps, torch.ones(30, 12, dtype=torch.bool))["attention", "other"].tau
    calls = [
        ("kendall", "agreement", {"scores": a, "weights": True}, {"scores": b, "signed": True})
        for a, b in zip(attention.tolist(), other.tolist(), strict=True)
    ]
    assert scripts.call(*calls) == pytest.approx(expected.tolist(), abs=1e-12)


def test_the_furthest_is_offered_as_what_it_is(scripts: Scripts) -> None:
    linear = {"read": [0, 1], "z": [[1], [2]], "learned": [0.5, 0.5]}
    far = {"kind": "furthest", "title": "as spread out", "scores": [1, 0]}
    row: dict[str, Any] = {"example": {}, "marks": None}
    calls = [
        ("presets", "offered", [far], row, linear),
        ("presets", "offered", [{**far, "searched": True}, far], row, linear),
        ("presets", "offered", [far], {**row, "example": {"merged": True}}, linear),
    ]
    exact, searched, merged = ([each["name"] for each in found] for found in scripts.call(*calls))
    assert exact == ["Learned", "Uniform", "Furthest with the same prediction"]
    assert searched == ["Learned", "Uniform", "Furthest found", "As spread out"]
    assert merged == ["Learned", "Uniform"]


def test_runs_are_called_by_what_differs(scripts: Scripts) -> None:
    audit = {"source": "audit", "seed": "", "run": "audit of 12 texts"}
    first, second = ({"source": "study", "seed": seed} for seed in ("0", "1"))
    calls = [
        ("data", "runName", audit, [audit, first]),
        ("data", "runName", first, [audit, first]),
        ("data", "runName", first, [first, second]),
    ]
    assert scripts.call(*calls) == ["audit of 12 texts", "study, seed 0", "seed 0"]


def test_words_of_a_second_text_stand_on_another_side(scripts: Scripts) -> None:
    row = {"words": ["a", "b", "c"], "first": 1, "about": [1]}
    whole, later = scripts.call(("visible", "shownOf", row), ("visible", "shownOf", row, 1, 3))
    assert [each["side"] for each in whole] == [0, 1, 1]
    assert [each["side"] for each in later] == [1, 1]
    assert [each.get("why") for each in whole] == [None, "not attended to", "not attended to"]
    assert [each["asked"] for each in (*whole, *later)] == [False, True, False, True, False]


@pytest.mark.parametrize("logits", [1, 2, 5])
def test_predictions_are_a_softmax_or_a_sigmoid(scripts: Scripts, logits: int) -> None:
    rng = np.random.default_rng(logits)
    z, weights = rng.normal(0, 30, (9, logits)), rng.dirichlet(np.ones(9))
    (found,) = scripts.call(("linear", "predict", weights.tolist(), z.tolist()))
    assert found == pytest.approx(_said(weights, z), abs=1e-12)


def test_predictions_do_not_overflow(scripts: Scripts) -> None:
    calls = [("linear", "probabilities", each) for each in ([900.0], [-900.0], [900.0, 0.0])]
    assert scripts.call(*calls) == [[0, 1], [1, 0], [1, 0]]


@pytest.mark.parametrize("logits", [1, 3])
def test_erasure_renormalises_what_is_left(scripts: Scripts, logits: int) -> None:
    rng = np.random.default_rng(7)
    z, weights, order = rng.normal(0, 3, (6, logits)), rng.dirichlet(np.ones(6)), rng.permutation(6)
    (found,) = scripts.call(("linear", "erasure", weights.tolist(), z.tolist(), order.tolist()))
    assert [step["removed"] for step in found] == list(range(6))
    for step in found:
        left = weights.copy()
        left[order[: step["removed"]]] = 0.0
        assert step["p"] == pytest.approx(_said(left / left.sum(), z), abs=1e-12)


def test_erasure_ends_where_no_attention_is_left(scripts: Scripts) -> None:
    (found,) = scripts.call(("linear", "erasure", [0.5, 0.5, 0.0], [[1], [2], [3]], [0, 1, 2]))
    assert [step["removed"] for step in found] == [0, 1]


def test_distances_by_hand(scripts: Scripts) -> None:
    calls = [
        ("distances", "jsd", [1, 0], [0, 1]),
        ("distances", "jsd", [0.3, 0.7], [0.3, 0.7]),
        ("distances", "tvd", [0.9, 0.1], [0.4, 0.6]),
    ]
    assert scripts.call(*calls) == pytest.approx([np.log(2), 0.0, 0.5])


def test_orders_take_the_highest_first_and_leave_out_what_was_not_read(scripts: Scripts) -> None:
    scores = [0.1, None, -3.0, 0.7, 0.7]
    order, heaviest = scripts.call(("orders", "orderOf", scores), ("orders", "heaviest", scores, 2))
    assert (sorted(order[:2]), order[2:]) == ([3, 4], [0, 2])
    assert (heaviest[0], heaviest[1]["score"]) == ({"index": 2, "score": -3.0}, 0.7)


def test_equal_scores_are_not_taken_in_the_order_of_reading(scripts: Scripts) -> None:
    even = [1.0] * 30
    one, again = scripts.call(*[("orders", "orderOf", even)] * 2)
    assert one == again and sorted(one) == list(range(30)) and one != list(range(30))


def test_a_shuffle_is_named_by_its_seed(scripts: Scripts) -> None:
    values = list(range(12))
    calls = [("orders", "shuffled", values, seed) for seed in (1, 1, 2)]
    one, again, other = scripts.call(*calls)
    assert one == again != other and sorted(one) == sorted(other) == values


def test_sorting_puts_undefined_last_both_ways(scripts: Scripts) -> None:
    rows = [_row(f"t{i}", i, tau) for i, tau in enumerate([0.2, None, -0.5, 0.2])]
    calls = [("sorting", "sorted", rows, "tau", down) for down in (True, False)]
    down, up = ([row["id"] for row in found] for found in scripts.call(*calls))
    assert down == ["t0", "t3", "t2", "t1"] and up == ["t2", "t0", "t3", "t1"]


def test_ids_are_sorted_by_their_numbers(scripts: Scripts) -> None:
    rows = [_row(name, i, 0.0) for i, name in enumerate(["t10", "t9", "t1"])]
    (found,) = scripts.call(("sorting", "sorted", rows, "id", False))
    assert [row["id"] for row in found] == ["t1", "t9", "t10"]


def test_search_finds_all_words_in_any_case_and_filters_by_class(scripts: Scripts) -> None:
    rows = [_row("a", 0, 0.0, ["A", "Great", "film"]), _row("b", 1, 0.0, ["a", "great", "mess"])]
    asked = [
        ("GREAT a", "all"),
        ("great film", "all"),
        ("", "wrong"),
        ("great", "class:1"),
        ("b", "all"),
    ]
    found = scripts.call(*(("sorting", "matching", rows, *each) for each in asked))
    ids = ["".join(row["id"] for row in each) for each in found]
    assert ids == ["ab", "a", "b", "b", "b"]


def test_what_could_act_is_spelled_out(scripts: Scripts) -> None:
    calls = [("visible", "visible", text) for text in ("a\u202eb", "x\x07", "ü 漢 😀", "\u2028")]
    assert scripts.call(*calls) == ["a⟨U+202E⟩b", "x⟨U+0007⟩", "ü 漢 😀", "⟨U+2028⟩"]


def test_a_link_brings_everything_back_and_leaves_other_anchors_alone(scripts: Scripts) -> None:
    state = {"text": "a&b=#\u202e%", "model": "m0", "left": "attention", "right": "ig"}
    (link,) = scripts.call(("state", "writeState", {**state, "weights": "0.5_0.5", "from": ""}))
    back, none, empty = scripts.call(
        *(("state", "readState", each) for each in (link, "#figures", ""))
    )
    assert back == {**state, "weights": "0.5_0.5", "from": None, "shuffle": None}
    assert none is None and empty is None


def _said(weights: Any, z: Any) -> list[float]:
    logits = weights @ z
    if len(logits) > 1:
        return list(softmax(logits))
    return [float(expit(-logits[0])), float(expit(logits[0]))]


def _row(
    name: str, place: int, tau: float | None, words: list[str] | None = None
) -> dict[str, Any]:
    return {
        "id": name,
        "words": words or ["a"],
        "example": {"p": place, "c": 0.5, "m": {} if tau is None else {"tau": tau}},
        "wrong": place == 1,
        "place": place,
    }
