"""The good things that bad inputs are held against: made once, never changed."""

from __future__ import annotations

import contextlib
import io
from functools import lru_cache
from pathlib import Path

from annotating import make_study
from heedful.cli import main
from tiny_tokenizers import byte_pairs, saved

WORDS = [
    "good", "bad", "film", "the", "a", "is", "very", "not", "unlike", "story", "plot", "it", "was",
    "great", "dull",
]  # fmt: skip
QUICK = ("--quick", "--explanations", "attention", "--only", "interventions")
SMALL = ("--param", "n_train=60", "--param", "n_dev=20", "--param", "n_test=12")


def make_shared(here: Path) -> Path:
    """Five Hugging Face models, tables, a store with a run of each kind, a model that writes in a
    store of its own, an audit's folder, a pack and two annotation studies."""
    saved(here / "bert")
    for task in ("words", "span", "masked"):
        saved(here / task, task=task)
    saved(here / "gpt2", byte_pairs(), name="GPT2", task="language", vocab_size=300)
    (here / "good.csv").write_text(good_table())
    (here / "full").mkdir()
    (here / "full" / "x").write_text("x")
    store = ("--store", here / "store")
    tiny = ("--encoder", "average", "--hidden", "8", "--epochs", "1", "--threads", "1")
    _do("train", "--corpus", "planted", *SMALL, *tiny, *store)
    small = ("--hidden", "8", "--epochs", "1", "--threads", "1", "--store", here / "writers")
    _do("train", "--corpus", "toytranslation", *SMALL, *small)
    (here / "writer").symlink_to(min((here / "writers" / "runs").glob("model-*")))
    study = ("--corpora", "planted", "--encoders", "average", "--epochs", "1", "--limit", "40")
    _do("study", "jain2019", *study, "--probes", "permutation", *store)
    audit = ("audit", here / "bert", here / "good.csv", *QUICK, *store)
    _do(*audit, "-o", here / "audit")
    _do("store", "pack", "-o", here / "pack", "--max-mb", "0.02", *store)
    make_study(here / "relevance.db", "relevance")
    make_study(here / "rationale.db", "rationale")
    return here


def good_table(rows: int = 6) -> str:
    lines = [f"{' '.join(WORDS[i % 9 : i % 9 + 4])},{i % 2}" for i in range(rows)]
    return "\n".join(["text,label", *lines, ""])


@lru_cache
def key_of(shared: Path, kind: str) -> str:
    """The first run of a kind in the shared store."""
    return min(path.name for path in (shared / "store" / "runs").glob(f"{kind}-*"))


def _do(*typed: object) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main([str(each) for each in typed])
    assert code == 0, said.getvalue()
