"""English words that hold sentences together: a closed list, for when no tagger is at hand.

Articles, pronouns, prepositions, conjunctions, particles and auxiliaries, in lower case, as
tokenisers leave them: clitics stand with and without their apostrophe (`n't`, `'s`, `s`), and
so do the halves of contractions that are cut at it (`don`, `t`).
"""

from __future__ import annotations

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
