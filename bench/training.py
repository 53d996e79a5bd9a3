"""A training epoch of Heedful's beside a tutorial's loop: same texts, same size, same updates.

Both are scored on the dev split after each epoch, which is part of the time. The loops differ in
what they do besides: Heedful buckets by length, keeps the best epoch, checks the loss, and has
AMSGrad, weight decay and class weights as jain2019 has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from bench.data import Data, Plan, Size, generate
from bench.measure import Cost, Row, Setting, measure
from heedful.data import Split
from heedful.models import build
from heedful.specs import ModelSpec, TrainSpec
from heedful.training import Trained, train

BATCH, RATE = 32, 1e-3


@dataclass(frozen=True)
class Plain:
    """A trained model and its ROC-AUC on the dev split."""

    model: nn.Module
    score: float
    updates: int


class Classifier(nn.Module):
    """As wide as Heedful's: embeddings, a packed BiLSTM, additive attention, one logit."""

    def __init__(self, vectors: Tensor, hidden: int, attention: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors.clone(), freeze=False)
        self.lstm = nn.LSTM(vectors.shape[1], hidden, batch_first=True, bidirectional=True)
        self.project = nn.Linear(2 * hidden, attention)
        self.score = nn.Linear(attention, 1, bias=False)
        self.decoder = nn.Linear(2 * hidden, 1)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(
            self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores = self.score(torch.tanh(self.project(states)))[..., 0]
        places = torch.arange(tokens.shape[1], device=tokens.device)
        inside = (places > 0) & (places < lengths.to(tokens.device)[:, None] - 1)
        weights = torch.softmax(scores.masked_fill(~inside, float("-inf")), -1)
        logits: Tensor = self.decoder((weights[..., None] * states).sum(1))[:, 0]
        return logits


def train_plainly(model: Classifier, data: Split, dev: Split, epochs: int, device: str) -> Plain:
    """Shuffled batches padded to their longest text, Adam, binary cross-entropy; scored on dev
    after each epoch."""
    model = model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    loss_of = nn.BCEWithLogitsLoss()
    generator = torch.Generator().manual_seed(0)
    score, updates = 0.0, 0
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(data), generator=generator).split(BATCH):
            tokens, lengths, labels = _batch(data, rows, device)
            optimizer.zero_grad()
            loss = loss_of(model(tokens, lengths), labels)
            loss.backward()
            optimizer.step()
            updates += 1
        score = _score(model, dev, device)
    return Plain(model, score, updates)


def _batch(data: Split, rows: Tensor, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Lengths stay on the CPU, where packing wants them."""
    texts = [torch.from_numpy(data.tokens["a"][row]).long() for row in rows.tolist()]
    lengths = torch.tensor([len(text) for text in texts])
    tokens = pad_sequence(texts, batch_first=True)
    return tokens.to(device), lengths, data.labels[rows].float().to(device)


def _score(model: Classifier, dev: Split, device: str) -> float:
    model.eval()
    with torch.no_grad():
        parts = [_batch(dev, rows, device) for rows in torch.arange(len(dev)).split(BATCH)]
        p = torch.cat([torch.sigmoid(model(tokens, lengths)) for tokens, lengths, _ in parts])
    return float(roc_auc_score(dev.labels.numpy(), p.cpu().numpy()))


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
