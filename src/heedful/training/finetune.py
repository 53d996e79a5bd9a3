"""Fine-tune a pretrained classifier: the loop, written out; the model, opened offline and without
pickle; and texts encoded for it.

Nothing in it depends on what was drawn before: the order of batches, dropout and the
learning rate follow from seed, epoch and step. So a killed training that goes on from its
last whole epoch ends with the same weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from heedful.data import SPLITS, Example, RawCorpus
from heedful.errors import HeedfulError, unknown_name
from heedful.hashing import stable_hash
from heedful.models import (
    ModelFolder,
    max_positions,
    opened,
    probabilities,
    quiet,
    read_folder,
    token_embeddings,
    tokenizing,
    transformers,
)
from heedful.progress import Progress, silent
from heedful.specs import TermSpec, TrainSpec
from heedful.training.loop import (
    Trained,
    best_epoch,
    bucketed,
    check_loss,
    descend,
    drawing,
    mean_losses,
    with_parts,
)
from heedful.training.loop import check as check_training
from heedful.training.loss import STATE_TERMS, DevScore, check_terms, class_score, finite
from heedful.training.pretrained_terms import Layers, MaskedWords, Pass, PretrainedTerm

SELECT = ("auto", "accuracy", "f1", "roc_auc")
PRECISIONS = ("float32", "tf32", "bf16")


VERSION = 2
"""Goes up whenever the same spec and seed would give other weights."""
_SHOWN = 256  # texts scored at a time


@dataclass(frozen=True)
class FinetuneSpec:
    """AdamW with a linear warm-up over `warmup` of all steps and a linear decay to zero.

    The rate suits small models (MiniLM, DistilBERT); 2e-5 is usual for large ones. Biases and
    norms are not decayed. `select` is the dev metric the best epoch is chosen by, and the dev
    loss where several have the same; `patience` stops after that many epochs without
    improvement. Texts longer than `max_length` tokens
    are cut. `precision` is that of training alone: scores are always taken in float32. `terms`
    of the registry `STATE_TERMS` are added to the loss.
    """

    epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 5e-5
    weight_decay: float = 0.01
    warmup: float = 0.06
    clip: float | None = 1.0
    select: str = "accuracy"
    patience: int | None = 2
    max_length: int = 128
    precision: str = "float32"
    terms: tuple[TermSpec, ...] = ()

    @property
    def shared(self) -> TrainSpec:
        """What a training from scratch has too."""
        names = ("epochs", "batch_size", "learning_rate", "clip", "select", "patience")
        return TrainSpec(**{name: getattr(self, name) for name in names})

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0 over all epochs."""
        warm = round(self.warmup * steps)
        if step < warm:
            return self.learning_rate * (step + 1) / warm
        return self.learning_rate * (steps - step) / (steps - warm)


def check(spec: FinetuneSpec, device: str) -> None:
    """Refuse impossible settings, before any work is done."""
    check_training(spec.shared)
    if spec.select not in SELECT:
        raise unknown_name("dev metric", spec.select, list(SELECT))
    check_terms(spec.terms, STATE_TERMS)
    if not 0 <= spec.warmup < 1:
        raise HeedfulError(f"the warm-up is {spec.warmup} of the steps: give 0 to below 1.")
    if spec.weight_decay < 0:
        raise HeedfulError(f"the weight decay is {spec.weight_decay}: it must not be negative.")
    if spec.max_length < 4:
        raise HeedfulError(f"--max-length is {spec.max_length}: give at least 4 tokens.")
    if spec.precision not in PRECISIONS:
        raise unknown_name("precision", spec.precision, list(PRECISIONS))
    if spec.precision == "tf32" and device != "cuda":
        raise HeedfulError("--precision tf32 needs a GPU: use --precision float32 or bf16.")


@contextmanager
def tf32(wanted: bool) -> Iterator[None]:
    """Products that keep ten bits, for as long as the block lasts."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = before or wanted
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def finetune(
    model: Any,
    data: Mapping[str, Encoded],
    spec: FinetuneSpec,
    seed: int,
    device: str = "cpu",
    scratch: Path | None = None,
    progress: Progress = silent,
    words: MaskedWords | None = None,
) -> Trained:
    """Fine-tune a Hugging Face classifier on `data["train"]`.

    The epoch that is best on `data["dev"]` is kept. With a folder `scratch`, a killed training
    resumes from its last whole epoch there and ends with the same weights. `words` are for the term
    mlm.
    """
    check(spec, device)
    accelerator = Accelerator(cpu=device == "cpu")
    model, optimizer = accelerator.prepare(model, _optimizer(model, spec))
    loss_fn = finetune_loss(model, spec.terms, words)
    train, place = data["train"], accelerator.device

    def epoch(number: int) -> tuple[dict[str, float], DevScore]:
        batches = bucketed(train.lengths, spec.batch_size, seed, number)

        def step(done: int, index: np.ndarray) -> dict[str, Tensor]:
            with torch.autocast(place.type, torch.bfloat16, spec.precision == "bf16"):
                given = _to(train.batch(index), place), train.labels[index].to(place)
                parts = loss_fn(*given, train.marked(index).to(place))
            loss = torch.stack(list(parts.values())).sum()
            rate = spec.rate(number * len(batches) + done, spec.epochs * len(batches))
            descend(loss, model, optimizer, accelerator, rate, spec.clip)
            return with_parts(loss, parts)

        model.train()
        with drawing(seed, number), tf32(spec.precision == "tf32"):
            title = f"epoch {number + 1} of {spec.epochs}"
            losses = mean_losses(batches, step, progress, title)
        check_loss(losses["loss"])
        p = predict(model, data["dev"], device)
        return losses, class_score(spec.select, data["dev"].labels.numpy(), p)

    history = best_epoch(model, optimizer, spec.shared, epoch, scratch)
    return Trained(model.eval(), history)


def predict(model: Any, texts: Encoded, device: str) -> np.ndarray:
    """Class probabilities in the split's own order, `[n, classes]`, always in float32."""
    out = np.empty((len(texts), model.config.num_labels))
    model.eval()
    with torch.no_grad():
        for index, inputs in texts.batches(_SHOWN):
            out[index] = probabilities(model(**_to(inputs, device)).logits).cpu().numpy()
    return finite(out)


@dataclass(frozen=True)
class FinetuneLoss:
    """The parts of a batch's loss, by name; the loss is their sum."""

    model: Any
    terms: tuple[tuple[TermSpec, PretrainedTerm], ...] = ()

    def __call__(
        self, inputs: Mapping[str, Tensor], labels: Tensor, marks: Tensor | None = None
    ) -> dict[str, Tensor]:
        """`marks` are the impermissible tokens."""
        # states and attention are kept only where somebody looks at them
        asked = {"output_hidden_states": True} if self.terms else {}
        if any(term.attentions for _, term in self.terms):
            asked["output_attentions"] = True
        output = self.model(**inputs, **asked)
        parts = {"goal": F.cross_entropy(output.logits.float(), labels)}
        if self.terms:
            attentions = output.attentions if "output_attentions" in asked else ()
            forward = Pass(self.model, inputs, output.hidden_states, attentions, marks)
        for spec, term in self.terms:
            parts[spec.title] = parts.get(spec.title, 0.0) + spec.weight * term.of(forward)
        return parts


def finetune_loss(
    model: Any, terms: Sequence[TermSpec], words: MaskedWords | None = None
) -> FinetuneLoss:
    """The loss of a pretrained classifier with these terms of the registry `STATE_TERMS`."""
    layers = Layers(model, words)
    made = tuple((t, STATE_TERMS[t.name].make(layers, **dict(t.params))) for t in terms)
    if any(term.attentions for _, term in made):
        model.set_attn_implementation("eager")  # the others do not say what their weights are
    return FinetuneLoss(model, made)


def _optimizer(model: Any, spec: FinetuneSpec) -> torch.optim.Optimizer:
    """AdamW; biases and norms are not decayed."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": spec.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=spec.learning_rate, fused=True)


def _to(inputs: Mapping[str, Tensor], device: Any) -> dict[str, Tensor]:
    return {name: value.to(device) for name, value in inputs.items()}


@dataclass(frozen=True)
class Pretrained:
    """A classifier whose head may be fresh, its tokenizer, and whether the model tells the
    texts of a pair apart by token types."""

    model: Any
    tokenizer: Any
    segments: bool


def load_pretrained(folder: Path, labels: Sequence[str], seed: int, max_length: int) -> Pretrained:
    """A classifier for these labels. Weights that the folder lacks depend on the seed alone."""
    with opened(_read(folder)) as place, torch.random.fork_rng(devices=[]):
        torch.manual_seed(stable_hash(seed, "head"))
        tokenizer = place.tokenizer()
        model, _ = place.model(
            transformers().AutoModelForSequenceClassification,
            num_labels=len(labels),
            id2label=dict(enumerate(labels)),
            label2id={label: number for number, label in enumerate(labels)},
            ignore_mismatched_sizes=True,  # the head of another task makes way for a fresh one
            dtype=torch.float32,
        )
    _check_parts(folder, model, tokenizer, max_length)
    model.config.pad_token_id = tokenizer.pad_token_id
    segments = int(getattr(model.config, "type_vocab_size", 0)) > 1
    return Pretrained(model, tokenizer, segments)


def masked_words(start: Pretrained, folder: Path) -> MaskedWords:
    """The folder's own head for masked words, if it has one, upon the states of the classifier."""
    tokenizer = start.tokenizer
    mask = tokenizer.mask_token_id
    mask = tokenizer.unk_token_id if mask is None else mask
    if mask is None:
        raise HeedfulError(
            f"the tokenizer of {folder} has neither a mask nor an unknown token, which mlm needs: "
            f"leave --term mlm out, or give another folder."
        )
    special = tuple(sorted(tokenizer.all_special_ids))
    return MaskedWords(mask, special, _head(start, folder))


def _head(start: Pretrained, folder: Path) -> Any:
    """Heads are not trained: what they know of words is what states have to fit."""
    library = transformers()
    if type(start.model.config) not in library.MODEL_FOR_MASKED_LM_MAPPING:
        return None
    with opened(_read(folder)) as place, torch.random.fork_rng(devices=[]):
        whole, report = place.model(library.AutoModelForMaskedLM, dtype=torch.float32)
    if report["missing_keys"]:
        return None
    whole.requires_grad_(False)
    base = whole.base_model_prefix

    def logits(model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """The head upon the classifier's own layers, in its own mode and on its device."""
        setattr(whole, base, model.base_model)
        whole.to(model.device)
        found: Tensor = whole(**inputs).logits
        return found

    return logits


def save_classifier(start: Pretrained, folder: Path) -> None:
    """A whole Hugging Face folder: configuration, safetensors, tokenizer."""
    start.model.config.problem_type = "single_label_classification"
    with quiet():
        start.model.save_pretrained(folder)
        start.tokenizer.save_pretrained(folder)


def pretrained_digests(folder: Path) -> dict[str, str]:
    """The digests of the files a model and its tokenizer are read from."""
    return _read(folder).digests()


def _read(folder: Path) -> ModelFolder:
    transformers()
    if not folder.is_dir():
        raise HeedfulError(f"there is no folder {folder}: give that of a Hugging Face model.")
    found = read_folder(folder)
    if not found.has_tokenizer:
        raise HeedfulError(f"{folder} has no tokenizer: it needs a tokenizer.json.")
    return found


def _check_parts(folder: Path, model: Any, tokenizer: Any, max_length: int) -> None:
    if not tokenizer.is_fast:
        raise HeedfulError(
            f"{folder} has a slow tokenizer, which does not say where words begin: "
            f"it needs a tokenizer.json."
        )
    if tokenizer.pad_token_id is None:
        raise HeedfulError(
            f"{folder} has no padding token: set tokenizer.pad_token and save the tokenizer again."
        )
    if model.config.is_encoder_decoder:
        raise HeedfulError(f"{folder} is an encoder-decoder: choose an encoder or a decoder alone.")
    rows = token_embeddings(model).weight.shape[0]
    if len(tokenizer) > rows:
        raise HeedfulError(
            f"the tokenizer in {folder} has {len(tokenizer)} tokens, its model {rows}: "
            f"call model.resize_token_embeddings and save it again."
        )
    most = min(max_positions(model.config) or max_length, tokenizer.model_max_length)
    if max_length > most:
        raise HeedfulError(
            f"--max-length is {max_length}, and the model in {folder} reads at most {most} tokens: "
            f"give no more."
        )


Inputs = dict[str, Tensor]


@dataclass(frozen=True)
class Encoded:
    """Examples as token ids. `columns` holds, by the name of a model's input, one tensor per
    example, `padding` the value each column is filled up with; `cut` counts texts that lost
    their end."""

    ids: tuple[str, ...]
    columns: Mapping[str, Sequence[Tensor]]
    padding: Mapping[str, int]
    labels: Tensor
    cut: int = 0
    marks: Sequence[Tensor] | None = None
    """The impermissible tokens, where the corpus marks any."""

    @property
    def lengths(self) -> np.ndarray:
        return np.array([len(tokens) for tokens in self.columns["input_ids"]])

    def batch(self, index: np.ndarray) -> Inputs:
        """The model's inputs, padded on the right."""
        return {
            name: pad_sequence([column[i] for i in index], True, self.padding[name])
            for name, column in self.columns.items()
        }

    def marked(self, index: np.ndarray) -> Tensor:
        """Those of some examples, padded; none where the corpus marks none."""
        if self.marks is None:
            width = int(self.lengths[index].max())
            return torch.zeros(len(index), width, dtype=torch.bool)
        return pad_sequence([self.marks[i] for i in index], True, False)

    def batches(self, size: int) -> Iterator[tuple[np.ndarray, Inputs]]:
        """Every example once, by length, with its place in the split."""
        order = np.argsort(self.lengths, kind="stable")
        for start in range(0, len(order), size):
            index = order[start : start + size]
            yield index, self.batch(index)

    def subset(self, index: np.ndarray) -> Encoded:
        columns = {name: [column[i] for i in index] for name, column in self.columns.items()}
        ids = tuple(self.ids[i] for i in index)
        marks = None if self.marks is None else [self.marks[i] for i in index]
        return replace(self, ids=ids, columns=columns, labels=self.labels[index], marks=marks)

    def __len__(self) -> int:
        return len(self.ids)


def encode_splits(raw: RawCorpus, start: Pretrained, max_length: int) -> dict[str, Encoded]:
    """Every split, each with examples, and a training split with every class."""
    by_split = {name: [e for e in raw.examples if e.split == name] for name in SPLITS}
    for name, examples in by_split.items():
        if not examples:
            raise HeedfulError(f"the {name} split is empty: bring one, or a larger file.")
    missing = set(range(len(raw.labels))) - {example.label for example in by_split["train"]}
    if missing:
        raise HeedfulError(
            f"the train split lacks class {raw.labels[min(missing)]!r}: bring more texts."
        )
    return {name: encode(examples, start, max_length) for name, examples in by_split.items()}


def encode(examples: Sequence[Example], start: Pretrained, max_length: int) -> Encoded:
    """The texts as they are, punctuation and all: as an audit shows them to the model."""
    sides = [[example.texts[side] for example in examples] for side in sorted(examples[0].texts)]
    with tokenizing(start.tokenizer.name_or_path):
        found = deepcopy(start.tokenizer)(  # a call leaves its limit in a tokenizer
            *sides,
            truncation=True,
            max_length=max_length,
            return_token_type_ids=start.segments,
            return_attention_mask=True,
            return_overflowing_tokens=False,
        )
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if start.segments else [])]
    columns = {name: [torch.tensor(ids, dtype=torch.long) for ids in found[name]] for name in names}
    for example, tokens in zip(examples, columns["input_ids"], strict=True):
        if not len(tokens):
            raise HeedfulError(f"the text of example {example.id!r} has no tokens: leave it out.")
    padding = dict.fromkeys(names, 0) | {"input_ids": start.tokenizer.pad_token_id}
    labels = torch.tensor([example.label for example in examples])
    cut = sum(len(encoding.overflowing) > 0 for encoding in found.encodings)
    marks = _marks(examples, found.encodings)
    return Encoded(tuple(e.id for e in examples), columns, padding, labels, cut, marks)


def _marks(examples: Sequence[Example], encodings: Sequence[Any]) -> list[Tensor] | None:
    """The tokens of side a that share a character with an impermissible span."""
    if all(example.impermissible is None for example in examples):
        return None
    found = []
    for example, encoding in zip(examples, encodings, strict=True):
        spans = (example.impermissible or {}).get("a", [])
        places = zip(encoding.offsets, encoding.sequence_ids, strict=True)
        inside = [
            side == 0 and any(start < right and left < end for left, right in spans)
            for (start, end), side in places
        ]
        found.append(torch.tensor(inside))
    return found


def data_facts(raw: RawCorpus, marked: bool = False) -> list[list[Any]]:
    """All that training sees of a corpus, to be hashed: `marked` also what is impermissible."""
    return [
        [
            *(e.id, e.split, e.label),
            *(e.texts[side] for side in sorted(e.texts)),
            *([(e.impermissible or {}).get("a")] if marked else []),
        ]
        for e in raw.examples
    ]
