"""The page of supported models is what its command measures, and its edits arrive."""

from __future__ import annotations

import pytest
import torch
from tools.supported_models import (
    CLASSES,
    FAMILIES,
    PAGE,
    UNKNOWN,
    Family,
    measured,
    page,
    row,
    tiny,
)

from heedful.models import attach, max_positions

SAMPLE = ("bert", "deberta-v2", "xlnet", "falcon", "canine", "longformer", "funnel", "convbert")
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.name + each.ends)
def test_every_family_is_on_the_page_once(family: Family) -> None:
    assert TEXT.count(family.title) == 1


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(
            each,
            id=each.name + each.ends,
            marks=() if each.model_type in SAMPLE and each.ends == CLASSES else pytest.mark.slow,
        )
        for each in FAMILIES
    ],
)
def test_the_page_says_what_is_measured(family: Family) -> None:
    result = measured(family)
    if result.refused:
        said = result.refused.partition(" ")[2]
        assert any(said in line and family.title in line for line in TEXT.splitlines())
        return
    (line,) = [line for line in TEXT.splitlines() if line.startswith(f"| {family.title} |")]
    cells, own = line.removeprefix("| ").removesuffix(" |").split(" | "), row(family, result)
    assert [cells[i] for i in (0, 1, 4)] == [own[i] for i in (0, 1, 4)]
    assert result.identity < 1e-5 and result.half < 0.05 and result.uniform > 0.01
    assert result.sdpa is None or result.sdpa < 1e-4


@pytest.mark.parametrize("name", ["MPNet", "MarkupLM", "Mpt", "RoFormer"])
@torch.no_grad()
def test_the_longest_text_is_as_long_as_the_model_can_read(name: str) -> None:
    (family,) = [each for each in FAMILIES if each.name == name and each.ends == CLASSES]
    module = tiny(family)
    most = max_positions(module.config)
    assert most is not None
    assert module(input_ids=torch.full((1, most), 7)).logits.isfinite().all()
    with pytest.raises((IndexError, RuntimeError)):
        module(input_ids=torch.full((1, most + 1), 7))


def test_falcon_obeys_where_it_was_made_with_fast_attention() -> None:
    """It cannot be switched, but looks into its config at each call."""
    (family,) = [each for each in FAMILIES if each.name == "Falcon" and each.ends == CLASSES]
    module = tiny(family, "sdpa")
    with attach(module, {"unk": UNKNOWN}) as model:
        assert len(model.sites) == 2
    assert module.config._attn_implementation == "sdpa"


def test_mixtures_of_experts_are_exact_without_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    (family,) = [each for each in FAMILIES if each.name == "Mixtral"]
    monkeypatch.setattr("tools.supported_models.LENGTHS", (6, 6))
    assert measured(family).identity == 0.0


def test_most_families_have_no_error_at_all() -> None:
    lines = [line.split(" | ") for line in TEXT.splitlines() if line.startswith("| `")]
    assert len(lines) >= 80 and sum(line[2] == "0" for line in lines) >= 70
    assert {line[0].partition("For")[0] for line in lines} >= {
        f"| `{name}"
        for name in (
            "ConvBert",
            "DebertaV2",
            "FSMT",
            "LED",
            "Longformer",
            "MPNet",
            "XLNet",
            "Bloom",
        )
    }


@pytest.mark.slow
def test_the_page_is_what_the_command_writes() -> None:
    assert _without_numbers(page()) == _without_numbers(TEXT)


def _without_numbers(text: str) -> list[list[str]]:
    """Other machines round differently, and other versions of transformers have numbers."""
    varies = "with transformers", "identity error of 0 in", "in bfloat16."
    lines = [line for line in text.splitlines() if not any(each in line for each in varies)]
    return [line.split(" | ")[:2] for line in lines]
