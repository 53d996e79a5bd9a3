"""The AOPC of explanations: as the paper defines it, and the page is its rows and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from bench import aopc
from bench.aopc import RATIOS, Named, curve, measured
from bench.aopc_page import PAGE, PUBLISHED, render

from heedful.models import attach, probability
from heedful.targets import open_target
from heedful.types import Batch
from heedful.words import word_mask
from reference import aopc as reference
from tiny_hf import FILLERS, MASK, hf_batch, tiny_hf
from tiny_tokenizers import word_pieces

TEXTS = [
    {"text": "the film is very good", "label": 1},
    {"text": "a dull plot!", "label": 0},
    {"text": "It was not a bad story, do like it.", "label": 1},
]


def tokens_as_words(batch: Batch) -> Batch:
    return replace(batch, texts={"a": replace(batch.texts["a"], words=None)})


def test_the_curve_equals_masking_one_text_at_a_time() -> None:
    batch = tokens_as_words(hf_batch((5, 1, 8, 3)))
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(word_mask(batch.texts["a"]).shape, generator=generator).double()
    scores[2, 1] = scores[2, 4]
    with attach(tiny_hf("Bert", double=True), FILLERS) as model:
        found = curve(model, batch, batch.labels, scores)
        for row, length in enumerate(word_mask(batch.texts["a"]).sum(-1).tolist()):

            def p(masked: set[int], row: int = row) -> float:
                one = batch.take(torch.tensor([row]))
                tokens = one.texts["a"].tokens.clone()
                tokens[0, [1 + token for token in masked]] = MASK
                changed = replace(one, texts={"a": replace(one.texts["a"], tokens=tokens)})
                with torch.no_grad():
                    return float(probability(model(changed).logits, one.labels))

            expected = reference.curve(p, scores[row, :length].tolist())
            assert found[row].tolist() == pytest.approx(expected, abs=1e-12)


def test_rows_have_a_curve_and_its_mean() -> None:
    with open_target((tiny_hf(double=True), word_pieces()), TEXTS) as subject:
        rows = measured(subject, [Named("decompx"), Named("random", {"seed": 3})])
    assert set(rows["explanation"]) == {"decompx", "random"} and set(rows["n"]) == {3}
    for _, part in rows.groupby("explanation"):
        assert part["ratio"].tolist() == [*RATIOS, "mean"]
        assert part["aopc"].iloc[-1] == pytest.approx(part["aopc"].iloc[:-1].mean(), abs=1e-4)
        assert bool(((part["low"] <= part["aopc"]) & (part["aopc"] <= part["high"])).all())
    last = rows[rows["ratio"] == 100]
    assert last["aopc"].nunique() == 1  # all is masked, whatever came first


def test_no_explanation_is_made_by_masking() -> None:
    from heedful.attributions import SALIENCIES

    for each in aopc.EXPLANATIONS:
        uses = SALIENCIES[each.name].uses or ()
        made = {each.params.get(name[1:], name) if name[:1] == "=" else name for name in uses}
        assert "mask" not in made and not any(name[:1] == "=" for name in made), each.name


def test_published_numbers_stand_beside_ours() -> None:
    names = [*PUBLISHED, "random"]
    lines = [
        {"weights": "w", "data": "sst", "n": 3, "accuracy": 0.9, "explanation": name,
         "ratio": ratio, "aopc": 0.1 * (1 + n), "low": 0.0, "high": 1.0}
        for n, name in enumerate(names)
        for ratio in [*RATIOS, "mean"]
    ]  # fmt: skip
    page = render(pd.DataFrame(lines))
    assert "| `random` | 0.600 | 0.000 to 1.000 |  |" in page
    assert "| `decompx` | 0.500 | 0.000 to 1.000 | 0.627 |" in page
    assert page.index("| `random` |") < page.index("| `decompx` |") < page.index("| `globenc` |")
    assert "It is not the paper's, which is `decompx`, `alti`," in page


def test_the_committed_page_is_what_the_rows_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(pd.read_csv(aopc.ROWS))


def test_a_run_without_a_model_says_what_to_give(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, fix in (
        ([], "give a model, or --report"),
        (["nowhere", "--data", "planted"], "nowhere"),
    ):
        with pytest.raises(SystemExit) as stopped:
            aopc.main([*arguments, "--store", str(Path("none"))])
        assert stopped.value.code == 2 and fix in capsys.readouterr().err
