"""The AOPC of explanations: as the paper defines it, and the page is its rows and nothing else."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import torch
from bench import aopc
from bench.aopc import RATIOS, Named, curve, evenly, measured
from bench.aopc_page import PAGE, PUBLISHED, render

from heedful.attributions import gradient_input, integrated_gradients
from heedful.models import attach, logit, probability
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


@pytest.mark.parametrize(("steps", "norm"), [(1, True), (3, False), (3, True)])
def test_even_steps_equal_their_restatement(steps: int, norm: bool) -> None:
    batch = tokens_as_words(hf_batch((4,)))
    with attach(tiny_hf("Bert", double=True), FILLERS) as model:
        found = evenly(model, batch, batch.labels, logit, steps, norm)
        embedded = model.embed(batch)["a"].detach()
        text = batch.texts["a"].mask[0].tolist()

        @cache
        def slopes(share: float) -> list[list[float]]:
            at = embedded.clone()
            at[:, text] *= share
            at.requires_grad_()
            logits = model(batch, embeddings={"a": at}).logits
            (slope,) = torch.autograd.grad(logits[0, int(batch.labels[0])], at)
            return [row for row, there in zip(slope[0].tolist(), text, strict=True) if there]

        expected = reference.evenly(slopes, embedded[0, text].tolist(), steps, norm)
    assert found[0, text].tolist() == pytest.approx(expected, abs=1e-10)
    assert not found[0, [not there for there in text]].any()


def test_even_steps_are_gradient_input_and_become_integrated_gradients() -> None:
    batch = tokens_as_words(hf_batch((5, 2)))
    asked = {"label": batch.labels, "target": logit}
    with attach(tiny_hf("Bert", double=True), FILLERS) as model:
        one = evenly(model, batch, **asked, steps=1, norm=False)
        many = evenly(model, batch, **asked, steps=400, norm=False)
        product = gradient_input(model, batch, **asked)
        whole = integrated_gradients(model, batch, **asked, baseline="zero", tolerance=1e-6)
    torch.testing.assert_close(one, product)
    assert float((many - whole).abs().max()) < 0.01 * float(whole.abs().max())
    assert float((one - whole).abs().max()) > 0.05 * float(whole.abs().max())


def test_rows_have_a_curve_and_its_mean() -> None:
    with open_target((tiny_hf(double=True), word_pieces()), TEXTS) as subject:
        rows = measured(
            subject, [Named("decompx"), Named("gradient_input", {"steps": 1}, "L2 norm", evenly)]
        )
    assert set(rows["explanation"]) == {"decompx", "gradient_input (L2 norm)"}
    assert set(rows["n"]) == {3}
    for _, part in rows.groupby("explanation"):
        assert part["ratio"].tolist() == [*RATIOS, "mean"]
        assert part["aopc"].iloc[-1] == pytest.approx(part["aopc"].iloc[:-1].mean(), abs=1e-4)
        assert bool(((part["low"] <= part["aopc"]) & (part["aopc"] <= part["high"])).all())
    last = rows[rows["ratio"] == 100]
    assert last["aopc"].nunique() == 1  # all is masked, whatever came first


def test_no_explanation_is_made_by_masking() -> None:
    from heedful.attributions import SALIENCIES

    for each in aopc.EXPLANATIONS:
        if each.make is evenly:  # it begins at zero
            continue
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


def test_reductions_stand_beside_alti_and_questions_of_the_audit_beside_each_other() -> None:
    normed = ("gradient_input (L2 norm)", "integrated_gradients (10 steps, L2 norm)")
    found = {"decompx": 0.6, "alti": 0.4, "globenc": 0.2, "gradient_input": 0.1, normed[0]: 0.3,
             "integrated_gradients": 0.5, normed[1]: 0.35}  # fmt: skip
    rows = pd.DataFrame(
        {"n": 3, "accuracy": 0.9, "explanation": name, "ratio": ratio, "aopc": aopc,
         "low": aopc - 0.03, "high": aopc + 0.03}
        for name, aopc in found.items() for ratio in [*RATIOS, "mean"]
    )  # fmt: skip
    audit = pd.DataFrame(
        [
            ("importance", "alti", 30, 0.5, 0.4, 0.6, False, 9.0),
            ("importance", "decompx", 30, 0.8, 0.7, 0.9, True, 21.4),
            ("direction", "decompx", 30, 0.7, 0.6, 0.75, False, 21.4),
        ],
        columns=["question", "explanation", "n", "position", "low", "high", "tied", "passes"],
    )
    page = render(rows, audit)
    assert "| `integrated_gradients` | 0.500 | 0.470 to 0.530 | ahead |" in page
    beside = "| `integrated_gradients` (10 steps, L2 norm) | 0.350 | 0.320 to 0.380 |"
    assert f"{beside} behind, intervals overlap |" in page
    assert "`gradient_input`, `globenc`. It is the paper's." in page
    assert "| `decompx` | 0.80\\* (0.70 to 0.90) | 0.70 (0.60 to 0.75) | 21 |" in page
    assert "| `alti` | 0.50 (0.40 to 0.60) | – | 9 |" in page and "on 30 test sentences" in page


def test_the_committed_page_is_what_the_rows_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(pd.read_csv(aopc.ROWS), aopc.audit_rows())


def test_a_run_without_a_model_says_what_to_give(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, fix in (
        ([], "give a model, or --report"),
        (["nowhere", "--data", "planted"], "nowhere"),
    ):
        with pytest.raises(SystemExit) as stopped:
            aopc.main([*arguments, "--store", str(Path("none"))])
        assert stopped.value.code == 2 and fix in capsys.readouterr().err
