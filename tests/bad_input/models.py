"""Models: folders that are broken, foreign or dangerous; runs that are no models."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bad_input.entry import Bad, World, bad, spoilt

DATA = "SHARED/good.csv"


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def renamed(name: str, to: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).rename(folder / to)


def filled(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def cut(name: str) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        path = folder / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return spoil


def config(**changes: Any) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return spoil


def tokenizer(**changes: Any) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return spoil


def cut_by(pattern: str) -> Callable[[Path], object]:
    """Texts are cut by this regular expression."""

    def spoil(folder: Path) -> None:
        path = folder / "tokenizer.json"
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
        cutting = {"type": "Sequence", "pretokenizers": [{**split, "invert": False}]}
        path.write_text(json.dumps({**json.loads(path.read_text()), "pre_tokenizer": cutting}))

    return spoil


def indexed(*files: object, **changes: Any) -> Callable[[Path], object]:
    """Weights that an index finds in these files, beside one that is empty and safe."""

    def spoil(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
        (folder / "x.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
        found = {f"weight{n}": file for n, file in enumerate(files)}
        index = {"metadata": {}, "weight_map": found, **changes}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    return spoil


def linked(folder: Path) -> None:
    """To weights that lie elsewhere."""
    (folder / "model.safetensors").rename(folder.parent / "elsewhere")
    (folder / "model.safetensors").symlink_to(folder.parent / "elsewhere")


def names(*values: object) -> Callable[[Path], object]:
    return config(id2label={str(n): value for n, value in enumerate(values)})


def remote(folder: Path) -> None:
    """It ends everything if it is run."""
    config(model_type="mine", auto_map={"AutoConfig": "mine.Config"})(folder)
    (folder / "mine.py").write_text("raise SystemExit('code of a model was run')\n")


def other_tokenizer(world: World) -> None:
    """GPT-2's has more tokens than the BERT has embeddings."""
    folder = world.copy("bert")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(world.shared / "gpt2" / name, folder / name)


def broken(spoil: Callable[[Path], object], fix: str, names: str = "bert") -> Bad:
    return spoilt("bert", spoil, f"audit bert {DATA}", names=names, fix=fix)


def tuned(spoil: Callable[[Path], object], fix: str, names: str = "bert") -> Bad:
    command = "train --corpus planted --pretrained bert"
    return spoilt("bert", spoil, command, names=names, fix=fix)


def explained(spoil: Callable[[Path], object], fix: str, names: str = "bert") -> Bad:
    return spoilt("bert", spoil, "explain bert 'a good film'", names=names, fix=fix)


SAVED = "save_pretrained"
LARGER = "far larger than its weights"
INDEX = "model.safetensors.index.json"
HOSTILE: dict[str, Bad] = {
    "an index of a pickle": broken(indexed("pytorch_model.bin"), SAVED, "pickle"),
    "an index of a pickle to explain": explained(indexed("pytorch_model.bin"), SAVED, "pickle"),
    "an index of a pickle to fine-tune": tuned(indexed("pytorch_model.bin"), SAVED, "pickle"),
    "an index of a pickle with a safe name": broken(
        indexed("pytorch_model.bin\0.safetensors"), SAVED
    ),
    "an index that leads out": explained(
        indexed("../other/model.safetensors"), SAVED, "../other/model.safetensors"
    ),
    "an index from the root": explained(indexed("/model.safetensors"), SAVED, INDEX),
    "an index of numbers": explained(indexed(1, None), SAVED, INDEX),
    "an index of nothing": explained(indexed(), SAVED, INDEX),
    "an index that is a list": explained(indexed(weight_map=["x"]), SAVED, INDEX),
    "an index of what is not there": explained(indexed("y.safetensors"), SAVED, "y.safetensors"),
    "weights that are a link": explained(linked, "put the file itself there", "leads out"),
    "weights that are a link to fine-tune": tuned(linked, "put the file itself there", "leads out"),
    "weights of another name": broken(
        renamed("model.safetensors", "x.safetensors"), "model.safetensors"
    ),
    "weights that the config names": broken(
        config(transformers_weights="adapter_model.bin"),
        "model.safetensors",
        "transformers_weights",
    ),
    "an adapter": broken(
        filled("adapter_config.json", b'{"base_model_name_or_path": "x"}'),
        "merge_and_unload",
        "adapter",
    ),
    "an adapter to fine-tune": tuned(filled("adapter_config.json", b"{}"), SAVED, "adapter"),
    "a quantized model": broken(
        config(quantization_config={"quant_method": "gptq"}), "full precision", "quantized"
    ),
    "a head of ours without its sizes": broken(
        config(architectures=["PooledForSequenceClassification"]), "a pooling", "pooled_head"
    ),
    "a head of ours that pools otherwise": broken(
        config(
            architectures=["PooledForSequenceClassification"],
            pooled_head={"pooling": "max", "activation": "relu", "sizes": [4]},
        ),
        "a pooling",
        "pooled_head",
    ),
    "a head of ours of other sizes": broken(
        config(
            architectures=["PooledForSequenceClassification"],
            pooled_head={"pooling": "mean", "activation": "relu", "sizes": [10**30]},
        ),
        "and sizes",
        "pooled_head",
    ),
    "architectures of numbers": broken(config(architectures=[1, 2]), SAVED, "architectures"),
    "a type of model that is a list": broken(config(model_type=["bert"]), SAVED, "model_type"),
    "no type of model": broken(config(model_type=None), SAVED, "model_type"),
    "a million layers": broken(config(num_hidden_layers=10**6), SAVED, "num_hidden_layers"),
    "a thousand layers": broken(config(num_hidden_layers=1000), SAVED, LARGER),
    "a model wider than its weights": broken(config(intermediate_size=10**9), SAVED, LARGER),
    "a model of endless positions": explained(config(max_position_embeddings=10**9), SAVED, LARGER),
    "a width beyond numbers": broken(config(hidden_size=10**40), SAVED, "hidden_size"),
    "a million layers to fine-tune": tuned(config(num_hidden_layers=10**6), SAVED),
    "classes of one name": broken(names("yes", "yes"), "another name", "id2label"),
    "classes of no name": broken(names("", " "), "a name", "id2label"),
    "classes of numbers": broken(names(0, 1), "a name, which is text", "id2label"),
    "classes that are a list": broken(config(id2label=["a", "b"]), "from 0", "id2label"),
    "classes that skip one": broken(
        config(id2label={"0": "a", "2": "b"}), "for each class from 0", "id2label"
    ),
    "a problem nobody knows": broken(config(problem_type="guessing"), "regression", "problem_type"),
    "a problem that is a list": broken(config(problem_type=[1]), "regression", "problem_type"),
    "texts of no length": broken(tokenizer(model_max_length=-5), "at least 3", "model_max_length"),
    "texts of a length in words": broken(
        tokenizer(model_max_length="long"), "at least 3", "model_max_length"
    ),
    "a tokenizer's settings that are a list": broken(filled("tokenizer_config.json", b"[]"), SAVED),
    "a regular expression that explodes": explained(
        cut_by("(a+)+$"), "repeats nothing", "regular expression"
    ),
    "one with alternatives": explained(cut_by(r"(a|a)*$"), "repeats nothing", "'(a|a)*$'"),
    "one with many repeats": broken(cut_by("a*" * 9 + "b"), "repeats nothing", "may never end"),
    "one to fine-tune with": tuned(cut_by(r"(\w+\s?)*x"), "repeats nothing", "may never end"),
    "one that is none": broken(cut_by("(?:x"), SAVED),
}
BAD: dict[str, Bad] = {
    **HOSTILE,
    "no config": broken(without("config.json"), SAVED),
    "a config that is no JSON": broken(filled("config.json", b"{nope"), SAVED),
    "a config of other bytes": broken(filled("config.json", b"\xff\xfe\x00"), SAVED),
    "a config that is a list": broken(filled("config.json", b"[1, 2]"), SAVED),
    "an empty config": broken(filled("config.json", b"{}"), SAVED),
    "a config of another kind of model": broken(config(model_type="nonesuch"), SAVED),
    "an architecture that does not classify": broken(
        config(architectures=["BertForNextSentencePrediction"]), "ForSequenceClassification"
    ),
    "no architecture": broken(config(architectures=None), "ForSequenceClassification"),
    "architectures that are a number": broken(config(architectures=7), SAVED),
    "a config of other sizes": broken(config(hidden_size=32), SAVED),
    "a config with text for a size": broken(config(hidden_size="wide"), SAVED),
    "a config below 0": broken(config(num_hidden_layers=-1), SAVED),
    "a config of no heads": broken(config(num_attention_heads=0), SAVED),
    "more classes than weights": broken(
        config(id2label={"0": "a", "1": "b", "2": "c"}, label2id={"a": 0, "b": 1, "c": 2}), SAVED
    ),
    "no weights": broken(without("model.safetensors"), "model.safetensors"),
    "pickle weights only": broken(
        renamed("model.safetensors", "pytorch_model.bin"), SAVED, "pickle"
    ),
    "weights that were cut": broken(cut("model.safetensors"), SAVED),
    "weights that are empty": broken(filled("model.safetensors", b""), SAVED),
    "weights that are noise": broken(filled("model.safetensors", bytes(range(256)) * 9), SAVED),
    "weights of too long a header": broken(filled("model.safetensors", b"\xff" * 64), SAVED),
    "code of its own": broken(remote, "give a model that transformers knows", "trust_remote_code"),
    "no tokenizer": broken(
        lambda f: [(f / n).unlink() for n in ("tokenizer.json", "tokenizer_config.json")],
        "tokenizer",
    ),
    "a tokenizer that is no JSON": broken(filled("tokenizer.json", b"{nope"), SAVED),
    "a tokenizer that was cut": broken(cut("tokenizer.json"), SAVED),
    "a tokenizer that is empty": broken(filled("tokenizer.json", b"{}"), SAVED),
    "another model's tokenizer": Bad(f"audit bert {DATA}", "bert", "tokenizer", other_tokenizer),
    "to explain blanks": bad(
        "explain SHARED/bert ' \t '", names="the text is empty", fix="one word"
    ),
    "fine-tuned, a pickle": spoilt(
        "bert",
        renamed("model.safetensors", "pytorch_model.bin"),
        "train --corpus planted --pretrained bert",
        names="pickle",
        fix=SAVED,
    ),
}
