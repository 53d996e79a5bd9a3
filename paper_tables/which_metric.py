"""The page *Which faithfulness metric can you trust?*, made of kept rows and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from heedful.benchmark import tables
from heedful.benchmark.cases import DEVELOPMENT, HELD_OUT
from heedful.benchmark.measure import read
from heedful.benchmark.needles import needles_markdown, read_needles
from heedful.benchmark.shortcuts import read_rows, to_markdown
from heedful.benchmark.tables import markdown
from heedful.benchmark.trained_models import KINDS
from heedful.errors import HeedfulError
from heedful.report import Estimate, Picture, Row
from heedful.report.figures.dots import Panel
from heedful.store import write_text
from heedful.verdict import EFFECTS, MEASURE

ROWS = Path("reproduction/benchmark.csv")
SHORTCUTS = Path("reproduction/shortcuts.csv")
NEEDLES = Path("reproduction/needles.csv")
PAGE = Path("docs/which-metric.md")
PICTURES = Path("docs/figures/which-metric")
PICTURE = "Each faithfulness measure as the only judge, on models whose truth is known"
IN_USE = ("comprehensiveness", "sufficiency", "deletion_auc", "insertion_auc", "flip_share")
"""Metrics that papers judge explanations by."""

_HEAD = """<!-- made by: heedful benchmark --report -->
# Which faithfulness metric can you trust?

Metrics of faithfulness are used to judge explanations. Who judges the metrics? Here they are tried
on models whose truth is known: small models that were trained, and whose truth was then verified
by intervention, and models whose weights were written by hand.

Every number is computed from the rows in `reproduction/benchmark.csv`. To measure them again:

```text
heedful benchmark -o reproduction/benchmark.csv             # development
heedful benchmark --held-out -o reproduction/benchmark.csv  # once, when all rules are fixed
heedful benchmark --report                                  # this page
```
"""
_METRICS = """
## Each measure as the only judge

- **texts**: area under the ROC curve (AUROC) for telling, from a single text, the true map from
  a map with the same numbers on other words. 0.5 is guessing. The mean over models, and the
  lowest.
- **attention**: AUROC for telling models whose attention is faithful from models whose
  attention is not, by the mean score of attention.
- **noise**: Kendall τ between the score and how right the map is, in five steps from the truth
  to a shuffled map.
- **leak**: Kendall τ between attention's score and the share of the decision that goes through
  attention, in six steps.

The true map has no signs: it says how much a word matters, not for which class. Measures that
reward signs score it lower, and that is what this table shows.

**The choice.** The verdict asks `importance_captured`. On the development models it tells true from
shuffled maps and faithful from unfaithful attention at least as well as any other candidate.
`importance_evenly` differs from it in one point only: it counts all places in an order alike. It
calls the attention of `one-head` faithful, where a wrong word comes first and the word that
decides second. `importance_gain` lies between the two. Candidates whose name begins with
`removed`, `magnitude`, `subset` or `shapley` let words of opposite direction cancel, and are out
for that ([audit](audit.md#candidates-for-an-unsigned-measure)).
"""
_EXPLANATIONS = """
## Explanations against the words known to decide

k is the number of words known to decide. Precision@k is the share of them among the k words of
the largest magnitude; rank 1 is the top.
"""
_SHORTCUTS = """
## Lexical shortcuts in real texts

Words that no text has are put at random places of some texts, and a rule on them sets the label
(Bastings et al. 2022). *Single token*: one of two words names the class. *Token in context*: the
same, if a third word is there too. *Ordered pair*: the word that comes first names the class.
*XOR*: two equal words are one class, two different words the other. One synthetic text comes with
five original ones. Where the rule needs two words, a quarter of the original texts have one of
them that decides nothing.

Both models learn from 5,000 original texts, cut after 40 words: the BiLSTM from scratch, MiniLM by
fine-tuning. Classes are balanced and punctuation is left out. The planted words (`gmina`,
`kinase`, `ligue`) are one token each for both models. The BiLSTM's sizes and training were chosen
on models of seed 0, so that they pass the verification below. For each BiLSTM 200 unseen synthetic
texts are explained, for each MiniLM 100. The rows are in `reproduction/shortcuts.csv`, made by

```text
heedful benchmark --part shortcuts -o reproduction/shortcuts.csv
```

MiniLM needs a GPU. `python -m tools.carry_shortcuts OUT` writes the files to copy there: the texts,
and MiniLM in half precision. Processes share the models: start this command several times.

```text
heedful benchmark --part shortcuts --models minilm --data-dir OUT/data \\
    --pretrained OUT/minilm -o reproduction/shortcuts.csv
```
"""
_NEEDLES = """
## Needles in long prompts

A prompt has 20 sentences. One of them, the needle, says how a sentence ends: *The box in the attic
is full of gold.* The model is then given the beginning of that sentence and writes the next token.
A prompt counts if the model gives the answer; if the answer changes without the needle, and its
probability falls by half or more; and if the answer stays without any other sentence, and its
probability falls by less than half.

The answer is explained by sentences and by words. **first**: the share of prompts in which the top
unit is the needle, or one of its words (precision@1). **rank**: the place of the needle, or of its
best word; 1 is the top. Explanations that do not fit the model are left out.
Verification deletes sentences, and so do `occlusion`, `leave_one_out` and `contextcite`: they agree
with it by construction. If all prompts agree, as a few easily do, the interval has no width.

The models are SmolLM2-135M-Instruct and Qwen2.5-Coder-0.5B-Instruct, measured on a GPU. This
command, and the same with `.pretrained/qwen`, made the rows in `reproduction/needles.csv`:

```text
heedful benchmark --part needles --model .pretrained/smollm2 --prompts 5 --explanations \\
    attention,rollout,value_norm,gradient_attention,effective_attention,attention_flow,gradient,\\
    gradient_input,integrated_gradients:max_steps=8,lrp,attnlrp,decompx,alti_logit,alti,globenc,\\
    value_zeroing,occlusion,occlusion:operator=mask,leave_one_out,contextcite,random \\
    -o reproduction/needles.csv
```

An explanation may find the needle in one model and miss it in another. The last layer's attention
puts it first in every prompt of Qwen, but in only one of SmolLM2.
"""
_VERDICTS = """
## The verdict

Each row is a kind of model. n is the size of random subsamples of a population. **power**: the
verified truth was said. **error**: the opposite of the verdict on the whole population was
said. **swapped**: the opposite of the verified truth was said. **abstention**: *cannot tell
yet*. Where the whole population is open, only *swapped* can show that a verdict is wrong.
"""
_CONTROLS = """
### Positive controls at n = 200

Attention should be shown for these. *supported* is the share of models that get a yes,
*refuted* a no.
"""
_TRUTH = """
## What is true, and how it is known

A trained model counts when it decides as the generator does in 90% of new texts, and when its
decision turns in 90% of them if the deciding words are exchanged for their opposites. Attention
should be shown (*yes*) when giving a text the weights of another one changes the output by 0.1 or
more on average, and when exchanging the most attended words has at least 85% of the largest
possible effect. The answer is *no* when the output moves by 0.02 or less, or when that share is 35%
or less; otherwise *partly*. Words are exchanged for others that fit the same place. The audit
deletes or masks words instead, and permutes weights or makes them uniform: the truth is not
found by the measures it judges.
"""


def write_page() -> list[Path]:
    """In the checkout that keeps the rows; all is made before anything is written."""
    if not ROWS.is_file() or not PAGE.parent.is_dir():
        raise HeedfulError(f"{ROWS} is not here: run this in the checkout that keeps it.")
    rows = read(ROWS)
    pictures = dict(_pictures(rows))
    planted = read_rows(SHORTCUTS) if SHORTCUTS.is_file() else None
    needles = read_needles(NEEDLES) if NEEDLES.is_file() else None
    text = page(rows, list(pictures), planted, needles)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        write_text(PICTURES / name, picture)
    write_text(PAGE, text)
    return [PAGE, *(PICTURES / name for name in pictures)]


def page(
    rows: pd.DataFrame,
    pictures: Sequence[str] = (),
    planted: pd.DataFrame | None = None,
    needles: pd.DataFrame | None = None,
) -> str:
    made = tables.tables(rows)
    parts = [_HEAD]
    shown = [split for split in (HELD_OUT, DEVELOPMENT) if split in set(rows["split"])]
    parts += _in_short(made, shown)
    for split in shown:
        parts += [f"*{split}*: {_models(made['counted'], split)}\n"]
    parts += [_METRICS, *_bar(rows, shown), *_by_split(made["metrics"], shown)]
    parts += [f"![{PICTURE}](figures/which-metric/{name})\n" for name in pictures]
    parts += [_EXPLANATIONS, *_by_split(made["explanations"], shown)]
    parts += [] if planted is None else [_SHORTCUTS, to_markdown(planted)]
    parts += [] if needles is None else [_NEEDLES, needles_markdown(needles)]
    parts += [_VERDICTS, *_by_split(made["verdicts"], shown)]
    parts += [_CONTROLS, *_by_split(made["controls"], shown), _TRUTH, *_kinds(rows)]
    return "\n".join(parts)


def _in_short(made: Mapping[str, pd.DataFrame], shown: Sequence[str]) -> Iterator[str]:
    """What the first of the splits says, in a few lines."""
    if not shown or made["metrics"].empty:
        return
    found, said, controls = (
        made[name][made[name]["split"] == shown[0]] if len(made[name]) else made[name]
        for name in ("metrics", "verdicts", "controls")
    )
    judges = found.assign(measure=found["measure"].str.split(" ").str[0]).groupby("measure")
    order = judges["texts"].mean().sort_values(ascending=False, kind="stable")
    used = order[order.index.isin(IN_USE)]
    yield f"In short, on {shown[0]} models:\n"
    yield (
        f"- The verdict asks `{MEASURE}`. From one text it tells the true map from a shuffled one "
        f"with an AUROC of {order[MEASURE]:.2f} (mean over models and perturbations)."
    )
    if len(used):
        yield (
            f"- Of the metrics that papers use, `{used.index[0]}` does best ({used.iloc[0]:.2f}) "
            f"and `{used.index[-1]}` worst ({used.iloc[-1]:.2f})."
        )
    if len(said):
        yield (
            f"- The verdict says the opposite of the population's in at most "
            f"{said['error'].max():.0%} of the samples of any kind and size, and the opposite of "
            f"the truth in at most {said['swapped'].max():.0%}."
        )
    if len(controls):
        weights = controls["models"]
        yes, no = (np.average(controls[each], weights=weights) for each in ("supported", "refuted"))
        yield (
            f"- Of {weights.sum()} models whose attention should be shown (positive controls), "
            f"{yes:.0%} get a *yes* from 200 examples, {no:.0%} a *no*."
        )
    yield ""


def _models(counts: pd.DataFrame, split: str) -> str:
    part = counts[counts["split"] == split]
    texts = (f"{r.models} {r.part} models with the truth *{r.truth}*" for r in part.itertuples())
    return ", ".join(texts) + "."


def _by_split(table: pd.DataFrame, shown: Sequence[str]) -> Iterator[str]:
    for split in shown:
        part = table[table["split"] == split] if len(table) else table
        if len(part):
            yield f"**{split}**\n\n{markdown(part.drop(columns='split'))}\n"


def _bar(rows: pd.DataFrame, shown: Sequence[str]) -> Iterator[str]:
    """Where models of either truth lie, and the bar between them."""
    found = rows[(rows["score"] == "statement") & (rows["name"] == "importance")]
    found = found[~found["kind"].str.contains(tables.UNUSED)]
    bar = EFFECTS["importance"]
    for split in shown:
        part = found[found["split"] == split]
        no, yes = (part[part["truth"] == truth]["value"] for truth in ("no", "yes"))
        if len(no) and len(yes):
            yield (
                f"*{split}*: the bar is {bar:g} of the way from a random order to the best one. "
                f"Attention that should be shown is at {yes.min():.2f} or above; attention that "
                f"should not, and that does not mark the right words by coincidence, at "
                f"{no.max():.2f} or below.\n"
            )


def _kinds(rows: pd.DataFrame) -> Iterator[str]:
    """What each trained kind is, and the numbers its truth was read from."""
    facts = rows[(rows["score"] == "truth") & (rows["part"] == "trained")]
    wide = facts.pivot_table(index="kind", columns="name", values="value", sort=False)
    if wide.empty:
        return
    answers = rows.groupby("kind")["truth"].agg(lambda found: "/".join(sorted(set(found))))
    lines = [
        {
            "kind": kind,
            "built": KINDS[str(kind)].claim,
            **{name: wide.loc[kind, name] for name in ("learned", "decided", "used", "found")},
            "truth": answers[kind],
        }
        for kind in wide.index
        if str(kind) in KINDS
    ]
    yield markdown(pd.DataFrame(lines)) + "\n"


def _pictures(rows: pd.DataFrame) -> Iterator[tuple[str, str]]:
    found = tables.metrics(rows)
    shown = [split for split in (HELD_OUT, DEVELOPMENT) if split in set(found["split"])]
    if not shown:
        return
    first = found[found["split"] == shown[0]]
    axes = {
        "texts": ("From one text", "AUROC of the true map against a shuffled one"),
        "attention": ("Attention of whole models", "AUROC of faithful against unfaithful"),
        "leak": ("Along leaks", "Kendall τ with the share of the decision shown"),
    }
    panels = [
        Panel(title, axis, _dots(found, shown, first, column), zero=column == "leak")
        for column, (title, axis) in axes.items()
        if found[column].notna().any()
    ]
    yield "measures.svg", Picture(PICTURE, tuple(shown), tuple(panels)).svg()


def _dots(
    found: pd.DataFrame, shown: Sequence[str], order: pd.DataFrame, column: str
) -> tuple[Row, ...]:
    rows = []
    for measure in order["measure"]:
        part = found[(found["measure"] == measure) & found[column].notna()]
        values = {str(row["split"]): row for row in part.to_dict("records")}
        dots = tuple(
            (split, Estimate(row[column], row[column], row[column], 0, int(row["models"])))
            for split in shown
            if (row := values.get(split)) is not None
        )
        if dots:
            rows.append(Row(str(measure), dots))
    return tuple(rows)
