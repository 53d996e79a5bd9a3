"""docs/aopc.md, from the rows of reproduction/aopc.csv and nothing else."""

from __future__ import annotations

from pathlib import Path

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
- **The explanations.** A token's gradient × input is Σ_d ∂f/∂e_d · e_d here, with sign. The paper's
  numbers may be reduced otherwise."""
REPEAT = """\
## To measure again

MODEL is the name that the first command prints.

<!-- needs: pretrained, data, hours -->
```console
$ heedful train --corpus sst --pretrained FOLDER_OF_MINILM --epochs 2 --max-length 48 --limit 3000
$ python -m bench.aopc MODEL --texts 200    # also writes this page
$ python -m bench.aopc --report             # this page from its rows
```

The rows are in `reproduction/aopc.csv`."""


def render(rows: pd.DataFrame) -> str:
    """The whole page."""
    facts = rows.iloc[0]
    about = (
        f"**The model.** MiniLM, fine-tuned on SST, accuracy {facts['accuracy']:.3f} on the "
        f"{facts['n']:,} test sentences measured here."
    )
    means = rows[rows["ratio"].astype(str) == "mean"].sort_values("aopc", ascending=False)
    parts = [
        *(TITLE, METHOD, about, _beside(means), _answer(means)),
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
            f"| `{row.explanation}` | {row.aopc:.3f} | {row.low:.3f} to {row.high:.3f} | "
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
    same = "is the paper's" if order == theirs else "is not the paper's"
    return (
        f"`{first['explanation']}` is first with {first['aopc']:.3f}.{close} Of the five published "
        f"explanations, the order here is {_listed(order)}. It {same}, which is {_listed(theirs)}."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _by_ratio(rows: pd.DataFrame, order: list[str]) -> str:
    table = rows.assign(ratio=rows["ratio"].astype(str)).pivot(
        index="explanation", columns="ratio", values="aopc"
    )
    heads = [f"{ratio}%" if ratio != "mean" else ratio for ratio in SHOWN]
    lines = [f"| explanation | {' | '.join(heads)} |", "|---" * (len(SHOWN) + 1) + "|"]
    for name in order:
        cells = [f"{table.loc[name, ratio]:.3f}" for ratio in SHOWN]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)
