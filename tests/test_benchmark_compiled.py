"""The compiled models: do their weights do what is claimed of them?"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from heedful.attributions import explain, fit_prior, text_site
from heedful.auditing import audit_subject
from heedful.benchmark import (
    DECIDING,
    FAMILIES,
    STRENGTHS,
    Exhibit,
    Kind,
    Role,
    cases,
    gallery,
    plan,
    side,
)
from heedful.interventions import permute, uniform
from heedful.models import probabilities
from heedful.perturbations import removed
from heedful.targets import AuditTarget
from heedful.types import Batch
from heedful.words import word_mask

TEXTS = 64
USED = (Kind.DECISION, Kind.MISLEADING, Kind.MIXTURE)
UNUSED = (Kind.IGNORED, Kind.COINCIDENCE)


def some(kind: Kind, family: str, seed: int = 0, texts: int = TEXTS) -> Exhibit:
    return Exhibit(family, kind, float(kind is Kind.DECISION), seed, texts)


def whole(subject: AuditTarget) -> Batch:
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


def predictions(
    subject: AuditTarget, gone: torch.Tensor | None = None, way: str = "delete"
) -> tuple:
    """The class of each text without some words, and its probability."""
    batch = whole(subject)
    gone = torch.zeros_like(word_mask(batch.texts["a"])) if gone is None else gone
    p = probabilities(removed(subject.model, batch, gone, way))
    return p.argmax(-1), p


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", Kind)
class TestTruth:
    def test_weights_and_logits_are_those_of_the_plan(self, kind: Kind, family: str) -> None:
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
    def test_the_decisive_word_decides(self, kind: Kind, family: str, way: str) -> None:
        exhibit = some(kind, family)
        with exhibit.opened() as subject:
            label = whole(subject).labels
            before, _ = predictions(subject)
            without, _ = predictions(subject, roles(exhibit, Role.DECISIVE), way)
        assert torch.equal(before, label)
        assert not (without == label).any()

    def test_words_that_say_nothing_change_no_decision(self, kind: Kind, family: str) -> None:
        exhibit = some(kind, family)
        with exhibit.opened() as subject:
            label = whole(subject).labels
            _, p = predictions(subject)
            without, q = predictions(subject, roles(exhibit, Role.DECOY))
        lost = (p - q).gather(1, label[:, None])
        assert torch.equal(without, label)
        assert lost.max() < 0.05

    def test_the_rationale_is_the_decisive_word(self, kind: Kind, family: str) -> None:
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
            (Kind.DECISION, Role.DECISIVE),
            (Kind.COINCIDENCE, Role.DECISIVE),
            (Kind.MISLEADING, Role.DECOY),
        ],
    )
    def test_where_it_is_heaviest(self, family: str, kind: Kind, role: Role) -> None:
        exhibit = some(kind, family)
        with exhibit.opened() as subject:
            batch = whole(subject)
            found = explain("attention", subject.model, batch, batch.labels)
        assert roles(exhibit, role).gather(1, found.argmax(-1)[:, None]).all()

    def test_misleading_hides_what_decides(self, family: str) -> None:
        """Only the word against is seen less."""
        exhibit = some(Kind.MISLEADING, family)
        with exhibit.opened() as subject:
            batch = whole(subject)
            found = explain("attention", subject.model, batch, batch.labels)
        hidden = roles(exhibit, Role.COUNTER) | ~word_mask(batch.texts["a"])
        least = found.masked_fill(hidden, torch.inf).argmin(-1)
        assert roles(exhibit, Role.DECISIVE).gather(1, least[:, None]).all()

    @pytest.mark.parametrize("kind", UNUSED)
    def test_unused_attention_changes_nothing(self, family: str, kind: Kind) -> None:
        with some(kind, family).opened() as subject, torch.no_grad():
            batch, site = whole(subject), text_site(subject.model).name
            before = subject.model(batch).logits
            for edit in (uniform(), permute(3)):
                after = subject.model(batch, {site: edit}).logits
                assert (after - before).abs().max() < 1e-4

    @pytest.mark.parametrize("kind", USED)
    def test_used_attention_is_needed(self, family: str, kind: Kind) -> None:
        with some(kind, family).opened() as subject, torch.no_grad():
            batch, site = whole(subject), text_site(subject.model).name
            after = probabilities(subject.model(batch, {site: uniform()}).logits).argmax(-1)
        assert (after == batch.labels).float().mean() < 0.2

    def test_a_mixture_is_the_decision_in_its_share_of_texts(self, family: str) -> None:
        for strength in STRENGTHS:
            exhibit = Exhibit(family, Kind.MIXTURE, strength, 0, TEXTS)
            with exhibit.opened() as subject:
                batch = whole(subject)
                found = explain("attention", subject.model, batch, batch.labels)
            top = roles(exhibit, Role.DECISIVE).gather(1, found.argmax(-1)[:, None])
            assert top.double().mean() == pytest.approx(strength, abs=0.01)


class TestTexts:
    def test_rarity_says_nothing(self) -> None:
        """The decisive word is among the rarest of its text about as often as not."""
        places = []
        for seed in range(10):
            exhibit = some(Kind.DECISION, "one-sequence", seed)
            with exhibit.opened() as subject:
                batch = whole(subject)
                prior = fit_prior([batch])(subject.model, batch, batch.labels)
            mask = word_mask(batch.texts["a"])
            own = prior.masked_fill(~roles(exhibit, Role.DECISIVE), 0.0).sum(-1, keepdim=True)
            more = ((prior > own) & mask).sum(-1) + 0.5 * (((prior == own) & mask).sum(-1) - 1)
            places.append(float((more / (mask.sum(-1) - 1)).mean()))
        assert np.mean(places) == pytest.approx(0.5, abs=0.08)

    def test_every_word_type_has_one_part(self) -> None:
        words = [each.word for each in plan(Kind.DECISION, 1.0, 3, 1).entries]
        assert len(set(words)) == len(words)

    def test_the_same_seed_is_the_same_model(self) -> None:
        def key(seed: int) -> object:
            with some(Kind.DECISION, "one-sequence", seed).opened() as subject:
                return subject.key["weights"]

        assert key(1) == key(1) != key(2)


class TestGallery:
    def test_every_kind_in_every_family_and_a_mixture_in_steps(self) -> None:
        exhibits = gallery(0, 1)
        plain = {(each.family, each.kind) for each in exhibits if not each.graded}
        assert len(plain) == len(FAMILIES) * (len(Kind) - 1)
        assert tuple(each.strength for each in exhibits if each.graded) == STRENGTHS
        assert len({each.name for each in exhibits}) == len(exhibits) == len(plain) + len(STRENGTHS)

    def test_truths(self) -> None:
        for each in gallery(0, 1):
            plain = "yes" if each.kind is Kind.DECISION else "no"
            graded = {0.0: "no", 1.0: "yes"}.get(each.strength, "partly")
            assert each.truth == (graded if each.graded else plain)


class TestCases:
    def test_the_more_attention_shows_the_smaller_the_dose(self) -> None:
        doses = {case.kind: case.dose for case in cases(["compiled"], seeds=[0], texts=1)}
        assert doses["one-sequence-mixture-0.25"] == 0.75
        assert doses["transformer-decision"] is None

    def test_the_decisive_word_has_all_the_effect(self) -> None:
        (case,) = cases(["compiled"], seeds=[2], texts=6, kinds=["transformer-ignored"])
        marks = roles(some(Kind.IGNORED, "transformer", 2, 6), Role.DECISIVE)
        with case.open() as opened:
            assert opened.truth == {"truth": "no"}
            for place, effects in zip((4, 1), opened.effects([4, 1]), strict=True):
                assert effects.tolist() == marks[place, : len(effects)].double().tolist()


class TestVerdicts:
    @pytest.mark.parametrize(
        ("family", "kind", "truth"),
        [
            ("one-sequence", Kind.DECISION, "yes"),
            ("one-sequence", Kind.IGNORED, "no"),
            ("one-sequence", Kind.MISLEADING, "no"),
            ("transformer", Kind.DECISION, "yes"),
            ("transformer", Kind.MISLEADING, "no"),
        ],
    )
    def test_the_truth_is_found(self, family: str, kind: Kind, truth: str) -> None:
        with some(kind, family).opened() as subject:
            assert side(audit_subject(subject, DECIDING).verdict) == truth

    @pytest.mark.slow
    def test_a_coincidence_is_seen_through_with_texts_enough(self) -> None:
        with some(Kind.COINCIDENCE, "one-sequence", texts=256).opened() as subject:
            assert side(audit_subject(subject, DECIDING).verdict) == "no"
