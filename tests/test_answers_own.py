"""Answers of our own models that write: the same targets, units and questions as of others'."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

import heedful
from heedful.attributions import attention, explain, gradient_attention
from heedful.auditing import Plan
from heedful.data import Prepared, default_spec, prepare
from heedful.errors import HeedfulError
from heedful.interventions import custom, restored, uniform
from heedful.models import Answering, Search, generate
from heedful.runner import Machine, Recipe, trained
from heedful.specs import END, START, ModelSpec, TrainSpec
from heedful.store import Run, Store
from heedful.targets import open_asked, open_target
from heedful.types import Answer, Batch, Keep
from reference.answers import odds, teacher_forced
from reference.seq2seq import translate
from reference.transformer import translate as transform
from tiny_pairs import SPECS, close, pairs_of, parameters_of, tiny_writer

SOURCES = [[START, 5, 6, 7, END], [START, 4, 9, END], [START, 8, 5, 11, 6, END]]
SAID = [[7, 4, 9], [10], [5, 5]]
NAMES = ("additive", "general2", "prenorm")


def asking(rows: list[int], before: int = 0, pad: int = 0, **said: Any) -> Batch:
    """The answers to some of the sources; `before` of an answer's tokens are not asked about."""
    asked = [SAID[row][before:] for row in rows]
    written = pairs_of([SOURCES[row] for row in rows], [[START, *SAID[row][:-1]] for row in rows])
    width = max(map(len, asked)) + pad
    tokens = torch.tensor([row + [-1] * (width - len(row)) for row in asked])
    texts = {"a": written.texts["a"], "target": written.texts["b"]}
    ids = tuple(f"text-{row}" for row in rows)
    return Batch(ids, texts, written.labels, answer=Answer(tokens, **said))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("score", ["mean", "sum"])
def test_an_answer_is_as_probable_as_a_plain_loop_says(name: str, score: str) -> None:
    model, spec = tiny_writer(name), SPECS[name]
    found = Answering(model, score)(asking([0, 1, 2], pad=1)).logits[:, 0].tolist()
    p = parameters_of(model)
    for row, answer in enumerate(SAID):
        given = (SOURCES[row], [START, *answer[:-1]])
        if name == "prenorm":
            logits = transform(p, 4 if spec.sizes == "code" else 8, spec.layers, True, *given)[0]
        else:
            logits = translate(p, spec.attention, spec.layers, *given)[0]
        own = teacher_forced([list(map(float, each)) for each in logits], answer)
        assert found[row] == pytest.approx(odds(own, score), abs=1e-9)


@pytest.mark.parametrize("name", ("additive", "prenorm"))
def test_an_answer_alone_is_as_in_company(name: str) -> None:
    model = Answering(tiny_writer(name))
    for before, rows in ((0, [0, 1, 2]), (1, [0, 2])):
        logits = model(asking(rows, before)).logits
        for place, row in enumerate(rows):
            close(model(asking([row], before)).logits[0], logits[place])
    for method in ("attention", "gradient_attention", "occlusion"):
        together = explain(method, model, asking([0, 1]), torch.ones(2).long())
        for row in (0, 1):
            one = explain(method, model, asking([row]), torch.ones(1).long())
            close(one[0], together[row, : one.shape[1]])


@pytest.mark.parametrize("name", NAMES)
def test_edits_step_in_and_the_identity_changes_nothing(name: str) -> None:
    model, batch = Answering(tiny_writer(name)), asking([0, 1, 2])
    trace = model(batch, keep=Keep(states=True, readout_weights=True))
    assert {site.queries for site in model.sites} <= {"a", "target"}
    for site in model.sites:
        same = {site.name: custom(lambda call: call.weights)}
        assert torch.equal(model(batch, same).logits, trace.logits)
        assert torch.equal(model.resume(batch, trace, same).logits, trace.logits)
        even = {site.name: uniform()}
        whole = model(batch, even)
        close(whole.logits, model.resume(batch, trace, even).logits)
        if site.name.endswith(("attention", "cross")):
            assert not torch.equal(whole.logits, trace.logits)


@pytest.mark.parametrize("name", NAMES)
def test_attention_of_an_answer_is_the_mean_of_its_tokens(name: str) -> None:
    """Read from the row of the last site over the text where each token is written."""
    model, batch = tiny_writer(name), asking([0])
    label = torch.ones(1, dtype=torch.long)
    found = attention(Answering(model), batch, label)[0]
    site = next(site.name for site in model.sites if site.main)
    own = model(pairs_of([SOURCES[0]], [[START, *SAID[0][:-1]]])).weights[site][0].mean(0)
    assert len(own) == len(SAID[0])
    close(found[1:-1], own.mean(0)[1:-1])
    last = attention(Answering(model), asking([0], before=2), label)[0]
    close(last[1:-1], own[-1][1:-1])


def test_the_slope_of_weights_is_that_of_a_small_change() -> None:
    """Models that write step by step, whose weights are given back step by step."""
    model, batch, label = Answering(tiny_writer("dot")), asking([0]), torch.ones(1).long()
    found = gradient_attention(model, batch, label)[0]
    with torch.no_grad():
        own = model(batch).weights["attention"]
        for token in (1, 3):
            total = 0.0
            for step in range(own.shape[2]):
                values = []
                for sign in (1, -1):
                    moved = own.clone()
                    moved[0, 0, step, token] += sign * 1e-5
                    edit = {"attention": custom(lambda call, moved=moved: call.queries(moved))}
                    values.append(float(model(batch, edit).logits.sigmoid()))
                total += float(own[0, 0, step, token]) * (values[0] - values[1]) / 2e-5
            assert float(found[token]) == pytest.approx(total, abs=1e-7)


def test_a_contrast_is_the_difference_of_two_logits() -> None:
    model, batch = tiny_writer("additive"), asking([0], before=2, instead=torch.tensor([6]))
    logits = model(pairs_of([SOURCES[0]], [[START, *SAID[0][:-1]]])).logits[0]
    close(Answering(model)(batch).logits[0, 0], logits[SAID[0][-1]] - logits[6])


def test_samples_follow_the_probabilities() -> None:
    from heedful.models import Gumbel

    model = tiny_writer("additive")
    batch = pairs_of([SOURCES[0]] * 400, [[START]] * 400)
    drawn = generate(model, batch, search=Search(longest=1, noise=Gumbel(1.5, 0)))
    scores = model(pairs_of([SOURCES[0]], [[START]])).logits[0].detach()
    scores[[0, 2]] = -torch.inf  # neither padding nor a start is ever written
    p = (scores / 1.5).softmax(-1)
    top = int(p.argmax())
    said = [row[0] if row else END for row in drawn]
    spread = float(p[top] * (1 - p[top]) / 400) ** 0.5
    assert abs(said.count(top) / 400 - float(p[top])) < 4 * spread
    with pytest.raises(HeedfulError, match="1 for a sample"):
        Search(beam=2, noise=Gumbel(1.0, 0))


# Runs of the store.

TOY = default_spec("toytranslation", n_train=60, n_dev=8, n_test=12, dimension=8)
SPEC = ModelSpec(family="seq2seq", attention="additive", hidden=8)


@pytest.fixture(scope="module")
def run(store: Store) -> Run:
    return trained(store, prepare(TOY, store), Recipe(SPEC, TrainSpec(epochs=1), 0), Machine())


def split_of(run: Run, store: Store) -> Any:
    return Prepared(store.open(run.upstream["corpus"])).split("test")


def test_its_own_corpus_brings_references(run: Run, store: Store) -> None:
    split = split_of(run, store)
    for data in (None, "toytranslation"):
        with open_target(run, data) as target:
            assert list(target.ids) == list(split.ids) and not target.labelled
            assert target.label_names == ("anything else", "this answer")
            assert any("the corpus's own" in note for note in target.notes)
            for index, (row, document) in enumerate(
                zip(target.rows, target.documents, strict=True)
            ):
                reference = split.tokens["b"][index].tolist()
                assert row.answer is not None and row.target is not None
                assert [*row.answer.tolist(), END] == reference[1:]
                assert row.target.tolist() == reference[:-2]
                assert document.answer == split.text(index, "b")
                assert list(document.surface) == split.surface(index)
                assert set(document.texts) == {"a"}
    batch = target.encode([0, 1])
    assert set(batch.texts) == {"a", "target"}
    with open_target(run, [{"text": split.text(0), "says": split.text(0, "b")}],
                     answer_column="says") as own:  # fmt: skip
        close(own.model(own.encode([0])).logits, target.model(target.encode([0])).logits)


def test_what_it_writes_is_held_fixed(run: Run, store: Store) -> None:
    split = split_of(run, store)
    wanted = generate(restored(run), split.batch(range(len(split))), search=Search(longest=6))
    with open_target(run, generate=6) as target:
        found = {
            name: row.answer.tolist()
            for name, row in zip(target.ids, target.rows, strict=True)
            if row.answer is not None
        }
    written = {name: ids for name, ids in zip(split.ids, wanted, strict=True) if ids}
    assert found == written and target.dropped.get("the model writes no answer", 0) == len(
        split
    ) - len(written)

    def sampled(seed: int, **options: Any) -> dict[str, Any]:
        with open_target(run, generate=6, temperature=3.0, seed=seed, **options) as target:
            return {document.id: document.answer for document in target.documents}

    first, some = sampled(0), sampled(0, n=3)
    assert {name: first[name] for name in some} == some and len(some) == 3
    assert sampled(1) != first


def test_one_token_a_contrast_and_tables_of_tokens(run: Run) -> None:
    text, said = "the dog sees a cat .", "lo belu un mira vidat ."
    options: dict[str, Any] = {"explanations": "attention,occlusion"}
    whole = heedful.explain(run, text, answer=said, by_token=True, **options)
    assert whole.answer == said and whole.tokens == tuple(said.split())
    assert whole.explained == said and len(whole.words) == 6
    for place in (1, 4):
        one = heedful.explain(run, text, answer=said, token=place, **options)
        assert one.explained == said.split()[place - 1]
        for name, table in whole.by_token.items():
            assert table[place - 1] == pytest.approx(one.scores[name], abs=1e-6)
    other = heedful.explain(run, text, answer=said, contrast="lo mira un belu vidat .", **options)
    assert (other.explained, other.predicted) == ("belu", "belu")
    others = "integrated_gradients:steps=2,contextcite,lime:samples=20"
    written = heedful.explain(run, text, generate=4, explanations=others)
    assert written.answer and len(written.answer.split()) <= 4 and len(written.scores) == 3


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "nothing asked": ({}, "reads a text and writes another: say which answer to explain, with"),
    "unknown": ({"answer": "lo zebra"}, "has a token that run model-.* does not know"),
    "empty": ({"answer": " "}, "is empty: write at least one word"),
    "long": (
        {"answer": "lo " * 30, "max_length": 20},
        "takes 31 tokens, and run model-.* has room for 20",
    ),
    "chat": ({"answer": "lo", "chat": True}, r"takes no chat: leave it \(--chat\) out"),
    "label words": ({"answer": "lo", "label_words": {"a": "b"}}, "takes no label_words"),
    "a map": ({"answer": "lo", "label_map": {"a": "b"}}, "takes no label_map"),
    "a template": ({"answer": "lo", "template": "So {text}"}, "takes no template"),
    "a heat": ({"answer": "lo", "temperature": 1.0}, "add --generate"),
    "no such token": ({"answer": "lo belu", "token": 3}, "choose a --token from 1 to 2"),
    "a place": ({"answer": "lo", "position_column": "b"}, "takes no position_column"),
    "a word": ({"answer": "lo", "at": "dog"}, r"takes no at: leave it \(--at\) out"),
    "two": ({"answer": "lo", "generate": 3}, "both say what the answer is"),
    "a pair": ({"answer": "lo", "text_b_column": "b"}, "reads one text: leave text_b_column out"),
}


@pytest.mark.parametrize("why", BAD)
def test_bad_questions_are_one_sentence(run: Run, why: str) -> None:
    options, message = BAD[why]
    rows = [{"text": "the dog sees a cat .", "b": "x"}]
    with pytest.raises(HeedfulError, match=message), open_target(run, rows, **options):
        pass


def test_references_with_unknown_words_are_left_out(store: Store) -> None:
    rare = default_spec("toytranslation", n_train=60, n_dev=8, n_test=12, dimension=8, min_df=4)
    run = trained(store, prepare(rare, store), Recipe(SPEC, TrainSpec(epochs=1), 0), Machine())
    split = split_of(run, store)
    known = [name for name, ids in zip(split.ids, split.tokens["b"], strict=True) if 1 not in ids]
    assert 0 < len(known) < len(split)
    with open_target(run) as target:
        assert list(target.ids) == known
    (why,) = target.dropped
    assert "a word that the model does not know" in why
    assert target.dropped[why] == len(split) - len(known)


def test_words_that_are_cut_are_words_of_what_is_read(run: Run, store: Store) -> None:
    """A reference is none of them, and has as much room as its text with a start and an end."""
    split = split_of(run, store)
    with open_target(run, n=1) as target:
        index = list(split.ids).index(target.ids[0])
    words, room = len(split.surface(index)), len(split.tokens["b"][index]) - 2
    assert words + 2 > room
    with open_target(run, n=1, max_length=room) as target:
        cut = target.truncated
        assert (cut.texts, cut.of_texts) == (1, 1)
        assert (cut.words, cut.of_words) == (words + 2 - room, words)


def test_a_head_view_shows_what_was_written(run: Run) -> None:
    view = heedful.head_view(run, "the dog sees a cat .", target="lo belu un")
    (site,) = view.sites
    assert (site.keys, site.queries) == ("a", "target")
    assert view.sides["target"].tokens == ("<s>", "lo", "belu")
    assert view.sides["a"].tokens[1:-1] == ("the", "dog", "sees", "a", "cat", ".")
    assert view.weights["attention"].shape == (1, 3, 8) and not view.notes
    with pytest.raises(HeedfulError, match="give what it wrote as target"):
        heedful.head_view(run, "the dog")
    with pytest.raises(HeedfulError, match="writes texts: give a model that reads"):
        heedful.relations(run)


def test_the_live_page_asks_about_what_is_written(run: Run) -> None:
    pytest.importorskip("fastapi")
    from heedful.apps.live.editing import PRESETS, Change, edited
    from heedful.apps.live.models import Opened, explained, heads, predict

    with pytest.raises(HeedfulError, match="say which answer to explain"), open_asked(run):
        pass
    with open_asked(run, generate=5) as asked:
        page = Opened(asked)
        assert len(asked.subject) > 1
        seen = page.see("the dog sees a cat .", None)
        said = predict(seen, ["occlusion"])
        assert said["answer"] == seen.subject.documents[0].answer
        direct = heedful.explain(run, "the dog sees a cat .", generate=5, explanations="occlusion")
        assert direct.answer == said["answer"]
        shown = explained(seen, "occlusion")["scores"]
        assert shown == pytest.approx(direct.scores["occlusion"], abs=1e-6)
        change = Change(seen.sights["attention"])
        moved = edited(seen, change, PRESETS["uniform"](seen, change, 0))
        assert moved["predicted_before"] == said["predicted"] and moved["moved"] > 0
        assert heads(seen)["sides"]


class Stop(Exception):
    pass


def test_a_killed_audit_goes_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    auditing = import_module("heedful.auditing.audit")
    monkeypatch.setattr(auditing, "waves", partial(auditing.waves, wave=3))
    options: dict[str, Any] = {
        "explanations": "attention,occlusion",
        "only": "agreement",
        "n": 6,
        "token": 1,
    }

    def stopping(label: str, done: int, total: int) -> None:
        if done >= 3:
            raise Stop

    kept = Store(tmp_path / "kept")
    whole = heedful.audit(run, **options)
    assert whole.facts["site"] == "attention (read where the answer is written)"
    assert whole.facts["asked"].startswith("asked is the probability of token 1 of each answer")
    with pytest.raises(Stop):
        heedful.audit(run, plan=Plan(kept, progress=stopping), **options)
    assert list(kept.root.glob("scratch/*"))
    again = heedful.audit(run, plan=Plan(kept), **options)
    assert again.verdict == whole.verdict
    columns = ["example", "explanation", "measure", "value"]
    rows = [each.to_pandas()[columns].reset_index(drop=True) for each in (whole, again)]
    assert rows[0].equals(rows[1])
