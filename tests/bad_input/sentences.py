"""What a refusal looks like."""

from __future__ import annotations

import re

LONGEST = 1200  # characters: one sentence that can still be read, names to choose from and all


def one_sentence(err: str) -> None:
    """`error: …` alone on one line, that no terminal obeys and that ends like a sentence."""
    assert "Traceback" not in err
    assert err.startswith("error: ") and err.count("\n") == 1 and err.endswith("\n"), err
    said = err.removeprefix("error: ").rstrip("\n")
    assert re.search(r"[.?…]$", said), err
    assert len(said) <= LONGEST, err
    assert not re.search(r"[.!?] [A-Z]\w", said), err  # a second sentence
    assert not [
        c for c in said if ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000
    ]
    assert "object at 0x" not in said and "<class" not in said
