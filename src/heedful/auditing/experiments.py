"""Which experiments an audit runs on a batch of examples, by the group that asks for them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.attributions import text_site, text_sites
from heedful.auditing.explanation import Decisions, Named, explanation
from heedful.auditing.page_data import PageData
from heedful.auditing.spec import ATTENTION, ORACLE, AuditSpec
from heedful.errors import HeedfulError
from heedful.experiments import (
    BINS,
    ENTROPY_WITHIN,
    LEAST,
    MODES,
    ORDERS,
    ExclusivityParams,
    ForwardBatch,
    Grid,
    HeadMeans,
    Intervention,
    Noise,
    Revisions,
    Search,
    WordMap,
    adversarial_attention,
    agreement,
    all_captured,
    all_subsets,
    between_words,
    cumulative,
    curves_of,
    edit_flips,
    effect,
    eraser_erasure,
    eraser_plausibility,
    erasure_oracle,
    erasures,
    exclusivity,
    faithfulness,
    found_edits,
    gaps_to_exact,
    head_effects,
    head_statistics,
    importance,
    importance_oracle,
    infidelity,
    inside_share,
    interacting,
    interactions_found,
    max_sensitivity,
    measured,
    moved_by_shift,
    null_space,
    plausibility,
    reachable,
    reduction,
    tau_with_randomised,
    tvd_permuted,
    unsigned_measures,
)
from heedful.models import TARGETS
from heedful.perturbations import Memory, WordRemoval
from heedful.types import Batch, Model
from heedful.words import word_mask

WEIGHTS = frozenset({"attention", "rollout", "value_norm"})
"""Explanations that come from a softmax."""
GRID = Grid(points=5, single=16)
GUIDE, GAP = "shapley", "search_gap:"
MOST_SITES = 512
"""Layers and heads that are looked at one by one."""


class Values(NamedTuple):
    """Numbers by example, of all examples of a batch or of some `rows` of it. `operator` is the
    perturbation, or how attention was changed."""

    measures: Mapping[str, Tensor]
    explanation: str = ""
    operator: str = ""
    rows: list[int] | None = None


@dataclass(frozen=True)
class AuditBatch:
    """All that an experiment may ask for: a batch, what the model made of it, and the maps of
    all explanations. The model may be another than the one on trial: it then has another `role`.
    `sites` are maps of single layers and heads, of which the importance they capture is measured
    and no more, `without_sinks` those of the attention on trial less what may be sinks. An average
    rationale has `marked_share` of a text's words. `means` is what heads put out on average,
    `revisions` what people made of some of the texts."""

    forward: ForwardBatch
    spec: AuditSpec
    maps: Mapping[str, Tensor]
    wanted: Sequence[Named] = ()
    sites: Mapping[str, Tensor] = field(default_factory=dict)
    without_sinks: Mapping[str, Tensor] = field(default_factory=dict)
    rationale: Tensor | None = None
    marked_share: float = 0.0
    shown: PageData | None = None
    role: str = "base"
    means: HeadMeans = field(default_factory=HeadMeans)
    revisions: Revisions | None = None

    @property
    def decided(self) -> tuple[Model, Batch, Tensor]:
        """The model, the texts and the class decided for."""
        return self.forward.model, self.forward.batch, self.forward.predicted

    @property
    def least(self) -> float:
        """Below this sum over words there is no importance to find."""
        return LEAST[self.spec.target]

    @property
    def word_mask(self) -> Tensor:
        return word_mask(self.forward.batch.texts["a"])


# Other attention weights: whether the output depends on them.


def interventions(audit: AuditBatch) -> Iterator[Values]:
    """The main site's weights made uniform, or permuted; then those of all sites."""
    forward, seed = audit.forward, audit.spec.seed
    yield from _correct(forward, forward.predicted, "correct")
    for place, where in (("main", ""), ("all", " everywhere")):
        for edit in ("uniform", "permute"):
            after = effect(forward, Intervention(edit, place, seed=seed))
            yield Values({"tvd": after.tvd}, operator=edit + where)
            yield from _correct(forward, after.predicted, "correct", edit + where)
    moved = tvd_permuted(forward, audit.spec.permutations, seed)
    yield Values({"tvd_permuted": moved}, ATTENTION)
    if text_site(forward.model).normalised:
        for name, erased in zip(("js", "tvd"), erasures(forward, seed), strict=True):
            items = {"top": erased.top, "random": erased.random, "best": erased.best}
            yield Values({f"{name}_{item}": found for item, found in items.items()}, ATTENTION)


def layers(audit: AuditBatch) -> Iterator[Values]:
    """Stacks of layers permuted (vashishth2019), later ones recomputed; then each layer by itself
    made uniform or permuted, later ones recomputed or held. A model of one layer has had all of
    it already."""
    forward, seed = audit.forward, audit.spec.seed
    sites = text_sites(forward.model)
    if len(sites) < 2:
        return
    for stack, after in cumulative(forward, "permute", seed=seed).items():
        yield Values({"tvd_stack": after.tvd}, operator=f"permute {stack.name}")
        yield from _correct(forward, after.predicted, "correct_stack", f"permute {stack.name}")
    for number, site in enumerate(sites):
        for mode in MODES:
            for edit in ("uniform", "permute"):
                moved = effect(forward, Intervention(edit, site.name, mode, seed=seed)).tvd
                name = f"{ATTENTION}:layer={number}"
                yield Values({"tvd_layer": moved}, name, f"{edit} {mode}")


def _correct(
    forward: ForwardBatch, predicted: Tensor, measure: str, operator: str = ""
) -> Iterator[Values]:
    """Nothing where a text has no label."""
    labels = forward.batch.labels
    if bool((labels >= 0).all()):
        yield Values({measure: predicted == labels}, operator=operator)


def uniqueness(audit: AuditBatch) -> Iterator[Values]:
    """How far attention can move with the same output. Reported, never required. What is searched
    is a lower bound, and named so."""
    forward, spec = audit.forward, audit.spec
    if not text_site(forward.model).normalised:
        return
    params = ExclusivityParams(spec.epsilon, spec.search_steps, seed=spec.seed)
    apart = adversarial_attention(forward, params)
    if audit.shown is not None:
        audit.shown.furthest(apart)
    found = {"jsd_same_output": apart.jsd, "jsd_same_output_ratio": apart.ratio}
    if apart.exact:
        found["reachable"] = reachable(forward)
    yield Values(found, ATTENTION)
    near = exclusivity(forward, replace(params, entropy_within=ENTROPY_WITHIN))
    yield Values({"jsd_entropy_matched": near.jsd}, ATTENTION)


def heads(audit: AuditBatch) -> Iterator[Values]:
    for (layer, head), statistics in head_statistics(audit.forward).items():
        named = {f"head_{name}": values for name, values in statistics.items()}
        yield Values(named, f"{ATTENTION}:layer={layer},head={head}")


def without_heads(audit: AuditBatch) -> Iterator[Values]:
    """The output without each head: its whole effect, by three ablations, and its direct one."""
    if sum(audit.means.heads.values()) < 2:
        return
    found = head_effects(audit.forward, audit.means, MOST_SITES, audit.spec.seed)
    for (layer, head), ablation, after in found:
        numbers = {"tvd_head": after.tvd, "drop_head": after.drop}
        yield Values(numbers, f"{ATTENTION}:layer={layer},head={head}", ablation)


def free_heads(audit: AuditBatch) -> Iterator[Values]:
    if not text_site(audit.forward.model).normalised:
        return
    found = null_space(audit.forward.model, audit.forward.batch)
    for head, (freedom, jsd) in enumerate(zip(found.freedom.T, found.jsd.T, strict=True)):
        numbers = {"freedom": freedom, "jsd": jsd, "tvd": found.tvd}
        named = {f"null_space_{name}": values for name, values in numbers.items()}
        yield Values(named, f"{ATTENTION}:head={head}")


# The maps themselves: how alike they are, and what people think of them.


def agreements(audit: AuditBatch) -> Iterator[Values]:
    """τ of every map with each importance measure; magnitudes, as attention has no sign."""
    maps, important = {**audit.maps, **audit.without_sinks}, audit.spec.importance
    weights = [name for name in maps if name.partition(":")[0] in WEIGHTS]
    taus = agreement(maps, audit.word_mask, weights=weights, others=important)
    for (one, other), found in taus.items():
        for name, measure in ((one, other), (other, one)):
            if measure in important:
                yield Values({f"tau:{measure}": found.tau}, name)
    if (ATTENTION, important[0]) in taus:
        yield Values({"tie_rate": taus[ATTENTION, important[0]].ties_x}, ATTENTION)


def plausible(audit: AuditBatch, eraser: bool = False) -> Iterator[Values]:
    """Every map against the words people marked, also by ERASER's own definitions."""
    if audit.rationale is None:
        return
    place, seed = (audit.rationale, audit.word_mask, audit.forward.batch.ids), audit.spec.seed
    for name, scores in audit.maps.items():
        if eraser:
            yield Values(eraser_plausibility(scores, *place, audit.marked_share, seed), name)
        else:
            yield Values(plausibility(scores, *place, seed), name)


def counterfactuals(audit: AuditBatch) -> Iterator[Values]:
    """Every map against the words that a revision of the text changed."""
    if audit.revisions is None or not len(audit.revisions.of):
        return
    of, flips = audit.revisions.of, edit_flips(audit.forward, audit.revisions)
    texts = torch.unique(of)
    mine = of == texts[:, None]
    rows = texts.tolist()
    yield Values({"edit_flips": (mine & flips).sum(-1) / mine.sum(-1)}, rows=rows)
    for name, scores in audit.maps.items():
        found = found_edits(scores, audit.word_mask, audit.revisions, flips)
        for (measure, where), values in found.items():
            yield Values({measure: values[texts]}, name, where, rows)


def sanity(audit: AuditBatch) -> Iterator[Values]:
    """τ of each map with that of the model with random weights (should be near 0), and how far
    it moves when the input's origin does (should be 0)."""
    model, batch, label = audit.decided
    maps: dict[str, WordMap] = {
        named.name: partial(_map, label=label, named=named, target=audit.spec.target)
        for named in audit.wanted
    }
    for name, values in tau_with_randomised(model, batch, maps).items():
        yield Values({"tau_randomised": values}, name)
    for name, values in moved_by_shift(model, batch, maps).items():
        yield Values({"moved_by_shift": values}, name)


def infidelities(audit: AuditBatch) -> Iterator[Values]:
    """How far each map's sums are from what removing random sets of words does; and how far each
    map moves under a little noise. One that changes the text itself cannot be asked that, and is
    left out."""
    spec = audit.spec
    for operator in spec.operators:
        removal = WordRemoval(*audit.decided, operator, TARGETS[spec.target])
        found = infidelity(removal, audit.maps, seed=spec.seed)
        for name, values in found.items():
            yield Values({"infidelity": values}, name, operator)
    for named in audit.wanted:
        explain = partial(_map, named=named, target=spec.target)
        try:
            moved = max_sensitivity(*audit.decided, explain, Noise(seed=spec.seed))
        except HeedfulError:
            continue
        yield Values({"max_sensitivity": moved}, named.name)


def reductions(audit: AuditBatch) -> Iterator[Values]:
    """How few words keep the prediction, by the explanations that a study reduces by, each made
    again at every step; and in a random order. An answer is no prediction that stays or changes."""
    model, batch, label = audit.decided
    if batch.answer is not None:
        return
    removal = WordRemoval(model, batch, label)
    maps = {
        named.name: partial(_map, model, named=named, target=audit.spec.target)
        for named in audit.wanted
        if named.piece.name in ORDERS
    }
    for name, scores in {**maps, "random": None}.items():
        found, numbers = reduction(removal, scores, seed=audit.spec.seed)
        if audit.rationale is not None:
            numbers["inside"] = inside_share(audit.rationale, found.left)
        yield Values({f"reduced_{kind}": each for kind, each in numbers.items()}, name)
        if audit.shown is not None:
            audit.shown.left(found, name)


def _map(model: Model, batch: Batch, label: Tensor, named: Named, target: str) -> Tensor:
    return explanation(Decisions(model, batch, label), named, target)


# What the output does as words go: in the order each explanation gives them, and in any order.


def removals(audit: AuditBatch) -> Iterator[Values]:
    """Under each perturbation the model is asked about each set of words once, whoever asks."""
    only, target = audit.spec.only, TARGETS[audit.spec.target]
    for operator in audit.spec.operators:
        removal = WordRemoval(*audit.decided, operator, target)
        guide = None
        if "importance" in only:
            guide = yield from important_words(audit, removal)
        if "erasure" in only:
            yield from erasure(audit, removal, guide)
        if "eraser" in only and audit.role == "base":
            yield from eraser_erased(audit, removal)
        if "candidates" in only and audit.role == "base":
            found = unsigned_measures(removal, audit.maps, audit.spec.draws, audit.least)
            for name, values in found.items():
                yield Values(values, name, operator)
        if "interactions" in only and audit.role == "base":
            yield from together(audit, removal)


def together(audit: AuditBatch, removal: WordRemoval) -> Iterator[Values]:
    """What pairs of words do beyond what each does alone, and which maps name such pairs."""
    operator = str(removal.operator)
    found, shares = interacting(removal, audit.spec.draws, audit.least)
    yield Values(shares, operator=operator)
    unknown = shares["interaction_share"].isnan()
    named = {**audit.maps, **between_words(audit.forward)}
    for name, captured in interactions_found(found, named).items():
        values = {"interaction_captured": captured.masked_fill(unknown, torch.nan)}
        yield Values(values, name, operator)
    if audit.shown is not None and operator == audit.spec.operators[0]:
        audit.shown.pairs(found, operator)


def important_words(audit: AuditBatch, removal: WordRemoval) -> Generator[Values, None, Tensor]:
    """How many of the words that matter, for or against the decision, each map finds. Returns the
    Shapley values of drawn orders."""
    found, operator = importance(removal, audit.spec.draws), str(removal.operator)
    for name, values in measured(audit.maps, found, audit.least).items():
        yield Values(values, name, operator)
    yield Values(importance_oracle(found, audit.least), ORACLE, operator)
    beside = {**audit.sites, **audit.without_sinks}
    for name, captured in all_captured(beside, found, audit.least).items():
        yield Values({"importance_captured": captured}, name, operator)
    return found.drawn


def erasure(audit: AuditBatch, removal: WordRemoval, guide: Tensor | None) -> Iterator[Values]:
    """Every measure of every map, and the oracle: exact for short texts, found by search for
    longer ones. With a `guide` the search starts where Shapley values point."""
    spec, operator = audit.spec, str(removal.operator)
    starts = dict(audit.maps) if guide is None else {**audit.maps, GUIDE: guide}
    if spec.ceiling:
        all_subsets(removal, spec.exact)
    curves = curves_of(removal, starts if spec.ceiling else audit.maps, GRID)
    shown = {name: curve for name, curve in curves.items() if name != GUIDE}
    for name, curve in shown.items():
        yield Values(faithfulness(curve), name, operator)
    # one perturbation is enough to look at, if it is a probability that falls
    if audit.shown is not None and operator == spec.operators[0] and spec.target == "probability":
        audit.shown.curves(shown, operator)
    if spec.ceiling:
        search = Search(2, spec.ceiling, "" if guide is None else GUIDE, spec.exact)
        best = erasure_oracle(removal, starts, GRID, search, curves)
        yield Values(best.values, ORACLE, operator)
        if audit.role == "base" and best.exact.any():
            rows, gaps = gaps_to_exact(removal, starts, GRID, search, best)
            named = {f"{GAP}{name}": gap for name, gap in gaps.items()}
            yield Values(named, ORACLE, operator, rows)


def eraser_erased(audit: AuditBatch, removal: WordRemoval) -> Iterator[Values]:
    """By ERASER's own bins, and always the probability. What is known is not asked again."""
    if audit.spec.target != "probability":
        removal = replace(removal, target=TARGETS["probability"], memory=Memory())
    for name, curve in curves_of(removal, audit.maps, BINS).items():
        yield Values(eraser_erasure(curve), name, str(removal.operator))


EXPERIMENTS: Mapping[str, Callable[[AuditBatch], Iterator[Values]]] = {
    "interventions": interventions,
    "agreement": agreements,
    "removals": removals,
    "plausibility": plausible,
    "eraser": partial(plausible, eraser=True),
    "counterfactuals": counterfactuals,
    "uniqueness": uniqueness,
    "layers": layers,
    "heads": heads,
    "null_space": free_heads,
    "head_ablation": without_heads,
    "map_sanity": sanity,
    "infidelity": infidelities,
    "input_reduction": reductions,
}
"""By group; `removals` runs where any group asks what happens as words go."""
