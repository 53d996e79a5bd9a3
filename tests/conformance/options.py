"""Good commands with options put beside them: plausible, contradictory, absurd, or of no sense.

The options are read from the command line itself, so that a new one is tried without being named
here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import typer

from conformance.cases import QUICK, Place, Typed
from conformance.spoiling import TEXTS
from heedful.cli import app

_TINY = (
    "--corpus", "planted", "--param", "n_train=40", "--param", "n_dev=10", "--param", "n_test=10",
    "--encoder", "average", "--hidden", "4", "--epochs", "1", "--threads", "1",
)  # fmt: skip
_STORE = ("--store", "SHARED/store")
_BASES: dict[tuple[str, ...], tuple[Typed, ...]] = {
    ("audit",): (
        ("SHARED/bert", "good.csv", "--n", "3", *QUICK),
        ("SHARED/gpt2", "good.csv", "--n", "3", *QUICK),
        ("SHARED/bert", "good.csv", "--n", "3", *QUICK, "--dry-run"),
    ),
    ("explain",): (("SHARED/bert", "good film"), ("SHARED/gpt2", "a film")),
    ("check",): (("SHARED/bert", "good.csv", "--n", "3", *QUICK),),
    ("compare",): (("SHARED/audit", "SHARED/audit"), ("SHARED/audit",)),
    ("cite",): (("STUDY_KEY", *_STORE), ()),
    ("prepare",): (("planted", "--limit", "9"), ("good.csv", "--param", "tokenizer=words")),
    ("train",): (_TINY, (*_TINY, "--dry-run")),
    ("roar",): ((*_TINY, "--steps", "50", "--seeds", "1", "--dry-run"),),
    ("repair",): ((*_TINY, "--methods", "sparsemax", "--seeds", "1", "--dry-run"),),
    ("study",): (
        ("jain2019", "--corpora", "planted", "--encoders", "average", "--limit", "20", "--dry-run"),
        ("tutek2020", "--corpora", "planted", "--limit", "20", "--probes", "score", "--dry-run"),
    ),
    ("report",): (("STUDY_KEY", *_STORE), ("SHARED/audit",)),
    ("serve",): (("SHARED/bert", "--port", "0"), ("SHARED/bert", "SHARED/gpt2", "--port", "0")),
    ("benchmark",): (("--dry-run", "--kinds", "average", "--seeds", "1"),),
    ("list",): ((), ("saliency",), ("metric", "tvd")),
    ("schema",): ((), ("verdict",)),
    ("doctor",): ((),),
    ("store", "ls"): (_STORE,),
    ("store", "verify"): (_STORE,),
    ("store", "pack"): (("-o", "out", *_STORE),),
    ("store", "export"): (("PROBE_KEY", "rows", "-o", "out.csv", *_STORE),),
    ("annotate", "new"): (("SHARED/bert", "good.csv", "--n", "2", "-o", "out.db"),),
    ("annotate", "results"): (("SHARED/relevance.db",), ("SHARED/rationale.db",)),
    ("annotate", "export"): (("SHARED/rationale.db", "out.jsonl"),),
}
SERVERS = ("serve",)

_WHOLE = ("0", "1", "2", "3", "-1", "1000000000000", "1" + "0" * 30, "ten", "", "1.5", "1e3", "１")
_REAL = ("0", "0.5", "1", "-1", "nan", "inf", "1e308", "1e-320", "x", "", "0,5", "1" + "0" * 400)
_PATHS = (
    "out", "out.html", "out.csv", "out.json", "out.md", "new/out", "notes.txt", "keep", "empty",
    "dangling", "link", "loop", "good.csv", "link/page.html", "keep/figures", "model/config.json",
    "SHARED/bert/config.json", "SHARED/bert", "SHARED/store", "SHARED/store/runs/x", "SHARED/audit",
    "/dev/null", "/dev/full", "/proc/x", "/dev/null/x", "x" * 300, "a\nb", "", ".", "-",
)  # fmt: skip
_PLAUSIBLE: dict[str, tuple[str, ...]] = {
    "explanations": (
        "attention", "lime", "lime:samples=10", "lime:samples=1000000000", "lrp",
        "smoothgrad:samples=1000000000", "attention,attention", "kernel_shap", "random", "rollout",
        "lime:samples=5,samples=6", "gradient:x=1", "integrated_gradients:steps=0", ",", "none",
        "integrated_gradients:steps=99999999999999999999", "leave_one_out", "attention:",
        "lime:samples=[1]",
    ),
    "operators": ("delete,mask", "delete", "delete,delete", "zero,unk", "attention,delete", ","),
    "only": ("erasure", "plausibility", "interventions", "agreement", "erasure,erasure", "x", ""),
    "extra": ("sanity", "infidelity", "null_space", "interactions", "counterfactuals", "x,x", "x"),
    "smallest": ("importance=0.5", "importance=-1", "use=nan", "x=1", "use", "=", "use=2"),
    "at_least": ("importance=0.5", "importance=x", "x=1", "importance=1e400", "="),
    "label_words": ("yes= good,no= bad", "a=b", "=", "a=b,a=c", "yes=good", "0= good,1= bad"),
    "answer": (" good", " bad film", "", " ", "x" * 5000, "猫", "<|end|>"),
    "contrast": (" good", " bad", "", "猫"),
    "answer_score": ("mean", "sum", "x", ""),
    "label_map": ("0=LABEL_0,1=LABEL_1", "0=x", "a=b", "=,", "0=LABEL_1,1=LABEL_1"),
    "template": ("{text} It was", "{text}{text}", "no place", "{0}", "{text!r}", "{text}" * 2),
    "param": (
        "n_train=10", "n_train=1000000000", "limit=5", "tokenizer=words", "tokenizer=x", "x=1", "=",
        "impermissible=/(a+)+$/", "impermissible=/(/", "seed=-1", "dimension=1000000000000",
        "vectors=/dev/null", "min_length=5", "max_length=0", "n_train=nan", "classes=1000000000",
    ),
    "term": ("tying=0.1", "tying=-1", "mlm", "x", "tying=nan", "diversity=1e400", "supervised"),
    "term_param": ("tying.x=1", "x.y=1", "mlm.share=2", "="),
    "methods": ("tying", "tying+diversity", "x", "tying,tying", "sparsemax", "", "+"),
    "reader": ("developer", "user", "boss", ""),
    "goal": ("debugging", "understanding", "trust", "fun"),
    "budget": ("1s", "5min", "0s", "-1s", "1e9h", "nan", "9" * 400 + "s"),
    "device": ("cpu", "cuda", "cuda:7", "auto", "tpu", ""),
    "dtype": ("float32", "float64", "bfloat16", "int8", ""),
    "precision": ("float32", "float64", "bf16", "x"),
    "seeds": ("1", "2", "0,0", "0", "-1", "1000000000000", "1,,2", "x", "0-3"),
    "shard": ("0/1", "1/2", "2/2", "0/0", "x", "1/1000000000000", "-1/2"),
    "engine": ("x", ""),
    "corpora": ("planted", "planted,planted", "x", "good.csv", "notes.txt", "", ",", "loop"),
    "corpus": ("planted", "good.csv", "x", "", "babi", "loop"),
    "encoders": ("average", "bilstm,bilstm", "x", "average+residual", ""),
    "encoder": ("average", "x", "none", "average+residual", "cnn", "+"),
    "attention": ("additive", "dot", "x", "sparsemax", "gate", ""),
    "select": ("auto", "loss", "accuracy", "f1", "likelihood", "x"),
    "score": ("accuracy", "f1", "x"),
    "split": ("test", "train", "dev", "x", ""),
    "what": ("rows", "all", "x"),
    "task": ("relevance", "rationale", "x"),
    "format": ("jsonl", "label-studio", "x"),
    "merge": ("majority", "union", "x"),
    "token": ("a", "ä", "a b&c=d#e", "", "x" * 5000, "猫"),
    "host": ("127.0.0.1", "::1", "localhost", "", "256.1.1.1", "not a host"),
    "measure": ("comprehensiveness", "tau:occlusion", "x", "auprc", ""),
    "operator": ("delete", "mask", "x"),
    "target": ("logit", "probability", "loss", "x"),
    "of": ("0", "1", "LABEL_1", "x", "-1", ""),
    "store": ("new-store", "keep", "good.csv", "SHARED/store", "s3://", "file:///", "loop", ""),
    "seed_model": ("SHARED/bert", "SHARED/gpt2", "good.csv", "x", "MODEL_KEY"),
    "pretrained": ("SHARED/bert", "SHARED/gpt2", "keep", "x"),
    "kinds": ("average", "x", "", "average,average"),
}  # fmt: skip
_PLAUSIBLE["also"] = _PLAUSIBLE["explanations"]
_RISKY = frozenset({"address", "all", "register", "report", "damaged"})
"""Left out: what asks another machine, or writes in a checkout."""


def option_case(random: Random, place: Place) -> Typed:
    verb = random.choice(list(_BASES))
    typed = [*verb, *random.choice(_BASES[verb])]
    options = [each for each in _options(verb) if each.name not in _RISKY]
    for option in random.sample(options, min(len(options), random.randint(1, 4))):
        typed += _written(random, option)
    return tuple(typed)


@cache
def _options(verb: tuple[str, ...]) -> tuple[Any, ...]:
    command: Any = typer.main.get_command(app)
    for name in verb:
        command = command.commands[name]
    return tuple(each for each in command.params if each.param_type_name == "option")


def _written(random: Random, option: Any) -> list[str]:
    name = option.opts[0]
    if option.is_flag:
        return [name]
    times = 2 if option.multiple and random.randrange(3) == 0 else 1
    return [part for _ in range(times) for part in (name, _value(random, option))]


def _value(random: Random, option: Any) -> str:
    kind = option.type_descriptor.annotation
    if random.randrange(8) == 0:
        return random.choice(TEXTS).replace("\0", "")
    if option.name in _PLAUSIBLE:
        return random.choice(_PLAUSIBLE[option.name])
    if kind is int:
        return random.choice(_WHOLE)
    if kind is float:
        return random.choice(_REAL)
    if kind is Path:
        return random.choice(_PATHS)
    return random.choice(TEXTS).replace("\0", "")
