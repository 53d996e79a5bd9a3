"""Everything that is measured on one batch of texts, as rows of one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor

from heedful.attributions import Prior, mass_outside, text_site
from heedful.auditing.experiments import EXPERIMENTS, MOST_SITES, AuditBatch, Values, removals
from heedful.auditing.explanation import (
    Decisions,
    Explained,
    Named,
    Texts,
    all_named,
    baselines,
    check_finite,
    explained,
    fitted,
    named,
)
from heedful.auditing.page_data import PageData, last
from heedful.auditing.spec import ATTENTION, BASELINES, ERASING, AuditSpec
from heedful.auditing.tables import Part, Table
from heedful.data import PUNCTUATION, word_kind
from heedful.experiments import (
    ForwardBatch,
    HeadMeans,
    Revisions,
    head_maps,
    randomised,
    sink_maps,
    sink_masses,
)
from heedful.hashing import stable_hash
from heedful.targets import Document
from heedful.types import Batch, Model
from heedful.words import word_mask

CHECKED_SHARE = 4  # one text in so many is measured on the randomised model too
GROUPS_OF = {"removals": ERASING | {"eraser", "candidates", "interactions"}}
"""The groups that ask for an experiment, where it is not one of the same name."""
GATED = "it needs weights that sum to 1, and this model has a gate."
NOT_OF_GATES = {
    "interventions": "erasure of an item of attention",
    "uniqueness": "uniqueness",
    "null_space": "null_space",
}
"""What is skipped of each group where a gate keeps weights from summing to 1."""


class Measurer:
    """Measures batches of one model, one after the other."""

    def __init__(
        self,
        model: Model,
        spec: AuditSpec,
        prior: Prior,
        checked: frozenset[str],
        must: frozenset[str] = frozenset(),
        kept: frozenset[str] | None = None,
        marked_share: float = 0.0,
        means: HeadMeans = HeadMeans(),
        texts: Texts | None = None,
    ) -> None:
        """`checked` are the texts whose measures are held against a randomised model's, `kept`
        those of which a page may show more than maps: all if it is left out. An average
        rationale has `marked_share` of a text's words. `means` is what heads put out on average,
        where they are to be ablated. From `texts` learns what learns."""
        self.model, self.spec, self.prior, self.must = model, spec, prior, must
        self.checked, self.kept, self.marked_share = checked, kept, marked_share
        self.means = means
        chosen = all_named(name for name in spec.mapped if name not in BASELINES)
        self.wanted = [fitted(each, prior, texts) for each in chosen]
        self.random = Named("random", named("random").piece, {"seed": spec.seed})
        self.skipped: dict[str, str] = {}
        self._drawn: dict[str, Tensor] = {}  # random parameters, for all batches
        if not text_site(model).normalised:
            gated = (what for group, what in NOT_OF_GATES.items() if group in spec.only)
            self.skipped = dict.fromkeys(gated, GATED)
        if "head_ablation" in spec.only:
            self.skipped |= _not_ablated(means)

    def __call__(
        self,
        batch: Batch,
        clusters: tuple[str, ...],
        rationale: Tensor | None = None,
        punctuation: Tensor | None = None,
        revisions: Revisions | None = None,
    ) -> Part:
        """`rationale` and `punctuation` mark words; without the latter no word is punctuation."""
        forward = ForwardBatch.of(self.model, batch)
        check_finite(forward.probabilities, batch.ids)
        mask = word_mask(batch.texts["a"])
        table = Table(
            {
                "example": np.array(batch.ids, dtype=object),
                "cluster": np.array(clusters, dtype=object),
                "label": batch.labels.cpu().numpy(),
                "predicted": forward.predicted.cpu().numpy(),
                "confidence": forward.confidence.detach().cpu().numpy(),
                "length": mask.sum(-1).cpu().numpy(),
            }
        )
        shown = PageData(batch, self.kept)
        shown.linear(self.model, forward.trace)
        marks = torch.zeros_like(mask) if punctuation is None else punctuation
        table.add({"special_mass": mass_outside(self.model, batch)}, ATTENTION)
        table.add(sink_masses(forward, marks), ATTENTION)
        found, maps = self._explained(forward, self.must)
        self.skipped = found.skipped
        if "input_reduction" in self.spec.only and batch.answer is not None:
            self.skipped["input_reduction"] = "an answer is no prediction that stays or changes."
        audit = AuditBatch(
            forward,
            self.spec,
            maps,
            [named for named in self.wanted if named.name not in self.skipped],
            self._sites(forward, maps),
            self._without_sinks(forward, marks, maps),
            rationale,
            self.marked_share,
            shown,
            means=self.means,
            revisions=revisions,
        )
        for name, experiment in EXPERIMENTS.items():
            if GROUPS_OF.get(name, {name}) & set(self.spec.only):
                _write(table, experiment(audit))
        if "randomization_check" in self.spec.only:
            self._check_randomised(table, batch)
        kept = _maps(batch, maps, mask)
        return Part(table.rows(), kept, found.costs, dict(self.skipped), shown.table())

    def _explained(
        self, forward: ForwardBatch, must: frozenset[str] = frozenset()
    ) -> tuple[Explained, dict[str, Tensor]]:
        """What was explained, and its maps with those of the baselines."""
        decisions = Decisions(forward.model, forward.batch, forward.predicted)
        found = explained(decisions, self.wanted, self.spec.target, self.skipped, must)
        return found, {**found.maps, **baselines(decisions, self.prior, self.random)}

    def _sites(self, forward: ForwardBatch, maps: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Maps of other layers and of heads, but for those that were asked for by name."""
        if not {"heads", "importance"} <= set(self.spec.only):
            return {}
        found, there_are = head_maps(forward, MOST_SITES)
        if there_are > len(found):
            self.skipped["other layers and heads"] = (
                f"there are {there_are}, and only the first {len(found)} were scored."
            )
        named = {
            f"{ATTENTION}:layer={layer}" + ("" if head is None else f",head={head}"): scores
            for (layer, head), scores in found.items()
        }
        return {name: scores for name, scores in named.items() if name not in maps}

    def _without_sinks(
        self, forward: ForwardBatch, punctuation: Tensor, maps: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The map on trial without what may be sinks, but for what was asked for by name: scoring
        it costs nothing."""
        if "importance" not in self.spec.only:
            return {}
        found = sink_maps(forward, punctuation)
        named = {f"{ATTENTION}:sinks={name}": scores for name, scores in found.items()}
        return {name: scores for name, scores in named.items() if name not in maps}

    def _check_randomised(self, table: Table, batch: Batch) -> None:
        """Do the measures fall where there is nothing to explain: weights in random order?
        All explanations are made again there: a search that started from fewer of them would
        find less, and any measure would seem to fall."""
        chosen = [row for row, name in enumerate(batch.ids) if name in self.checked]
        if not chosen:
            return
        some = batch.take(torch.tensor(chosen, device=batch.labels.device))
        part = table.of(chosen)
        drawn = self._drawn if batch.labels.is_cuda else None  # elsewhere room is short
        with randomised(self.model, self.spec.seed, drawn) as model:
            with torch.no_grad():
                forward = ForwardBatch(model, some, model(some))
            _, maps = self._explained(forward)
            audit = AuditBatch(forward, self.spec, maps, role="randomised")
            _write(part, removals(audit), audit.role)
        table.extend(part)


def _not_ablated(means: HeadMeans) -> dict[str, str]:
    """What of the ablation of heads is not measured, and why."""
    heads = sum(means.heads.values())
    if heads < 2:
        return {"head_ablation": "it compares heads, and this model has a single one."}
    found = {}
    if not means.shown:
        found["mean and direct effects of heads"] = "the model does not show what heads put out."
    if heads > MOST_SITES:
        found["other ablated heads"] = (
            f"there are {heads}, and the first {MOST_SITES} were ablated."
        )
    return found


def _write(table: Table, found: Iterable[Values], role: str = "base") -> None:
    for values in found:
        part = table if values.rows is None else table.of(values.rows)
        part.add(values.measures, values.explanation, values.operator, role)
        if part is not table:
            table.extend(part)


def checked_texts(ids: Sequence[str], seed: int) -> frozenset[str]:
    """One text in four, at least one, by a hash of its id: batches do not change the choice."""
    order = sorted(ids, key=lambda name: stable_hash(seed, "health", name))
    return frozenset(order[: -(-len(order) // CHECKED_SHARE)])


def marked_words(documents: Sequence[Document], mask: Bool[Tensor, "b w"]) -> Bool[Tensor, "b w"]:
    """The words of the rationales. A text without a rationale has none, and no measure of it."""
    return _marked([document.rationale or () for document in documents], mask)


def punctuation_marks(
    documents: Sequence[Document], mask: Bool[Tensor, "b w"]
) -> Bool[Tensor, "b w"]:
    """The words without a letter or digit."""
    kinds = ([word_kind(word) for word in document.surface] for document in documents)
    return _marked([[kind == PUNCTUATION for kind in words] for words in kinds], mask) & mask


def _marked(marks: Sequence[Sequence[bool]], mask: Bool[Tensor, "b w"]) -> Bool[Tensor, "b w"]:
    marked = np.zeros(mask.shape, dtype=bool)
    for row, words in zip(marked, marks, strict=True):
        some = words[: len(row)]
        row[: len(some)] = some
    return torch.from_numpy(marked).to(mask.device)


def _maps(batch: Batch, maps: Mapping[str, Tensor], mask: Tensor) -> pd.DataFrame:
    """One list of word scores per example and explanation; NaN for a word without a token."""
    every = torch.stack([scores.float() for scores in maps.values()])
    shown = every.masked_fill(~mask, torch.nan).cpu().numpy()
    lists = [row[: last(row)] for scores in shown for row in scores]
    names = np.array(list(maps), dtype=object).repeat(len(mask))
    return pd.DataFrame(
        {"example": list(batch.ids) * len(maps), "explanation": names, "scores": lists}
    )
