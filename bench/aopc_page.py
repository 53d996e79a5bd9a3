"""docs/aopc.md, from the rows of reproduction/aopc.csv and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

PAGE = Path(__file__).parent.parent / "docs" / "aopc.md"
PUBLISHED = {
    "globenc": 0.307,
    "alti": 0.416,
    "gradient_input": 0.310,
    "integrated_gradients": 0.340,
    "decompx": 0.627,
}
"""Modarressi et al. 2023, Table 1: SST-2, BERT-base, AOPC."""
SHOWN = ("10", "30", "50", "100", "mean")
"""Columns of the second table."""

TITLE = """\
<!-- made by: python -m bench.aopc --report -->
# Decomposition methods on SST

Which explanation finds the tokens that a Transformer's prediction depends on? DecompX's Table 1
(Modarressi et al. 2023) answers for BERT-base. This page asks the same of a smaller model."""
METHOD = """\
**The measure.** The tokens that an explanation puts first are replaced by `[MASK]`. The fall of the
predicted class's probability is averaged over texts, and over 10%, 20%, …, 100% of the tokens. This
is the AOPC; higher is better. The range beside a number is its 95% bootstrap interval over texts.
Signed explanations rank by score, and all explain the logit of the predicted class. None of them is
made by masking: occlusion deletes here, and integrated gradients begin at zero."""
DIFFERENCES = """\
## What differs from the paper

- **The model.** MiniLM has 6 layers and 22.7 million parameters; BERT-base has 12 and 110 million.
  Levels of the two columns cannot be compared. Their orders can.
- **The data.** We fine-tune on 3,000 sentences of SST and cut texts at 48 tokens. The paper uses
  SST-2, which also has phrases.
- **The explanations.** Our gradient × input of a token is Σ_d ∂f/∂e_d · e_d, with sign. The
  notebooks of DecompX's authors keep both the sum and the L2 norm of ten steps from zero; we do not
  know which one is in the table. They differentiate by the output of the embedding layer, we by
  the word embeddings."""
REDUCTIONS = """\
## How gradients become one number

A gradient has one number for each dimension of an embedding. Their sum keeps the sign; their L2
norm does not. *10 steps* means gradients at ten evenly spaced points from zero to the text, as in
the notebooks of DecompX. Otherwise steps are doubled until the scores add up to the change of the
logit within 1%."""
AUDIT = """\
## In an audit

An audit asks two questions: which words matter, and which class do they speak for? It deletes or
masks words; 0 is a random order of words, 1 the best order found. A star marks explanations that
cannot be told from the best. The best explanation is chosen on one half of the texts and reported
on the other. Only explanations with signs take part in the second question."""
REPEAT = """\
## To measure again

MODEL is the name that the first command prints.

<!-- needs: pretrained, data, hours -->
```console
$ heedful train --corpus sst --pretrained FOLDER_OF_MINILM --epochs 2 --max-length 48 --limit 3000
$ python -m bench.aopc MODEL --texts 200    # also writes this page
$ python -m bench.aopc MODEL --audit 200    # the table of the audit
$ python -m bench.aopc --report             # this page from its rows
```

The rows are in `reproduction/aopc.csv`. Those of the audit go to `reproduction/aopc_audit.csv`."""


def render(rows: pd.DataFrame, audit: pd.DataFrame | None = None) -> str:
    """The whole page. Parts that were not measured are left out."""
    facts = rows.iloc[0]
    about = (
        f"**The model.** MiniLM, fine-tuned on SST, accuracy {facts['accuracy']:.3f} on the "
        f"{facts['n']:,} test sentences measured here."
    )
    means = rows[rows["ratio"].astype(str) == "mean"].sort_values("aopc", ascending=False)
    parts = [
        *(TITLE, METHOD, about, _beside(means), _answer(means)),
        *_reductions(means),
        *(() if audit is None else (AUDIT, _audit(audit))),
        *("## By share of masked tokens", _by_ratio(rows, list(means["explanation"]))),
        *(DIFFERENCES, REPEAT),
    ]
    return "\n\n".join(parts) + "\n"


def _beside(means: pd.DataFrame) -> str:
    lines = [
        "| explanation | MiniLM, measured | 95% interval | BERT-base, published |",
        "|---|---|---|---|",
    ]
    for row in means.itertuples():
        published = PUBLISHED.get(str(row.explanation))
        lines.append(
            f"| {_name(str(row.explanation))} | {row.aopc:.3f} | {row.low:.3f} to {row.high:.3f} | "
            f"{'' if published is None else f'{published:.3f}'} |"
        )
    return "\n".join(lines)


def _answer(means: pd.DataFrame) -> str:
    """In words: who is first, and whether the paper's order holds."""
    order = [name for name in means["explanation"] if name in PUBLISHED]
    theirs = sorted(PUBLISHED, key=lambda name: -PUBLISHED[name])
    first, others = means.iloc[0], means.iloc[1:]
    near = list(others["explanation"][others["high"] >= first["low"]])
    close = f" Its interval overlaps with {_listed(near)}." if near else ""
    return (
        f"`{first['explanation']}` is first with {first['aopc']:.3f}.{close} Of the five published "
        f"explanations, the order here is {_listed(order)}. It {_same_as_paper(order)}, which is "
        f"{_listed(theirs)}."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(_name(name) for name in names)


def _name(title: str) -> str:
    """As code, without its remark."""
    name, space, remark = title.partition(" ")
    return f"`{name}`{space}{remark}"


_ALTI, _IG, _PRODUCT = "alti", "integrated_gradients", "gradient_input"


def _reductions(means: pd.DataFrame) -> Iterator[str]:
    """The same gradients, reduced otherwise, beside ALTI; and the paper's order by the norm."""
    by_name = means.set_index("explanation")
    alti = by_name.loc[_ALTI]
    variants = [name for name in by_name.index if name.partition(" ")[0] in (_IG, _PRODUCT)]
    if set(variants) <= set(PUBLISHED):
        return
    lines = ["| explanation | AOPC | 95% interval | beside `alti` |", "|---|---|---|---|"]
    for name in variants:
        row = by_name.loc[name]
        lines.append(
            f"| {_name(name)} | {row['aopc']:.3f} | {row['low']:.3f} to {row['high']:.3f} | "
            f"{_beside_other(row, alti)} |"
        )
    yield REDUCTIONS
    yield "\n".join(lines)
    normed = {_IG: f"{_IG} (10 steps, L2 norm)", _PRODUCT: f"{_PRODUCT} (L2 norm)"}
    if set(normed.values()) <= set(by_name.index):
        chosen = {name: by_name.loc[normed.get(name, name)]["aopc"] for name in PUBLISHED}
        order = sorted(chosen, key=lambda name: -chosen[name])
        yield (
            f"With both by the L2 norm, the order of the five is {_listed(order)}. "
            f"It {_same_as_paper(order)}."
        )


def _beside_other(row: Any, other: Any) -> str:
    """Rows with an AOPC and its interval."""
    way = "ahead" if row["aopc"] > other["aopc"] else "behind"
    apart = row["low"] > other["high"] or row["high"] < other["low"]
    return way if apart else f"{way}, intervals overlap"


def _same_as_paper(order: list[str]) -> str:
    same = order == sorted(PUBLISHED, key=lambda name: -PUBLISHED[name])
    return "is the paper's" if same else "is not the paper's"


def _audit(rows: pd.DataFrame) -> str:
    questions = {"importance": "which words matter", "direction": "which class they speak for"}
    names = rows[rows["question"] == "importance"].sort_values("position", ascending=False)
    n = int(rows["n"].iloc[0])
    lines = [
        f"MiniLM on {n} test sentences:",
        "",
        f"| explanation | {' | '.join(questions.values())} | runs of the model |",
        "|---|---|---|---|",
    ]
    for name in map(str, names["explanation"]):
        own = rows[rows["explanation"] == name].set_index("question")
        cells = [_position(own, question) for question in questions]
        lines.append(f"| {_name(name)} | {' | '.join(cells)} | {own['passes'].iloc[0]:.0f} |")
    return "\n".join(lines)


def _position(own: pd.DataFrame, question: str) -> str:
    if question not in own.index:
        return "–"
    row = own.loc[question]
    if pd.isna(row["position"]):  # no perturbation made neither it nor the best
        return "–"
    star = "\\*" if row["tied"] else ""
    return f"{row['position']:.2f}{star} ({row['low']:.2f} to {row['high']:.2f})"


def _by_ratio(rows: pd.DataFrame, order: list[str]) -> str:
    table = rows.assign(ratio=rows["ratio"].astype(str)).pivot(
        index="explanation", columns="ratio", values="aopc"
    )
    heads = [f"{ratio}%" if ratio != "mean" else ratio for ratio in SHOWN]
    lines = [f"| explanation | {' | '.join(heads)} |", "|---" * (len(SHOWN) + 1) + "|"]
    for name in order:
        cells = [f"{table.loc[name, ratio]:.3f}" for ratio in SHOWN]
        lines.append(f"| {_name(name)} | {' | '.join(cells)} |")
    return "\n".join(lines)
