"""A BiLSTM with attention and its training as a tutorial writes them: no bucket, no trace."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from heedful.corpora import Split

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
