"""Hugging Face folders with something wrong in them."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from random import Random

from conformance.cases import QUICK, Place, Typed
from conformance.spoiling import as_json, spoilt, spoilt_bytes, value

BOMB = "pickle-was-loaded"
"""A file that appears in the current folder if somebody unpickles what should not be."""


class _Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (BOMB,)


_FIELDS = (
    "architectures", "model_type", "num_hidden_layers", "hidden_size", "vocab_size", "n_layer",
    "num_attention_heads", "max_position_embeddings", "n_positions", "id2label", "label2id",
    "num_labels", "problem_type", "hidden_act", "dtype", "pad_token_id", "type_vocab_size",
    "auto_map", "quantization_config", "_name_or_path", "is_decoder", "layer_norm_eps",
    "attn_implementation", "transformers_version", "tie_word_embeddings", "layer_types", "n_embd",
)  # fmt: skip
_TOKENIZER_FIELDS = (
    "model_max_length", "tokenizer_class", "pad_token", "cls_token", "auto_map", "backend",
    "model_input_names", "padding_side", "truncation_side", "chat_template", "added_tokens_decoder",
)  # fmt: skip


def model_case(random: Random, place: Place) -> Typed:
    folder = place.copy(random.choice(("bert", "bert", "gpt2")), "model")
    random.choice((_config, _config, _tokenizer, _settings, _weights, _index, _extra))(
        random, folder
    )
    model = "model"
    asked = ("--label-words", "yes= good,no= bad") if random.randrange(3) == 0 else ()
    return random.choice(
        (
            ("explain", model, "good film, very dull", *asked),
            ("explain", model, "not good", "--explanations", "leave_one_out,gradient", *asked),
            ("audit", model, "good.csv", "--n", "3", *QUICK, *asked),
            ("audit", model, "good.csv", "--dry-run", *QUICK, *asked),
            ("check", model, "good.csv", "--n", "3", *QUICK, *asked),
            ("annotate", "new", model, "good.csv", "--n", "2", "-o", "out.db", *asked),
            ("train", "--pretrained", model, "--corpus", "planted", "--limit", "6", "--epochs",
             "1", "--max-length", "16", "--threads", "1"),
            ("serve", model, "--port", "0"),
        )
    )  # fmt: skip


def _config(random: Random, folder: Path) -> None:
    _spoil_fields(random, folder / "config.json", _FIELDS)


def _settings(random: Random, folder: Path) -> None:
    _spoil_fields(random, folder / "tokenizer_config.json", _TOKENIZER_FIELDS)


def _spoil_fields(random: Random, path: Path, names: tuple[str, ...]) -> None:
    content = json.loads(path.read_bytes())
    if random.randrange(3):
        for _ in range(random.randint(1, 2)):
            content[random.choice(names)] = value(random)
    else:
        content = spoilt(random, content, 2)
    path.write_bytes(as_json(content))


def _tokenizer(random: Random, folder: Path) -> None:
    path = folder / "tokenizer.json"
    if random.randrange(4) == 0:
        path.write_bytes(spoilt_bytes(random, path.read_bytes()))
        return
    content = spoilt(random, json.loads(path.read_bytes()), random.randint(1, 2))
    if random.randrange(4) == 0 and isinstance(content, dict):
        pattern = random.choice((r"(a+)+$", r"(.*)*x", "[", "(?=good)", r"(\w+\s?)+!", ""))
        content["pre_tokenizer"] = {
            "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False,
        }  # fmt: skip
    path.write_bytes(as_json(content))


def _weights(random: Random, folder: Path) -> None:
    path = folder / "model.safetensors"
    content = path.read_bytes()
    if random.randrange(2):
        path.write_bytes(spoilt_bytes(random, content))
        return
    size = int.from_bytes(content[:8], "little")
    header = as_json(spoilt(random, json.loads(content[8 : 8 + size])))
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + size :])


def _index(random: Random, folder: Path) -> None:
    """An index that names files of other kinds, elsewhere, or nothing at all."""
    weights = folder / "model.safetensors"
    size = int.from_bytes(weights.read_bytes()[:8], "little")
    names = [name for name in json.loads(weights.read_bytes()[8 : 8 + size]) if name[0] != "_"]
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Bomb()))
    outside = folder.parent / "other.safetensors"
    outside.write_bytes(weights.read_bytes())
    weights.rename(folder / "x.safetensors")
    target = random.choice(
        ("pytorch_model.bin", "../other.safetensors", "/etc/hostname", "x.safetensors", "none", "")
    )
    index: object = {"metadata": {}, "weight_map": dict.fromkeys(names, target)}
    if random.randrange(2):
        index = spoilt(random, index)
    (folder / "model.safetensors.index.json").write_bytes(as_json(index))


def _extra(random: Random, folder: Path) -> None:
    """Files that transformers looks for beside the usual ones."""
    (folder / "evil.py").write_text(f"import os\nos.mkdir({BOMB!r})\n")
    (folder / "adapter_model.bin").write_bytes(pickle.dumps(_Bomb()))
    name = random.choice(
        ("adapter_config.json", "generation_config.json", "special_tokens_map.json",
         "added_tokens.json", "chat_template.json", "preprocessor_config.json", "vocab.txt",
         "pytorch_model.bin", "model.safetensors.index.json", "vocab.json", "merges.txt")
    )  # fmt: skip
    good = {
        "peft_type": "LORA",
        "base_model_name_or_path": ".",
        "auto_map": {"AutoModel": "evil.X"},
    }
    content = random.choice((as_json(value(random)), as_json(good), pickle.dumps(_Bomb()), b""))
    (folder / name).write_bytes(content)
