"""jain2019's experiments as the paper and its authors' code have them, with a packed LSTM."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from scipy.stats import kendalltau
from torch import Tensor, nn

from heedful.data import Split
from heedful.models import Encoding, Gru, OneSequence, Recurrent, run_packed
from heedful.types import Batch, Keep, Text


class Packed(nn.Module):
    def __init__(self, encoder: Recurrent | Gru) -> None:
        super().__init__()
        self.stack = encoder.stack

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        states = x
        for layer in self.stack:
            states = run_packed(layer, states, lengths)
        return Encoding(states, x)


def packed(model: OneSequence) -> OneSequence:
    """The same weights; a model without an LSTM or a GRU is what it was."""
    if not isinstance(model.encoder, Recurrent | Gru):
        return model
    found = copy.copy(model)
    found._modules = dict(model._modules) | {"encoder": Packed(model.encoder)}
    return found


# The papers' passes: batches of 32 of like length, single precision, states kept.


BATCH = 32


@dataclass(frozen=True)
class Kept:
    """What the experiments on attention go on from."""

    batch: Batch
    states: Tensor
    attention: Tensor
    p: Tensor


def forward(model: OneSequence, data: Split) -> list[Kept]:
    return [_forward(model, batch) for batch in batches(model, data)]


def batches(model: OneSequence, data: Split) -> Iterator[Batch]:
    """Where the model is."""
    device = next(model.parameters()).device
    return (batch.to(device) for _, batch in data.batches(BATCH))


def _forward(model: OneSequence, batch: Batch) -> Kept:
    with torch.no_grad():
        trace = model(batch, keep=Keep(states=True))
        p = torch.sigmoid(trace.logits[:, 0])
    return Kept(batch, trace.states["attention"], trace.weights["attention"][:, 0, 0], p)


def spread(kept: list[Kept], count: int) -> list[Kept]:
    """`count` batches from the middles of `count` equal parts of all batches."""
    count = min(count, len(kept))
    return [kept[int((i + 0.5) * len(kept) / count)] for i in range(count)]


def by_example(batches: Sequence[Batch], scores: Sequence[Tensor]) -> dict[str, Tensor]:
    """Scores of real tokens by example, whatever the batches were."""
    found = {}
    for batch, values in zip(batches, scores, strict=True):
        masks = batch.texts["a"].mask.cpu()
        for name, row, mask in zip(batch.ids, values.cpu(), masks, strict=True):
            found[name] = row[mask]
    return found


# jain2019, experiment 1: |Σ_d ∂ŷ/∂e · e| with attention detached.


def gradient(model: OneSequence, data: Split) -> dict[str, Tensor]:
    every = list(batches(model, data))
    return by_example(every, [_gradient(model, batch) for batch in every])


def _gradient(model: OneSequence, batch: Batch) -> Tensor:
    text = batch.texts["a"]
    embedded = model.embedding(text.tokens).detach().requires_grad_()
    states = model.encoder(embedded, text.lengths).states
    scores = model.attention(states).masked_fill(~text.mask, float("-inf"))
    attention = torch.softmax(scores, -1).detach()
    p = torch.sigmoid(model.decoder(torch.einsum("bt,btd->bd", attention, states)))
    (slope,) = torch.autograd.grad(p.sum(), embedded)
    return (slope * embedded.detach()).sum(-1).abs()


# jain2019, experiment 2: the model is run again without each token in turn.


def each_left_out(model: OneSequence, kept: list[Kept]) -> dict[str, Tensor]:
    scores = [_leave_one_out(model, each.batch, each.p) for each in kept]
    return by_example([each.batch for each in kept], scores)


def _leave_one_out(model: OneSequence, batch: Batch, p: Tensor) -> Tensor:
    """One run per position for the texts that have it; texts are sorted, so nearly all do."""
    mask = batch.texts["a"].mask
    moved = torch.zeros(mask.shape, device=mask.device)
    with torch.no_grad():
        for position in range(1, int(batch.texts["a"].lengths.max()) - 1):
            rows = mask[:, position].nonzero().squeeze(1)
            logits = model(_without(batch, rows, position)).logits
            moved[rows, position] = (torch.sigmoid(logits[:, 0]) - p[rows]).abs()
    return moved


def _without(batch: Batch, rows: Tensor, position: int) -> Batch:
    text = batch.texts["a"]
    tokens = text.tokens[rows]
    tokens = torch.cat([tokens[:, :position], tokens[:, position + 1 :]], 1)
    lengths = text.lengths[rows] - 1
    place = torch.arange(tokens.shape[1], device=tokens.device)
    shorter = Text(tokens, lengths, (place > 0) & (place < lengths[:, None] - 1))
    return Batch(tuple(batch.ids[i] for i in rows.tolist()), {"a": shorter}, batch.labels[rows])


# jain2019, experiment 3: SciPy's τ-b, example by example, as the authors did it.


Scores = dict[str, Tensor]


def kendall(attention: Scores, gradient: Scores, loo: Scores) -> dict[str, tuple[float, float]]:
    """τ of attention with gradients and with leave-one-out, by example."""
    found = {}
    for name, weights in attention.items():
        a = weights.numpy()
        first, second = (kendalltau(a, other[name].numpy()) for other in (gradient, loo))
        found[name] = (float(first.statistic), float(second.statistic))
    return found


# jain2019, experiment 4: the median change of the output over 100 permutations.


PERMUTATIONS = 100


def permuted(model: OneSequence, kept: list[Kept]) -> dict[str, float]:
    """Median TVD by example."""
    device = next(model.parameters()).device
    generator = torch.Generator(device).manual_seed(0)
    found: dict[str, float] = {}
    with torch.no_grad():
        for each in kept:
            medians = _medians(model, each, generator)
            found |= dict(zip(each.batch.ids, medians.tolist(), strict=True))
    return found


def _medians(model: OneSequence, each: Kept, generator: torch.Generator) -> Tensor:
    # without the start token the real tokens come first in every row
    mask, attention = each.batch.texts["a"].mask[:, 1:], each.attention[:, 1:]
    states = each.states[:, 1:]
    moved = []
    for _ in range(PERMUTATIONS):
        draw = torch.rand(mask.shape, generator=generator, device=mask.device)
        order = draw.masked_fill(~mask, 2.0).argsort(-1)
        context = torch.einsum("bt,btd->bd", attention.gather(1, order), states)
        moved.append((torch.sigmoid(model.decoder(context)[:, 0]) - each.p).abs())
    return torch.stack(moved).quantile(0.5, dim=0)


# jain2019, experiment 5: K candidates, AMSGrad, a penalty on outputs that move by more than ε.
#
# Minimised: Σ_i [−JSD(α_i, α̂) + λ·max(0, TVD_i − ε)] − mean pairwise JSD, as the authors coded it.


CANDIDATES, RATE, PENALTY, EPSILON = 5, 0.01, 500.0, 0.01


def adversary(model: OneSequence, kept: list[Kept], steps: int) -> dict[str, float]:
    """ε-max JSD by example: of the last candidates, the furthest that moves the output by ≤ ε."""
    torch.manual_seed(0)
    found: dict[str, float] = {}
    for each in kept:
        found |= dict(zip(each.batch.ids, _search(model, each, steps).tolist(), strict=True))
    return found


def _search(model: OneSequence, each: Kept, steps: int) -> Tensor:
    mask = each.batch.texts["a"].mask
    attention = each.attention[:, None]
    start = 3 * torch.randn(len(mask), CANDIDATES, mask.shape[1], device=mask.device)
    logits = start.masked_fill(~mask[:, None], -1e4).requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=RATE, amsgrad=True)
    upper = torch.triu_indices(CANDIDATES, CANDIDATES, 1, device=mask.device)
    for _ in range(steps):
        weights = torch.softmax(logits, -1)
        moved = _moved(model, each, weights)
        apart = _jsd(weights, attention)
        pairs = _jsd(weights[:, upper[0]], weights[:, upper[1]]).mean(-1)
        penalty = PENALTY * (moved - EPSILON).clamp_min(0)
        loss = ((penalty - apart).sum(-1) - pairs).sum()
        optimizer.zero_grad()
        (logits.grad,) = torch.autograd.grad(loss, logits)
        optimizer.step()
    with torch.no_grad():
        weights = torch.softmax(logits, -1)
        feasible = _moved(model, each, weights) <= EPSILON
        return torch.where(feasible, _jsd(weights, attention), 0.0).amax(-1)


def _moved(model: OneSequence, each: Kept, weights: Tensor) -> Tensor:
    context = torch.bmm(weights, each.states)
    return (torch.sigmoid(model.decoder(context)[..., 0]) - each.p[:, None]).abs()


def _jsd(p: Tensor, q: Tensor) -> Tensor:
    middle = ((p + q) / 2).clamp_min(1e-30).log()
    p_log, q_log = p.clamp_min(1e-30).log(), q.clamp_min(1e-30).log()
    return 0.5 * (p * (p_log - middle) + q * (q_log - middle)).sum(-1)
