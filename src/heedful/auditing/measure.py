"""Everything that is measured on one batch of texts, as rows of one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
import torch
from torch import Tensor

from heedful.auditing import extra
from heedful.auditing.exclusive import exclusive
from heedful.auditing.explained import Cost, Explained, explained, floors
from heedful.auditing.named import Named, fitted, named
from heedful.auditing.shown import Shown, last, nothing
from heedful.auditing.spec import ATTENTION, CEILING, FLOORS, AuditSpec
from heedful.auditing.table import Facts, Table
from heedful.errors import HeedfulError
from heedful.measures.agreement import agreement
from heedful.measures.ceiling import Search, ceilings
from heedful.measures.curves import Grid, curves_of
from heedful.measures.erasure import erasure
from heedful.measures.interventions import Intervention, effect
from heedful.measures.plausibility import plausibility_of
from heedful.measures.randomised import randomised
from heedful.measures.replaced import base_trace
from heedful.measures.sensitivity import erasures, tvd_permuted
from heedful.models.output import TARGETS, probabilities
from heedful.randomness import stable_hash
from heedful.removal.memory import Memory
from heedful.saliency.attention import main_site, mass_outside
from heedful.saliency.prior import Prior
from heedful.types import Batch, Model, Trace
from heedful.words import word_mask

HEALTH_SHARE = 4  # one text in so many is measured on the randomised model too
GRID = Grid(points=5, single=16)
ERASED, EXCLUSIVE = "erasure of an item of attention", "exclusivity"
NULL_SPACE = "null_space"
GATED = "it needs weights that sum to 1, and this model has a gate."


@dataclass(frozen=True)
class Part:
    """What one batch left."""

    rows: pd.DataFrame
    maps: pd.DataFrame
    costs: Mapping[str, Cost]
    skipped: Mapping[str, str]
    shown: pd.DataFrame = field(default_factory=nothing)
    documents: pd.DataFrame = field(default_factory=pd.DataFrame)


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
    ) -> None:
        """`checked` are the texts whose measures are held against a randomised model's, `kept`
        those of which a page may show more than maps: all if it is left out."""
        self.model, self.spec, self.prior, self.must = model, spec, prior, must
        self.checked, self.kept = checked, kept
        self.wanted = [fitted(named(name), prior) for name in spec.mapped if name not in FLOORS]
        self.random = Named("random", named("random").piece, {"seed": spec.seed})
        self.normalised = main_site(model).normalised
        self.skipped = {} if self.normalised else _not_of_gates(spec)

    def __call__(
        self, batch: Batch, clusters: tuple[str, ...], rationale: Tensor | None = None
    ) -> Part:
        trace = base_trace(self.model, batch)
        p = probabilities(trace.logits)
        check_finite(p, batch.ids)
        label = p.argmax(-1)
        mask = word_mask(batch.texts["a"])
        table = Table(_facts(batch, clusters, p, mask))
        shown = Shown(batch, self.kept)
        shown.linear(self.model, trace)
        only = self.spec.only
        if "interventions" in only:
            self._interventions(table, batch, trace, p)
        table.add({"special_mass": mass_outside(self.model, batch)}, ATTENTION)
        found = self._explain(batch, label)
        maps = {**found.maps, **floors(self.model, batch, label, self.prior, self.random)}
        if "agreement" in only:
            self._agreement(table, maps, mask)
        if "erasure" in only:
            self._erasure(table, self.model, batch, label, maps, "base", shown)
        if "plausibility" in only and rationale is not None:
            self._plausibility(table, maps, rationale, mask, batch)
        if "exclusivity" in only and self.normalised:
            shown.furthest(exclusive(table, self.model, batch, trace, self.spec))
        if "erasure" in only and "health" in only:
            self._health(table, batch)
        self._beside(table, batch, trace, label, maps)
        kept = _maps(batch, maps, mask)
        return Part(table.rows(), kept, found.costs, dict(self.skipped), shown.table())

    def _beside(
        self, table: Table, batch: Batch, trace: Trace, label: Tensor, maps: Mapping[str, Tensor]
    ) -> None:
        """What is shown and decides nothing."""
        only, model = self.spec.only, self.model
        given = [each for each in self.wanted if each.name not in self.skipped]
        if "layers" in only:
            extra.layers(table, model, batch, trace, self.spec.seed)
        if "heads" in only:
            extra.heads(table, model, batch)
        if NULL_SPACE in only and self.normalised:
            extra.freedom(table, model, batch)
        if "sanity" in only:
            extra.sanity(table, model, batch, label, given, self.spec.target)
        if "infidelity" in only:
            extra.infidelities(table, model, batch, label, maps, self.spec)
            extra.unsteady(table, model, batch, label, given, self.spec)

    def _explain(self, batch: Batch, label: Tensor) -> Explained:
        spec = self.spec
        found = explained(
            self.model, batch, label, self.wanted, spec.target, self.skipped, self.must
        )
        self.skipped = found.skipped
        return found

    def _interventions(self, table: Table, batch: Batch, trace: Trace, p: Tensor) -> None:
        """What the output does when the main site's weights are made even, or shuffled."""
        labelled = bool((batch.labels >= 0).all())
        if labelled:
            table.add({"correct": p.argmax(-1) == batch.labels})
        for edit, place in (
            ("uniform", "main"),
            ("permute", "main"),
            ("uniform", "all"),
            ("permute", "all"),
        ):
            after = effect(self.model, batch, Intervention(edit, place, seed=self.spec.seed), trace)
            name = edit if place == "main" else f"{edit} everywhere"
            table.add({"tvd": after.tvd}, operator=name)
            if labelled:
                table.add({"correct": after.predicted == batch.labels}, operator=name)
        moved = tvd_permuted(self.model, batch, self.spec.permutations, self.spec.seed, trace)
        table.add({"tvd_permuted": moved}, ATTENTION)
        if self.normalised:
            self._erased(table, batch, trace)

    def _erased(self, table: Table, batch: Batch, trace: Trace) -> None:
        """What the output does when one item gets no attention and the rest is renormalised."""
        items = erasures(self.model, batch, self.spec.seed, trace)
        for name, each in zip(("js", "tvd"), items, strict=True):
            found = {"top": each.top, "random": each.random, "best": each.best}
            table.add({f"{name}_{item}": value for item, value in found.items()}, ATTENTION)

    def _agreement(self, table: Table, maps: Mapping[str, Tensor], mask: Tensor) -> None:
        """τ of every map with each importance measure; magnitudes, as attention has no sign."""
        weights = [name for name in maps if name.partition(":")[0] in WEIGHTS]
        taus = agreement(maps, mask, weights=weights)
        for name in maps:
            for other in self.spec.importance:
                if other in maps and other != name:
                    pair = (name, other) if (name, other) in taus else (other, name)
                    table.add({f"tau:{other}": taus[pair].tau}, name)
        if ATTENTION in maps and self.spec.importance[0] in maps:
            result = taus.get((ATTENTION, self.spec.importance[0]))
            if result is not None:
                table.add({"tie_rate": result.ties_x}, ATTENTION)

    def _erasure(
        self,
        table: Table,
        model: Model,
        batch: Batch,
        label: Tensor,
        maps: Mapping[str, Tensor],
        role: str,
        shown: Shown | None = None,
    ) -> None:
        target = TARGETS[self.spec.target]
        for operator in self.spec.operators:
            memory = Memory()
            found = curves_of(model, batch, label, maps, operator, target, GRID, memory)
            for name, each in found.items():
                table.add(erasure(each), name, operator, role)
            if shown is not None and self._recorded(operator):
                shown.curves(found, operator)
            if self.spec.ceiling:
                search = Search(width=2, budget=self.spec.ceiling)
                best = ceilings(
                    model, batch, label, maps, operator, target, GRID, search, found, memory
                )
                table.add(best.values, CEILING, operator, role)

    def _recorded(self, operator: str) -> bool:
        """One way of taking words away is enough to look at, if it is a probability that falls."""
        return operator == self.spec.operators[0] and self.spec.target == "probability"

    def _plausibility(
        self,
        table: Table,
        maps: Mapping[str, Tensor],
        rationale: Tensor,
        mask: Tensor,
        batch: Batch,
    ) -> None:
        found = plausibility_of(maps, rationale, mask, batch.ids, self.spec.seed)
        for name, values in found.items():
            table.add(values, name)

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
                label = probabilities(model(some).logits).argmax(-1)
            found = explained(model, some, label, self.wanted, self.spec.target, self.skipped)
            maps = {**found.maps, **floors(model, some, label, self.prior, self.random)}
            self._erasure(part, model, some, label, maps, "randomised")
        table.extend(part)


def _not_of_gates(spec: AuditSpec) -> dict[str, str]:
    groups = {"interventions": ERASED, "exclusivity": EXCLUSIVE, NULL_SPACE: NULL_SPACE}
    return {name: GATED for group, name in groups.items() if group in spec.only}


def health_texts(ids: Sequence[str], seed: int) -> frozenset[str]:
    """One text in four, at least one, by a hash of its id: batches do not change the choice."""
    order = sorted(ids, key=lambda name: stable_hash(seed, "health", name))
    return frozenset(order[: -(-len(order) // HEALTH_SHARE)])


def check_finite(p: Tensor, ids: tuple[str, ...]) -> None:
    bad = (~p.isfinite()).any(-1).nonzero().flatten().tolist()
    if bad:
        raise HeedfulError(
            f"the model's output for text {ids[bad[0]]!r} is not a number: check its weights, or "
            f"leave the text out."
        )


WEIGHTS = frozenset({"attention", "rollout", "value_norm"})


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
