"""Shapes are checked while tests run; hypothesis and torch behave the same everywhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import settings
from jaxtyping import install_import_hook

# Before anything imports these: every call in them is held to its annotated shapes and types.
install_import_hook(
    [
        "heedful.metrics",
        "heedful.models",
        "heedful.interventions",
        "heedful.perturbations",
        "heedful.attributions",
        "heedful.experiments",
        "heedful.randomness",
        "heedful.types",
        "heedful.words",
    ],
    "beartype.beartype",
)

if TYPE_CHECKING:
    from heedful.data import Prepared
    from heedful.models import OneSequence
    from heedful.store import Store
    from heedful.types import Batch

# A busy machine is no failure, and a test that fails must fail again: no deadline, fixed draws.
settings.register_profile("heedful", deadline=None, derandomize=True)
settings.load_profile("heedful")

# Tiny models: a second thread gains nothing, and on a busy machine waiting for it costs 8×.
torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def every_verb_keeps_its_schema() -> None:
    """Whatever a test makes a verb print with --json is held to the verb's schema."""
    from heedful.cli import output

    plain = output.document

    def checked(verb: str, value: dict[str, Any]) -> dict[str, Any]:
        from kept_schemas import check_verb

        found = plain(verb, value)
        check_verb(json.loads(json.dumps(found)))
        return found

    output.document = checked


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good models, tables, runs and studies that bad input is held against; nobody changes them."""
    from bad_input.shared import make_shared

    return make_shared(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for the pages of one file of tests."""
    from browsing import opened_browser

    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """An empty store, which the tests of a file share."""
    from heedful.store import Store

    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture
def ragged() -> Batch:
    """Texts of unlike length, among them one of a single token."""
    from tiny import tiny_batch

    return tiny_batch((4, 1, 9, 2, 6))


@pytest.fixture(scope="session")
def models() -> Callable[..., OneSequence]:
    """Tiny models by encoder, attention, classes and layers."""
    from tiny import tiny_model

    return tiny_model


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A small generated corpus, prepared in a store of its own."""
    from heedful.data import Prepared, prepare
    from heedful.specs import CorpusSpec, PrepareSpec
    from heedful.store import Store

    params = {"n_train": 200, "n_dev": 60, "n_test": 60, "distractors": 0, "negation": 0.0}
    spec = CorpusSpec("planted", params, PrepareSpec(tokenizer="given", dimension=16))
    return Prepared(prepare(spec, Store(tmp_path_factory.mktemp("store"))))


@pytest.fixture(scope="session")
def trained_model(planted: Prepared) -> OneSequence:
    """A tiny model that has learned something of the planted corpus."""
    from heedful.models import build
    from heedful.specs import ModelSpec, TrainSpec
    from heedful.training import train

    model = build(ModelSpec(hidden=8), planted.vectors, len(planted.labels), 0)
    return train(model, planted, TrainSpec(epochs=8, learning_rate=0.02), seed=0).model
