"""English text: where its sentences begin, and which of its words hold them together.

Sentences are found by characters, so that every tokeniser sees the same ones. A sentence ends at a
line break (`<br />` too), or at an end mark followed by a blank, unless the mark belongs to an
abbreviation. An ideographic full stop needs no blank; brackets and quotation marks that close
behind it belong to its sentence. Tokenised texts (`a film . but`) and texts without capitals are
recognised.

Function words are a closed list, for when no tagger is at hand: articles, pronouns, prepositions,
conjunctions, particles and auxiliaries, in lower case, as tokenisers leave them. Clitics stand with
and without their apostrophe (`n't`, `'s`, `s`), and so do the halves of contractions that are cut
at it (`don`, `t`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER_END = _listed(
    "mr mrs ms mx dr prof gen sen rep gov capt cpt lt col sgt maj cmdr rev hon st mt messrs mme "
    "mlle pres supt e.g eg i.e ie cf vs viz approx ca esp incl"
)
"""Something always follows these: a name, a case, an example."""

BEFORE_NUMBERS = _listed("no nos nr fig figs p pp vol vols ch sec eq art op")
"""Abbreviations only where a number follows."""

MAY_END = _listed(
    "etc inc corp co ltd jr sr bros dept est assn ave blvd rd al ph.d m.d b.a m.a a.m p.m a.d b.c "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri sat sun"
)
"""Abbreviations that also stand at the end: what follows decides."""

BEGINNERS = _listed(
    "the a an this that these those he she it they we you i my his her its our their your there "
    "here in on at but and so or if when while as after before for with what who why how where "
    "not no yes then now one some most all many however although because since to from by is are "
    "was"
)
"""Words that, with a capital, are far more often the first of a sentence than a name."""


_LINE = r"(?:\n|<[bB][rR]\s*/?>)"
_MARK = r"(?<![.!?…])(?<![.!?…] )[.!?…]++(?: [.!?…]++)*+"
_CLOSED = r"[”’)\]}\"']*(?: (?:[”’)\]}]|''|-[rR][rR][bB]-)(?=\s))*"
_BREAK = re.compile(
    rf"(?P<line>{_LINE}(?:\s|{_LINE})*)"
    rf"|(?P<mark>{_MARK})(?P<closed>{_CLOSED})[^\S\n]+(?=\S)(?!{_LINE})"
    rf"|(?<=[a-z][a-z])(?P<glued>[.!?]+)(?=[A-Z][a-z])"
    r"|(?P<wide>[。｡！？]+[」』”’）】》]*\s*)"
)
_QUOTE = re.compile(r"[\"']\s+")
_WORD = re.compile(r"(?:[^\W\d_]+[.'’-])*[^\W_]+$")
_OPENERS = "\"'“‘([{`*_-–—"
_NEAR = 80
_ELLIPSIS = re.compile(r"…|[.] ?[.]")


@dataclass(frozen=True)
class _End:
    """An end mark in its surroundings: the word before it, and the sentence it might end."""

    mark: str
    before: str
    so_far: str
    after: str
    closed: str
    small: bool

    @property
    def alone(self) -> bool:
        """A token by itself, as tokenised texts have it."""
        return self.so_far[-1:].isspace()

    @property
    def next_letter(self) -> str:
        return self.after.lstrip(_OPENERS + " ")[:1]


def sentence_starts(text: str) -> list[int]:
    """The first character of each sentence, in order; the first is 0."""
    starts = [0]
    for place in _ends(text):
        if starts[-1] < place < len(text) and text[starts[-1] : place].strip():
            starts.append(place)
    return starts


def sentence_numbers(text: str, starts: NDArray[np.int32]) -> NDArray[np.int32]:
    """The sentence of each token, counted over sentences that hold one: 0, 0, 1, …"""
    found = np.searchsorted(np.asarray(sentence_starts(text)), starts, side="right")
    return np.unique(found, return_inverse=True)[1].astype(np.int32)


def _ends(text: str) -> Iterator[int]:
    small = text == text.lower()
    start = 0
    for match in _BREAK.finditer(text):
        place = match.end()
        if not match["line"] and not match["wide"]:
            # In tokenised texts a straight quotation mark stands alone: it closes where the
            # sentence has opened one.
            quote = _QUOTE.match(text, place)
            if quote and text.count(quote.group()[0], start, match.start()) % 2:
                place = quote.end()
            if not _is_end(_end(text, (start, place), match, small)):
                continue
        start = place
        yield place


def _end(text: str, bounds: tuple[int, int], match: re.Match[str], small: bool) -> _End:
    """Looks no further than a line each way, so that no text takes long."""
    start, place = bounds
    so_far = text[max(start, match.start() - _NEAR) : match.start()]
    word = _WORD.search(so_far.rstrip())
    return _End(
        match["mark"] or match["glued"],
        word.group() if word else "",
        so_far,
        text[place : place + _NEAR],
        (match["closed"] or "") + text[match.end() : place].strip(),
        small,
    )


def _is_end(end: _End) -> bool:
    """Whether the next word begins a sentence, and the mark is not the abbreviation's."""
    if _ELLIPSIS.match(end.mark):
        return not end.next_letter.islower()
    if end.mark == "." and _is_abbreviation(end):
        return False
    if end.next_letter.islower():
        # small letters begin a sentence in texts that have no others or are tokenised, and after
        # a cry or a question that no quotation mark closes
        return end.alone or end.small if end.mark == "." else not end.closed
    return True


def _is_abbreviation(end: _End) -> bool:
    word = end.before.lower()
    if word in NEVER_END or _is_initial(end):
        return True
    if word in BEFORE_NUMBERS or not end.so_far.strip(_OPENERS + " \t").strip("0123456789"):
        return end.next_letter.isdigit() or word.isdigit()
    if end.alone or end.closed:
        return False
    if word in MAY_END or re.fullmatch(r"(?:[a-z][.])+[a-z]", word):
        first = re.match(r"\w+", end.after.lstrip(_OPENERS + " "))
        return first is not None and first.group().lower() not in BEGINNERS
    return False


def _is_initial(end: _End) -> bool:
    """One letter, as in J. Smith. I and a are words of their own."""
    if len(end.before) != 1 or end.before in "Iia" or not end.before.isalpha():
        return False
    return end.before.isupper() or end.small


PUNCTUATION, FUNCTION, CONTENT = KINDS = ("punctuation", "function", "content")

_LISTS = (
    # articles, and what stands in their place
    "a an the this that these those each every either neither some any no all both half such "
    "what which whose whatever whichever another other others many much more most few fewer "
    "little less several enough own same one none",
    # pronouns
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers "
    "herself it its itself we us our ours ourselves they them their theirs themselves oneself "
    "who whom whoever whomever somebody someone something anybody anyone anything everybody "
    "everyone everything nobody nothing there",
    # prepositions
    "about above across after against along amid among amongst around as at before behind below "
    "beneath beside besides between beyond by despite down during except for from in inside into "
    "like near of off on onto out outside over past per since than through throughout till to "
    "toward towards under underneath until unlike up upon via with within without",
    # conjunctions
    "and or but nor so yet if because although though while whereas unless whether when whenever "
    "where wherever why how once lest",
    # auxiliaries and particles
    "am is are was were be been being do does did have has had having will would shall should "
    "can cannot could may might must ought not",
    # clitics, and what is left when contractions are cut
    "n't nt 's 're 've 'll 'd 'm s t re ve ll d m",
    "don doesn didn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn mustn mightn "
    "needn ain wo ca sha",
)
FUNCTION_WORDS = frozenset(word for text in _LISTS for word in text.split())


def word_kind(token: str) -> str:
    """Without a letter or digit it is punctuation; the list decides the rest."""
    if not any(char.isalnum() for char in token):
        return PUNCTUATION
    return FUNCTION if token.lower().replace("’", "'") in FUNCTION_WORDS else CONTENT
