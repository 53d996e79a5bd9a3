"""What to cite, schemas, and studies that are registered before they are run."""

from __future__ import annotations

from bad_input.entry import Bad, bad, of_file, spoilt
from bad_input.models import cut

STORE = ("--store", "SHARED/store")
REGISTER = ("replicate", "d.yaml", "--register")
DRAFT = "title: A trial\nstudies:\n  - study: jain2019\n    corpora: planted\n"


def draft(content: str | bytes, names: str, fix: str) -> Bad:
    return of_file("d.yaml", content, *REGISTER, names=names, fix=fix)


def registered(content: str | bytes, names: str, fix: str) -> Bad:
    return of_file("r.json", content, "replicate", "r.json", "-o", "out", names=names, fix=fix)


BAD: dict[str, Bad] = {
    "to cite nothing": bad("cite", names="name runs", fix="--all"),
    "to cite everything and a run": bad("cite", "STUDY_KEY", "--all", names="--all", fix="alone"),
    "to cite a run that is not there": bad(
        "cite", "study-0", *STORE, names="study-0", fix="store ls"
    ),
    "to cite without a store": bad("cite", "study-0", names="heedful-store", fix="--store"),
    "to cite a folder that is no audit": bad(
        "cite", "SHARED/full", names="full", fix="heedful audit"
    ),
    "to cite a way out": bad("cite", "../..", names="../..", fix="heedful audit"),
    "to cite half an audit": spoilt(
        "audit", cut("facts.json"), "cite", "./audit", names="audit", fix="heedful audit"
    ),
    "a schema that is none": bad("schema", "verdcit", names="'verdcit'", fix="did you mean"),
    "a schema that is a way out": bad("schema", "../run", names="'../run'", fix="choose one of"),
    "a schema without a name": bad("schema", "", names="''", fix="choose one of"),
    "no draft": bad("replicate", "none.yaml", "--register", names="none.yaml", fix="write one"),
    "no registration": bad(
        "replicate", "none.json", "-o", "out", names="none.json", fix="--register"
    ),
    "nothing to replicate": bad("replicate", names="SPEC", fix="--help"),
    "an empty draft": draft("", "d.yaml", "name"),
    "a draft that is broken": draft("studies: [", "line 1", "fix"),
    "a draft of other bytes": draft(b"caf\xe9: 1", "d.yaml", "UTF-8"),
    "a draft with an unknown key": draft(DRAFT + "studeis: []\n", "line 5", "did you mean"),
    "a draft of an unknown study": draft(
        DRAFT.replace("jain2019", "jain2020"), "line 3", "did you mean 'jain2019'?"
    ),
    "a draft that is registered already": of_file(
        "d.registered.json",
        "{}",
        "replicate",
        "d.yaml",
        "--register",
        names="d.registered.json",
        fix="never overwritten",
    ),
    "a registration nowhere": of_file(
        "d.yaml", DRAFT, *REGISTER, "-o", "none/r.json", names="none/r.json", fix="a folder that is"
    ),
    "a registration that is no JSON": registered("{nope", "r.json", "--register"),
    "a registration of other bytes": registered(b"\xff\xfe", "r.json", "--register"),
    "a registration of nothing": registered("{}", "r.json", "--register"),
    "a registration that is a list": registered("[]", "r.json", "--register"),
    "a registration too deep": registered("[" * 50_000, "r.json", "--register"),
    "a registration that is a table": bad(
        "replicate", "SHARED/good.csv", "-o", "out", names="good.csv", fix="--register"
    ),
}
