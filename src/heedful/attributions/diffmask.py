"""DiffMask: a small network learns which tokens can be masked (De Cao et al. 2020).

From a token's embedding and its state it says how probably the token must stay. It learns from
other texts than those it is asked about, without labels: as few tokens as possible, as long as the
model says nearly the same with all others replaced by one learned vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.attributions.attention import text_site, values_of
from heedful.entries import SHARE, Attribution
from heedful.errors import HeedfulError
from heedful.models import class_logits
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Batch, Keep, Model

TEMPERATURE, LOW, HIGH = 0.2, -0.2, 1.2
_HIDDEN, _TEXTS = 64, 16
_RATE, _RATE_VECTOR, _RATE_MULTIPLIER = 1e-2, 1e-3, 1.0
_MULTIPLIER = 1.0
"""The weight of the divergence at first, when the gates begin to close."""
_OPEN = 2.0
"""Where the logits of the gates begin: nearly all tokens stay."""


@dataclass(frozen=True)
class HardConcrete:
    """A random gate that is often exactly 0 or exactly 1, and that gradients pass through (Louizos
    et al. 2018): a binary concrete variable, stretched to (−0.2, 1.2) and cut off at 0 and 1."""

    logits: Float[Tensor, "*n"]

    def p_open(self) -> Float[Tensor, "*n"]:
        """How probably the gate is not 0: its expected L0."""
        return torch.sigmoid(self.logits - TEMPERATURE * _LOG_RATIO)

    def sample(self, draws: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
        """From uniform draws in (0, 1)."""
        soft = torch.sigmoid((draws.log() - (-draws).log1p() + self.logits) / TEMPERATURE)
        return (LOW + (HIGH - LOW) * soft).clamp(0, 1)


_LOG_RATIO = float(torch.tensor(-LOW / HIGH).log())


class Probe(nn.Module):
    """Gates of tokens, and the vector that takes the place of masked ones."""

    def __init__(self, embedding: int, state: int) -> None:
        super().__init__()
        self.embedding_norm = nn.LayerNorm(embedding, elementwise_affine=False)
        self.state_norm = nn.LayerNorm(state, elementwise_affine=False)
        self.hidden = nn.Linear(embedding + state, _HIDDEN)
        self.gate = nn.Linear(_HIDDEN, 1)
        nn.init.zeros_(self.gate.weight)
        nn.init.constant_(self.gate.bias, _OPEN)
        self.vector = nn.Parameter(torch.zeros(embedding))

    def forward(self, seen: Seen) -> HardConcrete:
        """Of each token."""
        parts = [self.embedding_norm(seen.embedded), self.state_norm(seen.states)]
        logits: Tensor = self.gate(torch.tanh(self.hidden(torch.cat(parts, -1))))
        return HardConcrete(logits.squeeze(-1))


@dataclass(frozen=True)
class Seen:
    """What the model made of a batch: the probe's inputs, and the output to be kept."""

    embedded: Float[Tensor, "b t e"]
    states: Float[Tensor, "b t s"]
    logits: Float[Tensor, "b c"]


@torch.no_grad()
def seen(model: Model, batch: Batch) -> Seen:
    """A token's state is what the attention on trial mixes of it, all heads beside each other."""
    site = text_site(model)
    trace = model(batch, keep=Keep(values=True))
    values = values_of(trace, site)
    embedded = model.embed(batch)["a"].detach()
    states = values.transpose(1, 2).flatten(2).detach()
    if states.shape[:2] != embedded.shape[:2]:
        raise HeedfulError(
            "diffmask needs a state for each token, and this model's last attention is of "
            "something else: leave diffmask out."
        )
    return Seen(embedded, states.to(embedded.dtype), trace.logits.detach())


def fit_diffmask(
    model: Model,
    texts: Iterable[Batch],
    divergence: float = 0.1,
    steps: int = 400,
    seed: int = 0,
) -> Probe:
    """Learn from texts, a few at a time, again and again for so many steps. The mean KL divergence
    between the model's output and that of masked texts is to be `divergence` at most: its weight
    grows while it is larger, and falls while it is less (a Lagrangian)."""
    few = [part for batch in texts for part in _parts(batch)]
    if not few:
        raise HeedfulError("diffmask learns from other texts, and there are none: give more texts.")
    first = seen(model, few[0])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        probe = Probe(first.embedded.shape[-1], first.states.shape[-1])
        rounds = [torch.randperm(len(few)) for _ in range(-(-steps // len(few)))]
    probe = probe.to(first.embedded)
    network = [p for name, p in probe.named_parameters() if name != "vector"]
    groups = [{"params": network, "lr": _RATE}, {"params": [probe.vector], "lr": _RATE_VECTOR}]
    optimizer, multiplier = torch.optim.Adam(groups), _MULTIPLIER
    parameters = list(probe.parameters())
    for step in range(steps):
        batch = few[int(rounds[step // len(few)][step % len(few)])]
        what = seen(model, batch)
        with torch.enable_grad():
            gates = probe(what)
            length, distance = _terms(model, batch, what, gates, probe.vector, (seed, step))
            slopes = torch.autograd.grad(length + multiplier * distance, parameters)
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.grad = slope
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        multiplier = max(
            0.0, multiplier + _RATE_MULTIPLIER * (float(distance.detach()) - divergence)
        )
    return probe.requires_grad_(False)


def _terms(
    model: Model,
    batch: Batch,
    what: Seen,
    gates: HardConcrete,
    vector: Tensor,
    draw: tuple[int, int],
) -> tuple[Tensor, Tensor]:
    """The expected share of tokens that stay, and KL from the output to that of drawn masks. Only
    tokens of the text are masked."""
    mask = batch.texts["a"].mask
    keys = example_keys(draw[0], batch.ids, "diffmask", draw[1]).to(mask.device)
    draws = keyed_uniform(keys, (mask.shape[1],)).to(what.embedded.dtype)
    kept = torch.where(mask, gates.sample(draws), 1.0)[..., None]
    mixed = kept * what.embedded + (1 - kept) * vector
    again = model(batch, keep=Keep(weights=False), embeddings={"a": mixed}).logits
    own, other = (class_logits(each).log_softmax(-1) for each in (what.logits, again))
    distance = F.kl_div(other, own, reduction="batchmean", log_target=True)
    share = torch.where(mask, gates.p_open(), 0.0).sum(-1) / mask.sum(-1).clamp_min(1)
    return share.mean(), distance


def _parts(batch: Batch) -> Iterator[Batch]:
    for rows in torch.split(torch.arange(len(batch), device=batch.labels.device), _TEXTS):
        yield batch if len(rows) == len(batch) else batch.take(rows)


def diffmask(
    model: Model,
    batch: Batch,
    texts: Probe | Iterable[Batch] | None = None,
    divergence: float = 0.1,
    steps: int = 400,
    seed: int = 0,
) -> Float[Tensor, "b t"]:
    """How probably each token has to stay, by a probe that learned from other `texts`; zero where
    no token is."""
    if texts is None:
        raise HeedfulError(
            "diffmask learns from other texts than those it scores: use it in an audit, or give "
            "texts= some batches."
        )
    probe = (
        texts if isinstance(texts, Probe) else fit_diffmask(model, texts, divergence, steps, seed)
    )
    scores: Tensor = probe(seen(model, batch)).p_open().double() * batch.texts["a"].mask
    return scores


ENTRY = Attribution(
    name="diffmask",
    description="how probably each token must stay for the output to stay, by a learned mask",
    make=diffmask,
    fit=fit_diffmask,
    uses=("zero",),
    signed=False,
    bounds={"divergence": (1e-4, 10.0), "steps": (1, 100_000)},
    paper="decao2020",
    formula="P(z_t ≠ 0), z from min E[Σ z ≠ 0] subject to E[KL(f(x) ‖ f(z x + (1 − z) b))] ≤ m",
    range=SHARE,
    higher="the token must stay for the model to say the same",
    cost=(
        "learning: two probes of 400 steps, each a forward and a backward pass of 16 texts; then "
        "one pass for each text; estimates leave the learning out"
    ),
    limits=(
        "It learns from the unlabelled texts of the audit: each half teaches the mask of the "
        "other, so few texts make it poor. With an engine each worker learns anew. Masked tokens "
        "become a learned vector that begins at zero, so it is not scored by `zero`."
    ),
)
