"""Who says what part of speech a token is: a list of words, or a spaCy pipeline.

The list is the default, so that a result never depends on what happens to be installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.corpora import CONTENT, FUNCTION, PUNCTUATION, word_kind
from heedful.errors import HeedfulError, unknown_name

Texts = Sequence[Sequence[str]]
LEXICON = "lexicon"

TAGS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
)  # fmt: skip
"""Universal parts of speech; a pipeline's own others count as X."""

_CLOSED = ("ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "SCONJ")
_KIND = {**dict.fromkeys(_CLOSED, FUNCTION), **dict.fromkeys(("PUNCT", "SYM"), PUNCTUATION)}
_NEEDLESS = ("parser", "senter", "ner", "lemmatizer", "entity_linker", "textcat")


@dataclass(frozen=True)
class Tagger:
    """`name` is what a report says; `tags` are those it tells apart besides the three kinds."""

    name: str
    tag: Callable[[Texts], list[list[str]]]
    tags: tuple[str, ...] = ()
    version: str = ""

    def kind(self, tag: str) -> str:
        """Of a tag; a list of words says kinds at once."""
        return _KIND.get(tag, CONTENT) if self.tags else tag


def tagger(name: str) -> Tagger:
    """`lexicon`, or an installed spaCy pipeline by its name."""
    if name == LEXICON:
        return Tagger(LEXICON, lambda texts: [[word_kind(word) for word in t] for t in texts])
    return _pipeline(name, version_of(name))


def version_of(name: str) -> str:
    """Of a pipeline and of spaCy itself, since tags may differ by either; the list has none."""
    if name == LEXICON:
        return ""
    installed = _installed()
    if name not in installed:
        raise unknown_name("tagger", name, [LEXICON, *installed])
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

    def tag(texts: Texts) -> list[list[str]]:
        # an empty string is no token to spaCy
        docs = (Doc(loaded.vocab, words=[word or "_" for word in text]) for text in texts)
        return [[_known(token.pos_) for token in doc] for doc in loaded.pipe(docs)]

    return Tagger(name, tag, TAGS, version)


def _known(tag: str) -> str:
    return tag if tag in TAGS else "X"
