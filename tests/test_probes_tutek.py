"""Mutual information of words and states, single tokens' predictions, conicity."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from heedful.data import Split
from heedful.errors import HeedfulError
from heedful.experiments import PROBES, Evidence, Findings, chosen_words, embedded, gather_tokens
from heedful.metrics import contingency, entropy_of, mutual_information
from probing import LENGTHS, evidence, find, map_of, table
from reference import tutek as reference
from tiny import tiny_model, tiny_split

MANY = (*LENGTHS, *(15,) * 20)
LABELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=60)


def lines(found: Findings) -> dict[str, float]:
    assert found.summary is not None
    whole = found.summary[found.summary["group"] == "all"]
    return dict(zip(whole["measure"], whole["mean"], strict=True))


def information(first: list[int], second: list[int]) -> float:
    return mutual_information(contingency(np.array(first), np.array(second)))


def test_information_that_can_be_worked_out_by_hand() -> None:
    """3 and 1 of one word, 1 and 3 of the other: ¾ log 3/2 + ¼ log 1/2."""
    words, clusters = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1, 1]
    by_hand = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
    assert information(words, clusters) == pytest.approx(by_hand)
    assert information([0, 1, 2, 3], [3, 2, 1, 0]) == pytest.approx(math.log(4))
    assert information([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(0)
    assert entropy_of(np.array([5, 5, 9, 9])) == pytest.approx(math.log(2))
    assert math.isnan(mutual_information(contingency(np.zeros(0, int), np.zeros(0, int))))


@given(LABELS)
def test_information_is_that_of_the_definition_and_of_scikit_learn(
    pairs: list[tuple[int, int]],
) -> None:
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    found = information(first, second)
    assert found == pytest.approx(mutual_info_score(first, second), abs=1e-12)
    assert found == pytest.approx(reference.mutual_information(first, second), abs=1e-12)
    assert found <= entropy_of(np.array(first)) + 1e-12


@given(LABELS, st.randoms(use_true_random=False))
def test_things_that_count_twice_are_things_that_are_there_twice(
    pairs: list[tuple[int, int]], random: object
) -> None:
    times = [random.randrange(3) for _ in pairs]  # type: ignore[attr-defined]
    first, second = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    found = mutual_information(contingency(first, second), np.array(times, dtype=float))
    again = [pair for pair, count in zip(pairs, times, strict=True) for _ in range(count)]
    sides = ([pair[side] for pair in again] for side in (0, 1))
    expected = reference.mutual_information(*sides) if again else math.nan
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_words_are_the_most_frequent_or_drawn_by_frequency() -> None:
    split = tiny_split(MANY)
    counts = Counter(int(i) for ids in split.tokens["a"] for i in ids[1:-1])
    frequent = chosen_words(split, "frequent", 7, 0)
    rest = [count for word, count in counts.items() if word not in frequent]
    assert min(counts[int(word)] for word in frequent) >= max(rest) and len(frequent) == 7
    assert len(chosen_words(split, "sampled", 1000, 0)) == len(counts)
    draws = [chosen_words(split, "sampled", 7, seed).tolist() for seed in range(3)]
    assert draws[0] != draws[1] != draws[2] and all(len(set(draw)) == 7 for draw in draws)


def test_frequent_words_are_drawn_more_often() -> None:
    """The first of one word is ∝ count^¾: 16 to 1 becomes 8 to 1."""
    split = tiny_split((17,))
    split.sides["a"].tokens[0][1:-1] = [4] * 16 + [5]
    first = [int(chosen_words(split, "sampled", 1, seed)[0]) for seed in range(600)]
    assert first.count(5) / 600 == pytest.approx(1 / 9, abs=0.04)


def test_unknown_words_are_none() -> None:
    split = tiny_split((6,))
    split.sides["a"].tokens[0][1:-1] = [1, 1, 1, 1, 7, 8]
    assert chosen_words(split, "frequent", 5, 0).tolist() == [7, 8]


@pytest.mark.parametrize("vectors", [10_000, 50])
def test_tokens_are_the_same_for_every_batch_size_and_model(vectors: int) -> None:
    split = tiny_split(MANY)
    found = [
        gather_tokens(evidence(model, split, size), "frequent", 9, vectors)
        for model, size in (
            (tiny_model(double=True), 3),
            (tiny_model(double=True), 64),
            (tiny_model("cnn", double=True), 64),
        )
    ]
    one, many, other = found
    assert len(one.word) == min(vectors, len(one.word)) and (vectors > 50 or len(one.word) == 50)
    for each in (many, other):
        np.testing.assert_array_equal(one.word, each.word)
        np.testing.assert_array_equal(one.example, each.example)
    np.testing.assert_allclose(one.states, many.states, atol=1e-12)


def test_states_stand_beside_their_words() -> None:
    split, model = tiny_split(MANY), tiny_model(double=True)
    found = gather_tokens(evidence(model, split, 3), "frequent", 9, 10_000)
    words = set(chosen_words(split, "frequent", 9, 5).tolist())
    expected = [
        (index, int(word), state)
        for index, ids in sorted(enumerate(split.tokens["a"]), key=lambda pair: split.ids[pair[0]])
        for word, state in zip(ids[1:-1], reference.states(model, split, index), strict=True)
        if int(word) in words
    ]
    assert [(int(e), int(w)) for e, w in zip(found.example, found.word, strict=True)] == [
        each[:2] for each in expected
    ]
    np.testing.assert_allclose(found.states, [each[2] for each in expected], atol=1e-10)


def test_states_that_are_their_words_tell_all_there_is() -> None:
    """Without an encoder a state is an embedding: each word is a cluster."""
    split = tiny_split((30,) * 40)
    found = lines(find("mutual_information", tiny_model("none", double=True), split, resamples=5))
    for how in ("frequent", "sampled"):
        assert found[f"mutual_information:{how}"] == pytest.approx(found[f"entropy:{how}"])
        assert found[f"chance:{how}"] < 0.6 * found[f"entropy:{how}"]
        assert found[f"vectors:{how}"] == 1200 and found[f"clusters:{how}"] <= 120


def test_information_is_a_mean_over_tokens_and_has_an_interval() -> None:
    split, model = tiny_split(MANY), tiny_model(double=True)
    found = find("mutual_information", model, split, how="frequent", words=9, resamples=40)
    tokens = gather_tokens(evidence(model, split), "frequent", 9, 10_000)
    share = np.bincount(tokens.example, minlength=len(split)) / len(tokens.word)
    each = table(found, split)["pointwise:frequent"].to_numpy()
    assert np.isnan(each[share == 0]).all() and (share == 0).any()
    assert found.summary is not None
    line = found.summary.set_index("measure").loc["mutual_information:frequent"]
    assert np.nansum(share * each) == pytest.approx(line["mean"])
    assert line["low"] < line["mean"] < line["high"] <= line["mean"] + 1
    assert line["n"] == len(split)
    count = len(tokens.word)
    assert found.notes["frequent"] == f"9 words, {count} vectors, {count // 10} clusters, nats"


@pytest.mark.parametrize("size", [1, 5])
def test_batches_do_not_change_the_information(size: int) -> None:
    split, model = tiny_split(MANY), tiny_model(double=True)
    one, many = (find("mutual_information", model, split, each, resamples=5) for each in (size, 64))
    assert lines(one) == pytest.approx(lines(many), nan_ok=True)


def test_few_tokens_are_one_cluster_and_tell_nothing() -> None:
    found = lines(find("mutual_information", tiny_model(), tiny_split((4, 3)), resamples=5))
    assert found["mutual_information:frequent"] == 0 and found["clusters:frequent"] == 1


def test_embeddings_stand_beside_their_words() -> None:
    model, split = tiny_model(), tiny_split(MANY)
    seen = evidence(model, split, batch_size=3)
    found = gather_tokens(seen, "frequent", 9, 10_000)
    np.testing.assert_array_equal(
        embedded(seen, found), model.embedding.weight.detach().numpy()[found.word]
    )


def test_clusters_of_inputs_tell_no_more_than_words() -> None:
    """A cluster is a function of its word, so nothing is won; and here something is lost."""
    model, split = tiny_model(), tiny_split(MANY)
    found = {
        inputs: find("mutual_information", model, split, inputs=inputs, clusters=3, resamples=5)
        for inputs in ("words", "clusters")
    }
    words, clusters = map(lines, found.values())
    assert " words, " in found["words"].notes["frequent"]
    assert found["clusters"].notes["frequent"].startswith("3 clusters of embeddings, ")
    for how in ("frequent", "sampled"):
        name = f"mutual_information:{how}"
        assert 0 < clusters[name] < words[name]
        assert clusters[f"entropy:{how}"] <= math.log(3) < words[f"entropy:{how}"]


def test_the_training_split_is_looked_at_when_asked() -> None:
    model, split, other = tiny_model(), tiny_split(MANY), tiny_split(LENGTHS, seed=3)
    both = replace(evidence(model, other), training=split)
    asked = PROBES["mutual_information"].make(both, split="training", resamples=5)
    pd.testing.assert_frame_equal(
        asked.summary, find("mutual_information", model, split, resamples=5).summary
    )
    with pytest.raises(HeedfulError, match="use split=given"):
        PROBES["mutual_information"].make(replace(both, training=None), split="training")


def test_what_cannot_be_is_refused() -> None:
    model, split = tiny_model(), tiny_split((4, 3))
    with pytest.raises(HeedfulError, match="frequent, sampled"):
        find("mutual_information", model, split, how="rare")
    with pytest.raises(HeedfulError, match="given, training"):
        PROBES["mutual_information"].make(evidence(model, split), split="all")
    with pytest.raises(HeedfulError, match="clusters, words|words, clusters"):
        find("mutual_information", model, split, inputs="letters")
    with pytest.raises(HeedfulError, match="needs clusters of at least 1"):
        find("mutual_information", model, split, clusters=0)


@pytest.mark.parametrize("classes", [2, 3])
def test_single_tokens_predict_as_the_decoder_says(classes: int) -> None:
    split = tiny_split(MANY, classes=classes)
    model = tiny_model("bilstm", "additive", classes, double=True)
    found = find("token_probability", model, split, 5)
    wide, maps = table(found, split), map_of(found, "token_probability")
    rights = []
    for index, name in enumerate(split.ids):
        right, by_token = reference.token_probabilities(model, split, index)
        rights.append(right)
        np.testing.assert_allclose(maps[name], by_token, atol=1e-6)
        mean, spread = wide.loc[name, ["token_probability", "token_range"]]
        expected = np.mean(by_token) if right else math.nan
        assert mean == pytest.approx(expected, nan_ok=True)
        assert spread == pytest.approx(max(by_token) - min(by_token))
    assert 0 < sum(rights) < len(rights)


def test_a_token_alone_says_what_the_model_says_with_all_attention_on_it() -> None:
    """Of a text of one token there is nothing else."""
    split = tiny_split((1,) * 12)
    found = find("token_probability", tiny_model(double=True), split)
    rows = found.rows[found.rows["measure"] == "token_probability"].dropna(subset="value")
    assert len(rows)
    np.testing.assert_allclose(rows["value"], rows["confidence"], atol=1e-12)


def test_conicity_of_each_text() -> None:
    split, model = tiny_split(LENGTHS), tiny_model(double=True)
    found = table(find("conicity", model, split, 3), split)["conicity"]
    for index, name in enumerate(split.ids):
        expected = reference.conicity(reference.states(model, split, index))
        assert found[name] == pytest.approx(expected)
    assert found.iloc[1] == pytest.approx(1)  # one token


@pytest.mark.parametrize("name", ["token_probability", "conicity"])
def test_batches_do_not_matter(name: str) -> None:
    split, model = tiny_split(MANY), tiny_model(double=True)
    one, many = (find(name, model, split, size).rows for size in (1, 64))
    np.testing.assert_allclose(one["value"], many["value"], atol=1e-12)


def test_nobody_is_trained_with_the_replacement_unless_asked() -> None:
    piece = PROBES["substitution"]
    assert not piece.roles(metric="f1", trained=False) and set(piece.roles(metric="f1")) == {
        "uniform",
        "random",
    }
    model, split = tiny_model(double=True), tiny_split(LENGTHS)
    seen = Evidence({"base": model, "uniform": model}, split, 5)
    found = lines(piece.make(seen, resamples=5, trained=False))
    assert not any("train+infer" in name for name in found)


def test_changes_are_told_by_confidence_and_length() -> None:
    model, split = _undecided()
    found = find("substitution", model, split, resamples=5)
    assert found.summary is not None
    rows, summary = table(found, split), found.summary.set_index(["measure", "group"])
    name = "permute:infer"
    apart = rows[f"correct:{name}"] - rows["correct"]
    np.testing.assert_array_equal(rows[f"changed:{name}"], apart)
    assert summary.loc[(f"changed:{name}", "all"), "mean"] == pytest.approx(
        summary.loc[(f"delta:{name}", "all"), "mean"]
    )
    quarters = [summary.loc[(f"changed:{name}", f"confidence={n}"), "n"] for n in range(1, 5)]
    assert sum(quarters) == len(split) and apart.any()


def _undecided() -> tuple[torch.nn.Module, Split]:
    split = tiny_split([*MANY, *MANY], seed=7)
    model = tiny_model("bilstm", "additive", double=True)
    with torch.no_grad():
        model.decoder.bias -= model(split.batch(range(len(split)))).logits.mean(0)
    return model, split
