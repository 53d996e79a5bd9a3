"""Numbers that are none, too large, too small or not finite; times, shards and seeds."""

from __future__ import annotations

from bad_input.entry import Bad, bad

TRAIN = ("train", "--corpus", "planted")
STUDY = ("study", "jain2019", "--corpora", "planted")
AUDIT = ("audit", "SHARED/bert", "SHARED/good.csv")
CHECK = ("check", "SHARED/bert", "SHARED/good.csv")
REPAIR = ("repair", "--corpus", "planted", "--methods", "tying")
EXPLAIN = ("explain", "SHARED/bert", "good film")
PARAM = ("prepare", "planted", "--param")
SWEEP = ("sweep", "SHARED/good.csv")


def refused(*typed: object, fix: str = "") -> Bad:
    """The sentence names the option and what was typed for it."""
    option = next(each for each in reversed(typed) if str(each).startswith("--"))
    return bad(*typed, names=str(option), fix=fix)


def explained(explanation: str, names: str, fix: str) -> Bad:
    return bad(*EXPLAIN, "--explanations", explanation, names=names, fix=fix)


BAD: dict[str, Bad] = {
    "no texts": refused(*AUDIT, "--n", "0", fix="--help"),
    "fewer than no texts": refused(*AUDIT, "--n", "-1", fix="--help"),
    "texts in words": refused(*AUDIT, "--n", "many", fix="integer"),
    "half a text": refused(*AUDIT, "--n", "1.5", fix="integer"),
    "alpha 0": bad(*AUDIT, "--alpha", "0", names="alpha", fix="above 0 and below 0.5"),
    "alpha 1": bad(*AUDIT, "--alpha", "1", names="alpha", fix="above 0 and below 0.5"),
    "alpha 2": bad(*CHECK, "--alpha", "2", names="alpha", fix="above 0 and below 0.5"),
    "alpha below 0": bad(*CHECK, "--alpha", "-0.1", names="alpha", fix="above 0 and below 0.5"),
    "alpha that is no number": bad(*AUDIT, "--alpha", "nan", names="alpha", fix="above 0"),
    "alpha in words": refused(*AUDIT, "--alpha", "small", fix="--help"),
    "a smallest effect of 0": refused(*AUDIT, "--min-effect", "importance=0", fix="above 0"),
    "a smallest effect below 0": refused(*AUDIT, "--min-effect", "importance=-1", fix="above 0"),
    "an endless effect": refused(*AUDIT, "--min-effect", "importance=1e309", fix="finite"),
    "an effect without number": refused(
        *AUDIT, "--min-effect", "importance", fix="property=number"
    ),
    "a threshold without number": refused(
        *CHECK, "--at-least", "importance=", fix="property=number"
    ),
    "a threshold of no number": refused(*CHECK, "--at-least", "importance=nan", fix="finite"),
    "a threshold without a name": bad(*CHECK, "--at-least", "=1", names="''", fix="choose one of"),
    "a budget in parsecs": refused(*AUDIT, "--budget", "5 parsecs", fix="90s, 5min or 2h"),
    "no budget": refused(*AUDIT, "--budget", "0s", fix="90s, 5min or 2h"),
    "a budget below 0": refused(*AUDIT, "--budget", "-5min", fix="90s, 5min or 2h"),
    "a budget without a unit": refused(*AUDIT, "--budget", "300", fix="90s, 5min or 2h"),
    "an empty budget": refused(*AUDIT, "--budget", "", fix="90s, 5min or 2h"),
    "an endless budget": refused(*AUDIT, "--budget", "9" * 400 + "h", fix="90s, 5min or 2h"),
    "threads of 0": refused(*AUDIT, "--threads", "0", fix="from 1 to"),
    "too many threads": refused(*TRAIN, "--threads", "99999", fix="from 1 to"),
    "a seed below 0": refused(*TRAIN, "--seed", "-1", fix="--help"),
    "a seed too large": refused(*AUDIT, "--seed", str(2**32), fix="--help"),
    "a seed of no number": refused("demo", "--seed", "nan", fix="integer"),
    "seeds of a benchmark": refused("benchmark", "--seeds", "1e3", fix="give a count (3)"),
    "no seeds": refused(*STUDY, "--seeds", "0", fix="from 1 to"),
    "seeds of nothing": refused(*STUDY, "--seeds", "", fix="give a count (3) or a list"),
    "seeds of a comma": refused(*STUDY, "--seeds", ",", fix="one comma"),
    "seeds twice": refused(*STUDY, "--seeds", "1,1", fix="each once"),
    "seeds twice in other spellings": refused(*STUDY, "--seeds", "1,01", fix="each once"),
    "seeds in words": refused(*TRAIN, "--seeds", "two", fix="give a count (3) or a list"),
    "seeds below 0": refused(*TRAIN, "--seeds", "1,-2", fix="go from 0"),
    "too many seeds": refused(*REPAIR, "--seeds", "9" * 12, fix="from 1 to"),
    "a seed of too many digits": refused(*STUDY, "--seeds", "0," + "9" * 5000, fix="list"),
    "a shard after the last": refused(*STUDY, "--shard", "3/2", fix="i from 1 to n"),
    "a shard of nothing": refused(*STUDY, "--shard", "0/0", fix="i from 1 to n"),
    "the shard before the first": refused(*STUDY, "--shard", "0/2", fix="i from 1 to n"),
    "a shard in words": refused(*STUDY, "--shard", "one", fix="i/n"),
    "an empty shard": refused(*STUDY, "--shard", "", fix="i/n"),
    "a shard below 0": refused(*STUDY, "--shard", "-1/2", fix="i/n"),
    "no workers": refused(*STUDY, "--engine", "local", "--workers", "0", fix="from 1 to"),
    "workers below 0": refused(*STUDY, "--engine", "local", "--workers", "-3", fix="from 1 to"),
    "workers without an engine": refused(*STUDY, "--workers", "2", fix="add --engine"),
    "a part of a card that is none": refused(*STUDY, "--gpu-fraction", "nan", fix="above 0"),
    "a batch of nothing": refused(*STUDY, "--batch-size", "0", fix="at least 1"),
    "no epochs": refused(*TRAIN, "--epochs", "0", fix="at least 1"),
    "epochs below 0": refused(*STUDY, "--epochs", "-2", fix="at least 1"),
    "epochs in words": refused(*TRAIN, "--epochs", "many", fix="integer"),
    "a limit of 0": refused(*TRAIN, "--limit", "0", fix="--help"),
    "layers of 0": refused(*TRAIN, "--layers", "0", fix="1, 2 or 3"),
    "too many layers": refused(*TRAIN, "--layers", "9", fix="1, 2 or 3"),
    "an odd size": refused(*TRAIN, "--hidden", "7", fix="even"),
    "a size of 0": refused(*TRAIN, "--hidden", "0", fix="give"),
    "a huge size": refused(*TRAIN, "--hidden", "10000000000", fix="give"),
    "a rate of 0": refused(*TRAIN, "--learning-rate", "0", fix="above 0"),
    "a rate below 0": refused(*TRAIN, "--learning-rate", "-1", fix="above 0"),
    "an endless rate": refused(*TRAIN, "--learning-rate", "1e309", fix="above 0"),
    "a rate that is no number": refused(*REPAIR, "--learning-rate", "nan", fix="above 0"),
    "dropout of 1": refused(*TRAIN, "--dropout", "1", fix="below 1"),
    "a clip below 0": refused(*TRAIN, "--clip", "-1", fix="above 0"),
    "an endless clip": refused(*TRAIN, "--clip", "inf", fix="above 0"),
    "patience of 0": refused(*TRAIN, "--patience", "0", fix="at least 1"),
    "a training batch of 0": refused(*TRAIN, "--train-batch", "0", fix="at least 1"),
    "a weight of no number": refused(*TRAIN, "--term", "tying=heavy", fix="name=weight"),
    "an endless weight": refused(*TRAIN, "--term", "tying=inf", fix="not negative"),
    "a weight below 0": refused(*TRAIN, "--term", "tying=-1", fix="not negative"),
    "a share above 1": refused(*REPAIR, "--max-score-drop", "2", fix="from 0 to below 1"),
    "a share that is no number": refused(
        *REPAIR, "--max-score-drop", "nan", fix="from 0 to below 1"
    ),
    "texts to repair with": refused(*REPAIR, "--n", "0", fix="--help"),
    "a warm-up above 1": bad(
        *TRAIN, "--pretrained", "SHARED/bert", "--warmup", "2", names="warm-up", fix="below 1"
    ),
    "a decay below 0": refused(
        *TRAIN, "--pretrained", "SHARED/bert", "--weight-decay", "-1", fix="not be negative"
    ),
    "a length of 0": refused(*AUDIT, "--max-length", "0", fix="at least 3"),
    "a length below 0": refused(*EXPLAIN, "--max-length", "-4", fix="at least 3"),
    "one word of a pair": bad(*EXPLAIN, "--pairs", "1", names="pairs is 1", fix="give 2 or more"),
    "too many pairs": refused(*EXPLAIN, "--pairs", "21", fix="--help"),
    "a parameter below 0": bad(*PARAM, "n_train=-5", names="n_train", fix="from 1 to"),
    "a parameter in words": bad(*PARAM, "n_train=many", names="'n_train'", fix="give a value like"),
    "a parameter of nothing": bad(*PARAM, "n_train=none", names="'n_train'", fix="give a value"),
    "a parameter of no number": bad(
        *PARAM, "dev_fraction=nan", names="'dev_fraction'", fix="give a value like"
    ),
    "a share of all texts": bad(*PARAM, "dev_fraction=1", names="dev_fraction", fix="give"),
    "an endless parameter": bad(*PARAM, "dev_fraction=1e309", names="'dev_fraction'", fix="give"),
    "a dimension of 0": bad(*PARAM, "dimension=0", names="'dimension'", fix="from 1 to"),
    "too many dimensions": bad(
        *PARAM, "dimension=99999999999", names="'dimension'", fix="to 4,096"
    ),
    "a number of too many digits": bad(
        *PARAM, "n_train=" + "9" * 5000, names="'n_train'", fix="give a value like"
    ),
    "no texts of a corpus": bad(*PARAM, "n_train=0", names="n_train", fix="from 1 to"),
    "a length that leaves nothing": bad(
        *PARAM, "min_length=1000", names="min_length", fix="at least"
    ),
    "too many texts of a corpus": bad(
        *PARAM, f"n_train={10**9}", names="'n_train'", fix="from 1 to 1,000,000"
    ),
    "too many texts to translate": bad(
        "prepare", "toy_copy", "--param", f"n_dev={10**9}", names="'n_dev'", fix="from 0 to"
    ),
    "texts without an end": bad(
        *PARAM, f"max_length={10**9}", names="'max_length'", fix="from 1 to 10,000"
    ),
    "sentences without an end": bad(
        *PARAM, f"distractors={10**9}", names="'distractors'", fix="from 0 to 100"
    ),
    "a yes of a parameter": bad(
        *PARAM, "shared_words=1", names="'shared_words'", fix="a value like False"
    ),
    "a seed beyond 64 bits": bad(*PARAM, f"seed={2**70}", names="'seed'", fix="from 0 to"),
    "a limit beyond 64 bits": refused(*TRAIN, "--limit", str(2**70), fix="--help"),
    "texts beyond 64 bits": refused(*AUDIT, "--n", str(2**70), fix="--help"),
    "a length beyond 64 bits": refused(*EXPLAIN, "--max-length", str(2**70), fix="--help"),
    "a list of samples": explained("lime:samples=[1,2]", "'samples'", "from 2 to 100,000"),
    "a list of one sample": explained("lime:samples=[1]", "'samples'", "from 2 to 100,000"),
    "a table of samples": explained("lime:samples={[1]:2}", "'samples'", "from 2 to 100,000"),
    "samples without an end": explained(f"lime:samples={10**9}", "'samples'", "to 100,000"),
    "subsets without an end": explained(f"kernel_shap:samples={10**9}", "'samples'", "to 100,000"),
    "noise without an end": explained(f"smoothgrad:samples={10**9}", "'samples'", "to 10,000"),
    "steps without an end": explained(
        f"integrated_gradients:max_steps={10**9}", "'max_steps'", "to 4,096"
    ),
    "a seed of an explanation beyond 64 bits": explained(f"lime:seed={2**70}", "'seed'", "from 0"),
    "a layer beyond 64 bits": explained(f"attention:layer={2**70}", "'layer'", "a value like -1"),
    "a number beyond all": explained("lrp:epsilon=1" + "0" * 400, "'epsilon'", "of 0 or more"),
    "a tolerance below 0": explained("lrp:epsilon=-1", "'epsilon'", "of 0 or more"),
    "a head of a term": bad(
        *(*TRAIN, "--term", "supervised", "--term-param", f"supervised.head={10**9}"),
        names="'head'",
        fix="from 0 to",
    ),
    "no texts for a benchmark": refused("benchmark", "--texts", "0", fix="--help"),
    "too many texts for a benchmark": refused("benchmark", "--texts", str(10**9), fix="--help"),
    "a benchmark of no seeds": refused("benchmark", "--seeds", "0", fix="count"),
    "development seeds held out": refused(
        "benchmark", "--held-out", "--seeds", "3,4", fix="--held-out"
    ),
    "too many words of a page": refused("serve", "SHARED/bert", "--words", str(10**12), fix="100"),
    "too many that wait": refused("serve", "SHARED/bert", "--waiting", str(10**12), fix="--help"),
    "too many seconds": refused("serve", "SHARED/bert", "--seconds", "1e12", fix="--help"),
    "pages of fewer than no texts": refused(
        "report", "STUDY_KEY", "--store", "SHARED/store", "--examples", "-1", fix="--help"
    ),
    "parts of nothing": refused(
        "store", "pack", "--store", "SHARED/store", "--max-mb", "0", fix="from 0.001"
    ),
    "parts that are no number": refused(
        "store", "pack", "--store", "SHARED/store", "--max-mb", "nan", fix="from 0.001"
    ),
    "items of no text": refused("annotate", "new", *AUDIT[1:], "--n", "0", fix="--help"),
    "more items than texts": bad(
        "annotate", "new", *AUDIT[1:], "--n", "500", names="6 texts", fix="lower --n"
    ),
    "too many words": refused("annotate", "new", *AUDIT[1:], "--top", "51", fix="--help"),
    "no annotators": refused(
        "annotate", "invite", "SHARED/rationale.db", "--annotators", "0", fix="--help"
    ),
    "a seed to compare": refused("compare", "SHARED/audit", "--seed", "-1", fix="--help"),
    "words of a page": refused("serve", "SHARED/bert", "--words", "0", fix="--help"),
    "seconds of a page": refused("serve", "SHARED/bert", "--seconds", "0", fix="--help"),
    "seconds that are no number": refused("serve", "SHARED/bert", "--seconds", "nan", fix="--help"),
    "those who wait": refused("serve", "SHARED/bert", "--waiting", "-1", fix="--help"),
    "threads of a sweep": refused(*SWEEP, "--threads", "x", fix="integer"),
    "doctor in numbers": bad("doctor", "7", names="7", fix="--help"),
}
