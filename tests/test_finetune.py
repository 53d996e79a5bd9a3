"""Fine-tuning: a pretrained folder in, a folder that opens and predicts the same out."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2Model,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

from heedful.cli import main
from heedful.data import CORPORA, Example, RawCorpus
from heedful.errors import HeedfulError
from heedful.models import quiet
from heedful.runner import FOLDER, Machine, Task, finetuned, task
from heedful.runner import finetune as runner
from heedful.specs import CorpusSpec, PrepareSpec, TermSpec
from heedful.store import Run, Store, pack, run_key, unpack, write_folder
from heedful.targets import open_target, predicted
from heedful.training import (
    DevScore,
    FinetuneSpec,
    encode,
    encode_splits,
    load_pretrained,
    pretrained_digests,
    save_classifier,
)
from killing import Killed, dies_in

loop = import_module("heedful.training.finetune")


PARAMS = {"n_train": 800, "n_dev": 64, "n_test": 64, "distractors": 0, "negation": 0.0}
CORPUS = CorpusSpec("planted", PARAMS, PrepareSpec(tokenizer="given"))
SPEC = FinetuneSpec(epochs=2, batch_size=8, learning_rate=2e-3, max_length=40)
MACHINE = Machine(threads=1)
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def tokenizer(words: list[str], **options: Any) -> PreTrainedTokenizerFast:
    """Whole words, lower case, between [CLS] and [SEP]."""
    vocabulary = {word: number for number, word in enumerate([*SPECIALS, *sorted(set(words))])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = dict(zip(["pad", "unk", "cls", "sep", "mask"], SPECIALS, strict=True))
    special = {f"{name}_token": token for name, token in names.items()} | options
    return PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=64, **special)


TINY = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


def tiny_bert(folder: Path, words: list[str]) -> Path:
    """A random encoder without a head, as a pretrained one comes."""
    own = tokenizer(words)
    config = BertConfig(vocab_size=len(own), max_position_embeddings=64, **TINY)
    torch.manual_seed(0)
    with quiet():
        BertModel(config).save_pretrained(folder)
        own.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def few_resamples() -> Iterator[None]:
    """Intervals of the test scores take longer than training a tiny model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "_RESAMPLES", 40)
        yield


@pytest.fixture(scope="module")
def raw() -> RawCorpus:
    corpus: RawCorpus = CORPORA["planted"].make(None, **PARAMS)
    return corpus


@pytest.fixture(scope="module")
def folder(raw: RawCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = [word.lower() for e in raw.examples for word, _, _ in (e.tokens or {})["a"]]
    return tiny_bert(tmp_path_factory.mktemp("pretrained"), words)


@pytest.fixture(scope="module")
def work(folder: Path) -> Task:
    return task(folder, CORPUS, SPEC, None)


@pytest.fixture(scope="module")
def made(work: Task, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Run]:
    store = Store(tmp_path_factory.mktemp("store"))
    return store, finetuned(store, work, 0, MACHINE)


@pytest.fixture(scope="module")
def small(folder: Path) -> Task:
    """Of each split only a few texts."""
    few = replace(CORPUS, prepare=replace(CORPUS.prepare, limit=48))
    return task(folder, few, SPEC, None)


@pytest.fixture(scope="module")
def whole(small: Task, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return finetuned(Store(tmp_path_factory.mktemp("whole")), small, 0, MACHINE)


def weights(run: Run) -> bytes:
    return (run.folder(FOLDER) / "model.safetensors").read_bytes()


def scores(run: Run) -> dict[str, tuple[float, float, float]]:
    table = run.table("summary").set_index("measure")[["mean", "low", "high"]]
    return {str(name): tuple(row) for name, row in table.iterrows()}  # type: ignore[misc]


def test_it_learns(made: tuple[Store, Run]) -> None:
    _, run = made
    found = scores(run)
    assert found["majority"][0] < 0.65
    accuracy, low, high = found["accuracy"]
    assert accuracy > 0.85 and low <= accuracy <= high and high - low < 0.3
    assert run.table("history")["epoch"].tolist() == [1, 2]
    assert run.table("history")["loss"].iloc[1] < run.table("history")["loss"].iloc[0]


def test_the_folder_opens_and_predicts_the_same(made: tuple[Store, Run], raw: RawCorpus) -> None:
    """By transformers alone, one text at a time."""
    _, run = made
    with quiet():
        model = AutoModelForSequenceClassification.from_pretrained(run.folder(FOLDER)).eval()
        own = AutoTokenizer.from_pretrained(run.folder(FOLDER))
    assert own.backend_tokenizer.truncation is None  # as it came, not as it was used
    assert [model.config.id2label[n] for n in range(2)] == list(raw.labels)
    assert model.config.label2id == {label: n for n, label in enumerate(raw.labels)}
    table = run.table("predictions").set_index("example")
    texts = {e.id: e.texts["a"] for e in raw.examples}
    for name in list(table.index[:12]):
        with torch.no_grad():
            logits = model(**own(texts[name], return_tensors="pt")).logits[0]
        np.testing.assert_allclose(
            torch.softmax(logits, 0).numpy(), table.loc[name, ["p0", "p1"]].astype(float), atol=1e-5
        )


def test_it_is_tried_on_the_texts_it_was_tested_on(made: tuple[Store, Run]) -> None:
    """By its run or its folder; the corpus's usual parameters would be another corpus."""
    _, run = made
    for source in (run, run.folder(FOLDER), str(run.folder(FOLDER))):
        with open_target(source, "planted", device="cpu") as subject:
            names = [document.id for document in subject.documents]
            assert names == run.table("predictions")["example"].tolist()
            wanted = run.table("predictions")["predicted"].tolist()
            assert predicted(subject).tolist() == wanted


def test_the_same_seed_gives_the_same_bytes(whole: Run, small: Task, tmp_path: Path) -> None:
    torch.manual_seed(123)  # what was drawn before does not matter
    again = finetuned(Store(tmp_path), small, 0, MACHINE)
    assert again.key == whole.key
    assert weights(again) == weights(whole)
    differ = set(again.record.files.items()) ^ set(whole.record.files.items())
    assert {name for name, _ in differ} <= {"history.parquet"}  # it has seconds
    other = finetuned(Store(tmp_path), small, 1, MACHINE)
    assert other.key != whole.key and weights(other) != weights(whole)


def test_a_killed_training_ends_like_one_that_was_not(
    whole: Run, small: Task, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    with pytest.raises(Killed):
        finetuned(store, small, 0, MACHINE, dies_in(2))
    assert store.keys() == []
    kept = [path.name for path in store.scratch(whole.key).iterdir()]
    assert kept == ["checkpoint.safetensors"]
    told: list[str] = []
    resumed = finetuned(store, small, 0, MACHINE, lambda label, *_: told.append(label))
    assert set(told) == {"epoch 2 of 2"}
    assert weights(resumed) == weights(whole)
    columns = ["epoch", "loss", "dev_score", "dev_loss"]
    assert resumed.table("history")[columns].equals(whole.table("history")[columns])
    assert list((tmp_path / "scratch").iterdir()) == []


def test_terms_make_another_model(whole: Run, small: Task, folder: Path, tmp_path: Path) -> None:
    term = TermSpec("tying", 0.5, (("site", "encoder.layer.0.attention.self"),))
    spec = replace(SPEC, epochs=1, terms=(term, TermSpec("diversity", 0.5)))
    run = finetuned(Store(tmp_path), task(folder, small.corpus, spec, None), 0, MACHINE)
    assert run.key != whole.key
    assert [each["name"] for each in run.facts["train"]["terms"]] == ["tying", "diversity"]
    history = run.table("history").iloc[0]
    assert history["tying0.5"] == 0  # the only layer is given the embeddings themselves
    assert history["loss"] == pytest.approx(history["goal"] + history["diversity0.5"])
    assert "terms" not in whole.facts["train"]


def test_finished_work_is_found(made: tuple[Store, Run], work: Task) -> None:
    store, run = made

    def refuse(label: str, done: int, total: int) -> None:
        raise Killed

    assert finetuned(store, work, 0, MACHINE, refuse).key == run.key


def test_without_data_it_is_tried_on_the_test_split_of_its_own_corpus(
    made: tuple[Store, Run], work: Task
) -> None:
    store, run = made
    texts = {e.texts["a"] for e in work.raw.examples if e.split == "test"}
    with open_target(run.key, store=store) as subject:
        assert {each.texts["a"] for each in subject.documents} == texts
    for corpus in ({}, {**run.facts["corpus"], "prepare": {"seed": "one"}}):
        strange = {**run.facts, "corpus": corpus}
        with store.writing("model", strange) as writer:
            shutil.copytree(run.folder(FOLDER), writer.path / FOLDER)
            write_folder(writer.path / FOLDER)
        said = pytest.raises(HeedfulError, match="its facts .* make it again")
        with said, open_target(run_key("model", strange), store=store):
            pass


def test_the_next_command_works_as_it_is_printed(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{word} film number {n},{word}" for n in range(40) for word in ("good", "bad")]
    (tmp_path / "my texts.csv").write_text("\n".join(["text,label", *lines]))
    own = ["--epochs", "1", "--max-length", "32", "--store", "my store"]
    assert main(["train", "--pretrained", str(folder), *own, "--corpus", "my texts.csv"]) == 0
    printed = capsys.readouterr().err.partition("next: heedful ")[2].splitlines()[0]
    quick = ["--quick", "--explanations", "attention", "--only", "interventions"]
    assert main([*shlex.split(printed), *quick]) == 0
    facts = json.loads((tmp_path / "audit" / "facts.json").read_text())
    assert facts["data"] == "my texts.csv, test split"


def test_facts_name_bytes_and_no_paths(
    made: tuple[Store, Run], folder: Path, tmp_path: Path
) -> None:
    _, run = made
    facts = run.facts
    assert set(facts["pretrained"]) >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert facts["pretrained"] == pretrained_digests(folder)
    assert facts["train"]["learning_rate"] == SPEC.learning_rate
    assert (facts["seed"], len(facts["data"])) == (0, 64)
    written = [path.read_bytes() for path in run.path.rglob("*.json")]
    assert not any(str(folder).encode() in content for content in written)
    fewer = task(folder, replace(CORPUS, params={**PARAMS, "n_dev": 63}), SPEC, None)
    assert fewer.facts["data"] != facts["data"]


def test_a_changed_folder_is_damage(made: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = made
    parts = pack(store, [run.key], tmp_path / "parts", max_mb=1)
    for change in ("changed", "gone", "new"):
        other = Store(tmp_path / change)
        assert unpack(other, parts) == ([run.key], [])
        config = other.open(run.key).folder(FOLDER) / "config.json"
        if change == "changed":
            config.write_text("{}")
        elif change == "gone":
            config.unlink()
        else:
            (config.parent / "pytorch_model.bin").write_bytes(b"")
        name = "pytorch_model.bin" if change == "new" else "config.json"
        assert Store(other.root).damaged() == {run.key: f"its file hf/{name} was changed"}


def test_rates_go_up_and_down() -> None:
    """Ten steps, two to warm up: ½, 1, then eight equal steps from 1 to ⅛ of the top."""
    spec = FinetuneSpec(learning_rate=1.0, warmup=0.2)
    rates = [spec.rate(step, 10) for step in range(10)]
    assert rates == pytest.approx([0.5, 1.0, *(n / 8 for n in range(8, 0, -1))])
    flat = FinetuneSpec(learning_rate=1.0, warmup=0.0)
    assert [flat.rate(step, 2) for step in range(2)] == [1.0, 0.5]


def example(name: str, *texts: str, label: int = 0, split: str = "train") -> Example:
    return Example(name, split, dict(zip("ab", texts, strict=False)), label)


def test_texts_are_padded_cut_and_paired(folder: Path) -> None:
    start = load_pretrained(folder, ("no", "yes"), 0, 8)
    single = encode([example("x", "the film"), example("y", "the " * 9)], start, 8)
    batch = single.batch(np.array([1, 0]))
    the = start.tokenizer.convert_tokens_to_ids("the")
    assert batch["input_ids"][0].tolist() == [2, *[the] * 6, 3]
    assert batch["input_ids"][1, 4:].tolist() == [0] * 4
    assert batch["attention_mask"].sum(1).tolist() == [8, 4]
    assert single.cut == 1
    pair = encode([example("x", "the film", "the")], start, 8).batch(np.array([0]))
    assert pair["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1]]


def test_decay_spares_vectors(folder: Path) -> None:
    model = load_pretrained(folder, ("no", "yes"), 0, 8).model
    decayed, spared = loop._optimizer(model, SPEC).param_groups
    assert (decayed["weight_decay"], spared["weight_decay"]) == (0.01, 0.0)
    assert {p.ndim for p in spared["params"]} == {1}
    assert len(decayed["params"]) + len(spared["params"]) == len(list(model.parameters()))


def test_the_best_epoch_is_kept_and_patience_ends(
    work: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = load_pretrained(work.folder, work.raw.labels, 0, 40)
    data = encode_splits(work.raw, start, 40)
    few = {name: part.subset(np.arange(16)) for name, part in data.items()}
    seen: list[torch.Tensor] = []
    scores, losses = [0.5, 0.8, 0.8, 0.6, 0.7, 0.9], [0.9, 0.5, 0.4, 0.1, 0.1, 0.1]
    given: Iterator[DevScore] = map(DevScore, scores, losses)

    def predict(model: Any, *_: Any) -> None:
        seen.append(model.classifier.weight.detach().clone())

    monkeypatch.setattr(loop, "predict", predict)
    monkeypatch.setattr(loop, "class_score", lambda *_: next(given))
    result = loop.finetune(start.model, few, replace(SPEC, epochs=6, patience=2), 0)
    assert result.history["dev_score"].tolist() == scores[:5]
    assert result.history["dev_loss"].tolist() == losses[:5]
    assert torch.equal(result.model.classifier.weight, seen[2])  # of two with 0.8 the lower loss
    assert not torch.equal(seen[1], seen[2])


def test_a_fresh_head_depends_on_the_seed_alone(folder: Path) -> None:
    heads = [
        load_pretrained(folder, ("no", "yes"), seed, 8).model.classifier.weight
        for seed in (0, 0, 1)
    ]
    assert torch.equal(heads[0], heads[1]) and not torch.equal(heads[0], heads[2])


def test_the_head_of_another_task_makes_way(made: tuple[Store, Run]) -> None:
    _, run = made
    model = load_pretrained(run.folder(FOLDER), ("a", "b", "c"), 0, 8).model
    assert model.classifier.weight.shape == (3, 16)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"warmup": 1.0}, "warm-up"),
        ({"weight_decay": -1.0}, "weight decay"),
        ({"max_length": 2}, "--max-length"),
        ({"precision": "int4"}, "bf16, float32, tf32"),
        ({"precision": "tf32"}, "needs a GPU"),
        ({"epochs": 0}, "at least 1"),
        ({"select": "loss"}, "accuracy, auto, f1"),
    ],
)
def test_a_wrong_spec_is_named(work: Task, tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        finetuned(Store(tmp_path), replace(work, spec=replace(SPEC, **change)), 0, MACHINE)


def test_places_before_the_first_position_are_no_room_for_tokens(tmp_path: Path) -> None:
    """RoBERTa counts positions from behind its padding token: two of its places stay empty."""
    own = tokenizer(["good", "bad"])
    config = RobertaConfig(vocab_size=len(own), max_position_embeddings=12, pad_token_id=1, **TINY)
    own.pad_token = own.convert_ids_to_tokens(1)
    with quiet():
        RobertaModel(config).save_pretrained(tmp_path)
        own.save_pretrained(tmp_path)
    with pytest.raises(HeedfulError, match="--max-length is 11, .* at most 10 tokens"):
        load_pretrained(tmp_path, ("a", "b"), 0, 11)
    longest = torch.full((1, 10), 5)
    assert load_pretrained(tmp_path, ("a", "b"), 0, 10).model(longest).logits.isfinite().all()


def broken(folder: Path, tmp_path: Path, how: str) -> Path:
    """A copy of the folder with one thing wrong."""
    copy = tmp_path / how
    if how == "missing":
        return copy
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    if how == "config":
        (copy / "config.json").unlink()
    elif how == "pickle":
        (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    elif how == "weights":
        (copy / "model.safetensors").unlink()
    elif how == "cut":
        (copy / "model.safetensors").write_bytes(b"x")
    elif how == "tokenizer":
        for path in copy.glob("tokenizer*"):
            path.unlink()
    elif how == "vocabulary":
        tokenizer([f"w{n}" for n in range(999)]).save_pretrained(copy)
    elif how == "code":
        facts = json.loads((copy / "config.json").read_text())
        own = {"AutoConfig": "mine.Config", "AutoModelForSequenceClassification": "mine.Model"}
        (copy / "config.json").write_text(json.dumps({**facts, "model_type": "x", "auto_map": own}))
    return copy


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("missing", "there is no folder"),
        ("config", "no config.json"),
        ("pickle", "is a pickle file"),
        ("weights", "holds no weights"),
        ("cut", "cut cannot be loaded: model.safetensors holds no safetensors"),
        ("tokenizer", "has no tokenizer"),
        ("vocabulary", "resize_token_embeddings"),
        ("code", "needs code that comes with the model"),
    ],
)
def test_a_wrong_folder_is_one_sentence(
    folder: Path, tmp_path: Path, how: str, message: str
) -> None:
    with pytest.raises(HeedfulError, match=message) as caught:
        load_pretrained(broken(folder, tmp_path, how), ("no", "yes"), 0, 8)
    assert "\n" not in str(caught.value)


def test_texts_must_fit_the_model(folder: Path) -> None:
    with pytest.raises(HeedfulError, match="at most 64 tokens"):
        load_pretrained(folder, ("no", "yes"), 0, 65)


def decoder(folder: Path, **options: Any) -> Path:
    own = tokenizer(["the", "film"], **options)
    config = GPT2Config(vocab_size=len(own), n_positions=64, n_embd=8, n_layer=1, n_head=1)
    with quiet():
        GPT2Model(config).save_pretrained(folder)
        own.save_pretrained(folder)
    return folder


def test_a_decoder_needs_a_padding_token(tmp_path: Path) -> None:
    with pytest.raises(HeedfulError, match="no padding token"):
        load_pretrained(decoder(tmp_path, pad_token=None), ("no", "yes"), 0, 8)


def test_a_decoder_with_one_ignores_padding(tmp_path: Path) -> None:
    start = load_pretrained(decoder(tmp_path), ("no", "yes"), 0, 8)
    assert not start.segments
    texts = encode([example("x", "the film"), example("y", "the film the film")], start, 8)
    together = loop.predict(start.model, texts, "cpu")
    alone = loop.predict(start.model, texts.subset(np.array([0])), "cpu")
    np.testing.assert_allclose(together[:1], alone, atol=1e-6)
    save_classifier(start, tmp_path / "out")
    assert AutoTokenizer.from_pretrained(tmp_path / "out").pad_token == "[PAD]"


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (("train", "train", "test"), "dev split is empty"),
        (("train", "dev", "test"), "lacks class 'yes'"),
    ],
)
def test_splits_must_be_there(folder: Path, splits: tuple[str, ...], message: str) -> None:
    start = load_pretrained(folder, ("no", "yes"), 0, 8)
    examples = [example(str(n), "the", split=split) for n, split in enumerate(splits)]
    with pytest.raises(HeedfulError, match=message):
        encode_splits(RawCorpus(("no", "yes"), examples, {}), start, 8)


def test_the_command_on_a_file_needs_no_prepared_corpus(
    folder: Path, raw: RawCorpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"id": e.id, "text": e.texts["a"], "label": raw.labels[e.label], "split": e.split}
        for e in raw.examples
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--split-column", "split", "--max-length", "40", "--epochs", "1", "--seeds", "2"]
    options += ["--limit", "40", "--param", "id_column=id"]
    command = ["train", "--pretrained", folder, "--corpus", tmp_path / "mine.jsonl", *options]
    store = ["--store", tmp_path / "store", "--device", "cpu"]
    assert main([str(part) for part in [*command, *store, "--json"]]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert len({run["run"] for run in runs}) == 2
    assert {score["measure"] for score in runs[0]["scores"]} >= {"accuracy", "f1"}
    assert all((Path(run["folder"]) / "model.safetensors").is_file() for run in runs)
    assert Store(tmp_path / "store").open(runs[0]["run"]).kind == "model"
    assert {path.split("-")[0] for path in Store(tmp_path / "store").keys()} == {"model"}
    assert main([str(part) for part in [*command, *store]]) == 0
    assert runs[1]["folder"] in capsys.readouterr().out
    assert main([str(part) for part in [*command, *store, "--dry-run"]]) == 0
    assert "mine.jsonl" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pretrained", "nowhere"], "there is no folder nowhere"),
        (["--pretrained", "nowhere", "--encoder", "cnn"], "leave out --encoder"),
        (["--max-length", "9"], "leave out --max-length"),
    ],
)
def test_wrong_options_are_one_sentence(
    capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["train", "--corpus", "planted", *options]) == 2
    assert message in capsys.readouterr().err
