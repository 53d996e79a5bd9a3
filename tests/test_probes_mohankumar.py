"""mohankumar2020's measures: kinds of words, extracted rationales, integrated gradients."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from heedful.attributions import integrated
from heedful.data import FUNCTION_WORDS, Prepared, Split, class_words, word_kind
from heedful.errors import HeedfulError
from heedful.experiments import (
    PROBES,
    TAGS,
    Evidence,
    Findings,
    Learning,
    alone,
    drawn,
    learned,
    surprise,
    tagger,
)
from heedful.models import OneSequence, build, probabilities
from heedful.runner import Reading, probe_facts
from heedful.specs import ModelSpec, ProbeSpec
from probing import LENGTHS, find, map_of, table
from tiny import pick, tiny_batch, tiny_model, tiny_split

KINDS = ("punctuation", "function", "content")
TEXTS = ("The film was dull , and slow .", "Don't !", "Superb", "— … (")


def worded(texts: tuple[str, ...] = TEXTS) -> Split:
    """Texts of tokens between blanks, with made-up ids."""
    split = tiny_split([len(text.split()) for text in texts])
    ends = [np.cumsum([len(word) + 1 for word in text.split()]) - 1 for text in texts]
    words = [np.array([len(word) for word in text.split()]) for text in texts]
    starts = [end - size for end, size in zip(ends, words, strict=True)]
    side = replace(split.sides["a"], texts=list(texts), starts=starts, ends=ends)
    return replace(split, sides={"a": side})


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("The", "function"),
        ("n't", "function"),
        ("n’t", "function"),
        ("'S", "function"),
        ("t", "function"),
        ("not", "function"),
        ("...", "punctuation"),
        ("—", "punctuation"),
        ("$", "punctuation"),
        ("'", "punctuation"),
        ("_", "punctuation"),
        ("", "punctuation"),
        ("film", "content"),
        ("7", "content"),
        ("qqq", "content"),
        ("été", "content"),
    ],
)
def test_the_list_tells_three_kinds_of_words(token: str, kind: str) -> None:
    assert word_kind(token) == kind


def test_the_list_is_of_lower_case_words() -> None:
    assert all(
        word == word.lower() and word.strip("'").isalpha() for word in FUNCTION_WORDS - {"n't"}
    )
    assert not FUNCTION_WORDS & {"good", "bad", "film", "dull", "superb", "never"}


def test_even_attention_has_the_shares_counted_by_hand() -> None:
    split = worded()
    model = tiny_model("none", "dot", double=True)
    with torch.no_grad():
        for parameter in model.attention.parameters():
            parameter.zero_()
    found = table(find("parts_of_speech", model, split), split)
    by_hand = [[2 / 8, 3 / 8, 3 / 8], [1 / 2, 0, 1 / 2], [0, 0, 1], [1, 0, 0]]
    for what in ("mass", "share"):
        np.testing.assert_allclose(found[[f"{what}:{kind}" for kind in KINDS]], by_hand, atol=1e-12)


@pytest.mark.parametrize("attention", ["additive", "gate"])
def test_the_mass_is_the_weights_of_the_words_and_sums_to_one(attention: str) -> None:
    split, model = worded(), tiny_model("lstm", attention, double=True)
    found = table(find("parts_of_speech", model, split, batch_size=3), split)
    for index, name in enumerate(split.ids):
        with torch.no_grad():
            weights = model(split.batch([index])).weights["attention"][0, 0, 0, 1:-1].tolist()
        for kind in KINDS:
            pairs = zip(weights, split.surface(index), strict=True)
            mass = sum(weight for weight, word in pairs if word_kind(word) == kind)
            assert found.loc[name, f"mass:{kind}"] == pytest.approx(mass / sum(weights))
    for what in ("mass", "share"):
        total = found[[f"{what}:{kind}" for kind in KINDS]].sum(axis=1)
        np.testing.assert_allclose(total, 1, atol=1e-12)


def pipeline(name: str) -> Any:
    """A spaCy pipeline whose tagger knows four words."""
    spacy = pytest.importorskip("spacy")
    made = spacy.blank("en")
    ruler = made.add_pipe("attribute_ruler", name=name)
    for word, tag in {"film": "NOUN", "The": "DET", "was": "AUX", ",": "PUNCT"}.items():
        ruler.add(patterns=[[{"TEXT": word}]], attrs={"POS": tag})
    return made


def installed(monkeypatch: pytest.MonkeyPatch, name: str = "tagger", version: str = "1.0") -> None:
    made = pipeline(name)
    monkeypatch.setattr("spacy.util.get_installed_models", lambda: ["de_other", "en_small"])
    monkeypatch.setattr("spacy.util.get_package_version", lambda name: version)
    monkeypatch.setattr("spacy.load", lambda name, exclude: made)


def test_an_installed_tagger_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    split = worded()
    findings = find("parts_of_speech", tiny_model(double=True), split, tagger="en_small")
    assert findings.notes == {"tagger": "en_small", "tagger_version": "1.0 (spaCy 1.0)"}
    found = table(findings, split)
    first = found.loc[split.ids[0]]
    shares = {tag: first[f"share:{tag}"] for tag in TAGS if first[f"share:{tag}"]}
    # four words are unknown to it
    assert shares == {"NOUN": 1 / 8, "DET": 1 / 8, "AUX": 1 / 8, "PUNCT": 1 / 8, "X": 4 / 8}
    assert [first[f"share:{kind}"] for kind in KINDS] == [1 / 8, 2 / 8, 5 / 8]
    for names in (KINDS, TAGS):
        mass = found[[f"mass:{each}" for each in names]].sum(axis=1)
        np.testing.assert_allclose(mass, 1, atol=1e-12)


def test_a_result_is_named_by_the_taggers_version(monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = SimpleNamespace(key="model-1", source={"corpus": "corpus-1"}.get)

    def facts(**params: str) -> dict[str, Any]:
        return probe_facts(model, ProbeSpec("parts_of_speech", params), Reading(0), {})

    found = []
    for version in ("1.0", "1.1"):
        installed(monkeypatch, version=version)
        found.append(facts(tagger="en_small"))
    assert found[0] != found[1]
    assert "depends" not in facts() and "depends" not in facts(tagger="lexicon")


def test_what_is_installed_chooses_no_tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    assert tagger("lexicon").tags == ()
    with pytest.raises(HeedfulError, match="de_other, en_small, lexicon"):
        tagger("auto")


def conllu(path: Path, *sentences: list[tuple[str, str]]) -> str:
    rows = []
    for words in sentences:
        for n, (word, tag) in enumerate(words, 1):
            rows.append(f"{n}\t{word}\t_\t{tag}\t_\t_\t{n - 1}\t_\t_\t_")
        rows.append("")
    path.write_text("\n".join(rows), encoding="utf8")
    return str(path)


def test_tags_come_from_a_file(tmp_path: Path) -> None:
    """The first text as two sentences of the file, its tokens cut otherwise; a sentence that holds
    the second text and more does not count, and an unknown tag is X."""
    split = worded()
    first, second = (split.surface(n) for n in (0, 1))
    tagged = [(word, "NOUN" if n else "foo") for n, word in enumerate(first)]
    joined = [tagged[3], ("".join(first[4:6]), "VERB"), *tagged[6:]]
    longer = [("And", "CCONJ"), *((word, "ADJ") for word in second)]
    path = conllu(tmp_path / "tags.conllu", longer, tagged[:3], joined)
    findings = find("parts_of_speech", tiny_model(double=True), split, tagger=path)
    found = table(findings, split)
    row = found.loc[split.ids[0]]
    shares = {tag: row[f"share:{tag}"] for tag in TAGS if row[f"share:{tag}"]}
    size = len(first)
    assert shares == pytest.approx({"X": 1 / size, "VERB": 2 / size, "NOUN": 1 - 3 / size})
    assert row[[f"mass:{tag}" for tag in TAGS]].sum() == pytest.approx(1)
    assert found.loc[list(split.ids[1:])].isna().all(axis=None)
    assert findings.notes["tagger"] == "tags.conllu"
    assert findings.notes["untagged"] == f"{len(split) - 1} of {len(split)} texts"


def test_files_without_the_texts_or_without_tags_are_refused(tmp_path: Path) -> None:
    model, split = tiny_model(double=True), worded()
    other = conllu(tmp_path / "other.conllu", [("nothing", "PRON")])
    with pytest.raises(HeedfulError, match=r"no text under study is in other\.conllu"):
        find("parts_of_speech", model, split, tagger=other)
    bare = conllu(tmp_path / "bare.conllu", [(word, "_") for word in split.surface(0)])
    with pytest.raises(HeedfulError, match="no universal part of speech"):
        find("parts_of_speech", model, split, tagger=bare)
    with pytest.raises(HeedfulError, match=r"missing\.conllu"):
        find("parts_of_speech", model, split, tagger=str(tmp_path / "missing.conllu"))


def test_a_result_is_named_by_what_is_in_the_file(tmp_path: Path) -> None:
    model: Any = SimpleNamespace(key="model-1", source={"corpus": "corpus-1"}.get)
    found = []
    for tag in ("NOUN", "VERB"):
        path = conllu(tmp_path / "tags.conllu", [("film", tag)])
        spec = ProbeSpec("parts_of_speech", {"tagger": path})
        found.append(probe_facts(model, spec, Reading(0), {})["depends"])
    assert found[0] != found[1]


def test_an_unfit_tagger_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, name="other")
    with pytest.raises(HeedfulError, match="has no tagger"):
        tagger("en_small")
    with pytest.raises(HeedfulError, match="en_smal"):
        tagger("en_smal")


def test_attention_against_integrated_gradients() -> None:
    model, split = tiny_model("lstm", double=True), tiny_split(LENGTHS)
    usual = find("correlation", model, split)
    found = find("correlation", model, split, batch_size=3, also=("integrated_gradients",))
    rows, maps = table(found, split), map_of(found, "integrated_gradients")
    for index, name in enumerate(split.ids):
        batch = split.batch([index])
        with torch.no_grad():
            trace = model(batch)
        path = integrated(model, batch, probabilities(trace.logits).argmax(-1))
        scores = path.scores[0, 1:-1].abs()
        np.testing.assert_allclose(maps[name], scores, atol=1e-6)
        assert rows.loc[name, "gap_integrated"] == pytest.approx(float(path.gap), abs=1e-9)
        if len(scores) > 1:  # of one token there is no order
            tau = stats.kendalltau(trace.weights["attention"][0, 0, 0, 1:-1], scores).statistic
            assert rows.loc[name, "tau_integrated"] == pytest.approx(tau)
    old = table(usual, split)
    np.testing.assert_array_equal(rows[list(old)], old)
    assert {name for name in rows if name not in old} == {
        "tau_integrated", "tau_integrated_significant", "ties_integrated", "gap_integrated",
        "tau_integrated_top5", "overlap_integrated_top5",
    }  # fmt: skip


def test_other_importances_are_refused() -> None:
    model, split = tiny_model(), tiny_split((3, 4))
    one, same = (
        find("correlation", model, split, also=also).rows
        for also in ("integrated_gradients", ["integrated_gradients"])
    )
    assert one.equals(same)
    with pytest.raises(HeedfulError, match="integrated_gradients"):
        find("correlation", model, split, also=("integrated_gradient",))


def test_the_surprise_has_the_gradient_of_the_mean_reward() -> None:
    """All selections of three tokens, each as often as it is drawn: then the estimate is exact,
    whatever the baseline."""
    batch = tiny_batch((3,))
    logits = torch.tensor([[9.0, 0.3, -1.1, 0.7, 9.0]], dtype=torch.float64, requires_grad=True)
    every = torch.tensor(list(product((False, True), repeat=3)))
    chosen = torch.nn.functional.pad(every, (1, 1))[None]
    reward = torch.randn(1, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    p = torch.sigmoid(logits[:, 1:4])
    chance = torch.where(every, p, 1 - p).prod(-1)
    wanted = -(chance * reward[0]).sum() + 0.5 * p.mean()
    (expected,) = torch.autograd.grad(wanted, logits, retain_graph=True)
    weighted = 8 * chance.detach()[None] * (reward - 0.25)
    (found,) = torch.autograd.grad(surprise(logits, chosen, weighted, batch, 0.5), logits)
    torch.testing.assert_close(found, expected)
    assert not found[:, [0, 4]].any() and found[:, 1:4].all()


def test_draws_are_by_chance_of_real_tokens_alone() -> None:
    batch = tiny_batch([6] * 400)
    logits = torch.tensor([[9.0, -9.0, -1.0, 0.0, 1.0, 9.0, 0.0, 9.0]]).repeat(400, 1).double()
    chosen = drawn(logits, batch, 3, 0)
    assert not chosen[..., [0, 7]].any()
    mean = chosen.double().mean((0, 1))
    torch.testing.assert_close(mean[1:7], torch.sigmoid(logits[0, 1:7]), atol=0.04, rtol=0)
    assert not torch.equal(chosen, drawn(logits, batch, 3, 1))
    torch.testing.assert_close(drawn(logits[:5], pick(batch, range(5)), 3, 0), chosen[:5])


def test_alone_is_the_text_of_the_chosen_tokens() -> None:
    batch, model = tiny_batch((4, 6), pad=2), tiny_model("bilstm", double=True)
    chosen = torch.zeros(2, 2, batch.texts["a"].tokens.shape[1], dtype=torch.bool)
    chosen[0, 0, [1, 3]] = chosen[1, 0, [2, 5, 6]] = True
    chosen[:, 1] = batch.texts["a"].mask
    found = alone(model, batch, chosen, "delete")
    with torch.no_grad():
        whole = model(batch).logits
        for example, places in ((0, [0, 1, 3, 5]), (1, [0, 2, 5, 6, 7])):
            one = pick(batch, [example])
            text = one.texts["a"]
            shorter = replace(
                text,
                tokens=text.tokens[:, places],
                mask=text.mask[:, places],
                lengths=torch.tensor([len(places)]),
            )
            expected = model(replace(one, texts={"a": shorter})).logits
            torch.testing.assert_close(found[example, 0], expected[0].double())
    torch.testing.assert_close(found[:, 1], whole.double())


def reader(planted: Prepared) -> OneSequence:
    """Even attention, and a decision by the opinion words alone: the first two numbers of an
    embedding say whether it is one of either class; the others are small and random."""
    vectors = 0.2 * planted.vectors
    vectors[:, :2] = 0
    for label in (0, 1):
        for word in class_words(label, 2):
            if word in planted.words:
                vectors[list(planted.words).index(word), label] = 2.0
    model = build(ModelSpec("none", "dot"), vectors, 2, 0).eval()
    assert isinstance(model, OneSequence)
    with torch.no_grad():
        for parameter in (*model.attention.parameters(), *model.decoder.parameters()):
            parameter.zero_()
        model.decoder.weight[0, :2] = torch.tensor([-10.0, 10.0])
    return model


def table_mean(rows: pd.DataFrame, measure: str) -> float:
    return float(rows.loc[rows["measure"] == measure, "value"].mean())


def extract(planted: Prepared, model: OneSequence, at: int = 0, **params: Any) -> Findings:
    seen = Evidence({"base": model}, planted.split("test"), at, training=planted.split("train"))
    found: Findings = PROBES["extracted"].make(seen, **params)
    return found


def test_the_planted_words_are_found(planted: Prepared) -> None:
    split, model = planted.split("test"), reader(planted)
    found = extract(planted, model, epochs=12, sparsity=2.0)
    selected = map_of(found, "extracted")
    inside = np.concatenate([selected[name] > 0 for name in split.ids])
    marked = np.concatenate([split.rationale(index) for index in range(len(split))])
    assert marked.mean() < 0.1
    assert inside[marked].mean() > 0.9 and marked[inside].mean() > 0.9
    rows = table(found, split)
    assert rows["kept"].mean() > 0.9 > rows["kept_random"].mean() + 0.2
    share = np.array([(selected[name] > 0).mean() for name in split.ids])
    np.testing.assert_allclose(rows["length"], share, atol=1e-12)
    # attention is even, so it has the share of the tokens inside, wherever there are some
    np.testing.assert_allclose(rows["mass_extracted"], rows["share_extracted"], atol=1e-6)
    np.testing.assert_allclose(rows["share_extracted"].dropna(), share[share > 0], atol=1e-12)


def test_the_same_seed_extracts_the_same(planted: Prepared) -> None:
    model = reader(planted)
    params: dict[str, Any] = {"epochs": 25, "limit": 64, "sparsity": 2.0}
    once, again, other = (extract(planted, model, seed, **params).rows for seed in (0, 0, 1))
    shifted = extract(planted, model, seed=1, **params).rows
    assert once.equals(again) and not once.equals(other) and other.equals(shifted)
    assert 0 < table_mean(once, "length") < 1
    before = torch.random.get_rng_state()
    extract(planted, model, epochs=1, limit=3)
    assert torch.equal(before, torch.random.get_rng_state())


def test_the_model_on_trial_learns_nothing(planted: Prepared) -> None:
    model = reader(planted)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    learned(model, planted.split("train"), Learning(2, 1.0, 0, 40, "delete"), "cpu")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_price_above_every_reward_leaves_nothing(planted: Prepared) -> None:
    found = extract(planted, reader(planted), epochs=15, sparsity=500.0)
    rows = table(found, planted.split("test"))
    assert not rows["length"].any() and rows["mass_extracted"].isna().all()
    # nothing is read, twice
    assert (rows["kept"] == rows["kept_random"]).all()


@pytest.mark.parametrize("params", [{"epochs": 0}, {"limit": 0}, {"sparsity": -1.0}])
def test_impossible_learning_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(HeedfulError, match="'extracted' needs"):
        find("extracted", tiny_model(), tiny_split((3,)), **params)


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(HeedfulError, match="no texts with tokens"):
        learned(tiny_model(), tiny_split((0,)), Learning(1, 1.0, 0, 5, "delete"), "cpu")
