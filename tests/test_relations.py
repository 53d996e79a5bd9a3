"""Heads against relations that are known: arcs, coreference, halves and positions."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn

import heedful
from heedful.auditing import Relations, relations
from heedful.cli.main import main
from heedful.data import Case, Sentence, generated_relations, load_relations, related
from heedful.errors import HeedfulError
from heedful.targets import open_texts
from heedful.types import Batch, Deleted, Edits, Keep, SiteSpec, Trace
from heedful.verdict import half_of
from kept_schemas import check_verb
from reference.relations import attended
from tiny_hf import tiny_hf
from tiny_tokenizers import word_pieces

SENTENCE = Sentence(
    ("The", "old", "dog", "'s", "tail", "wags", "."),
    (2, 2, 4, 2, 5, -1, 5),
    ("det", "amod", "nmod:poss", "case", "nsubj", "root", "punct"),
    (False, False, True, False, False, True, False),
    "tail",
)


def test_arcs_become_cases_by_hand() -> None:
    found = related(SENTENCE)
    assert found.text == "The old dog's tail wags."
    assert [found.text[start:end] for start, end in found.spans] == list(SENTENCE.words)
    up = {case.relation: case for case in found.cases if case.direction == "to head"}
    assert set(up) == {"det", "amod", "nmod:poss", "case", "nsubj"}  # no root, no punctuation
    assert up["det"] == Case("det", "to head", 0, (2,))
    down = {case.relation: case for case in found.cases if case.direction == "from head"}
    assert down["nsubj"] == Case("nsubj", "from head", 5, (4,))


def test_two_dependents_are_both_right() -> None:
    two = Sentence(("small", "old", "dog"), (2, 2, -1), ("amod", "amod", "root"))
    (down,) = (case for case in related(two).cases if case.direction == "from head")
    assert down.gold == (0, 1)


def test_mentions_choose_among_those_before_them(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    words = ["Ann", "met", "the", "old", "king", "and", "she", "greeted", "him"]
    clusters = [[[0, 0], [6, 6]], [[2, 4], [8, 8]]]
    path.write_text(json.dumps({"words": words, "clusters": clusters}) + "\n", encoding="utf8")
    she, him = load_relations(path)[0].cases
    assert she == Case("coreference", "to antecedent", 6, (0,), (4, 0))
    assert him == Case("coreference", "to antecedent", 8, (4,), (6, 4, 0))


def test_conllu_files_have_labels_and_blanks(tmp_path: Path) -> None:
    path = tmp_path / "some.conllu"
    rows = [("Rain", 2, "nsubj", "_"), ("fell", 0, "root", "SpaceAfter=No"), (".", 2, "punct", "_")]
    lines = [
        "\t".join([str(n), word, "_", "_", "_", "_", str(head), label, "_", misc])
        for n, (word, head, label, misc) in enumerate(rows, 1)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf8")
    (found,) = load_relations(path)
    assert found.text == "Rain fell." and {case.relation for case in found.cases} == {"nsubj"}


def test_generated_arcs_are_trees_whose_distances_vary() -> None:
    texts = generated_relations(100)
    distances: dict[str, set[int]] = {}
    for text in texts:
        up = [case for case in text.cases if case.direction == "to head"]
        heads = {case.query: case.gold[0] for case in up}
        assert len(heads) == len(up)
        for word in heads:
            seen = set()
            while word in heads:  # up to the root, never round and round
                assert word not in seen
                seen.add(word)
                word = heads[word]
        for case in up:
            distances.setdefault(case.relation, set()).add(case.gold[0] - case.query)
    assert all(len(found) > 2 for found in distances.values()), distances
    assert [text.text for text in generated_relations(3)] == [text.text for text in texts[:3]]


# --- a model whose heads are known


WORDS = 60
SITE = SiteSpec("self", "a", "tokens", False, queries="a")


class Knowing(nn.Module):
    """Head 0 attends to the next word; head 1 from each word to the head that an arc gives it, by
    the text's first tokens; both put half of their weight on the start, which is no word."""

    def __init__(self, arcs: dict[tuple[int, ...], dict[int, int]]) -> None:
        super().__init__()
        self.arcs, self.fillers, self.sites = arcs, {"unk": 0}, (SITE,)
        self.scale = nn.Parameter(torch.ones(()))

    def embed(self, batch: Batch) -> dict[str, Tensor]:
        return {"a": batch.texts["a"].tokens[..., None].double()}

    def forward(
        self, batch: Batch, edits: Edits | None = None, keep: Keep = Keep(), embeddings: Any = None
    ) -> Trace:
        text = batch.texts["a"]
        width = text.tokens.shape[1]
        weights = torch.zeros(len(batch), 2, width, width)
        weights[..., 0] = 0.5
        for row, tokens in enumerate(text.tokens.tolist()):
            length = int(text.lengths[row])
            arcs = self.arcs[tuple(tokens[1 : length - 1])]
            for place in range(1, length - 1):
                weights[row, 0, place, min(place + 1, length - 2)] = 0.5
                weights[row, 1, place, arcs.get(place - 1, place - 1) + 1] = 0.5
        mask = torch.ones(len(batch), 1, width, width, dtype=torch.bool)
        logits = torch.zeros(len(batch), 2)
        return Trace(logits, {"self": weights}, {"self": mask})

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        return self(batch, edits)

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        raise NotImplementedError


@dataclass
class KnownArcs:
    """Words by their numbers; those of a text say which text it is."""

    model: Knowing
    vocabulary: dict[str, int]
    label_names = ("no", "yes")

    def tokenise(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        spans, start = [], 0
        for word in text.split():
            spans.append((start, start + len(word)))
            start += len(word) + 1
        ids = [self.vocabulary[text[a:b]] for a, b in spans]
        return [1, *ids, 2], [(0, 0), *spans, (0, 0)]


def knowing() -> KnownArcs:
    vocabulary: dict[str, int] = {}
    arcs = {}
    for text in generated_relations(200):
        words = text.text.split()
        ids = tuple(vocabulary.setdefault(word, 10 + len(vocabulary)) for word in words)
        arcs[ids] = {c.query: c.gold[0] for c in text.cases if c.direction == "to head"}
    return KnownArcs(Knowing(arcs), vocabulary)


@pytest.fixture(scope="module")
def golden() -> Relations:
    return relations(knowing())


def test_the_head_that_knows_is_found_and_positions_are_not_enough(golden: Relations) -> None:
    table = golden.table.set_index("relation")
    assert {"det", "amod", "nsubj", "obj", "nmod", "case", "advmod"} <= set(table.index)
    assert (table["head"] == 1).all() and (table["direction"] == "to head").all()
    assert (table["accuracy"] == 1.0).all() and (table["high"] == 1.0).all()
    assert (table.loc[["det", "nsubj", "obj"], "position_high"] < 0.9).all()
    case = table.loc["det"]
    bounds = stats.binomtest(int(case["cases"]), int(case["cases"])).proportion_ci(0.95, "wilson")
    assert case["low"] == pytest.approx(bounds.low)


def test_halves_and_positions_are_counted_one_by_one(golden: Relations) -> None:
    rows = golden.rows.set_index(["relation", "direction", "layer", "head", "half"])
    for side, half in ((0, "choosing"), (1, "reporting")):
        cases = [
            case
            for text in generated_relations(200)
            if half_of(text.id) == side
            for case in text.cases
            if (case.relation, case.direction) == ("advmod", "to head")
        ]
        for offset in (1, 2):
            right = sum(case.query + offset in case.gold for case in cases)
            line = rows.loc[("advmod", "to head", -1, offset, half)]
            assert (line["cases"], line["correct"]) == (len(cases), right)
        nexts = rows.loc[("advmod", "to head", 0, 0, half)]  # the head that attends to the next
        assert nexts["correct"] == rows.loc[("advmod", "to head", -1, 1, half)]["correct"]


def test_rows_are_csv_and_too_few_cases_are_named(golden: Relations, tmp_path: Path) -> None:
    lines = golden.save(tmp_path / "heads.csv").read_text(encoding="utf8").splitlines()
    assert lines[0] == "relation,direction,layer,head,cases,correct,accuracy,half"
    assert len(lines) == len(golden.rows) + 1
    none = relations(knowing(), least=10_000)
    assert none.table.empty and any("too few cases" in note for note in none.notes)


def test_words_of_several_tokens_against_a_loop(tmp_path: Path) -> None:
    """Sums over the tokens that are attended, means over those that attend. The first word of a
    decoder sees no other: nothing is right there."""
    texts = [each for each in generated_relations(12) if each.cases]
    spans = {each.text: each.spans for each in texts}
    model = (tiny_hf("GPT2", vocab_size=200, double=True), word_pieces())
    expected: dict[tuple, int] = {}
    with open_texts(model, [each.text for each in texts], spans.__getitem__) as opened:
        for text, read in zip(texts, opened, strict=True):
            numbers = read.batch.texts["a"].words[0].tolist()
            assert len(set(numbers) - {-1}) == len(text.spans)
            with torch.no_grad():
                trace = read.model(read.batch)
            for layer, site in enumerate(read.model.sites):
                for head, weights in enumerate(trace.weights[site.name][0]):
                    for case in text.cases:
                        others = [n for n in range(len(text.spans)) if n != case.query]
                        hit = attended(weights, numbers, case.query, others) in case.gold
                        key = (case.relation, case.direction, layer, head, half_of(text.id))
                        expected[key] = expected.get(key, 0) + hit
    path = tmp_path / "same.conllu"
    path.write_text("".join(map(_conllu, texts)), encoding="utf8")
    rows = relations(model, path, least=1).rows
    found = rows[rows["layer"] >= 0].assign(side=rows["half"].eq("reporting").astype(int))
    keys = found[["relation", "direction", "layer", "head", "side"]].itertuples(index=False)
    assert dict(zip(map(tuple, keys), found["correct"], strict=True)) == expected


def test_antecedents_against_a_loop(tmp_path: Path) -> None:
    path, random = tmp_path / "some.jsonl", np.random.default_rng(0)
    lines = []
    for _ in range(12):
        words = random.choice(["film", "good", "she", "bad", "dog"], 9).tolist()
        places = random.permutation(9)[:6].tolist()
        clusters = [[[place, place] for place in places[:3]], [[p, p] for p in places[3:]]]
        lines.append(json.dumps({"words": words, "clusters": clusters}))
    path.write_text("\n".join(lines) + "\n", encoding="utf8")
    texts, model = load_relations(path), (tiny_hf("Bert", vocab_size=200), word_pieces())
    spans = {each.text: each.spans for each in texts}
    expected = np.zeros((2, 2, 2), dtype=int)
    with open_texts(model, [each.text for each in texts], spans.__getitem__) as opened:
        for text, read in zip(texts, opened, strict=True):
            numbers = read.batch.texts["a"].words[0].tolist()
            with torch.no_grad():
                trace = read.model(read.batch)
            for layer, site in enumerate(read.model.sites):
                for head, weights in enumerate(trace.weights[site.name][0]):
                    for case in text.cases:
                        word = attended(weights, numbers, case.query, case.choices)
                        expected[half_of(text.id), layer, head] += word in case.gold
    rows = relations(model, path, least=1).rows
    for side, half in enumerate(("choosing", "reporting")):
        mine = rows[(rows["half"] == half) & (rows["layer"] >= 0)]
        assert mine["correct"].tolist() == expected[side].flatten().tolist()
        near = rows[(rows["half"] == half) & (rows["layer"] == -1) & (rows["head"] == -1)]
        cases = [c for text in texts if half_of(text.id) == side for c in text.cases]
        assert near["correct"].tolist() == [sum(c.choices[0] in c.gold for c in cases)]


def _conllu(text: Any) -> str:
    up = {case.query: case for case in text.cases if case.direction == "to head"}
    lines = [f"# sent_id = {text.id}"]
    for word, (start, end) in enumerate(text.spans):
        case = up.get(word)
        head, label = (case.gold[0] + 1, case.relation) if case else (0, "root")
        if text.text[start:end] == ".":
            head, label = 1, "punct"
        columns = [str(word + 1), text.text[start:end], *"____", str(head), label, "_", "_"]
        lines.append("\t".join(columns))
    return "\n".join(lines) + "\n\n"


def test_models_that_write_or_attend_from_no_word_are_refused() -> None:
    with pytest.raises(HeedfulError, match="give a model that reads"):
        relations((tiny_hf("Bart", "language"), word_pieces()))
    model = knowing()
    model.model.sites = (replace(SITE, queries=""),)
    with pytest.raises(HeedfulError, match="least is 0"):
        relations(model, least=0)


def test_the_command_prints_and_its_json_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, tokenizer = tiny_hf("Bert", vocab_size=200), word_pieces()
    module.save_pretrained(tmp_path / "bert")
    tokenizer.save_pretrained(tmp_path / "bert")
    known = tmp_path / "some.conllu"
    known.write_text("".join(map(_conllu, generated_relations(12))), encoding="utf8")
    arguments = ["relations", str(tmp_path / "bert"), str(known), "--least", "2"]
    arguments += ["--csv", str(tmp_path / "heads.csv")]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    check_verb(document)
    assert document["texts"] == 12 and document["data"] == "some.conllu"
    assert main(arguments) == 0
    assert "nsubj" in capsys.readouterr().out and (tmp_path / "heads.csv").exists()
    assert heedful.relations is relations
