"""The smallest real thing of each extra, done with whatever Heedful this Python has installed.

`try_install.py` runs it inside an environment that holds one extra and nothing else:
`python smoke_install.py report` in an empty folder. It needs the standard library only, so that
what it finds is what the wheel brought.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

HEEDFUL = str(Path(sys.executable).parent / "heedful")
SMALL = ["--param", "n_train=80", "--param", "n_dev=40", "--param", "n_test=40"]
ROWS = ["text,label", *["the film is good,LABEL_1", "a bad dull plot,LABEL_0"] * 6]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "film", "is", "good", "bad"]
GRID = """\
studies:
  - {study: jain2019, corpora: [planted], encoders: [average], attention: [additive], seeds: 1,
     epochs: 1, probes: [reachability], params: {n_train: 60, n_dev: 20, n_test: 12}}
"""


def core() -> None:
    """Train on the embedded corpus, measure, and be told what a page would need."""
    heedful("list", "saliency")
    heedful("audit", _model(), "--n", "12", "--quick", "-o", "measured")
    assert Path("measured/verdict.json").is_file()


def text() -> None:
    """Cut texts as spaCy does."""
    heedful("prepare", "planted", "--param", "tokenizer=spacy", *SMALL)


def hf() -> None:
    """Audit a Hugging Face model, made here with random weights."""
    folder = _tiny_bert(Path("tiny-bert"))
    Path("reviews.csv").write_text("\n".join(ROWS), encoding="utf-8")
    heedful("audit", str(folder), "reviews.csv", "--n", "12", "--quick", "-o", "audited")
    assert json.loads(Path("audited/verdict.json").read_text(encoding="utf-8"))


def explain() -> None:
    """Ask LIME."""
    out = heedful("explain", _model(), "The soup was awful.", "--explanations", "lime")
    assert "awful" in out


def import_() -> None:
    """Make a folder of an ONNX file."""
    program = [sys.executable, "-c", _EXPORT, str(_tiny_bert(Path("exported")))]
    subprocess.run(program, check=True, capture_output=True)
    out = heedful("import", "exported/model.onnx", "-o", "imported")
    assert "BertForSequenceClassification" in out


_EXPORT = """
import sys, torch, transformers
model = transformers.AutoModelForSequenceClassification.from_pretrained(sys.argv[1]).eval()
names = ["input_ids", "attention_mask", "token_type_ids"]
tokens = torch.ones(2, 6, dtype=torch.long)
axes = {name: {0: "b", 1: "s"} for name in names}
torch.onnx.export(model, (tokens, tokens, 0 * tokens), sys.argv[1] + "/model.onnx", dynamo=False,
                  input_names=names, output_names=["logits"], dynamic_axes=axes, opset_version=17)
"""


def report() -> None:
    """Write a page."""
    heedful("audit", _model(), "--n", "12", "--quick", "-o", "page")
    assert Path("page/page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def web() -> None:
    """Serve a page on this machine and fetch it."""
    command = [HEEDFUL, "serve", _model(), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        lines = iter(server.stdout or ())
        url = next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
        with urlopen(url, timeout=30) as answer:
            assert b"<html" in answer.read()
    finally:
        server.terminate()
        server.wait()


def scale() -> None:
    """A grid of one cell, on a Ray of its own."""
    Path("grid.yaml").write_text(GRID, encoding="utf-8")
    heedful("sweep", "grid.yaml", "--engine", "ray", "--workers", "1", "--device", "cpu")


SMOKES: dict[str, Callable[[], None]] = {
    each.__name__.rstrip("_"): each
    for each in (core, text, hf, explain, import_, report, web, scale)
}


def heedful(*arguments: str) -> str:
    """What a verb printed; one that fails ends everything."""
    done = subprocess.run([HEEDFUL, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"heedful {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _model() -> str:
    """A model of the embedded corpus; made once, found in the store the next time."""
    command = ["train", "--corpus", "planted", "--encoder", "average", "--epochs", "1"]
    return str(json.loads(heedful(*command, *SMALL, "--json"))["run"])


def _tiny_bert(folder: Path) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    raw.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    names = {f"{each}_token": f"[{each.upper()}]" for each in ("pad", "unk", "cls", "sep", "mask")}
    PreTrainedTokenizerFast(tokenizer_object=raw, **names).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(WORDS), intermediate_size=32, **sizes)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


if __name__ == "__main__":
    for name in sys.argv[1:]:
        SMOKES[name]()
