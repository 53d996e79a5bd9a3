"""The page of supported models is what its command measures, and its edits arrive."""

from __future__ import annotations

import pytest
from tools.supported_models import FAMILIES, PAGE, Family, measured, page, row

SAMPLE = ("bert", "modernbert", "gpt2", "llama", "marian", "t5", "bloom", "canine")
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.name + each.ends)
def test_every_family_is_on_the_page_once(family: Family) -> None:
    assert TEXT.count(family.title) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "family",
    [each for each in FAMILIES if each.model_type in SAMPLE],
    ids=lambda each: each.name + each.ends,
)
def test_the_page_says_what_is_measured(family: Family) -> None:
    result = measured(family)
    if result.refused:
        said = result.refused.partition(" ")[2]
        assert any(said in line and family.title in line for line in TEXT.splitlines())
    else:
        assert row(family, result) in TEXT.splitlines()
        assert result.identity < 1e-6 < 0.1 < result.uniform


@pytest.mark.slow
def test_the_page_is_what_the_command_writes() -> None:
    assert _without_numbers(page()) == _without_numbers(TEXT)


def _without_numbers(text: str) -> list[list[str]]:
    """Other machines round differently, and other versions of transformers have numbers."""
    lines = [line for line in text.splitlines() if "with transformers" not in line]
    return [line.split(" | ")[:2] for line in lines]
