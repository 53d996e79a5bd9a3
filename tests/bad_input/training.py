"""What training, repair, studies and the benchmark refuse: options that contradict each other."""

from __future__ import annotations

from bad_input.entry import Bad, bad, leaving

TRAIN = ("train", "--corpus", "planted")
STUDY = ("study", "jain2019", "--corpora", "planted")
REPAIR = ("repair", "--corpus", "planted")
BAD: dict[str, Bad] = {
    "no corpus": bad("train", names="--corpus", fix="--help"),
    "no corpus to repair": bad("repair", names="--corpus", fix="--help"),
    "no study": bad("study", names="NAME", fix="--help"),
    "a second argument": bad("study", "jain2019", "sst", names="sst", fix="--help"),
    "a term twice": bad(
        *TRAIN, "--term", "tying", "--term", "tying=2", names="tying", fix="one weight"
    ),
    "an empty term": bad(*TRAIN, "--term", "", names="''", fix="choose one of"),
    "a parameter of a term that is not there": bad(
        *TRAIN, "--term-param", "tying.k=1", names="'tying.k=1'", fix="add it"
    ),
    "a parameter of a term twice": bad(
        *TRAIN,
        "--term",
        "mlm",
        "--term-param",
        "mlm.share=0.1",
        "--term-param",
        "mlm.share=0.2",
        names="mlm.share twice",
        fix="once",
    ),
    "a parameter of no term": bad(
        *TRAIN, "--term-param", "k=1", names="'k=1'", fix="name.key=value"
    ),
    "a family for pairs": bad(*TRAIN, "--family", "pair", names="pair", fix="choose"),
    "a family for writing": bad(*TRAIN, "--family", "seq2seq", names="seq2seq", fix="choose"),
    "a metric of writing": bad(*TRAIN, "--select", "likelihood", names="likelihood", fix="choose"),
    "a metric of classes": bad(
        "train", "--corpus", "toy_copy", "--select", "accuracy", names="accuracy", fix="likelihood"
    ),
    "an empty encoder": bad(*TRAIN, "--encoder", "", names="''", fix="choose one of"),
    "a wrapper alone": bad(*TRAIN, "--encoder", "+residual", names="''", fix="choose one of"),
    "an empty corpus": bad("train", "--corpus", "", names="''", fix="choose one of"),
    "a blank corpus": bad("train", "--corpus", "   ", names="'   '", fix="choose one of"),
    "names with an empty one": bad(
        "study", "jain2019", "--corpora", "planted,,sst", names="'planted,,sst'", fix="one comma"
    ),
    "names twice": bad(
        "study",
        "jain2019",
        "--corpora",
        "planted,planted",
        names="'planted,planted'",
        fix="each once",
    ),
    "an address without Ray": bad(
        *STUDY, "--address", "auto", names="--address", fix="add --engine ray"
    ),
    "a card's part without a card": bad(
        *STUDY, "--gpu-fraction", "0.5", names="--gpu-fraction", fix="leave it out"
    ),
    "an address that is none": bad(
        *STUDY,
        "--engine",
        "ray",
        "--address",
        "not an address",
        names="not an address",
        fix="host:port",
    ),
    "no methods": bad(*REPAIR, "--methods", "", names="--methods", fix="one comma"),
    "a method twice": bad(*REPAIR, "--methods", "tying,tying", names="tying", fix="each once"),
    "the base as a method": bad(*REPAIR, "--methods", "base", names="base", fix="choose one of"),
    "methods that exclude each other": bad(
        *REPAIR, "--methods", "sparsemax+entmax", names="sparsemax", fix="choose"
    ),
    "a method plus nothing": bad(*REPAIR, "--methods", "tying+", names="''", fix="choose one of"),
    "a method for a corpus that writes": bad(
        "repair",
        "--corpus",
        "toytranslation",
        "--methods",
        "supervised",
        names="toytranslation",
        fix="choose a corpus with classes",
    ),
    "an encoder that cannot be repaired": leaving(
        "corpus",
        *REPAIR,
        "--methods",
        "tying",
        "--encoder",
        "bilsmt",
        names="'bilsmt'",
        fix="did you mean",
    ),
    "a benchmark of nothing": bad("benchmark", "--kinds", "", names="--kinds", fix="one comma"),
    "a benchmark's page elsewhere": bad(
        "benchmark", "--report", names="reproduction/benchmark.csv", fix="in the checkout"
    ),
    "a benchmark's page with more": bad(
        "benchmark", "--report", "--held-out", names="--held-out", fix="leave out"
    ),
    "a benchmark of a kind twice": bad(
        "benchmark", "--kinds", "average,average", names="'average,average'", fix="each once"
    ),
    "a demo of a device": bad("demo", "--device", "tpu", names="'tpu'", fix="choose"),
    "a demo of threads": bad("demo", "--threads", "0", names="--threads", fix="from 1 to"),
    "a list of a piece of another kind": bad(
        "list", "probe", "sst", names="'sst'", fix="choose one of"
    ),
}
