"""Decoders: inseq's time beside Heedful's, for every token that a model wrote after a prompt.

inseq is run as documented (what was written is given, and explained text by text, eager
attention), and in the fastest of some settings: transformers' fast attention where weights are
not asked for, several steps or perturbations at once, and inseq writing the text itself, which
lets it take several texts at once.

Integrated gradients are compared at an equal completeness gap, as beside Captum.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import inseq
import torch
from torch import Tensor

from bench.measure import Cost, Measured, Row, Setting, joined, measure
from heedful.attributions import FLOOR, explain
from heedful.models import attach, fast_linear, probability
from heedful.perturbations import removed
from heedful.types import Batch, Model, Text
from heedful.words import word_mask

UNKNOWN, PAD, START, END, FIRST = range(5)
FILLERS = {"unk": UNKNOWN}


@dataclass(frozen=True)
class Size:
    """`prompts` of `length` tokens, each continued by `written`; all of one length, so that no
    library has to pad."""

    prompts: int
    length: int
    written: int
    layers: int
    width: int
    repeats: int

    @property
    def words(self) -> str:
        model = f"GPT-2 of {self.layers} layers of {self.width}"
        return f"{self.prompts} prompts of {self.length} tokens, {self.written} more each, {model}"


FULL, QUICK = Size(8, 24, 4, 4, 256, 3), Size(2, 5, 2, 2, 32, 1)
VOCABULARY = 200


def decoder(size: Size) -> Any:
    import transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=size.width,
        n_layer=size.layers,
        n_head=4,
        n_positions=size.length + size.written,
        initializer_range=0.07,  # likely next tokens, and a path without cliffs
        bos_token_id=START,
        eos_token_id=END,
        pad_token_id=PAD,
    )
    return transformers.GPT2LMHeadModel(config).eval()


def written(module: Any, size: Size) -> Tensor:
    """Prompts and their likeliest continuation, token by token; special tokens are not written,
    as a library would stop there."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(FIRST, VOCABULARY, (size.prompts, size.length), generator=generator)
    tokens = tokens.to(module.device)
    with torch.no_grad():
        for _ in range(size.written):
            scores = module(tokens).logits[:, -1]
            scores[:, :FIRST] = float("-inf")
            tokens = torch.cat([tokens, scores.argmax(-1)[:, None]], 1)
    return tokens


def steps(tokens: Tensor, size: Size) -> list[Batch]:
    """One batch for each token written: what came before it, the token as the class."""
    return [_step(tokens, length) for length in range(size.length, tokens.shape[1])]


def _step(tokens: Tensor, length: int) -> Batch:
    before = tokens[:, :length]
    mask = torch.ones_like(before, dtype=torch.bool)
    text = Text(before, torch.full_like(tokens[:, 0], length), mask)
    ids = tuple(f"{row}-{length}" for row in range(len(tokens)))
    return Batch(ids, {"a": text}, tokens[:, length])


# inseq on the same decoder: as documented, and as well as it can.


NAMES = {"gradient": "saliency", "gradient_input": "input_x_gradient"}


@dataclass(frozen=True)
class Inseq:
    """A method on a module, made once, as inseq's own documentation has it."""

    method: str
    size: Size
    model: Any

    @classmethod
    def load(cls, module: Any, method: str, size: Size) -> Inseq:
        logging.getLogger("inseq").setLevel(logging.ERROR)
        name = NAMES.get(method, method)
        return cls(method, size, inseq.load_model(module, name, tokenizer=_tokenizer()))

    def scores(self, tokens: Tensor, batch: int = 0, **options: Any) -> Tensor:
        """Of every token written, by the tokens before it: `[prompt, written, token]`."""
        return self._stacked(self._attributed(tokens, batch, **options))

    def with_gap(self, tokens: Tensor, batch: int = 0, **options: Any) -> tuple[Tensor, Tensor]:
        """The same, and what each token's scores miss of completeness: `[prompt, written]`."""
        found = self._attributed(tokens, batch, return_convergence_delta=True, **options)
        gaps = torch.stack([each.step_scores["deltas"] for each in found])
        return self._stacked(found), gaps.abs().double()

    def _attributed(self, tokens: Tensor, batch: int, **options: Any) -> list[Any]:
        """What was written is given, which inseq explains one text at a time; with a `batch` it
        writes itself, the same, and then takes so many at once."""
        prompts = [_text(row[: self.size.length]) for row in tokens]
        if not batch:
            whole = [_text(row) for row in tokens]
            found = self.model.attribute(prompts, whole, show_progress=False, **options)
            return list(found.sequence_attributions)
        writing = {
            "max_new_tokens": self.size.written,
            "min_new_tokens": self.size.written,
            "do_sample": False,
            "suppress_tokens": list(range(FIRST)),
        }
        found = self.model.attribute(
            prompts, show_progress=False, batch_size=batch, generation_args=writing, **options
        )
        return list(found.sequence_attributions)

    def _stacked(self, found: list[Any]) -> Tensor:
        rows = torch.stack([self._one_number(each.target_attributions) for each in found])
        return rows.transpose(1, 2).double()

    def _one_number(self, found: Tensor) -> Tensor:
        """`[token, written]`: a norm or a sum over the embedding; of attention the last layer,
        the mean over its heads."""
        if self.method == "gradient":
            return found.norm(dim=-1)
        if self.method == "attention":
            return found[:, :, -1].mean(-1)
        return found.sum(-1) if found.ndim == 3 else found


def _text(tokens: Tensor) -> str:
    return " ".join(f"w{token}" for token in tokens.tolist())


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    specials = {"<unk>": UNKNOWN, "<pad>": PAD, "<s>": START, "</s>": END}
    words = {f"w{token}": token for token in range(FIRST, VOCABULARY)}
    raw = Tokenizer(models.WordLevel({**specials, **words}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=raw, **names)


TITLES = {"gradient_input": "gradient × input", "integrated_gradients": "integrated gradients"}
OURS: dict[str, dict[str, Any]] = {"occlusion": {"operator": "unk", "magnitude": True}}
TOLERANCE, DOCUMENTED_STEPS, FEWER = 0.01, 50, (8, 16, 32)
CLOSE, ROUGHLY = 1e-3, 0.1  # of a token's largest score; roughly where a gap is allowed


def rows(method: str, setting: Setting) -> Iterator[Row]:
    size = QUICK if setting.quick else FULL
    module = decoder(size).to(setting.device)
    trial = Trial(module, method, size, written(module, size))
    if method == "integrated_gradients":
        yield from _integrated(trial)
        return
    ours = trial.ours(**OURS.get(method, {}))
    documented = trial.documented()
    yield trial.row("documented", documented, ours)
    best = min(documented, trial.best(_settings(method, size)), key=lambda each: each.seconds)
    yield trial.row("best", best, ours)


@dataclass(frozen=True)
class Trial:
    module: Any
    method: str
    size: Size
    tokens: Tensor

    def documented(self, **options: Any) -> Measured:
        return self._theirs("eager", [options])

    def best(self, settings: Iterable[dict[str, Any]]) -> Measured:
        return self._theirs("eager" if self.method == "attention" else "sdpa", settings)

    def ours(self, **params: Any) -> Measured:
        """All prompts at once, step by step, as a model is opened for an audit."""
        with attach(self.module, FILLERS) as model, fast_linear(self.module):
            return self._timed(lambda tokens: self._explained(model, tokens, params))

    def row(self, how: str, theirs: Measured, ours: Measured, note: str = "") -> Row:
        found = theirs.value[0] if isinstance(theirs.value, tuple) else theirs.value
        apart = max(_apart(found[:, k], each) for k, each in enumerate(ours.value))
        if not apart < (ROUGHLY if note else CLOSE):
            raise ValueError(f"{self.method}: scores differ by {apart:.2%} of the largest")
        note = joined(note, f"scores within {apart:.1g} of a token's largest")
        title = TITLES.get(self.method, self.method)
        costs = Cost.of(theirs), Cost.of(ours)
        return Row("inseq", title, self.size.words, f"inseq, {how}", *costs, note)

    def _theirs(self, attention: str, settings: Iterable[dict[str, Any]]) -> Measured:
        """The fastest of some settings."""
        self.module.set_attn_implementation(attention)
        loaded = Inseq.load(self.module, self.method, self.size)
        gaps = self.method == "integrated_gradients"
        work: Callable[..., Any] = loaded.with_gap if gaps else loaded.scores
        found = [self._timed(lambda tokens, s=some: work(tokens, **s)) for some in settings]
        return min(found, key=lambda measured: measured.seconds)

    def _timed(self, work: Callable[[Tensor], Any]) -> Measured:
        """After one prompt, so that nothing is paid that is made once."""
        work(self.tokens[:1])
        return measure(lambda: work(self.tokens), self.size.repeats, enough=8.0)

    def _explained(self, model: Model, tokens: Tensor, params: dict[str, Any]) -> list[Tensor]:
        batches = steps(tokens, self.size)
        return [explain(self.method, model, each, each.labels, **params) for each in batches]


def _settings(method: str, size: Size) -> list[dict[str, Any]]:
    if method != "occlusion":
        return [{"batch": size.prompts}]
    return [{"perturbations_per_eval": 32}, {"batch": size.prompts, "perturbations_per_eval": 4}]


def _integrated(trial: Trial) -> Iterator[Row]:
    """In its best setting inseq takes as few steps as bring every token within the tolerance."""
    change = _change(trial)
    documented = trial.documented(n_steps=DOCUMENTED_STEPS)
    yield _integrated_row(trial, f"documented ({DOCUMENTED_STEPS} steps)", documented, change, 0.0)
    for fewer in FEWER:
        once = {"n_steps": fewer, "internal_batch_size": 128}
        best = trial.best([once, {**once, "batch": trial.size.prompts}])
        if _relative(best.value[1], change) <= TOLERANCE:
            break
    yield _integrated_row(trial, f"best ({fewer} steps)", best, change, TOLERANCE)


def _integrated_row(trial: Trial, how: str, theirs: Measured, change: Tensor, least: float) -> Row:
    gap = max(least, _relative(theirs.value[1], change))
    ours = trial.ours(baseline="unk", tolerance=gap)
    note = f"every token within a gap of {gap:.2g}" if gap else "no gap but single precision's"
    return trial.row(how, theirs, ours, note)


def _relative(gaps: Tensor, change: Tensor) -> float:
    """The largest, less what single precision explains."""
    return float(((gaps - FLOOR).clamp_min(0) / change).max())


def _change(trial: Trial) -> Tensor:
    """|f(x) − f(all tokens unknown)|: `[prompt, written]`."""
    found = []
    with attach(trial.module, FILLERS) as model:
        for batch in steps(trial.tokens, trial.size):
            there = word_mask(batch.texts["a"])
            each = [removed(model, batch, gone, "unk") for gone in (there & False, there)]
            whole, bare = (probability(logits, batch.labels) for logits in each)
            found.append((whole - bare).abs())
    return torch.stack(found, 1).cpu()


def _apart(theirs: Tensor, ours: Tensor) -> float:
    """The largest difference as a share of the row's largest score."""
    theirs, ours = theirs[:, : ours.shape[1]].cpu(), ours.cpu()
    return float(((theirs - ours).abs().amax(1) / ours.abs().amax(1).clamp_min(1e-12)).max())
