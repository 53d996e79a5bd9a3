"""A fake store for the report's tests: seeded tables shaped like a small study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heedful.experiments import score_table
from heedful.experiments import summary as importance_summary
from heedful.metrics import summarise
from heedful.report import RANKINGS
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
    """What to fake: the size of the study and how broken its numbers are.

    `specs` are models that an encoder and an attention do not name; `report` is added to what
    preparing each corpus reported.
    """

    corpora: tuple[str, ...] = ("sst",)
    models: tuple[tuple[str, str], ...] = (("bilstm", "additive"),)
    seeds: tuple[int, ...] = (0,)
    texts: int = 60
    undefined: float = 0.02
    words: tuple[str, ...] = HOSTILE
    long: bool = False
    paper: str = "jain2019"
    specs: tuple[ModelSpec, ...] = ()
    report: tuple[tuple[str, Any], ...] = ()

    @property
    def every_model(self) -> tuple[ModelSpec, ...]:
        return self.specs or tuple(ModelSpec(*parts) for parts in self.models)


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
    makers = {
        "jain2019": fake_probes,
        "serrano2019": serrano_probes,
        "vashishth2019": vashishth_probes,
    }
    for number, corpus in enumerate(fake.corpora):
        rng = np.random.default_rng(number)
        corpus_run, texts = fake_corpus(store, corpus, fake, rng)
        for spec in fake.every_model:
            for seed in fake.seeds:
                model = fake_model(store, corpus_run, spec, seed)
                for probe in makers[fake.paper](store, model, texts, fake.undefined, rng):
                    cells.append(
                        {
                            "corpus": corpus,
                            "model": spec.name,
                            "encoder": spec.encoder,
                            "attention": spec.attention,
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
    facts = {"piece": fake.paper, "version": 1, "params": {"size": "small"}, "upstream": upstream}
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
    report.update(fake.report)
    facts = {"piece": name, "params": {"texts": fake.texts}}
    return write(store, "corpus", facts, {"examples": examples, "report": report}), examples


def fake_model(store: Store, corpus: Run, spec: ModelSpec, seed: int) -> Run:
    facts = {"model": asdict(spec), "train": {}, "seed": seed, "upstream": {"corpus": corpus.key}}
    return write(store, "model", facts, {"history": pd.DataFrame({"epoch": [1], "loss": [0.5]})})


def fake_probes(
    store: Store, model: Run, texts: pd.DataFrame, undefined: float, rng: np.random.Generator
) -> Sequence[Run]:
    level = LEVELS.get(model.facts["model"]["encoder"], 0.4)
    base = _base(texts, rng)
    lengths = base["length"].to_numpy()
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


DELTAS = {
    "uniform:infer": -0.05,
    "random:infer": -0.06,
    "permute:infer": -0.07,
    "uniform:train+infer": -0.01,
    "random:train+infer": -0.02,
}
FLIPPED = {"flip_both": 0.1, "flip_top_only": 0.2, "flip_random_only": 0.05, "flip_neither": 0.65}
SCORE, BLEU = 0.8, 30.0


def serrano_probes(
    store: Store, model: Run, texts: pd.DataFrame, undefined: float, rng: np.random.Generator
) -> Sequence[Run]:
    """With numbers that are known exactly, but for those of `erasure`."""
    base = _base(texts, rng)
    tables = {
        "score": _scores(base, False),
        "erasure": _rows(base, _erased(base, undefined, rng)),
        "flips": _rows(base, _flipped(len(base))),
        "importance_sets": _sets(base, rng),
    }
    return _probe_runs(store, model, tables)


def vashishth_probes(
    store: Store, model: Run, texts: pd.DataFrame, undefined: float, rng: np.random.Generator
) -> Sequence[Run]:
    """With numbers that are known exactly, but for those of `erasure` and `permutation`."""
    base = _base(texts, rng)
    writes = model.facts["model"]["family"] == "seq2seq"
    tables = {
        "translation" if writes else "score": _scores(base, writes),
        "substitution": _substituted(base, writes),
        "permutation": _rows(base, {"tvd_median": rng.beta(1, 6, len(base))}),
        "erasure": _rows(base, _erased(base, undefined, rng)),
        **({"layers": _layers(base)} if writes else {}),
    }
    return _probe_runs(store, model, tables)


def _probe_runs(
    store: Store, model: Run, tables: dict[str, dict[str, pd.DataFrame]]
) -> Sequence[Run]:
    return [write(store, "probe", probe_facts(model, name), made) for name, made in tables.items()]


def _base(texts: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "example": texts["example"], "site": "attention", "head": 0, "query": 0,
            "label": texts["label"], "predicted": rng.integers(0, 2, len(texts)),
            "length": texts["starts_a"].map(len).to_numpy(),
            "max_weight": rng.beta(2, 2.5, len(texts)),
            "confidence": np.linspace(0.5, 1, len(texts)),
        }
    )  # fmt: skip


def _rows(base: pd.DataFrame, measures: dict[str, np.ndarray]) -> dict[str, pd.DataFrame]:
    rows = pd.concat([base.assign(measure=name, value=value) for name, value in measures.items()])
    return {"rows": rows, "summary": summarise(rows, 0)}


def _scores(base: pd.DataFrame, writes: bool) -> dict[str, pd.DataFrame]:
    lines = {"bleu": BLEU} if writes else {"f1": 0.79, "accuracy": SCORE, "majority": 0.52}
    half = 1.0 if writes else 0.02
    table = score_table([(n, v, v - half, v + half) for n, v in lines.items()], len(base))
    return {"summary": table}


def _substituted(base: pd.DataFrame, writes: bool) -> dict[str, pd.DataFrame]:
    scale = 100.0 if writes else 1.0
    values = {"score": BLEU / 100 if writes else SCORE}
    values |= {f"delta:{name}": value for name, value in DELTAS.items()}
    lines = [(n, scale * v, scale * (v - 0.01), scale * (v + 0.01)) for n, v in values.items()]
    return {"summary": score_table(lines, len(base))}


def _erased(
    base: pd.DataFrame, undefined: float, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    top, other = rng.beta(2, 8, len(base)), rng.beta(1, 9, len(base))
    known = np.where(rng.random(len(base)) < undefined, np.nan, 1.0)
    found = {
        "js_top": top, "js_random": other, "js_difference": top - other,
        "weight_difference": base["max_weight"].to_numpy() * rng.random(len(base)),
        "negative": (top < other) * 1.0,
    }  # fmt: skip
    return {name: value * known for name, value in found.items()}


def _flipped(count: int) -> dict[str, np.ndarray]:
    """The shares of FLIPPED, to the nearest text."""
    edges = np.round(np.cumsum([0.0, *FLIPPED.values()]) * count).astype(int)
    places = np.arange(count)
    return {
        name: ((places >= low) & (places < high)) * 1.0
        for name, low, high in zip(FLIPPED, edges[:-1], edges[1:], strict=True)
    }


def _sets(base: pd.DataFrame, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """The gradient flips sooner than attention on every text; a tenth never flips at all."""
    never = np.arange(len(base)) % 10 == 0
    measures = {"tried": np.ones(len(base))}
    for step, name in enumerate(RANKINGS):
        share = 0.1 if name == "gradient" else 0.2 + 0.1 * step
        measures |= {
            f"count_{name}": np.where(never, np.nan, np.ceil(share * base["length"])),
            f"fraction_{name}": np.where(never, np.nan, share),
            f"mass_{name}": np.where(never, np.nan, rng.random(len(base))),
            f"never_{name}": never * 1.0,
        }
    tables = _rows(base, measures)
    return {**tables, "summary": importance_summary(tables["rows"], 0)}


def _layers(base: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Of two groups, one with three layers and one with two."""
    values = {"score": BLEU}
    for group, count in (("encoder", 3), ("decoder.cross", 2)):
        values |= {f"score:{group}:first={k}": BLEU - 5 * k for k in range(1, count + 1)}
        values |= {f"score:{group}:last={k}": BLEU - 3 * k for k in range(1, count)}
    scores = score_table([(n, v, v - 1, v + 1) for n, v in values.items()], len(base))
    tables = _rows(base, {"tvd:encoder:first=1": np.full(len(base), 0.25)})
    return {**tables, "summary": pd.concat([tables["summary"], scores], ignore_index=True)}


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
