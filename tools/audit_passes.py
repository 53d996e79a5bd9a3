"""`python -m tools.audit_passes`: how many texts an audit sends through the model for one of yours.

A small BiLSTM is trained on each corpus (one epoch; those that need HEEDFUL_DATA are left out
without it), or a model of your own is taken (`--model`). Some texts are drawn, and what an audit of
the usual kind asks of the model is counted, and the CPU time it takes. Run it on two checkouts, or
with and without some explanations (`--without attnlrp,decompx`), to compare them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from heedful.attributions import fit_prior
from heedful.auditing import (
    EXPLANATIONS,
    AuditSpec,
    Cost,
    Measurer,
    Measuring,
    asked,
    batches,
    checked_texts,
    timed,
    waves,
)
from heedful.data import default_spec, prepare
from heedful.runner import Machine, Recipe, trained
from heedful.specs import CorpusSpec, ModelSpec, TrainSpec
from heedful.store import Store
from heedful.targets import AuditTarget, open_target

CORPORA = ("tutorial", "planted", "sst")
NEEDS_DATA = ("sst",)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.audit_passes", description=__doc__)
    parser.add_argument("corpora", nargs="*", default=CORPORA)
    parser.add_argument("-n", type=int, default=96, help="texts of each corpus")
    parser.add_argument("--store", help="where trained models are kept, to be found again")
    parser.add_argument("--exact-words", type=int, default=AuditSpec().exact)
    parser.add_argument("--model", type=Path, help="a Hugging Face folder instead of a BiLSTM")
    parser.add_argument("--quick", action="store_true", help="as heedful audit --quick")
    parser.add_argument("--without", default="", help="explanations to leave out, with commas")
    options = parser.parse_args()
    kept = [name for name in EXPLANATIONS if name not in options.without.split(",")]
    spec = Measuring(quick=options.quick).spec(AuditSpec(tuple(kept), exact=options.exact_words))
    _say(f"{'corpus':10s} {'texts':>5s} {'words':>6s} {'runs per text':>13s} {'CPU s':>8s}")
    with tempfile.TemporaryDirectory() as folder:
        for corpus in options.corpora:
            if corpus in NEEDS_DATA and "HEEDFUL_DATA" not in os.environ:
                _say(f"{corpus:10s} left out: set HEEDFUL_DATA")
                continue
            with _opened(corpus, options, Path(options.store or folder)) as subject:
                cost, words = _measured(subject, spec)
            runs, seconds = (total / cost.texts for total in (cost.passes, cost.seconds))
            _say(f"{corpus:10s} {cost.texts:5d} {words:6.1f} {runs:13.1f} {seconds:8.2f}")


@contextmanager
def _opened(corpus: str, options: argparse.Namespace, place: Path) -> Iterator[AuditTarget]:
    if options.model is not None:
        data = Path(os.environ["HEEDFUL_DATA"]) if corpus in NEEDS_DATA else None
        with open_target(options.model, corpus, n=options.n, data_dir=data) as subject:
            yield subject
        return
    store = Store(place)
    recipe = Recipe(ModelSpec(hidden=32), TrainSpec(epochs=1), 0)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(os.environ["HEEDFUL_DATA"]) if corpus in NEEDS_DATA else None
        prepared = prepare(_corpus(corpus, Path(folder)), store, data)
        run = trained(store, prepared, recipe, Machine())
    with open_target(run, None, n=options.n) as subject:
        yield subject


def _measured(subject: AuditTarget, spec: AuditSpec) -> tuple[Cost, float]:
    """With the CPU time instead of that on the clock, and the words of a text."""
    spec = replace(spec, explanations=asked(subject, spec.explanations, ()))
    prior = fit_prior(batch for _, batch in subject.batches())
    measure = Measurer(subject.model, spec, prior, checked_texts(subject.ids, spec.seed))
    cost, start = Cost(texts=len(subject)), time.process_time()
    with timed(subject.model, cost):
        for wave in waves(subject, spec.seed):
            for indices in batches(subject, wave):
                batch = subject.encode(indices)
                measure(batch, batch.ids)
    cost.seconds = time.process_time() - start
    return cost, float(subject.lengths.mean())


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


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
