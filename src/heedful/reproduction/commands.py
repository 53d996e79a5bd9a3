"""The commands whose runs the compact rows are: read off the rows and the studies' grids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import pandas as pd

from heedful.reproduction.settings import named_models, studies
from heedful.reproduction.trials import TRIALS
from heedful.runner import Choice
from heedful.specs import ModelSpec
from heedful.studies import Setting, Study

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
            f"--size {size}" if size != "full" else "",
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
