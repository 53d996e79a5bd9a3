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
    return spoilt("bert", spoil, "audit", "bert", DATA, names=names, fix=fix)


SAVED = "save_pretrained"
BAD: dict[str, Bad] = {
    "a folder that is not there": bad(
        "audit", "./none", DATA, names="none", fix="give a model's folder"
    ),
    "a folder of something else": bad("audit", "SHARED/full", DATA, names="full", fix=SAVED),
    "a file": bad("audit", DATA, DATA, names="good.csv", fix="give the folder"),
    "an empty name": bad("audit", "", DATA, names="''", fix="give"),
    "a blank name": bad("audit", "  ", DATA, names="'  '", fix="give"),
    "an id nobody can reach": bad(
        "audit", "nobody/nothing", DATA, names="'nobody/nothing'", fix=SAVED
    ),
    "an id that is none": bad("audit", "a/b/c//d", DATA, names="'a/b/c//d'", fix=SAVED),
    "a way out": bad("explain", "../../etc", "good", names="../../etc", fix="give"),
    "no config": broken(without("config.json"), SAVED),
    "a config that is no JSON": broken(filled("config.json", b"{nope"), SAVED),
    "a config of other bytes": broken(filled("config.json", b"\xff\xfe\x00"), SAVED),
    "a config that is a list": broken(filled("config.json", b"[1, 2]"), SAVED),
    "an empty config": broken(filled("config.json", b"{}"), SAVED),
    "a config of another kind of model": broken(config(model_type="nonesuch"), SAVED),
    "an architecture that does not classify": broken(
        config(architectures=["BertForMaskedLM"]), "sequence classification"
    ),
    "no architecture": broken(config(architectures=None), "sequence classification"),
    "architectures that are a number": broken(config(architectures=7), "sequence classification"),
    "a config of other sizes": broken(config(hidden_size=32), SAVED),
    "a config with text for a size": broken(config(hidden_size="wide"), SAVED),
    "a config below 0": broken(config(num_hidden_layers=-1), "choose a model"),
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
    "another model's tokenizer": Bad(("audit", "bert", DATA), "bert", "tokenizer", other_tokenizer),
    "a pickle by name": bad("audit", "model.pt", DATA, names="model.pt is a pickle", fix=SAVED),
    "a card that is not there": bad(
        "audit", "SHARED/bert", DATA, "--device", "cuda", names="no CUDA device", fix="cpu"
    ),
    "a card by number": bad(
        "explain", "SHARED/bert", "good", "--device", "cuda:7", names="cuda:7", fix="cpu"
    ),
    "a card to train on": bad(
        "train",
        "--corpus",
        "planted",
        "--device",
        "cuda",
        names="no CUDA device",
        fix="--device cpu",
    ),
    "a card for the demo": bad("demo", "--device", "cuda", names="no CUDA device", fix="cpu"),
    "a label of a model that has one": bad(
        "audit", "SHARED/bert", DATA, "--label", "x", names="'x'", fix="leave label out"
    ),
    "a template for a classifier": bad(
        "audit",
        "SHARED/bert",
        DATA,
        "--template",
        "{text} is",
        names="template",
        fix="leave it out",
    ),
    "a template without text": bad(
        "audit", "SHARED/gpt2", DATA, "--template", "is it?", names="'is it?'", fix="once"
    ),
    "label words for a classifier": bad(
        "audit",
        "SHARED/bert",
        DATA,
        "--label-words",
        "1= a,0= b",
        names="label_words",
        fix="leave them out",
    ),
    "a label word of two tokens": bad(
        "audit",
        "SHARED/gpt2",
        DATA,
        "--label-words",
        "1=zebras,0= bad",
        names="'zebras'",
        fix="choose a word that is one token",
    ),
    "label words that are the same": bad(
        "audit",
        "SHARED/gpt2",
        DATA,
        "--label-words",
        "1= bad,0= bad",
        names="label_words",
        fix="at least two different",
    ),
    "label words that are none": bad(
        "audit", "SHARED/gpt2", DATA, "--label-words", "good", names="'good'", fix="name=value"
    ),
    "label words twice": bad(
        "audit", "SHARED/gpt2", DATA, "--label-words", "1= good,1= bad", names="'1'", fix="once"
    ),
    "a label map that leads nowhere": bad(
        "audit", "SHARED/bert", DATA, "--label-map", "1=YES,0=NO", names="YES", fix="--label-map"
    ),
    "a label map that is none": bad(
        "audit", "SHARED/bert", DATA, "--label-map", "1", names="'1'", fix="name=value"
    ),
    "no texts": bad("audit", "SHARED/bert", names="there are no texts", fix="give a corpus"),
    "a run that is not there": bad(
        "audit",
        "model-0123456789abcdef",
        "--store",
        "SHARED/store",
        names="model-0123",
        fix="heedful store ls",
    ),
    "a run without a store": bad(
        "audit", "model-0123456789abcdef", names="model-0123", fix="--store"
    ),
    "a run of another kind": bad(
        "audit",
        "CORPUS_KEY",
        "--store",
        "SHARED/store",
        names="of kind corpus",
        fix="give a run of kind model",
    ),
    "a run of another kind to explain": bad(
        "explain",
        "STUDY_KEY",
        "good",
        "--store",
        "SHARED/store",
        names="of kind study",
        fix="give a run of kind model",
    ),
    "a beginning that fits several": bad(
        "audit", "model-", DATA, "--store", "SHARED/store", names="'model-'", fix=SAVED
    ),
    "to explain nothing": bad(
        "explain", "SHARED/bert", "", names="the text is empty", fix="one word"
    ),
    "to explain blanks": bad(
        "explain", "SHARED/bert", " \t ", names="the text is empty", fix="one word"
    ),
    "an empty second text": bad(
        "explain", "SHARED/bert", "good", "--text-b", " ", names="text", fix="give"
    ),
    "a layer that is not there": bad(
        "explain",
        "SHARED/bert",
        "good film",
        "--explanations",
        "attention:layer=9",
        names="9",
        fix="choose one from 0 to 1",
    ),
    "a head that is not there": bad(
        "audit",
        "SHARED/bert",
        DATA,
        "--explanations",
        "attention:head=-9",
        names="-9",
        fix="choose one from 0 to 1",
    ),
    "a second model that is not there": bad(
        "audit",
        "SHARED/bert",
        DATA,
        "--seed-model",
        "./none",
        names="none",
        fix="give a model's folder",
    ),
    "fine-tuned, no folder": bad(
        "train", "--corpus", "planted", "--pretrained", "none", names="none", fix="give"
    ),
    "fine-tuned, a pickle": spoilt(
        "bert",
        renamed("model.safetensors", "pytorch_model.bin"),
        "train",
        "--corpus",
        "planted",
        "--pretrained",
        "bert",
        names="pickle",
        fix=SAVED,
    ),
    "fine-tuned, a size of its own": bad(
        "train",
        "--corpus",
        "planted",
        "--pretrained",
        "SHARED/bert",
        "--hidden",
        "8",
        names="--hidden",
        fix="leave out",
    ),
    "from scratch, a precision": bad(
        "train", "--corpus", "planted", "--precision", "bf16", names="--precision", fix="leave out"
    ),
}
