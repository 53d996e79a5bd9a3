"""Terms of the loss of a pretrained classifier: diversity, tying, mlm, impermissible.

Each is about one layer of the model: the states that its attention mixes, or the attention itself.
Masked words are about the last states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from heedful.entries import SHARE, Entries, LossTerm
from heedful.errors import HeedfulError, unknown_name
from heedful.metrics import conicity
from heedful.models import attach, evaluating, token_embeddings
from heedful.training.attention_terms import HEADS, exposure
from heedful.training.loss import masked_mean
from heedful.training.state_terms import exchanged
from heedful.types import Batch, Keep, Text

ENTRIES = Entries(LossTerm)

LAST = -2
"""The last layer's input among all hidden states; its output is the one after it."""
_SHOWN = 4  # names of sites in an error
_PROBED = 4  # tokens of the text that tells where a prediction is read


@dataclass(frozen=True)
class Pass:
    """A batch through a pretrained model. `hidden` are the embeddings and what each layer makes,
    `attentions` those of each layer where a term asks for them; `marks` are the impermissible
    tokens."""

    model: Any
    inputs: Mapping[str, Tensor]
    hidden: Sequence[Float[Tensor, "b t d"]]
    attentions: Sequence[Float[Tensor, "b h t t"]] = ()
    marks: Bool[Tensor, "b t"] | None = None

    @property
    def mask(self) -> Bool[Tensor, "b t"]:
        """The tokens that are no padding."""
        return self.inputs["attention_mask"].to(torch.bool)


class PretrainedTerm(Protocol):
    """`of(forward)` is one number, a mean over the batch's texts. Draws of its own come from
    torch's generator, which the loop seeds."""

    @property
    def attentions(self) -> bool:
        """Whether it looks at attention."""
        ...

    def of(self, forward: Pass) -> Tensor: ...


@dataclass(frozen=True)
class States:
    """The states of one layer of a pretrained model.

    `mixed` are those its attention mixes (before the layer's own norm, where that comes first),
    `embedded` the output of the embedding layer, `mask` the tokens that are no padding.
    """

    mixed: Float[Tensor, "b t d"]
    embedded: Float[Tensor, "b t d"]
    mask: Bool[Tensor, "b t"]


@dataclass(frozen=True)
class StateTerm:
    """`value(states)` is one number, a mean over the batch's texts; `layer` is the index of the
    hidden states it is about."""

    value: Callable[[States], Tensor]
    layer: int = LAST
    attentions: bool = False

    def of(self, forward: Pass) -> Tensor:
        # in float32, whatever training is done in: distances of near states need the digits
        mixed, embedded = (forward.hidden[n].float() for n in (self.layer, 0))
        return self.value(States(mixed, embedded, forward.mask))


@dataclass(frozen=True)
class PassTerm:
    """A term of a whole pass."""

    of: Callable[[Pass], Tensor]
    attentions: bool = False


@dataclass(frozen=True)
class MaskedWords:
    """What a model needs to guess words: the token that hides one, those that are never hidden,
    and its own head for masked words, `head(inputs) -> logits`, where it has one."""

    mask: int
    special: tuple[int, ...]
    head: Callable[[Any, Mapping[str, Tensor]], Tensor] | None = None

    def logits(self, model: Any, inputs: Mapping[str, Tensor]) -> Float[Tensor, "b t v"]:
        """Of every word in every place; without a head, products of the last states with the
        words' own embeddings, as tutek2020's are with its vectors."""
        if self.head is not None:
            return self.head(model, inputs)
        states = model.base_model(**inputs).last_hidden_state
        products: Tensor = states @ token_embeddings(model).weight.t()
        return products


@dataclass(frozen=True)
class Layers:
    """The layers of a pretrained model, by the names of their attention; and what it needs to guess
    words, where a term asks for that."""

    module: Any
    words: MaskedWords | None = None

    def number(self, site: str) -> int:
        """The index, among the hidden states, of the input to the attention at `site`; the last
        layer's for an empty name."""
        if not site:
            return LAST
        if site not in self.sites:
            some = [*self.sites[:_SHOWN], *(["…"] if len(self.sites) > _SHOWN else [])]
            raise HeedfulError(f"there is no attention {site!r}: choose one of {', '.join(some)}.")
        return self.sites.index(site)

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """One per layer, in their order."""
        with attach(self.module, {}) as model:
            return tuple(site.name for site in model.sites)

    @cached_property
    def reads_last(self) -> bool:
        """Whether predictions are read from the last token; else from the first."""
        tokens = torch.arange(5, 5 + _PROBED, device=self.module.device)[None]
        text = Text(tokens, torch.full_like(tokens[:, 0], _PROBED), torch.ones_like(tokens).bool())
        batch = Batch(("probe",), {"a": text}, torch.zeros_like(tokens[:, 0]))
        with evaluating(self.module), attach(self.module, {}) as model:
            keep = Keep(readout_weights=True)
            found = model(batch, keep=keep).readout_weights[model.sites[-1].name][0]
        if float(found[[0, -1]].max()) < 0.5:
            raise HeedfulError(
                "the term impermissible is about the attention of the token that a prediction is "
                "read from, and this model reads several: leave the term out."
            )
        return bool(found[-1] > found[0])


@ENTRIES.entry(
    "conicity of the states that the attention of a layer mixes",
    name="diversity",
    paper="mohankumar2020",
    citation="Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models, ACL",
)
def layer_diversity(layers: Layers, site: str = "") -> StateTerm:
    """Diversity of a layer's states (after mohankumar2020): the loss grows with their conicity."""

    def value(states: States) -> Tensor:
        return conicity(states.mixed, states.mask).mean()

    return StateTerm(value, layers.number(site))


@ENTRIES.entry(
    "squared distance between a layer's states and the embeddings of their tokens",
    name="tying",
    paper="tutek2020",
    citation="Tutek & Šnajder 2020, Staying True to Your Word, RepL4NLP",
)
def layer_tying(layers: Layers, site: str = "") -> StateTerm:
    """States that stay near their words (after tutek2020): ‖h_t − e_t‖², by token and dimension.

    The paper adds up over dimensions; here it is their mean, since a pretrained model's states have
    hundreds, and a weight should mean the same for a small and for a large one.
    """

    def value(states: States) -> Tensor:
        apart = (states.mixed - states.embedded).square().mean(-1)
        return masked_mean(apart, states.mask).mean()

    return StateTerm(value, layers.number(site))


@ENTRIES.entry(
    "a second pass has to find exchanged words again, by the model's own head for masked words",
    name="mlm",
    bounds={"share": SHARE},
    paper="tutek2020",
    citation="Tutek & Šnajder 2020, Staying True to Your Word, RepL4NLP; Devlin et al. 2019",
)
def layer_mlm(layers: Layers, share: float = 0.15) -> PassTerm:
    """Masked language modelling beside the task (after tutek2020): states must know their words.

    A second pass, with some tokens exchanged as in BERT, has to find them again: by the head for
    masked words that the folder has, which is not trained, or else by products of the last states
    with the embeddings of words. The value is the mean cross-entropy over the chosen tokens of a
    batch, 0 where none was chosen.
    """
    if not 0 < share <= 1:
        raise HeedfulError(f"mlm's share is {share}: give a number above 0, up to 1.")
    words = layers.words
    if words is None:
        raise HeedfulError("mlm needs the model's tokenizer: fine-tune a folder that has one.")
    _check_head(layers.module, words)

    def of(forward: Pass) -> Tensor:
        tokens = forward.inputs["input_ids"]
        plain = ~torch.isin(tokens, torch.tensor(words.special, device=tokens.device))
        drawn = torch.rand(tokens.shape, device=tokens.device) < share
        chosen = forward.mask & plain & drawn
        if not chosen.any():
            return forward.hidden[-1].new_zeros(())
        size = token_embeddings(forward.model).weight.shape[0]
        hidden = exchanged(tokens, chosen, words.mask, (0, size))
        logits = words.logits(forward.model, {**forward.inputs, "input_ids": hidden})
        return F.cross_entropy(logits[chosen].float(), tokens[chosen])

    return PassTerm(of)


def _check_head(module: Any, words: MaskedWords) -> None:
    """Products with embeddings need states of their width."""
    wide = token_embeddings(module).weight.shape[1]
    size = module.config.get_text_config().hidden_size
    if words.head is None and size != wide:
        raise HeedfulError(
            f"mlm needs a head for masked words, or states as wide as the embeddings, and they are "
            f"{size} and {wide}: give --pretrained a folder with such a head."
        )


@ENTRIES.entry(
    "−log of the attention that is not on impermissible tokens, of the token that is read",
    name="impermissible",
    paper="pruthi2020",
    citation="Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations, ACL",
)
def layer_impermissible(layers: Layers, heads: str = "mean", site: str = "") -> PassTerm:
    """Attention that is not to be seen on impermissible tokens (pruthi2020): in the last layer, or
    at another site, that of the token that predictions are read from.

    `heads` is what counts of several: their `mean`, or the one that shows most (`max`).
    """
    if heads not in HEADS:
        raise unknown_name("way to put heads together", heads, list(HEADS))
    number = layers.number(site)
    layer, last = -1 if number == LAST else number, layers.reads_last

    def of(forward: Pass) -> Tensor:
        assert forward.marks is not None
        mask, weights = forward.mask, forward.attentions[layer].float()
        read = mask.sum(-1) - 1 if last else torch.zeros_like(mask[:, 0]).long()
        rows = weights[torch.arange(len(read), device=read.device), :, read][:, :, None]
        return exposure(rows, forward.marks[:, None], mask[:, None, None], heads).mean()

    return PassTerm(of, attentions=True)
