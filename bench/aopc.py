"""The area over the perturbation curve of each explanation, as in DecompX's Table 1.

    python -m bench.aopc MODEL [--texts 200] [--store STORE]    # measures, and writes the page
    python -m bench.aopc MODEL --audit 200                      # the two questions of an audit
    python -m bench.aopc --report                               # the page alone

MODEL is a BERT-like classifier that `heedful train --pretrained` made, measured on texts of its
corpus. The rows are `reproduction/aopc.csv` and `reproduction/aopc_audit.csv`, the page is
`docs/aopc.md`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from heedful.attributions.gradient import gradient_at
from heedful.auditing import AuditSpec, audit_subject
from heedful.errors import HeedfulError
from heedful.metrics import bootstrap_means
from heedful.models import TARGETS, probabilities
from heedful.perturbations import WordRemoval
from heedful.targets import AuditTarget, open_target
from heedful.types import Batch, Model, Target
from heedful.words import word_mask

ROWS = Path(__file__).parent.parent / "reproduction" / "aopc.csv"
AUDIT_ROWS = ROWS.with_name("aopc_audit.csv")
RATIOS = tuple(range(10, 101, 10))
"""Percent of a text's tokens that are masked."""
OVER_ALL = "mean"


@dataclass(frozen=True)
class Named:
    """An explanation, and how it is asked. None is made by masking, by which all are scored."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""
    make: Callable[..., Tensor] | None = None

    @property
    def title(self) -> str:
        """Its name in the rows."""
        return f"{self.name} ({self.remark})" if self.remark else self.name

    def scores(self, model: Model, batch: Batch, label: Int[Tensor, " b"]) -> Tensor:
        asked = self.make or self.name
        return explain(asked, model, batch, label, TARGETS["logit"], **self.params)


def evenly(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target,
    steps: int = 10,
    norm: bool = True,
) -> Float[Tensor, "b t"]:
    """Gradients at even places from zero to the text, the text the last of them; their mean times
    the input, by token the L2 norm or the sum over dimensions. One step is gradient × input.

    DecompX's own notebooks take ten steps, and keep both the norm and the sum."""
    text = batch.texts["a"].mask[..., None]
    embedded = model.embed(batch)["a"].detach()
    slopes = torch.zeros_like(embedded, dtype=torch.float64)
    for step in range(1, steps + 1):
        at = torch.where(text, embedded * (step / steps), embedded)
        slopes += gradient_at(model, batch, at, label, target)[1].double()
    products = (slopes / steps * embedded.double()).masked_fill(~text, 0.0)
    return products.norm(dim=-1) if norm else products.sum(-1)


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
    Named("gradient_input", {"steps": 1}, "L2 norm", evenly),
    Named("integrated_gradients", {"baseline": "zero"}),
    Named("integrated_gradients", {"norm": False}, "10 steps", evenly),
    Named("integrated_gradients", {}, "10 steps, L2 norm", evenly),
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
    curves: dict[str, list[Tensor]] = {each.title: [] for each in names}
    right = []
    for batch in _batches(subject):
        with torch.no_grad():
            label = probabilities(subject.model(batch).logits).argmax(-1)
        right += (label == batch.labels).tolist()
        for each in names:
            scores = each.scores(subject.model, batch, label)
            curves[each.title].append(curve(subject.model, batch, label, scores))
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


AUDITED = (
    *("attention", "globenc", "alti", "integrated_gradients", "lrp", "attnlrp", "decompx"),
    "occlusion",
)


def audited(subject: AuditTarget) -> pd.DataFrame:
    """A row for each explanation and each of an audit's two questions, as its verdict ranks them.
    An explanation is scored by no perturbation that made it."""
    spec = AuditSpec(AUDITED, only=("importance", "erasure"))
    verdict = audit_subject(subject, spec).verdict
    lines = [
        {"question": question, "explanation": ranked.explanation, "n": len(subject)}
        | {name: round(getattr(ranked, name), 4) for name in ("position", "low", "high")}
        | {"tied": ranked.tied, "passes": round(ranked.passes, 1)}
        for question, answer in (
            ("importance", verdict.recommendation), ("direction", verdict.direction)
        )
        for ranked in answer.ranked
    ]  # fmt: skip
    if not lines:
        raise HeedfulError(
            "nothing can be ranked on so few texts: give a larger number to --audit."
        )
    return pd.DataFrame(lines).assign(weights=subject.key["weights"])


def _write(rows: pd.DataFrame, path: Path) -> None:
    rows.to_csv(path, index=False, lineterminator="\n")


def audit_rows() -> pd.DataFrame | None:
    """None where no audit was measured."""
    return pd.read_csv(AUDIT_ROWS) if AUDIT_ROWS.is_file() else None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.aopc", description=__doc__)
    parser.add_argument("model", nargs="?", help="a run, or a Hugging Face folder")
    parser.add_argument("--data", help="a corpus by name; left out: the one it was trained on")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--audit", type=int, help="audit so many texts instead")
    parser.add_argument("--store", default="heedful-store")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("HEEDFUL_DATA"))
    parser.add_argument("--max-length", type=int, default=48)
    parser.add_argument("--report", action="store_true", help="write the page alone")
    options = parser.parse_args(arguments)
    if not options.report:
        if options.model is None:
            parser.error("give a model, or --report.")
        given = ("store", "data_dir", "max_length")
        reading = {name: getattr(options, name) for name in given}
        reading["n"] = options.audit or options.texts
        try:
            with open_target(options.model, options.data, **reading) as subject:
                if options.audit:
                    _write(audited(subject), AUDIT_ROWS)
                else:
                    _write(measured(subject), ROWS)
        except HeedfulError as error:
            parser.error(str(error))
    PAGE.write_text(render(pd.read_csv(ROWS), audit_rows()), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
