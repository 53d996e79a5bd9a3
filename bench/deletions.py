"""Leave-one-out by length: the naive way, a re-run per deletion, beside `leave_one_out_logits`.

One text of each length. Long texts have too many deletions for the naive way: it is timed on
deletions spread evenly over the text, whole batches of them, and scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from bench.jain2019_reference import packed
from bench.measure import Cost, Measured, Row, Setting, joined, measure
from heedful.models import attach, build
from heedful.specs import ModelSpec
from heedful.types import Batch, Model, Text

VOCABULARY, EMBEDDING, LONGEST = 5000, 300, 2002
START, END, FIRST = 2, 3, 4
UNFORGETTING = (
    "unforgetting"  # a BiLSTM after each deletion of which there is no way but to the end
)
OPEN = 12.0  # of a gate, before the sigmoid


@contextmanager
def models(encoder: str, setting: Setting) -> Iterator[tuple[Model, Model]]:
    """Ours, and the same weights for the naive way: an LSTM packed, as the papers have it."""
    if encoder == "bert":
        with attach(_bert().to(setting.device), {"unk": 1}) as model:
            yield model, model
        return
    vectors = torch.randn(VOCABULARY, EMBEDDING, generator=torch.Generator().manual_seed(0))
    name = "bilstm" if encoder == UNFORGETTING else encoder
    built: Any = build(ModelSpec(name, "additive"), vectors, 2, seed=0)
    if encoder == UNFORGETTING:
        _remember(built.encoder.stack[0])
    built = built.to(setting.device).eval()
    yield built, packed(built)


@torch.no_grad()
def _remember(layer: Any) -> None:
    """Opens the forget gates: cells keep all that they have read."""
    for bias in (layer.bias_ih_l0, layer.bias_ih_l0_reverse):
        bias[layer.hidden_size : 2 * layer.hidden_size] = OPEN


def text_of(length: int) -> Batch:
    generator = torch.Generator().manual_seed(length)
    words = torch.randint(FIRST, VOCABULARY, (length,), generator=generator)
    return batch_of(torch.cat([torch.tensor([START]), words, torch.tensor([END])])[None])


def batch_of(tokens: Tensor) -> Batch:
    """Texts of one length between start and end."""
    lengths = torch.full((len(tokens),), tokens.shape[1], device=tokens.device)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    mask[:, [0, -1]] = False
    ids = tuple(map(str, range(len(tokens))))
    return Batch(ids, {"a": Text(tokens, lengths, mask)}, torch.zeros_like(lengths))


def _bert() -> Any:
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=256,
        max_position_embeddings=LONGEST,
    )
    return transformers.BertForSequenceClassification(config).eval()


LENGTHS, QUICK = (25, 250, 2000), (4, 6, 9)
BATCH, MOST = 32, 64  # deletions at once, and deletions the naive way is timed on
CLOSE = 1e-3  # what single precision leaves of logits after thousands of steps
LONG = 5.0  # seconds after which one run is enough


def rows(encoder: str, setting: Setting) -> Iterator[Row]:
    """One row a length; the last says how both times grow between the last two lengths."""
    found: list[Row] = []
    with models(encoder, setting) as (model, naive):
        _row(model, naive, text_of(QUICK[0]).to(setting.device), Setting(True))  # warm
        for length in QUICK if setting.quick else LENGTHS:
            found.append(_row(model, naive, text_of(length).to(setting.device), setting))
            last = len(found) == 3
            note = joined(found[-1].note, _growth(*found[1:]) if last else "")
            yield replace(found[-1], part=encoder, note=note)


def _row(model: Model, naive: Model, batch: Batch, setting: Setting) -> Row:
    """A model that starts anew for each deletion too is given the same sample."""
    text = batch.texts["a"]
    length = int(text.mask.sum())
    again = not all(site.linear for site in model.sites)
    places = _spread(text.mask[0].nonzero().flatten(), BATCH if again else MOST)
    scale = length / len(places)
    some = _only(batch, places) if again else batch
    theirs = _timed(lambda: _rerun(naive, batch, places), setting, scale)
    ours = _timed(lambda: model.leave_one_out_logits(some), setting, scale if again else 1.0)
    apart = (ours.value.less[0, places].double() - theirs.value.double()).abs().max()
    if not apart < CLOSE:
        raise ValueError(f"logits differ by {float(apart):.2g} after a deletion")
    whose = "both" if again else "naive"
    scaled = f"{whose} timed on {len(places)} deletions" if scale > 1 else ""
    note = joined(scaled, f"logits within {float(apart):.1g}")
    costs = Cost.of(theirs), Cost.of(ours)
    return Row("deletions", "", f"T = {length:,}", f"naive, {BATCH} at once", *costs, note)


def _timed(work: Callable[[], Any], setting: Setting, scale: float) -> Measured:
    """Short work often, as it is a matter of milliseconds; long work once."""
    found = measure(work, 1, scale)
    if setting.quick or found.seconds / scale > LONG:
        return found
    return replace(found, seconds=min(found.seconds, measure(work, 6, scale, LONG).seconds))


def _growth(short: Row, long: Row) -> str:
    """The exponents k of time ~ T^k between two lengths."""
    assert short.theirs is not None and long.theirs is not None
    lengths = [int(row.size.removeprefix("T = ").replace(",", "")) for row in (short, long)]
    far = math.log(lengths[1] / lengths[0])
    naive = math.log(long.theirs.seconds / short.theirs.seconds) / far
    ours = math.log(long.ours.seconds / short.ours.seconds) / far
    return f"growth from T = {lengths[0]:,}: naive T^{naive:.1f}, ours T^{ours:.1f}"


def _rerun(model: Model, batch: Batch, places: Tensor) -> Tensor:
    """Logits of the text without the token at each place."""
    with torch.no_grad():
        return torch.cat([model(_without(batch, some)).logits for some in places.split(BATCH)])


def _without(batch: Batch, places: Tensor) -> Batch:
    tokens = batch.texts["a"].tokens[0]
    kept = ~torch.eye(len(tokens), dtype=torch.bool, device=tokens.device)[places]
    shorter = tokens.expand(len(places), -1)[kept].reshape(len(places), -1)
    return batch_of(shorter)


def _only(batch: Batch, places: Tensor) -> Batch:
    """Nothing but these tokens can be deleted."""
    mask = torch.zeros_like(batch.texts["a"].mask)
    mask[:, places] = True
    return replace(batch, texts={"a": replace(batch.texts["a"], mask=mask)})


def _spread(places: Tensor, most: int) -> Tensor:
    if len(places) <= most:
        return places
    return places[torch.linspace(0, len(places) - 1, most, device=places.device).long()]
