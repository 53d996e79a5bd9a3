"""Several annotators' rationales as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from heedful.errors import unknown_name

MERGES = ("majority", "union", "intersection")


def merged(marked: Sequence[Sequence[int]], how: str = "majority") -> tuple[int, ...] | None:
    """The words that more than half of those who answered have marked, or any, or all of them;
    None where nobody has answered."""
    if how not in MERGES:
        raise unknown_name("merge", how, list(MERGES))
    if not marked:
        return None
    least = {"majority": len(marked) // 2 + 1, "union": 1, "intersection": len(marked)}[how]
    counts = Counter(word for words in marked for word in set(words))
    return tuple(sorted(word for word, count in counts.items() if count >= least))
