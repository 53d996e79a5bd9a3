"""What it costs to have a Hugging Face model attached, beside the model with eager attention.

Both keep the attention weights of every layer (`output_attentions` there, a trace here).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from bench.measure import Cost, Measured, Row, Setting, measure
from heedful.interventions import uniform
from heedful.models import attach
from heedful.types import Batch, Edit, SiteCall, Text


@dataclass(frozen=True)
class Size:
    texts: int
    length: int
    layers: int
    width: int


FULL, QUICK = Size(32, 256, 6, 768), Size(4, 16, 2, 48)


def rows(setting: Setting) -> Iterator[Row]:
    """Texts of unlike length through a random BERT: eager, attached, and under edits."""
    size = QUICK if setting.quick else FULL
    module = _bert(size).to(setting.device)
    batch = _batch(size.texts, size.length).to(setting.device)
    with torch.no_grad(), attach(module, {"unk": 1}) as model:
        edits: dict[str, Callable[[], Edit]] = {"identity edit": lambda: _same, "uniform": uniform}
        work: dict[str, Callable[[], Any]] = {"no edit": lambda: model(batch)}
        for name, edit in edits.items():
            everywhere = {site.name: edit() for site in model.sites}
            work[name] = lambda everywhere=everywhere: model(batch, everywhere)
        ours = {name: _measured(each, setting) for name, each in work.items()}
    module.set_attn_implementation("eager")
    with torch.no_grad():
        eager = Cost.of(_measured(lambda: module(**_arguments(batch)), setting))
    bert = f"BERT of {size.layers} layers of {size.width}"
    what = f"{size.texts} texts of up to {size.length} tokens, {bert}"
    for name, each in ours.items():
        yield Row("attach", name, what, "eager", eager, Cost.of(each))


def _measured(work: Callable[[], Any], setting: Setting) -> Measured:
    work()
    return measure(work, setting.repeats)


def _same(call: SiteCall) -> torch.Tensor:
    return call.weights


def _bert(size: Size) -> Any:
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=size.width, intermediate_size=4 * size.width, num_hidden_layers=size.layers
    )
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
