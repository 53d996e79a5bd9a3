"""A fake store for the report's tests: seeded tables shaped like a small jain2019 study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heedful.metrics.summary import summarise
from heedful.specs import ModelSpec
from heedful.store import Run, Store, run_key

HOSTILE = ("<script>alert(1)</script>", "\"quoted'", "a\u202eb", "&amp;", "<img/src=x>", "{{7*7}}")
WORDS = [
    "the",
    "plot",
    "is",
    "thin",
    "but",
    "acting",
    "fine",
    "and",
    "warm",
    "a",
    "dull",
    "slow",
    "mess",
    "of",
    "charm",
    "wit",
    "joy",
]
LEVELS = {"bilstm": 0.35, "cnn": 0.45, "average": 0.65}


@dataclass(frozen=True)
class Fake:
    """What to fake: the size of the study and how broken its numbers are."""

    corpora: tuple[str, ...] = ("sst",)
    models: tuple[tuple[str, str], ...] = (("bilstm", "additive"),)
    seeds: tuple[int, ...] = (0,)
    texts: int = 60
    undefined: float = 0.02
    words: tuple[str, ...] = HOSTILE
    long: bool = False


def write(store: Store, kind: str, facts: dict[str, Any], tables: dict[str, Any]) -> Run:
    with store.writing(kind, facts) as writer:
        for name, value in tables.items():
            put = writer.table if isinstance(value, pd.DataFrame) else writer.json
            put(name, value)
    return store.open(run_key(kind, facts))


def fake_study(root: Path, fake: Fake | None = None) -> tuple[Store, Run]:
    """A store with one study run and everything behind it."""
    fake = fake or Fake()
    store, cells = Store(root), []
    for number, corpus in enumerate(fake.corpora):
        rng = np.random.default_rng(number)
        corpus_run, texts = fake_corpus(store, corpus, fake, rng)
        for encoder, attention in fake.models:
            for seed in fake.seeds:
                model = fake_model(store, corpus_run, ModelSpec(encoder, attention), seed)
                for probe in fake_probes(store, model, texts, fake.undefined, rng):
                    cells.append(
                        {
                            "corpus": corpus,
                            "model": f"{encoder}-{attention}",
                            "encoder": encoder,
                            "attention": attention,
                            "layers": 1,
                            "seed": seed,
                            "probe": probe.facts["piece"],
                            "run": probe.key,
                            "model_run": model.key,
                            "corpus_run": corpus_run.key,
                        }
                    )
    reason = "needs the patients' records <b>that</b> are not public"
    skipped = {"corpus": ["anemia"], "model": [""], "probe": [""], "reason": [reason]}
    tables = {"cells": pd.DataFrame(cells), "skipped": pd.DataFrame(skipped)}
    upstream = {str(number): cell["run"] for number, cell in enumerate(cells)}
    facts = {"piece": "jain2019", "version": 1, "params": {"size": "small"}, "upstream": upstream}
    return store, write(store, "study", facts, tables)


def fake_corpus(
    store: Store, name: str, fake: Fake, rng: np.random.Generator
) -> tuple[Run, pd.DataFrame]:
    lines = []
    for index in range(fake.texts):
        count = int(rng.integers(60, 120) if fake.long and index % 3 else rng.integers(6, 28))
        words = list(rng.choice(WORDS, count))
        for place, word in enumerate(fake.words[:count]):
            words[place] = word
        ends = np.cumsum([len(word) + 1 for word in words]) - 1
        starts = ends - [len(word) for word in words]
        lines.append(
            {
                "example": f"{name}-{index:04d}",
                "split": "test",
                "label": int(rng.integers(2)),
                "text_a": " ".join(words),
                "tokens_a": [2, *range(5, 5 + count), 3],
                "starts_a": starts.tolist(),
                "ends_a": ends.tolist(),
            }
        )
    examples = pd.DataFrame(lines)
    report = {"labels": ["negative", "posi<b>tive"], "subset": name == "sst", "vocabulary": 9}
    facts = {"piece": name, "params": {"texts": fake.texts}}
    return write(store, "corpus", facts, {"examples": examples, "report": report}), examples


def fake_model(store: Store, corpus: Run, spec: ModelSpec, seed: int) -> Run:
    facts = {"model": asdict(spec), "train": {}, "seed": seed, "upstream": {"corpus": corpus.key}}
    return write(store, "model", facts, {"history": pd.DataFrame({"epoch": [1], "loss": [0.5]})})


def fake_probes(
    store: Store, model: Run, texts: pd.DataFrame, undefined: float, rng: np.random.Generator
) -> Sequence[Run]:
    level = LEVELS.get(model.facts["model"]["encoder"], 0.4)
    lengths = texts["starts_a"].map(len).to_numpy()
    base = pd.DataFrame(
        {
            "example": texts["example"], "site": "attention", "head": 0, "query": 0,
            "label": texts["label"], "predicted": rng.integers(0, 2, len(texts)),
            "length": lengths, "max_weight": rng.beta(2, 2.5, len(texts)),
        }
    )  # fmt: skip
    exact = np.log(2) * np.clip(1 - rng.exponential(0.6 / lengths), 0, 1)
    found = exact * rng.beta(8, 2, len(texts))
    shift = rng.normal(0, 0.2, len(texts))
    values = {
        "correlation": {
            "tau_gradient": np.clip(level + shift, -1, 1),
            "tau_loo": np.clip(level - 0.1 + shift, -1, 1),
            "tau_gradient_loo": np.clip(0.6 + rng.normal(0, 0.1, len(texts)), -1, 1),
            "tau_gradient_significant": (level + shift > 0.3) * 1.0,
            "tau_loo_significant": (level + shift > 0.4) * 1.0,
        },
        "permutation": {"tvd_median": rng.beta(1, 6, len(texts)) * (0.4 + base["max_weight"])},
        "adversarial": {
            "jsd_exact": exact, "jsd_search": found, "jsd_entropy_matched": found * 0.55,
            "tvd_adversary": rng.uniform(0, 0.01, len(texts)),
        },
        "reachability": {"fixed": rng.integers(0, 2, len(texts)) * 1.0},
    }  # fmt: skip
    runs = [_score(store, model, base, rng)]
    for probe, measures in values.items():
        rows = pd.concat(
            [base.assign(measure=name, value=np.asarray(value)) for name, value in measures.items()]
        )
        if probe == "correlation":
            rows.loc[rng.random(len(rows)) < undefined, "value"] = np.nan
        tables: dict[str, Any] = {"rows": rows, "summary": summarise(rows, 0)}
        if probe == "adversarial":
            tables["maps"] = _maps(base, rng)
        runs.append(write(store, "probe", probe_facts(model, probe), tables))
    return runs


def probe_facts(model: Run, probe: str) -> dict[str, Any]:
    upstream = {"base": model.key, "corpus": model.upstream["corpus"]}
    seed = model.facts["seed"]
    return {"piece": probe, "version": 1, "params": {}, "seed": seed, "upstream": upstream}


def _score(store: Store, model: Run, base: pd.DataFrame, rng: np.random.Generator) -> Run:
    level = float(rng.uniform(0.78, 0.84))
    lines = [
        {
            "site": "", "measure": name, "group": "all", "n": len(base), "undefined": 0,
            "mean": mean, "sd": np.nan, "median": np.nan, "low": mean - 0.02, "high": mean + 0.02,
        }
        for name, mean in {"f1": level, "accuracy": level + 0.01, "majority": 0.52}.items()
    ]  # fmt: skip
    return write(store, "probe", probe_facts(model, "score"), {"summary": pd.DataFrame(lines)})


def _maps(base: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    lines = []
    for line in base.to_dict("records"):
        count = line["length"]
        peak = np.zeros(count)
        peak[rng.integers(count)] = 1.0
        scores = {
            "attention": rng.dirichlet(np.full(count, 0.3)),
            "adversary": peak,
            "adversary_entropy_matched": rng.dirichlet(np.full(count, 0.3)),
        }
        place = {name: line[name] for name in ("example", "site", "head", "query")}
        lines += [
            {**place, "map": name, "scores": list(map(float, s))} for name, s in scores.items()
        ]
    return pd.DataFrame(lines)
