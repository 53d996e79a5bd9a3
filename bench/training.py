"""A training epoch of Heedful's beside a tutorial's loop: same texts, same size, same updates.

Both are scored on the dev split after each epoch, which is part of the time. The loops differ in
what they do besides: Heedful buckets by length, keeps the best epoch, checks the loss, and has
AMSGrad, weight decay and class weights as jain2019 has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import torch
from torch import nn

from bench.data import Data, Plan, Size, generate
from bench.memory import measure
from bench.plain_training import BATCH, Classifier, Plain, train_plainly
from bench.row import Cost, Row
from bench.setting import Setting
from heedful.models import build
from heedful.specs import ModelSpec, TrainSpec
from heedful.training import Trained, train

HIDDEN = 128  # of each direction, as Heedful's own by default
FULL = {"sst": (Size("sst", 16, 8, 30, 1), 2000, 2), "imdb": (Size("imdb", 16, 90, 270, 1), 250, 2)}
QUICK = {"sst": (Size("sst", 16, 8, 20, 1), 48, 1), "imdb": (Size("imdb", 16, 20, 30, 1), 24, 1)}


def rows(name: str, setting: Setting) -> Iterator[Row]:
    size, texts, epochs = (QUICK if setting.quick else FULL)[name]
    data = generate(Plan((size,), texts, texts, 1, 1, 0, ()))
    if not setting.quick:  # neither is to pay for what is made once
        few = _few(data)
        ours(few, 1, setting.device)
        plainly(few, 1, setting.device)
    often = setting.repeats, 1 / epochs, 20.0
    theirs = measure(lambda: plainly(data, epochs, setting.device), *often)
    mine = measure(lambda: ours(data, epochs, setting.device), *often)
    yield _row(data, epochs, Cost.of(theirs), Cost.of(mine), theirs.value, mine.value)


def plainly(data: Data, epochs: int, device: str) -> Plain:
    torch.manual_seed(0)
    model = Classifier(data.vectors, HIDDEN, HIDDEN)
    return train_plainly(model, data.split("train"), data.split("dev"), epochs, device)


def ours(data: Data, epochs: int, device: str) -> Trained:
    model = build(ModelSpec("bilstm", "additive"), data.vectors, data.classes, seed=0)
    return train(model, data, TrainSpec(epochs=epochs, batch_size=BATCH), 0, device)


def _row(data: Data, epochs: int, theirs: Cost, mine: Cost, plain: Plain, trained: Trained) -> Row:
    lengths = data.split("train").lengths
    updates = epochs * ceil(len(lengths) / BATCH)
    assert plain.updates == updates and _parameters(plain.model) == _parameters(trained.model)
    score = float(trained.history["dev_score"].iloc[-1])
    note = (
        f"{updates // epochs} updates an epoch; dev ROC-AUC after {epochs}: plain "
        f"{plain.score:.3f}, ours {score:.3f}"
    )
    what = f"{len(lengths):,} texts of {lengths.mean():.0f} tokens"
    return Row("training", "one epoch", what, f"plain loop, batches of {BATCH}", theirs, mine, note)


def _few(data: Data) -> Data:
    splits = {name: split.subset(range(min(64, len(split)))) for name, split in data.splits.items()}
    return Data(data.labels, data.vectors, splits)


def _parameters(model: nn.Module) -> int:
    return sum(each.numel() for each in model.parameters())
