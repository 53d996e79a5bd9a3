"""`python -m tools.audit_passes`: how many texts an audit sends through the model for one of yours.

A small BiLSTM is trained on each corpus (one epoch; those that need HEEDFUL_DATA are left out
without it), some texts are drawn, and what an audit of the usual kind asks of the model is counted.
Run it on two checkouts to compare them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from heedful.attributions import fit_prior
from heedful.auditing import AuditSpec, Measurer, batches, checked_texts, waves
from heedful.data import default_spec, prepare
from heedful.experiments import torch_module
from heedful.runner import Machine, Recipe, trained
from heedful.specs import CorpusSpec, ModelSpec, TrainSpec
from heedful.store import Store
from heedful.targets import open_target

CORPORA = ("tutorial", "planted", "sst")
NEEDS_DATA = ("sst",)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.audit_passes", description=__doc__)
    parser.add_argument("corpora", nargs="*", default=CORPORA)
    parser.add_argument("-n", type=int, default=96, help="texts of each corpus")
    parser.add_argument("--store", help="where trained models are kept, to be found again")
    parser.add_argument("--exact-words", type=int, default=AuditSpec().exact)
    options = parser.parse_args()
    spec = AuditSpec(exact=options.exact_words)
    _say(f"{'corpus':10s} {'texts':>5s} {'words':>6s} {'texts through the model, per text':>34s}")
    with tempfile.TemporaryDirectory() as folder:
        for corpus in options.corpora:
            if corpus in NEEDS_DATA and "HEEDFUL_DATA" not in os.environ:
                _say(f"{corpus:10s} left out: set HEEDFUL_DATA")
                continue
            texts, words, passes = _measured(corpus, spec, options.n, Path(options.store or folder))
            _say(f"{corpus:10s} {texts:5d} {words:6.1f} {passes:34.1f}")


def _measured(corpus: str, spec: AuditSpec, n: int, place: Path) -> tuple[int, float, float]:
    store = Store(place)
    recipe = Recipe(ModelSpec(hidden=32), TrainSpec(epochs=1), 0)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(os.environ["HEEDFUL_DATA"]) if corpus in NEEDS_DATA else None
        prepared = prepare(_corpus(corpus, Path(folder)), store, data)
        run = trained(store, prepared, recipe, Machine())
    with open_target(run, None, n=n) as subject:
        prior = fit_prior(batch for _, batch in subject.batches())
        measure = Measurer(subject.model, spec, prior, checked_texts(subject.ids, spec.seed))
        with _counted(subject.model) as count:
            for wave in waves(subject, spec.seed):
                for indices in batches(subject, wave):
                    batch = subject.encode(indices)
                    measure(batch, batch.ids)
        words = float(subject.lengths.mean())
        return len(subject), words, count[0] / len(subject)


def _corpus(name: str, folder: Path) -> CorpusSpec:
    """By its name; that of the tutorial is written by the tutorial's own code."""
    if name != "tutorial":
        return default_spec(name)
    code = re.search(r"```python\n(.*?)```", Path("docs/tutorial.md").read_text("utf8"), re.S)
    assert code is not None
    with contextlib.chdir(folder):
        exec(code[1], {})
    columns = {"text_column": "review", "label_column": "verdict"}
    return default_spec("file", path=str(folder / "reviews.csv"), tokenizer="words", **columns)


@contextmanager
def _counted(model: Any) -> Iterator[list[int]]:
    seen = [0]

    def count(module: torch.nn.Module, inputs: object, output: Any) -> None:
        seen[0] += len(output.logits)

    hook = torch_module(model).register_forward_hook(count)
    try:
        yield seen
    finally:
        hook.remove()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
