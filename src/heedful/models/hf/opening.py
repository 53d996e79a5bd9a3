"""A checked folder, opened by transformers: nothing but its checked files is there to be found.

transformers is handed a folder of ours that holds links to these files, and a config without
whatever leads elsewhere. So no pickle, code, adapter or other model can get in, whichever way a
version of transformers looks for them.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)

from heedful.errors import HeedfulError
from heedful.models.hf.config import plain_config, plain_tokenizer_config
from heedful.models.hf.folder import (
    CONFIG,
    INDEX,
    TOKENIZER_CONFIG,
    ModelFolder,
    broken,
    first_sentence,
)

_TIMES, _TENSORS, _ELEMENTS = 4, 1000, 10_000_000
"""A model may have so many times the tensors and elements its files hold (tied weights, a fresh
head), and so many more."""
_BUFFERS = 1 << 30  # elements that no file holds: masks and tables of positions


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


_ALONE: Mapping[str, Any] = {"trust_remote_code": False, "local_files_only": True}


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
