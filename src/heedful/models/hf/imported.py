"""Models of other formats as folders of safetensors: BERT-type ONNX files, and GGUF files.

What is written is compared with where it came from, on random tokens: an ONNX file with what
onnxruntime makes of it, a GGUF file with its weights as transformers dequantises them.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models.hf.folder import first_sentence, quiet, transformers
from heedful.models.hf.onnx_weights import OnnxGraph, missing
from heedful.store import output_folder

FOLDER = "imported model"
EXACT, ROUGH = 1e-3, 0.25
"""How far logits may be from the file's, as a share of their spread (root mean squares). 8-bit
files are allowed more: onnxruntime rounds the inputs of their products, too."""
AGREEING = 0.95
"""The share of probes that must be decided alike."""
PROBES, LONGEST = 32, 24
CLASSES, TAGS = "ForSequenceClassification", "ForTokenClassification"
SPECIALS = {
    "unk_token": ("[UNK]", "<unk>"),
    "pad_token": ("[PAD]", "<pad>"),
    "cls_token": ("[CLS]", "<s>"),
    "sep_token": ("[SEP]", "</s>"),
    "mask_token": ("[MASK]", "<mask>"),
}


@dataclass(frozen=True)
class Imported:
    """A model's new folder, and how far its logits are from the source's.

    `difference` is the largest one over probes and classes, `agreement` the share of probes that
    both decide alike; `compared` names what the folder was compared with.
    """

    folder: str
    architecture: str
    parameters: int
    difference: float
    agreement: float
    compared: str
    notes: tuple[str, ...] = ()


def import_model(
    file: str | Path,
    out: str | Path,
    tokenizer: str | Path | None = None,
    labels: Sequence[str] = (),
) -> Imported:
    """Write a folder that `heedful audit` reads, made of an `.onnx` or a `.gguf` file.

    Args:
        file: An ONNX file of a BERT, DistilBERT or RoBERTa that classifies texts or tokens, in
            32-bit or 8-bit weights; or a GGUF file of a language model that transformers knows.
        out: The new folder.
        tokenizer: The `tokenizer.json` of an ONNX file; left out: the one beside it. A GGUF file
            brings its own.
        labels: Names of the classes, in their order.

    Returns:
        The folder, and how far its logits are from the source's. A model whose logits differ by
        more than rounding is refused, and nothing is written.
    """
    source, place = Path(file).expanduser(), Path(out).expanduser()
    if not source.is_file():
        raise HeedfulError(f"there is no file {source}: give an .onnx or a .gguf file.")
    if source.suffix not in (".onnx", ".gguf"):
        raise HeedfulError(f"{source.name} is neither .onnx nor .gguf: give a file of these kinds.")
    if source.suffix == ".gguf" and (tokenizer is not None or labels):
        raise HeedfulError(
            "a GGUF file brings its tokenizer and has no classes: leave tokenizer (--tokenizer) "
            "and labels (--labels) out."
        )
    with output_folder(place, FOLDER) as folder:
        if source.suffix == ".gguf":
            done = _from_gguf(source, folder)
        else:
            done = _from_onnx(source, folder, _tokenizer_file(source, tokenizer), tuple(labels))
    return replace(done, folder=str(place))


def _tokenizer_file(source: Path, given: str | Path | None) -> Path:
    file = source.with_name("tokenizer.json") if given is None else Path(given).expanduser()
    file = file / "tokenizer.json" if file.is_dir() else file
    if not file.is_file():
        raise HeedfulError(
            f"{source.name} comes without a tokenizer: give its tokenizer.json with --tokenizer."
        )
    return file


# ONNX


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
    "vocab_size": ("embeddings.word_embeddings.weight", 0),
    "hidden_size": ("embeddings.word_embeddings.weight", 1),
    "max_position_embeddings": ("embeddings.position_embeddings.weight", 0),
    "type_vocab_size": ("embeddings.token_type_embeddings.weight", 0),
    "intermediate_size": ("encoder.layer.0.intermediate.dense.bias", 0),
}
_DISTILBERT_SIZES = {
    "vocab_size": ("embeddings.word_embeddings.weight", 0),
    "dim": ("embeddings.word_embeddings.weight", 1),
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


def _from_onnx(source: Path, folder: Path, tokenizer: Path, labels: tuple[str, ...]) -> Imported:
    graph = OnnxGraph(source)
    weights = graph.weights()
    session = _session(source)
    probes = _probes(len(_embeddings(weights, source)))
    expected = _asked(session, graph, probes, source)
    kind = CLASSES if expected.ndim == 2 else TAGS
    family = _family(weights, source)
    config = _config(family, weights, expected.shape[-1], labels)
    best, fit = None, None
    for heads in _head_counts(config[_width(config)]):
        model = _built(family, {**config, family.heads: heads}, kind, weights, source)
        found = _compared(_logits(model, probes), expected, probes.seen)
        if fit is None or found[0] < fit[0]:
            best, fit = model, found
    if best is None or fit is None:
        raise HeedfulError(f"no number of heads divides the width of {source.name}.")
    _check_fit(source, fit, ROUGH if graph.quantised else EXACT)
    with quiet():
        best.save_pretrained(folder)
        _tokenizer(tokenizer).save_pretrained(folder)
    notes = ("the file's weights have 8 bits; the folder's are the same numbers in 32.",)
    return Imported(
        str(folder),
        type(best).__name__,
        best.num_parameters(),
        fit[1],
        fit[2],
        "onnxruntime on the file",
        notes if graph.quantised else (),
    )


def _embeddings(weights: Mapping[str, Tensor], source: Path) -> Tensor:
    for name, tensor in weights.items():
        if name.endswith("word_embeddings.weight"):
            return tensor
    raise _unknown(source)


def _unknown(source: Path) -> HeedfulError:
    return HeedfulError(
        f"{source.name} is no BERT, DistilBERT or RoBERTa with a classifier of transformers' own: "
        f"save the model it was exported from with save_pretrained."
    )


def _family(weights: Mapping[str, Tensor], source: Path) -> _Family:
    for family in _FAMILIES:
        if all(f"{family.prefix}{name}" in weights for name, _ in family.sizes.values()):
            return family
    raise _unknown(source)


def _config(
    family: _Family, weights: Mapping[str, Tensor], classes: int, labels: tuple[str, ...]
) -> dict[str, Any]:
    """Everything that shapes say; the number of heads is not among it."""
    if labels and len(labels) != classes:
        raise HeedfulError(
            f"{len(labels)} labels were given and the model has {classes} classes: name each."
        )
    sizes = {
        field: weights[f"{family.prefix}{name}"].shape[dimension]
        for field, (name, dimension) in family.sizes.items()
    }
    beginning = f"{family.prefix}{family.layer}"
    layers = {name[len(beginning) :].partition(".")[0] for name in weights if beginning in name}
    names = labels or tuple(f"LABEL_{index}" for index in range(classes))
    return {
        **sizes,
        **family.settings,
        family.depth: len(layers),
        "id2label": dict(enumerate(names)),
        "label2id": {name: index for index, name in enumerate(names)},
    }


def _width(config: Mapping[str, Any]) -> str:
    return "dim" if "dim" in config else "hidden_size"


def _head_counts(width: int) -> list[int]:
    """Heads of 64 dimensions are tried first, then of 32, then all others."""
    usual = [width // size for size in (64, 32) if width % size == 0]
    others = [count for count in range(1, width // 4 + 1) if width % count == 0]
    return [*usual, *(count for count in others if count not in usual)]


def _built(
    family: _Family,
    config: Mapping[str, Any],
    kind: str,
    weights: Mapping[str, Tensor],
    source: Path,
) -> Any:
    library = transformers()
    auto = getattr(library, f"AutoModel{kind}")
    made = library.AutoConfig.for_model(family.model_type, **config)
    with quiet():
        model = auto.from_config(made, dtype=torch.float32).eval()
    state = model.state_dict()
    missing = [name for name in state if name not in weights and not name.endswith("_ids")]
    wrong = [name for name in state if name in weights and state[name].shape != weights[name].shape]
    strange = [name for name in weights if name not in state]
    if missing or wrong or strange:
        raise _unknown(source)
    model.load_state_dict({name: weights[name] for name in state if name in weights}, strict=False)
    return model


# Comparing


@dataclass(frozen=True)
class _Probes:
    """Random tokens; `seen` says which are no padding."""

    tokens: Int[Tensor, "n t"]
    seen: Bool[Tensor, "n t"]


def _probes(vocabulary: int) -> _Probes:
    random = np.random.default_rng(0)
    tokens = random.integers(min(5, vocabulary - 1), vocabulary, (PROBES, LONGEST))
    lengths = random.integers(3, LONGEST + 1, PROBES)
    return _Probes(
        torch.from_numpy(tokens), torch.arange(LONGEST) < torch.from_numpy(lengths)[:, None]
    )


def _session(source: Path) -> Any:
    try:
        import onnxruntime as runtime
    except ImportError as error:
        raise missing("onnxruntime") from error
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(str(source), options, ["CPUExecutionProvider"])
    except Exception as error:  # its own exceptions share no other class
        raise HeedfulError(
            f"onnxruntime cannot run {source.name} ({first_sentence(error)}): export it again."
        ) from error


def _asked(
    session: Any, graph: OnnxGraph, probes: _Probes, source: Path
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


@torch.no_grad()
def _logits(model: Any, probes: _Probes) -> Float[Tensor, "*logits"]:
    tokens = probes.tokens.masked_fill(~probes.seen, 0)
    output = model(input_ids=tokens, attention_mask=probes.seen.long())
    logits: Tensor = output.logits.float()
    return logits


def _compared(
    ours: Float[Tensor, "*logits"], theirs: Float[Tensor, "*logits"], seen: Bool[Tensor, "n t"]
) -> tuple[float, float, float]:
    """The root mean square of differences as a share of the logits' own, the largest difference,
    and how often the largest logit is the same."""
    if ours.shape != theirs.shape:
        return float("inf"), float("inf"), 0.0
    if ours.ndim == 3:
        ours, theirs = ours[seen], theirs[seen]
    off = (ours - theirs).double()
    spread = (theirs - theirs.mean()).double()
    alike = (ours.argmax(-1) == theirs.argmax(-1)).double().mean()
    share = off.norm() / spread.norm().clamp_min(1e-12)
    return float(share), float(off.abs().max()), float(alike)


def _check_fit(source: Path, fit: tuple[float, float, float], allowed: float) -> None:
    share, largest, agreement = fit
    if not share <= allowed or agreement < AGREEING:
        raise HeedfulError(
            f"the weights of {source.name} were read and give other logits (by up to "
            f"{largest:.3g}, {agreement:.0%} decided alike): the model differs from transformers' "
            f"own, save it with save_pretrained."
        )


def _tokenizer(file: Path) -> Any:
    library = transformers()
    try:
        plain = library.PreTrainedTokenizerFast(tokenizer_file=str(file))
    except Exception as error:  # tokenizers raises Exception itself
        raise HeedfulError(f"{file} is no tokenizer.json of the tokenizers library.") from error
    known = plain.get_vocab()
    found = {role: name for role, names in SPECIALS.items() for name in names if name in known}
    plain.add_special_tokens(found)
    return plain


# GGUF


_UNREADABLE = (
    ValueError, LookupError, OSError, NotImplementedError, RuntimeError, TypeError, AttributeError,
    ArithmeticError, MemoryError, struct.error,
)  # fmt: skip
"""What reading a damaged file ends in."""


@contextmanager
def _alone(source: Path) -> Iterator[dict[str, Any]]:
    """The file in a folder of its own: nothing else that lies beside it is read."""
    with tempfile.TemporaryDirectory(prefix="heedful-") as folder:
        (Path(folder) / source.name).symlink_to(source.resolve())
        yield {
            "pretrained_model_name_or_path": folder,
            "gguf_file": source.name,
            "local_files_only": True,
        }


def _from_gguf(source: Path, folder: Path) -> Imported:
    """The weights are dequantised and written in 16 bits, as the folder of any language model."""
    try:
        import gguf  # noqa: F401  # transformers needs it
    except ImportError as error:
        raise missing("gguf") from error
    library = transformers()
    try:
        with quiet(), _alone(source) as place:
            loaded = library.AutoModelForCausalLM.from_pretrained(**place)
            config = library.AutoConfig.from_pretrained(**place)
            tokenizer = library.AutoTokenizer.from_pretrained(**place)
    except _UNREADABLE as error:
        raise HeedfulError(
            f"transformers cannot read {source.name} ({first_sentence(error)}): give a GGUF "
            f"file of a family it knows, such as Llama or Qwen2."
        ) from error
    vars(config).pop("quantization_config", None)
    with quiet():
        clean = library.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        clean.load_state_dict(loaded.state_dict())
        probes = _probes(config.get_text_config().vocab_size)
        expected = _logits(loaded.eval(), probes)
        clean.to(torch.float16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        again = library.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    fit = _compared(_logits(again, probes), expected, probes.seen)
    _check_fit(source, fit, ROUGH)
    return Imported(
        str(folder),
        type(again).__name__,
        again.num_parameters(),
        fit[1],
        fit[2],
        "the file's weights in 32 bits, as transformers dequantises them",
        ("the folder's weights have 16 bits.",),
    )
