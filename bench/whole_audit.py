"""A whole audit beside the same audit put together from Captum and plain loops.

The explanations that Captum has, and the measures of erasure and of agreement for each of them,
under two perturbations. *Loops* go text by text, and run the model once for every set of words that
a measure asks about. *Loops, batched* remember the sets of a text, and run those that one
explanation needs together. Where Captum is not installed, the loops are given all explanations for
nothing.

Baselines need no model: their orders are Heedful's.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import kendalltau
from torch import Tensor

from bench.made_up_models import MASK, PAD, reviews, words_tokenizer
from bench.measure import Cost, Measured, Row, Setting, joined, measure
from heedful.auditing import BASELINES, Audit, AuditSpec, audit_subject
from heedful.models import transformers
from heedful.targets import open_target
from heedful.types import Batch
from heedful.words import word_numbers

OCCLUSION, INTEGRATED = "occlusion:operator=mask", "integrated_gradients"
STEPS, TOLERANCE = 64, 1e-3
SPEC = AuditSpec(
    ("attention", "gradient", "gradient_input", f"{INTEGRATED}:tolerance={TOLERANCE}", OCCLUSION),
    importance=(INTEGRATED,),
    only=("agreement", "erasure"),
    ceiling=0,
)
SHARES, POINTS, SINGLE = (0.05, 0.1, 0.2, 0.5), 5, 16
"""Of an audit's grid."""
KEYS = ["example", "explanation", "operator", "measure"]
CLOSE, EQUAL, MEANS = 1e-3, 0.98, 0.02
"""A number is equal if it is so close. So many must be, and means so near, since an order of words
may change by a step of integration."""
Scores = Mapping[str, Tensor]
Lines = list[tuple[str, str, str, str, float]]


def rows(setting: Setting) -> Iterator[Row]:
    count, size = (3, "2 layers of 32") if setting.quick else (16, "4 layers of 256")
    module = _classifier(setting.quick).to(setting.device)
    records = reviews(count, 12 if setting.quick else 19)
    with open_target((module, words_tokenizer()), records, label_column=None) as subject:
        ours = _timed(setting, lambda: audit_subject(subject, SPEC))
        texts = [subject.encode(np.array([place])) for place in range(len(subject))]
    known = _known(ours.value)
    captum = find_spec("captum") is not None
    for name, at_once in (("loops", 1), ("loops, batched", 64)):
        loops = Loops(module, known, captum, at_once)
        theirs = _timed(setting, lambda loops=loops: loops.audit(texts))
        note = joined(_agreed(theirs.value, ours.value), "" if captum else "given explanations")
        title = f"Captum and {name}" if captum else name
        sized = f"{count} texts of about {19 - 7 * setting.quick} words, BERT of {size}"
        costs = Cost.of(theirs), Cost.of(ours)
        yield Row("audit", f"audit, {name}", sized, title, *costs, note)


def _timed(setting: Setting, work: Callable[[], Any]) -> Measured:
    return measure(work, setting.repeats)


def _classifier(quick: bool) -> Any:
    torch.manual_seed(0)
    layers, width = (2, 32) if quick else (4, 256)
    config = transformers().BertConfig(
        vocab_size=2000,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=4 * width,
        initializer_range=0.12,
        pad_token_id=PAD,
    )
    module = transformers().BertForSequenceClassification(config)
    with torch.no_grad():
        module.classifier.weight.normal_(0, 0.1)
    return module.eval()


def _known(found: Audit) -> dict[str, Scores]:
    """Explanations by example, as Heedful has them."""
    maps: dict[str, dict[str, Tensor]] = {}
    for line in found.maps.itertuples():
        scores = torch.tensor(line.scores, dtype=torch.float64)
        maps.setdefault(str(line.example), {})[str(line.explanation)] = scores
    return maps


# The same audit in plain loops.


@dataclass
class Loops:
    """`at_once` sets of words are run together; one at a time, nothing is remembered."""

    module: Any
    known: Mapping[str, Scores]
    captum: bool
    at_once: int
    eager: Any = field(init=False)
    plain: Any = field(init=False)

    def __post_init__(self) -> None:
        self.eager, self.plain = copy.deepcopy(self.module), copy.deepcopy(self.module)
        self.eager.set_attn_implementation("eager")
        self.plain.set_attn_implementation("sdpa")

    def audit(self, texts: Sequence[Batch]) -> pd.DataFrame:
        lines = [line for batch in texts for line in self._text(batch)]
        return pd.DataFrame(lines, columns=[*KEYS, "value"])

    def _text(self, batch: Batch) -> Lines:
        text, example = batch.texts["a"], batch.ids[0]
        tokens, numbers = text.tokens[0].tolist(), word_numbers(text)[0].tolist()
        with torch.no_grad():
            label = int(self.plain(input_ids=text.tokens).logits.argmax(-1))
        words = max(numbers) + 1
        own = self._explained(Batch(batch.ids, batch.texts, torch.tensor([label]).to(text.tokens)))
        maps = {**{name: self.known[example][name] for name in BASELINES}, **own}
        maps = {name: scores[:words].cpu() for name, scores in maps.items()}
        lines: Lines = []
        for operator in SPEC.operators:
            answers = Answers(self.plain, tokens, numbers, operator, label, self.at_once)
            for name, scores in maps.items():
                order = scores.argsort(descending=True).tolist()
                answers.prepare(order)
                found = erasure(answers, order)
                lines += [(example, name, operator, key, value) for key, value in found.items()]
        important = maps[SPEC.explanations[3]].abs()
        for name, scores in maps.items():
            tau = kendalltau(scores.abs().numpy(), important.numpy()).statistic
            lines.append((example, name, "", f"tau:{INTEGRATED}", float(tau)))
        return lines

    def _explained(self, batch: Batch) -> dict[str, Tensor]:
        if not self.captum:
            names = set(SPEC.explanations)
            return {n: s for n, s in self.known[batch.ids[0]].items() if n in names}
        from bench.captum_baselines import Captum

        made = Captum(self.plain, 1, None if self.at_once == 1 else self.at_once, MASK)
        found = (
            self._attention(batch),
            made.gradient(batch),
            made.gradient_input(batch),
            made.integrated_gradients(batch, STEPS)[0],
            made.occlusion(batch),
        )
        scores = (each[batch.ids[0]].double() for each in found)
        return dict(zip(SPEC.explanations, scores, strict=True))

    def _attention(self, batch: Batch) -> Scores:
        """The last layer's, as `[CLS]` attends; the mean over heads."""
        tokens = batch.texts["a"].tokens
        with torch.no_grad():
            last = self.eager(input_ids=tokens, output_attentions=True).attentions[-1]
        row, numbers = last[0].double().mean(0)[0], word_numbers(batch.texts["a"])[0]
        words = [row[numbers == word].sum() for word in range(int(numbers.max()) + 1)]
        return {batch.ids[0]: torch.stack(words)}


@dataclass
class Answers:
    """The probability of a class and the decision, from the words that are left."""

    module: Any
    tokens: list[int]
    numbers: list[int]
    operator: str
    label: int
    at_once: int
    memory: dict[frozenset[int], tuple[float, int]] = field(default_factory=dict)

    def __call__(self, left: frozenset[int]) -> tuple[float, int]:
        if self.at_once == 1:
            return self._run([left])[0]
        if left not in self.memory:
            self.memory[left] = self._run([left])[0]
        return self.memory[left]

    def prepare(self, order: Sequence[int]) -> None:
        """All sets that an order of words will ask about, together."""
        if self.at_once == 1:
            return
        asked: dict[frozenset[int], None] = {}

        def note(left: frozenset[int]) -> tuple[float, int]:
            asked[left] = None
            return 0.0, 0

        erasure(note, order)
        waiting = [left for left in asked if left not in self.memory]
        for start in range(0, len(waiting), self.at_once):
            some = waiting[start : start + self.at_once]
            self.memory |= zip(some, self._run(some), strict=True)

    def _run(self, several: Sequence[frozenset[int]]) -> list[tuple[float, int]]:
        texts = [self._less(left) for left in several]
        width, device = max(map(len, texts)), self.module.device
        padded = [text + [PAD] * (width - len(text)) for text in texts]
        seen = [[1] * len(text) + [0] * (width - len(text)) for text in texts]
        mask = torch.tensor(seen, device=device) if len(texts) > 1 else None
        with torch.no_grad():
            given = torch.tensor(padded, device=device)
            logits = self.module(input_ids=given, attention_mask=mask).logits
        chances = torch.softmax(logits.double(), -1)[:, self.label].tolist()
        return list(zip(chances, logits.argmax(-1).tolist(), strict=True))

    def _less(self, left: frozenset[int]) -> list[int]:
        if self.operator == "mask":
            pairs = zip(self.tokens, self.numbers, strict=True)
            return [token if word < 0 or word in left else MASK for token, word in pairs]
        pairs = zip(self.tokens, self.numbers, strict=True)
        return [token for token, word in pairs if word < 0 or word in left]


def erasure(
    answer: Callable[[frozenset[int]], tuple[float, int]], order: Sequence[int]
) -> dict[str, float]:
    """The measures of one order of a text's words, as they are defined."""
    n, words = len(order), frozenset(order)
    bins = [math.ceil(share * n - 1e-9) for share in SHARES]
    grid = sorted({math.ceil(i / POINTS * n - 1e-9) for i in range(POINTS + 1)})
    tried = range(1, n) if n <= SINGLE else sorted({*bins, *grid} - {0, n})
    whole, decision = answer(words)

    def less(k: int) -> tuple[float, int]:
        return answer(words - frozenset(order[:k]))

    def only(k: int) -> float:
        return answer(frozenset(order[:k]))[0]

    flips = [k for k in tried if less(k)[1] != decision]
    return {
        "comprehensiveness": sum(whole - less(k)[0] for k in bins) / len(bins),
        "sufficiency": sum(whole - only(k) for k in bins) / len(bins),
        "deletion_auc": _area([(k / n, less(k)[0]) for k in grid]),
        "insertion_auc": _area([(k / n, only(k)) for k in grid]),
        "flip_share": flips[0] / n if flips else math.nan,
        "flip_censored": float(not flips),
    }


def _area(points: list[tuple[float, float]]) -> float:
    return sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(points))


def _agreed(theirs: pd.DataFrame, ours: Audit) -> str:
    """How many numbers are equal, of explanations whose orders have no ties."""
    untied = [*SPEC.explanations, "position"]
    rows = ours.rows[(ours.rows["model"] == "base") & ours.rows["explanation"].isin(untied)]
    both = theirs.merge(rows, on=KEYS, suffixes=("", "_ours"))
    wanted = theirs["explanation"].isin(untied) & theirs["operator"].ne("")
    if both["operator"].ne("").sum() != wanted.sum():
        raise ValueError("the loops and the audit measured other things")
    apart = (both["value"] - both["value_ours"]).abs().fillna(0.0)
    share = float((apart <= CLOSE).mean())
    groups = both.groupby(["explanation", "operator", "measure"])
    means = (groups["value"].mean() - groups["value_ours"].mean()).abs().max()
    if share < EQUAL or means > MEANS:
        raise ValueError(f"{share:.1%} of the numbers are equal, means differ by {means:.2g}")
    return f"{share:.1%} of {len(both):,} numbers within {CLOSE:g}, means within {means:.1g}"
