"""Models of our own and modules of anybody's, with their corpus or with new texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from heedful.auditing import Plan
from heedful.data import Prepared, default_spec, prepare
from heedful.errors import HeedfulError
from heedful.interventions import restored
from heedful.runner import Machine, Recipe, trained
from heedful.specs import CorpusSpec, ModelSpec, PrepareSpec, TrainSpec
from heedful.store import Run, Store, store_at
from heedful.targets import Adapter, Span, open_target, predicted, read_documents
from heedful.training.loss import predict
from heedful.types import Batch, Keep, Trace
from tiny import tiny_model

PLANTED = default_spec("planted", n_train=60, n_dev=10, n_test=20, dimension=8)


def train(store: Store, spec: CorpusSpec) -> Run:
    corpus = prepare(spec, store)
    return trained(store, corpus, Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 0), Machine())


@pytest.fixture(scope="module")
def run(store: Store) -> Run:
    return train(store, PLANTED)


def test_a_restored_model_is_the_trained_one(run: Run) -> None:
    state, kept = restored(run).state_dict(), load_file(run.weights("weights"))
    assert state.keys() == kept.keys()
    assert all(torch.equal(state[name], kept[name]) for name in kept)


def test_a_run_brings_its_own_texts(store: Store, run: Run) -> None:
    corpus = store.open(run.upstream["corpus"])
    split = Prepared(corpus).split("test")
    wanted = predict(restored(run), split, "cpu").argmax(-1)
    for source in (run.key, run.key[:12], run, run.path, str(run.path)):
        with open_target(source, store=store, device="cpu") as subject:
            assert predicted(subject).tolist() == wanted.tolist()
    assert [document.id for document in subject.documents] == list(split.ids)
    assert [document.label for document in subject.documents] == split.labels.tolist()
    for index, document in enumerate(subject.documents):
        rationale = split.rationale(index)
        assert list(document.surface) == split.surface(index)
        assert rationale is not None and document.rationale == tuple(rationale.tolist())
        ours, theirs = subject.encode([index]).texts["a"], split.batch([index]).texts["a"]
        assert ours.tokens.tolist() == theirs.tokens.tolist()
        assert ours.mask.tolist() == theirs.mask.tolist()
    assert subject.family == "bilstm-additive" and subject.key["run"] == run.key
    with open_target(run, "planted", split="dev") as dev:
        assert len(dev) == 10 and dev.key["data"] != subject.key["data"]


def test_a_store_may_be_named_by_its_folder(store: Store, run: Run) -> None:
    for named in (store.root, str(store.root)):
        with open_target(run.key[:12], store=named) as subject:
            assert subject.key["run"] == run.key
        assert prepare(PLANTED, named).key == run.upstream["corpus"]
        assert Plan(named).opened is not None
    assert store_at(store) is store and Plan(store).opened is store
    assert Plan().opened is None


@pytest.mark.parametrize("tokenizer", ["words", "whitespace", "spacy"])
def test_new_texts_are_cut_as_the_corpus_was(tmp_path: Path, tokenizer: str) -> None:
    if tokenizer == "spacy":
        pytest.importorskip("spacy")
    lines = [f"It's a {word} film, don't you think? 7 of 10" for word in ("good", "bad")] * 8
    rows = "".join(f'"{line}",{i % 2}\n' for i, line in enumerate(lines))
    (tmp_path / "x.csv").write_text("text,label\n" + rows)
    made = PrepareSpec(tokenizer=tokenizer, dev_fraction=0.2, dimension=4)
    store = Store(tmp_path / "store")
    run = train(store, CorpusSpec("file", {"path": str(tmp_path / "x.csv")}, made))
    split = Prepared(store.open(run.upstream["corpus"])).split("test")
    texts = [{"text": split.text(i), "label": int(split.labels[i])} for i in range(len(split))]
    with open_target(run, texts) as subject:
        for index in range(len(split)):
            assert subject.rows[index].tokens.tolist() == split.tokens["a"][index].tolist()
            assert list(subject.documents[index].surface) == split.surface(index)
        assert [document.label for document in subject.documents] == split.labels.tolist()


def cnn(folder: Path) -> CorpusSpec:
    """Questions whose passages have different entities."""
    for split in ("training", "validation", "test"):
        for number in range(9):
            path = folder / "cnn" / "questions" / split / f"{number}.question"
            path.parent.mkdir(parents=True, exist_ok=True)
            names = [f"@entity{(number + i) % 5}" for i in range(2)]
            parts = ("url", f"{names[0]} met {names[1]}", f"@placeholder saw {names[0]}", names[1])
            path.write_text("\n\n".join([*parts, ""]), encoding="utf8")
    return default_spec("cnn", vectors="random", min_df=1, tokenizer="whitespace", dimension=4)


def test_only_candidates_can_be_the_answer(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    corpus = prepare(cnn(tmp_path), store, tmp_path)
    spec = ModelSpec(hidden=8, family="pair", decoder="query")
    run = trained(store, corpus, Recipe(spec, TrainSpec(epochs=1), 0), Machine())
    split = Prepared(corpus).split("test")
    candidates = split.candidates
    assert candidates is not None and not candidates.all()
    with open_target(run) as subject:
        batch = subject.encode(range(len(subject)))
        assert batch.candidates is not None and torch.equal(batch.candidates, candidates)
        assert (
            predicted(subject).tolist() == predict(restored(run), split, "cpu").argmax(-1).tolist()
        )
        assert subject.rows[0].cut(2).candidates == subject.rows[0].candidates
    read = read_documents("cnn", data_dir=tmp_path)
    names = {document.id: document.candidates for document in subject.documents}
    assert {document.id: document.candidates for document in read} == names


def test_sub_words_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    spec = replace(PLANTED, prepare=replace(PLANTED.prepare, tokenizer="bpe", pieces=80))
    run = train(Store(tmp_path), spec)
    with pytest.raises(HeedfulError, match="reads sub-words"), open_target(run):
        pass


def test_unknown_words_and_cut_texts_are_noted(run: Run) -> None:
    rows = [{"text": "zzz yyy xxx www", "label": "positive"}]
    with open_target(run, rows, max_length=4, dtype="float64") as subject:
        assert subject.documents[0].label == 1 and subject.rows[0].tokens.tolist() == [2, 1, 1, 3]
        assert subject.truncated.texts == 1 and subject.truncated.words == 2
        assert subject.notes[0].startswith("100% of all words are unknown")
        assert subject.model(subject.encode([0])).logits.dtype == torch.float64


def test_what_is_no_model_of_ours_is_refused(store: Store, run: Run) -> None:
    cases: list[tuple[Any, Any, dict[str, Any], str]] = [
        (
            run.upstream["corpus"],
            None,
            {"store": store},
            "is of kind corpus: give a run of kind model",
        ),
        (store.open(run.upstream["corpus"]).path, None, {}, "is of kind corpus"),
        (run.key, None, {}, "looks like the key of a run: name the store"),
        ("model-0123", None, {"store": store}, "no run 'model-0123'"),
        (run, [{"text": "x", "label": "odd"}], {}, "data has 'odd', the model has 'negative'"),
        (run, [{"text": "x", "b": "y"}], {"text_b_column": "b"}, "reads one text"),
        (run, None, {"params": {"seed": 3}}, "as it was prepared, has no parameter 'seed'"),
        (run, "planted", {"params": {"seed": 3}}, "has no parameter 'seed': leave it"),
        (run, None, {"cluster_column": "c"}, "leave cluster_column out"),
    ]
    for model, data, options, match in cases:
        with pytest.raises(HeedfulError, match=match), open_target(model, data, **options):
            pass


class Mine:
    """The adapter of the documentation, around a tiny model."""

    label_names = ("negative", "positive")

    def __init__(self) -> None:
        self.model = tiny_model()

    def tokenise(self, text: str) -> tuple[Sequence[int], Sequence[Span]]:
        found = list(re.finditer(r"\w+|[^\w\s]", text))
        ids = [4 + len(match.group()) for match in found]
        return [2, *ids, 3], [(0, 0), *(match.span() for match in found), (0, 0)]


def test_a_module_with_an_adapter() -> None:
    rows = [{"text": "don't go", "label": "Positive"}, {"text": "so", "label": "negative"}]
    adapter = Mine()
    assert isinstance(adapter, Adapter)
    with open_target(adapter, rows) as subject:
        assert subject.rows[0].words.tolist() == [-1, 0, 0, 0, 1, -1]
        assert subject.rows[0].mask.tolist() == [False, True, True, True, True, False]
        assert [document.label for document in subject.documents] == [1, 0]
        assert subject.model(subject.encode([0, 1])).logits.shape == (2, 1)
        assert subject.family == "OneSequence" and subject.device == "cpu"
    with open_target(adapter, rows, max_length=3) as subject:
        assert len(subject.rows[0]) == 3 and subject.truncated.words == 1


class Former(torch.nn.Module):
    """A model written for version 0.1, by the names things had there."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = tiny_model()
        self.sites, self.fillers = self.inner.sites, self.inner.fillers
        self.embed, self.resume = self.inner.embed, self.inner.resume
        self.without_each = self.inner.leave_one_out_logits

    def forward(self, batch: Batch, edits: Any = None, keep: Keep = Keep()) -> Trace:
        inner = self.inner(batch, edits, Keep(readers=keep.readers))  # type: ignore[attr-defined, call-arg]
        rows = {"attention": inner.readers["attention"]} if keep.readers else {}  # type: ignore[attr-defined]
        return Trace(inner.logits, inner.weights, inner.masks, readers=rows)  # type: ignore[call-arg]


def test_a_module_written_for_version_0_1_still_works() -> None:
    adapter = Mine()
    adapter.model = Former()  # type: ignore[assignment]
    with open_target(adapter, [{"text": "so good", "label": "positive"}]) as subject:
        batch = subject.encode([0])
        trace = subject.model(batch, keep=Keep(readout_weights=True))
        assert trace.readout_weights["attention"].tolist() == [[1.0]]
        assert subject.model.leave_one_out_logits(batch).less.shape == (1, 4, 1)
    assert not hasattr(adapter.model, "leave_one_out_logits")
    with pytest.raises(AttributeError, match="'Keep' object has no attribute 'reader'"):
        _ = Keep().reader  # type: ignore[attr-defined]


def test_a_broken_adapter_is_refused() -> None:
    class Off(Mine):
        def tokenise(self, text: str) -> tuple[Sequence[int], Sequence[Span]]:
            return [2, 5, 3], [(0, 0), (0, 99), (0, 0)]

    class NoModel(Mine):
        def __init__(self) -> None:
            self.model = torch.nn.Linear(1, 1)  # type: ignore[assignment]

    class Blind(Mine):
        def tokenise(self, text: str) -> tuple[Sequence[int], Sequence[Span]]:
            return [2, 3], [(0, 0), (0, 0)]

    rows = [{"text": "good film", "label": "positive"}]
    for adapter, match in (
        (Off(), "tokens of 'row-000001' do not fit its text"),
        (NoModel(), "a Linear, must be a torch module that keeps"),
        (Blind(), "finds no word in the list"),
    ):
        with pytest.raises(HeedfulError, match=match), open_target(adapter, rows):
            pass


@pytest.mark.parametrize("role", ["answer", "contrast", "position"])
def test_columns_of_what_a_model_is_not_asked_are_refused(role: str) -> None:
    rows = [{"text": "good film", "label": "positive", "x": "1"}]
    options: dict[str, Any] = {f"{role}_column": "x"}
    message = rf"an adapter takes no {role}_column: leave it \(--{role}-column\) out"
    with pytest.raises(HeedfulError, match=message), open_target(Mine(), rows, **options):
        pass
