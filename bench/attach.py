"""What it costs to have a Hugging Face model attached, beside the model with eager attention.

Both keep the attention weights of every layer (`output_attentions` there, a trace here). On a
GPU peaks are the allocator's; elsewhere they are the process's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from bench.memory import measure
from heedful.edits.uniform import uniform
from heedful.models.hf.attach import attach
from heedful.types import Batch, Edit, SiteCall, Text


@dataclass(frozen=True)
class Cost:
    """Best time and peak memory of one way to run a batch, and both over eager's."""

    name: str
    seconds: float
    peak_mb: float | None
    time_ratio: float
    memory_ratio: float | None


def attach_cost(
    texts: int = 32, length: int = 256, layers: int = 6, repeats: int = 3, device: str = "cpu"
) -> list[Cost]:
    """Texts of unlike length through a random BERT: eager, attached, and under edits."""
    module = _bert(layers, length).to(device)
    batch = _batch(texts, length).to(device)
    with torch.no_grad(), attach(module, {"unk": 1}) as model:
        edits: dict[str, Callable[[], Edit]] = {"identity": lambda: _same, "uniform": uniform}
        work: dict[str, Callable[[], Any]] = {"attached": lambda: model(batch)}
        for name, edit in edits.items():
            everywhere = {site.name: edit() for site in model.sites}
            work[name] = lambda everywhere=everywhere: model(batch, everywhere)
        ours = {name: _measured(each, repeats, device) for name, each in work.items()}
    module.set_attn_implementation("eager")
    with torch.no_grad():
        eager = _measured(lambda: module(**_arguments(batch)), repeats, device)
    return [_cost(name, each, eager) for name, each in {"eager": eager, **ours}.items()]


def _cost(name: str, ours: tuple[float, float | None], eager: tuple[float, float | None]) -> Cost:
    memory = ours[1] / eager[1] if ours[1] and eager[1] else None
    return Cost(name, *ours, ours[0] / eager[0], memory)


def _measured(work: Callable[[], Any], repeats: int, device: str) -> tuple[float, float | None]:
    work()
    if not device.startswith("cuda"):
        measured = measure(work, repeats)
        return measured.seconds, measured.peak_mb
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    times = [_timed(work) for _ in range(repeats)]
    return min(times), (torch.cuda.max_memory_allocated() - before) / 2**20


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - started


def _same(call: SiteCall) -> torch.Tensor:
    return call.weights


def _bert(layers: int, length: int) -> Any:
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig(num_hidden_layers=layers, max_position_embeddings=max(512, length))
    return BertForSequenceClassification(config).eval()


def _batch(texts: int, length: int) -> Batch:
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1000, 20000, (texts, length), generator=generator)
    lengths = torch.randint(length // 2, length + 1, (texts,), generator=generator)
    lengths[0] = length
    mask = torch.arange(length) < lengths[:, None]
    ids = tuple(map(str, range(texts)))
    return Batch(ids, {"a": Text(tokens, lengths, mask)}, torch.zeros(texts, dtype=torch.long))


def _arguments(batch: Batch) -> dict[str, Any]:
    text = batch.texts["a"]
    return {
        "input_ids": text.tokens,
        "attention_mask": text.mask.long(),
        "output_attentions": True,
    }


if __name__ == "__main__":
    for cost in attach_cost(device="cuda" if torch.cuda.is_available() else "cpu"):
        print(cost)
