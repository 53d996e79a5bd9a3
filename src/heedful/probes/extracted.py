"""How short a rationale keeps the decision, and does attention lie in it? (mohankumar2020)

The rationale is what a small network, learned on the training split, selects: tokens that the
model decides the same from when it sees nothing else. They are cut out of the text, or taken
out by another removal operator.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heedful.catalogue import SHARE, Measure, Piece
from heedful.errors import HeedfulError
from heedful.metrics import mass_inside
from heedful.models import probabilities
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings, Pass
from heedful.probes.extracted_learning import Extractor, Learning, alone, learned
from heedful.randomness import example_keys, keyed_bits
from heedful.types import AttentionRows


def extracted(
    evidence: Evidence,
    epochs: int = 8,
    sparsity: float = 0.5,
    seed: int = 0,
    limit: int = 2000,
    operator: str = "delete",
) -> Findings:
    """Beside the rationale as many tokens drawn at random, without which its worth cannot be
    read; even attention has `share_extracted` of its mass inside.

    With a `sparsity` above log 2 a model of two classes that reads nothing, and so is undecided,
    may cost less than one that reads all: rationales get short, and decisions are lost."""
    learning = Learning(epochs, sparsity, evidence.seed + seed, limit, operator)
    _check(learning)
    assert evidence.training is not None  # the piece needs it
    extractor = learned(evidence.models["base"], evidence.training, learning, evidence.device)
    collector = Collector(evidence.data.ids)
    for each in evidence.passes("extracted"):
        chosen, facts = _selected(extractor, each, learning)
        for site in evidence.sites:
            view = each.rows(site)
            some = {name: values[view.example] for name, values in facts.items()}
            collector.add(each, site, view, some | _attended(view, chosen[view.example]))
            collector.add_maps(each, site, view, {"extracted": chosen[view.example]})
    return Findings(collector.rows(), collector.maps())


def _check(learning: Learning) -> None:
    if learning.epochs < 1 or learning.limit < 1 or not 0 <= learning.sparsity < 1e3:
        raise HeedfulError(
            "the probe 'extracted' needs epochs and limit of at least 1, and a sparsity that is "
            "small and not negative."
        )


def _selected(
    extractor: Extractor, each: Pass, learning: Learning
) -> tuple[Bool[Tensor, "b t"], dict[str, Tensor]]:
    """The likelier selection, and whether the decision stays without the rest."""
    mask = each.batch.texts["a"].mask
    with torch.no_grad():
        logits = extractor(each.batch, each.model.embed(each.batch))
    chosen = (logits > 0) & mask
    count = chosen.sum(-1)
    both = torch.stack([chosen, _random(each, count, learning.seed)], 1)
    decisions = probabilities(alone(each.model, each.batch, both, learning.operator)).argmax(-1)
    kept = (decisions == each.predicted[:, None]).double()
    length = count.double() / mask.sum(-1)
    return chosen, {"length": length, "kept": kept[:, 0], "kept_random": kept[:, 1]}


def _random(each: Pass, count: Int[Tensor, " b"], seed: int) -> Bool[Tensor, "b t"]:
    """As many tokens of each text."""
    mask = each.batch.texts["a"].mask
    keys = example_keys(seed, each.batch.ids, "extracted", "random").to(mask.device)
    bits = keyed_bits(keys, (mask.shape[1],)).masked_fill(~mask, (1 << 63) - 1)
    return bits.argsort(-1).argsort(-1) < count[:, None]


def _attended(view: AttentionRows, chosen: Tensor) -> dict[str, Tensor]:
    return {
        "mass_extracted": mass_inside(view.weights.double(), chosen, view.mask),
        "share_extracted": mass_inside(view.mask.double(), chosen, view.mask),
    }


PIECE = Piece(
    name="extracted",
    description="tokens that keep the decision by themselves, and the attention on them",
    make=extracted,
    bounds={"epochs": (1, 10_000), "sparsity": (0, 1000), "limit": (1, 10**6)},
    paper="mohankumar2020",
    needs=("tokens", "classes", "training"),
    measures={
        "length": Measure("share of the tokens in the extracted rationale", False, range=SHARE),
        "kept": Measure("1 where the rationale alone keeps the decision", True, range=SHARE),
        "kept_random": Measure(
            "1 where as many tokens drawn at random keep the decision", range=SHARE
        ),
        "mass_extracted": Measure(
            "share of attention on the extracted rationale", True, range=SHARE
        ),
        "share_extracted": Measure(
            "share of the tokens in it: what even attention has", range=SHARE
        ),
    },
    formula=(
        "max over selections m of E[ln p(the model's decision | tokens in m)] − sparsity · "
        "E[|m| / n], learned by REINFORCE"
    ),
    higher=(
        "of `length`: more is needed to keep the decision; of `kept` and `mass_extracted`: the "
        "rationale suffices, attention lies in it"
    ),
    cost="8 epochs over up to 2,000 training texts, 4 selections of each",
    limits=(
        "What a small network found, not the shortest there is; and a text cut to pieces is "
        "read out of its training distribution."
    ),
)
