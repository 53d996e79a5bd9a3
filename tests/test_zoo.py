"""The planted zoo: is the truth of every exhibit what it claims, and are findings counted right?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import typer
from typer.testing import CliRunner

from heedful.auditing.audit import audit_subject
from heedful.cli.zoo import zoo
from heedful.edits.permute import permute
from heedful.edits.uniform import uniform
from heedful.errors import HeedfulError
from heedful.models.output import probabilities
from heedful.removal.removed import removed
from heedful.saliency.attention import text_site
from heedful.saliency.explain import explain
from heedful.saliency.prior import fit_prior
from heedful.subjects import Subject
from heedful.types import Batch
from heedful.verdict.decide import Decision
from heedful.verdict.settings import Settings
from heedful.verdict.table import tabulate_rows
from heedful.words import word_mask
from heedful.zoo.exhibit import Exhibit
from heedful.zoo.gallery import FAMILIES, KINDS, gallery
from heedful.zoo.lexicon import Role
from heedful.zoo.plan import Kind, plan
from heedful.zoo.result import ZooResult
from heedful.zoo.run import SPEC, run_exhibits
from heedful.zoo.score import orders, sides
from heedful.zoo.show import to_markdown, to_text

LIGHT = replace(SPEC, explanations=("attention", "integrated_gradients", "occlusion"))
USED = ("decision", "misleading", "mixture")
UNUSED = ("ignored", "coincidence")


def some(kind: str, family: str, seed: int = 0) -> Exhibit:
    return gallery([kind], [family], 1, seed)[0]


def whole(subject: Subject) -> Batch:
    return subject.encode(range(len(subject)))


def roles(exhibit: Exhibit, *wanted: Role) -> torch.Tensor:
    """Which words play one of these parts, `[b, w]`."""
    made = exhibit.plan()
    width = max(len(heap.entries) for heap in made.heaps)
    marks = torch.zeros(len(made.heaps), width, dtype=torch.bool)
    for row, heap in enumerate(made.heaps):
        for column, entry in enumerate(heap.entries):
            marks[row, column] = made.entries[entry].role in wanted
    return marks


def predictions(subject: Subject, gone: torch.Tensor | None = None, way: str = "delete") -> tuple:
    """The class of each text without some words, and its probability."""
    batch = whole(subject)
    gone = torch.zeros_like(word_mask(batch.texts["a"])) if gone is None else gone
    p = probabilities(removed(subject.model, batch, gone, way))
    return p.argmax(-1), p


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", KINDS)
class TestTruth:
    def test_weights_and_logits_are_those_of_the_plan(self, kind: str, family: str) -> None:
        exhibit = some(kind, family)
        made = exhibit.plan()
        with exhibit.opened() as subject, torch.no_grad():
            batch = whole(subject)
            logits = subject.model(batch).logits
            found = explain("attention", subject.model, batch, batch.labels)
        logit = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
        for row, heap in enumerate(made.heaps):
            weights = found[row, : len(heap.entries)].numpy()
            np.testing.assert_allclose(weights, made.weights(heap), atol=0.03)
        if family == "one-sequence" or kind in USED:
            np.testing.assert_allclose(logit, [made.logit(h) for h in made.heaps], atol=0.05)

    @pytest.mark.parametrize("way", ["delete", "mask"])
    def test_the_decisive_word_decides(self, kind: str, family: str, way: str) -> None:
        exhibit = some(kind, family)
        with exhibit.opened() as subject:
            label = whole(subject).labels
            before, _ = predictions(subject)
            without, _ = predictions(subject, roles(exhibit, Role.DECISIVE), way)
        assert torch.equal(before, label)
        assert not (without == label).any()

    def test_words_that_say_nothing_change_no_decision(self, kind: str, family: str) -> None:
        exhibit = some(kind, family)
        with exhibit.opened() as subject:
            label = whole(subject).labels
            _, p = predictions(subject)
            without, q = predictions(subject, roles(exhibit, Role.DECOY))
        lost = (p - q).gather(1, label[:, None])
        assert torch.equal(without, label)
        assert lost.max() < 0.05

    def test_the_rationale_is_the_decisive_word(self, kind: str, family: str) -> None:
        exhibit = some(kind, family)
        marks = roles(exhibit, Role.DECISIVE)
        with exhibit.opened() as subject:
            for row, each in enumerate(subject.documents):
                assert each.rationale == tuple(marks[row, : each.length].tolist())
                assert len(each.surface) == each.length == sum(subject.rows[row].mask)


@pytest.mark.parametrize("family", FAMILIES)
class TestAttention:
    @pytest.mark.parametrize(
        ("kind", "role"),
        [
            ("decision", Role.DECISIVE),
            ("coincidence", Role.DECISIVE),
            ("misleading", Role.DECOY),
        ],
    )
    def test_where_it_is_heaviest(self, family: str, kind: str, role: Role) -> None:
        exhibit = some(kind, family)
        with exhibit.opened() as subject:
            batch = whole(subject)
            found = explain("attention", subject.model, batch, batch.labels)
        assert roles(exhibit, role).gather(1, found.argmax(-1)[:, None]).all()

    def test_misleading_hides_what_decides(self, family: str) -> None:
        """Only the word against is seen less."""
        exhibit = some("misleading", family)
        with exhibit.opened() as subject:
            batch = whole(subject)
            found = explain("attention", subject.model, batch, batch.labels)
        hidden = roles(exhibit, Role.COUNTER) | ~word_mask(batch.texts["a"])
        least = found.masked_fill(hidden, torch.inf).argmin(-1)
        assert roles(exhibit, Role.DECISIVE).gather(1, least[:, None]).all()

    @pytest.mark.parametrize("kind", UNUSED)
    def test_unused_attention_changes_nothing(self, family: str, kind: str) -> None:
        with some(kind, family).opened() as subject, torch.no_grad():
            batch, site = whole(subject), text_site(subject.model).name
            before = subject.model(batch).logits
            for edit in (uniform(), permute(3)):
                after = subject.model(batch, {site: edit}).logits
                assert (after - before).abs().max() < 1e-4

    @pytest.mark.parametrize("kind", USED)
    def test_used_attention_is_needed(self, family: str, kind: str) -> None:
        with some(kind, family).opened() as subject, torch.no_grad():
            batch, site = whole(subject), text_site(subject.model).name
            after = probabilities(subject.model(batch, {site: uniform()}).logits).argmax(-1)
        assert (after == batch.labels).float().mean() < 0.2

    def test_a_mixture_is_the_decision_in_its_share_of_texts(self, family: str) -> None:
        for exhibit in gallery(["mixture"], [family], 5):
            with exhibit.opened() as subject:
                batch = whole(subject)
                found = explain("attention", subject.model, batch, batch.labels)
            top = roles(exhibit, Role.DECISIVE).gather(1, found.argmax(-1)[:, None])
            assert top.double().mean() == pytest.approx(exhibit.strength, abs=0.01)


class TestTexts:
    def test_rarity_says_nothing(self) -> None:
        """The decisive word is among the rarest of its text about as often as not."""
        places = []
        for seed in range(10):
            exhibit = some("decision", "one-sequence", seed)
            with exhibit.opened() as subject:
                batch = whole(subject)
                prior = fit_prior([batch])(subject.model, batch, batch.labels)
            mask = word_mask(batch.texts["a"])
            own = prior.masked_fill(~roles(exhibit, Role.DECISIVE), 0.0).sum(-1, keepdim=True)
            more = ((prior > own) & mask).sum(-1) + 0.5 * (((prior == own) & mask).sum(-1) - 1)
            places.append(float((more / (mask.sum(-1) - 1)).mean()))
        assert np.mean(places) == pytest.approx(0.5, abs=0.08)

    def test_every_word_type_has_one_part(self) -> None:
        words = [each.word for each in plan(Kind.DECISION, 1.0, 3).entries]
        assert len(set(words)) == len(words)

    def test_the_same_seed_is_the_same_model(self) -> None:
        def key(seed: int) -> object:
            with some("decision", "one-sequence", seed).opened() as subject:
                return subject.key["weights"]

        assert key(1) == key(1) != key(2)


class TestGallery:
    def test_so_many_of_each(self) -> None:
        exhibits = gallery(per_kind=7)
        assert len(exhibits) == 7 * len(KINDS) * len(FAMILIES)
        assert len({each.name for each in exhibits}) == len(exhibits)

    def test_a_short_ladder_has_both_ends(self) -> None:
        strengths = [each.strength for each in gallery(["mixture"], ["transformer"], 7)]
        assert strengths == [0, 0.25, 0.5, 0.75, 1, 0, 1]

    def test_what_is_forbidden(self) -> None:
        assert [each.truth for each in gallery(["mixture"], ["transformer"], 3)] == [
            "no",
            "partly",
            "yes",
        ]
        for each in gallery(per_kind=5):
            assert not each.expected & each.forbidden

    @pytest.mark.parametrize(
        "wrong", [{"kinds": ["lion"]}, {"families": ["cats"]}, {"per_kind": 0}]
    )
    def test_bad_wishes_are_refused(self, wrong: dict) -> None:
        with pytest.raises(HeedfulError):
            gallery(**wrong)


class TestVerdicts:
    def test_right_on_one_of_each(self) -> None:
        heard: list[tuple[str, int, int]] = []
        exhibits = gallery(["decision", "ignored", "misleading"], ["one-sequence"], 1, texts=64)
        result = run_exhibits(exhibits, LIGHT, progress=lambda *what: heard.append(what))
        assert list(result.verdicts["decision"]) == ["SUPPORTED", "NOT SUPPORTED", "NOT SUPPORTED"]
        assert (result.right, result.swaps, result.broken) == (1.0, 0, ())
        assert heard[-1] == ("zoo", 3, 3)
        by_metric = result.power.set_index(["explanation", "measure", "operator"])
        assert by_metric.loc[("occlusion", "comprehensiveness", "mask"), "power"] == 1
        assert set(result.alone["falsely refuted"]) == {0.0}

    @pytest.mark.parametrize("kind", ["decision", "misleading"])
    def test_right_on_transformers(self, kind: str) -> None:
        (exhibit,) = gallery([kind], ["transformer"], 1, 1, texts=64)
        with exhibit.opened() as subject:
            assert audit_subject(subject, LIGHT).verdict.decision in exhibit.expected

    @pytest.mark.slow
    def test_a_coincidence_is_seen_through_with_texts_enough(self) -> None:
        (exhibit,) = gallery(["coincidence"], ["one-sequence"], 1, texts=256)
        spec = replace(LIGHT, permutations=4, ceiling=30)
        with exhibit.opened() as subject:
            assert audit_subject(subject, spec).verdict.decision is Decision.NOT_NEEDED


def verdict_row(**facts: object) -> dict[str, object]:
    return {
        "exhibit": "one",
        "family": "transformer",
        "kind": "decision",
        "strength": 1.0,
        "ladder": 0,
        "truth": "yes",
        "decision": "SUPPORTED",
        "right": True,
        "swapped": False,
        "ranking": 0.9,
        "agreement": 0.8,
        "best": "attention",
        "seconds": 1.0,
        **facts,
    }


def result_of(*rows: dict[str, object]) -> ZooResult:
    about = {"exhibit": "one", "kind": "misleading", "truth": "no", "measure": "auprc"}
    found = [{**about, "explanation": "lrp", "operator": "", "found": f} for f in (1, 1, 0, -1)]
    said = [{**about, "operator": "", "said": s} for s in (1, -1, 0, -1)]
    return ZooResult(*(pd.DataFrame(each) for each in (list(rows), found, said)))


def test_where_no_metric_scored_attention_the_other_tables_are_there() -> None:
    verdicts = pd.DataFrame([verdict_row()])
    result = ZooResult(verdicts, pd.DataFrame(), pd.DataFrame())
    assert result.alone.empty and result.power.empty and len(result.kinds) == 1
    assert "Verdicts by kind" in to_text(result)


class TestResult:
    def test_all_is_well(self) -> None:
        assert result_of(verdict_row(), verdict_row()).broken == ()

    def test_too_few_right(self) -> None:
        rows = [verdict_row(right=i > 1) for i in range(20)]
        assert result_of(*rows).broken == ("90.0% of the verdicts are right, not 95%.",)
        assert result_of(*rows[1:]).broken == ("94.7% of the verdicts are right, not 95%.",)
        assert result_of(*rows[1:], verdict_row()).broken == ()

    def test_a_swap_is_never_forgiven(self) -> None:
        rows = [verdict_row() for _ in range(99)]
        bad = verdict_row(exhibit="x", decision="NOT SUPPORTED", right=False, swapped=True)
        result = result_of(*rows, bad)
        assert result.right == 0.99
        assert result.broken == (
            "transformer decision: 1 found NOT SUPPORTED, the opposite of the truth.",
        )

    def test_scores_must_rise(self) -> None:
        def rungs(*values: float) -> list[dict[str, object]]:
            return [
                verdict_row(kind="mixture", truth="partly", strength=i / 4, ranking=value)
                for i, value in enumerate(values)
            ]

        assert result_of(*rungs(0.1, 0.2, 0.4, 0.5, 0.6)).broken == ()
        falls = result_of(*rungs(0.1, 0.4, 0.3))
        assert falls.broken == ("ranking does not rise along the transformer ladder 0 (tau 0.33).",)
        assert falls.ladders["deepest fall"].iloc[0] == pytest.approx(0.1)

    def test_shares(self) -> None:
        result = result_of(verdict_row())
        power = result.power.iloc[0]
        assert (power["power"], power["reversed"], power["exhibits"]) == (0.5, 0.25, 4)
        assert result.alone.iloc[0]["falsely supported"] == 0.25
        assert result.alone.iloc[0]["undecided"] == 0.25

    def test_for_people(self) -> None:
        result = result_of(verdict_row(), verdict_row(right=False, exhibit="lame"))
        assert "| transformer | decision | 2 | 0.50 |" in to_markdown(result)
        assert "- lame: SUPPORTED" in to_markdown(result)
        assert to_text(result).startswith("2 planted models: 50.0% right")


class TestScore:
    def test_orders_and_sides_by_hand(self) -> None:
        """20 texts: an explanation at 0.9 or 1.0, attention at 0.2, floor 0 and ceiling 1."""
        values = {"attention": 0.2, "lrp": 0.9, "random": 0.0, "search": 1.0, "gradient": 0.2}
        rows = [
            {
                "model": "base", "example": f"e{i}", "cluster": f"e{i}", "label": 1,
                "predicted": 1, "confidence": 0.9, "length": 5, "explanation": name,
                "operator": "delete", "measure": measure,
                "value": (value if measure == "comprehensiveness" else -value) + 0.01 * (i % 2),
            }
            for i in range(20)
            for name, value in values.items()
            for measure in ("comprehensiveness", "sufficiency")
        ]  # fmt: skip
        table = tabulate_rows(pd.DataFrame(rows))
        found = {(r["explanation"], r["measure"]): r["found"] for r in orders(table, Settings())}
        assert found == {
            ("lrp", "comprehensiveness"): 1,
            ("lrp", "sufficiency"): 1,
            ("gradient", "comprehensiveness"): 0,
            ("gradient", "sufficiency"): 0,
        }
        assert [row["said"] for row in sides(table, Settings())] == [-1, -1]
        chosen = Settings(effects={"ranking": 0.1})
        assert [row["said"] for row in sides(table, chosen)] == [1, 1]


class TestCommand:
    def run(self, *arguments: str) -> object:
        app = typer.Typer()
        app.command()(zoo)
        return CliRunner().invoke(app, arguments)

    @pytest.fixture
    def found(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
        """Instead of an hour's work: what was asked for, and a result with a swap for seed 1."""
        calls: list[tuple] = []

        def fake(*arguments: object, seed: int, **more: object) -> ZooResult:
            calls.append(arguments)
            return result_of(verdict_row(swapped=seed == 1, right=seed != 1))

        monkeypatch.setattr("heedful.zoo.run.run_zoo", fake)
        return calls

    def test_exit_codes(self, found: list[tuple]) -> None:
        assert self.run("--per-kind", "3", "--kinds", "decision").exit_code == 0
        assert found == [(["decision"], list(FAMILIES), 3)]
        assert self.run("--seed", "1").exit_code == 1

    def test_json_and_markdown(self, found: list[tuple], tmp_path: Path) -> None:
        done = self.run("--json", "-o", str(tmp_path / "zoo.md"))
        document = json.loads(done.stdout)
        assert (document["verb"], document["right"], document["broken"]) == ("zoo", 1.0, [])
        assert (tmp_path / "zoo.md").read_text().startswith("# The planted zoo")

    def test_bad_wishes(self) -> None:
        for wrong in (("--families", "cats"), ("--per-kind", "0"), ("-o", "/")):
            assert isinstance(self.run(*wrong).exception, HeedfulError)
