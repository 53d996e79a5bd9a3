"""A Hugging Face module as a `heedful.types.Model`.

Most of a transformer is a list of like layers. What each of them gave is noted in one pass, and a
later pass of the same batch repeats it: nothing changes before the first edited site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from heedful.errors import HeedfulError
from heedful.models.family import leave_one_out_logits
from heedful.models.hf.folder import transformers
from heedful.models.hf.inputs import Form, Head, Inputs, Side, Writing, inputs_of
from heedful.models.hf.interface import is_long, listening
from heedful.models.hf.prefixes import prefixes
from heedful.models.hf.recorder import Recorder, Site
from heedful.models.hf.windows import is_windowed
from heedful.models.hf.written import replaced_forwards
from heedful.types import Batch, Deleted, Edits, Embeddings, Keep, SiteSpec, Trace
from heedful.words import present

MANY_LOGITS = 1 << 24
"""Fewer are all computed: a language model's own."""


class HuggingFace(nn.Module):
    """Made by `attach`, and good for as long as the `with` block lasts."""

    def __init__(
        self,
        module: nn.Module,
        sites: tuple[Site, ...],
        form: Form,
        head: Head,
        fillers: Mapping[str, int],
        layers: Layers = (),
    ) -> None:
        super().__init__()
        self.module = module
        self._layers = tuple(layers)
        self._sites, self._form, self._head, self._fillers = sites, form, head, dict(fillers)
        self._by_call = {(site.module, site.nth): site for site in sites}
        self._read_where_asked = False  # as far as is known yet

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return tuple(site.spec for site in self._sites)

    @property
    def fillers(self) -> Mapping[str, int]:
        return self._fillers

    def embed(self, batch: Batch) -> Embeddings:
        text = batch.texts["a"]
        tokens = text.tokens.masked_fill(~present(text), self._form.pad)
        with torch.no_grad():
            return {"a": _first(self._embedding()(tokens))}

    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        if embeddings is None and keep.embeddings:
            graph = torch.is_grad_enabled()
            embeddings = {side: x.requires_grad_(graph) for side, x in self.embed(batch).items()}
        if not edits and embeddings is None and keep == Keep(weights=False):
            logits = self._after_prefix(batch)
            if logits is not None:
                return Trace(logits, {}, {})
        cache = LayerCache(embeddings) if keep.states else None
        return self._pass(batch, edits or {}, keep, cache, embeddings)

    def _after_prefix(self, batch: Batch) -> Tensor | None:
        """The logits, where a text goes on from one that begins alike; None where it does not."""
        shared = prefixes()
        if shared is None or torch.is_grad_enabled() or not isinstance(self._head, Writing):
            return None
        inputs = inputs_of(batch, self._form)
        if not shared.serves(self.module, self._form, inputs):
            return None
        inputs = inputs.only_asked()
        return single(self._head(shared.output(self.module, inputs), inputs))

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the layer of the first edited site on, where the trace kept its states and the
        module has layers; else from the start, with the embeddings that were given if the trace
        kept any states."""
        cache = trace.encoding
        if not isinstance(cache, LayerCache):
            return self.forward(batch, edits)
        first = next(
            (i for i, site in enumerate(self.sites) if site.name in edits), len(self.sites)
        )
        after = self._pass(batch, edits, Keep(), cache, cache.embeddings, first)
        weights, masks = {**trace.weights, **after.weights}, {**trace.masks, **after.masks}
        return replace(after, weights=weights, masks=masks)

    def _pass(
        self,
        batch: Batch,
        edits: Edits,
        keep: Keep,
        cache: LayerCache | None,
        embeddings: Embeddings | None,
        first: int = 0,
    ) -> Trace:
        """LayerCache of an earlier pass are repeated up to the site number `first`."""
        unknown = set(edits) - {site.name for site in self.sites}
        if unknown:
            raise HeedfulError(
                f"there is no attention {min(unknown)!r} to edit: choose one of model.sites."
            )
        inputs, graph = inputs_of(batch, self._form), torch.is_grad_enabled()
        known = keep.readout_weights and self._asks_once(inputs) and self._read_where_asked
        listened = replace(keep, readout_weights=False) if known else keep
        recorder = Recorder(self._by_call, edits, listened, inputs.sides, batch.ids)
        texts, width = inputs.sides["a"].real.shape
        again = keep.again and graph and is_long(texts, width, width)
        if again and "use_cache" in self._form.takes:  # keys and values would be there twice
            inputs = replace(inputs, arguments={**inputs.arguments, "use_cache": False})
        with (
            torch.set_grad_enabled(graph),
            cached_layers(self._layers, recorder, cache, first),
            layers_run_again(self._layers, recorder) if again else nullcontext(),
        ):
            with recorder.projecting(self.module) if keep.values else nullcontext():
                logits = self._logits(inputs, recorder, embeddings)
            readout = {}
            if recorder.output is not None:
                readout = readout_weights(logits, recorder.output, self._sites, recorder.sides)
                self._learn(readout, inputs)
            elif known:
                own = _places(inputs, self._sites).to(logits.dtype)
                readout = readout_where(own, self._sites, inputs.sides)
        return Trace(
            logits=logits if graph else logits.detach(),
            weights=recorder.weights,
            masks=recorder.masks,
            embeddings=dict(embeddings) if keep.embeddings and embeddings else {},
            encoding=cache,
            values=recorder.values,
            projections=recorder.projections,
            projection_biases=recorder.projection_biases,
            readout_weights=readout,
        )

    def _asks_once(self, inputs: Inputs) -> bool:
        """Whether the head of a decoder reads logits at one place of each text."""
        decoder = not self._form.decodes and isinstance(self._head, Writing)
        return decoder and inputs.answer is None

    def _learn(self, readout: Mapping[str, Tensor], inputs: Inputs) -> None:
        """If the gradient says that a prediction is read at the asked place alone, what comes after
        the last attention looks at each place by itself. That is the module's build: it is computed
        once, with texts of several places."""
        if self._asks_once(inputs) and not self._read_where_asked:
            own = readout[self._sites[-1].spec.name]
            asked = _places(inputs, self._sites).to(own.dtype)
            self._read_where_asked = own.shape[1] > 1 and torch.equal(own, asked)

    def logits_between_layers(self, batch: Batch, edits: Edits, between: Between) -> Tensor:
        """The logits, where `between(number, states)` is shown the states that each layer is given,
        and after the last layer its own, and says what to go on with. Without gradients."""
        if any(site.module in self._layers for site in self._sites):  # XLM
            raise HeedfulError(
                f"{type(self.module).__name__} has no layers that hold their attention and all "
                "around it: its states cannot be followed."
            )
        if any(is_windowed(site.module) for site in self._sites):
            raise HeedfulError(
                f"{type(self.module).__name__} pads texts to full windows: its states cannot be "
                "followed from token to token."
            )
        inputs = inputs_of(batch, self._form)
        recorder = Recorder(self._by_call, edits, Keep(weights=False), inputs.sides, batch.ids)
        shown = partial(_shown, inputs.sides["a"], between)
        with torch.no_grad(), _between_layers(self._layers, len(self._sites), shown):
            return self._logits(inputs, recorder, None)

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return leave_one_out_logits(self.logits, batch)

    def logits(self, batch: Batch) -> Tensor:
        """The logits alone, by the same arithmetic."""
        inputs = inputs_of(batch, self._form)
        recorder = Recorder(self._by_call, {}, Keep(weights=False), inputs.sides, batch.ids)
        return self._logits(inputs, recorder, None)

    def _logits(self, inputs: Inputs, recorder: Recorder, embeddings: Embeddings | None) -> Tensor:
        if self._writes_much(inputs):
            inputs = inputs.only_asked()
        given = None if embeddings is None else inputs.sides["a"].turn(embeddings["a"], 1)
        tokens = inputs.arguments["input_ids"]
        with listening(recorder), replaced_embeddings(self._embedding(), tokens, given):
            output = self.module(**inputs.arguments)
        recorder.check(type(self.module).__name__)
        return single(self._head(output, inputs))

    def _writes_much(self, inputs: Inputs) -> bool:
        """Whether logits of places that nobody asks about are many, and can be left out."""
        if not isinstance(self._head, Writing) or "logits_to_keep" not in self._form.takes:
            return False
        module: Any = self.module
        words: int = module.config.get_text_config().vocab_size
        return inputs.sides["a"].real.numel() * words > MANY_LOGITS

    def _embedding(self) -> nn.Module:
        module: Any = self.module
        reader = module.get_encoder() if self._form.decodes else module
        if not isinstance(reader, transformers().PreTrainedModel):  # FSMT's is none
            reader = module
        embedding: nn.Module = reader.get_input_embeddings()
        return embedding


def single(logits: Tensor) -> Tensor:
    """In single precision at least."""
    return logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits


@contextmanager
def replaced_embeddings(
    embedding: nn.Module, tokens: Int[Tensor, "b t"], given: Float[Tensor, "b t d"] | None
) -> Iterator[None]:
    """The embedding's first answer, which is of these tokens, is `given`. Everything else a module
    makes of the tokens (positions, the decoder's input, where the text ends) stays as it is, which
    passing `inputs_embeds` does not promise."""
    if given is None:
        yield
        return
    left = [given]

    def hook(module: nn.Module, arguments: Any, output: Any) -> Any:
        if not left:
            return output
        own = _first(output)
        new = _as_embedded(left.pop().to(own.dtype), tokens, arguments[0], own)
        return (new, *output[1:]) if isinstance(output, tuple) else new

    handle = embedding.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
    if left:
        raise HeedfulError("the embeddings given were not used: the model embeds tokens elsewhere.")


def _first(output: Any) -> Tensor:
    """What a module gives, without what it says beside: I-BERT's embedding also has a scale."""
    first: Tensor = output[0] if isinstance(output, tuple) else output
    return first


def _as_embedded(
    given: Float[Tensor, "b t d"], tokens: Int[Tensor, "b t"], ids: Tensor, output: Tensor
) -> Tensor:
    """In the order in which a module embeds its tokens: XLNet has texts in columns, Longformer
    fills them up to a multiple of its window."""
    if ids.shape == tokens.T.shape and torch.equal(ids, tokens.T):
        return given.transpose(0, 1)
    if ids.ndim == 2 and ids.shape[1] > tokens.shape[1]:
        return torch.cat([given, output[:, tokens.shape[1] :]], 1)
    return given.reshape(output.shape)


Layers = Sequence[nn.Module]


@dataclass(frozen=True)
class LayerCache:
    """The embeddings that a pass was given, and by layer and by the number of the call: how many
    sites had been called by its end, and its output."""

    embeddings: Embeddings | None = None
    outputs: dict[tuple[nn.Module, int], tuple[int, Any]] = field(default_factory=dict)


def layers_of(module: nn.Module, sites: Sequence[Site]) -> tuple[nn.Module, ...]:
    """The members of the outermost lists that hold sites."""
    homes = {site.module for site in sites}
    found: list[nn.Module] = []
    for child in module.children():
        if isinstance(child, nn.ModuleList) and not homes.isdisjoint(child.modules()):
            found += child
        else:
            found += layers_of(child, sites)
    return tuple(found)


@contextmanager
def cached_layers(
    layers: Layers, recorder: Recorder, cache: LayerCache | None, first: int
) -> Iterator[None]:
    """Layers whose output is in the cache, and that end before the site number `first`, are not run
    again; the outputs of the others are added, except after the last site."""
    if cache is None:
        yield
        return
    outputs, called = cache.outputs, Counter[nn.Module]()

    def answer(layer: nn.Module, forward: Callable[..., Any], *args: Any, **options: Any) -> Any:
        call = layer, called[layer]
        called[layer] += 1
        sites, output = outputs.get(call, (None, None))
        if sites is not None and sites <= first:
            recorder.skip(sites)
            return output
        output = forward(*args, **options)
        if sites is None and recorder.passed < len(recorder.sites):
            outputs[call] = recorder.passed, output
        return output

    with replaced_forwards({layer: partial(answer, layer, layer.forward) for layer in layers}):
        yield


@contextmanager
def layers_run_again(layers: Layers, recorder: Recorder) -> Iterator[None]:
    """Of the layers that are run inside, a graph holds what they are given and not what they
    compute on the way: for the gradient each of them is run again, under the same edits."""

    def run(forward: Callable[..., Any], *args: Any, **options: Any) -> Any:
        def listened() -> tuple[Any, Any]:
            return nullcontext(), listening(recorder.at_this_call())

        return checkpoint(forward, *args, use_reentrant=False, context_fn=listened, **options)

    with replaced_forwards({layer: partial(run, layer.forward) for layer in layers}):
        yield


Between = Callable[[int, Float[Tensor, "b t d"]], Float[Tensor, "b t d"]]


def _shown(side: Side, between: Between, number: int, states: Tensor) -> Tensor:
    """In a trace's coordinates."""
    if states.shape[:2] != side.real.shape:  # XLNet has texts, SqueezeBert tokens elsewhere
        raise HeedfulError("layers are given no states that can be followed from token to token.")
    return side.turn(between(number, side.turn_back(states, 1)), 1).to(states.dtype)


@contextmanager
def _between_layers(layers: Layers, calls: int, between: Between) -> Iterator[None]:
    """Each layer is called with one attention in it, so there are as many `calls` as sites."""
    done = 0

    def enter(layer: nn.Module, args: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if args:
            return (between(done, args[0]), *args[1:]), options
        if "hidden_states" not in options:
            raise HeedfulError(f"{type(layer).__name__} is given no states that can be followed.")
        return args, {**options, "hidden_states": between(done, options["hidden_states"])}

    def leave(layer: nn.Module, args: Any, output: Any) -> Any:
        nonlocal done
        done += 1
        if done < calls:
            return output
        if isinstance(output, (tuple, list)):  # OpenAI's first GPT has lists
            return type(output)([between(done, output[0]), *output[1:]])
        return between(done, output)

    handles = []
    try:
        for layer in set(layers):
            handles.append(layer.register_forward_pre_hook(enter, with_kwargs=True))
            handles.append(layer.register_forward_hook(leave))
        yield
        if done < calls:  # SqueezeBert goes around its layers' hooks
            raise HeedfulError("the model's layers are not run as such: states cannot be followed.")
    finally:
        for handle in handles:
            handle.remove()


def readout_weights(
    logits: Tensor, output: Tensor, sites: Sequence[Site], sides: Mapping[str, Side]
) -> dict[str, Float[Tensor, "b q"]]:
    """Which query rows of each site the prediction is read from: computed, not assumed. The last
    site's output is differentiated: rows without a gradient are read by nobody. BERT's classifier
    turns out to read the first token, GPT-2's the last, a mean all of them. Sites whose queries
    are on the last site's side share its rows; an encoder whose states are read by a decoder is
    read everywhere."""
    # unlike factors: in the plain sum two opposite classes would cancel
    factors = torch.linspace(1, 2, logits.shape[-1], device=logits.device, dtype=logits.dtype)
    (slopes,) = torch.autograd.grad((logits * factors).sum(), output, retain_graph=True)
    last = sites[-1].spec.queries
    side = sides[last]
    norms = side.turn_back(slopes.double().flatten(2).norm(dim=-1), 1) * side.real
    shares = readout_where(norms, sites, sides)
    return {name: share.to(output.dtype) for name, share in shares.items()}


def readout_where(
    own: Float[Tensor, "b q"], sites: Sequence[Site], sides: Mapping[str, Side]
) -> dict[str, Tensor]:
    """By site, where the rows of the last one count so much. A text that is read nowhere is read
    everywhere."""
    shares = {
        name: side.real.double() / side.real.sum(-1, keepdim=True).clamp_min(1)
        for name, side in sides.items()
    }
    last, total = sites[-1].spec.queries, own.sum(-1, keepdim=True)
    shares[last] = torch.where(total > 0, own / torch.where(total > 0, total, 1.0), shares[last])
    return {site.spec.name: shares[site.spec.queries] for site in sites}


def _places(inputs: Inputs, sites: Sequence[Site]) -> Float[Tensor, "b q"]:
    """1 where a text is asked about, among the queries of the last site."""
    side = inputs.sides[sites[-1].spec.queries]
    asked = torch.zeros(side.real.shape, dtype=torch.float64, device=side.real.device)
    return side.turn_back(asked.scatter(1, inputs.place[:, None], 1.0), 1) * side.real
