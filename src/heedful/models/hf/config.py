"""What a model's config and tokenizer may say, checked before transformers reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heedful.errors import HeedfulError

PROBLEMS = (
    None, "single_label_classification", "multi_label_classification", "regression",
)  # fmt: skip
_MOST_LAYERS = 1000
_LAYERS = re.compile(r"(num|n|encoder|decoder)_((hidden|encoder|decoder)_)?(layers?|groups|blocks)")
_SIZES = (
    "hidden_size", "d_model", "n_embd", "dim", "vocab_size", "num_attention_heads", "num_heads",
    "n_head", "n_heads", "encoder_attention_heads", "decoder_attention_heads",
)  # fmt: skip
_LARGEST = 1 << 40
_ELSEWHERE = (
    "auto_map", "attn_implementation", "experts_implementation", "fusion_config", "kernel_config",
    "custom_pipelines", "custom_generate",
)  # fmt: skip
"""By these a config brings code, also from the hub. Names with a `_` before them are transformers'
own and never of the model: where it came from, how it was computed."""
_PATHS = re.compile(r"(.*_)?(files?|path|spm|object)|vocab|merges|auto_map|name_or_path")
"""Of a tokenizer: its files are found by their names in the folder, and nowhere else."""
_MOST_REPEATS = 4
POOLED = "PooledForSequenceClassification"
"""The classifier with a head of our own (`heedful.models.hf.pooled`)."""
POOLINGS, ACTIVATIONS = ("mean", "first"), ("relu", "tanh", "gelu")
_MOST_HEAD_LAYERS = 8


def check_config(config: Mapping[str, Any], name: str) -> None:
    """Raises where a model would be loaded from elsewhere, or could not be what it says."""
    _check_origin(config, name)
    architectures = config.get("architectures")
    if architectures is not None and not _texts(architectures):
        raise _wrong(name, "architectures", architectures, "the names of classes")
    for key, value in _numbers(config):
        if _LAYERS.fullmatch(key) and not 0 <= value <= _MOST_LAYERS:
            raise _wrong(name, key, value, f"a number up to {_MOST_LAYERS}")
        if key in _SIZES and not 0 < value <= _LARGEST:
            raise _wrong(name, key, value, "a size")
    if config.get("problem_type") not in PROBLEMS:
        known = "one of " + ", ".join(each for each in PROBLEMS if each)
        raise _wrong(name, "problem_type", config["problem_type"], known)
    if architectures and POOLED in architectures:
        check_head(config, name)
    _check_labels(config, name)


def check_tokenizer(
    settings: Mapping[str, Any] | None, tokenizer: Mapping[str, Any], name: str
) -> None:
    """Raises where a text could not be cut into tokens in any time."""
    longest = (settings or {}).get("model_max_length")
    if longest is not None and (not _is_number(longest) or not longest >= 3):
        raise HeedfulError(
            f"tokenizer_config.json of {name} says model_max_length is {longest!r}: give at least "
            f"3 tokens there."
        )
    for pattern in _patterns(tokenizer):
        if not _is_quick(pattern):
            raise HeedfulError(
                f"the tokenizer of {name} has the regular expression {pattern[:60]!r}, which may "
                f"never end: save it with one that repeats nothing that is repeated already."
            )


def check_head(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """How the head of such a classifier is made: `pooling`, `activation`, and the `sizes` between
    its linear layers."""
    head = config.get("pooled_head")
    said = head if isinstance(head, dict) else {}
    sizes = said.get("sizes")
    known = said.get("pooling") in POOLINGS and said.get("activation") in ACTIVATIONS
    sound = isinstance(sizes, list) and len(sizes) < _MOST_HEAD_LAYERS
    if not known or not sound or not all(map(_is_size, sizes or ())):
        raise _wrong(
            name, "pooled_head", head, f"a pooling ({', '.join(POOLINGS)}), an activation "
            f"({', '.join(ACTIVATIONS)}) and sizes",
        )  # fmt: skip
    return said


def plain_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config without what leads elsewhere."""
    kept = {k: v for k, v in config.items() if k not in _ELSEWHERE and not k.startswith("_")}
    return {k: plain_config(v) if isinstance(v, dict) else v for k, v in kept.items()}


def plain_tokenizer_config(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in settings.items() if not _PATHS.fullmatch(k)}


def _check_origin(config: Mapping[str, Any], name: str) -> None:
    from transformers import CONFIG_MAPPING

    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
        if "auto_map" in config:
            raise HeedfulError(
                f"{name} needs code that comes with the model (trust_remote_code), which is never "
                f"run: give a model that transformers knows by itself."
            )
        raise _wrong(name, "model_type", kind, "one that transformers knows")
    if config.get("transformers_weights") is not None:
        raise _wrong(
            name, "transformers_weights", config["transformers_weights"], "no name: weights are in "
            "model.safetensors"
        )  # fmt: skip
    if config.get("quantization_config"):
        raise HeedfulError(
            f"{name} is quantized (quantization_config in config.json): give the model in full "
            f"precision."
        )


def _check_labels(config: Mapping[str, Any], name: str) -> None:
    """Names may be left out; those that are there tell classes apart."""
    labels = config.get("id2label")
    if labels is None:
        return
    if not isinstance(labels, dict) or {str(i) for i in range(len(labels))} != set(labels):
        raise _wrong(name, "id2label", labels, "a name for each class from 0")
    names = list(labels.values())
    if not _texts(names) or not all(each.strip() for each in names):
        raise _wrong(name, "id2label", labels, "a name, which is text, for each class")
    if len(set(names)) < len(names):
        raise _wrong(name, "id2label", labels, "another name for each class")


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST


def _wrong(name: str, key: str, value: object, fix: str) -> HeedfulError:
    said = str(value) if len(str(value)) <= 60 else f"{str(value)[:60]}…"
    return HeedfulError(
        f"{name} cannot be loaded: config.json says {key} is {said!r}; give {fix}, as "
        f"save_pretrained writes it."
    )


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numbers(config: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Of it and of the configs inside it."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _numbers(value)
        elif _is_number(value):
            yield key, value


def _patterns(tokenizer: Mapping[str, Any]) -> Iterator[str]:
    """The regular expressions by which texts are changed and cut."""
    parts: list[Any] = [tokenizer.get(each) for each in ("normalizer", "pre_tokenizer", "decoder")]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if isinstance(part.get("Regex"), str):
                yield part["Regex"]
            parts += part.values()
        elif isinstance(part, list):
            parts += part


_ATOMS = re.compile(
    r"\\.|\[(?:\\.|\[(?:\\.|[^\]\\])*\]|[^\]\\])*\]"  # an escape, a class
    r"|\((?:\?(?:[imsx-]*:|[=!>]|<[=!]|<\w+>))?|\{\d*,?\d*\}|.",  # a group, a count, all else
    re.DOTALL,
)
_REPEAT = re.compile(r"[*+]|\{\d+,\d*\}")


@dataclass
class _Group:
    """Of an open group: how its alternatives begin, and how many repeats follow on each other."""

    begins: list[str] = field(default_factory=list)
    fresh: bool = True
    repeats: int = 0
    most: int = 0

    @property
    def doubtful(self) -> bool:
        """Whether repeating it could match one text in many ways."""
        return self.most > 0 or len(set(self.begins)) < len(self.begins)


def _is_quick(pattern: str) -> bool:
    """Whether trying all ways to match takes no more than a small power of the text's length: no
    group that repeats something, or has alternatives that begin alike, is itself repeated."""
    groups, closed, last = [_Group()], _Group(), ""
    for atom in _ATOMS.findall(pattern):
        here = groups[-1]
        if atom == "|":
            here.fresh, here.repeats = True, 0
        elif atom == ")" and len(groups) > 1:
            closed = groups.pop()
            groups[-1].repeats += closed.most
        elif _REPEAT.fullmatch(atom) and not (atom == "+" and _REPEAT.fullmatch(last)):
            if last == ")" and closed.doubtful:
                return False
            here.repeats += last != "?"  # `?+` tries once
        elif here.fresh:
            here.begins.append(atom)
        if atom != "|":
            groups[-1].fresh = False
        groups[-1].most = max(groups[-1].most, groups[-1].repeats)
        if groups[-1].most > _MOST_REPEATS:
            return False
        if atom.startswith("("):
            groups.append(_Group())
        last = atom
    return True
