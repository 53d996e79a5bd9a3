"""Names that are misspelt: the right one is offered."""

from __future__ import annotations

from bad_input.entry import Bad, bad

PLANTED = ("train", "--corpus", "planted")
STUDY = ("study", "jain2019", "--corpora", "planted")
AUDIT = ("audit", "SHARED/bert", "SHARED/good.csv")
EXPLAIN = ("explain", "SHARED/bert", "good film", "--explanations")
REPAIR = ("repair", "--corpus", "planted")
COMPILED = "heedful benchmark --part compiled"


def meant(*typed: object, right: str) -> Bad:
    """The last word is wrong by a letter."""
    return bad(*typed, names=f"'{typed[-1]}'", fix=f"did you mean '{right}'?")


BAD: dict[str, Bad] = {
    "a verb": bad("adit", names="adit", fix="did you mean"),
    "a verb of the store": bad("store", "lss", names="lss", fix="did you mean"),
    "a verb of annotate": bad("annotate", "reslts", names="reslts", fix="did you mean"),
    "an option": bad("list", "--jsn", names="--jsn", fix="--json"),
    "an option of another verb": bad("list", "--epochs", "3", names="--epochs", fix="--help"),
    "a kind of piece": meant("list", "corpsu", right="corpus"),
    "a kind of piece that is not": bad("list", "planets", names="'planets'", fix="choose one of"),
    "a corpus": meant("prepare", "plantde", right="planted"),
    "a corpus to train on": meant("train", "--corpus", "imbd", right="imdb"),
    "a corpus to repair": meant("repair", "--corpus", "plantd", right="planted"),
    "a corpus to audit": meant("audit", "SHARED/bert", "snil", right="snli"),
    "a corpus in capitals": meant("prepare", "Planted", right="planted"),
    "an encoder": meant(*PLANTED, "--encoder", "bilsmt", right="bilstm"),
    "a wrapper": bad(
        *PLANTED, "--encoder", "bilstm+residaul", names="'residaul'", fix="did you mean 'residual'?"
    ),
    "an attention": meant(*PLANTED, "--attention", "aditive", right="additive"),
    "a family": meant(*PLANTED, "--family", "transfomer", right="transformer"),
    "a term": meant(*PLANTED, "--term", "tiyng", right="tying"),
    "a term's parameter": bad(
        *PLANTED,
        "--term",
        "tying",
        "--term-param",
        "tying.wieght=1",
        names="'wieght'",
        fix="choose one of",
    ),
    "a corpus's parameter": bad(
        "prepare",
        "planted",
        "--param",
        "n_trian=5",
        names="'n_trian'",
        fix="did you mean 'n_train'?",
    ),
    "a tokenizer": bad(
        "prepare",
        "planted",
        "--param",
        "tokenizer=sapcy",
        names="'sapcy'",
        fix="did you mean 'spacy'?",
    ),
    "a way of counting": bad(
        "prepare",
        "planted",
        "--param",
        "counting=author",
        names="'author'",
        fix="did you mean 'authors'?",
    ),
    "sizes": bad(*PLANTED, "--hidden-sizes", "codes", names="'codes'", fix="code"),
    "a dev metric": meant(*PLANTED, "--select", "acuracy", right="accuracy"),
    "a decoder": bad(*PLANTED, "--decoder", "qurey", names="qurey", fix="choose one of"),
    "a device": meant(*PLANTED, "--device", "cdua", right="cuda"),
    "a device to audit on": meant(*AUDIT, "--device", "gpu", right="cpu"),
    "a precision": meant(*STUDY, "--precision", "flaot64", right="float64"),
    "a precision of a model": meant(*AUDIT, "--dtype", "float23", right="float32"),
    "a precision of a fine-tuned model": bad(
        *PLANTED,
        "--pretrained",
        "SHARED/bert",
        "--precision",
        "bf61",
        names="'bf61'",
        fix="did you mean 'bf16'?",
    ),
    "a study": meant("study", "jain2020", right="jain2019"),
    "a study's corpus": meant("study", "jain2019", "--corpora", "ssst", right="sst"),
    "a study's encoder": meant(*STUDY, "--encoders", "bilsmt", right="bilstm"),
    "a study's attention": meant(*STUDY, "--attention", "dto", right="dot"),
    "a study's probe": meant(*STUDY, "--probes", "permutaton", right="permutation"),
    "a study's size": meant(*STUDY, "--preset", "smal", right="small"),
    "an engine": meant(*STUDY, "--engine", "locall", right="local"),
    "a method of repair": meant(*REPAIR, "--methods", "tieing", right="tying"),
    "a score of repair": meant(
        *REPAIR, "--methods", "tying", "--score", "acuracy", right="accuracy"
    ),
    "an explanation": meant(*EXPLAIN, "atention", right="attention"),
    "an explanation to audit": meant(*AUDIT, "--also", "kernel_shp", right="kernel_shap"),
    "an explanation's parameter": bad(
        *EXPLAIN, "attention:haed=1", names="'haed'", fix="did you mean 'head'?"
    ),
    "an explanation without a parameter": bad(
        *EXPLAIN, "attention:", names="'attention:'", fix="write name:parameter=value"
    ),
    "a target": bad(*EXPLAIN, "attention", "--target", "odds", names="'odds'", fix="choose one of"),
    "a class": meant(*EXPLAIN, "attention", "--of", "LABEL_2", right="LABEL_1"),
    "a removal operator": bad(
        *AUDIT, "--perturbations", "delete,maks", names="'maks'", fix="did you mean 'mask'?"
    ),
    "a group of measures": meant(*AUDIT, "--only", "erasrue", right="erasure"),
    "an extra group": meant(*AUDIT, "--extra", "sanitty", right="sanity"),
    "a property": bad(
        *AUDIT, "--min-effect", "importnace=1", names="'importnace'", fix="mean 'importance'?"
    ),
    "a property to check": bad(
        "check",
        *AUDIT[1:],
        "--at-least",
        "importnace=1",
        names="'importnace'",
        fix="mean 'importance'?",
    ),
    "a split": meant(*AUDIT[:2], "planted", "--split", "tset", right="test"),
    "a measure to compare": bad(
        "compare",
        "SHARED/audit",
        "--measure",
        "comprehensivness",
        names="'comprehensivness'",
        fix="choose one of",
    ),
    "a task of annotators": meant(
        "annotate", "new", *AUDIT[1:], "--task", "relevence", right="relevance"
    ),
    "a format": meant(
        "annotate", "export", "SHARED/rationale.db", "x.jsonl", "--format", "json", right="jsonl"
    ),
    "a way to merge": meant(
        "annotate", "export", "SHARED/rationale.db", "x.jsonl", "--merge", "unoin", right="union"
    ),
    "what to pack": meant(
        "store", "pack", "--store", "SHARED/store", "--what", "row", right="rows"
    ),
    "a kind of run": meant("store", "ls", "--store", "SHARED/store", "porbe", right="probe"),
    "a table to export": bad(
        "store",
        "export",
        "PROBE_KEY",
        "--store",
        "SHARED/store",
        "-o",
        "x.csv",
        "rosw",
        names="'rosw'",
        fix="it has rows, summary",
    ),
    "a benchmark's part": meant("benchmark", "--part", "traned", right="trained"),
    "a benchmark's shortcut": meant(
        "benchmark", "--part", "shortcuts", "--kinds", "xro", right="xor"
    ),
    "a benchmark's model": meant(
        "benchmark", "--part", "shortcuts", "--models", "bilstn", right="bilstm"
    ),
    "a benchmark's corpus": meant(
        "benchmark", "--part", "shortcuts", "--corpora", "imbd", right="imdb"
    ),
    "a benchmark's kind": meant("benchmark", "--kinds", "avarage", right="average"),
    "a benchmark's compiled kind": meant(
        "benchmark", "--kinds", "transfomer-decision", right="transformer-decision"
    ),
    "a verb of old": bad("zoo", names="heedful zoo", fix=COMPILED),
    "a verb of old with its options": bad(
        *("zoo", "--per-kind", "3", "--kinds", "decision", "-o", "zoo.md", "--json"),
        names="heedful zoo",
        fix=COMPILED,
    ),
    "a verb of old with half an option": bad("zoo", "a", "-o", names="heedful zoo", fix=COMPILED),
    "the help of a verb of old": bad("zoo", "--help", names="heedful zoo", fix=COMPILED),
}
