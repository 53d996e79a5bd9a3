"""How short a rationale keeps the decision, and does attention lie in it? (mohankumar2020)

The rationale is what a small network, learned on the training split, selects: tokens that the
model decides the same from when it sees nothing else. They are cut out of the text, or taken
out by another removal operator.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.data import Split
from heedful.entries import Experiment, share
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Collector, Evidence, Findings, ForwardBatch
from heedful.hashing import stable_hash
from heedful.metrics import mass_inside
from heedful.models import loss, probabilities
from heedful.perturbations import removed_many
from heedful.randomness import example_keys, keyed_bits, keyed_uniform
from heedful.training import bucketed
from heedful.types import Batch, Embeddings, Keep, Model
from heedful.words import present, to_words


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
    if epochs < 1 or limit < 1 or not 0 <= sparsity < 1e3:
        raise HeedfulError(
            "the probe 'extracted' needs epochs and limit of at least 1, and a sparsity that is "
            "small and not negative."
        )
    assert evidence.training is not None  # the piece needs it
    extractor = learned(evidence.models["base"], evidence.training, learning, evidence.device)
    collector = Collector(evidence.data.ids)
    for forward in evidence.passes("extracted"):
        chosen, facts = _selected(extractor, forward, learning)
        for site in evidence.sites:
            view = forward.rows(site)
            inside = chosen[view.example]
            measures = {name: values[view.example] for name, values in facts.items()}
            measures["mass_extracted"] = mass_inside(view.weights.double(), inside, view.mask)
            measures["share_extracted"] = mass_inside(view.mask.double(), inside, view.mask)
            collector.add(forward, site, view, measures)
            collector.add_maps(forward, site, view, {"extracted": inside})
    return Findings(collector.rows(), collector.maps())


def _selected(
    extractor: Extractor, forward: ForwardBatch, learning: Learning
) -> tuple[Bool[Tensor, "b t"], dict[str, Tensor]]:
    """The likelier selection, and whether the decision stays without the rest."""
    mask = forward.batch.texts["a"].mask
    with torch.no_grad():
        logits = extractor(forward.batch, forward.model.embed(forward.batch))
    chosen = (logits > 0) & mask
    count = chosen.sum(-1)
    both = torch.stack([chosen, _random(forward, count, learning.seed)], 1)
    logits = alone(forward.model, forward.batch, both, learning.operator)
    decisions = probabilities(logits).argmax(-1)
    kept = (decisions == forward.predicted[:, None]).double()
    length = count.double() / mask.sum(-1)
    return chosen, {"length": length, "kept": kept[:, 0], "kept_random": kept[:, 1]}


def _random(forward: ForwardBatch, count: Int[Tensor, " b"], seed: int) -> Bool[Tensor, "b t"]:
    """As many tokens of each text."""
    mask = forward.batch.texts["a"].mask
    keys = example_keys(seed, forward.batch.ids, "extracted", "random").to(mask.device)
    bits = keyed_bits(keys, (mask.shape[1],)).masked_fill(~mask, (1 << 63) - 1)
    return bits.argsort(-1).argsort(-1) < count[:, None]


# A rationale extractor, learned by REINFORCE (Williams 1992; as mohankumar2020 uses it).
#
# A small network sees the model's own embeddings, which stay as they are, and says of each
# token how likely it is to be selected. Selections are drawn, the model reads what is left of
# the text, and is to decide as it did on the whole: the reward is the log-likelihood of its own
# decision less `sparsity` times the share of tokens selected. The expectation of that share is
# known, so its gradient is taken as it is, not estimated from draws.


_HIDDEN, _WINDOW = 32, 3

_RATE, _BATCH, _DRAWS = 1e-2, 32, 4

_MEMORY = 0.9  # of the running mean of rewards

_WIDE = 1.0  # a logit: at first most tokens are selected, so that the decision is mostly kept


@dataclass(frozen=True)
class Learning:
    """How the extractor learns; from at most `limit` texts, drawn by the seed."""

    epochs: int
    sparsity: float
    seed: int
    limit: int
    operator: str


class Extractor(nn.Module):
    """A token's logit from its own embedding, its neighbours' and, of a pair of texts, the mean
    of the other's."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.near = nn.Conv1d(width, _HIDDEN, _WINDOW, padding=_WINDOW // 2)
        self.other = nn.Linear(width, _HIDDEN, bias=False)
        self.choose = nn.Linear(_HIDDEN, 1)
        nn.init.constant_(self.choose.bias, _WIDE)

    def forward(self, batch: Batch, embedded: Embeddings) -> Float[Tensor, "b t"]:
        x = embedded["a"] * present(batch.texts["a"])[..., None]
        hidden = self.near(x.transpose(1, 2)).transpose(1, 2)
        if "b" in embedded:
            there = present(batch.texts["b"])[..., None]
            mean = (embedded["b"] * there).sum(1) / there.sum(1)
            hidden = hidden + self.other(mean.to(x.dtype))[:, None]
        logits: Tensor = self.choose(torch.tanh(hidden)).squeeze(-1)
        return logits


def learned(model: Model, data: Split, learning: Learning, device: str) -> Extractor:
    """Batches and draws depend on the seed and the texts alone, not on their order."""
    seed = stable_hash(learning.seed, "extracted")
    data = _some(data, seed, learning.limit)
    extractor = _fresh(model, data.batch([0]).to(device), seed)
    optimizer = torch.optim.Adam(extractor.parameters(), lr=_RATE)
    usual: Tensor | None = None
    for epoch in range(learning.epochs):
        for index in bucketed(data.lengths, _BATCH, seed, epoch):
            batch = data.batch(index).to(device)
            logits = extractor(batch, model.embed(batch))
            chosen = drawn(logits, batch, seed, epoch)
            rewards = _rewards(model, batch, chosen, learning.operator)
            usual = rewards.mean() if usual is None else usual
            optimizer.zero_grad()
            surprise(logits, chosen, rewards - usual, batch, learning.sparsity).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            usual = _MEMORY * usual + (1 - _MEMORY) * rewards.mean()
    return extractor.eval()


def _some(data: Split, seed: int, limit: int) -> Split:
    """Texts in an order of their own; one without tokens has nothing to select."""
    there = (int(i) for i in data.lengths.nonzero()[0])
    order = sorted(there, key=lambda i: stable_hash(seed, data.ids[i]))
    if not order:
        raise HeedfulError("the training split has no texts with tokens: the probe needs some.")
    return data.subset(order[:limit])


def _fresh(model: Model, batch: Batch, seed: int) -> Extractor:
    embedded = model.embed(batch)["a"]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Extractor(embedded.shape[-1]).to(embedded)


def drawn(
    logits: Float[Tensor, "b t"], batch: Batch, seed: int, epoch: int
) -> Bool[Tensor, "b m t"]:
    """Several selections of each text's tokens."""
    keys = example_keys(seed, batch.ids, "draws", epoch)
    uniform = keyed_uniform(keys, (_DRAWS, logits.shape[1])).to(logits.device)
    chances = torch.sigmoid(logits.detach().double())
    return (uniform < chances[:, None]) & batch.texts["a"].mask[:, None]


def surprise(
    logits: Float[Tensor, "b t"],
    chosen: Bool[Tensor, "b m t"],
    advantages: Float[Tensor, "b m"],
    batch: Batch,
    sparsity: float,
) -> Float[Tensor, ""]:
    """What is minimised: its gradient is minus an unbiased estimate of the mean reward's."""
    mask = batch.texts["a"].mask
    wide = logits[:, None].expand(chosen.shape)
    likelihoods = -F.binary_cross_entropy_with_logits(wide, chosen.to(wide), reduction="none")
    total = (likelihoods * mask[:, None]).sum(-1)
    share = (torch.sigmoid(logits) * mask).sum(-1) / mask.sum(-1).clamp_min(1)
    return -(advantages.to(total) * total).mean() + sparsity * share.mean()


def alone(
    model: Model, batch: Batch, chosen: Bool[Tensor, "b m t"], operator: str
) -> Float[Tensor, "b m c"]:
    """Logits of the chosen tokens without the others."""
    b, m, _ = chosen.shape
    gone = ~chosen & batch.texts["a"].mask[:, None]
    rows = torch.arange(b, device=gone.device).repeat_interleave(m)
    words = to_words(gone.flatten(0, 1).double(), batch.texts["a"].map(lambda x: x[rows])) > 0
    return removed_many(model, batch, words.reshape(b, m, -1), operator)


def _rewards(
    model: Model, batch: Batch, chosen: Bool[Tensor, "b m t"], operator: str
) -> Float[Tensor, "b m"]:
    """The log-likelihood of the model's own decision."""
    logits = alone(model, batch, chosen, operator)
    with torch.no_grad():
        own = probabilities(model(batch, keep=Keep(weights=False)).logits).argmax(-1)
    label = own.repeat_interleave(logits.shape[1])
    return -loss(logits.flatten(0, 1), label).reshape(logits.shape[:2])


ENTRY = Experiment(
    name="extracted",
    description="tokens that keep the decision by themselves, and the attention on them",
    make=extracted,
    bounds={"epochs": (1, 10_000), "sparsity": (0, 1000), "limit": (1, 10**6)},
    paper="mohankumar2020",
    needs=("tokens", "classes", "training"),
    measures={
        "length": share("share of the tokens in the extracted rationale", False),
        "kept": share("1 where the rationale alone keeps the decision", True),
        "kept_random": share("1 where as many tokens drawn at random keep the decision"),
        "mass_extracted": share("share of attention on the extracted rationale", True),
        "share_extracted": share("share of the tokens in it: what even attention has"),
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
