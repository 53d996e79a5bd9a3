"""Take a newsgroup post apart: what its author wrote, without quotes and signature."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"^\s{0,4}(\w{0,4}\s?[>|}%]|:\s)")
_ATTRIBUTION = re.compile(
    r"^\s*(in (article|message|<)|quoted from\b)"
    r"|\b(writes|wrote|says|said)\s*(in .*)?[:.]{0,3}\s*$",
    re.IGNORECASE,
)
_RULE = re.compile(r"^\s*[-_=*~#+]*\s*$")
_SIGNATURE = re.compile(r"^--\s*$")
_LONGEST_SIGNATURE = 15


def own_words(body: str) -> str:
    """Quotes are cut first, so that a quoted signature does not count as the author's."""
    return without_footer(without_quotes(body)).strip()


def without_quotes(body: str) -> str:
    """Drop quoted lines and the lines that introduce them."""
    lines = body.split("\n")
    kept = [line for line in lines if not _QUOTED.match(line) and not _ATTRIBUTION.search(line)]
    return "\n".join(kept)


def without_footer(body: str) -> str:
    """Drop the signature: what follows a line of two dashes near the end, else the last
    block, after the last empty line or rule.

    That block is a signature in most posts. Where the post is one block there is nothing to
    cut: a short post is kept whole.
    """
    lines = body.rstrip().split("\n")
    near_end = range(max(1, len(lines) - _LONGEST_SIGNATURE), len(lines))
    signature = [number for number in near_end if _SIGNATURE.match(lines[number])]
    rules = [number for number in range(1, len(lines)) if _RULE.match(lines[number])]
    cut = signature[:1] or rules[-1:] or [len(lines)]
    return "\n".join(lines[: cut[0]])
