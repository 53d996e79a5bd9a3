"""`heedful doctor`: what is installed and found, and the command that brings the rest."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Any

from heedful import __version__
from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    JsonOption,
    StoreOption,
    existing_store,
)
from heedful.cli.terminal import show, show_json
from heedful.errors import HeedfulError

_PACKAGES = {
    "core": (
        ("torch", "torch"),
        ("numpy", "numpy"),
        ("scipy", "scipy"),
        ("scikit-learn", "sklearn"),
        ("pandas", "pandas"),
        ("pyarrow", "pyarrow"),
        ("accelerate", "accelerate"),
        ("safetensors", "safetensors"),
        ("typer", "typer"),
        ("rich", "rich"),
        ("jaxtyping", "jaxtyping"),
        ("entmax", "entmax"),
        ("fsspec", "fsspec"),
    ),
    "text": (("spacy", "spacy"),),
    "hf": (
        ("transformers", "transformers"),
        ("tokenizers", "tokenizers"),
        ("datasets", "datasets"),
        ("sacrebleu", "sacrebleu"),
    ),
    "explain": (("captum", "captum"), ("shap", "shap"), ("lime", "lime")),
    "report": (
        ("altair", "altair"),
        ("vl-convert-python", "vl_convert"),
        ("jinja2", "jinja2"),
    ),
    "web": (("fastapi", "fastapi"), ("uvicorn", "uvicorn")),
    "scale": (("ray", "ray"), ("pyyaml", "yaml")),
}


def doctor(
    store: StoreOption = DEFAULT_STORE,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is installed, which corpora are found and whether a GPU is there."""
    facts = {
        "heedful": __version__,
        "packages": [_package(extra, *names) for extra in _PACKAGES for names in _PACKAGES[extra]],
        "device": _device(),
        "corpora": _corpora(data_dir),
        "store": {"path": store, **_store(store)},
    }
    if as_json:
        show_json("doctor", facts)
        return
    _print(facts, data_dir)


def _package(extra: str, name: str, module: str) -> dict[str, str | None]:
    found = importlib.util.find_spec(module) is not None
    version = importlib.metadata.version(name) if found else None
    bring = None if found else f'pip install "heedful[{extra}]"'
    if extra == "core" and not found:
        bring = f"pip install {name}"
    return {"extra": extra, "name": name, "version": version, "bring": bring}


def _device() -> str:
    if importlib.util.find_spec("torch") is None:
        return "unknown"
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def _corpora(data_dir: Path | None) -> dict[str, str]:
    """Each corpus with its size, or the sentence that says what is missing."""
    from heedful.corpora import CORPORA

    states: dict[str, str] = {}
    for name in CORPORA:
        if name == "file":
            continue
        try:
            states[name] = f"ready, {len(CORPORA[name].make(data_dir).examples)} texts"
        except HeedfulError as error:
            states[name] = str(error)
    return states


def _store(place: str) -> dict[str, Any]:
    """Whether it is there, or why nobody can say."""
    try:
        return {"exists": existing_store(place) is not None, "problem": None}
    except HeedfulError as error:
        return {"exists": False, "problem": str(error)}


def _print(facts: dict[str, Any], data_dir: Path | None) -> None:
    show(f"heedful {facts['heedful']}, device {facts['device']}")
    for package in facts["packages"]:
        state = package["version"] or f"missing: {package['bring']}"
        show(f"  {package['extra']:<7} {package['name']:<18} {state}")
    where = data_dir or "no data directory: give --data-dir or set HEEDFUL_DATA"
    show(f"corpora ({where})")
    for name, state in facts["corpora"].items():
        show(f"  {name:<10} {state}")
    exists = "exists" if facts["store"]["exists"] else "is made by the first run"
    show(facts["store"]["problem"] or f"store {facts['store']['path']} {exists}")
