"""The area over the perturbation curve of each explanation, as in DecompX's Table 1.

    python -m bench.aopc MODEL [--texts 200] [--store STORE]    # measures, and writes the page
    python -m bench.aopc --report                               # the page alone

MODEL is a BERT-like classifier that `heedful train --pretrained` made, measured on texts of its
corpus. The rows are `reproduction/aopc.csv`, the page is `docs/aopc.md`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from bench.aopc_page import PAGE, render
from heedful.attributions import explain
from heedful.errors import HeedfulError
from heedful.metrics import bootstrap_means
from heedful.models import TARGETS, probabilities
from heedful.perturbations import WordRemoval
from heedful.targets import AuditTarget, open_target
from heedful.types import Batch, Model
from heedful.words import word_mask

ROWS = Path(__file__).parent.parent / "reproduction" / "aopc.csv"
RATIOS = tuple(range(10, 101, 10))
"""Percent of a text's tokens that are masked."""
OVER_ALL = "mean"


@dataclass(frozen=True)
class Named:
    """An explanation, and how it is asked. None is made by masking, by which all are scored."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)


EXPLANATIONS = (
    Named("random"),
    Named("attention"),
    Named("rollout"),
    Named("attention_flow"),
    Named("value_norm"),
    Named("globenc"),
    Named("alti"),
    Named("value_zeroing"),
    Named("gradient"),
    Named("gradient_input"),
    Named("integrated_gradients", {"baseline": "zero"}),
    Named("lrp"),
    Named("attnlrp"),
    Named("decompx"),
    Named("occlusion", {"operator": "delete"}),
)


def curve(
    model: Model, batch: Batch, label: Int[Tensor, " b"], scores: Float[Tensor, "b w"]
) -> Float[Tensor, "b r"]:
    """p(class | text) − p(class | text with its top k% masked), for each ratio k.

    Of n tokens ⌈k·n⌉ go; of equal scores the earlier one goes first."""
    there = word_mask(batch.texts["a"])
    ranked = scores.masked_fill(~there, float("-inf")).argsort(dim=-1, descending=True, stable=True)
    place = ranked.argsort(dim=-1)
    shares = torch.tensor(RATIOS, device=there.device)[None, :]
    counts = (there.sum(-1, keepdim=True) * shares + 99) // 100
    gone = place[:, None] < counts[..., None]
    whole = torch.zeros_like(gone[:, :1])
    values = WordRemoval(model, batch, label, "mask").answers(torch.cat([whole, gone], 1)).value
    return values[:, :1] - values[:, 1:]


def measured(subject: AuditTarget, names: Sequence[Named] = EXPLANATIONS) -> pd.DataFrame:
    """A row for each explanation and ratio, and for the mean over ratios."""
    curves: dict[str, list[Tensor]] = {each.name: [] for each in names}
    right = []
    for batch in _batches(subject):
        with torch.no_grad():
            label = probabilities(subject.model(batch).logits).argmax(-1)
        right += (label == batch.labels).tolist()
        for each in names:
            scores = explain(
                each.name, subject.model, batch, label, TARGETS["logit"], **each.params
            )
            curves[each.name].append(curve(subject.model, batch, label, scores))
    facts = {"weights": subject.key["weights"], "data": subject.source, "n": len(right)}
    facts["accuracy"] = round(float(np.mean(right)), 4)
    lines = [
        facts | {"explanation": name} | line
        for name, parts in curves.items()
        for line in _lines(torch.cat(parts).cpu().numpy())
    ]
    return pd.DataFrame(lines)


def _batches(subject: AuditTarget) -> Iterator[Batch]:
    """Each token is a word of its own: the paper masks tokens."""
    for _, batch in subject.batches(tokens_at_once=512):
        yield replace(batch, texts={"a": replace(batch.texts["a"], words=None)})


def _lines(falls: Float[np.ndarray, "n r"]) -> Iterator[dict[str, Any]]:
    values = np.hstack([falls, falls.mean(1, keepdims=True)])
    low, high = bootstrap_means(values, seed=0)
    for place, ratio in enumerate([*RATIOS, OVER_ALL]):
        numbers = {"aopc": values[:, place].mean(), "low": low[place], "high": high[place]}
        yield {"ratio": ratio} | {name: round(float(x), 4) for name, x in numbers.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.aopc", description=__doc__)
    parser.add_argument("model", nargs="?", help="a run, or a Hugging Face folder")
    parser.add_argument("--data", help="a corpus by name; left out: the one it was trained on")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--store", default="heedful-store")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("HEEDFUL_DATA"))
    parser.add_argument("--max-length", type=int, default=48)
    parser.add_argument("--report", action="store_true", help="write the page alone")
    options = parser.parse_args(arguments)
    if not options.report:
        if options.model is None:
            parser.error("give a model, or --report.")
        given = ("store", "data_dir", "max_length")
        reading = {"n": options.texts} | {name: getattr(options, name) for name in given}
        try:
            with open_target(options.model, options.data, **reading) as subject:
                measured(subject).to_csv(ROWS, index=False, lineterminator="\n")
        except HeedfulError as error:
            parser.error(str(error))
    PAGE.write_text(render(pd.read_csv(ROWS)), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
