"""Words drawn from a masked language model, for models that share its tokenizer or do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

pytest.importorskip("transformers")

from heedful import explain
from heedful.auditing import audit
from heedful.cli.main import main
from heedful.data import default_spec, prepare
from heedful.errors import HeedfulError
from heedful.perturbations import removed, removed_many
from heedful.randomness import example_keys, keyed_uniform
from heedful.runner import Machine, Recipe, trained
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store
from heedful.targets import AuditTarget, open_target
from heedful.targets.infill import Infill
from heedful.types import Batch
from heedful.words import to_tokens, word_mask, word_numbers
from reference.infill import infilled
from tiny_hf import tiny_hf
from tiny_tokenizers import byte_pairs, saved, word_pieces

TEXTS = ["the film is unlikely good !", "a bad story", "it was not a very dull plot , do n't"]
ROWS = [{"text": text} for text in TEXTS]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    words = word_pieces()
    tiny_hf(task="masked", seed=3, vocab_size=len(words)).save_pretrained(folder / "masked")
    words.save_pretrained(folder / "masked")
    return {
        "masked": folder / "masked",
        "bert": saved(folder / "bert", vocab_size=len(words)),
        "bytes": saved(folder / "bytes", byte_pairs(), name="Roberta", vocab_size=300),
    }


@pytest.fixture
def target(folders: dict[str, Path]) -> Iterator[AuditTarget]:
    with open_target(
        folders["bert"], ROWS, label_column=None, infill=folders["masked"], dtype="float64"
    ) as found:
        yield found


def gone_from(batch: Batch, seed: int = 0) -> torch.Tensor:
    there = word_mask(batch.texts["a"])
    draw = torch.rand(there.shape, generator=torch.Generator().manual_seed(seed))
    return there & (draw < 0.5)


def test_words_are_those_that_the_masked_model_draws(target: AuditTarget) -> None:
    batch = target.encode(range(3))
    gone, text = gone_from(batch), batch.texts["a"]
    assert target.infill is not None and batch.infiller is not None
    filled = batch.infiller(batch, to_tokens(gone, text))
    masked = target.infill.masked
    first, second = (column.tolist() for column in target.infill.tokens)
    assert first == second  # one tokenizer
    shared = {masked.tokenizer.decode([token]): token for token in first}
    assert "good" in shared and "like" not in shared and "[MASK]" not in shared
    draws = keyed_uniform(example_keys(0, batch.ids, "infill"), (word_mask(text).shape[1],))
    for row, words in enumerate(document.surface for document in target.documents):
        lost = {n: float(draws[row, n]) for n in gone[row].nonzero().flatten().tolist()}
        new = infilled(masked.module, masked.tokenizer, words, shared, lost)
        numbers = word_numbers(filled)[row].tolist()
        tokens = filled.tokens[row].tolist()
        old = dict(zip(word_numbers(text)[row].tolist(), text.tokens[row].tolist(), strict=True))
        for number in range(len(words)):
            own = [t for t, n in zip(tokens, numbers, strict=True) if n == number]
            assert own[0] == (shared[new[number]] if number in new else old.get(number, own[0]))
            assert number not in new or len(own) == 1


def test_a_word_of_several_tokens_becomes_one(target: AuditTarget) -> None:
    """`unlikely` is un, like, ly."""
    batch = target.encode([0])
    text, words = batch.texts["a"], target.documents[0].surface
    gone = torch.tensor([[word == "unlikely" for word in words]])
    assert batch.infiller is not None
    filled = batch.infiller(batch, to_tokens(gone, text))
    assert int(filled.lengths) == int(text.lengths) - 2
    kept = word_numbers(text) != words.index("unlikely")
    other = word_numbers(filled) != words.index("unlikely")
    assert torch.equal(filled.tokens[other], text.tokens[kept])


def test_batches_padding_and_repetition_change_no_word(target: AuditTarget) -> None:
    together = target.encode(range(3))
    gone = gone_from(together)
    whole = removed(target.model, together, gone, "infill")
    for row in range(3):
        alone = target.encode([row])
        width = word_mask(alone.texts["a"]).shape[1]
        own = removed(target.model, alone, gone[row : row + 1, :width], "infill")
        torch.testing.assert_close(own[0], whole[row], atol=1e-5, rtol=0)
    many = removed_many(target.model, together, gone[:, None].repeat(1, 2, 1), "infill")
    torch.testing.assert_close(many[:, 1], whole, atol=1e-5, rtol=0)
    nothing = removed(target.model, together, torch.zeros_like(gone), "infill")
    torch.testing.assert_close(nothing, target.model(together).logits.double())


def test_a_word_has_one_draw_in_all_sets(target: AuditTarget) -> None:
    """A masked model that looks at nothing draws the same word whatever else is gone."""
    assert target.infill is not None
    flat = replace(target.infill)
    object.__setattr__(flat, "chances", lambda windows: _flat(flat, windows))
    batch = replace(target, infill=flat).encode([2])
    assert batch.infiller is not None
    one, all_of_them = torch.zeros(2, word_mask(batch.texts["a"]).shape[1], dtype=torch.bool)
    one[1], all_of_them[:] = True, True
    few, many = (
        batch.infiller(batch, to_tokens(gone[None], batch.texts["a"]))
        for gone in (one, all_of_them)
    )
    assert int(few.tokens[word_numbers(few) == 1]) == int(many.tokens[word_numbers(many) == 1])
    assert len(set(many.tokens[word_numbers(many) >= 0].tolist())) > 3


def _flat(infill: Infill, windows: list) -> torch.Tensor:
    count = sum(len(window.places) for window in windows)
    size = len(infill.tokens[0])
    return torch.full((count, size), 1 / size, dtype=torch.float64)


def test_long_texts_are_read_in_parts(target: AuditTarget) -> None:
    """Seven pieces of room: the text's tokens, 1 and 3 to a part, with special tokens around."""
    assert target.infill is not None
    short = replace(target.infill, limit=5)
    words, gone = ["a", "unlikely", "film", "is", "bad"], [True, False, False, False, True]
    windows = short.windows(words, gone)
    cls, sep, mask = 0, 2, 4
    names = {word: short.tokens_of(word)[0] for word in ("film", "is")}
    assert [window.tokens for window in windows] == [
        [cls, mask, sep],
        [cls, names["film"], names["is"], mask, sep],
    ]
    assert [window.places for window in windows] == [[(1, 0)], [(3, 4)]]


def test_other_tokenizers_have_words_in_common(folders: dict[str, Path]) -> None:
    """`good` is one token to both models, and has other numbers."""
    with open_target(
        folders["bytes"], ROWS[:2], label_column=None, infill=folders["masked"]
    ) as found:
        assert found.infill is not None and found.single_tokens is not None
        masked, own = found.infill.tokens
        spoken = [found.infill.masked.tokenizer.decode([token]) for token in masked.tolist()]
        assert "good" in spoken and "plot" not in spoken
        assert own.tolist() == list(found.single_tokens(spoken))
        batch = found.encode([0])
        assert batch.infiller is not None
        text = batch.texts["a"]
        filled = batch.infiller(batch, to_tokens(word_mask(text), text))
        assert set(filled.tokens[word_numbers(filled) >= 0].tolist()) <= set(own.tolist())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    rows = "\n".join(
        f"{n % 2},{'good' if n % 2 else 'bad'} film the story {n % 7}" for n in range(90)
    )
    folder = tmp_path_factory.mktemp("own")
    (folder / "reviews.csv").write_text(f"label,text\n{rows}\n", encoding="utf8")
    path = str(folder / "reviews.csv")
    spec = default_spec("file", path=path, tokenizer="words", vectors="random", dimension=8)
    store = Store(folder / "store")
    recipe = Recipe(ModelSpec("average", hidden=8), TrainSpec(epochs=1), 0)
    return trained(store, prepare(spec, store), recipe, Machine())


def test_a_model_of_heedful_is_given_its_own_words(run: Run, folders: dict[str, Path]) -> None:
    with open_target(run, n=4, infill=folders["masked"]) as found:
        assert found.infill is not None
        masked, own = found.infill.tokens
        words = [found.infill.masked.tokenizer.decode([token]) for token in masked.tolist()]
        assert set(words) == {"good", "bad", "film", "the", "story"}
        assert found.single_tokens is not None and own.tolist() == found.single_tokens(words)


def test_an_audit_scores_by_it(run: Run, folders: dict[str, Path]) -> None:
    given = {"perturbations": "delete,infill", "infill": folders["masked"], "quick": True, "n": 10}
    found = audit(run, **given)
    rows = found.to_pandas()
    assert {"delete", "infill"} <= set(rows["operator"])
    scores = rows[(rows["operator"] == "infill") & (rows["measure"] == "importance_captured")]
    assert len(scores) and scores["value"].notna().any()


def test_a_text_is_explained_by_it(folders: dict[str, Path]) -> None:
    found = explain(
        folders["bert"],
        TEXTS[0],
        explanations="occlusion:operator=infill",
        infill=folders["masked"],
    )
    (scores,) = found.scores.values()
    assert any(score != 0 for score in scores)


def test_what_cannot_be_is_refused(
    folders: dict[str, Path], run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    bert = str(folders["bert"])
    with pytest.raises(HeedfulError, match="is no masked language model: give one to --infill"):
        explain(bert, TEXTS[0], infill=bert)
    with pytest.raises(HeedfulError, match="infill replaces words, and the unit is token"):
        explain(bert, TEXTS[0], infill=folders["masked"], unit="token")
    with pytest.raises(HeedfulError, match="name its folder with --infill"):
        audit(run, perturbations="delete,infill", quick=True, n=10)
    assert main(["explain", bert, "a film", "--explanations", "occlusion:operator=infill"]) == 2
    assert "--infill" in capsys.readouterr().err
