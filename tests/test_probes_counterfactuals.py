"""Explanations against the words that a revision changed: by hand, by sklearn, in audits."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from audited import EXPLANATIONS, SMALL, audit, bert, texts
from data_folder import put
from heedful.data import CORPORA, Prepared, default_spec, prepare
from heedful.errors import HeedfulError
from heedful.experiments import PROBES, Revisions, edited_words, found_edits
from heedful.experiments.counterfactuals import auroc_by
from heedful.runner import unfit
from heedful.store import Store
from heedful.targets import open_target
from probing import evidence
from reference import counterfactuals as slow
from tiny import tiny_model, tiny_split

WORDS = st.lists(st.sampled_from(["a", "b", "c", "B", "d"]), max_size=8)


def test_words_that_are_replaced_or_taken_away_are_marked() -> None:
    before = ["A", "man", "is", "riding", "a", "motorcycle", "."]
    assert edited_words(before, ["A", "man", "is", "riding", "a", "car", "."]) == [False] * 5 + [
        True,
        False,
    ]
    assert edited_words(before, ["a", "Man", "riding", "a", "motorcycle", "."]) == [
        word == "is" for word in before
    ]
    assert (
        edited_words(before, ["A", "man", "is", "riding", "a", "red", "motorcycle", "."])
        == [False] * 7
    )
    assert edited_words(before, []) == [True] * 7
    assert edited_words([], before) == []


@given(WORDS, WORDS)
def test_the_words_that_stay_stand_in_the_other_text_in_their_order(
    before: list[str], after: list[str]
) -> None:
    stay = [w.casefold() for w, m in zip(before, edited_words(before, after), strict=True) if not m]
    left = iter(word.casefold() for word in after)
    assert all(word in left for word in stay)
    assert not any(edited_words(before, before))


def revisions() -> Revisions:
    """Two revisions of the first text, three of the third, one of which only adds words."""
    marks = [[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]
    return Revisions(
        torch.tensor([0, 0, 2, 2, 2]),
        torch.tensor(marks, dtype=torch.bool),
        torch.tensor([1, 0, 1, 1, 0]),
    )


SCORES = torch.tensor([[4.0, 1, 2, 3], [1, 1, 1, 1], [-4.0, 1, 2, 3]], dtype=torch.float64)
FLIPPED = torch.tensor([True, False, True, True, False])


def test_measures_by_hand() -> None:
    """Text 0: the word that flips is on top; the two others stand last, at 3 and 4. Text 2, by
    magnitude: the fourth word is second; the first is on top. Adding words says nothing."""
    mask = torch.ones(3, 4, dtype=torch.bool)
    found = found_edits(SCORES, mask, revisions(), FLIPPED)
    values = {name: value.tolist() for name, value in found.items()}
    assert values["edit_auprc", "flips"][::2] == [1.0, 0.5]
    assert values["edit_auprc", "stays"][::2] == [(1 / 3 + 2 / 4) / 2, 1.0]
    assert values["edit_precision", "flips"][::2] == [1.0, 0.0]
    assert values["edit_precision", "stays"][::2] == [0.0, 1.0]
    # masses: 0.4 flips, 0.3 stays; and 0.3 flips, 0.4 stays
    assert values["edit_auroc", ""][::2] == [1.0, 0.0]
    assert all(math.isnan(value[1]) for value in values.values())


@given(st.integers(0, 1000))
def test_measures_are_those_of_the_definitions(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = torch.from_numpy(random.integers(-3, 4, (1, 6)).astype(float))
    count = int(random.integers(2, 7))
    marks = torch.from_numpy(random.random((count, 6)) < 0.4)
    flips = torch.from_numpy(random.random(count) < 0.5)
    of = torch.zeros(count, dtype=torch.long)
    mask = torch.ones(1, 6, dtype=torch.bool)
    found = found_edits(scores, mask, Revisions(of, marks, of), flips)
    some = marks.any(-1) & ~marks.all(-1)
    own = scores[0].abs().tolist()
    for where, side in (("flips", flips), ("stays", ~flips)):
        values = [slow.average_precision(own, m.tolist()) for m in marks[some & side]]
        oracle = [sk.average_precision_score(m.tolist(), own) for m in marks[some & side]]
        assert values == pytest.approx(oracle)
        mean = float(np.mean(values)) if values else math.nan
        assert float(found["edit_auprc", where][0]) == pytest.approx(mean, nan_ok=True)
    total = sum(own)
    masses = [sum(s for s, m in zip(own, line.tolist(), strict=True) if m) for line in marks[some]]
    wanted = slow.auroc(masses, flips[some].tolist()) if total else math.nan
    assert float(found["edit_auroc", ""][0]) == pytest.approx(wanted, nan_ok=True)


def test_the_auroc_within_one_text_is_sklearn_s() -> None:
    random = np.random.default_rng(1)
    scores, positive = random.integers(0, 5, 40).astype(float), random.random(40) < 0.4
    of = torch.zeros(40, dtype=torch.long)
    found = auroc_by(torch.from_numpy(scores), of, torch.from_numpy(positive), 2)
    assert float(found[0]) == pytest.approx(sk.roc_auc_score(positive, scores))
    assert math.isnan(float(found[1]))


# Pairs from files and from corpora.


def pairs(n: int) -> list[dict[str, Any]]:
    """Each text twice, the second time with its first word replaced, and with another label."""
    rows = []
    for number, row in enumerate(texts(n)):
        words = row["text"].split()
        other = "dull" if words[0] != "dull" else "great"
        rows.append({**row, "of": f"p{number}"})
        rows.append(
            {"text": " ".join([other, *words[1:]]), "label": 1 - row["label"], "of": f"p{number}"}
        )
    return rows


def test_the_first_row_of_a_pair_is_the_original_and_samples_keep_pairs_together() -> None:
    with open_target(bert(), pairs(12), pair_column="of", n=8, seed=3) as subject:
        documents = list(subject.documents)
        assert len(documents) == 8 and len(subject.revisions) == 4
        for place, others in subject.revisions.items():
            (other,) = others
            assert documents[other].revises == documents[place].id
            assert documents[other].cluster == documents[place].cluster
            assert documents[place].revises is None
    with (
        open_target(bert(), pairs(12)) as alone,
        open_target(bert(), pairs(12), pair_column="of") as o,
    ):
        assert alone.key["data"] != o.key["data"]
        assert not alone.revisions


def test_an_audit_measures_explanations_against_edits(tmp_path: Path) -> None:
    spec = replace(SMALL, only=("agreement", "counterfactuals"))
    found = audit(bert(), pairs(8), spec, pair_column="of")
    rows = found.rows
    assert set(rows[rows["measure"] == "edit_auprc"]["operator"]) <= {"flips", "stays"}
    named = set(rows[rows["measure"] == "edit_auprc"]["explanation"])
    assert {*EXPLANATIONS, "random", "prior"} <= named
    originals = [f"row-{n:06d}" for n in range(1, 17, 2)]
    assert set(rows[rows["measure"] == "edit_flips"]["example"]) == set(originals)
    decided = rows.drop_duplicates("example").set_index("example")["predicted"]
    flips = rows[rows["measure"] == "edit_flips"].set_index("example")["value"]
    for number, name in enumerate(originals):
        other = f"row-{2 * number + 2:06d}"
        assert flips[name] == float(decided[name] != decided[other])
    maps = found.maps[found.maps["explanation"] == "attention"].set_index("example")["scores"]
    mine = rows[(rows["measure"] == "edit_precision") & (rows["explanation"] == "attention")]
    for line in mine.dropna(subset="value").to_dict("records"):
        scores = np.abs(maps[line["example"]])
        assert line["value"] == float(scores.argmax() == 0)  # the first word was replaced


@pytest.mark.parametrize(
    ("options", "words"),
    [({}, "--pair-column"), ({"pair_column": "of", "extra": "counterfactuals,x"}, "unknown extra")],
)
def test_what_has_no_pairs_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(HeedfulError, match=words):
        audit(bert(), pairs(4), **{"extra": "counterfactuals", **options})


def cad(folder: Path) -> None:
    def row(premise: str, hypothesis: str, label: str, source: str) -> dict[str, str]:
        return {"premise": premise, "hypothesis": hypothesis, "label": label, "source": source}

    first, second = ("A man sits .", "A man rests ."), ("Two dogs run .", "Dogs run .")
    rows = [row(*first, "entailment", "original"), row(*second, "entailment", "original")]
    for premise, hypothesis in (first, second):
        rows += [
            row(premise, "Nobody moves .", "contradiction", "revised"),
            row(premise.replace(".", "alone ."), hypothesis, "neutral", "revised"),
            row("A girl " + premise[-6:], hypothesis, "contradiction", "revised"),
            row(premise, hypothesis + " now", "neutral", "revised"),
        ]
    rows[-1] = row("Nothing of this", "is the same", "neutral", "revised")
    for name in ("train", "dev", "test"):
        put(folder, f"snli_cad/{name}.jsonl.gz", rows)


def test_the_corpus_links_revisions_that_share_a_text(tmp_path: Path) -> None:
    cad(tmp_path)
    raw = CORPORA["snli_cad"].make(tmp_path)
    test = {example.id: example for example in raw.examples if example.split == "test"}
    linked = {name: example.revises for name, example in test.items()}
    first, second = "snli_cad-test-000000", "snli_cad-test-000001"
    assert list(linked.values()) == [None, None, *[first] * 4, *[second] * 3, None]
    assert [example.cluster for example in test.values()][:4] == [first, second, first, first]
    spec = default_spec("snli_cad", vectors="random", min_df=1, limit=6, tokenizer="whitespace")
    prepared = Prepared(prepare(spec, Store(tmp_path / "store"), tmp_path))
    split = prepared.split("test")
    assert len(split) == 6 and split.revises is not None
    drawn = Counter(linked[name] or name for name in split.ids)
    whole = Counter(head or name for name, head in linked.items())
    assert sum(drawn[head] < whole[head] for head in drawn) <= 1  # only the last one is cut


def test_the_probe_measures_attention_and_the_baselines() -> None:
    split = replace(tiny_split((5, 5, 4, 6)), revises=[None, "0", None, "2"])
    split = replace(split, revises=[None, split.ids[0], None, split.ids[2]])
    side = split.sides["a"]
    words = [[f"w{token}" for token in row[1:-1].tolist()] for row in side.tokens]
    ends = [np.cumsum([len(word) + 1 for word in line]) - 1 for line in words]
    starts = [e - [len(w) for w in line] for e, line in zip(ends, words, strict=True)]
    side = replace(side, texts=[" ".join(line) for line in words], starts=starts, ends=ends)
    split = replace(split, sides={"a": side})
    model = tiny_model(double=True)
    seen = evidence(model, split)
    assert unfit("counterfactuals", seen) is None
    rows = PROBES["counterfactuals"].make(seen).rows
    wide = rows.pivot(index="example", columns="measure", values="value")
    with torch.no_grad():
        trace = model(split.batch(range(4)))
    decided = trace.logits[:, 0] > 0 if trace.logits.shape[1] == 1 else trace.logits.argmax(-1)
    for place in (0, 2):
        marks = edited_words(words[place], words[place + 1])
        weights = trace.weights["attention"][place, 0, 0, 1 : len(marks) + 1].tolist()
        flips = bool(decided[place] != decided[place + 1])
        line = wide.loc[split.ids[place]]
        assert line["flips"] == float(flips)
        where = "flips" if flips else "stays"
        if 0 < sum(marks) < len(marks):
            wanted = slow.average_precision(weights, marks)
            assert line[f"auprc_{where}"] == pytest.approx(wanted)
        assert math.isnan(line[f"auprc_{'stays' if flips else 'flips'}"])
        assert math.isnan(line["auroc"])
    assert wide.loc[split.ids[1]].isna().all()
    assert "revised texts" in str(unfit("counterfactuals", evidence(model, tiny_split((3,)))))
