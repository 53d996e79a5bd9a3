"""Everything that is measured on one batch of texts, as rows of one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import torch
from torch import Tensor

from heedful.attributions import Prior, mass_outside, text_site
from heedful.auditing import experiments as extra
from heedful.auditing.experiments import (
    Erasing,
    agreements,
    exclusive,
    interventions,
    plausible,
    plausible_by_eraser,
    site_maps,
)
from heedful.auditing.explanation import (
    Decisions,
    Named,
    all_named,
    check_finite,
    explained,
    fitted,
    floors,
    named,
)
from heedful.auditing.gathered import Part
from heedful.auditing.shown import Shown, last
from heedful.auditing.spec import ATTENTION, ERASING, FLOORS, AuditSpec
from heedful.auditing.table import Facts, Table
from heedful.experiments import base_trace, randomised
from heedful.models import probabilities
from heedful.randomness import stable_hash
from heedful.types import Batch, Model, Trace
from heedful.words import word_mask

HEALTH_SHARE = 4  # one text in so many is measured on the randomised model too
ERASED, EXCLUSIVE = "erasure of an item of attention", "exclusivity"
NULL_SPACE = "null_space"
GATED = "it needs weights that sum to 1, and this model has a gate."


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
    ) -> None:
        """`checked` are the texts whose measures are held against a randomised model's, `kept`
        those of which a page may show more than maps: all if it is left out. An average
        rationale has `marked_share` of a text's words."""
        self.model, self.spec, self.prior, self.must = model, spec, prior, must
        self.checked, self.kept, self.marked_share = checked, kept, marked_share
        chosen = all_named(name for name in spec.mapped if name not in FLOORS)
        self.wanted = [fitted(each, prior) for each in chosen]
        self.random = Named("random", named("random").piece, {"seed": spec.seed})
        self.normalised = text_site(model).normalised
        self.skipped = {} if self.normalised else _not_of_gates(spec)

    def __call__(
        self, batch: Batch, clusters: tuple[str, ...], rationale: Tensor | None = None
    ) -> Part:
        trace = base_trace(self.model, batch)
        p = probabilities(trace.logits)
        check_finite(p, batch.ids)
        made = Decisions(self.model, batch, p.argmax(-1))
        mask = word_mask(batch.texts["a"])
        table = Table(_facts(batch, clusters, p, mask))
        shown = Shown(batch, self.kept)
        shown.linear(self.model, trace)
        only = self.spec.only
        if "interventions" in only:
            interventions(table, self.model, batch, trace, p, self.spec)
        table.add({"special_mass": mass_outside(self.model, batch)}, ATTENTION)
        found = explained(made, self.wanted, self.spec.target, self.skipped, self.must)
        self.skipped = found.skipped
        maps = {**found.maps, **floors(made, self.prior, self.random)}
        if "agreement" in only:
            agreements(table, maps, batch, self.spec)
        if (ERASING | {"eraser", "candidates"}) & set(only):
            Erasing(table, self.spec, shown=shown, sites=self._sites(batch, trace, maps))(
                made, maps
            )
        if "plausibility" in only and rationale is not None:
            plausible(table, maps, rationale, batch, self.spec.seed)
        if "eraser" in only and rationale is not None:
            marked = (rationale, self.marked_share)
            plausible_by_eraser(table, maps, marked, batch, self.spec.seed)
        if "exclusivity" in only and self.normalised:
            shown.furthest(exclusive(table, self.model, batch, trace, self.spec))
        if "health" in only:
            self._health(table, batch)
        self._beside(table, made, trace, maps)
        kept = _maps(batch, maps, mask)
        return Part(table.rows(), kept, found.costs, dict(self.skipped), shown.table())

    def _beside(
        self, table: Table, made: Decisions, trace: Trace, maps: Mapping[str, Tensor]
    ) -> None:
        """What is shown and decides nothing."""
        only, model, batch = self.spec.only, made.model, made.batch
        given = [each for each in self.wanted if each.name not in self.skipped]
        if "layers" in only:
            extra.layers(table, model, batch, trace, self.spec.seed)
        if "heads" in only:
            extra.heads(table, model, batch)
        if NULL_SPACE in only and self.normalised:
            extra.freedom(table, model, batch)
        if "sanity" in only:
            extra.sanity(table, made, given, self.spec.target)
        if "infidelity" in only:
            extra.infidelities(table, made, maps, self.spec)
            extra.unsteady(table, made, given, self.spec)

    def _sites(self, batch: Batch, trace: Trace, maps: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Maps of other layers and of heads, but for those that were asked for by name."""
        if not {"heads", "importance"} <= set(self.spec.only):
            return {}
        found, there_are = site_maps(self.model, batch, trace)
        if there_are > len(found):
            self.skipped["other layers and heads"] = (
                f"there are {there_are}, and only the first {len(found)} were scored."
            )
        return {name: scores for name, scores in found.items() if name not in maps}

    def _health(self, table: Table, batch: Batch) -> None:
        """Do the measures fall where there is nothing to explain: weights in random order?
        All explanations are made again there: a search that started from fewer of them would
        find less, and any measure would seem to fall."""
        chosen = [row for row, name in enumerate(batch.ids) if name in self.checked]
        if not chosen:
            return
        rows = torch.tensor(chosen, device=batch.labels.device)
        some = batch.take(rows)
        part = Table(table.facts.take(chosen))
        with randomised(self.model, self.spec.seed) as model:
            with torch.no_grad():
                made = Decisions(model, some, probabilities(model(some).logits).argmax(-1))
            found = explained(made, self.wanted, self.spec.target, self.skipped)
            maps = {**found.maps, **floors(made, self.prior, self.random)}
            Erasing(part, self.spec, "randomised")(made, maps)
        table.extend(part)


def _not_of_gates(spec: AuditSpec) -> dict[str, str]:
    groups = {"interventions": ERASED, "exclusivity": EXCLUSIVE, NULL_SPACE: NULL_SPACE}
    return {name: GATED for group, name in groups.items() if group in spec.only}


def health_texts(ids: Sequence[str], seed: int) -> frozenset[str]:
    """One text in four, at least one, by a hash of its id: batches do not change the choice."""
    order = sorted(ids, key=lambda name: stable_hash(seed, "health", name))
    return frozenset(order[: -(-len(order) // HEALTH_SHARE)])


def _facts(batch: Batch, clusters: tuple[str, ...], p: Tensor, mask: Tensor) -> Facts:
    return Facts(
        batch.ids,
        clusters,
        batch.labels.cpu().numpy(),
        p.argmax(-1).cpu().numpy(),
        p.amax(-1).detach().cpu().numpy(),
        mask.sum(-1).cpu().numpy(),
    )


def _maps(batch: Batch, maps: Mapping[str, Tensor], mask: Tensor) -> pd.DataFrame:
    """One list of word scores per example and explanation; NaN for a word without a token."""
    parts = []
    for name, scores in maps.items():
        shown = scores.masked_fill(~mask, torch.nan).float().cpu().numpy()
        lists = [row[: last(row)] for row in shown]
        parts.append(
            pd.DataFrame({"example": list(batch.ids), "explanation": name, "scores": lists})
        )
    return pd.concat(parts, ignore_index=True)
