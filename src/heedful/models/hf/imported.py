"""Models of other formats as folders of safetensors: BERT-type ONNX files, and GGUF files.

What is written is compared with where it came from, on random tokens: an ONNX file with what
onnxruntime makes of it, a GGUF file with its weights as transformers dequantises them.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from heedful.errors import HeedfulError
from heedful.models.hf.comparing import (
    ROUGH,
    Imported,
    check_fit,
    compared,
    logits_of,
    random_probes,
)
from heedful.models.hf.folder import first_sentence, quiet, transformers
from heedful.models.hf.onnx_model import from_onnx
from heedful.models.hf.onnx_weights import missing
from heedful.store import output_folder

FOLDER = "imported model"


def import_model(
    file: str | Path,
    out: str | Path,
    tokenizer: str | Path | None = None,
    labels: Sequence[str] = (),
) -> Imported:
    """Write a folder that `heedful audit` reads, made of an `.onnx` or a `.gguf` file.

    Args:
        file: An ONNX file of a BERT, DistilBERT or RoBERTa that classifies texts or tokens, in
            32-bit or 8-bit weights, with a head of transformers' own or linear layers on pooled
            states; or a GGUF file of a language model that transformers knows.
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
            done = from_onnx(source, folder, _tokenizer_file(source, tokenizer), tuple(labels))
    return replace(done, folder=str(place))


def _tokenizer_file(source: Path, given: str | Path | None) -> Path:
    file = source.with_name("tokenizer.json") if given is None else Path(given).expanduser()
    file = file / "tokenizer.json" if file.is_dir() else file
    if not file.is_file():
        raise HeedfulError(
            f"{source.name} comes without a tokenizer: give its tokenizer.json with --tokenizer."
        )
    return file


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
        probes = random_probes(config.get_text_config().vocab_size)
        expected = logits_of(loaded.eval(), probes)
        clean.to(torch.float16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        again = library.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    fit = compared(logits_of(again, probes), expected, probes.seen)
    check_fit(source, fit, ROUGH)
    return Imported(
        str(folder),
        type(again).__name__,
        again.num_parameters(),
        fit.largest,
        fit.agreement,
        "the file's weights in 32 bits, as transformers dequantises them",
        ("the folder's weights have 16 bits.",),
    )
