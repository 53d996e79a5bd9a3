"""Options that contradict each other, or that a model or its data have no use for."""

from __future__ import annotations

from bad_input.entry import Bad, World, bad, of_file

AUDIT = ("audit", "SHARED/bert", "SHARED/good.csv")
CHECK = ("check", *AUDIT[1:])
EXPLAIN = ("explain", "SHARED/bert", "good film")
OWN = ("--store", "SHARED/store")
PREPARE = ("prepare", "SHARED/good.csv")
FILE = "text,label,why\n" + "good film,1,[]\nbad plot,0,[]\n" * 9


def twice(*typed: object, names: str) -> Bad:
    return bad(*typed, names=names, fix="once")


def left_out(*typed: object, names: str) -> Bad:
    return bad(*typed, names=names, fix="leave")


def two_berts(world: World) -> None:
    world.copy("bert")


BAD: dict[str, Bad] = {
    "shortcuts beside another part": bad(
        "benchmark", "--part", "shortcuts,trained", names="shortcuts", fix="leave out the other"
    ),
    "shortcuts of so many texts": bad(
        "benchmark", "--part", "shortcuts", "--texts", "50", names="--texts", fix="leave it out"
    ),
    "corpora for models that have their own": bad(
        "benchmark", "--corpora", "sst", names="--corpora", fix="leave it out"
    ),
    "shortcuts in data that nobody gave": bad(
        "benchmark", "--part", "shortcuts", names="no data folder was given", fix="--data-dir"
    ),
    "a MiniLM that is not there": bad(
        *("benchmark", "--part", "shortcuts", "--corpora", "planted", "--models", "minilm"),
        *("--pretrained", "none"),
        names="none",
        fix="give that of MiniLM",
    ),
    "an explanation twice": twice(*EXPLAIN, "--explanations", "lrp,lrp", names="'lrp'"),
    "an explanation twice by its defaults": twice(
        *EXPLAIN, "--explanations", "attention,attention:layer=-1", names="'attention:layer=-1'"
    ),
    "an explanation twice in another order": twice(
        *EXPLAIN,
        "--explanations",
        "attention:layer=0,head=1,attention:head=1,layer=0",
        names="'attention:head=1,layer=0'",
    ),
    "an explanation to audit twice": twice(*AUDIT, "--explanations", "lrp,lrp", names="'lrp'"),
    "instead of the usual and also": twice(
        *AUDIT, "--explanations", "lime", "--also", "lime", names="'lime'"
    ),
    "a usual explanation in other words": twice(
        *AUDIT, "--also", "occlusion:operator=delete", names="'occlusion'"
    ),
    "a parameter twice": twice(
        *EXPLAIN, "--explanations", "lime:samples=10,samples=20", names="'samples'"
    ),
    "a smallest effect twice": twice(
        *AUDIT, "--min-effect", "use=0.5", "--min-effect", "use=0.2", names="--min-effect"
    ),
    "a threshold twice": twice(
        *CHECK, "--at-least", "use=0.5", "--at-least", "use=0.2", names="--at-least"
    ),
    "label words of a classifier": left_out(
        *AUDIT, "--label-words", "a= good,b= bad", names="label_words"
    ),
    "label words of a model of ours": left_out(
        "audit", "MODEL_KEY", *OWN, "--label-words", "a= good,b= bad", names="--label-words"
    ),
    "a template of a classifier": left_out(*EXPLAIN, "--template", "{text}!", names="template"),
    "a template of a model of ours": left_out(
        "explain", "MODEL_KEY", "good film", *OWN, "--template", "{text}!", names="--template"
    ),
    "a label of a model of ours": left_out(
        "audit", "MODEL_KEY", *OWN, "--label", "positive", names="--label"
    ),
    "a split of a file": left_out(*AUDIT, "--split", "train", names="--split"),
    "the usual split of a file": left_out(*AUDIT, "--split", "test", names="--split"),
    "a split of a checked file": left_out(*CHECK, "--split", "dev", names="--split"),
    "a label map without labels": left_out(
        *AUDIT, "--label-column", "none", "--label-map", "0=0,1=1", names="--label-map"
    ),
    "a label map of a writer": left_out(
        "audit", "SHARED/gpt2", *AUDIT[2:], "--label-map", "0=0,1=1", names="--label-map"
    ),
    "a column of text and label": bad(
        *AUDIT, "--label-column", "text", names="'text'", fix="name two columns"
    ),
    "a column of both texts": bad(
        *AUDIT, "--text-b-column", "text", names="text_b_column", fix="name two columns"
    ),
    "plausibility without rationales": bad(
        *AUDIT, "--only", "plausibility", names="plausibility", fix="--rationale-column"
    ),
    "plausibility and more without rationales": bad(
        *AUDIT, "--only", "erasure,plausibility", names="plausibility", fix="--rationale-column"
    ),
    "plausibility to check without rationales": bad(
        *CHECK, "--only", "plausibility", names="plausibility", fix="--rationale-column"
    ),
    "health without erasure": bad(*AUDIT, "--only", "health", names="health", fix="erasure"),
    "health of importance": bad(
        *AUDIT, "--only", "importance,health", names="health", fix="erasure"
    ),
    "an explanation that nothing looks at": left_out(
        *AUDIT, "--only", "interventions", "--also", "lime", names="'lime'"
    ),
    "a seed model of another architecture": left_out(
        *AUDIT, "--seed-model", "SHARED/gpt2", names="gpt2"
    ),
    "a seed model of ours": left_out(
        *AUDIT, "--seed-model", "MODEL_KEY", *OWN, names="Heedful model"
    ),
    "a seed model of theirs": left_out(
        "audit", "MODEL_KEY", "SHARED/good.csv", "--seed-model", "SHARED/bert", *OWN, names="bert"
    ),
    "a seed model that is a corpus": bad(
        *AUDIT, "--seed-model", "CORPUS_KEY", *OWN, names="CORPUS_KEY", fix="of kind model"
    ),
    "a seed model that is the model": twice(*AUDIT, "--seed-model", "SHARED/bert", names="bert"),
    "a seed model by another way": twice(
        *AUDIT, "--seed-model", "SHARED/full/../bert", names="bert"
    ),
    "a seed model twice": Bad(
        (*AUDIT, "--seed-model", "bert", "--seed-model", "./bert"), "bert", "once", two_berts
    ),
    "a limit in two ways": bad(
        "prepare", "planted", "--limit", "40", "--param", "limit=30", names="--limit", fix="one"
    ),
    "a limit of a study in two ways": bad(
        *("study", "jain2019", "--corpora", "planted", "--limit", "40", "--param", "limit=30"),
        names="--limit",
        fix="give one",
    ),
    "a column in two ways": bad(
        *(*PREPARE, "--text-column", "text", "--label-column", "a", "--param", "label_column=b"),
        names="--label-column",
        fix="give one",
    ),
    "a file in two ways": left_out(*PREPARE, "--param", "path=other.csv", names="path"),
    "a split column and a file": of_file(
        "f.csv",
        FILE,
        *("prepare", "f.csv", "--split-column", "why", "--dev", "f.csv"),
        names="split_column",
        fix="not both",
    ),
    "a task that is fixed": left_out("prepare", "toy_copy", "--param", "task=flip", names="'task'"),
    "a seed and seeds": bad(
        *("train", "--corpus", "planted", "--seed", "1", "--seeds", "2"),
        names="--seeds",
        fix="give either",
    ),
    "a dimension of a pretrained model": left_out(
        *("train", "--corpus", "planted", "--pretrained", "SHARED/bert"),
        *("--param", "dimension=50"),
        names="'dimension'",
    ),
    "the same model served twice": bad(
        "serve", "SHARED/bert", "SHARED/bert", names="bert", fix="name another"
    ),
    "the same model served twice by another way": bad(
        "serve", "SHARED/bert", "SHARED/full/../bert", names="bert", fix="name another"
    ),
    "the same run served twice": bad(
        "serve", "MODEL_KEY", "SHARED/store/runs/MODEL_KEY", *OWN, names="MODEL_KEY", fix="another"
    ),
    "top words of a rationale": left_out(
        "annotate", "new", *AUDIT[1:], "--task", "rationale", "--top", "5", names="--top"
    ),
    "merged for Label Studio": left_out(
        *("annotate", "export", "SHARED/rationale.db", "x.json", "--format", "label-studio"),
        *("--merge", "union"),
        names="--merge",
    ),
    "a hash of what is not registered": of_file(
        "d.yaml",
        "studies: [{study: jain2019}]\n",
        *("replicate", "d.yaml", "--register", "--hash", "abc"),
        names="--hash",
        fix="leave it out",
    ),
}
