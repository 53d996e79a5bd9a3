"""CoNLL-U as it is read, and attention between words against arcs and mentions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heedful.corpora.conllu import Mention, Sentence, load_conllu, read_conllu
from heedful.errors import HeedfulError
from heedful.measures.arcs import (
    COREFERENCE,
    agreement_with_arcs,
    between_words,
    offset_baseline,
    shares,
)
from heedful.types import Batch
from heedful.words import word_numbers
from layered import Layered, layered_batch
from tiny_hf import attached_bert


def line(number: str, form: str, head: str, relation: str, misc: str = "_") -> str:
    return "\t".join([number, form, "_", "_", "_", "_", head, relation, "_", misc])


SAMPLE = [
    "# sent_id = garden",
    "# text = The gardener's dog saw her.",
    line("1", "The", "2", "det", "Entity=(e2-animal-3(e1-person-2"),
    line("2", "gardener", "4", "nmod", "SpaceAfter=No"),
    line("3", "'s", "2", "case", "Entity=e1)"),
    line("4", "dog", "5", "nsubj", "Entity=e2)"),
    line("5", "saw", "0", "root"),
    line("6-7", "herself", "_", "_"),
    line("6", "her", "5", "obj", "SpaceAfter=No|Entity=(e1-person-1)"),
    line("6.1", "left", "_", "_"),
    line("7", ".", "5", "punct"),
    "",
    line("1", "Rain", "0", "root", "Entity=(e9[1/2]-rain-1)"),
    line("2", "fell", "1", "dep", "Entity=(e7-open-1"),
]


def test_words_heads_and_mentions_are_read() -> None:
    first, second = read_conllu(SAMPLE)
    assert first.id == "garden" and second.id == "2"
    assert first.words == ("The", "gardener", "'s", "dog", "saw", "her", ".")
    assert first.heads == (1, 3, 1, 4, -1, 4, 4)
    assert first.relations[1] == "nmod"
    assert set(first.mentions) == {Mention("e1", 0, 3), Mention("e2", 0, 4), Mention("e1", 5, 6)}
    assert second.mentions == ()


def test_the_file_is_read_and_bad_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "some.conllu"
    path.write_text("\n".join(SAMPLE), encoding="utf8")
    assert load_conllu(path) == list(read_conllu(SAMPLE))
    with pytest.raises(HeedfulError, match="cannot read"):
        load_conllu(tmp_path / "none.conllu")
    for bad, message in (
        (["1 The _"], "line 1 has 1 columns"),
        ([line("1", "The", "x", "det")], "no number"),
        ([line("1", "The", "7", "det")], "no other word"),
        ([line("1", "The", "1", "det")], "no other word"),
        ([line("2", "The", "0", "root")], "not numbered"),
    ):
        with pytest.raises(HeedfulError, match=message):
            list(read_conllu(bad))


def test_attention_between_words_is_the_mean_of_sums() -> None:
    batch = layered_batch((5, 2))
    with torch.no_grad():
        weights = Layered()(batch).weights["layer0"].double()
    found = between_words(weights, batch.texts["a"])
    numbers = word_numbers(batch.texts["a"]).tolist()
    for example, row in enumerate(numbers):
        for one in range(max(row) + 1):
            for other in range(max(row) + 1):
                queries = [i for i, n in enumerate(row) if n == one]
                keys = [i for i, n in enumerate(row) if n == other]
                sums = [weights[example, 1, q, keys].sum().item() for q in queries]
                expected = sum(sums) / len(sums)
                assert found[example, 1, one, other].item() == pytest.approx(expected)


def sentence(heads: tuple[int, ...], mentions: tuple[Mention, ...] = ()) -> Sentence:
    words = tuple(f"w{i}" for i in range(len(heads)))
    return Sentence("s", words, heads, tuple(f"r{i % 2}" for i in range(len(heads))), mentions)


def test_hits_are_counted_word_by_word() -> None:
    batch, model = layered_batch((6, 4)), Layered()  # three words and two
    heads = [(1, -1, 1), (-1, 0)]
    mentions = (Mention("e", 0, 1), Mention("e", 2, 3))
    sentences = [sentence(heads[0], mentions), sentence(heads[1])]
    found = agreement_with_arcs(model, batch, sentences)
    with torch.no_grad():
        weights = model(batch).weights["layer1"].double()
    words = between_words(weights, batch.texts["a"])[:, 0]
    heaviest = [
        [
            max((j for j in range(n) if j != i), key=lambda j: words[e, i, j].item())
            for i in range(n)
        ]
        for e, n in ((0, 3), (1, 2))
    ]
    part = found.query("site == 'layer1' and head == 0").set_index(["example", "relation"])
    assert part.loc[("text-0", "r0"), "hits"] == sum(heaviest[0][i] == 1 for i in (0, 2))
    assert part.loc[("text-0", "r0"), "words"] == 2
    assert part.loc[("text-1", "r1"), ["words", "hits"]].tolist() == [1, 1]
    named = [heaviest[0][0] == 2, heaviest[0][2] == 0]
    assert part.loc[("text-0", COREFERENCE), ["words", "hits"]].tolist() == [2, sum(named)]
    assert ("text-0", "r1") not in part.index  # the root
    total = shares(found).set_index(["site", "head", "relation"])
    share = (part["hits"]["text-0", "r0"]) / 2
    assert total.loc[("layer1", 0, "r0"), "share"] == pytest.approx(share)


def test_words_without_a_token_are_left_out() -> None:
    batch = _without_word(layered_batch((6,)), 1)
    found = agreement_with_arcs(Layered(layers=1), batch, [sentence((1, -1, 0))])
    assert found.query("head == 0")[["relation", "words"]].to_numpy().tolist() == [["r0", 1]]


def _without_word(batch: Batch, word: int) -> Batch:
    text = batch.texts["a"]
    assert text.words is not None
    words = text.words.masked_fill(text.words == word, -1)
    return replace(batch, texts={"a": replace(text, words=words)})


def test_the_best_distance_of_each_relation() -> None:
    """r0 is at +1 once and at −1 once, r1 at −1 twice."""
    found = offset_baseline([sentence((1, -1, 1, 2)), sentence((-1, 0))])
    assert found == {"r0": 0.5, "r1": 1.0}


def test_hugging_face_models_are_asked_the_same_way() -> None:
    with attached_bert(lengths=(5, 8)) as (model, batch):
        sizes = word_numbers(batch.texts["a"]).amax(-1) + 1
        sentences = [sentence((-1, *range(int(n) - 1))) for n in sizes]
        found = agreement_with_arcs(model, batch, sentences)
    assert found["site"].nunique() == 2 and found["head"].nunique() == 2
    assert found.groupby(["site", "head"])["words"].sum().eq(int(sizes.sum()) - 2).all()
    with pytest.raises(HeedfulError, match="differ in length"):
        agreement_with_arcs(Layered(), layered_batch((2, 3)), sentences[:1])
