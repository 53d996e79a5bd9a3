"""One text as a model reads it: its tokens, as words to read, beside the batch that is run.

Only attention is looked at here, so nothing is asked of the model: it may also be bare, write
texts, or fill gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heedful import models
from heedful.errors import HeedfulError
from heedful.targets.document import Document, Row, Span, pad
from heedful.targets.documents import documents_of, find_records
from heedful.targets.open import hugging_face, is_own, open_target, own_writer
from heedful.targets.options import ANSWERING, SECOND, Loading, Prompt, Reading, reading_and_loading
from heedful.targets.pretrained import (
    BLANK,
    CAUSAL,
    MASKED,
    READER,
    Loaded,
    check_tokens,
    encode_documents,
    encode_target,
    longest,
    spelled,
    start_token,
)
from heedful.targets.pretrained_writer import prompt_of
from heedful.targets.target import AuditTarget, Spell, unseen
from heedful.types import Batch, Model
from heedful.units import WORD

SUBWORD = "##"  # what WordPiece writes before tokens inside a word
START, MARK = "(start)", "·"
Split = Callable[[str], tuple[Span, ...]]
"""From a text to where its words stand."""


@dataclass(frozen=True)
class TokenText:
    """One side: its tokens as a person reads them, the number of each one's word (−1 for none),
    and the words by number. `special` marks tokens that the tokenizer adds; `parts` says which
    text of a pair each token belongs to."""

    tokens: tuple[str, ...]
    words: tuple[int, ...]
    surface: tuple[str, ...]
    special: tuple[bool, ...]
    parts: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class OneText:
    """`sides` are those of the batch, and a `target` that a model makes itself of the text.
    `heads` is how many each site has, as far as that is known before the model is run."""

    name: str
    model: Model
    batch: Batch
    sides: Mapping[str, TokenText]
    heads: int = 1
    notes: tuple[str, ...] = field(default=())
    unit: str = WORD
    """What the words of the sides are."""


@contextmanager
def open_text(model: Any, texts: Mapping[str, str], **options: Any) -> Iterator[OneText]:
    """`model` is what `open_target` takes, or any other model of transformers with attention;
    `texts` are `text`, and `text_b` of a pair or the `target` that a model has written. Options
    are those of `Loading`, and `store`."""
    reading, loading = reading_and_loading({**options, "label_column": None})
    if is_own(model, reading):
        asked, written = dict(texts), own_writer(model, reading)
        if written and "target" not in texts:
            raise no_target("this model")
        if written:
            options["answer"] = asked.pop("target")
        elif "target" in texts:
            raise HeedfulError("this model reads texts and writes none: leave the target out.")
        columns = {"text_b_column": "text_b"} if "text_b" in texts else {}
        with open_target(model, [asked], label_column=None, **columns, **options) as subject:
            yield one_text(subject)
        return
    loaded = _loaded(model, reading, loading)
    _check_texts(loaded, texts, loading)
    with _attached(loaded) as look_at:
        yield look_at(*_encoded(loaded, texts, loading))


@contextmanager
def open_texts(
    model: Any, texts: Sequence[str], words: Split, **options: Any
) -> Iterator[Iterator[OneText]]:
    """The same for several texts, one after the other; `words` says where a text's words stand. A
    model that writes is refused."""
    reading, loading = reading_and_loading({**options, "label_column": None})
    if is_own(model, reading):
        if own_writer(model, reading):
            raise HeedfulError("this model writes texts: give a model that reads.")
        records = [{"id": str(place), "text": text} for place, text in enumerate(texts)]
        own = {"id_column": "id", "label_column": None, "words": words}
        with open_target(model, records, **own, **options) as subject:
            places = {name: place for place, name in enumerate(subject.ids)}
            yield (one_text(subject, places[str(place)]) for place in range(len(texts)))
        return
    loaded = _loaded(model, reading, loading)
    if writes(loaded.module) or not loaded.tokenizer.is_fast:
        raise HeedfulError(
            f"{loaded.name} writes texts, or its tokenizer does not say where its tokens stand: "
            "give a model that reads, with a fast tokenizer."
        )
    with _attached(loaded) as look_at:
        yield (look_at(*_encoded(loaded, {"text": text}, loading, words)) for text in texts)


def _loaded(model: Any, reading: Reading, loading: Loading) -> Loaded:
    loading.refuse("a look at attention", "label", "label_words", "label_map", *ANSWERING)
    if loading.prompt.holds_b:
        raise HeedfulError(
            f"a look at attention puts no second text into a template: leave {SECOND} out of "
            f"--template."
        )
    return hugging_face(model, reading, loading, asked=False)


@contextmanager
def _attached(loaded: Loaded) -> Iterator[Callable[..., OneText]]:
    """What makes a text of a batch, its sides and notes, while the model is attached."""
    heads = getattr(loaded.module.config.get_text_config(), "num_attention_heads", None) or 1

    def look_at(batch: Batch, sides: Mapping[str, TokenText], notes: tuple[str, ...]) -> OneText:
        batch = batch.to(loaded.module.device)
        return OneText(loaded.name, attached, batch, sides, heads, notes)

    with (
        models.evaluating(loaded.module),
        models.attach(loaded.module, {}, _anything) as attached,
    ):
        yield look_at


def one_text(subject: AuditTarget, index: int = 0) -> OneText:
    """Of a model that is open already, one of its documents."""
    row, document = subject.rows[index], subject.documents[index]
    sides = {"a": _token_text(row, document, subject.spell)}
    if row.target is not None and subject.spell is not None:
        sides["target"] = _of_no_word(subject.spell(row.target.tolist()))
    elif any("target" in (site.keys, site.queries) for site in subject.model.sites):
        sides["target"] = _moved(sides["a"])
    notes = tuple(note for note in subject.notes if note != subject.question)
    batch = subject.encode([index])
    return OneText(subject.family, subject.model, batch, sides, 1, notes, subject.unit)


def _anything(output: Any, inputs: models.Inputs) -> Tensor:
    """What a module says is not looked at."""
    first: Tensor = output[0]
    return first.flatten(1)


def _encoded(
    loaded: Loaded, texts: Mapping[str, str], loading: Loading, words: Split | None = None
) -> tuple[Batch, dict[str, TokenText], tuple[str, ...]]:
    """The batch, its sides as they are read, and what to say of them."""
    limit = longest(loaded, loading.max_length)
    prompt = prompt_of(loaded, loading) if loaded.kind == MASKED else loading.prompt
    if loaded.kind == READER and "text_b" in texts:  # the question comes first
        texts = {"text": texts["text_b"], "text_b": texts["text"]}
    row, text, lost = _side(loaded, texts, limit, prompt, words)
    rows, sides = {"a": row}, {"a": text}
    if writes(loaded.module):
        rows["target"], sides["target"] = _written(loaded, texts["target"], limit)
    elif loaded.module.config.is_encoder_decoder:
        sides["target"] = _moved(text)
    check_tokens(loaded, list(rows.values()))
    if unseen([row]):
        raise HeedfulError("the model's tokenizer finds no word in the text: write some.")
    batch = Batch(("text",), {side: pad([row]) for side, row in rows.items()}, torch.tensor([-1]))
    cut = f"the text is longer than the model reads: {lost} words were cut off."
    return batch, sides, (cut,) if lost else ()


def no_target(name: str) -> HeedfulError:
    return HeedfulError(
        f"{name} reads a text and writes another: give what it wrote as target=…, to see how its "
        f"decoder attends."
    )


def writes(module: Any) -> bool:
    """Whether an encoder's states are read by a decoder that writes."""
    return bool(module.config.is_encoder_decoder and module.can_generate())


def _check_texts(loaded: Loaded, texts: Mapping[str, str], loading: Loading) -> None:
    if writes(loaded.module):
        if "target" not in texts:
            raise no_target(loaded.name)
        if "text_b" in texts:
            raise HeedfulError(f"{loaded.name} reads one text: give the other as target=…")
    elif "target" in texts:
        raise HeedfulError(f"{loaded.name} writes no text of its own: leave the target out.")
    if "text_b" in texts and loaded.kind == CAUSAL:
        raise HeedfulError(f"{loaded.name} reads one text: leave the second out.")
    if loading.template != "{text}" and loaded.kind not in (CAUSAL, MASKED):
        raise HeedfulError("a template (--template) is for language models: leave it out.")


def _side(
    loaded: Loaded,
    texts: Mapping[str, str],
    limit: int,
    prompt: Prompt,
    words: Split | None = None,
) -> tuple[Row, TokenText, int]:
    """What is read, and how many words were cut."""
    tokenizer = loaded.tokenizer
    if not tokenizer.is_fast:
        if "text_b" in texts:
            raise HeedfulError(
                f"the tokenizer of {loaded.name} is not a fast one and cannot say which text a "
                f"token belongs to: give one text."
            )
        return *_by_marks(tokenizer, tokenizer(prompt.around(texts["text"]))["input_ids"], limit), 0
    document = _document({name: texts[name] for name in texts if name != "target"}, words)
    rows, lost = encode_documents(tokenizer, [document], limit, prompt)
    return rows[0], _token_text(rows[0], document, partial(spelled, tokenizer)), lost.words


def _written(loaded: Loaded, target: str, limit: int) -> tuple[Row, TokenText]:
    """What a decoder is given to write this: its start, then the tokens up to the last one, each
    of which stands where the next one is written."""
    tokenizer = loaded.tokenizer
    if tokenizer.is_fast:
        document = _document({"text": target})
        row = encode_target(tokenizer, document, limit)
        text = _token_text(row, document, partial(spelled, tokenizer))
    else:
        ids = tokenizer(text_target=target)["input_ids"]
        row, text = _by_marks(tokenizer, ids, limit)
    start = start_token(loaded.module.config)
    return _shifted(row, start), _moved(text, spelled(tokenizer, [start])[0])


def _shifted(row: Row, start: int) -> Row:
    end = _end(row.mask.tolist())
    return Row(
        np.array([start, *row.tokens[:end]]),
        np.array([False, *row.mask[:end]]),
        np.array([-1, *row.words[:end]]),
    )


def _moved(text: TokenText, start: str = START) -> TokenText:
    """One place later, as a decoder is given it."""
    end = _end([not special for special in text.special])
    return replace(
        text,
        tokens=(start, *text.tokens[:end]),
        words=(-1, *text.words[:end]),
        special=(True, *text.special[:end]),
        parts=(0, *text.parts[:end]),
    )


def _end(own: list[bool]) -> int:
    """Nothing is written after the token that ends a text."""
    return len(own) if own[-1] else len(own) - 1


def _document(texts: dict[str, str], words: Split | None = None) -> Document:
    second = "text_b" if "text_b" in texts else None
    reading = Reading(label_column=None, text_b_column=second, words=words)
    return documents_of(find_records([texts], reading), reading)[0]


def _token_text(row: Row, document: Document, spell: Spell | None) -> TokenText:
    """Where the tokenizer does not spell its tokens, they are the words they belong to."""
    surface, words = document.surface, tuple(row.words.tolist())
    tokens = tuple(surface[word] if word >= 0 else MARK for word in words)
    if spell is not None:
        tokens = spell(row.tokens.tolist())
    first = len(document.words["a"])
    parts = np.maximum.accumulate([int(word >= first) for word in words])
    outside = ~row.mask if row.read_at is None else ~row.mask & (row.read_at == 0)
    special = tuple(outside.tolist())
    return TokenText(tokens, words, surface, special, tuple(parts.tolist()))


def _of_no_word(tokens: tuple[str, ...]) -> TokenText:
    """What a decoder has written, its start first."""
    size = len(tokens)
    special = (True, *(False,) * (size - 1))
    return TokenText(tokens, (-1,) * size, (), special, (0,) * size)


def _by_marks(tokenizer: Any, ids: list[int], limit: int) -> tuple[Row, TokenText]:
    """For tokenizers that do not say where their tokens stand: a word begins where a token has
    SentencePiece's mark of a blank, or has not WordPiece's of going on."""
    known = set(tokenizer.all_special_ids)
    kept = [*ids[: limit - 1], *ids[-1:]] if len(ids) > limit else ids
    names, tokens = tokenizer.convert_ids_to_tokens(kept), spelled(tokenizer, kept)
    marks = any(name.startswith(BLANK) for name in names)
    words, surface, inside = list[int](), list[str](), False
    for token, name, text in zip(kept, names, tokens, strict=True):
        special = token in known
        goes_on = not name.startswith(BLANK) if marks else name.startswith(SUBWORD)
        if not special and inside and goes_on:
            surface[-1] += text.removeprefix(SUBWORD)
        elif not special:
            surface.append(text)
        words.append(-1 if special else len(surface) - 1)
        inside = not special
    mask = np.array(words) >= 0
    row = Row(np.array(kept, dtype=np.int64), mask, np.array(words, dtype=np.int64))
    added, parts = tuple((~mask).tolist()), (0,) * len(words)
    return row, TokenText(tokens, tuple(words), tuple(surface), added, parts)
