"""A Hugging Face model that writes: the tokens of its answers, and what stands around a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile

from heedful import models
from heedful.errors import HeedfulError
from heedful.models import Gumbel
from heedful.targets.answers import (
    GIVEN,
    Encoded,
    Said,
    encode_answers,
    no_answer,
    too_long,
    unknown_token,
)
from heedful.targets.document import Document, Row
from heedful.targets.options import LONGEST, MASK, Loading, Prompt, Reading
from heedful.targets.places import Places, check_places, mask_of
from heedful.targets.pretrained import (
    ANSWER,
    CAUSAL,
    CLASSIFIER,
    MASKED,
    READER,
    TAGGER,
    WRITER,
    Loaded,
    Task,
    encode_documents,
    encode_some,
    encode_target,
    longest,
    start_token,
)


def encode(
    loaded: Loaded, task: Task, documents: Sequence[Document], loading: Loading, seed: int
) -> Encoded:
    """The rows that the model is given, with answers where it is asked for them."""
    limit, prompt = longest(loaded, loading.max_length), prompt_of(loaded, loading)
    documents = Places(loaded, loading, limit, prompt).placed(documents)
    if task.kind != ANSWER:
        return Encoded(documents, *encode_documents(loaded.tokenizer, documents, limit, prompt))
    return encode_answers(PretrainedWriter(loaded, limit, prompt), documents, loading, seed)


def check_asked(loaded: Loaded, answers: bool, reading: Reading, loading: Loading) -> None:
    """An answer is asked of models that write, and of some nothing else can be asked."""
    check_places(loaded, reading, loading)
    if answers and loaded.kind in (CLASSIFIER, TAGGER):
        what = "texts" if loaded.kind == CLASSIFIER else "words"
        raise HeedfulError(
            f"{loaded.name} classifies {what} and writes no answers: leave out {GIVEN}."
        )
    if not answers and loaded.kind == WRITER:
        raise no_answer(loaded.name)


def prompt_of(loaded: Loaded, loading: Loading) -> Prompt:
    """What stands around the text: the template, within the tokenizer's own for a chat. A model
    that finds answers in a text reads a question before it."""
    if loaded.kind == READER and not loading.chat:
        return Prompt(question=True)
    if loaded.kind == MASKED and MASK in loading.template:
        loading = replace(loading, template=loading.template.replace(MASK, mask_of(loaded)))
    if not loading.chat:
        return loading.prompt
    if loaded.kind != CAUSAL or not getattr(loaded.tokenizer, "chat_template", None):
        raise HeedfulError(
            f"{loaded.name} has no chat template: leave --chat out, and write the prompt as a "
            f"--template."
        )
    message = [{"role": "user", "content": loading.template}]
    try:
        whole = loaded.tokenizer.apply_chat_template(
            message, tokenize=False, add_generation_prompt=True
        )
    except Exception as error:  # a template is a program and may raise anything
        raise HeedfulError(
            f"the chat template of {loaded.name} cannot be used "
            f"({models.first_sentence(error)}): leave --chat out, and write a --template."
        ) from error
    if str(whole).count("{text}") != 1:
        raise HeedfulError(
            f"the chat template of {loaded.name} does not hold the user's text once: leave --chat "
            f"out, and write a --template."
        )
    before, _, after = str(whole).partition("{text}")
    return Prompt(before, after, special=True)


class PretrainedWriter:
    """Keeps `heedful.targets.answers.WritingModel`."""

    def __init__(self, loaded: Loaded, limit: int, prompt: Prompt) -> None:
        self.loaded, self.limit, self.prompt, self.name = loaded, limit, prompt, loaded.name
        self.tokenizer, self.decodes = loaded.tokenizer, loaded.kind == WRITER
        room = models.max_positions(loaded.module.config)
        self.written_limit = min(limit, LONGEST if room is None else room)

    def row(self, document: Document, before: int) -> tuple[Row, bool]:
        room = self.written_limit if self.decodes else self.limit - 1
        if before > room:
            raise too_long(document, before, room, self.name)
        room = self.limit if self.decodes else self.limit - before
        return next(encode_some(self.tokenizer, [document], room, self.prompt))

    def write(self, row: Row, document: Document, most: int, noise: Gumbel | None) -> Said:
        tokens = row.tokens.tolist()
        return self._parted(models.write(self.loaded.module, tokens, most, document.id, noise))

    def tokens(self, text: str, document: Document) -> Said:
        start = list[int]()
        if self.decodes:
            asked = replace(document, texts={"a": text}, words={"a": ()})
            ids = encode_target(self.tokenizer, asked).tokens.tolist()
            start, answer = self._parted([start_token(self.loaded.module.config), *ids])
        else:
            with models.tokenizing(self.tokenizer.name_or_path):
                ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
            answer = list(ids)
        size = models.token_embeddings(self.loaded.module).weight.shape[0]
        if text.strip() and (self.tokenizer.unk_token_id in ids or max(ids, default=0) >= size):
            raise unknown_token(text, document, self.name)
        if self.loaded.kind == MASKED and len(answer) > 1:
            raise HeedfulError(
                f"the answer {text[:60]!r} to {document.id!r} has {len(answer)} tokens, and a mask "
                f"stands for one: give a shorter one."
            )
        return start, answer

    def text(self, answer: Sequence[int]) -> str:
        return str(self.tokenizer.decode(answer, clean_up_tokenization_spaces=False))

    @cached_property
    def special(self) -> set[int]:
        """Tokens that stand for no text. A tokenizer may know one by its mark alone, and a model
        may end with one that its tokenizer does not name."""
        marked = self.tokenizer.added_tokens_decoder.items()
        settings = getattr(self.loaded.module, "generation_config", None)
        ends = getattr(settings, "eos_token_id", None)
        own = {token for token, facts in marked if facts.special}
        last = [] if ends is None else ends if isinstance(ends, list) else [ends]
        return {*self.tokenizer.all_special_ids, *own, *last}

    def _parted(self, ids: list[int]) -> Said:
        """The special tokens that a decoder begins with, and the tokens up to the next one."""
        special = self.special
        start = ids[:1] if self.decodes else []
        rest = ids[len(start) :]
        if self.decodes:
            start += takewhile(lambda token: token in special, rest)
        plain = ids[len(start) :]
        return start, list(takewhile(lambda token: token not in special, plain))
