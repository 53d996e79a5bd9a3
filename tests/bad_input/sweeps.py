"""Grids in YAML."""

from __future__ import annotations

from bad_input.entry import Bad, bad, of_file

ENTRY = "studies:\n  - study: jain2019\n    corpora: planted\n"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def grid(content: str, names: str, fix: str) -> Bad:
    return of_file("g.yaml", content, "sweep", "g.yaml", names=names, fix=fix)


BAD: dict[str, Bad] = {
    "no file": bad("sweep", names="GRID", fix="--help"),
    "a file that is not there": bad("sweep", "none.yaml", names="none.yaml", fix="check the path"),
    "a folder": bad("sweep", "SHARED/full", names="full", fix="give"),
    "empty": grid("", "line 1", "name `studies`"),
    "only a comment": grid("# nothing\n", "line 1", "name `studies`"),
    "broken": grid("studies: [", "line 1", "fix"),
    "a tab": grid("studies:\n\t- study: jain2019\n", "line 2", "fix"),
    "two documents": grid(ENTRY + "---\n" + ENTRY, "line 4", "fix"),
    "a list": grid("- study: jain2019\n", "line 1", "`name: value`"),
    "a text": grid("jain2019\n", "line 1", "`name: value`"),
    "an unknown key": grid("studeis: []\n", "line 1", "did you mean 'studies'?"),
    "an unknown key of a study": grid(ENTRY + "    sedes: 3\n", "line 4", "did you mean 'seeds'?"),
    "a key twice": grid(ENTRY + "    corpora: sst\n", "line 4", "once"),
    "no studies": grid("store: here\n", "line 1", "name a list"),
    "studies of nothing": grid("studies: []\n", "line 1", "not empty"),
    "studies that are one": grid("studies: jain2019\n", "line 1", "list"),
    "a study without a name": grid("studies:\n  - corpora: planted\n", "line 2", "name one"),
    "an unknown study": grid(
        "studies:\n  - study: jain2020\n", "line 2", "did you mean 'jain2019'?"
    ),
    "an unknown corpus": grid(ENTRY.replace("planted", "plantde"), "line 3", "mean 'planted'?"),
    "an unknown encoder": grid(ENTRY + "    encoders: [bilsmt]\n", "line 4", "mean 'bilstm'?"),
    "an unknown probe": grid(ENTRY + "    probes: permutaton\n", "line 4", "mean 'permutation'?"),
    "a corpus that is a number": grid(ENTRY.replace("planted", "7"), "line 3", "give a text"),
    "a corpus that is a list of lists": grid(
        ENTRY.replace("planted", "[[planted]]"), "line 3", "give a text"
    ),
    "seeds in words": grid(ENTRY + "    seeds: many\n", "line 4", "whole number"),
    "no seeds": grid(ENTRY + "    seeds: []\n", "line 4", "not empty"),
    "seeds twice": grid(ENTRY + "    seeds: [1, 1]\n", "line 4", "once"),
    "a seed below 0": grid(ENTRY + "    seeds: [-1]\n", "line 4", "from 0"),
    "a seed that is true": grid(ENTRY + "    seeds: true\n", "line 4", "whole number"),
    "epochs of 0": grid(ENTRY + "    epochs: 0\n", "line 4", "from 1"),
    "epochs that are no number": grid(ENTRY + "    epochs: .nan\n", "line 4", "whole number"),
    "params that are none": grid(ENTRY + "    params: 3\n", "line 4", "{name: value}"),
    "an unknown parameter": grid(ENTRY + "    params: {n_trian: 3}\n", "line 4", "mean 'n_train'?"),
    "a parameter of a list": grid(ENTRY + "    params: {n_train: [3]}\n", "line 4", "one value"),
    "a precision": grid("precision: half\n" + ENTRY, "line 1", "choose one of"),
    "a store that is a number": grid("store: 5\n" + ENTRY, "line 1", "give a text"),
    "a data folder that is not there": grid("data_dir: /nowhere\n" + ENTRY, "/nowhere", "data_dir"),
    "an anchor that is not there": grid("studies: *nobody\n", "line 1", "fix"),
    "an anchor of itself": grid("studies: &a [*a]\n", "line 1", "`name: value`"),
    "a merge of itself": grid("<<: &a {<<: *a}\nstudies: []\n", "line 1", "choose one of"),
    "a bomb of anchors": grid(BOMB + "studies: *i\n", "line 1", "choose one of"),
    "a bomb of studies": grid(BOMB.replace("a: &a", "studies: &a", 1), "line 2", "choose one of"),
    "a tag of Python": grid(
        "studies: !!python/object/apply:os.system ['exit 3']\n", "line 1", "`name: value`"
    ),
    "a tag that does not fit": grid(ENTRY + "    seeds: !!bool maybe\n", "!!bool", "tag out"),
    "a tag of a parameter": grid(
        ENTRY + "    params: {shared_words: !!bool maybe}\n", "'maybe'", "leave the tag out"
    ),
    "a tag of a text": grid("store: !!int seven\n" + ENTRY, "line 1", "leave the tag out"),
    "a tag of a date": grid(ENTRY + "    seeds: !!timestamp soon\n", "line 4", "leave the tag out"),
    "a tag of nothing": grid(ENTRY + "    epochs: !!int ''\n", "line 4", "leave the tag out"),
    "a parameter beside its setting": grid(
        ENTRY + "    limit: 40\n    params: {limit: 30}\n", "limit", "give one"
    ),
    "a date for seeds": grid(ENTRY + "    seeds: 2024-13-45\n", "line 4", "whole number"),
    "too large": grid("#" * (2 << 20), "g.yaml", "smaller"),
    "too deep": grid("[" * 3_000, "g.yaml", "fix"),
    "binary": of_file("g.yaml", bytes(range(256)), "sweep", "g.yaml", fix="UTF-8"),
    "a shard after the last": of_file(
        "g.yaml", ENTRY, "sweep", "g.yaml", "--shard", "3/2", names="'3/2'", fix="i from 1 to n"
    ),
    "an engine": of_file(
        "g.yaml", ENTRY, "sweep", "g.yaml", "--engine", "slurm", names="'slurm'", fix="choose"
    ),
    "no workers": of_file(
        "g.yaml", ENTRY, "sweep", "g.yaml", "--workers", "0", names="--workers", fix="from 1 to"
    ),
    "a store that is a file": of_file(
        "g.yaml",
        ENTRY,
        "sweep",
        "g.yaml",
        "--store",
        "SHARED/good.csv",
        names="good.csv",
        fix="choose a folder",
    ),
    "an empty shard": of_file(
        "g.yaml", ENTRY, "sweep", "g.yaml", "--shard", "", names="--shard", fix="i/n"
    ),
}
