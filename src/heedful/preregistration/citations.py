"""What runs and audits used, each with the works it comes from; and the bibliography itself."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from heedful import __version__
from heedful.auditing import ATTENTION, BASELINES, ORACLE, Audit, named, works
from heedful.data import CORPORA
from heedful.entries import Entry as RegistryEntry
from heedful.errors import HeedfulError
from heedful.experiments import PROBES
from heedful.interventions import EDITS
from heedful.metrics import METRICS
from heedful.models import ATTENTIONS, ENCODERS, FAMILIES, WRAPPERS
from heedful.perturbations import REMOVALS
from heedful.preregistration.latex import listed
from heedful.registry import Registry
from heedful.store import Frames, Run, Store
from heedful.studies import STUDIES
from heedful.training import STATE_TERMS, TERMS
from heedful.verdict import REQUIRED, Verdict, stored_verdict

OURSELVES = "heedful"
ALIASES = {"maggie2020": "kaggle2020"}
"""Works that are named in two ways."""
TOKENIZERS = {"spacy": "honnibal2020", "bpe": "sennrich2016"}
PROBE_METHODS: Mapping[str, tuple[str, ...]] = {
    "correlation": ("kendall1945",),
    "adversarial": ("lin1991",),
    "seeds": ("lin1991",),
    "importance_sets": ("kaplan1958",),
}
"""Methods inside probes, which name the paper of the experiment."""
ASKED = ("SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE", "UNUSABLE")
"""Decisions of properties that had a share of alpha."""
PRETRAINED: Mapping[str, str] = {
    "Bert": "devlin2019",
    "Roberta": "liu2019",
    "DistilBert": "sanh2019",
    "Albert": "lan2020",
    "Electra": "clark2020",
    "Deberta": "he2021",
    "DebertaV2": "he2021",
    "ModernBert": "warner2024",
    "GPT2": "radford2019",
    "Llama": "touvron2023",
    "T5": "raffel2020",
    "Bart": "lewis2020",
    "Marian": "junczys2018",
}
"""Families of transformers by the beginning of their classes' names."""
RANDOMISED = "randomised"
_ENTRY = re.compile(r"@(\w+)\{([a-z0-9]+),\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"  (\w+) = \{(.*)\},")
_KEY = re.compile(r"\b[a-z]+[12][0-9]{3}\b")
_AUTHORS = re.compile(
    r"([^\W\d_][\w'’-]*)"  # the first author
    r"(?:(?:, [^\W\d_][\w'’-]*)*,? (?:&|and) [^\W\d_][\w'’-]*| et al\.)?"
    r",? \(?([12][0-9]{3})\b"
)
_CLASS = re.compile(r"([A-Z]\w*?)(?:For[A-Z]\w*|LMHeadModel|MTModel|DoubleHeadsModel)\b.*")
_SPLIT = re.compile(r", \w+ split$")


@dataclass(frozen=True)
class Entry:
    """One work, by the key that pieces name it by."""

    key: str
    kind: str
    fields: Mapping[str, str]

    @property
    def bibtex(self) -> str:
        lines = [f"  {name} = {{{value}}}," for name, value in self.fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    @property
    def words(self) -> str:
        """`Kaplan & Meier 1958, Nonparametric Estimation …`, for a line of text."""
        names = [author.partition(",")[0] for author in self.fields["author"].split(" and ")]
        by = " & ".join(names) if len(names) < 3 else f"{names[0]} et al."
        parts = (f"{by} {self.fields.get('year', '')}".strip(), self.fields["title"])
        return ", ".join(parts).replace("{", "").replace("}", "")


@lru_cache(maxsize=1)
def bibliography() -> Mapping[str, Entry]:
    """Every entry by its key, in the order of the file, Heedful's own first."""
    text = files("heedful.preregistration").joinpath("references.bib").read_text(encoding="utf8")
    ourselves = {  # no year: a checkout has none
        "author": "{The Heedful developers}",
        "title": "Heedful: attention on trial",
        "howpublished": "Computer software",
        "note": f"Version {__version__}",
    }
    entries = {OURSELVES: Entry(OURSELVES, "misc", ourselves)}
    for entry in read(text):
        if entry.key in entries:
            raise HeedfulError(f"the bibliography has {entry.key!r} twice: rename one.")
        entries[entry.key] = entry
    return entries


def read(text: str) -> Iterator[Entry]:
    """The entries of a file that has one field on each line, as ours."""
    for kind, key, body in _ENTRY.findall(text):
        yield Entry(key, kind, dict(_FIELD.findall(body)))


def in_order(keys: Iterable[str]) -> list[Entry]:
    """Entries as the bibliography has them, each once."""
    wanted = set(keys)
    return [entry for key, entry in bibliography().items() if key in wanted]


def keys_in(text: str) -> list[str]:
    """The works a text names, each once, whether or not the bibliography has them."""
    places = [(match.start(), match.group()) for match in _KEY.finditer(text)]
    places += [(match.start(), _key(*match.groups())) for match in _AUTHORS.finditer(text)]
    return list(dict.fromkeys(ALIASES.get(key, key) for _, key in sorted(places)))


def known(keys: Iterable[str]) -> tuple[str, ...]:
    """Those that the bibliography has, each once."""
    return tuple(key for key in dict.fromkeys(keys) if key in bibliography())


def _key(author: str, year: str) -> str:
    plain = unicodedata.normalize("NFKD", author).encode("ascii", "ignore").decode()
    return f"{re.sub('[^A-Za-z]', '', plain).lower()}{year}"


@dataclass(frozen=True)
class Use:
    """`what` is in words; `keys` are those of works; `missing` says what cannot be cited."""

    what: str
    keys: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def entry_use(kind: str, entry: RegistryEntry) -> Use:
    """An entry names its own works: its paper, and where the method is from. Works that only an
    installed package names need no entry of ours and are quoted as they stand."""
    keys = [*keys_in(entry.paper), *keys_in(entry.citation)]
    return Use(f"{kind} {entry.name}", tuple(dict.fromkeys(keys)))


def _named_use(kind: str, registry: Registry[Any], name: str) -> Use:
    """An entry that is no longer installed is named and not cited."""
    if name in registry:
        return entry_use(kind, registry[name])
    return Use(f"{kind} {name}", missing=(f"{kind} {name} is not installed here",))


@dataclass(frozen=True)
class Cited:
    """Works by key with what used them, and works (or runs) without an entry."""

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
        unlisted |= dict.fromkeys(use.missing)
    return Cited({key: tuple(why) for key, why in reasons.items()}, tuple(unlisted))


def no_entry(missing: str) -> str:
    """A comment of BibTeX, which takes lines outside an entry for one; it must hold no entry."""
    return f"% no entry: {plain_comment(missing)}"


def plain_comment(text: str) -> str:
    return " ".join(text.split()).replace("@", "(at)")


def uses_of_run(store: Store, run: Run, seen: set[str] | None = None) -> Iterator[Use]:
    """Of the run and of all it was made from, each once."""
    seen = set() if seen is None else seen
    if run.key in seen:
        return
    seen.add(run.key)
    yield from _OF_KIND[run.kind](run) if run.kind in _OF_KIND else ()
    upstream = list(run.upstream.values())
    if run.kind == "audit" and "run" in run.facts:  # the model it looked at
        upstream.append(run.fact("run", str))
    for key in dict.fromkeys(upstream):
        if store.has(key):
            yield from uses_of_run(store, store.open(key), seen)
        else:
            yield Use(key, missing=(f"{key} is not in this store: what it used is not listed",))


def _of_corpus(run: Run, at: str = "") -> Iterator[Use]:
    """`at` is where the facts of a fine-tuned model describe its corpus."""
    yield _named_use("corpus", CORPORA, run.fact(f"{at}piece", str))
    prepare = run.fact(f"{at}prepare", dict)
    if prepare.get("vectors") == "glove":
        yield Use("word vectors", ("pennington2014",))
    tokenizer = str(prepare.get("tokenizer"))
    if tokenizer in TOKENIZERS:
        yield Use(f"tokenizer {tokenizer}", (TOKENIZERS[tokenizer],))


def _of_model(run: Run) -> Iterator[Use]:
    """Of a model that was trained here, from scratch or from a pretrained one."""
    train = run.fact("train", dict)
    if "pretrained" in run.facts:
        yield from _of_corpus(run, "corpus.")
        yield Use("fine-tuning by AdamW", ("loshchilov2019",))
        terms = run.fact("train.terms", list) if "terms" in train else []
        names = [str(term["name"]) for term in terms if isinstance(term, dict) and "name" in term]
        yield from (_named_use("term", STATE_TERMS, name) for name in names)
        return
    spec = run.spec
    yield _named_use("family", FAMILIES, spec.family)
    if spec.family != "transformer":
        encoder, *wrappers = spec.encoder.split("+")
        yield _named_use("encoder", ENCODERS, encoder)
        yield from (_named_use("wrapper", WRAPPERS, name) for name in wrappers)
        yield _named_use("attention", ATTENTIONS, spec.attention)
    if spec.train_edit:
        yield _named_use("edit", EDITS, spec.train_edit)
    yield from (_named_use("term", TERMS, term.name) for term in spec.terms)
    yield Use("training by Adam", ("kingma2015", *(("reddi2018",) if train.get("amsgrad") else ())))


def _of_probe(run: Run) -> Iterator[Use]:
    name = run.fact("piece", str)
    yield _named_use("probe", PROBES, name)
    if name in PROBE_METHODS:
        yield Use(f"probe {name}", PROBE_METHODS[name])


def _of_study(run: Run) -> Iterator[Use]:
    """With how its tables are made of summaries: from one seed of a cell, or from several."""
    name = run.fact("piece", str)
    if name in STUDIES:  # `heedful train` lists its cells as a study of that name
        yield entry_use("study", STUDIES[name])
    seeds = run.table("cells").groupby(["corpus", "model", "probe"])["seed"].nunique()
    if (seeds == 1).any():
        yield Use("percentile bootstrap over texts", ("efron1993",))
    if (seeds > 1).any():
        yield Use("Student's t over seeds", ("student1908",))


def _of_audit(run: Run) -> Iterator[Use]:
    return audited_uses(_audited(stored_verdict(run), run.json("facts"), run.frames("rows")))


_OF_KIND = {
    "corpus": _of_corpus,
    "model": _of_model,
    "probe": _of_probe,
    "study": _of_study,
    "audit": _of_audit,
}


@dataclass(frozen=True)
class Audited:
    """An audit, wherever it lies: its verdict and facts as plain values, and what is in its table.
    What was planned and is not in the table was not used. `checked` counts the texts that were
    measured again with the model's weights in random order."""

    verdict: Mapping[str, Any]
    facts: Mapping[str, Any]
    measures: frozenset[str]
    explanations: tuple[str, ...]
    operators: tuple[str, ...]
    checked: int

    @staticmethod
    def of(audit: Audit) -> Audited:
        return _audited(audit.verdict, dict(audit.facts), audit.tables["rows"])


def _audited(verdict: Verdict, facts: Mapping[str, Any], rows: Frames) -> Audited:
    names: dict[str, set[str]] = {"measure": set(), "explanation": set(), "operator": set()}
    checked: set[str] = set()
    for block in rows:
        for column, seen in names.items():
            seen.update(map(str, block[column].unique()))
        checked.update(map(str, block.loc[block["model"] == RANDOMISED, "example"].unique()))
    # attention is always shown; baselines and the oracle are no explanations
    kept = {ATTENTION, *names["explanation"]} - {*BASELINES, ORACLE}
    return Audited(
        json.loads(verdict.to_json()),
        facts,
        frozenset(names["measure"]),
        tuple(name for name in facts["explanations"] if name in kept),
        tuple(name for name in facts["operators"] if name in names["operator"]),
        len(checked),
    )


def audited_uses(audit: Audited) -> Iterator[Use]:
    yield from (entry_use("explanation", named(name).piece) for name in audit.explanations)
    yield from (entry_use("removal operator", REMOVALS[name]) for name in audit.operators)
    yield from measure_uses(audit.measures)
    if audit.checked:
        yield Use("weights in random order, to see which measures fall", ("adebayo2018",))
    yield from _of_class(str(audit.facts["model"]))
    corpus = _SPLIT.sub("", str(audit.facts["data"]))
    if corpus in CORPORA:  # a file is the user's own
        yield entry_use("corpus", CORPORA[corpus])
    yield from (Use(each.name, each.keys) for each in statistics_of(audit.verdict))


def measure_uses(measures: Iterable[str]) -> Iterator[Use]:
    for name in sorted(measures):
        if keys := works(name):
            yield Use(f"measure {name}", keys)
        if name in METRICS:
            yield entry_use("metric", METRICS[name])


def _of_class(name: str) -> Iterator[Use]:
    """A model of transformers, by its class; a model of our own is a run and named there."""
    match = _CLASS.fullmatch(name)
    if match is None:
        return
    yield Use("transformers", ("wolf2020",))
    family = match[1]
    if family in PRETRAINED:
        yield Use(f"model {family}", (PRETRAINED[family],))
    else:
        yield Use(f"model {family}", missing=(f"{family}: cite what the model's card names",))


@dataclass(frozen=True)
class Statistic:
    """What was done, as a sentence that says so, and the works it is from."""

    name: str
    sentence: str
    keys: tuple[str, ...]


def statistics_of(verdict: Mapping[str, Any]) -> Iterator[Statistic]:
    """The statistics that a verdict used, in the order of a paper: intervals, corrections, looks.
    Everything is read from the verdict, so nothing is described that did not happen."""
    settings = verdict["settings"]
    asked = [each for each in verdict["statements"] if each["decision"] in ASKED]
    weighed = [each for each in asked if each["clusters"] >= 2]
    alone = [each for each in weighed if each["checkpoints"] == 1]
    if alone:
        yield Statistic(
            "studentised bootstrap over clusters",
            f"One-sided bounds and p-values of {_named(alone)} come from a studentised bootstrap "
            f"over {_clusters(alone)} of texts, {settings['resamples']} resamples, "
            f"seed {settings['seed']}, conditional on this checkpoint.",
            ("efron1993",),
        )
    crossed = [each for each in weighed if each["checkpoints"] > 1]
    if crossed:
        count = max(each["checkpoints"] for each in crossed)
        yield Statistic(
            "Student's t, checkpoints and texts crossed",
            f"One-sided bounds and p-values of {_named(crossed)} come from Student's t "
            f"with {count} checkpoints and {_clusters(crossed)} of texts as crossed "
            f"effects, degrees of freedom after Satterthwaite.",
            ("student1908", "satterthwaite1946"),
        )
    if weighed:
        yield Statistic(
            "rule of three",
            "No bound is nearer to its estimate than what may have stayed unseen in so many "
            "clusters.",
            ("hanley1983",),
        )
    if any(each["property"] in REQUIRED for each in asked):
        yield Statistic(
            "simultaneous bounds",
            f"The bounds of {listed(list(REQUIRED))} hold together at {1 - settings['alpha']:g}: "
            f"each is one-sided at {settings['alpha'] / len(REQUIRED):g} (Bonferroni). The answer "
            f"is given only where every point within them gives it.",
            ("dunn1961",),
        )
    if settings["looks"] > 1:
        yield Statistic(
            "alpha spending",
            f"The evidence was to be looked at {settings['looks']} times and this is look "
            f"{settings['look']}: alpha was spent over looks.",
            ("lan1983", "armitage1969"),
        )


def _named(statements: list[Mapping[str, Any]]) -> str:
    return listed([str(each["property"]) for each in statements])


def _clusters(statements: list[Mapping[str, Any]]) -> str:
    counts = sorted({int(each["clusters"]) for each in statements})
    if len(counts) == 1:
        return f"{counts[0]} clusters"
    return f"{counts[0]} to {counts[-1]} clusters"
