"""Run an audit of a tiny model in a process of its own: which modules does it pass through?

`python tests/passed.py` prints the modules of Heedful in which a function ran.
"""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

import heedful
from tiny_hf import tiny_hf
from tiny_tokenizers import word_pieces


def modules_of_an_audit() -> set[str]:
    """With the settings a user begins with, and a model of two layers on eight texts."""
    texts = [f"the film is {a} very {b}" for a in ("not", "it") for b in ("good", "bad", "a", "x")]
    rows = [{"text": text, "label": place % 2} for place, text in enumerate(texts)]
    model = (tiny_hf(), word_pieces())
    seen: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and not importing(frame):
            seen.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        heedful.audit(model, rows)
    finally:
        sys.setprofile(None)
    return {name for name in seen if name.partition(".")[0] == "heedful"}


def importing(frame: FrameType) -> bool:
    """Whether a module is only read: it, the body of a class, or a comprehension outside of any
    function. None of these is a function that ran."""
    body = not frame.f_code.co_flags & inspect.CO_OPTIMIZED
    alone = frame.f_code.co_name in ("<dictcomp>", "<listcomp>", "<setcomp>", "<genexpr>")
    outer = frame.f_back
    return body or (alone and outer is not None and importing(outer))


if __name__ == "__main__":
    sys.stdout.write("\n".join(sorted(modules_of_an_audit())))
