"""An ONNX file's weights in a model of transformers that says the same.

Its sizes are read off the weights; the number of heads is not among them, so all are tried. A head
that transformers does not have is looked for in the graph: pooled states, then linear layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models.hf.comparing import (
    EXACT,
    ROUGH,
    Fit,
    Imported,
    Probes,
    check_fit,
    compared,
    logits_of,
    random_probes,
)
from heedful.models.hf.folder import first_sentence, quiet, transformers
from heedful.models.hf.onnx_weights import OnnxGraph, missing

CLASSES, TAGS = "ForSequenceClassification", "ForTokenClassification"
SPECIALS = {
    "unk_token": ("[UNK]", "<unk>"),
    "pad_token": ("[PAD]", "<pad>"),
    "cls_token": ("[CLS]", "<s>"),
    "sep_token": ("[SEP]", "</s>"),
    "mask_token": ("[MASK]", "<mask>"),
}
_ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh"}
"""By the step before a head's later layers; GELU is several steps."""
_EMBEDDINGS = "embeddings.word_embeddings.weight"
Weights = Mapping[str, Tensor]


def from_onnx(source: Path, folder: Path, tokenizer: Path, labels: tuple[str, ...]) -> Imported:
    graph = OnnxGraph(source)
    weights = graph.weights()
    probes = random_probes(len(_embeddings(weights, source)))
    told = _asked(_session(source, source), graph, probes, source)
    unrounded = graph.unrounded()
    exact = told
    if unrounded is not None:
        exact = _asked(_session(source, unrounded), graph, probes, source)
    plans = _plans(graph, weights, told, labels, source)
    model, fit = _fitted(plans, probes, exact, source)
    check_fit(source, fit, ROUGH if graph.quantised and unrounded is None else EXACT)
    off = compared(logits_of(model, probes), told, probes.seen)
    check_fit(source, off, float("inf"))
    with quiet():
        model.save_pretrained(folder)
        _tokenizer(tokenizer, graph.inputs).save_pretrained(folder)
    notes = []
    if graph.quantised:
        notes.append("the file's weights have 8 bits; the folder has the same numbers in 32 bits.")
    if unrounded is not None:
        notes.append(
            "the file also rounds activations to 8 bits; without this rounding "
            f"its logits differ from the folder's by at most {fit.largest:.2g}."
        )
    return Imported(
        str(folder),
        type(model).__name__,
        model.num_parameters(),
        off.largest,
        off.agreement,
        "onnxruntime on the file",
        tuple(notes),
    )


# Which model it is


@dataclass(frozen=True)
class _Family:
    """How a family calls its sizes. `sizes` are fields of the config by the parameter, and the
    dimension of it, that says them."""

    prefix: str
    model_type: str
    depth: str
    layer: str
    heads: str
    sizes: Mapping[str, tuple[str, int]]
    settings: Mapping[str, Any]


_BERT_SIZES = {
    "vocab_size": (_EMBEDDINGS, 0),
    "hidden_size": (_EMBEDDINGS, 1),
    "max_position_embeddings": ("embeddings.position_embeddings.weight", 0),
    "type_vocab_size": ("embeddings.token_type_embeddings.weight", 0),
    "intermediate_size": ("encoder.layer.0.intermediate.dense.bias", 0),
}
_DISTILBERT_SIZES = {
    "vocab_size": (_EMBEDDINGS, 0),
    "dim": (_EMBEDDINGS, 1),
    "max_position_embeddings": ("embeddings.position_embeddings.weight", 0),
    "hidden_dim": ("transformer.layer.0.ffn.lin1.bias", 0),
}
_BERT = ("num_hidden_layers", "encoder.layer.", "num_attention_heads", _BERT_SIZES)
_FAMILIES = (
    _Family("bert.", "bert", *_BERT, {}),
    _Family("roberta.", "roberta", *_BERT, {"layer_norm_eps": 1e-5, "pad_token_id": 1}),
    _Family("distilbert.", "distilbert", "n_layers", "transformer.layer.", "n_heads",
            _DISTILBERT_SIZES, {"sinusoidal_pos_embds": False}),
)  # fmt: skip


@dataclass(frozen=True)
class _Plan:
    """A model but for its number of heads: `kind` is the class that makes it of a config, `weights`
    have the names they have in it."""

    family: _Family
    kind: Any
    config: Mapping[str, Any]
    weights: Weights

    @property
    def width(self) -> int:
        return int(self.config["dim" if "dim" in self.config else "hidden_size"])

    def built(self, heads: int) -> Any | None:
        """None where the weights are not this model's."""
        config = {**self.config, self.family.heads: heads}
        made = transformers().AutoConfig.for_model(self.family.model_type, **config)
        with quiet():
            model = self.kind(made).float().eval()
        state = {name: w for name, w in model.state_dict().items() if not name.endswith("_ids")}
        if {name: w.shape for name, w in state.items()} != {
            name: w.shape for name, w in self.weights.items()
        }:
            return None
        model.load_state_dict(self.weights, strict=False)
        return model


def _embeddings(weights: Weights, source: Path) -> Tensor:
    for name, tensor in weights.items():
        if name.endswith("word_embeddings.weight"):
            return tensor
    raise _unknown(source)


def _unknown(source: Path) -> HeedfulError:
    return HeedfulError(
        f"{source.name} is not a BERT, DistilBERT or RoBERTa with a known classifier "
        f"(transformers' own, or linear layers on pooled states): save the model it was exported "
        f"from with save_pretrained."
    )


def _plans(
    graph: OnnxGraph, weights: Weights, told: Tensor, labels: tuple[str, ...], source: Path
) -> list[_Plan]:
    """By the names and shapes of the weights: of each family that they fit."""
    name = next(name for name in weights if name.endswith("word_embeddings.weight"))
    prefix = name.removesuffix(_EMBEDDINGS)
    plans = []
    for family in _families(weights, prefix, source):
        config = _config(family, weights, prefix, told.shape[-1], labels)
        kind = f"AutoModel{CLASSES if told.ndim == 2 else TAGS}"
        plan = _Plan(family, getattr(transformers(), kind).from_config, config, weights)
        pooled = told.ndim == 2 and plan.built(1) is None
        plans.append(_pooled(plan, graph, prefix, source) if pooled else plan)
    return plans


def _families(weights: Weights, prefix: str, source: Path) -> list[_Family]:
    """The one that transformers gives this prefix, or all whose names fit."""
    fitting = [
        family
        for family in _FAMILIES
        if all(f"{prefix}{name}" in weights for name, _ in family.sizes.values())
    ]
    if not fitting:
        raise _unknown(source)
    return [family for family in fitting if family.prefix == prefix] or fitting


def _pooled(plan: _Plan, graph: OnnxGraph, prefix: str, source: Path) -> _Plan:
    """The same encoder with a head of ours."""
    from heedful.models.hf.pooled import PooledForSequenceClassification  # it needs transformers

    parts = tuple(f"{prefix}{part}." for part in ("embeddings", plan.family.layer.split(".")[0]))
    states = {name: weight for name, weight in plan.weights.items() if name.startswith(parts)}
    rest = {name: weight for name, weight in plan.weights.items() if name not in states}
    head = _head(graph, rest, source)
    named = {f"{plan.family.prefix}{name.removeprefix(prefix)}": w for name, w in states.items()}
    config = {**plan.config, "pooled_head": head.how}
    weights = {**named, **head.weights}
    return _Plan(plan.family, PooledForSequenceClassification, config, weights)


def _config(
    family: _Family, weights: Weights, prefix: str, classes: int, labels: tuple[str, ...]
) -> dict[str, Any]:
    """Everything that shapes say; the number of heads is not among it."""
    if labels and len(labels) != classes:
        raise HeedfulError(
            f"{len(labels)} labels were given and the model has {classes} classes: name each."
        )
    sizes = {
        field: weights[f"{prefix}{name}"].shape[dimension]
        for field, (name, dimension) in family.sizes.items()
    }
    beginning = f"{prefix}{family.layer}"
    layers = {
        name.removeprefix(beginning).partition(".")[0]
        for name in weights
        if name.startswith(beginning)
    }
    names = labels or tuple(f"LABEL_{index}" for index in range(classes))
    return {
        **sizes,
        **family.settings,
        family.depth: len(layers),
        "id2label": dict(enumerate(names)),
        "label2id": {name: index for index, name in enumerate(names)},
    }


@dataclass(frozen=True)
class _Head:
    """What config.json says of it, and its weights by the names they have in the model."""

    how: Mapping[str, Any]
    weights: Weights


def _head(graph: OnnxGraph, weights: Weights, source: Path) -> _Head:
    """Linear layers, each reading what the one before it gives."""
    layers = [name.removesuffix(".weight") for name in weights if name.endswith(".weight")]
    parts = {f"{layer}.{part}" for layer in layers for part in ("weight", "bias")}
    if not layers or parts != set(weights) or any(weights[f"{x}.weight"].ndim != 2 for x in layers):
        raise _unknown(source)
    steps = [graph.step_before(f"{layer}.bias") for layer in layers]
    how = {
        "pooling": "first" if steps[0] == "Gather" else "mean",
        "activation": _ACTIVATIONS.get(steps[-1], "gelu"),
        "sizes": [len(weights[f"{layer}.bias"]) for layer in layers[:-1]],
    }
    named = {
        f"head.{2 * number}.{part}": weights[f"{layer}.{part}"]
        for number, layer in enumerate(layers)
        for part in ("weight", "bias")
    }
    return _Head(how, named)


def _fitted(
    plans: Sequence[_Plan], probes: Probes, expected: Float[Tensor, "*logits"], source: Path
) -> tuple[Any, Fit]:
    """The model that fits best, by its family and its number of heads; the first that is exact."""
    best, fit = None, None
    for heads, plan in product(_head_counts(plans[0].width), plans):
        model = plan.built(heads)
        if model is None:
            raise _unknown(source)
        found = compared(logits_of(model, probes), expected, probes.seen)
        if fit is None or found.share < fit.share:
            best, fit = model, found
        if fit.share <= EXACT:
            break
    if best is None or fit is None:
        raise HeedfulError(f"no number of heads divides the width of {source.name}.")
    return best, fit


def _head_counts(width: int) -> list[int]:
    """Heads of 64 dimensions are tried first, then of 32, then all others."""
    usual = [width // size for size in (64, 32) if width % size == 0]
    others = [count for count in range(1, width // 4 + 1) if width % count == 0]
    return [*usual, *(count for count in others if count not in usual)]


# What the file says


def _session(source: Path, model: Path | bytes) -> Any:
    """Of the file, or of what was made of it."""
    try:
        import onnxruntime as runtime
    except ImportError as error:
        raise missing("onnxruntime") from error
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    given = model if isinstance(model, bytes) else str(model)
    if isinstance(model, bytes):  # as it is written: some fused steps round, too
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return runtime.InferenceSession(given, options, ["CPUExecutionProvider"])
    except Exception as error:  # its own exceptions share no other class
        raise HeedfulError(
            f"onnxruntime cannot run {source.name} ({first_sentence(error)}): export it again."
        ) from error


def _asked(
    session: Any, graph: OnnxGraph, probes: Probes, source: Path
) -> Float[Tensor, "*logits"]:
    known = {
        "input_ids": probes.tokens.masked_fill(~probes.seen, 0),
        "attention_mask": probes.seen.long(),
        "token_type_ids": torch.zeros_like(probes.tokens),
    }
    strange = sorted(set(graph.inputs) - set(known))
    if strange or "input_ids" not in graph.inputs:
        raise HeedfulError(
            f"{source.name} takes {', '.join(graph.inputs)}: give a model that reads input_ids, "
            f"attention_mask and token_type_ids."
        )
    given = {name: known[name].numpy() for name in graph.inputs}
    logits = torch.from_numpy(np.array(session.run(None, given)[0], dtype=np.float32))
    if logits.ndim not in (2, 3):
        raise _unknown(source)
    return logits


def _tokenizer(file: Path, inputs: list[str]) -> Any:
    """It says of pairs what the file is told of them: token types only where they are an input."""
    library = transformers()
    try:
        plain = library.PreTrainedTokenizerFast(tokenizer_file=str(file), model_input_names=inputs)
    except Exception as error:  # tokenizers raises Exception itself
        raise HeedfulError(f"{file} is no tokenizer.json of the tokenizers library.") from error
    known = plain.get_vocab()
    found = {role: name for role, names in SPECIALS.items() for name in names if name in known}
    plain.add_special_tokens(found)
    return plain
