"""A Hugging Face model's folder: which files are read, and that nothing else is.

Only a config, safetensors and the files of a tokenizer, all inside the folder, are ever loaded, and
digests are of them. transformers is handed a folder of ours that holds links to these files, and a
config without whatever leads elsewhere. So no pickle, code, adapter or other model can get in,
whichever way a version of transformers looks for them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)

from heedful.errors import HeedfulError
from heedful.models.hf.config import (
    check_config,
    check_tokenizer,
    plain_config,
    plain_tokenizer_config,
)
from heedful.store import file_digest, is_plain

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
CONFIG, TOKENIZER_CONFIG, TOKENIZER = "config.json", "tokenizer_config.json", "tokenizer.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
_VOCABULARIES = (TOKENIZER, "vocab.txt", "vocab.json", "*.model")
"""transformers makes an empty tokenizer up where it finds none of these."""
_BESIDE = (
    TOKENIZER_CONFIG, "special_tokens_map.json", "added_tokens.json", "merges.txt",
    "chat_template.jinja",
)  # fmt: skip
_LARGEST = 256 << 20  # bytes of a JSON file; those of large tokenizers have about 30 million
_PATIENCE = 10.0  # seconds for the hub's first answer
_TIMES, _TENSORS, _ELEMENTS = 4, 1000, 10_000_000
"""A model may have so many times the tensors and elements its files hold (tied weights, a fresh
head), and so many more."""
_BUFFERS = 1 << 30  # elements that no file holds: masks and tables of positions
_ALONE: Mapping[str, Any] = {"trust_remote_code": False, "local_files_only": True}


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
    files = {CONFIG: path / CONFIG}
    files |= {file.name: file for pattern in _VOCABULARIES for file in path.glob(pattern)}
    files |= {name: path / name for name in _BESIDE if (path / name).is_file()}
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


@dataclass(frozen=True)
class Opened:
    """A folder of ours with the checked files of a model."""

    folder: ModelFolder
    path: Path

    def config(self) -> Any:
        from transformers import AutoConfig

        with self._reading():
            return AutoConfig.from_pretrained(self.path, **_ALONE)

    def tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        with self._reading():
            found = AutoTokenizer.from_pretrained(self.path, use_fast=True, **_ALONE)
        found.name_or_path = self.folder.name
        return found

    def model(self, auto: Any, **options: Any) -> tuple[Any, Mapping[str, Any]]:
        """By an Auto class; the model, and what transformers reports of the loading."""
        with self._reading(), _no_larger_than(self.folder):
            model, report = auto.from_pretrained(
                self.path, use_safetensors=True, output_loading_info=True, **_ALONE, **options
            )
        model.config.name_or_path = model.name_or_path = self.folder.name
        return model, report

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """What files of a wrong kind make of transformers, as one sentence."""
        try:
            yield
        except HeedfulError:
            raise
        except ImportError as error:
            raise HeedfulError(
                f"{self.folder.name} cannot be loaded because a package is missing "
                f"({self._said(error)}): pip install 'heedful[hf]'."
            ) from error
        except BaseException as error:  # libraries raise anything, and Rust's panics
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            raise broken(self.folder.name, self._said(error)) from error

    def _said(self, error: BaseException) -> str:
        return first_sentence(error).replace(str(self.path), self.folder.name)


@contextmanager
def opened(folder: ModelFolder) -> Iterator[Opened]:
    """For as long as the block; what was loaded stays."""
    with quiet(), tempfile.TemporaryDirectory(prefix="heedful-model-") as place:
        path = Path(place)
        for name, file in folder.files.items():
            _link(file.resolve(), path / name)
        _write(path / CONFIG, plain_config(folder.config))
        if folder.tokenizer_config is not None:
            _write(path / TOKENIZER_CONFIG, plain_tokenizer_config(folder.tokenizer_config))
        if folder.index is not None:
            _write(path / INDEX, {"metadata": {}, "weight_map": folder.index})
        yield Opened(folder, path)


def transformers() -> Any:
    """The package, or an error that says how to install it."""
    try:
        import transformers as library
    except ImportError as error:
        raise HeedfulError(
            "Hugging Face models need transformers: pip install 'heedful[hf]'."
        ) from error
    return library


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and reports of loading; what matters in them is an error here."""
    logging = transformers().utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def tokenizing(name: str) -> Iterator[None]:
    """A regular expression that tries too many ways ends in a panic of tokenizers."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise HeedfulError(
            f"the tokenizer of {name} failed on a text ({first_sentence(error)}): give a model "
            f"with another tokenizer."
        ) from error


def is_panic(error: BaseException) -> bool:
    """Of a library written in Rust; it is no Exception."""
    return type(error).__name__ == "PanicException"


@contextmanager
def _no_larger_than(folder: ModelFolder) -> Iterator[None]:
    """transformers builds a model without its weights first: one that its files cannot fill is
    refused while it is built, whatever its config claims."""
    held = [size for shard in folder.shards.values() for size in shard.values()]
    tensors, elements = _TIMES * len(held) + _TENSORS, _TIMES * sum(held) + _ELEMENTS
    parameters, buffers, mine = _Sizes(), _Sizes(), threading.get_ident()

    def count(module: nn.Module, name: str, tensor: Tensor | None) -> None:
        if tensor is None or threading.get_ident() != mine:
            return
        counted = parameters if isinstance(tensor, nn.Parameter) else buffers
        counted.add((id(module), name), tensor)
        many = len(parameters.known) > tensors or parameters.total > elements
        if many or buffers.total > _BUFFERS:
            raise HeedfulError(
                f"config.json of {folder.name} describes a model far larger than its weights, "
                f"which hold {sum(held)} numbers: give a whole folder that save_pretrained wrote."
            )

    handles = [
        register_module_parameter_registration_hook(count),
        register_module_buffer_registration_hook(count),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class _Sizes:
    """The elements of tensors, each counted once however often it is put in its place."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, str], int] = {}
        self.total = 0

    def add(self, place: tuple[int, str], tensor: Tensor) -> None:
        self.total += tensor.numel() - self.known.get(place, 0)
        self.known[place] = tensor.numel()


def _link(file: Path, place: Path) -> None:
    try:
        os.symlink(file, place)
    except OSError:  # where links are not allowed
        shutil.copyfile(file, place)


def _write(place: Path, value: Mapping[str, Any]) -> None:
    place.unlink()
    place.write_text(json.dumps(value), encoding="utf8")
