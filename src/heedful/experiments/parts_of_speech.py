"""Which kinds of words have the attention, punctuation above all? (mohankumar2020)"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from heedful.data import (
    CONTENT,
    FUNCTION,
    KINDS,
    PUNCTUATION,
    Split,
    TaggedText,
    load_conllu,
    word_kind,
)
from heedful.entries import Experiment, share
from heedful.errors import HeedfulError, unknown_name
from heedful.experiments.evidence import Collector, Evidence, Findings, ForwardBatch, place_of
from heedful.hashing import stable_hash
from heedful.input_files import read_lines
from heedful.types import AttentionRows

LEXICON, FILE = "lexicon", ".conllu"

TAGS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
)  # fmt: skip
"""Universal parts of speech; a pipeline's own others count as X."""

_NOBODY = -1  # of tokens outside the text


def parts_of_speech(evidence: Evidence, tagger: str = LEXICON) -> Findings:
    """The share of attention on each kind of word, and the kind's share of the tokens: that is
    what even attention gives it. `tagger` is `lexicon`, or a spaCy pipeline by its name; the
    version of what is installed is part of what names the result. Or it is a CoNLL-U file with the
    texts and their tags; texts that are not in it have no numbers."""
    tags = _tagger(tagger)
    collector, place = Collector(evidence.data.ids), place_of(evidence.data.ids)
    known = 0
    for forward in evidence.passes("parts_of_speech"):
        texts = tags.tag(evidence.data, [place[name] for name in forward.batch.ids])
        known += sum(text is not None for text in texts)
        codes = _codes(tags, texts, forward)
        for site in evidence.sites:
            view = forward.rows(site)
            collector.add(forward, site, view, _measures(tags, view, codes[view.example]))
    if not known:
        raise HeedfulError(
            f"no text under study is in {tags.name}: tag the corpus's own texts, or choose another "
            f"tagger."
        )
    version = {"tagger_version": tags.version} if tags.version else {}
    missing = len(evidence.data) - known
    untagged = {"untagged": f"{missing} of {len(evidence.data)} texts"} if missing else {}
    return Findings(collector.rows(), notes={"tagger": tags.name, **version, **untagged})


def _depends(tagger: str = LEXICON) -> Mapping[str, str]:
    return {"tagger": version_of(tagger)} if tagger != LEXICON else {}


def _codes(tagger: Tagger, texts: Tags, forward: ForwardBatch) -> Int[Tensor, "b t"]:
    """The number of each token's tag; a tag is there for each real token of a known text."""
    real = forward.batch.texts["a"].mask
    codes = torch.full(real.shape, _NOBODY, device=real.device)
    names = tagger.tags or KINDS
    for row, tags in enumerate(texts):
        if tags is None:
            continue
        numbers = torch.tensor([names.index(tag) for tag in tags], dtype=codes.dtype)
        codes[row, real[row]] = numbers.to(real.device)
    return codes


def _measures(tagger: Tagger, view: AttentionRows, codes: Tensor) -> dict[str, Tensor]:
    weights = view.weights.double().masked_fill(~view.mask, 0.0)
    even = view.mask.double()
    known = ((codes != _NOBODY) & view.mask).any(-1)
    found: dict[str, Tensor] = {}
    for name, numbers in _groups(tagger).items():
        among = torch.isin(codes, torch.tensor(numbers, device=codes.device)) & view.mask
        mass, count = (weights * among).sum(-1), (even * among).sum(-1)
        found[f"mass:{name}"] = torch.where(known, mass / weights.sum(-1), torch.nan)
        found[f"share:{name}"] = torch.where(known, count / even.sum(-1), torch.nan)
    return found


def _groups(tagger: Tagger) -> dict[str, list[int]]:
    """The three kinds and, from a tagger, each tag."""
    names = tagger.tags or KINDS
    kinds = {
        kind: [number for number, name in enumerate(names) if tagger.kind(name) == kind]
        for kind in KINDS
    }
    return kinds | {tag: [number] for number, tag in enumerate(tagger.tags)}


# Who says what part of speech a token is: a list of words, a file of tags, or a spaCy pipeline.
#
# The list is the default, so that a result never depends on what happens to be installed.


Tags = Sequence[Sequence[str] | None]
"""By text; None where the text is not known."""

_CLOSED = ("ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "SCONJ")

_KIND = {**dict.fromkeys(_CLOSED, FUNCTION), **dict.fromkeys(("PUNCT", "SYM"), PUNCTUATION)}

_NEEDLESS = ("parser", "senter", "ner", "lemmatizer", "entity_linker", "textcat")


@dataclass(frozen=True)
class Tagger:
    """`name` is what a report says; `tags` are those it tells apart besides the three kinds."""

    name: str
    tag: Callable[[Split, Sequence[int]], Tags]
    tags: tuple[str, ...] = ()
    version: str = ""

    def kind(self, tag: str) -> str:
        """Of a tag; a list of words says kinds at once."""
        return _KIND.get(tag, CONTENT) if self.tags else tag


def _tagger(name: str) -> Tagger:
    """`lexicon`, a CoNLL-U file, or an installed spaCy pipeline by its name."""
    if name == LEXICON:
        return Tagger(
            LEXICON, lambda split, some: [[word_kind(w) for w in split.surface(n)] for n in some]
        )
    if name.endswith(FILE):
        return _file(Path(name), version_of(name))
    return _pipeline(name, version_of(name))


tagger = _tagger


def version_of(name: str) -> str:
    """Of a pipeline and of spaCy itself, since tags may differ by either; the list has none."""
    if name == LEXICON:
        return ""
    if name.endswith(FILE):
        return f"{stable_hash(*read_lines(Path(name), None)):x}"
    installed = _installed()
    if name not in installed:
        raise unknown_name("tagger", name, [LEXICON, *installed, f"a file {FILE}"])
    return f"{_version(name)} (spaCy {_version('spacy')})"


def _version(package: str) -> str:
    from spacy.util import get_package_version

    return str(get_package_version(package))


def _installed() -> list[str]:
    try:
        import spacy
    except ImportError:
        return []
    return sorted(spacy.util.get_installed_models())


def _pipeline(name: str, version: str) -> Tagger:
    import spacy
    from spacy.tokens import Doc

    loaded: Any = spacy.load(name, exclude=list(_NEEDLESS))
    if not {"tagger", "morphologizer"} & set(loaded.pipe_names):
        raise HeedfulError(
            f"the spaCy pipeline {name!r} has no tagger: choose another, or lexicon."
        )

    def tag(split: Split, some: Sequence[int]) -> Tags:
        texts = (split.surface(number) for number in some)
        # an empty string is no token to spaCy
        docs = (Doc(loaded.vocab, words=[word or "_" for word in text]) for text in texts)
        return [[t.pos_ if t.pos_ in TAGS else "X" for t in doc] for doc in loaded.pipe(docs)]

    return Tagger(name, tag, TAGS, version)


def _file(path: Path, version: str) -> Tagger:
    known = TaggedText(load_conllu(path))
    if not any(tag in TAGS for tag in known.tags):
        raise HeedfulError(
            f"{path} has no universal part of speech in its fourth column (such as NOUN): tag it, "
            f"or choose another tagger."
        )

    def tag(split: Split, some: Sequence[int]) -> Tags:
        found = (known.of(split, number) for number in some)
        return [None if t is None else [x if x in TAGS else "X" for x in t] for t in found]

    return Tagger(path.name, tag, TAGS, version)


ENTRY = Experiment(
    name="parts_of_speech",
    description="attention on punctuation, on function words and on the rest",
    make=parts_of_speech,
    paper="mohankumar2020",
    needs=("tokens",),
    depends=_depends,
    measures={
        **{f"mass:{kind}": share(f"share of attention on {kind} words") for kind in KINDS},
        **{
            f"share:{kind}": share(f"share of {kind} words among the tokens: even attention")
            for kind in KINDS
        },
        **{f"mass:{tag}": share(f"share of attention on {tag}, by a tagger") for tag in TAGS},
        **{f"share:{tag}": share(f"share of {tag} among the tokens, by a tagger") for tag in TAGS},
    },
    formula="mass:kind = Σ_{t of kind} α_t / Σ_t α_t; share:kind = |kind| / n",
    higher="more attention on this kind of word; even attention has `share`",
    cost="one pass over the texts; a tagger's time where one is named",
    limits=(
        "The built-in lexicon knows English function words alone. Tags come from a CoNLL-U file "
        "(`--probe-param parts_of_speech.tagger=tags.conllu`) or an installed spaCy pipeline, by "
        "its name. That punctuation is attended "
        "to does not show that it is not used."
    ),
)
