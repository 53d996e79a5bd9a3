"""`heedful serve`: every answer is the model's own, and every bad request one sentence."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("fastapi", reason="the live page needs fastapi (heedful[web])")
pytest.importorskip("uvicorn", reason="the live page needs uvicorn (heedful[web])")
pytest.importorskip("httpx", reason="fastapi's test client needs httpx")

from starlette.testclient import TestClient

import heedful
from heedful.apps import HEADERS, Rules, address, bound, rules_for
from heedful.apps.live import STATIC, Busy, Limits, Opened, TooSlow, Turns, live_app
from heedful.apps.live import app as live
from heedful.cli import main
from heedful.data import default_spec, prepare
from heedful.interventions import custom, frozen, uniform
from heedful.models import probabilities
from heedful.runner import Machine, Recipe, trained
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store
from heedful.targets import open_asked, open_target
from heedful.types import Batch, Model, SiteCall

TEXT = "The film was wonderful. Our neighbour opened a window."
PAIR = {"text": "the food was good and the staff was rude", "text_b": "food"}
PLANTED = default_spec("planted", n_train=60, n_dev=10, n_test=20, dimension=8)
HOSTILE = [
    "<script>alert(1)</script> good",
    '"><img src=x onerror=alert(1)> good',
    "\u202egood\u202c \u2066film\u2069",
    "good " + "x" * 20_000,
    "good 👩‍👩‍👧 film\u0000\u0007",
]
MODELS = {
    "additive": ModelSpec(hidden=8),
    "dot": ModelSpec(hidden=8, attention="dot"),
    "plain_dot": ModelSpec(hidden=8, attention="plain_dot"),
    "gate": ModelSpec(hidden=8, attention="gate"),
    "sparsemax": ModelSpec(hidden=8, attention="sparsemax"),
    "hierarchical": ModelSpec(hidden=8, family="hierarchical"),
}


@pytest.fixture(scope="module")
def runs(store: Store) -> dict[str, Run]:
    corpus, pairs = prepare(PLANTED, store), prepare(default_spec("aspects", limit=60), store)
    made = {name: _trained(store, corpus, spec) for name, spec in MODELS.items()}
    made["sure"] = _trained(store, corpus, ModelSpec(hidden=8), epochs=30)
    for decoder in ("context", "query"):
        spec = ModelSpec(hidden=8, family="pair", decoder=decoder)
        made[f"pair {decoder}"] = _trained(store, pairs, spec)
    return made


def _trained(store: Store, corpus: Run, spec: ModelSpec, epochs: int = 1) -> Run:
    return trained(store, corpus, Recipe(spec, TrainSpec(epochs=epochs), 0), Machine())


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    from tiny_tokenizers import saved

    return saved(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def about() -> Iterator[Callable[[Any], TestClient]]:
    """A client of a model, opened once for all tests."""
    known: dict[str, TestClient] = {}
    with ExitStack() as stack:

        def client(model: Any) -> TestClient:
            if str(model) not in known:
                known[str(model)] = served(stack, model)
            return known[str(model)]

        yield client


@pytest.fixture(scope="module")
def client(about: Callable[[Any], TestClient], runs: dict[str, Run]) -> TestClient:
    return about(runs["additive"])


def served(
    stack: ExitStack, *models: Any, rules: Rules = Rules(), limits: Limits = Limits()
) -> TestClient:
    opened = [Opened(stack.enter_context(open_asked(each)), limits) for each in models]
    return client_of(opened, rules, limits)


def client_of(opened: list[Opened], rules: Rules, limits: Limits) -> TestClient:
    app = live_app(opened, rules, limits)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def post(client: TestClient, path: str, **body: Any) -> dict[str, Any]:
    response = client.post(f"/api/{path}", json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def refusal(response: Any, status: int) -> str:
    """One sentence, as JSON, with every header."""
    assert response.status_code == status, response.text
    (sentence,) = response.json().values()
    assert re.fullmatch(r"[^\n]{10,400}\.", sentence), sentence
    assert all(response.headers[name] == value for name, value in HEADERS.items())
    return str(sentence)


def chances(found: dict[str, Any]) -> list[float]:
    return [each["probability"] for each in found["classes"]]


def test_the_facts_of_a_model(client: TestClient) -> None:
    facts = client.get("/api/model").json()
    (model,) = facts["models"]
    assert model["name"] == "bilstm-additive on planted" and model["pairs"] == "never"
    assert model["labels"] == ["negative", "positive"] and model["main"] == "attention"
    assert [site["name"] for site in model["sites"]] == ["attention"]
    assert model["examples"][0]["text"] and facts["limits"]["words"] == 512
    assert {"attention", "leave_one_out"} <= {each["name"] for each in model["explanations"]}


def test_a_prediction_is_the_models_own(client: TestClient, runs: dict[str, Run]) -> None:
    found = post(client, "predict", text=TEXT, explanations=["gradient_input", "attention"])
    with open_target(runs["additive"], [{"text": TEXT}], label_column=None) as subject:
        trace = subject.model(subject.encode([0]))
        words = subject.documents[0].surface
    assert [each["text"] for each in found["words"]] == list(words)
    assert chances(found) == pytest.approx(probabilities(trace.logits)[0].tolist(), abs=1e-7)
    (site,) = found["sites"]
    own = trace.weights["attention"][0, 0, 0]
    assert site["weights"][0] == pytest.approx(own[own > 0].tolist(), abs=1e-7)
    assert found["explanations"]["attention"]["scores"] == pytest.approx(site["mean"], abs=1e-7)
    assert len(found["explanations"]["gradient_input"]["scores"]) == len(words)


def test_what_does_not_fit_says_why(client: TestClient) -> None:
    found = post(client, "predict", text=TEXT, explanations=["nonsense", "attention:head=9"])
    assert all(each["scores"] is None for each in found["explanations"].values())
    assert "choose one of" in found["explanations"]["nonsense"]["reason"]
    many = client.post("/api/predict", json={"text": TEXT, "explanations": ["random"] * 9})
    assert "too many" in refusal(many, 422)
    for name in ("lime:samples=100000", "smoothgrad:samples=1001", "attention:head=-1001"):
        long = client.post("/api/predict", json={"text": TEXT, "explanations": ["random", name]})
        assert "is too large: at most 1000 is served" in refusal(long, 422)
    found = post(client, "predict", text=TEXT, explanations=["random:seed=100000"])
    assert found["explanations"]["random:seed=100000"]["scores"]


@pytest.mark.parametrize("name", ["additive", "dot", "gate", "sparsemax", "hierarchical"])
def test_an_edit_is_the_models_own_forward(
    runs: dict[str, Run], name: str, about: Callable[[Any], TestClient]
) -> None:
    """With weights brought by `frozen`, which knows nothing of words."""
    with ExitStack() as stack:
        client = about(runs[name])
        subject = stack.enter_context(open_target(runs[name], [{"text": TEXT}], label_column=None))
        batch, model = subject.encode([0]), subject.model
        for site in model.sites:
            shown = _asked_site(client, site.name)
            weights = _some(len(shown["labels"]), site.normalised)
            found = post(client, "edit", text=TEXT, site=site.name, weights=weights)
            wanted = _frozen(model, batch, site.name, weights)
            assert chances(found) == pytest.approx(wanted, abs=1e-6)
            assert found["weights"] == pytest.approx(weights, abs=1e-12)
            later = [each.name for each in model.sites]
            assert found["recomputed"] == later[later.index(site.name) + 1 :]


def _asked_site(client: TestClient, name: str, **texts: Any) -> dict[str, Any]:
    found = post(client, "predict", **(texts or {"text": TEXT}))
    return next(each for each in found["sites"] if each["name"] == name)


def _some(count: int, normalised: bool = True) -> list[float]:
    raw = [0.2 + 0.6 * ((7 * i) % 5) / 5 for i in range(count)]
    return [each / sum(raw) for each in raw] if normalised else raw


def _frozen(model: Model, batch: Batch, site: str, weights: list[float]) -> list[float]:
    """Each row is the weights it may have, brought to a sum of 1 where there are several."""
    mask = model(batch).masks[site][0, 0]
    rows = torch.zeros(mask.shape[0], len(weights), dtype=torch.float64)
    for query, may in enumerate(mask[:, mask.any(0)].tolist()):
        own = [w if there else 0.0 for w, there in zip(weights, may, strict=True)]
        total = sum(own) if len(mask) > 1 else 1.0
        rows[query] = torch.tensor([each / total for each in own])
    edits = {site: frozen({batch.ids[0]: rows[None]})}
    with torch.no_grad():
        found: list[float] = probabilities(model(batch, edits).logits)[0].tolist()
    return found


@pytest.mark.parametrize("decoder", ["context", "query"])
def test_a_pair(runs: dict[str, Run], decoder: str, about: Callable[[Any], TestClient]) -> None:
    run = runs[f"pair {decoder}"]
    with ExitStack() as stack:
        client = about(run)
        facts = client.get("/api/model").json()["models"][0]
        assert facts["pairs"] == "always" and facts["examples"][0]["text_b"]
        shown = _asked_site(client, "attention", **PAIR)
        weights = _some(len(shown["labels"]))
        found = post(client, "edit", **PAIR, site="attention", weights=weights)
        data = [PAIR]
        options = {"label_column": None, "text_b_column": "text_b"}
        subject = stack.enter_context(open_target(run, data, **options))
        wanted = _frozen(subject.model, subject.encode([0]), "attention", weights)
        assert chances(found) == pytest.approx(wanted, abs=1e-6)
        taken = post(client, "explain", **PAIR, site="attention")
        assert taken["scores"]["exact"] and taken["contributions"]["exact"] is (
            decoder == "context"
        )
        adds_up(taken)
        single = client.post("/api/predict", json={"text": PAIR["text"]})
        assert "second text" in refusal(single, 422)


def test_an_edit_of_a_pretrained_model(bert: Path, about: Callable[[Any], TestClient]) -> None:
    """One head, at the rows that are read: words share their weight among their tokens."""
    text, site, head = "the film is unlikely, not a dull story!", 0, 1
    with ExitStack() as stack:
        client = about(str(bert))
        subject = stack.enter_context(open_target(str(bert), [{"text": text}], label_column=None))
        batch, model = subject.encode([0]), subject.model
        name = model.sites[site].name
        shown = _asked_site(client, name, text=text)
        assert shown["labels"][-1] == "tokens of no word" and shown["words"][-1] == -1
        assert shown["heads"] == 2 and shown["reading"] == 1 and not shown["furthest"]
        weights = _some(len(shown["labels"]))
        for queries in ("reading", "all"):
            body = {"text": text, "site": name, "head": head, "weights": weights}
            found = post(client, "edit", **body, queries=queries)
            edit = _slowly(batch, weights, head, queries)
            with torch.no_grad():
                wanted = probabilities(model(batch, {name: custom(edit)}).logits)[0].tolist()
            assert chances(found) == pytest.approx(wanted, abs=1e-6)
        assert found["moved"] > 1e-6 and found["recomputed"]
        learned = post(client, "edit", **{**body, "weights": shown["weights"][head]})
        assert learned["moved"] == pytest.approx(0, abs=1e-6)


def _slowly(
    batch: Batch, weights: list[float], head: int, queries: str
) -> Callable[[SiteCall], torch.Tensor]:
    """Token by token: a word's weight in the proportions its tokens had. Row 0 is read."""
    assert batch.texts["a"].words is not None
    units = [len(weights) - 1 if n < 0 else n for n in batch.texts["a"].words[0].tolist()]

    def edit(call: SiteCall) -> torch.Tensor:
        out = call.weights.clone()
        for query in range(out.shape[2]) if queries == "all" else [0]:
            row = call.weights[0, head, query].tolist()
            total = [sum(w for w, u in zip(row, units, strict=True) if u == k) for k in units]
            for key, unit in enumerate(units):
                out[0, head, query, key] = weights[unit] * row[key] / total[key]
        return out

    return edit


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    from tiny_hf import tiny_hf
    from tiny_tokenizers import byte_pairs

    known = {"vocab_size": 290, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
    folder = tmp_path_factory.mktemp("writer")
    tiny_hf("GPT2", "language", **known).save_pretrained(folder)
    byte_pairs().save_pretrained(folder)
    return folder


def test_an_answer_token_by_token(writer: Path) -> None:
    """As `heedful.explain` gives it, and of documents as units, which messages are about."""
    asked = {"answer": " good and bad", "template": "{text}\n{text_b}:", "unit": "document"}
    documents, question = ["the film was good", "a dull story", "it is bad"], "how was it?"
    names = ("attention", "occlusion")
    one = heedful.explain(str(writer), documents, question, names, by_token=True, **asked)
    with ExitStack() as stack:
        opened = Opened(stack.enter_context(open_asked(writer, **asked)), Limits(words=3))
        client = client_of([opened], Rules(), Limits())
        body = {"text": documents, "text_b": question}
        (facts,) = client.get("/api/model").json()["models"]
        assert facts["unit"] == "document" and facts["examples"][0]["text"][1:] == [
            "It is a good one."
        ]
        found = post(client, "predict", **body)
        assert [each["text"] for each in found["words"]] == documents
        assert found["tokens"] == list(one.tokens) and len(one.tokens) > 2
        assert found["sites"][0]["labels"] == [*documents, "tokens of no document"]
        for name in names:
            told = post(client, "tokens", **body, explanation=name)
            assert told["tokens"] == list(one.tokens) and told["reason"] is None
            assert np.array(told["scores"]) == pytest.approx(np.array(one.by_token[name]), abs=1e-6)
            assert told["whole"] == pytest.approx(one.scores[name], abs=1e-6)
        told = post(client, "tokens", **body, explanation="nonsense")
        assert told["scores"] is None and "choose one of" in told["reason"]
        for wrong, said in (
            ({**body, "text": documents * 2}, "the text has 6 documents: at most 3 are read here."),
            ({**body, "text": ["one", " "]}, "the document 2 is empty: write at least one word."),
        ):
            assert said in refusal(client.post("/api/predict", json=wrong), 422)
        edit = {**body, "site": found["sites"][0]["name"], "weights": [1]}
        assert "has 4 documents: give" in refusal(client.post("/api/edit", json=edit), 422)


def test_a_list_is_one_of_documents(client: TestClient) -> None:
    said = refusal(client.post("/api/predict", json={"text": ["one", "two"]}), 422)
    assert "a list of texts needs --unit document, and the unit is word" in said


def test_even_weights_are_the_edit_uniform(client: TestClient, runs: dict[str, Run]) -> None:
    found = post(client, "edit", text=TEXT, site="attention", kind="uniform")
    with open_target(runs["additive"], [{"text": TEXT}], label_column=None) as subject:
        logits = subject.model(subject.encode([0]), {"attention": uniform()}).logits
    assert chances(found) == pytest.approx(probabilities(logits)[0].tolist(), abs=1e-6)


def test_shuffled_weights_are_the_same_ones_elsewhere(client: TestClient) -> None:
    learned = _asked_site(client, "attention")["mean"]
    body = {"text": TEXT, "site": "attention", "kind": "shuffled"}
    one, again, other = (post(client, "edit", **body, seed=seed) for seed in (1, 1, 2))
    assert one == again and one["weights"] != other["weights"]
    for found in (one, other):
        assert sorted(found["weights"]) == pytest.approx(sorted(learned), abs=1e-12)
        assert found["weights"] != learned


def test_the_furthest_attention_has_the_same_prediction(
    runs: dict[str, Run], about: Callable[[Any], TestClient]
) -> None:
    """Nothing else that keeps the output is further, though something is that does not."""
    kept = []
    client = about(runs["sure"])
    for example in client.get("/api/model").json()["models"][0]["examples"]:
        body = {"text": example["text"], "site": "attention"}
        found = post(client, "edit", **body, kind="furthest")
        count = len(found["weights"])
        alone = [[float(i == place) for i in range(count)] for place in range(count)]
        tries = [post(client, "edit", **body, weights=each) for each in alone]
        assert 0 <= found["moved"] <= 0.01 and found["jsd"] > 0.05
        for each in tries:
            assert each["moved"] > 0.00999 or each["jsd"] <= found["jsd"] + 1e-9
        kept.append(max(each["jsd"] for each in tries) > found["jsd"] + 1e-6)
    assert any(kept)


def test_gates_have_no_furthest_attention(
    runs: dict[str, Run], about: Callable[[Any], TestClient]
) -> None:
    client = about(runs["gate"])
    assert not _asked_site(client, "attention")["furthest"]
    body = {"text": TEXT, "site": "attention", "kind": "furthest"}
    assert "sum to 1" in refusal(client.post("/api/edit", json=body), 422)
    even = post(client, "edit", **{**body, "kind": "uniform"})
    assert even["jsd"] is None and len(set(even["weights"])) == 1


@pytest.mark.parametrize(
    "name", ["additive", "dot", "plain_dot", "gate", "sparsemax", "hierarchical"]
)
def test_attention_taken_apart_adds_up(
    runs: dict[str, Run], name: str, about: Callable[[Any], TestClient]
) -> None:
    client = about(runs[name])
    for site in client.get("/api/model").json()["models"][0]["sites"]:
        for label in (None, "negative", "positive"):
            taken = post(client, "explain", text=TEXT, site=site["name"], of=label)
            assert taken["contributions"]["exact"] is site["linear"]
            adds_up(taken)


@pytest.mark.parametrize("name", ["additive", "hierarchical", "pair query", "bert"])
def test_every_head_between_tokens(
    runs: dict[str, Run], bert: Path, name: str, about: Callable[[Any], TestClient]
) -> None:
    """Rows of bytes, each the root of a weight; sides have as many tokens as there are weights."""
    client = about(str(bert) if name == "bert" else runs[name])
    asked = PAIR if name == "pair query" else {"text": TEXT}
    found = post(client, "heads", **asked)
    shapes = [
        (
            site["heads"],
            *(len(found["sides"][site[side]]["tokens"]) for side in ("queries", "keys")),
        )
        for site in found["sites"]
    ]
    weights = (np.frombuffer(base64.b64decode(found["weights"]), np.uint8) / 255) ** 2
    assert len(weights) == sum(math.prod(shape) for shape in shapes)
    parts = np.split(weights, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
    for part, shape in zip(parts, shapes, strict=True):
        assert part.reshape(shape).sum(-1) == pytest.approx(1, abs=0.02)
    words = [word for word in found["sides"]["a"]["words"] if word >= 0]
    assert sorted(set(words)) == list(range(max(words) + 1))


def adds_up(taken: dict[str, Any]) -> None:
    """Terms to scores, scores to weights, weights to contributions, those to the prediction."""
    scores, weights, given = taken["scores"], taken["weights"], taken["contributions"]
    if scores.get("terms"):
        for terms, rest, value in zip(
            scores["terms"], scores["rest"], scores["values"], strict=True
        ):
            assert sum(terms) + rest == pytest.approx(value, abs=1e-5)
    if weights["kind"] == "softmax" and scores["exact"]:
        powers = [math.exp(score) for score in scores["values"]]
        even = [power / sum(powers) for power in powers]
        assert weights["values"] == pytest.approx(even, abs=1e-6)
        assert sum(weights["powers"]) == pytest.approx(weights["total"])
    for weight, value, product in zip(
        weights["values"], given["values"], given["products"], strict=True
    ):
        assert weight * value == pytest.approx(product, abs=1e-9)
    if given["exact"]:
        assert sum(given["products"]) + given["bias"] == pytest.approx(given["sum"], abs=1e-9)
        _is_the_logit(taken)


def _is_the_logit(taken: dict[str, Any]) -> None:
    prediction, total = taken["prediction"], taken["contributions"]["sum"]
    name = taken["contributions"]["class"]
    chance = next(e["probability"] for e in prediction["classes"] if e["name"] == name)
    if prediction["of_classes"] == 2:
        assert 1 / (1 + math.exp(-total)) == pytest.approx(chance, abs=1e-6)
    else:
        place = [e["name"] for e in prediction["classes"]].index(name)
        assert prediction["logits"][place] == pytest.approx(total, abs=1e-5)


def test_what_is_known_of_a_pretrained_model(
    bert: Path, about: Callable[[Any], TestClient]
) -> None:
    client = about(str(bert))
    site = client.get("/api/model").json()["models"][0]["sites"][-1]["name"]
    taken = post(client, "explain", text="a good film", site=site, head=0)
    assert not taken["scores"]["exact"] and not taken["contributions"]["exact"]
    powers = [math.exp(score) for score in taken["scores"]["values"]]
    even = [power / sum(powers) for power in powers]
    assert taken["weights"]["values"] == pytest.approx(even, abs=1e-6)
    adds_up(taken)


def test_a_pretrained_model_reads_pairs_too(bert: Path, about: Callable[[Any], TestClient]) -> None:
    client = about(str(bert))
    found = post(client, "predict", text="a good film", text_b="the plot")
    assert [each["side"] for each in found["words"]] == ["a"] * 3 + ["b"] * 2


def test_two_models_side_by_side(runs: dict[str, Run], bert: Path) -> None:
    with ExitStack() as stack:
        client = served(stack, runs["additive"], str(bert))
        assert len(client.get("/api/model").json()["models"]) == 2
        found = [post(client, "predict", model=number, text="a good film") for number in (0, 1)]
        assert len(found[0]["sites"]) == 1 and len(found[1]["sites"]) == 2
        body = {"model": 2, "text": "a good film"}
        assert "2 are served" in refusal(client.post("/api/predict", json=body), 404)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_strings(client: TestClient, text: str) -> None:
    response = client.post("/api/predict", json={"text": text})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert all(each["text"] in text for each in response.json()["words"])
    assert response.headers["x-content-type-options"] == "nosniff"


def test_half_a_character_is_refused(client: TestClient) -> None:
    body = b'{"text": "good \\ud800 film"}'
    headers = {"content-type": "application/json"}
    response = client.post("/api/predict", content=body, headers=headers)
    assert response.status_code in (400, 422) and response.json()["error"].endswith(".")


BAD: list[tuple[dict[str, Any], int]] = [
    ({"text": ""}, 422),
    ({"text": "  \n"}, 422),
    ({"text": 3}, 422),
    ({}, 422),
    ({"text": TEXT, "more": 1}, 422),
    ({"text": TEXT, "text_b": "two"}, 422),
    ({"text": "good \ud83d film"}, 422),
    ({"text": TEXT, "\ud83d": 1}, 422),
    ({"text": TEXT, "explanations": ["\ud83d"]}, 422),
    ({"text": TEXT, "explanations": ["random:seed=\ud83d"]}, 422),
    ({"text": TEXT, "explanations": ["x" * 301]}, 422),
    ({"text": "x" * 40_001}, 422),
    ({"text": "a " * 513}, 422),
    ({"text": TEXT, "model": 1}, 404),
    ({"text": TEXT, "model": -1}, 422),
    ({"text": TEXT, "site": "nowhere", "kind": "uniform"}, 404),
    ({"text": TEXT, "site": "attention", "head": 1, "kind": "uniform"}, 404),
    ({"text": TEXT, "site": "attention", "head": -1, "kind": "uniform"}, 422),
    ({"text": TEXT, "site": "attention", "kind": "best"}, 422),
    ({"text": TEXT, "site": "attention"}, 422),
    ({"text": TEXT, "site": "attention", "kind": "uniform", "weights": [1.0]}, 422),
    ({"text": TEXT, "site": "attention", "weights": [1.0]}, 422),
    ({"text": TEXT, "site": "attention", "weights": []}, 422),
    ({"text": "good film", "site": "attention", "weights": [0.0, 0.0]}, 422),
    ({"text": "good film", "site": "attention", "weights": [-0.5, 1.5]}, 422),
    ({"text": "good film", "site": "attention", "weights": ["1", 0.0]}, 422),
    ({"text": "good film", "site": "attention", "weights": [1.0] * 5000}, 422),
]


@pytest.mark.parametrize(("body", "status"), BAD)
def test_bad_requests_are_one_sentence(
    client: TestClient, body: dict[str, Any], status: int
) -> None:
    path = "/api/edit" if "site" in body else "/api/predict"
    headers = {"content-type": "application/json"}  # and ASCII, where halves of characters fit
    refusal(client.post(path, content=json.dumps(body), headers=headers), status)


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe", b"[1, 2]", b'"text"', b"[" * 5000])
def test_malformed_json(client: TestClient, content: bytes) -> None:
    headers = {"content-type": "application/json"}
    response = client.post("/api/predict", content=content, headers=headers)
    refusal(response, 422 if content in (b"", b"[1, 2]", b'"text"') else 400)


def test_numbers_that_are_none(client: TestClient) -> None:
    body = b'{"text": "good film", "site": "attention", "weights": [NaN, Infinity]}'
    headers = {"content-type": "application/json"}
    response = client.post("/api/edit", content=body, headers=headers)
    refusal(response, response.status_code)
    assert response.status_code in (400, 422)


def test_a_class_that_is_not_there(client: TestClient) -> None:
    body = {"text": TEXT, "site": "attention", "of": "<b>neither</b>"}
    assert "has no class" in refusal(client.post("/api/explain", json=body), 422)


def test_large_bodies(client: TestClient) -> None:
    large = json.dumps({"text": "x" * 300_000}).encode()
    headers = {"content-type": "application/json"}
    assert "KiB" in refusal(client.post("/api/predict", content=large, headers=headers), 413)
    parts = (large[i : i + 4096] for i in range(0, len(large), 4096))  # nobody says how long
    assert "KiB" in refusal(client.post("/api/predict", content=parts, headers=headers), 413)


def test_addresses_that_are_not_there(client: TestClient) -> None:
    for path in ("/nothing", "/docs", "/redoc", "/static/nothing.js", "/static/../app.py"):
        refusal(client.get(path), 404)
    refusal(client.get("/api/predict"), 405)
    calls = ("model", "predict", "edit", "explain", "tokens", "heads")
    assert {f"/api/{name}" for name in calls} == set(client.get("/openapi.json").json()["paths"])


def test_the_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy and page.headers["referrer-policy"] == "no-referrer"
    assert not re.search(r"<style|<script(?! type=\"module\" src=)|\son\w+=|style=", page.text)
    for path in (*STATIC.iterdir(), *ASSETS.iterdir()):
        response = client.get(f"/static/{path.name}")
        assert response.status_code == 200 and "https://" not in path.read_text(encoding="utf8")
        assert "innerHTML" not in path.read_text(encoding="utf8")
        kinds = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
        assert response.headers["content-type"].startswith(kinds[path.suffix])


def test_only_its_own_name_is_answered_to(client: TestClient) -> None:
    for host in ("evil.example", "evil.example:8765", "127.0.0.1.evil.example", ""):
        assert "its own name" in refusal(client.get("/api/model", headers={"host": host}), 421)
    for host in ("localhost:8765", "127.0.0.1", "[::1]:80"):
        assert client.get("/api/model", headers={"host": host}).status_code == 200


def test_a_token_is_needed_everywhere(runs: dict[str, Run]) -> None:
    with ExitStack() as stack:
        client = served(stack, runs["additive"], rules=Rules(hosts=None, token="se crét"))
        for path in ("/", "/api/model", "/openapi.json", "/static/live.js", "/?token=wrong"):
            response = client.get(path, headers={"host": "anywhere.example"})
            assert "token" in refusal(response, 401)
            assert response.headers["www-authenticate"] == "Bearer"
        refusal(client.post("/api/predict", json={"text": TEXT}), 401)


def test_a_token_becomes_a_cookie(runs: dict[str, Run]) -> None:
    with ExitStack() as stack:
        client = served(stack, runs["additive"], rules=Rules(hosts=None, token="secret"))
        response = client.get("/?token=secret", follow_redirects=False)
        assert response.status_code == 303 and response.headers["location"] == "/"
        cookie = response.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie
        assert client.get("/api/model").status_code == 200
        client.cookies.clear()
        assert client.get("/api/model").status_code == 401
        bearer = {"authorization": "Bearer secret"}
        assert client.get("/api/model", headers=bearer).status_code == 200


TOKENS = ("a&b=c#d", "se cr%C3%A9t+", "sécrét", "秘密 🔑", 'quo"te;\\', "new\nline")


@pytest.mark.parametrize("token", TOKENS)
def test_any_token_works_as_a_link_a_cookie_and_a_header(runs: dict[str, Run], token: str) -> None:
    """The printed link is followed as it stands; headers carry UTF-8."""
    with ExitStack() as stack:
        rules = Rules(hosts=None, token=token)
        client = served(stack, runs["additive"], rules=rules)
        link = address(stack.enter_context(bound("127.0.0.1", 0)), rules)
        assert link.isascii() and link.isprintable()
        response = client.get("/?" + link.partition("?")[2])
        assert response.status_code == 200 and client.get("/api/model").status_code == 200
        client.cookies.clear()
        if "\n" not in token:  # which no header can hold
            bearer = {b"authorization": b"Bearer " + token.encode()}
            assert client.get("/api/model", headers=bearer).status_code == 200
        for wrong in ("秘", "é", token + "é", "%ff"):
            header = {b"authorization": b"Bearer " + wrong.encode()}
            refusal(client.get("/api/model", headers=header), 401)
            refusal(client.get("/", params={"token": wrong}), 401)
            refusal(client.get("/", headers={b"cookie": b"heedful-token=" + wrong.encode()}), 401)
        refusal(client.get("/?token=%ff%fe"), 401)


def test_two_requests_at_once(client: TestClient) -> None:
    texts = [f"The film was {word}." for word in ("good", "bad", "wonderful", "awful")] * 2
    alone = [post(client, "predict", text=text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: post(client, "predict", text=text), texts))
    assert together == alone


def test_a_full_queue_and_a_slow_model() -> None:
    async def scene() -> None:
        turns, gate = Turns(waiting=1, seconds=0.3), threading.Event()
        first = asyncio.create_task(turns.run(gate.wait))
        second = asyncio.create_task(turns.run(lambda: "second"))
        await asyncio.sleep(0.05)
        with pytest.raises(Busy, match="waiting"):
            await turns.run(lambda: "third")
        for task in (first, second):
            with pytest.raises(TooSlow, match="seconds"):
                await task
        with pytest.raises(TooSlow):  # the first still runs: a model cannot be interrupted
            await turns.run(lambda: "fourth")
        gate.set()
        await asyncio.sleep(0.05)
        assert await turns.run(lambda: "fifth") == "fifth"
        with pytest.raises(ZeroDivisionError):
            await turns.run(lambda: 1 // 0)
        assert await turns.run(lambda: "sixth") == "sixth"

    asyncio.run(scene())


def test_a_model_is_free_again_when_nobody_waits(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An explanation that calls the model for ever, and whose request has timed out."""
    passes: list[int] = []

    def endless(seen: Any, explanations: Any) -> dict[str, Any]:
        while True:
            with contextlib.suppress(Exception):  # as a library's own handler would
                seen.subject.model(seen.batch)
            passes.append(1)

    with ExitStack() as stack:
        client = served(stack, runs["additive"], limits=Limits(seconds=1.0))
        own = live.predict
        monkeypatch.setattr(live, "predict", endless)
        assert "seconds" in refusal(client.post("/api/predict", json={"text": TEXT}), 504)
        monkeypatch.setattr(live, "predict", own)
        post(client, "predict", text=TEXT)
        done = len(passes)
        time.sleep(0.1)
        assert done and len(passes) == done


def test_busy_slow_and_broken_have_their_status(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def slow(*_: Any) -> dict[str, Any]:
        release.wait(5)
        return {}

    with ExitStack() as stack:
        limits = Limits(waiting=0, seconds=0.4)
        client = served(stack, runs["additive"], limits=limits)
        monkeypatch.setattr(live, "predict", slow)
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(client.post, "/api/predict", json={"text": TEXT})
            time.sleep(0.15)
            second = client.post("/api/predict", json={"text": TEXT})
            assert "waiting" in refusal(second, 503) and second.headers["retry-after"] == "1"
            assert "seconds" in refusal(first.result(), 504)
        release.set()
        time.sleep(0.1)
        monkeypatch.setattr(live, "predict", lambda *_: 1 / 0)
        sentence = refusal(client.post("/api/predict", json={"text": TEXT}), 500)
        assert "division" not in sentence


def test_the_same_text_is_run_once(runs: dict[str, Run]) -> None:
    with ExitStack() as stack:
        opened = Opened(stack.enter_context(open_asked(runs["additive"])))
        assert opened.see(TEXT, None) is opened.see(TEXT, None)
        assert opened.see(TEXT, None) is not opened.see(TEXT + "!", None)


# --- the verb ---------------------------------------------------------------------------------


def run_verb(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = main(["serve", *(str(argument) for argument in arguments)])
    return code, capsys.readouterr().err


def test_bad_command_lines(
    capsys: pytest.CaptureFixture[str], store: Store, runs: dict[str, Run], tmp_path: Path
) -> None:
    where = ("--store", store.root, "--port", 0)
    corpus = runs["additive"].upstream["corpus"]
    old = tmp_path / "runs" / runs["additive"].key
    shutil.copytree(runs["additive"].path, old)
    record = json.loads((old / "run.json").read_text())
    record["schema_version"] = 99
    (old / "run.json").write_text(json.dumps(record))
    for arguments, part in [
        (("model-0123456789abcdef", *where), "model-0123456789abcdef"),
        ((corpus, *where), "kind model"),
        ((tmp_path / "nowhere", *where), "nowhere"),
        ((old, "--port", 0), "schema 99"),
        ((runs["additive"].key, *where, "--token", " "), "--token is empty"),
    ]:
        code, said = run_verb(capsys, *arguments)
        last = said.strip().splitlines()[-1]
        assert code == 2 and last.startswith("error: ") and part in last, said


def test_a_port_that_is_taken(
    capsys: pytest.CaptureFixture[str], store: Store, runs: dict[str, Run]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        key = runs["additive"].key
        code, said = run_verb(capsys, key, "--store", store.root, "--port", port)
    assert code == 2 and f"127.0.0.1:{port}" in said and "--port" in said
    assert len(said.strip().splitlines()) == 1


def test_the_address_is_out_before_the_server_begins(
    monkeypatch: pytest.MonkeyPatch, store: Store, runs: dict[str, Run]
) -> None:
    """Into a pipe, too: what waits in a buffer nobody can open."""
    pipe, seen = io.BytesIO(), list[bytes]()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
    monkeypatch.setattr("heedful.apps.server.serve", lambda *given: seen.append(pipe.getvalue()))
    assert main(["serve", runs["additive"].key, "--store", str(store.root), "--port", "0"]) == 0
    assert b"http://127.0.0.1:" in seen[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_it_is_told_to(
    capsys: pytest.CaptureFixture[str], store: Store, runs: dict[str, Run], number: signal.Signals
) -> None:
    """Told by a signal to this very process, once the server has answered and hears it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    answers: list[int] = []
    asking = threading.Thread(target=_ask_and_stop, args=(port, number, answers))
    asking.start()
    where = ("--store", store.root, "--port", port, "--host", "0.0.0.0", "--token", "secret")
    code = main([str(each) for each in ("serve", runs["additive"].key, *where)])
    asking.join()
    captured = capsys.readouterr()
    assert code == 0 and answers == [401, 200]
    assert f"http://0.0.0.0:{port}/?token=secret" in captured.out
    assert captured.err.strip().splitlines()[-1].startswith("stopped:")
    assert "Traceback" not in captured.err


def _ask_and_stop(port: int, number: signal.Signals, answers: list[int]) -> None:
    import httpx

    address, bearer = f"http://127.0.0.1:{port}/api/model", {"authorization": "Bearer secret"}
    for _ in range(300):
        with contextlib.suppress(httpx.TransportError):
            answers.append(httpx.get(address, timeout=20).status_code)
            answers.append(httpx.get(address, headers=bearer, timeout=20).status_code)
            break
        time.sleep(0.1)
    if answers:
        os.kill(os.getpid(), number)


def test_a_random_token_where_others_can_reach() -> None:
    assert rules_for("127.0.0.1", None).token is None
    one, other = rules_for("0.0.0.0", None), rules_for("0.0.0.0", None)
    assert one.token and other.token and one.token != other.token and len(one.token) >= 20
    assert rules_for("0.0.0.0", "mine").token == "mine"
    assert rules_for("localhost", "mine").token == "mine"


# --- the page's own arithmetic -----------------------------------------------------------------

ASSETS = STATIC.parent.parent.parent / "assets"
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="the page's arithmetic is tested with node")
def test_weights_that_are_dragged() -> None:
    """`moved` against its restatement: one weight is set, the others keep their proportions."""
    cases = [
        ([0.2, 0.3, 0.5], 0, 0.6, True),
        ([1.0, 0.0, 0.0], 0, 0.4, True),
        ([0.25] * 4, 3, 0.0, True),
        ([0.7, 0.3], 1, 1.4, True),
        ([0.7, 0.3], 1, -1.0, True),
        ([1.0], 0, 0.2, True),
        ([0.9, 0.8, 0.1], 1, 0.3, False),
    ]
    assert NODE is not None
    script = (
        f'import {{ moved, parsed, written }} from "{(ASSETS / "weights.js").as_uri()}";'
        f"const cases = {json.dumps(cases)};"
        "console.log(JSON.stringify(cases.map((each) => moved(...each))));"
        'console.log(JSON.stringify([parsed("0.5_0.5", 2), parsed("0.5", 2), parsed("a_b", 2),'
        " parsed(null, 1), parsed(written([0.125, 0.875]), 2)]));"
    )
    command = [NODE, "--no-warnings", "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found, links = (json.loads(line) for line in done.stdout.splitlines())
    for case, weights in zip(cases, found, strict=True):
        assert weights == pytest.approx(_moved(*case))
    assert links == [[0.5, 0.5], None, None, None, [0.125, 0.875]]


def _moved(weights: list[float], index: int, value: float, normalised: bool) -> list[float]:
    value = min(1.0, max(0.0, value))
    if not normalised:
        return [value if i == index else w for i, w in enumerate(weights)]
    if len(weights) == 1:
        return [1.0]
    rest = sum(weights) - weights[index]
    spread = [w / rest if rest else 1 / (len(weights) - 1) for w in weights]
    return [value if i == index else (1 - value) * s for i, s in enumerate(spread)]
