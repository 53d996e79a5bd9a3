"""Which study asks for a run, by a digest of all that was set, and the commands that make the runs.

Rows keep the digest, so that a study that changes leaves its old rows behind, and only those
that it changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import pandas as pd

from heedful.data import CORPORA, corpus_facts, corpus_params, default_spec
from heedful.errors import HeedfulError
from heedful.experiments import PROBES
from heedful.runner import SIZES, Choice, model_versions
from heedful.specs import ModelSpec
from heedful.store import canonical
from heedful.studies import STUDIES, Setting, Study
from paper_tables.trials import TRIALS

MOST_LAYERS = 3
"""A model may be deeper than the study's (tutek2020, Table 6)."""
Place = tuple[str, str, str]
"""A corpus, a probe, and the digest of the setting."""


@dataclass(frozen=True)
class Asked:
    """A study, the name it has for the model, and how large it was run."""

    paper: str
    model: str
    size: str


def digest(model: ModelSpec, train: Any, params: Any, prepare: Any) -> str:
    """Of the model, its training, the probe's parameters and how the corpus was prepared."""
    return _digest(*map(canonical, (model, train, params, prepare)))


def setting_of(
    probe: Mapping[str, Any], model: Mapping[str, Any], corpus: Mapping[str, Any]
) -> str | None:
    """Of a probe's facts, its model's and its corpus's. None where they are not what this
    version makes of a corpus by itself: then no row may be made of them."""
    try:
        spec = ModelSpec(**model["model"])
        versions = model["versions"], probe["version"], probe["precision"], probe["split"]
        today = model_versions(spec), PROBES[probe["piece"]].version, "float32", "test"
        if versions != today or _treated(corpus) != _usual(corpus["piece"]):
            return None
        return digest(spec, model["train"], probe["params"], corpus["prepare"])
    except (KeyError, TypeError, AttributeError, HeedfulError):
        return None  # of another version of Heedful, or a fine-tuned model


def _treated(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """All but how its texts were prepared, which is a part of the setting, and its files."""
    return {name: corpus[name] for name in corpus if name not in ("prepare", "sources")}


@cache
def _usual(name: str) -> dict[str, Any]:
    spec = default_spec(name)
    piece = CORPORA[name]
    return _treated(corpus_facts(piece, corpus_params(piece, spec.params), spec.prepare))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


@cache
def asked() -> Mapping[Place, tuple[Asked, ...]]:
    """Who asks for what: one run may be of several papers. Where a study's small run is the full
    one, it is called full."""
    found: dict[Place, dict[tuple[str, str], Asked]] = {}
    for place, each in _every():
        found.setdefault(place, {}).setdefault((each.paper, each.model), each)
    return {place: tuple(each.values()) for place, each in found.items()}


def _every() -> Iterator[tuple[Place, Asked]]:
    for paper, study in studies().items():
        for setting in study.settings:
            for corpus, size in product(setting.corpora, SIZES):
                for model, probe, found in _at(study, setting, corpus, size):
                    yield (corpus, probe, found), Asked(paper, model, size)


def _at(study: Study, setting: Setting, corpus: str, size: str) -> Iterator[tuple[str, str, str]]:
    """Every model by name, with every probe and the digest of both together."""
    choice, small = Choice(size=size), study.small.get(corpus)
    train = canonical(choice.training(setting.train, small))
    trial = TRIALS.get(study.name)
    treated = default_spec(corpus) if trial is None else trial.corpus(corpus)
    prepare = canonical(treated.prepare)
    probes = {each.name: canonical(each.params) for each in choice.asked(setting.probes, small)}
    for name, spec in named_models(study, setting).items():
        model = canonical(spec)
        for probe, params in probes.items():
            yield name, probe, _digest(model, train, params, prepare)


def studies() -> dict[str, Study]:
    """Those of the papers, and trials."""
    found: dict[str, Study] = {name: STUDIES[name].make() for name in STUDIES}
    return found | {name: trial.study for name, trial in TRIALS.items()}


def named_models(study: Study, setting: Setting) -> dict[str, ModelSpec]:
    """By the names that rows have."""
    deep = [replace(model, layers=n) for n in range(1, 1 + MOST_LAYERS) for model in setting.models]
    return {study.names.get(model.name, model.name): model for model in deep}


# The commands whose runs the compact rows are: read off the rows and the studies' grids.


CHOICES: Mapping[str, Callable[[list[str]], Choice]] = {
    "encoders": lambda names: Choice(encoders=names),
    "attention": lambda names: Choice(attentions=names),
}
"""By the option of `heedful study`."""


def commands(rows: pd.DataFrame) -> list[str]:
    """One for each paper, size, depth and number of seeds; corpora that were asked alike share
    theirs."""
    alike: dict[tuple[str, str], list[str]] = {}
    known = studies()
    for (paper, corpus), lines in rows.groupby(["paper", "corpus"], sort=True):
        for options in _options(known[str(paper)], str(corpus), lines):
            alike.setdefault((str(paper), options), []).append(str(corpus))
    return [
        f"{_verb(paper)} --corpora {','.join(corpora)} {options}"
        for (paper, options), corpora in alike.items()
    ]


def _verb(paper: str) -> str:
    return f"python -m tools.trials {paper}" if paper in TRIALS else f"heedful study {paper}"


def _options(study: Study, corpus: str, lines: pd.DataFrame) -> Iterable[str]:
    setting = study.setting(corpus, "")
    known = named_models(study, setting)
    named = lines.assign(layers=[known[name].layers for name in lines["model"]])
    probed = named.groupby(["size", "layers", "probe"])["seed"]
    named["seeds"] = probed.transform(_seeds).astype(str)
    for (size, layers, seeds), part in named.groupby(["size", "layers", "seeds"], sort=True):
        models = [known[name] for name in sorted(set(part["model"]))]
        told = [
            f"--layers {layers}" if layers != 1 else "",
            f"--preset {size}" if size != "full" else "",
            _some("encoders", models, setting, lambda model: model.encoder),
            _some("attention", models, setting, lambda model: model.attention),
            f"--seeds {seeds}",
            "" if study.name in TRIALS else _probes(setting, set(part["probe"])),
        ]
        yield " ".join(filter(None, told))


def _some(
    option: str,
    models: Sequence[ModelSpec],
    setting: Setting,
    part: Callable[[ModelSpec], str],
) -> str:
    """Nothing where all of the study's were asked, nor where the option would also make models
    that the study has not: a choice of encoders is tried with every loss term."""
    everything = list(dict.fromkeys(map(part, setting.models)))
    asked = {part(model) for model in models}
    chosen = [name for name in everything if name in asked]
    alien = set(CHOICES[option](chosen).models(setting.models)) - set(setting.models)
    return "" if chosen == everything or alien else f"--{option} {','.join(chosen)}"


def _seeds(seeds: Iterable[int]) -> str:
    """A count where they are the first ones."""
    found = sorted(set(map(int, seeds)))
    return str(len(found)) if found == list(range(len(found))) else ",".join(map(str, found))


def _probes(setting: Setting, asked: set[str]) -> str:
    return "--probes " + ",".join(each.name for each in setting.probes if each.name in asked)
