"""The benchmark: is what is true of its models found, and are scores what they say?"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import typer
from scipy import stats
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from heedful.auditing import AuditSpec, audit_subject
from heedful.benchmark import (
    FIRST_HELD_OUT,
    KINDS,
    MAJORITY,
    NOISES,
    ONE_HEAD,
    ONLY_HELD_OUT,
    SINGLE,
    Case,
    Corpus,
    Effort,
    Mixed,
    Task,
    Truth,
    aligned,
    area_under_curve,
    broken,
    cases,
    constructed,
    joined,
    markdown,
    measured,
    moved,
    names,
    orientation,
    precision_and_rank,
    read,
    response,
    run,
    split_of,
    tables,
    two_cues,
    verify,
    version,
)
from heedful.benchmark import trained_texts as grammar
from heedful.benchmark.measure import COLUMNS
from heedful.benchmark.trained_truth import _batch as batch_of
from heedful.cli import benchmark
from heedful.errors import HeedfulError
from heedful.interventions import uniform
from heedful.models import Family, build, probabilities
from heedful.specs import ModelSpec
from heedful.types import Keep

page = import_module("paper_tables.which_metric")


TASKS = [MAJORITY, SINGLE, two_cues(0.4), grammar.REDUNDANT, grammar.NEGATED, grammar.XOR]


class TestTexts:
    @pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
    def test_opposites_turn_what_is_right(self, task: Task) -> None:
        corpus = Corpus(task, 3)
        some = corpus.texts("test", 200)
        assert {text.right for text in some} == {0, 1}
        for number, text in enumerate(some):
            other = task.opposed(np.random.RandomState(number), corpus.lexicon, text.words)
            assert int(task.score(other) > 0) != text.right
            assert [word.family for word in other] == [word.family for word in text.words]

    def test_the_same_seed_is_the_same_text_and_another_is_not(self) -> None:
        first, again, other = (Corpus(MAJORITY, seed).texts("a", 5) for seed in (1, 1, 2))
        assert first == again != other

    def test_training_and_population_share_no_text(self) -> None:
        corpus = Corpus(MAJORITY, 0)
        parts = [corpus.texts(part, 50) for part in ("train", "dev", "verify", "population")]
        assert len({text.words for part in parts for text in part}) == 200

    def test_lengths(self) -> None:
        lengths = [len(text.words) for text in Corpus(grammar.LONG, 0).texts("a", 100)]
        assert min(lengths) >= 3 and 300 < max(lengths) <= 503

    def test_drawn_labels_follow_the_score(self) -> None:
        some = Corpus(MAJORITY, 0).texts("a", 2000)
        clear = [text.label == text.right for text in some if abs(MAJORITY.score(text.words)) == 3]
        close = [text.label == text.right for text in some if abs(MAJORITY.score(text.words)) == 1]
        assert np.mean(clear) == pytest.approx(1 / (1 + np.exp(-3.6)), abs=0.04)
        assert np.mean(close) == pytest.approx(1 / (1 + np.exp(-1.2)), abs=0.04)


def fresh(seed: int) -> Family:
    corpus = Corpus(MAJORITY, 0)
    return build(ModelSpec("average", "additive", hidden=8), corpus.vectors, 2, seed).eval()


class TestMixed:
    batch = Corpus(MAJORITY, 0).split("dev").batch(range(6))

    def test_a_leak_of_nothing_and_of_all(self) -> None:
        one, other = fresh(1), fresh(2)
        for leak, path in ((0.0, one), (1.0, other)):
            mixed = Mixed(one, other, leak, (2.0, 2.0))
            assert torch.allclose(mixed(self.batch).logits, 2 * path(self.batch).logits)

    def test_what_goes_around_is_not_moved(self) -> None:
        mixed = Mixed(fresh(1), fresh(2), 0.25, (1.0, 1.0))
        edits = {"attention": uniform()}
        moved = mixed(self.batch, edits).logits - mixed(self.batch).logits
        alone = mixed.attended(self.batch, edits).logits - mixed.attended(self.batch).logits
        assert torch.allclose(moved, 0.75 * alone, atol=1e-6)
        trace = mixed(self.batch, keep=Keep(states=True))
        resumed = mixed.resume(self.batch, trace, edits).logits
        assert torch.allclose(resumed, mixed(self.batch, edits).logits, atol=1e-6)

    def test_gradients_reach_both_paths(self) -> None:
        mixed = Mixed(fresh(1), fresh(2), 0.5, (1.0, 1.0))
        trace = mixed(self.batch, keep=Keep(embeddings=True))
        (slopes,) = torch.autograd.grad(trace.logits.sum(), trace.embeddings["a"])
        assert all(half.abs().sum() > 0 for half in slopes.chunk(2, -1))
        again = mixed(self.batch, embeddings=mixed.embed(self.batch)).logits
        assert torch.allclose(again, trace.logits)


class TestTruth:
    @pytest.mark.parametrize(
        ("kind", "answer"),
        [("average", "yes"), ("idle", "no")],
    )
    def test_of_a_trained_model(self, kind: str, answer: str) -> None:
        corpus = Corpus(KINDS[kind].rule, 0)
        with KINDS[kind].opened(corpus) as (model, _):
            found = verify(model, corpus, 80)
        assert found.answer == answer, found

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", [0, 1])
    @pytest.mark.parametrize("kind", KINDS)
    def test_of_every_kind(self, kind: str, seed: int) -> None:
        corpus = Corpus(KINDS[kind].rule, seed)
        with KINDS[kind].opened(corpus) as (model, _):
            found = verify(model, corpus, 80)
        never = {"no"}
        expected = {
            "coincidence": never,
            "misleading": never,
            "deceptive": never,
            "leak-1.0": never,
            "leak-0.0": {"yes"},
            "embedding": {"yes"},
            "bilstm": {"yes", "partly"},
            "transformer": {"yes", "partly"},
            "sink": {"yes"},
            "one-head": never,
        }
        assert found.answer in expected.get(kind, {"yes", "no", "partly"}), found

    def test_the_head_that_is_read_is_found(self) -> None:
        """Their mean marks other words than those that decide; `sites` names the head."""
        (case,) = cases(("trained",), held_out=True, kinds=["one-head"], texts=60)
        with case.open() as opened:
            spec = AuditSpec(
                ("attention",),
                operators=("delete", "mask"),
                only=("importance", "heads", "head_ablation"),
            )
            found = audit_subject(opened.subject, spec).verdict
        assert opened.truth["truth"] == "no"
        assert found["importance"].decision == "NOT SUPPORTED"
        assert found.sites.ranked[0].name == f"attention:layer=0,head={ONE_HEAD}"
        assert found.sites.explains and found.sites.ranked[0].low > 0.5
        assert found.heads.ranked[0].name == f"attention:layer=0,head={ONE_HEAD}"
        read, *others = found.heads.ranked
        assert read.low > 0.1 and max(other.high for other in others) < 1e-6
        assert read.direct == pytest.approx(read.effect)  # nothing attends after the only layer
        assert read.captured > max(other.captured for other in others)

    def test_use_is_what_the_weights_of_another_text_change(self) -> None:
        """One text after the other, by hand; the donor is the text before, by length."""
        corpus, model = Corpus(MAJORITY, 0), fresh(1)
        with torch.no_grad():
            for parameter in model.attentions["attention"].parameters():
                parameter.mul_(8.0)
        some = sorted(corpus.texts("verify", 12), key=lambda text: len(text.words))
        changes = []
        for place, text in enumerate(some):
            own, other = (
                batch_of(corpus, [each.words]) for each in (text, some[(place - 1) % len(some)])
            )
            with torch.no_grad():
                donor = model(other).weights["attention"][0, 0, 0]
                weights = torch.zeros(len(own.texts["a"].tokens[0]))
                weights[: len(donor)] = donor[: len(weights)]
                weights = weights * own.texts["a"].mask[0]
                edit = {"attention": lambda call, w=weights: (w / w.sum()).expand_as(call.weights)}
                pair = [probabilities(model(own, e).logits) for e in (None, edit)]
            changes.append((pair[0] - pair[1]).abs().sum().item() / 2)
        assert verify(model, corpus, 12).used == pytest.approx(np.mean(changes), abs=1e-6)

    def test_an_untrained_model_is_not_verified(self) -> None:
        corpus = Corpus(MAJORITY, 0)
        model = build(ModelSpec("average", "additive", hidden=8), corpus.vectors, 2, 0).eval()
        assert verify(model, corpus, 80).answer == "unverified"

    @pytest.mark.parametrize(
        ("numbers", "answer"),
        [
            ((1.0, 1.0, 0.5, 0.9), "yes"),
            ((1.0, 1.0, 0.01, 0.9), "no"),
            ((1.0, 1.0, 0.5, 0.3), "no"),
            ((1.0, 1.0, 0.05, 0.9), "partly"),
            ((1.0, 1.0, 0.5, 0.6), "partly"),
            ((0.8, 1.0, 0.5, 0.9), "unverified"),
            ((1.0, 0.8, 0.5, 0.9), "unverified"),
        ],
    )
    def test_answers(self, numbers: tuple[float, ...], answer: str) -> None:
        assert Truth(*numbers).answer == answer


class TestMaps:
    def test_noise_moves_more_and_more(self) -> None:
        effects = np.arange(20.0)
        changed = [
            set(np.flatnonzero(np.abs(moved(effects, share, "x") - effects) > 0.5))
            for share in (0.0, *NOISES, 1.0)
        ]
        assert [len(places) for places in changed] == [0, 5, 10, 15, 20]
        assert all(one <= other for one, other in pairwise(changed))
        assert sorted(np.round(moved(effects, 1.0, "x"))) == list(effects)

    def test_maps_are_laid_out_by_id(self) -> None:
        corpus = Corpus(MAJORITY, 0)
        batch = corpus.split("dev").batch([3, 1])
        effects = {
            name: np.arange(1.0, 1 + int(mask.sum()))
            for name, mask in zip(batch.ids, batch.texts["a"].mask, strict=True)
        }
        first = constructed(effects, 0)[0]
        scores = first.piece.make(None, batch, None)
        for row, name in enumerate(batch.ids):
            found = scores[row][batch.texts["a"].mask[row]].numpy()
            np.testing.assert_allclose(found, effects[name], atol=1e-5)

    def test_precision_and_rank_by_hand(self) -> None:
        effects = np.array([0.5, 0.0, 0.4, 0.01])
        assert precision_and_rank([0.9, 0.0, -0.8, 0.1], effects) == (1.0, 1.5)
        assert precision_and_rank([0.0, 0.9, 0.8, 0.1], effects) == (0.5, 3.0)
        assert precision_and_rank([1, 1, 1, 1], effects) == (0.5, 2.5)
        assert precision_and_rank([1, 2], np.zeros(2)) is None


class TestSeparation:
    def test_area_is_sklearns(self) -> None:
        draw = np.random.default_rng(0)
        high, low = draw.integers(0, 6, 40) / 4, draw.integers(0, 4, 30) / 4
        labels = [1] * 40 + [0] * 30
        expected = roc_auc_score(labels, np.concatenate([high, low]))
        assert area_under_curve(high, low) == pytest.approx(expected)
        assert np.isnan(area_under_curve(high, low[:0]))

    def test_response_is_kendalls(self) -> None:
        dose, values = np.array([0, 0.2, 0.4, 1.0]), np.array([0.9, 0.7, 0.8, 0.1])
        assert response(dose, values) == pytest.approx(stats.kendalltau(-dose, values).statistic)
        assert response(dose, -dose) == pytest.approx(1.0)
        assert np.isnan(response(dose, np.ones(4)))

    def test_orientation(self) -> None:
        assert [orientation(name) for name in ("sufficiency", "tau:occlusion", "tie_rate")] == [
            -1,
            1,
            0,
        ]


class TestCases:
    def test_development_and_held_out_share_nothing(self) -> None:
        one, other = ({case.name for case in cases(held_out=held)} for held in (False, True))
        assert one and other and not one & other
        assert not any(case.kind in ONLY_HELD_OUT for case in cases())
        assert all(split_of("average", case.seed) == case.split for case in cases())

    def test_twenty_controls(self) -> None:
        for held_out in (False, True):
            found = [case for case in cases(held_out=held_out) if case.kind == "average"]
            assert len(found) == 20 and sum(case.texts == 5000 for case in found) == 1

    def test_seeds_of_the_other_part_are_refused(self) -> None:
        with pytest.raises(HeedfulError, match="held-out"):
            cases(seeds=[FIRST_HELD_OUT])

    @pytest.mark.parametrize("wrong", [{"parts": ["x"]}, {"kinds": ["avarage"]}, {"texts": 0}])
    def test_bad_wishes(self, wrong: dict) -> None:
        with pytest.raises(HeedfulError):
            cases(**wrong)

    def test_names_are_those_of_the_cases(self) -> None:
        assert {case.kind for case in cases()} <= set(names())


SMALL = Effort(2, 12)


def small() -> list[Case]:
    return cases(["trained"], seeds=[0], texts=60, kinds=["average"])


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    (case,) = small()
    return measured(case, SMALL)


class TestRun:
    def test_rows_of_one_model(self, rows: pd.DataFrame) -> None:
        assert tuple(rows.columns) == COLUMNS and set(rows["truth"]) == {"yes"}
        said = rows[(rows["score"] == "verdict") & (rows["n"] == 50)]
        assert said["value"].sum() == 2 and set(said["name"]) == {"yes", "no", "open"}
        areas = rows[rows["score"] == "separation"].set_index("name")["value"]
        assert areas["importance_captured delete"] > 0.9
        precision = rows[(rows["score"] == "explanation") & (rows["detail"] == "precision@k")]
        assert precision.set_index("name")["value"]["attention"] > 0.9

    def test_a_second_run_resumes(self, rows: pd.DataFrame, tmp_path: Path, monkeypatch) -> None:
        calls: list[str] = []

        def counted(case: Case, effort: Effort) -> pd.DataFrame:
            calls.append(case.name)
            done = rows[rows["score"] != "seconds"].assign(kind=case.kind)
            last = rows[rows["score"] == "seconds"].assign(kind=case.kind, detail=version(effort))
            return pd.concat([done, last])

        monkeypatch.setattr(import_module("heedful.benchmark.measure"), "measured", counted)
        file, effort = tmp_path / "rows.csv", Effort(2, 0)
        first = run(small(), file, effort)
        again = run(small(), file, effort)
        assert calls == ["trained-average-0"]
        pd.testing.assert_frame_equal(first, again, check_dtype=False)
        idle = [replace(small()[0], kind="idle")]
        run(idle, file, effort)
        assert calls[1:] == ["trained-idle-0"]
        assert set(read(file)["kind"]) == {"average", "idle"}  # rows of other models stay
        run(small(), file, Effort(3, 0))
        assert len(calls) == 3  # what was measured otherwise is measured again

    def test_the_page_is_made_of_rows(self, rows: pd.DataFrame) -> None:
        text = page.page(rows, ["measures.svg"])
        assert "importance_captured delete" in text and KINDS["average"].claim in text
        assert "figures/which-metric/measures.svg" in text
        assert "<svg" in dict(page._pictures(rows))["measures.svg"]

    def test_the_committed_page_is_made_of_the_committed_rows(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = Path(__file__).parent.parent
        shutil.copytree(root / "reproduction", tmp_path / "reproduction")
        (tmp_path / "docs").mkdir()
        monkeypatch.chdir(tmp_path)
        for path in page.write_page():
            assert path.read_text(encoding="utf8") == (root / path).read_text(encoding="utf8")


def said(kind: str, truth: str, population: str, n: int, **counts: int) -> pd.DataFrame:
    about = {"split": "development", "part": "trained", "kind": kind, "seed": 0, "truth": truth}
    lines = [{"name": population, "detail": "population", "n": 5000, "value": 1, "count": 1}]
    total = sum(counts.values())
    for name in ("yes", "no", "open"):
        line = {"detail": "subsample", "n": n, "value": counts.get(name, 0), "count": total}
        lines.append({"name": name, **line})
    found = pd.DataFrame([{**about, "dose": None, "score": "verdict", **line} for line in lines])
    return found[list(COLUMNS)]


class TestTables:
    def test_as_text(self) -> None:
        table = pd.DataFrame({"kind": ["average", "idle"], "n": [50, 5], "power": [0.756, np.nan]})
        assert aligned(table) == ["kind     n   power", "average  50  0.76", "idle     5   ?"]
        assert markdown(table).splitlines()[1:] == [
            "| --- | --- | --- |",
            "| average | 50 | 0.76 |",
            "| idle | 5 | ? |",
        ]

    def test_power_error_and_abstention_are_three_numbers(self) -> None:
        rows = said("average", "yes", "yes", 100, yes=30, no=2, open=8)
        (row,) = tables.verdicts(rows).to_dict("records")
        assert (row["power"], row["error"], row["swapped"], row["abstention"]) == (
            0.75,
            0.05,
            0.05,
            0.2,
        )
        assert broken(rows) == []
        worse = said("average", "yes", "yes", 100, yes=30, no=3, open=7)
        assert broken(worse)[0].startswith("average at n = 100: 8% say the opposite")

    def test_error_is_against_the_population_and_swaps_against_the_truth(self) -> None:
        (row,) = tables.verdicts(said("bilstm", "partly", "no", 50, yes=4, no=6)).to_dict("records")
        assert (row["error"], row["swapped"]) == (0.4, 0.0) and np.isnan(row["power"])
        (row,) = tables.verdicts(said("idle", "no", "open", 50, yes=1, open=9)).to_dict("records")
        assert (row["error"], row["swapped"], row["power"]) == (0.0, 0.1, 0.0)

    def test_unverified_models_are_counted_and_nothing_else(self) -> None:
        rows = joined([said("average", "unverified", "yes", 200, yes=5)])
        assert tables.verdicts(rows).empty and tables.controls(rows).empty
        assert tables.counted(rows).to_dict("records")[0]["truth"] == "unverified"

    def test_controls(self) -> None:
        one = said("average", "yes", "yes", 200, yes=40)
        two = said("average", "yes", "open", 200, yes=0, open=1).assign(seed=1)
        (row,) = tables.controls(pd.concat([one, two])).to_dict("records")
        assert (row["models"], row["supported"], row["refuted"]) == (2, 0.5, 0.0)

    def test_leaks_noise_and_attention(self) -> None:
        about = {"split": "development", "part": "trained", "seed": 0, "n": 0, "count": 9}
        lines = []
        for step, dose in enumerate((0.0, 0.4, 1.0)):
            truth = ("yes", "partly", "no")[step]
            base = {**about, "kind": f"leak-{dose}", "truth": truth, "dose": dose, "name": "m"}
            lines.append({**base, "score": "metric", "detail": "attention", "value": 1 - dose})
            lines.append({**base, "score": "separation", "detail": "", "value": 0.5 + dose / 4})
            for place, name in enumerate(("truth", "truth_noise=0.5", "truth_shuffled")):
                lines.append({**base, "score": "metric", "detail": name, "value": place})
        (row,) = tables.metrics(pd.DataFrame(lines)[list(COLUMNS)]).to_dict("records")
        assert (row["leak"], row["noise"], row["attention"]) == (1.0, -1.0, 1.0)
        assert (row["models"], row["lowest"]) == (3, 0.5)


class TestCommand:
    app = typer.Typer()
    app.command()(benchmark)

    def test_a_dry_run_says_what_it_costs(self) -> None:
        done = CliRunner().invoke(self.app, ["--dry-run", "--kinds", "average", "--seeds", "2"])
        assert done.exit_code == 0 and "2 models, 10,000 texts: about" in done.output
        assert "trained-average-1" in done.output

    def test_json_and_rows(self, tmp_path: Path, monkeypatch) -> None:
        rows = said("average", "yes", "yes", 100, yes=4)
        monkeypatch.setattr(
            import_module("heedful.benchmark.measure"), "measured", lambda case, effort: rows
        )
        args = ["--kinds", "average", "--seeds", "1", "--json", "-o", str(tmp_path / "rows.csv")]
        done = CliRunner().invoke(self.app, args)
        assert done.exit_code == 0, done.output
        document = json.loads(done.stdout)
        assert document["verb"] == "benchmark" and document["verdicts"][0]["power"] == 1.0
        assert len(read(tmp_path / "rows.csv")) == len(rows)

    def test_a_wrong_verdict_is_exit_code_1(self, monkeypatch) -> None:
        rows = said("average", "yes", "yes", 100, no=4)
        monkeypatch.setattr(
            import_module("heedful.benchmark.measure"), "measured", lambda case, effort: rows
        )
        done = CliRunner().invoke(self.app, ["--kinds", "average", "--seeds", "1"])
        assert done.exit_code == 1
