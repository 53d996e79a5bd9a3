"""Which files a Hugging Face model is read from, decided before anything of it is loaded.

Only these files are ever loaded, and digests are of them: a config, safetensors and the files of
a tokenizer, all inside the folder. Whatever else lies there (pickles, code, adapters) is never
seen by transformers: see `heedful.models.hf.opening`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from heedful.errors import HeedfulError
from heedful.models.hf.config import check_config, check_tokenizer
from heedful.store import file_digest, is_plain

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
CONFIG, TOKENIZER_CONFIG, TOKENIZER = "config.json", "tokenizer_config.json", "tokenizer.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
_VOCABULARIES = (TOKENIZER, "vocab.txt", "vocab.json", "*.model")
"""transformers makes an empty tokenizer up where it finds none of these."""
_BESIDE = (TOKENIZER_CONFIG, "special_tokens_map.json", "added_tokens.json", "merges.txt")
_LARGEST = 256 << 20  # bytes of a JSON file; those of large tokenizers have about 30 million
_PATIENCE = 10.0  # seconds for the hub's first answer


@dataclass(frozen=True)
class ModelFolder:
    """`name` is what the user calls it, `files` are all that is read, by their names. `shards`
    hold, for each file of weights, the number of elements of each tensor; `index` says which
    tensor is where, in a folder of several such files."""

    name: str
    files: Mapping[str, Path]
    config: Mapping[str, Any]
    tokenizer_config: Mapping[str, Any] | None
    shards: Mapping[str, Mapping[str, int]]
    index: Mapping[str, str] | None

    @property
    def has_tokenizer(self) -> bool:
        return any(Path(name).match(pattern) for name in self.files for pattern in _VOCABULARIES)

    def digests(self) -> dict[str, str]:
        return {name: file_digest(path) for name, path in sorted(self.files.items())}


def find_folder(source: str | Path) -> ModelFolder:
    """By a folder or an id of the hub; everything else is refused."""
    if not str(source).strip():
        raise HeedfulError(f"the model is called {str(source)!r}: give its folder or a hub id.")
    path = Path(source).expanduser()
    if path.is_dir():
        return read_folder(path)
    if path.suffix in PICKLES:
        raise _pickle(path.name)
    if path.is_file():
        raise HeedfulError(f"{path} is a file: give the folder that holds config.json.")
    if isinstance(source, Path) or source.startswith((".", "/", "~")):
        raise HeedfulError(f"there is no folder {path}: give a model's folder or a hub id.")
    return read_folder(_fetched(source), source)


def read_folder(path: Path, name: str | None = None) -> ModelFolder:
    """A folder that `save_pretrained` wrote, or a snapshot in the hub's cache."""
    name = str(path) if name is None else name
    if (path / "adapter_config.json").exists():
        raise HeedfulError(
            f"{name} is an adapter of another model (adapter_config.json): merge the two with "
            f"merge_and_unload and save the whole model with save_pretrained."
        )
    files = {CONFIG: path / CONFIG, **_tokenizer_files(path)}
    if not files[CONFIG].is_file():
        raise HeedfulError(f"{name} holds no config.json: give a folder save_pretrained wrote.")
    index = _index(path, name)
    weights = (WEIGHTS,) if index is None else sorted(set(index.values()))
    files |= {each: path / each for each in weights} | ({INDEX: path / INDEX} if index else {})
    for file in files.values():
        _check_inside(path, file)
    config = _json(files[CONFIG], name)
    check_config(config, name)
    settings = _json(files[TOKENIZER_CONFIG], name) if TOKENIZER_CONFIG in files else None
    check_tokenizer(settings, _json(files[TOKENIZER], name) if TOKENIZER in files else {}, name)
    shards = {each: _sizes(files[each], name) for each in weights}
    return ModelFolder(name, files, config, settings, shards, index)


def not_there(name: str) -> HeedfulError:
    return HeedfulError(
        f"{name!r} is no folder here and could not be had from the Hugging Face hub (no such "
        f"id, no permission, or no connection): give the folder of a model that save_pretrained "
        f"wrote."
    )


def broken(name: str, why: str) -> HeedfulError:
    """One sentence for a folder that is not what it should be."""
    return HeedfulError(
        f"{name} cannot be loaded: {why}; give a whole folder that save_pretrained wrote."
    )


def _tokenizer_files(path: Path) -> dict[str, Path]:
    found = {each.name: each for pattern in _VOCABULARIES for each in path.glob(pattern)}
    return found | {each: path / each for each in _BESIDE if (path / each).is_file()}


def _index(path: Path, name: str) -> dict[str, str] | None:
    """The file of each tensor; None where all are in one file."""
    if (path / WEIGHTS).is_file():
        return None
    if not (path / INDEX).is_file():
        pickles = sorted(each.name for each in path.iterdir() if each.suffix in PICKLES)
        if pickles:
            raise _pickle(f"{path.name}/{pickles[0]}")
        raise HeedfulError(f"{name} holds no weights: it needs a model.safetensors.")
    _check_inside(path, path / INDEX)
    found = _json(path / INDEX, name).get("weight_map")
    if not isinstance(found, dict) or not found:
        raise broken(name, f"{INDEX} has no weight_map")
    for file in found.values():
        if Path(str(file)).suffix in PICKLES:
            raise _pickle(f"{str(file)!r}, which {path.name}/{INDEX} names,")
        if not isinstance(file, str) or not is_plain(file) or not file.endswith(".safetensors"):
            raise broken(name, f"{INDEX} names {str(file)[:100]!r}, no safetensors file beside it")
        if not (path / file).is_file():
            raise broken(name, f"the file {file}, which {INDEX} names, is missing")
    return found


def _check_inside(path: Path, file: Path) -> None:
    """The hub's cache has its files in `blobs`, and links to them in `snapshots`."""
    folder, target = path.resolve(), file.resolve()
    blobs = folder.parent.parent / "blobs"
    cached = folder.parent.name == "snapshots" and target.is_relative_to(blobs)
    if not target.is_file() or not (cached or target.is_relative_to(folder)):
        raise HeedfulError(
            f"{file} is a link that leads out of its folder: put the file itself there."
        )


def _json(file: Path, name: str) -> dict[str, Any]:
    try:
        if file.stat().st_size > _LARGEST:
            raise broken(name, f"{file.name} is larger than {_LARGEST >> 20} MB")
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise broken(name, f"{file.name} is no JSON") from error
    if not isinstance(found, dict):
        raise broken(name, f"{file.name} holds no names with values")
    return found


def _sizes(file: Path, name: str) -> dict[str, int]:
    """From the header alone, which tells whether the file is whole."""
    try:
        with safe_open(file, framework="pt") as tensors:
            return {each: prod(tensors.get_slice(each).get_shape()) for each in tensors.keys()}
    except (SafetensorError, OSError) as error:
        raise broken(name, f"{file.name} holds no safetensors ({first_sentence(error)})") from error


def first_sentence(error: BaseException) -> str:
    """Of what a library says in many."""
    line = (str(error).strip().splitlines() or [""])[0].partition(". ")[0].rstrip(".:!")
    return re.sub(r"<class '([\w.]+)'>", r"\1", line)[:200] or type(error).__name__


def _fetched(name: str) -> Path:
    """The snapshot of a model of the hub: its weights are downloaded as safetensors only."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    problems: tuple[type[BaseException], ...] = (OSError, ValueError, *HfHubHTTPError.__bases__)
    wanted = [CONFIG, INDEX, WEIGHTS, "adapter_config.json", *_VOCABULARIES, *_BESIDE]
    options: dict[str, Any] = {}
    try:  # one quick question: a download would ask again and again where nobody answers
        options["revision"] = huggingface_hub.model_info(name, timeout=_PATIENCE).sha
    except problems:
        options["local_files_only"] = True
    try:
        path = Path(huggingface_hub.snapshot_download(name, allow_patterns=wanted, **options))
        if not (path / WEIGHTS).is_file() and (path / INDEX).is_file():
            shards = _json(path / INDEX, name).get("weight_map")
            names = {str(each) for each in shards.values()} if isinstance(shards, dict) else set()
            safe = [each for each in names if is_plain(each) and each.endswith(".safetensors")]
            huggingface_hub.snapshot_download(name, allow_patterns=safe, **options)
    except problems as error:
        raise not_there(name) from error
    return path


def _pickle(name: str) -> HeedfulError:
    return HeedfulError(
        f"{name} is a pickle file, which can run any code when it is loaded: convert the model "
        f"with save_pretrained, which writes safetensors."
    )
