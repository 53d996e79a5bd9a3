"""What is typed: nothing, blanks and ways out."""

from __future__ import annotations

from bad_input.entry import Bad, bad

BAD: dict[str, Bad] = {
    "an empty verb": bad("", names="''", fix="--help"),
    "a blank verb": bad("   ", names="'   '", fix="--help"),
    "an option alone": bad("--colour", names="--colour", fix="--help"),
    "a way out for a corpus": bad(
        "prepare", "../../etc/passwd", names="passwd", fix="a file's path"
    ),
    "a way up for a corpus": bad("prepare", "..", names="..", fix="give a file"),
    "a root for a corpus": bad("prepare", "/", names="/", fix="give a file"),
    "a corpus of blanks": bad("prepare", "   ", names="'   '", fix="choose one of"),
    "an empty corpus": bad("prepare", "", names="''", fix="choose one of"),
    "an empty corpus to audit": bad("audit", "SHARED/bert", "", names="''", fix="choose one of"),
    "a path too long": bad("prepare", "x" * 5000 + ".csv", names="xxx", fix="shorter"),
    "a name too long": bad("prepare", "x" * 5000, names="xxx", fix="shorter"),
    "a kind of nothing": bad("list", "", names="''", fix="choose one of"),
    "a study of nothing": bad("study", "", names="''", fix="choose one of"),
    "a study with a way out": bad(
        "study", "../jain2019", names="'../jain2019'", fix="choose one of"
    ),
    "an option without a value": bad("audit", "SHARED/bert", "--n", names="--n", fix="--help"),
    "an option that is a flag": bad("list", "--json=1", names="--json", fix="--help"),
    "too many arguments": bad("doctor", "now", "please", names="now", fix="--help"),
    "an unknown option of the doctor": bad("doctor", "--fix", names="--fix", fix="--help"),
    "an unknown option of the demo": bad("demo", "--quick", names="--quick", fix="--help"),
    "no model": bad("audit", names="MODEL", fix="--help"),
    "no text": bad("explain", "SHARED/bert", names="TEXT", fix="--help"),
    "no model to check": bad("check", names="MODEL", fix="--help"),
    "no corpus": bad("prepare", names="CORPUS", fix="--help"),
    "nothing to unpack": bad("store", "unpack", names="PARTS", fix="--help"),
    "nothing to export": bad("store", "export", names="RUN", fix="--help"),
    "no file to export to": bad("store", "export", "x", "rows", names="--out", fix="--help"),
    "nothing to annotate": bad("annotate", "new", names="MODEL", fix="--help"),
    "a wrong option of gc": bad("store", "gc", "--all", names="--all", fix="--help"),
    "a wrong option of verify": bad("store", "verify", "--fix", names="--fix", fix="--help"),
    "markup for a model": bad(
        "audit", "[bold]x[/bold]", "SHARED/good.csv", names="[bold]x", fix="give"
    ),
}
