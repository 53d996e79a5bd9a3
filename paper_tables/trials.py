"""Trials: a paper's experiment with a change, to find out why a number is another.

Each is a study that no paper has; its runs give compact rows under its own name, which the page
shows beside the published number and that of the paper's study.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from heedful.data import default_spec
from heedful.specs import CorpusSpec, ModelSpec, ProbeSpec, TermSpec, TrainSpec
from heedful.studies import MASKING, MODELS, TRAINING, TYING, Setting, Study
from heedful.studies.papers import JAIN2019 as JAIN
from heedful.studies.papers import TUTEK2020 as TUTEK
from heedful.studies.papers import VASHISHTH2019 as VASHISHTH


@dataclass(frozen=True)
class Trial:
    """What was changed, in words, and the study that has it so; `prepare` is what is changed of
    how texts are prepared."""

    paper: str
    changed: str
    study: Study
    prepare: Mapping[str, Any] = field(default_factory=dict)

    def corpus(self, name: str) -> CorpusSpec:
        return default_spec(name, **self.prepare)


def _tutek(
    name: str,
    models: tuple[str, ...],
    train: TrainSpec,
    *probes: ProbeSpec,
    corpora: tuple[str, ...] = ("20news", "sst"),
) -> Study:
    """Of the paper's models some, on its two small corpora or on those given."""
    chosen = tuple(MODELS[model] for model in models)
    setting = Setting("single", corpora, chosen, probes, train)
    return replace(TUTEK, name=name, settings=(setting,), seeds=(0,), small={}, published=())


def _changed(study: Study, **fields: Any) -> Study:
    """Its models with other fields, under the same names."""
    setting = study.settings[0]
    models = {model: replace(model, **fields) for model in setting.models}
    names = {new.name: study.names[old.name] for old, new in models.items()}
    return replace(study, settings=(replace(setting, models=tuple(models.values())),), names=names)


def _weighed(
    name: str,
    base: TermSpec,
    weight: float,
    *probes: ProbeSpec,
    corpora: tuple[str, ...] = ("20news", "sst"),
) -> Study:
    """tutek2020's models of one term, with another weight of it."""
    kept = tuple(f"bilstm-{attention}-{base.name}" for attention in ("dot", "additive"))
    study = _tutek(name, kept, TRAIN, *probes, corpora=corpora)
    return _changed(study, terms=(replace(base, weight=weight),))


def _imitated() -> Study:
    """tutek2020's Figure 1: adversaries of its base model and of the one that guesses words."""
    models = ("bilstm-additive-base", "bilstm-additive-mlm")
    probes = (ProbeSpec("seeds", {"count": 3}), ProbeSpec("frontier"))
    return _tutek("tutek2020-frontier", models, TRAIN, *probes, corpora=("sst",))


def _searched() -> Study:
    """jain2019's models of one text with the search that its authors ran."""
    models = tuple(ModelSpec(encoder) for encoder in ("bilstm", "average"))
    search = ProbeSpec("adversarial", {"search_candidates": 5})
    setting = Setting("single", ("sst", "20news"), models, (search,), TRAINING)
    return replace(JAIN, name="jain2019-search", settings=(setting,), small={}, published=())


def _wide() -> Study:
    """jain2019's printed models of one text; their vectors are changed in preparing."""
    models = tuple(ModelSpec(encoder) for encoder in ("bilstm", "average"))
    probes = (ProbeSpec("score"), ProbeSpec("correlation"))
    setting = Setting("single", ("sst", "20news", "imdb"), models, probes, TRAINING)
    return replace(JAIN, name="jain2019-300", settings=(setting,), small={}, published=())


def _larger() -> Study:
    """vashishth2019's conditional encoder on the task that it learns in part only."""
    name, score = "vashishth2019-large", (ProbeSpec("score"),)
    stories = next(each for each in VASHISHTH.settings if "babi2" in each.corpora)
    models = tuple(m for m in stories.models if VASHISHTH.names.get(m.name) == "rocktaschel")
    setting = replace(stories, corpora=("babi2",), models=models, probes=score, also=())
    study = replace(VASHISHTH, name=name, settings=(setting,), small={}, published=())
    return _changed(study, hidden=128)


TRAIN, OWN = TUTEK.settings[0].train, TUTEK.settings[0].probes[:4]
FITTING = OWN[:2]
ALONE = ProbeSpec("token_probability")
INFORMATION = ProbeSpec("mutual_information", {"split": "training", "inputs": "clusters"})
PRINTED = (*FITTING, INFORMATION, ALONE)
DISTANCE = replace(TYING, params=(("squared", False),))
MOVING = replace(TYING, params=(("squared", False), ("still", False)))
THREE = ("20news", "sst", "imdb")
BASES = ("bilstm-dot-base", "bilstm-additive-base")
DOTS = tuple(name for name in MODELS if name.startswith("bilstm-dot-"))
ADDITIVE = tuple(f"bilstm-additive-{name}" for name in ("base", "residual", "tying", "mlm"))

TRIALS: Mapping[str, Trial] = {
    "jain2019-search": Trial(
        "jain2019", "the authors' search beside the exact solution", _searched()
    ),
    "tutek2020-wide": Trial(
        "tutek2020",
        "the encoder is as wide as the paper's, 150 per direction instead of 50",
        _changed(_tutek("tutek2020-wide", BASES, TRAIN, *FITTING, ALONE), hidden=150),
    ),
    "tutek2020-300": Trial(
        "tutek2020",
        "vectors have 300 numbers (GloVe's 100 lifted by an orthonormal map) and states 150 per "
        "direction, as in the paper; mutual information as in `tutek2020-information`",
        _changed(
            _tutek("tutek2020-300", tuple(MODELS), TRAIN, *PRINTED, corpora=THREE), hidden=150
        ),
        {"vectors": "glove300"},
    ),
    "tutek2020-300-unit": Trial(
        "tutek2020",
        "widths as in `tutek2020-300`, and dot attention as in `tutek2020-unit`",
        _changed(
            _tutek("tutek2020-300-unit", DOTS, TRAIN, *FITTING, ALONE, corpora=THREE),
            hidden=150,
            attention="unit_dot",
        ),
        {"vectors": "glove300"},
    ),
    "tutek2020-unit": Trial(
        "tutek2020",
        "dot attention scores states of length one and divides nothing by √d, as the program of "
        "the authors' later paper does",
        _changed(
            _tutek("tutek2020-unit", DOTS, TRAIN, *FITTING, ALONE, corpora=THREE),
            attention="unit_dot",
        ),
    ),
    "jain2019-300": Trial(
        "jain2019",
        "vectors have 300 numbers, GloVe's 100 lifted by an orthonormal map",
        _wide(),
        {"vectors": "glove300"},
    ),
    "tutek2020-sharp": Trial(
        "tutek2020",
        "dot attention is not divided by √d, so that it starts ten times as sharp (base, d = 100)",
        _changed(
            _tutek("tutek2020-sharp", DOTS, TRAIN, *FITTING, ALONE, corpora=THREE),
            attention="plain_dot",
        ),
    ),
    "tutek2020-frozen": Trial(
        "tutek2020",
        "the embeddings stay as they are, which the paper says of the models that guess words only",
        _changed(
            _tutek("tutek2020-frozen", BASES, TRAIN, *OWN, corpora=THREE), train_embedding=False
        ),
    ),
    "tutek2020-guessing": Trial(
        "tutek2020",
        "guessing masked words weighs 0.1, the least that the paper tries, instead of 1",
        _weighed("tutek2020-guessing", MASKING, 0.1, *OWN),
    ),
    "tutek2020-guessing-0.3": Trial(
        "tutek2020",
        "guessing masked words weighs 0.3 instead of 1; mutual information as in "
        "`tutek2020-information`",
        _weighed("tutek2020-guessing-0.3", MASKING, 0.3, *PRINTED, corpora=THREE),
    ),
    "tutek2020-guessing-3": Trial(
        "tutek2020",
        "guessing masked words weighs 3 instead of 1; mutual information as in "
        "`tutek2020-information`",
        _weighed("tutek2020-guessing-3", MASKING, 3, *PRINTED, corpora=THREE),
    ),
    **{
        f"tutek2020-tying-{weight}": Trial(
            "tutek2020",
            f"tying weighs {weight} on the distance itself, averaged over tokens, instead of "
            f"{TYING.weight:g} on its square; mutual information as in `tutek2020-information`",
            _weighed(f"tutek2020-tying-{weight}", DISTANCE, weight, *PRINTED, corpora=THREE),
        )
        for weight in (1, 10, 20, 30)
    },
    **{
        f"tutek2020-moving-{weight}": Trial(
            "tutek2020",
            f"tying weighs {weight} on the distance itself, averaged over tokens, and embeddings "
            "come to the states, too; mutual information as in `tutek2020-information`",
            _weighed(f"tutek2020-moving-{weight}", MOVING, weight, *PRINTED, corpora=THREE),
        )
        for weight in (1, 10, 20, 30)
    },
    "tutek2020-frontier": Trial(
        "tutek2020", "adversaries of the base model and of the one that guesses words", _imitated()
    ),
    "tutek2020-long": Trial(
        "tutek2020",
        "trained for 40 epochs instead of 8; the best on dev is kept as before",
        _tutek("tutek2020-long", BASES, replace(TRAIN, epochs=40), *FITTING, ALONE),
    ),
    "tutek2020-information": Trial(
        "tutek2020",
        "mutual information counted on the training texts, of which there are more, and with "
        "clusters of embeddings in the place of words, as the paper has it",
        _tutek("tutek2020-information", ADDITIVE, TRAIN, INFORMATION),
    ),
    "vashishth2019-large": Trial(
        "vashishth2019", "states have 128 numbers per direction instead of 32", _larger()
    ),
}
"""By name."""
