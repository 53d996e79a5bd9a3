"""Terms that say where attention should look, and how much of a text it may take."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from heedful.data import Prepared, Sentence, Side, Split, heads_by_id
from heedful.errors import HeedfulError
from heedful.models import Family, build
from heedful.specs import ModelSpec, TermSpec, TrainSpec
from heedful.training import TERMS, Objective, TermContext, missed, train
from heedful.types import Keep
from test_corpora_conllu import line
from tiny import tiny_model, tiny_split
from tiny_pairs import tiny_writer

SPLIT = tiny_split((4, 1, 9, 2))


@dataclass(frozen=True)
class Corpus:
    """As much of a corpus as a term asks for; dev is what train is."""

    own: Split
    task: str = "classification"

    def split(self, name: str) -> Split:
        return self.own


def lesson(model: Any, split: Split = SPLIT, task: str = "classification") -> TermContext:
    return TermContext(model, Corpus(split, task))


def made(name: str, about: TermContext, **params: Any) -> Any:
    return TERMS[name].make(about, **params)


def value(term: Any, model: Any, split: Split) -> Tensor:
    batch = split.batch(range(len(split)))
    found: Tensor = term.value(batch, model(batch, keep=term.keep))
    return found


def learned(term: Any, model: Any, split: Split, trained: torch.nn.Module) -> float:
    """The share of the term's value that is left after a few steps."""
    optimizer = torch.optim.Adam(trained.parameters(), lr=0.05)
    before = value(term, model, split).item()
    for _ in range(25):
        optimizer.zero_grad()
        value(term, model, split).backward()
        optimizer.step()
    return value(term, model, split).item() / before


def marked(split: Split, marks: list[list[int] | None]) -> Split:
    side = split.sides["a"]
    rationales = [None if each is None else np.array(each, dtype=bool) for each in marks]
    return replace(split, sides={"a": replace(side, rationales=rationales)})


MARKED = marked(SPLIT, [[0, 1, 1, 0], None, [1] + [0] * 8, [0, 0]])


# --- how many tokens are taken


def test_the_expected_share_by_hand() -> None:
    """softplus(log(e − 1)) = 1, and a gate with a = b = 1 is 0 with probability 1/12."""
    model = tiny_model(attention="hard")
    with torch.no_grad():
        model.attention.shapes.weight.zero_()
        model.attention.shapes.bias.fill_(math.log(math.e - 1))
    found = value(made("sparsity", lesson(model), target=0.1), model, SPLIT)
    assert found.item() == pytest.approx(11 / 12 - 0.1, rel=1e-5)
    above = value(made("sparsity", lesson(model), target=1.0), model, SPLIT)
    assert above.item() == pytest.approx(1 / 12, rel=1e-4)


def test_the_expected_share_text_by_text() -> None:
    model = tiny_model(attention="hard", double=True)
    batch = SPLIT.batch(range(4))
    states = model(batch, keep=Keep(states=True)).states["attention"]
    distances = []
    for example, size in enumerate(SPLIT.lengths):
        shapes = [
            torch.nn.functional.softplus(model.attention.shapes(s)).tolist()
            for s in states[example, 1 : size + 1]
        ]
        left = [1 - (1 - (1 / 12) ** a) ** b for a, b in shapes]
        distances.append(abs(sum(1 - p for p in left) / size - 0.3))
    found = value(made("sparsity", lesson(model), target=0.3), model, SPLIT)
    assert found.item() == pytest.approx(sum(distances) / 4, abs=1e-9)


def test_descending_reaches_the_target() -> None:
    model = tiny_model(attention="hard").train()
    term = made("sparsity", lesson(model), target=0.25)
    assert learned(term, model, SPLIT, model.attention) < 0.35


def test_what_sparsity_refuses() -> None:
    with pytest.raises(HeedfulError, match="--attention hard"):
        made("sparsity", lesson(tiny_model()))
    with pytest.raises(HeedfulError, match="from 0 to 1"):
        made("sparsity", lesson(tiny_model(attention="hard")), target=1.5)


# --- rationales


def test_what_is_missed_by_hand() -> None:
    """−log 0.7; with two queries their mean; gates of 1 and 0.5 have a third on the second;
    nothing told, nothing missed."""
    one = missed(torch.tensor([[[0.5, 0.3, 0.2]]]), torch.tensor([[[True, False, True]]]))
    assert one.tolist() == pytest.approx([-math.log(0.7)])
    weights = torch.tensor([[[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]]])
    right = torch.tensor([[[True, False], [False, True], [False, False]]])
    assert missed(weights, right).tolist() == pytest.approx([-(math.log(0.5) + math.log(0.1)) / 2])
    gates = missed(torch.tensor([[[1.0, 0.5]]]), torch.tensor([[[False, True]]]))
    assert gates.tolist() == pytest.approx([math.log(3)])
    assert missed(weights, torch.zeros_like(right)).tolist() == [0.0]


def test_weights_of_nothing_stay_numbers() -> None:
    weights = torch.tensor([[[0.0, 1.0]], [[0.0, 0.0]]], requires_grad=True)
    found = missed(weights, torch.tensor([[[True, False]]]).expand(2, 1, 2))
    found.sum().backward()
    assert found.tolist() == pytest.approx([-math.log(1e-12)] * 2, rel=1e-5)
    assert weights.grad is not None and bool(weights.grad.isfinite().all())


@pytest.mark.parametrize("attention", ["additive", "sparsemax", "gate"])
def test_rationales_text_by_text(attention: str) -> None:
    """Texts without a rationale, and those whose rationale is empty, count 0."""
    model = tiny_model(attention=attention, double=True)
    weights = model(MARKED.batch(range(4))).weights["attention"][:, 0, 0, 1:].tolist()
    total = 0.0
    for example in (0, 2):
        marks = MARKED.rationale(example)
        share = sum(w for w, m in zip(weights[example], marks.tolist(), strict=False) if m)
        total -= math.log(max(share / sum(weights[example]), 1e-12))
    found = value(made("supervised", lesson(model, MARKED)), model, MARKED)
    assert found.item() == pytest.approx(total / 4, abs=1e-9)


def test_in_a_hierarchy_words_count_by_their_sentence() -> None:
    sentences = [np.arange(size, dtype=np.int32) // 3 for size in MARKED.lengths]
    split = replace(MARKED, sides={"a": replace(MARKED.sides["a"], sentences=sentences)})
    vectors = torch.randn(40, 5, generator=torch.Generator().manual_seed(0))
    model = build(ModelSpec("average", hidden=8, family="hierarchical"), vectors, 2, 0).double()
    trace = model(split.batch(range(4)))
    within = trace.weights["words"][:, 0].tolist()
    over = trace.weights["sentences"][:, 0, 0].tolist()
    total = 0.0
    for example in (0, 2):
        marks = split.rationale(example)
        share = sum(
            weight * words[1 + t]
            for weight, words in zip(over[example], within[example], strict=True)
            for t in marks.nonzero()[0]
        )
        total -= math.log(share)
    found = value(made("supervised", lesson(model, split)), model, split)
    assert found.item() == pytest.approx(total / 4, abs=1e-9)


def test_training_moves_attention_to_the_rationales(planted: Prepared) -> None:
    told, alone = (_inside(planted, terms) for terms in ((TermSpec("supervised", 2.0),), ()))
    assert told > 0.9 and told > alone + 0.1


def _inside(planted: Prepared, terms: tuple[TermSpec, ...]) -> float:
    """The mean share of attention on rationales of the dev split."""
    spec = ModelSpec("average", hidden=8)
    fresh = build(spec, planted.vectors, len(planted.labels), 0)
    how = TrainSpec(epochs=4, learning_rate=0.03)
    model: Family = train(fresh, planted, how, seed=0, objective=Objective(terms=terms)).model
    dev = planted.split("dev")
    with torch.no_grad():
        weights = model(dev.batch(range(len(dev)))).weights["attention"][:, 0, 0, 1:].numpy()
    marks = [dev.rationale(i) for i in range(len(dev))]
    shares = [
        row[: len(m)][np.asarray(m)].sum()
        for row, m in zip(weights, marks, strict=True)
        if m is not None
    ]
    return float(np.mean(shares))


def test_what_supervision_by_rationales_refuses() -> None:
    with pytest.raises(HeedfulError, match="corpus with rationales"):
        made("supervised", lesson(tiny_model()))
    with pytest.raises(HeedfulError, match="with arcs only"):
        made("supervised", lesson(tiny_model(), MARKED), site="attention")
    with pytest.raises(HeedfulError, match="give arcs"):
        made("supervised", lesson(tiny_writer("prenorm"), MARKED, "generation"))


# --- arcs


DOG = Sentence(("The", "dog", "'s", "tail", "wags"), (1, 3, 1, 4, -1))
TEXTS = ["The dog's tail wags", "The dog runs"]
PIECES = [["The", "do", "g", "'s", "tail", "wags"], ["The", "dog", "runs"]]


def parsed_split() -> Split:
    """Tokens are pieces of words, found in their texts in order."""
    spans = [_spans(text, pieces) for text, pieces in zip(TEXTS, PIECES, strict=True)]
    tokens = [np.array([2, *range(4, 4 + len(each)), 3], dtype=np.int32) for each in spans]
    starts, ends = (
        [np.array([s[k] for s in each], dtype=np.int32) for each in spans] for k in (0, 1)
    )
    zeros = [np.zeros(len(each), dtype=np.int32) for each in spans]
    side = Side(tokens, TEXTS, starts, ends, [None, None], zeros)
    return Split(("dog", "other"), torch.zeros(2, dtype=torch.int64), {"a": side, "b": side})


def _spans(text: str, pieces: list[str]) -> list[tuple[int, int]]:
    found = re.fullmatch(r"\s*".join(f"({re.escape(piece)})" for piece in pieces), text)
    assert found is not None
    return [found.span(i + 1) for i in range(len(pieces))]


def write(path: Path, sentence: Sentence) -> str:
    rows = zip(sentence.words, sentence.heads, strict=True)
    lines = [line(str(i), word, str(head + 1)) for i, (word, head) in enumerate(rows, 1)]
    path.write_text("\n".join(lines) + "\n", encoding="utf8")
    return str(path)


def test_tokens_hang_on_the_pieces_of_their_head() -> None:
    """The → do, g; do, g → tail; 's → do, g; tail → wags; the root on nothing."""
    found = heads_by_id(parsed_split(), [DOG])
    assert set(found) == {"dog"}
    pairs = {tuple(pair) for pair in np.argwhere(found["dog"]).tolist()}
    assert pairs == {(0, 1), (0, 2), (1, 4), (2, 4), (3, 1), (3, 2), (4, 5)}


def test_arcs_token_by_token(tmp_path: Path) -> None:
    model, split = tiny_writer("prenorm"), parsed_split()
    arcs = write(tmp_path / "some.conllu", DOG)
    about = lesson(model, split, "generation")
    found = value(made("supervised", about, arcs=arcs, site="encoder.1", head=2), model, split)
    rows = model(split.batch([0, 1])).weights["encoder.1"][0, 2].tolist()
    right = {0: [1, 2], 1: [4], 2: [4], 3: [1, 2], 4: [5]}
    logs = [math.log(sum(rows[1 + q][1 + k] for k in keys)) for q, keys in right.items()]
    assert found.item() == pytest.approx(-sum(logs) / 5 / 2, abs=1e-9)


def test_a_head_learns_the_arcs(tmp_path: Path) -> None:
    model, split = tiny_writer("prenorm").train(), parsed_split()
    arcs = write(tmp_path / "some.conllu", DOG)
    term = made("supervised", lesson(model, split, "generation"), arcs=arcs)
    assert learned(term, model, split, model) < 0.2


def test_what_supervision_by_arcs_refuses(tmp_path: Path) -> None:
    arcs, split = write(tmp_path / "some.conllu", DOG), parsed_split()
    about = lesson(tiny_writer("prenorm"), split, "generation")
    strange = write(
        tmp_path / "other.conllu", replace(DOG, words=("No", "such", "text", "is", "it"))
    )
    with pytest.raises(HeedfulError, match="no sentence of"):
        made("supervised", about, arcs=strange)
    with pytest.raises(HeedfulError, match="family transformer"):
        made("supervised", lesson(tiny_model(), split), arcs=arcs)
    with pytest.raises(HeedfulError, match="encoder.0"):
        made("supervised", about, arcs=arcs, site="decoder.0.self")
    with pytest.raises(HeedfulError, match="no head 9"):
        value(made("supervised", about, arcs=arcs, head=9), about.model, split)
    with pytest.raises(HeedfulError, match="there is no file"):
        made("supervised", about, arcs=str(tmp_path / "missing"))
