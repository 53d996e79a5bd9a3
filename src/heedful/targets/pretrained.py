"""A Hugging Face model and its tokenizer from a folder or the hub, how long a text it reads, and
what it is asked: classes, a number, one of many labels, a word's label, the next token or the
masked one, an answer or a span.

Only safetensors are read and no code that comes with a model is run: a pickle file or
`trust_remote_code` could do anything on the user's machine.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful import models
from heedful.errors import HeedfulError, unknown_name
from heedful.targets.answers import OTHERWISE
from heedful.targets.disk_list import ROWS, DiskList, DiskListWriter
from heedful.targets.document import (
    Document,
    Row,
    Span,
    Truncation,
    apart,
    truncation,
    words_of,
)
from heedful.targets.options import DTYPES, LONGEST, Loading, Prompt

CAUSAL, CLASSIFIER, WRITER, BARE = "causal", "classifier", "writer", "bare"
HOOKED = "HookedForCausalLM"  # a language model of TransformerLens (`heedful.models.hf.hooked`)
TAGGER, READER, MASKED = "tagger", "reader", "masked"
POOLER = "pooler."
"""Parameters after all attention: whether a bare model's are random does not matter."""
BLANK = "▁"  # what SentencePiece writes for one
AT_ONCE = 1000  # texts a tokenizer is given together
CHARACTERS_AT_ONCE = 1 << 22  # of them, or one text
SingleTokens = Callable[[Sequence[str]], Sequence[int | None]]
"""The token of a model for each word that is a single one."""


@dataclass(frozen=True)
class Loaded:
    """`kind` is `causal`, `classifier`, `writer` (an encoder with a decoder that writes), `tagger`
    (of words), `reader` (of answers in a text) or `masked`, or where nothing is asked of the model
    also `bare`; `name` is what a page calls the model."""

    module: Any
    tokenizer: Any
    kind: str
    name: str


def load(source: str | Path, loading: Loading, asked: bool = True) -> Loaded:
    """From a folder that `save_pretrained` wrote, or by an id of the hub. A model that is `asked`
    must decide something; else only its attention is looked at."""
    library = models.transformers()
    folder = models.find_folder(source)
    architectures = folder.config.get("architectures")
    kind = (kind_of if asked else any_kind)(architectures, folder.name)
    auto = {
        CAUSAL: library.AutoModelForCausalLM,
        CLASSIFIER: library.AutoModelForSequenceClassification,
        WRITER: library.AutoModelForSeq2SeqLM,
        TAGGER: library.AutoModelForTokenClassification,
        READER: library.AutoModelForQuestionAnswering,
        MASKED: library.AutoModelForMaskedLM,
        BARE: library.AutoModel,
    }[kind]
    if architectures == [models.POOLED]:
        auto = models.PooledForSequenceClassification
    with models.opened(folder) as place:
        tokenizer = check_tokenizer(place.tokenizer(), folder.name, asked)
        module, report = place.model(auto, dtype=loading.torch_dtype)
    missing = sorted(key for key in report["missing_keys"] if kind != BARE or POOLER not in key)
    if kind == MASKED and not asked:  # what guesses words has no part in attention
        missing = [key for key in missing if key.startswith(module.base_model_prefix)]
    if missing:
        raise HeedfulError(
            f"{folder.name} lacks the weights of {missing[0]} ({len(missing)} in all), which would "
            f"be random: give a model that was trained for this."
        )
    title = Path(source).resolve().name if Path(source).is_dir() else folder.name
    return Loaded(module.to(loading.best_device).eval(), tokenizer, kind, title)


def adopt(module: Any, tokenizer: Any, loading: Loading, asked: bool = True) -> Loaded:
    """A model somebody already has. It is copied where another device or precision is asked
    for, never changed."""
    library = models.transformers()
    if not isinstance(module, library.PreTrainedModel):
        raise HeedfulError(
            f"{type(module).__name__} is no model of transformers: give a PreTrainedModel and "
            f"its tokenizer, or an Adapter (heedful.Adapter)."
        )
    name = type(module).__name__
    kind = (kind_of if asked else any_kind)([each.__name__ for each in type(module).__mro__], name)
    _check_weights(module, name)
    dtype = DTYPES.get(loading.dtype or "", module.dtype)
    there = loading.device in ("auto", module.device.type, str(module.device))
    if not there or dtype != module.dtype:
        target = module.device if there else loading.device
        module = copy.deepcopy(module).to(device=target, dtype=dtype)
    title = Path(str(module.config.name_or_path or name)).name
    return Loaded(module, check_tokenizer(tokenizer, name, asked), kind, title or name)


def _check_weights(module: Any, name: str) -> None:
    """Raises where weights are packed into whole numbers, which have no gradients."""
    for key, weight in module.state_dict().items():
        if not isinstance(weight, Tensor) or weight.is_quantized or _is_packed(weight):
            raise HeedfulError(
                f"{name} holds quantized weights ({key}), which have no gradients: load it in full "
                f"precision, or dequantize it."
            )


def _is_packed(weight: Tensor) -> bool:
    """Several rows of whole numbers; a single row counts positions, and bools are a mask."""
    whole = not weight.is_floating_point() and weight.dtype != torch.bool
    return whole and weight.ndim > 1 and len(weight) > 1


def kind_of(architectures: Sequence[str] | None, name: str) -> str:
    """What the model was trained to do, by the class it was saved from: a head it was not
    saved with would have random weights."""
    kind = any_kind(architectures, name)
    if kind != BARE:
        return kind
    saved = architectures[0] if architectures else "no architecture"
    raise HeedfulError(
        f"{name} ({saved}) neither classifies texts or words, nor answers, nor writes: give a "
        f"model that was saved for one of these, such as …ForSequenceClassification."
    )


def any_kind(architectures: Sequence[str] | None, name: str) -> str:
    """The same where only the attention is looked at, which every kind has."""
    from transformers.models.auto import modeling_auto

    for architecture in architectures or ():
        if architecture.endswith("ForSequenceClassification"):
            return CLASSIFIER
        if architecture in (HOOKED, *modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()):
            return CAUSAL
        if architecture in modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES.values():
            return WRITER
        for kind, names in (
            (TAGGER, modeling_auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES),
            (READER, modeling_auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES),
            (MASKED, modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
        ):
            if architecture in names.values():
                return kind
    return BARE


def check_tokenizer(tokenizer: Any, name: str, fast: bool = True) -> Any:
    if tokenizer is None:
        raise HeedfulError(f"{name} comes without a tokenizer: give both as (model, tokenizer).")
    if fast and not getattr(tokenizer, "is_fast", False):
        raise HeedfulError(
            f"the tokenizer of {name} is not a fast one and cannot say which characters its "
            f"tokens stand for: save it again with a tokenizer.json (AutoTokenizer, use_fast)."
        )
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise HeedfulError(
            f"{name} comes without a tokenizer's words: save its tokenizer beside it with "
            f"save_pretrained."
        )
    return tokenizer


def longest(loaded: Loaded, wanted: int | None) -> int:
    """The most tokens of a text: as many as are wanted, the model has places for, and the
    tokenizer was made for."""
    limits = [loaded.tokenizer.model_max_length, LONGEST if wanted is None else wanted]
    room = models.max_positions(loaded.module.config)
    if room is not None:
        limits.append(room)
    return int(min(limits))


def check_tokens(loaded: Loaded, rows: Sequence[Row]) -> None:
    """A tokenizer may know more tokens than its model, as long as no text has them."""
    size = models.token_embeddings(loaded.module).weight.shape[0]
    if len(loaded.tokenizer) <= size:
        return
    for row in rows:
        if row.tokens.max(initial=0) >= size:
            raise HeedfulError(
                f"the tokenizer of {loaded.name} gives token {row.tokens.max()}, and the model "
                f"knows {size}: give the tokenizer it was trained with."
            )


def fillers(loaded: Loaded) -> dict[str, int]:
    """`unk` and, where there is one, `mask`. Byte-level tokenizers know every text and have
    no unknown token: the mask, the end or a full stop takes its place. Never padding, which
    says where a text ends."""
    tokenizer, padding = loaded.tokenizer, loaded.module.config.pad_token_id
    special = (tokenizer.unk_token_id, tokenizer.mask_token_id, tokenizer.eos_token_id)
    plain = (tokenizer(mark, add_special_tokens=False)["input_ids"] for mark in (".", "_", " "))
    stand_ins = [*special, *(ids[0] for ids in plain if len(ids) == 1)]
    unknown = next((token for token in stand_ins if token not in (None, padding)), None)
    if unknown is None:
        raise HeedfulError(
            f"the tokenizer of {loaded.name} has no token to put in a word's place that is not "
            f"padding: set tokenizer.unk_token."
        )
    mask = tokenizer.mask_token_id
    return {"unk": int(unknown)} | ({} if mask in (None, padding) else {"mask": int(mask)})


def tokenizer_tokens(tokenizer: Any) -> SingleTokens:
    """A word inside a text, that is behind a blank; or without one, where the tokenizer tells them
    apart and only that is a single token."""

    def single(words: Sequence[str]) -> list[int | None]:
        if not words:
            return []
        found: list[int | None] = [None] * len(words)
        unknown = {tokenizer.unk_token_id, *tokenizer.all_special_ids}
        for before in ("", " "):
            given = [f"{before}{word}" for word in words]
            rows = tokenizer(given, add_special_tokens=False)["input_ids"]
            for place, row in enumerate(rows):
                if len(row) == 1 and words[place] and row[0] not in unknown:
                    found[place] = int(row[0])
        return found

    return single


def encode_documents(
    tokenizer: Any, documents: Sequence[Document], limit: int, prompt: Prompt = Prompt()
) -> tuple[DiskList[Row], Truncation]:
    """One row per document of at most `limit` tokens; what did not fit is counted."""
    filling, cut = DiskListWriter(ROWS), list[bool]()
    for some in _together(documents):
        for row, short in encode_some(tokenizer, some, limit, prompt):
            filling.add(row)
            cut.append(short)
    rows = filling.done()
    return rows, truncation(zip(rows, documents, cut, strict=True))


def _together(documents: Sequence[Document]) -> Iterator[list[Document]]:
    some, size = list[Document](), 0
    for document in documents:
        length = sum(map(len, document.texts.values()))
        if some and (len(some) == AT_ONCE or size + length > CHARACTERS_AT_ONCE):
            yield some
            some, size = [], 0
        some.append(document)
        size += length
    if some:
        yield some


def encode_some(
    tokenizer: Any, documents: Sequence[Document], limit: int, prompt: Prompt
) -> Iterator[tuple[Row, bool]]:
    """Each document's row, and whether it was cut."""
    segments = "token_type_ids" in tokenizer.model_input_names
    for each in _encodings(tokenizer, documents, limit, prompt):
        row = each.row(segments)
        if each.short and not (row.mask.any() or row.read_at is not None):
            raise HeedfulError(
                f"only {max(0, limit)} tokens are left for {each.document.id!r} and its prompt, "
                f"which takes {len(row)} alone: shorten the --template, the question or the "
                f"answer, or raise --max-length."
            )
        yield row, each.short


def token_places(
    tokenizer: Any, document: Document, limit: int, prompt: Prompt
) -> NDArray[np.int64]:
    """Where the tokens of a document's row stand: characters of the text they are of."""
    (encoded,) = _encodings(tokenizer, [document], limit, prompt)
    return encoded.places[1]


def _encodings(
    tokenizer: Any, documents: Sequence[Document], limit: int, prompt: Prompt
) -> Iterator[_Encoded]:
    prompts = [prompt.of(document.texts) for document in documents]
    asked = zip(prompts, documents, strict=True)
    inputs = [_inputs(own, document, document.texts["a"]) for own, document in asked]
    pair = "b" in documents[0].words
    with models.tokenizing(tokenizer.name_or_path), _as_it_was(tokenizer.backend_tokenizer):
        found = tokenizer(
            inputs,
            truncation=pair or not (prompt.after or prompt.question),
            max_length=limit,
            add_special_tokens=not prompt.special,
        )
    for document, own, encoding in zip(documents, prompts, found.encodings, strict=True):
        kept = len(document.texts["a"])
        if len(encoding.ids) > limit:
            encoding, kept = _shortened(tokenizer, document, limit, own)
        yield _Encoded(document, own, encoding, kept)


def _inputs(prompt: Prompt, document: Document, text: str) -> str | tuple[str, str]:
    """What the tokenizer is given: side a, or its beginning, in its prompt; beside it the other
    text of a pair, or before it a question."""
    if prompt.question:
        return document.texts["b"], text
    around = prompt.around(text)
    return (around, document.texts["b"]) if "b" in document.words else around


def token_spans(tokenizer: Any, prompt: Prompt, text: str) -> tuple[Span, ...]:
    """Where the tokens of a text stand, as the model reads it in its prompt."""
    with models.tokenizing(tokenizer.name_or_path), _as_it_was(tokenizer.backend_tokenizer):
        found = tokenizer([prompt.around(text)], add_special_tokens=False, truncation=False)
    before = len(prompt.before)
    spans = ((start - before, end - before) for start, end in found.encodings[0].offsets)
    return apart(text, spans)


@dataclass(frozen=True)
class _Encoded:
    """What a tokenizer made of a document in its prompt, where so many characters of side a are
    `kept`."""

    document: Document
    prompt: Prompt
    encoding: Any
    kept: int

    @property
    def size(self) -> int:
        return len(self.document.texts["a"])

    @property
    def short(self) -> bool:
        """Whether the text was cut."""
        return self.kept < self.size or bool(self.encoding.overflowing)

    @property
    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each token the number of its text, side a being 0, and its characters there; a
        question is no side, and neither are special tokens (−1)."""
        numbers = [-1 if number is None else number for number in self.encoding.sequence_ids]
        sides = np.array(numbers, dtype=np.int64)
        if self.prompt.question:
            sides = np.where(sides == 1, 0, -1)
        offsets = np.array(self.encoding.offsets, dtype=np.int64).reshape(-1, 2)
        return sides, offsets - len(self.prompt.before)

    def row(self, segments: bool) -> Row:
        """Special tokens belong to no text and are masked out."""
        sides, offsets = self.places
        mask = sides >= 0
        if self.prompt != Prompt():
            mask &= (offsets[:, 0] < self.kept) & (offsets[:, 1] > 0)
        numbers = np.full(len(sides), -1, dtype=np.int64)
        before = 0
        for side, spans in enumerate(self.document.words.values()):
            here = mask & (sides == side)
            found = words_of(offsets[here].tolist(), spans)
            numbers[here] = np.where(found >= 0, found + before, -1)
            before += len(spans)
        types = np.array(self.encoding.type_ids, dtype=np.int64) if segments else None
        row = Row(np.array(self.encoding.ids, dtype=np.int64), mask, numbers, types)
        return row if self.document.asked is None else self._asked(row, self.document.asked)

    def _asked(self, row: Row, asked: Span) -> Row:
        """The row with the tokens of what is asked about marked; they are of no word, so that they
        keep their place whatever is done to the words. What stands after the text moves with its
        end."""
        (start, end), (sides, offsets) = asked, self.places
        own = (sides == 0) & (offsets[:, 1] > offsets[:, 0])
        if start >= self.size:
            start, end = start - self.size + self.kept, end - self.size + self.kept
        elif start >= 0:
            own &= offsets[:, 0] < self.kept
        there = own & (offsets[:, 0] < end) & (offsets[:, 1] > start)
        read = offsets[own, 1].max(initial=0)
        if not there.any() or (self.short and read < end):
            said = self.document.texts["a"][max(0, start) : max(0, end)]
            raise HeedfulError(
                f"{said[:60]!r} stands at character {start} of {self.document.id!r}, of which the "
                f"model reads {read}: raise --max-length, or ask about another part."
            )
        places = np.flatnonzero(there)
        read_at = np.zeros(len(row), dtype=np.int64)
        read_at[places[0]] |= models.FIRST
        read_at[places[-1]] |= models.LAST
        words = np.where(there, -1, row.words)
        return replace(row, mask=row.mask & ~there, words=words, read_at=read_at)


def _shortened(tokenizer: Any, document: Document, limit: int, prompt: Prompt) -> tuple[Any, int]:
    """The longest beginning of the text that fits with all of its prompt, and its characters:
    cutting tokens off the end would cut off the question."""
    text, special = document.texts["a"], not prompt.special

    def encoded(length: int) -> Any:
        with models.tokenizing(tokenizer.name_or_path):
            given = _inputs(prompt, document, text[:length])
            return tokenizer([given], add_special_tokens=special).encodings[0]

    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(encoded(middle).ids) <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return encoded(low), low


def encode_target(tokenizer: Any, document: Document, limit: int | None = None) -> Row:
    """A text as a decoder would write it."""
    cut: dict[str, Any] = {} if limit is None else {"truncation": True, "max_length": limit}
    with models.tokenizing(tokenizer.name_or_path), _as_it_was(tokenizer.backend_tokenizer):
        target = tokenizer(text_target=[document.texts["a"]], **cut)
    size = len(document.texts["a"])
    return _Encoded(document, Prompt(), target.encodings[0], size).row(False)


def start_token(config: Any) -> int:
    """The token that a decoder which writes begins with."""
    known = (config.decoder_start_token_id, config.bos_token_id, 0)
    return next(token for token in known if token is not None)


def spelled(tokenizer: Any, tokens: Sequence[int]) -> tuple[str, ...]:
    """Tokens as a person reads them: without the marks of blanks, bytes as what they stand for."""
    names = [str(name) for name in tokenizer.convert_ids_to_tokens(list(tokens))]
    decoder = tokenizer.backend_tokenizer.decoder if tokenizer.is_fast else None
    special = set(tokenizer.all_special_ids)
    return tuple(
        name if token in special else _spelled(name, decoder)
        for token, name in zip(tokens, names, strict=True)
    )


def _spelled(name: str, decoder: Any) -> str:
    """Half a character (byte-level tokens may be one) keeps the name the tokenizer gives it."""
    text = name.replace(BLANK, " ") if decoder is None else decoder.decode([name])
    return name if "\ufffd" in text else text.strip() or "␣"


@contextmanager
def _as_it_was(raw: Any) -> Iterator[None]:
    """A call sets truncation and padding of a tokenizer that may be somebody else's."""
    truncates, pads = raw.truncation, raw.padding
    try:
        yield
    finally:
        raw.no_truncation() if truncates is None else raw.enable_truncation(**truncates)
        raw.no_padding() if pads is None else raw.enable_padding(**pads)


CLASSES, NUMBER, MANY, NEXT, LABEL_WORDS, ANSWER = (
    "classes", "number", "many labels", "next token", "label words", "answer",
)  # fmt: skip
WORD_LABEL, GAP, SPAN = "label of a word", "masked token", "span"
_ASKED = {
    NUMBER: "a number",
    MANY: "one of many labels",
    NEXT: "the next token",
    LABEL_WORDS: "label words",
    ANSWER: "an answer",
    WORD_LABEL: "the label of a word",
    GAP: "the masked token",
    SPAN: "an answer in the text",
}
ASKING = (NEXT, LABEL_WORDS, ANSWER, GAP)
"""What a prompt asks for."""
UNLABELLED = (NEXT, ANSWER, GAP, SPAN)
"""What needs no labels, and has no use for them."""


@dataclass(frozen=True)
class Task:
    """`names` are the model's labels; `tokens` the label words' ids."""

    kind: str
    names: tuple[str, ...]
    tokens: tuple[int, ...] = ()

    @property
    def aside(self) -> str:
        """What a reader is told after the model's name, where its classes are not its own."""
        return "" if self.kind == CLASSES else f" (asked for {_ASKED[self.kind]})"


def task_of(loaded: Loaded, loading: Loading, answers: bool = False) -> Task:
    """`answers` of the model are explained, and not its classes or its next token."""
    if loaded.kind == READER:
        task = Task(SPAN, OTHERWISE)
    elif answers:
        task = Task(ANSWER, OTHERWISE)
    elif loaded.kind in (CAUSAL, MASKED):
        task = _writer(loaded, loading)
    else:
        task = _classifier(loaded, loading)
    if loading.label is not None and task.kind != MANY:
        raise HeedfulError(
            f"{loaded.name} has no several labels at once to choose {loading.label!r} from: "
            f"leave label out."
        )
    if loading.template != "{text}" and task.kind not in ASKING:
        raise HeedfulError("a template (--template) is for language models: leave it out.")
    if loading.label_map is not None and task.kind in (*UNLABELLED, NUMBER):
        raise HeedfulError(
            f"{loaded.name} is asked for {_ASKED[task.kind]}, and a label_map is for classes: "
            f"leave it (--label-map) out."
        )
    return task


def _classifier(loaded: Loaded, loading: Loading) -> Task:
    config = loaded.module.config
    if loading.label_words is not None:
        raise HeedfulError("label_words are for language models: leave them out.")
    names = class_names(config)
    if loaded.kind == TAGGER:
        return Task(WORD_LABEL, names)
    problem = config.problem_type
    if problem == "multi_label_classification":
        if loading.label is not None and loading.label not in names:
            raise unknown_name("label", loading.label, list(names))
        return Task(MANY, names)
    if problem == "regression" or (problem is None and len(names) == 1):
        return Task(NUMBER, names)
    return Task(CLASSES, names)


def _writer(loaded: Loaded, loading: Loading) -> Task:
    if loading.label_words is None:
        size = loaded.module.config.get_text_config().vocab_size
        known = loaded.tokenizer.convert_ids_to_tokens(range(min(size, len(loaded.tokenizer))))
        rest = [f"token {i}" for i in range(len(known), size)]
        kind = NEXT if loaded.kind == CAUSAL else GAP
        return Task(kind, tuple(str(token) for token in (*known, *rest)))
    tokens = label_tokens(loaded.tokenizer, loading.label_words)
    return Task(LABEL_WORDS, tuple(loading.label_words), tokens)


def class_names(config: Any) -> tuple[str, ...]:
    return tuple(str(config.id2label[i]) for i in range(config.num_labels))


def label_tokens(tokenizer: Any, words: Mapping[str, str]) -> tuple[int, ...]:
    """The token of each label's word: one each, and no two the same."""
    tokens = []
    for label, word in words.items():
        ids = tokenizer(word, add_special_tokens=False)["input_ids"]
        if len(ids) != 1:
            pieces = tokenizer.convert_ids_to_tokens(ids)
            raise HeedfulError(
                f"the label word {word!r} for {label!r} is {len(ids)} tokens ({pieces}): choose "
                f"a word that is one token, often one with a blank before it."
            )
        tokens.append(ids[0])
    if len(tokens) < 2 or len(set(tokens)) < len(tokens):
        raise HeedfulError("label_words must be at least two different words, one per class.")
    return tuple(tokens)
