"""Where results cannot go."""

from __future__ import annotations

from bad_input.entry import Bad, bad, of_file

AUDIT = ("audit", "SHARED/bert", "SHARED/good.csv")
CHECK = ("check", "SHARED/bert", "SHARED/good.csv")
STORE = ("--store", "SHARED/store")
EXPORT = ("store", "export", "PROBE_KEY", "rows", *STORE, "-o")
STUDY = ("study", "jain2019", "--corpora", "planted", "-o")
REPORT = ("report", "STUDY_KEY", *STORE, "-o")
BAD: dict[str, Bad] = {
    "a file for a folder": bad(
        *AUDIT, "-o", "SHARED/good.csv", names="good.csv", fix="give a new folder"
    ),
    "a full folder": bad(*AUDIT, "-o", "SHARED/full", names="full", fix="give a new folder"),
    "an empty name": bad(*AUDIT, "-o", "", names="-o", fix="give a new folder"),
    "the current folder": of_file("x", "x", *AUDIT, "-o", ".", names=".", fix="give a new folder"),
    "below a file": bad(*AUDIT, "-o", "SHARED/good.csv/out", names="good.csv", fix="give"),
    "where nothing can be": bad(*AUDIT, "-o", "/proc/heedful/out", names="/proc", fix="give"),
    "a name too long": bad(*AUDIT, "-o", "x" * 300, names="xxx", fix="shorter"),
    "inside the store": bad(
        *AUDIT, *STORE, "-o", "SHARED/store/runs/out", names="runs/out", fix="outside"
    ),
    "the input": of_file(
        "t.csv",
        "text,label\ngood,1\nbad,0\n",
        "audit",
        "SHARED/bert",
        "t.csv",
        "--card",
        "t.csv",
        names="t.csv",
        fix="give another file",
    ),
    "a card that is a folder": bad(
        *AUDIT, "--card", "SHARED/full", names="full", fix="give a file"
    ),
    "a card nowhere": bad(
        *AUDIT, "--card", "none/card.md", names="none/card.md", fix="a folder that is there"
    ),
    "an empty card": bad(*AUDIT, "--card", "", names=".", fix="give a file"),
    "JUnit nowhere": bad(
        *CHECK, "--junit", "none/j.xml", names="none/j.xml", fix="a folder that is there"
    ),
    "JUnit a folder": bad(*CHECK, "--junit", "SHARED/full", names="full", fix="give a file"),
    "a baseline nowhere": bad(
        *CHECK, "--write-baseline", "none/b.json", names="none/b.json", fix="a folder that is there"
    ),
    "a baseline over the data": of_file(
        "t.csv",
        "text,label\ngood,1\nbad,0\n",
        "check",
        "SHARED/bert",
        "t.csv",
        "--write-baseline",
        "t.csv",
        names="t.csv",
        fix="give another file",
    ),
    "two outputs in one file": bad(
        *CHECK,
        "--junit",
        "x.xml",
        "--write-baseline",
        "x.xml",
        names="x.xml",
        fix="give another file",
    ),
    "a study's report in a file": bad(*STUDY, "SHARED/good.csv", names="good.csv", fix="give"),
    "a study's report in the store": bad(
        "study",
        "jain2019",
        "--corpora",
        "planted",
        *STORE,
        "-o",
        "SHARED/store/runs",
        names="runs",
        fix="give a new one",
    ),
    "a report in a file": bad(*REPORT, "SHARED/good.csv", names="good.csv", fix="give"),
    "a report below a file": bad(*REPORT, "SHARED/good.csv/out", names="good.csv", fix="give"),
    "a report where nothing can be": bad(*REPORT, "/proc/heedful/out", names="/proc", fix="give"),
    "a report in the store": bad(*REPORT, "SHARED/store", names="store", fix="give a new one"),
    "a report over an audit": bad(
        "report", "SHARED/audit", "-o", "SHARED/audit", names="audit", fix="give"
    ),
    "an export nowhere": bad(
        *EXPORT, "none/x.csv", names="none/x.csv", fix="a folder that is there"
    ),
    "an export to a folder": of_file(
        "x.csv/y", "", *EXPORT, "x.csv", names="x.csv", fix="give a file"
    ),
    "an export without a kind": bad(*EXPORT, "rows", names="rows", fix="ending in .csv"),
    "a pack in a file": bad(
        "store", "pack", *STORE, "-o", "SHARED/good.csv", names="good.csv", fix="--out"
    ),
    "a pack where nothing can be": bad(
        "store", "pack", *STORE, "-o", "/proc/heedful", names="/proc/heedful", fix="--out"
    ),
    "a repair in a file": bad(
        "repair",
        "--corpus",
        "planted",
        "--methods",
        "tying",
        "-o",
        "SHARED/good.csv",
        names="good.csv",
        fix="give",
    ),
    "a repair in a full folder": bad(
        "repair",
        "--corpus",
        "planted",
        "--methods",
        "tying",
        "-o",
        "SHARED/full",
        names="full",
        fix="give",
    ),
    "a zoo in a folder": bad("zoo", "-o", "SHARED/full", names="full", fix="give a file"),
    "a zoo nowhere": bad(
        "zoo", "-o", "none/zoo.md", names="none/zoo.md", fix="a folder that is there"
    ),
    "a demo in a file": bad("demo", "-o", "SHARED/good.csv", names="good.csv", fix="give"),
    "a demo where nothing can be": bad("demo", "-o", "/proc/heedful", names="/proc", fix="give"),
    "a study of annotators nowhere": bad(
        "annotate",
        "new",
        *AUDIT[1:],
        "-o",
        "none/s.db",
        names="none/s.db",
        fix="a folder that is there",
    ),
    "a study of annotators that is there": bad(
        "annotate",
        "new",
        *AUDIT[1:],
        "-o",
        "SHARED/rationale.db",
        names="rationale.db",
        fix="give a new file",
    ),
    "results in a file": bad(
        "annotate",
        "results",
        "SHARED/rationale.db",
        "-o",
        "SHARED/good.csv",
        names="good.csv",
        fix="give a new folder",
    ),
    "results in a full folder": bad(
        "annotate",
        "results",
        "SHARED/rationale.db",
        "-o",
        "SHARED/full",
        names="full",
        fix="give a new folder",
    ),
    "results where nothing can be": bad(
        "annotate", "results", "SHARED/rationale.db", "-o", "/proc/x", names="/proc", fix="give"
    ),
    "answers of another kind": bad(
        "annotate", "export", "SHARED/rationale.db", "x.csv", names="x.csv", fix="ending in .jsonl"
    ),
    "answers nowhere": bad(
        "annotate",
        "export",
        "SHARED/rationale.db",
        "none/x.jsonl",
        names="none/x.jsonl",
        fix="a folder that is there",
    ),
    "answers over the study": of_file(
        "x",
        "",
        "annotate",
        "export",
        "SHARED/rationale.db",
        "SHARED/rationale.db",
        "--format",
        "label-studio",
        names="rationale.db",
        fix="give another file",
    ),
}
