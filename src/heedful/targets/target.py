"""A model under audit with its documents, and digests of everything that results depend on.

A silent mismatch of labels would make every number of an audit wrong, so labels that match neither
by name nor by number are refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.data import groups
from heedful.errors import HeedfulError, listed
from heedful.models import explained_class
from heedful.targets.disk_list import DOCUMENTS, NAMES, ROWS, DiskList, DiskListWriter
from heedful.targets.document import Document, Row, Truncation, answer_of, by_token, pad, target_of
from heedful.targets.documents import Documents
from heedful.targets.options import LabelMap
from heedful.types import Batch, Keep, Model
from heedful.units import WORD, by_unit

if TYPE_CHECKING:
    from heedful.targets.infill import Infill

UNSEEN = "without a token of any word"
Indices = Sequence[int] | NDArray[np.int64]
Spell = Callable[[Sequence[int]], tuple[str, ...]]
"""Tokens as a person reads them."""


@dataclass(frozen=True)
class AuditTarget:
    """A model, and documents it can be asked about.

    A document's label is a place in `label_names`, the model's own classes. `key` holds what
    results depend on (digests of weights, tokens and data): it may be hashed. `notes` are
    sentences a reader should see, and `spell` writes tokens out where a tokenizer is known.

    Documents and rows may be decoded whenever they are asked for (`targets/disk_list.py`): what
    is needed of all of them at once is beside them, in arrays.
    """

    model: Model
    documents: Sequence[Document]
    label_names: tuple[str, ...]
    rows: Sequence[Row]
    truncated: Truncation
    source: str
    family: str
    device: str
    key: Mapping[str, Any]
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    spell: Spell | None = None
    name: str = ""
    """What its owner calls the model, where that says more than its class."""
    unit: str = WORD
    """What the words of the documents are."""
    asked: int | None = None
    """The class to explain, where it is not the predicted one."""
    question: str = ""
    """What is asked, in a sentence, where it is not the class of a whole text."""
    single_tokens: Callable[[Sequence[str]], Sequence[int | None]] | None = None
    """The model's token of each word that is a single one, where its words are known."""
    infill: Infill | None = None
    """What draws other words, where a masked language model was named."""

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each row."""
        return np.fromiter((len(row) for row in self.rows), dtype=np.int64)

    @property
    def ids(self) -> Sequence[str]:
        return self._overview.ids

    @property
    def clusters(self) -> Sequence[str]:
        """The cluster of each document."""
        return self._overview.clusters

    @property
    def labels(self) -> NDArray[np.int64]:
        """The label of each document, −1 where there is none."""
        return self._overview.labels

    @property
    def rationales(self) -> bool:
        """Whether any document has a rationale."""
        return self._overview.rationales

    @property
    def marked_share(self) -> float:
        """The share of a document's words that its rationale marks, on average."""
        return self._overview.marked_share

    @property
    def revisions(self) -> Mapping[int, tuple[int, ...]]:
        """The places of the revisions of each document that has some."""
        return self._overview.revisions

    @property
    def labelled(self) -> bool:
        """Whether every document has a label, so that predictions can be right or wrong."""
        return bool((self.labels >= 0).all())

    @cached_property
    def _overview(self) -> Overview:
        return overview(self.documents)

    def names_of(self, index: int) -> tuple[str, ...]:
        """The names of a document's classes: of an answer its own words."""
        row, document = self.rows[index], self.documents[index]
        if row.answer is None and self.asked is not None and document.answer is not None:
            return (self.label_names[0], document.answer.strip())
        if row.answer is None or self.spell is None:
            return self.label_names
        own = self.spell(row.answer.tolist())
        if row.instead is not None:
            return (*self.spell(row.instead.tolist()), own[-1])
        whole = len(own) > 1 and document.answer is not None
        return (self.label_names[0], str(document.answer).strip() if whole else own[-1])

    def by_token(self, index: int) -> AuditTarget:
        """A document once for each token of its answer, asked for that token alone."""
        rows = by_token(self.rows[index])
        many = [replace(self.documents[index], id=f"token-{n}") for n in range(1, len(rows) + 1)]
        return replace(self, documents=many, rows=rows)

    def encode(self, indices: Indices) -> Batch:
        """Some of the documents as a batch on the subject's device; labels are −1 where
        there is none."""
        chosen = [int(index) for index in indices]
        numbers = torch.from_numpy(self.labels[chosen])
        ids = tuple(self.ids[i] for i in chosen)
        rows = [self.rows[i] for i in chosen]
        beside = [row.beside for row in rows if row.beside is not None]
        sides = {"a": pad(rows), "b": pad(beside) if beside else None, "target": target_of(rows)}
        texts = {side: text for side, text in sides.items() if text is not None}
        asked = None if self.asked is None else torch.full_like(numbers, self.asked)
        filling = None
        if self.infill is not None:
            own = (self.documents[i] for i in chosen)
            filling = self.infill.about({document.id: document.surface for document in own})
        batch = Batch(ids, texts, numbers, self._allowed(rows), asked, answer_of(rows), filling)
        return batch.to(self.device)

    def _allowed(self, rows: Sequence[Row]) -> Bool[Tensor, "b c"] | None:
        """The classes that can be the answer; all of them where none are named."""
        if all(row.candidates is None for row in rows):
            return None
        allowed = torch.zeros(len(rows), len(self.label_names), dtype=torch.bool)
        for place, row in enumerate(rows):
            allowed[place, slice(None) if row.candidates is None else list(row.candidates)] = True
        return allowed

    def batches(
        self, tokens_at_once: int = 4096, batch_size: int = 64
    ) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """All documents, shortest first so that little is padded, with their indices: at most
        `batch_size` of them and `tokens_at_once` padded tokens, but at least one."""
        if batch_size < 1 or tokens_at_once < 1:
            raise HeedfulError("batch_size and tokens_at_once must be at least 1.")
        for indices in groups(self.lengths, tokens_at_once, batch_size):
            yield indices, self.encode(indices)


Subject = AuditTarget
"""Its name in 0.1."""


def predicted(subject: AuditTarget) -> NDArray[np.int64]:
    """The class the model gives each document, or the one that is asked about, in their order."""
    out = np.zeros(len(subject), dtype=np.int64)
    with torch.no_grad():
        for indices, batch in subject.batches():
            logits = subject.model(batch, keep=Keep(weights=False)).logits
            out[indices] = explained_class(logits, batch).cpu().numpy()
    return out


@dataclass(frozen=True)
class Overview:
    """Labels are −1 where there is none; `rationales` says whether any document has one, and
    `marked_share` is the share of words a rationale marks, on average over those that mark some.
    `revisions` are the places of the revisions of each document that has some."""

    ids: Sequence[str]
    clusters: Sequence[str]
    labels: NDArray[np.int64]
    rationales: bool
    marked_share: float
    revisions: Mapping[int, tuple[int, ...]]


def overview(documents: Iterable[Document]) -> Overview:
    """What is asked of all documents at once, gathered in one pass."""
    ids, clusters, labels, marked = DiskListWriter(NAMES), DiskListWriter(NAMES), array("q"), False
    total, marking = 0.0, 0
    revised: dict[str, list[int]] = {}
    for place, document in enumerate(documents):
        if document.revises is not None:
            revised.setdefault(document.revises, []).append(place)
        ids.add(document.id)
        clusters.add(document.cluster)
        labels.append(-1 if document.label is None else document.label)
        marked |= document.rationale is not None
        if document.rationale is not None and any(document.rationale):
            total += sum(document.rationale) / len(document.rationale)
            marking += 1
    numbers = np.array(labels, dtype=np.int64)
    names = ids.done()
    revisions = {place: tuple(revised[name]) for place, name in enumerate(names) if name in revised}
    average = total / max(1, marking)
    return Overview(names, clusters.done(), numbers, marked, average, revisions)


def weights_digest(module: nn.Module) -> str:
    """The same for equal parameters and buffers, wherever they were loaded from."""
    total = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        plain = tensor.detach().cpu().contiguous()
        total.update(f"{name} {plain.dtype} {tuple(plain.shape)}".encode())
        total.update(plain.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()[:16]


def tokenizer_digest(tokenizer: Any) -> str:
    """Without truncation and padding, which a call sets."""
    facts = json.loads(tokenizer.backend_tokenizer.to_str())
    kept = {name: value for name, value in facts.items() if name not in ("truncation", "padding")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def tokens_digest(rows: Iterable[Row]) -> str:
    """For tokenizers that cannot be read: what they made of the texts."""
    total = hashlib.sha256()
    for row in rows:
        total.update(row.tokens.tobytes() + b"/" + row.words.tobytes() + b"\n")
    return total.hexdigest()[:16]


def unseen(rows: Iterable[Row]) -> list[int]:
    """The rows none of whose tokens belongs to a word."""
    return [index for index, row in enumerate(rows) if not (row.words >= 0).any()]


def match_labels(
    data: Sequence[str],
    model: Sequence[str],
    given: LabelMap | None = None,
    numbers: Sequence[str] = (),
) -> tuple[int, ...]:
    """The model's class of each of the data's labels.

    Labels match by `given` (data's name to model's name or number), else by name whatever the
    case, else as whole numbers. Where the model has no names for its classes but LABEL_0,
    LABEL_1, … and the data numbers its own (`numbers`: all its labels in that order),
    numbers decide too.
    """
    if given is not None:
        return _by_map(data, model, given)
    names = {_folded(name): index for index, name in enumerate(model)}
    if all(_folded(name) in names for name in data) and len(names) == len(model):
        return tuple(names[_folded(name)] for name in data)
    if all(name.isdecimal() and int(name) < len(model) for name in data):
        return tuple(int(name) for name in data)
    nameless = all(re.fullmatch(r"LABEL_\d+", name) for name in model)
    if nameless and len(numbers) == len(model):
        return tuple(list(numbers).index(name) for name in data)
    raise _mismatch(data, model)


def with_labels(documents: Iterable[Document], labels: Iterable[int | None]) -> Sequence[Document]:
    """The same documents with other labels."""
    pairs = zip(documents, labels, strict=True)
    return DiskList.of((replace(document, label=label) for document, label in pairs), DOCUMENTS)


def _by_map(data: Sequence[str], model: Sequence[str], given: LabelMap) -> tuple[int, ...]:
    wanted = {_folded(str(name)): place for name, place in given.items()}
    names = {_folded(name): index for index, name in enumerate(model)}
    places = []
    for name in data:
        place = wanted.get(_folded(name), name)
        index = place if isinstance(place, int) else names.get(_folded(place), -1)
        if not 0 <= index < len(model):
            raise _mismatch(data, model, given)
        places.append(index)
    return tuple(places)


def _folded(name: str) -> str:
    """Case, blanks, hyphens and underscores do not tell labels apart; a number's sign does."""
    sign = "-" if re.match(r"\s*-\s*[.\d]", name) else ""
    return sign + re.sub(r"[\s_-]+", "", name).casefold()


def _mismatch(
    data: Sequence[str], model: Sequence[str], given: LabelMap | None = None
) -> HeedfulError:
    ours, theirs = (listed(map(repr, names), 12) for names in (data, model))
    example = f'label_map={{"{data[0]}": CLASS, …}} (--label-map {data[0]}=CLASS,…)'
    if given is None:
        return HeedfulError(
            f"the labels do not match: the data has {ours}, the model has {theirs}; "
            f"say which is which with {example}."
        )
    return HeedfulError(
        f"the label_map {dict(given)!r} does not lead from the data's labels ({ours}) to the "
        f"model's ({theirs}): write {example}."
    )


def finish_labelled(
    subject: AuditTarget, documents: Documents, label_map: LabelMap | None = None
) -> AuditTarget:
    """`documents` are those of the subject as they were read."""
    places: tuple[int, ...] = ()
    if any(mark is not None for mark in documents.marks):
        for index, mark in enumerate(documents.marks):
            if mark is not None and len(mark) != 1:
                raise HeedfulError(
                    f"{documents[index].id!r} has {len(mark)} labels and the model chooses one "
                    f"class: name a column with one label, or label_column=None."
                )
        there = {name for mark in documents.marks for name in mark or ()}
        used = [name for name in documents.label_names if name in there]
        numbers = documents.label_names if documents.numbered else ()
        matched = match_labels(used, subject.label_names, label_map, numbers)
        by_name = dict(zip(used, matched, strict=True))
        places = tuple(by_name.get(name, -1) for name in documents.label_names)
    elif label_map is not None:
        raise HeedfulError("the texts have no labels for a label_map (--label-map): leave it out.")
    if places != tuple(range(len(places))):
        old = (document.label for document in subject.documents)
        labels = (None if label is None else places[label] for label in old)
        subject = replace(subject, documents=with_labels(subject.documents, labels))
    return finish(subject, documents.digest)


def finish(subject: AuditTarget, data_digest: str) -> AuditTarget:
    gone = unseen(subject.rows)
    if len(gone) == len(subject):
        if all(row.read_at is not None for row in subject.rows):
            raise HeedfulError(
                f"{subject.source} has no word besides the ones asked about: give longer texts."
            )
        raise HeedfulError(
            f"the model's tokenizer finds no word in {subject.source}: check the text column."
        )
    seen = subject
    if gone:
        kept = np.delete(np.arange(len(subject)), gone).tolist()
        seen = replace(
            subject,
            documents=DiskList.of((subject.documents[index] for index in kept), DOCUMENTS),
            rows=DiskList.of((subject.rows[index] for index in kept), ROWS),
            dropped={**subject.dropped, UNSEEN: len(gone)},
        )
    labels = [None if label < 0 else label for label in seen.labels.tolist()]
    cut = by_unit(seen.truncated.sentence, seen.unit)
    unit = {} if seen.unit == WORD else {"unit": seen.unit}
    return replace(
        seen,
        notes=(*seen.notes, cut) if cut else seen.notes,
        key={**seen.key, "data": data_digest, "labels": labels, **unit},
    )
