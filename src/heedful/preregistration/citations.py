"""What a run used: pieces, data, models and statistics, each with the works it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heedful.data import CORPORA
from heedful.experiments import PROBES
from heedful.interventions import EDITS
from heedful.models import ATTENTIONS, ENCODERS, FAMILIES, WRAPPERS
from heedful.preregistration.audit_text import Audited, audited_uses
from heedful.preregistration.bibliography import OURSELVES, Use, bibliography, entry_use, named
from heedful.registry import Registry
from heedful.store import Run, Store
from heedful.studies import STUDIES
from heedful.training import STATE_TERMS, TERMS

TOKENIZERS = {"spacy": "honnibal2020", "bpe": "sennrich2016"}
PROBE_METHODS: Mapping[str, tuple[str, ...]] = {
    "correlation": ("kendall1945",),
    "adversarial": ("lin1991",),
    "seeds": ("lin1991",),
    "importance_sets": ("kaplan1958",),
}
"""Methods inside probes, which name the paper of the experiment."""


@dataclass(frozen=True)
class Cited:
    """Works by key with what used them, and works (or runs) that no entry is known of."""

    reasons: Mapping[str, tuple[str, ...]]
    unlisted: tuple[str, ...]


def cited(uses: Iterable[Use]) -> Cited:
    """All of it together with Heedful itself."""
    reasons: dict[str, dict[str, None]] = {OURSELVES: {}}
    unlisted: dict[str, None] = {}
    for use in uses:
        for key in use.keys:
            if key in bibliography():
                reasons.setdefault(key, {})[use.what] = None
            else:
                unlisted[f"{key} ({use.what})"] = None
        for missing in use.missing:
            unlisted[missing] = None
    return Cited({key: tuple(why) for key, why in reasons.items()}, tuple(unlisted))


def uses_of_run(store: Store, run: Run, seen: set[str] | None = None) -> Iterator[Use]:
    """Of the run and of all it was made from, each once."""
    seen = set() if seen is None else seen
    if run.key in seen:
        return
    seen.add(run.key)
    yield from _OF_KIND[run.kind](run) if run.kind in _OF_KIND else ()
    if run.kind == "study":
        yield from intervals_of(run)
    if run.kind == "audit":
        yield from audited_uses(Audited.of_run(run))
    for key in _before(run):
        if store.has(key):
            yield from uses_of_run(store, store.open(key), seen)
        else:
            yield Use(key, missing=(f"{key} is not in this store: what it used is not listed",))


def intervals_of(run: Run) -> Iterator[Use]:
    """How a study's tables are made of its summaries: one seed or several of a cell."""
    cells = run.table("cells")
    counts = cells.groupby(["corpus", "model", "probe"])["seed"].nunique()
    if (counts == 1).any():
        yield Use("percentile bootstrap over texts", ("efron1993",))
    if (counts > 1).any():
        yield Use("Student's t over seeds", ("student1908",))


def _before(run: Run) -> list[str]:
    """An audit names the model it looked at beside its own facts."""
    found = list(run.upstream.values())
    if run.kind == "audit" and "run" in run.facts:
        found.append(run.fact("run", str))
    return list(dict.fromkeys(found))


def _corpus(run: Run, at: str = "") -> Iterator[Use]:
    """`at` is where a fine-tuned model's facts tell of its corpus."""
    yield _entry("corpus", CORPORA, run.fact(f"{at}piece", str))
    prepare = run.fact(f"{at}prepare", dict)
    if prepare.get("vectors") == "glove":
        yield Use("word vectors", ("pennington2014",))
    tokenizer = str(prepare.get("tokenizer"))
    if tokenizer in TOKENIZERS:
        yield Use(f"tokenizer {tokenizer}", (TOKENIZERS[tokenizer],))


def _model(run: Run) -> Iterator[Use]:
    """Of a model that was trained here, from nothing or from a pretrained one."""
    train = run.fact("train", dict)
    if "pretrained" in run.facts:
        yield from _corpus(run, "corpus.")
        yield Use("fine-tuning by AdamW", ("loshchilov2019",))
        yield from (_entry("term", STATE_TERMS, name) for name in _terms(run))
        return
    spec = run.spec
    yield _entry("family", FAMILIES, spec.family)
    if spec.family != "transformer":
        encoder, *wrappers = spec.encoder.split("+")
        yield _entry("encoder", ENCODERS, encoder)
        yield from (_entry("wrapper", WRAPPERS, name) for name in wrappers)
        yield _entry("attention", ATTENTIONS, spec.attention)
    if spec.train_edit:
        yield _entry("edit", EDITS, spec.train_edit)
    yield from (_entry("term", TERMS, term.name) for term in spec.terms)
    yield Use("training by Adam", ("kingma2015", *(("reddi2018",) if train.get("amsgrad") else ())))


def _terms(run: Run) -> list[str]:
    """Those that a pretrained model was fine-tuned with."""
    found = run.fact("train.terms", list) if "terms" in run.fact("train", dict) else []
    return [str(each["name"]) for each in found if isinstance(each, dict) and "name" in each]


def _probe(run: Run) -> Iterator[Use]:
    name = run.fact("piece", str)
    yield _entry("probe", PROBES, name)
    if name in PROBE_METHODS:
        yield Use(f"probe {name}", PROBE_METHODS[name])


def _study(run: Run) -> Iterator[Use]:
    name = run.fact("piece", str)
    if name in STUDIES:  # `heedful train` lists its cells as a study of that name
        yield _entry("study", STUDIES, name)


def _entry(kind: str, registry: Registry[Any], name: str) -> Use:
    """A piece that is no longer here is named and not cited."""
    return entry_use(kind, registry[name]) if name in registry else named(kind, name)


_OF_KIND = {"corpus": _corpus, "model": _model, "probe": _probe, "study": _study}
