"""Run as a program: Heedful as it is where no extra is installed.

Every package that only an extra brings is hidden, so that importing it fails as it would there.
Prints, as JSON, which modules could not be imported and what each command answered.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

HIDDEN = (
    "spacy", "transformers", "tokenizers", "sacrebleu", "lime", "altair", "vl_convert", "fastapi",
    "starlette", "uvicorn", "ray", "onnx", "onnxruntime", "gguf",
)  # fmt: skip
"""Not Jinja2, PyYAML, pydantic and huggingface_hub: packages of the core bring these."""
SMALL = ["--param", "n_train=60", "--param", "n_dev=20", "--param", "n_test=20"]


def unimportable() -> dict[str, str]:
    """Modules of Heedful that cannot be imported now; the pages of servers may be among them."""
    import heedful

    found = {}
    for module in walk_packages(heedful.__path__, "heedful."):
        try:
            import_module(module.name)
        except ImportError as error:
            found[module.name] = str(error)
    return found


def answered(arguments: list[str]) -> dict[str, object]:
    from heedful.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def commands(folder: Path) -> dict[str, list[str]]:
    """One for every place where an extra is asked for from the command line."""
    bert, rows = folder / "bert", folder / "rows.csv"
    bert.mkdir()
    (bert / "model.onnx").write_bytes(b"")
    (bert / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    (bert / "model.safetensors").write_bytes(b"")
    (bert / "tokenizer.json").write_text("{}", encoding="utf-8")
    rows.write_text("text,label\ngood,a\nbad,b\n", encoding="utf-8")
    train = ["train", "--corpus", "planted", *SMALL, "--encoder", "average", "--epochs", "1"]
    model = json.loads(str(answered([*train, "--json"])["out"]))["run"]
    study = ["study", "jain2019", "--corpora", "planted", "--encoders", "average", *SMALL]
    return {
        "text": ["prepare", "planted", "--param", "tokenizer=spacy", *SMALL],
        "hf": ["audit", str(bert), str(rows)],
        "hf train": ["train", "--pretrained", str(bert), "--corpus", "planted", *SMALL],
        "hf subwords": ["prepare", "toytranslation", "--param", "tokenizer=bpe"],
        "explain": ["explain", model, "Good soup.", "--explanations", "lime"],
        "import": ["import", str(bert / "model.onnx"), "-o", str(folder / "imported")],
        "report": ["demo", "-o", str(folder / "demo")],
        "report study": [*study, "--epochs", "1", "-o", str(folder / "page")],
        "web": ["serve", model],
        "web annotate": ["annotate", "serve", str(folder / "none.db")],
        "scale": [*study, "--epochs", "1", "--engine", "ray"],
    }


def main() -> None:
    sys.modules.update(dict.fromkeys(HIDDEN))  # None there ends an import as a missing file does
    folder = Path.cwd()
    answers = {name: answered(given) for name, given in commands(folder).items()}
    sys.stdout.write(json.dumps({"answers": answers, "unimportable": unimportable()}))


if __name__ == "__main__":
    main()
