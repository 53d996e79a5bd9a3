"""`heedful audit`, `explain` and `check`: what they say, and that bad input is one sentence."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
import torch

from heedful.auditing import Audit, Measurer
from heedful.cli import audit as audit_verb
from heedful.store import Store

pytest.importorskip("transformers")

from tiny_hf import tiny_hf
from tiny_tokenizers import byte_pairs, saved, word_pieces
from verbs import run

auditing = import_module("heedful.auditing.audit")
audit_options = import_module("heedful.auditing.options")


WORDS = [
    "good", "bad", "film", "the", "a", "is", "very", "not", "unlike", "story", "plot", "it", "was",
    "great", "dull",
]  # fmt: skip
FAST = ["--quick", "--explanations", "attention"]
LEAST = [*FAST, "--only", "interventions"]


def table(rows: int = 6, **columns: Callable[[int], Any]) -> pd.DataFrame:
    given = {"text": lambda i: " ".join(WORDS[i % 9 : i % 9 + 4]), "label": lambda i: i % 2}
    made = {**given, **columns}
    return pd.DataFrame({name: [make(i) for i in range(rows)] for name, make in made.items()})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models and data, good and bad, that no test changes."""
    here = tmp_path_factory.mktemp("world")
    saved(here / "bert")
    saved(here / "gpt2", byte_pairs(), name="GPT2", task="language", vocab_size=300)
    _bad_models(here)
    _data(here)
    return here


def _bad_models(here: Path) -> None:
    model = tiny_hf()
    with torch.no_grad():
        model.bert.encoder.layer[0].output.dense.weight[0, 0] = torch.nan
    model.save_pretrained(here / "nan")
    word_pieces().save_pretrained(here / "nan")
    saved(here / "own", name="Funnel")
    shutil.copytree(here / "bert", here / "pickle")
    (here / "pickle" / "model.safetensors").rename(here / "pickle" / "pytorch_model.bin")
    shutil.copytree(here / "bert", here / "remote")
    config = json.loads((here / "bert" / "config.json").read_text())
    remote = {**config, "model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}}
    (here / "remote" / "config.json").write_text(json.dumps(remote))
    (here / "remote" / "mine.py").write_text("raise SystemExit('code of a model was run')\n")
    (here / "nothing").mkdir()


def _data(here: Path) -> None:
    table().to_csv(here / "good.csv", index=False)
    table(label=lambda i: ["pos", "neg"][i % 2]).to_csv(here / "named.csv", index=False)
    table(text=lambda i: " ").to_csv(here / "blank.csv", index=False)
    table(id=lambda i: i // 2).to_csv(here / "twice.csv", index=False)
    table(why=lambda i: "[[0, 999]]").to_csv(here / "spans.csv", index=False)
    table(label=lambda i: None).to_csv(here / "unlabelled.csv", index=False)
    table().to_csv(here / "unknown.xyz", index=False)
    (here / "noise.csv").write_bytes(bytes(range(256)) * 20)
    (here / "noise.parquet").write_bytes(bytes(range(256)) * 20)
    (here / "half.jsonl").write_text('{"text": "good \\ud83d film", "label": 1}\n')
    (here / "numbers.jsonl").write_text('{"text": 5, "label": 1}\n')
    (here / "empty.csv").write_text("")
    (here / "verdict.json").write_text("{}")
    (here / "latin.json").write_bytes(b"caf\xe9")
    (here / "full").mkdir()
    (here / "full" / "x").write_text("x")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    monkeypatch.delenv("HEEDFUL_STORE", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_an_audit_from_the_command_line(
    capsys: pytest.CaptureFixture[str], world: Path, tmp_path: Path
) -> None:
    pytest.importorskip("jinja2")
    given = ["audit", world / "bert", world / "good.csv", *FAST, "--card", "card.md"]
    code, out, err = run(capsys, *given, "-o", "out")
    assert code == 0, err
    assert re.match(r"(INCONCLUSIVE|NOT SUPPORTED|NOT NEEDED|SUPPORTED): ", out)
    assert "Which words matter: " in out and "Warning: too few examples: 6" in out
    assert err == f"page: {Path('out') / 'page.html'}\n"
    found = Audit.load(tmp_path / "out")
    assert out.splitlines()[0] == f"{found.verdict.decision}: {found.verdict.headline}"
    assert (tmp_path / "out" / "page.html").read_text(encoding="utf8").startswith("<!doctype")
    assert (tmp_path / "card.md").read_text(encoding="utf8").startswith("#")
    (key,) = Store(tmp_path / "heedful-store").keys()
    assert key == found.facts["key"] and key.startswith("audit-")
    assert not list((tmp_path / "heedful-store" / "scratch").iterdir())
    code, out, _ = run(capsys, "store", "ls")
    what = f"{found.facts['model']} on {found.facts['data']}, {found.facts['measured']} examples"
    assert code == 0 and f"{key}  {found.verdict.answer}: {what}, 20" in out
    assert run(capsys, "store", "verify")[0] == 0
    code, out, _ = run(capsys, "compare", "out", "--operator", "delete")
    assert code == 0 and re.search(r"^explanation +out$", out, re.M) and "|" not in out
    code, out, _ = run(capsys, "compare", "out", "--operator", "delete", "--markdown")
    assert code == 0 and out.splitlines()[2:4] == ["| explanation | out |", "|---|---|"]
    code, _, err = run(capsys, *given, "-o", "out")
    assert code == 0 and err.startswith("page: ")  # the same command again: the same files
    (tmp_path / "out" / "page.html").write_text("mine")
    code, _, err = run(capsys, *given, "-o", "out")
    assert code == 2 and "out is there already" in err
    code, out, _ = run(capsys, *given, "--json")
    assert code == 0 and json.loads(out)["verdict"]["digest"] == found.verdict.digest
    code, _, err = run(capsys, "explain", key, "good film")
    assert code == 2 and f"{key} is of kind audit: give a run of kind model" in err


def test_plausibility_alone_and_no_labels(capsys: pytest.CaptureFixture[str], world: Path) -> None:
    table(why=lambda i: "[[0, 2]]").to_csv("why.csv", index=False)
    options = [*FAST, "--only", "plausibility", "--rationale-column", "why"]
    code, out, _ = run(capsys, "audit", world / "bert", "why.csv", *options, "--json")
    said = {each["property"]: each for each in json.loads(out)["verdict"]["statements"]}
    assert code == 0 and said["plausibility"]["estimate"] is not None
    assert said["importance"]["decision"] == said["agreement"]["decision"] == "NOT MEASURED"
    given = ["audit", world / "bert", world / "good.csv", *LEAST, "--label-column", "none"]
    code, out, _ = run(capsys, *given)
    assert code == 0 and "Warning: no labels" in out


def test_label_words_pairs_and_markup(capsys: pytest.CaptureFixture[str], world: Path) -> None:
    asked = ["--label-words", "1= good,0= bad", "--template", "{text} is"]
    code, _, err = run(capsys, "audit", world / "gpt2", world / "good.csv", *LEAST, *asked)
    assert code == 0, err
    names = {0: "[bold]no[/bold]", 1: "<b>yes</b>"}
    saved(Path("marked"), id2label=names, label2id={v: k for k, v in names.items()})
    table(label=lambda i: names[i % 2], b=lambda i: "a good plot").to_csv("b.csv", index=False)
    code, out, err = run(capsys, "audit", "marked", "b.csv", *LEAST, "--text-b-column", "b")
    assert code == 0, err
    code, out, _ = run(capsys, "explain", "marked", "a film", "--of", "[bold]no[/bold]")
    assert code == 0 and "explained: probability of [bold]no[/bold] (probability " in out


def test_what_decides_can_be_declared(capsys: pytest.CaptureFixture[str], world: Path) -> None:
    table(who=lambda i: f"author {i % 3}").to_csv("who.csv", index=False)
    given = ["audit", world / "bert", "who.csv", *LEAST, "--json"]
    asked = ["--alpha", "0.01", "--min-effect", "importance=0.4", "--min-effect", "agreement=0.3"]
    code, out, err = run(capsys, *given, *asked, "--cluster-column", "who", "-o", "out")
    assert code == 0, err
    settings = json.loads(out)["verdict"]["settings"]
    assert settings["alpha"] == 0.01 and settings["effects"]["use"] == 0.02
    assert (settings["effects"]["importance"], settings["effects"]["agreement"]) == (0.4, 0.3)
    assert set(Audit.load("out").rows["cluster"]) == {"author 0", "author 1", "author 2"}
    plain = json.loads(run(capsys, *given)[1])["verdict"]
    assert (
        plain["settings"]["alpha"] == 0.05
        and plain["digest"] != json.loads(out)["verdict"]["digest"]
    )


def test_a_dry_run_leaves_nothing(
    capsys: pytest.CaptureFixture[str], world: Path, tmp_path: Path
) -> None:
    given = ["audit", world / "bert", world / "good.csv", *LEAST, "--dry-run"]
    code, out, _ = run(capsys, *given)
    assert code == 0 and out.startswith("6 texts, 3 explanations, 2 removal operators\n")
    code, out, _ = run(capsys, *given, "--json")
    found = json.loads(out)
    assert found["dry_run"] and found["texts"] == 6 and found["seconds"] > 0
    assert not list(tmp_path.iterdir())


def test_a_budget_says_how_many_texts(
    capsys: pytest.CaptureFixture[str], world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functools import partial

    from heedful.auditing import waves

    monkeypatch.setattr(auditing, "waves", partial(waves, wave=2))
    monkeypatch.setattr(audit_options, "seconds", lambda time: 1e-9)
    code, out, _ = run(
        capsys, "audit", world / "bert", world / "good.csv", *LEAST, "--budget", "1s"
    )
    assert code == 0 and "Note: stopped early: 2 of 6 texts were measured (--all" in out
    assert not Store("heedful-store").keys()


@pytest.mark.parametrize(
    ("text", "wanted"), [("90s", 90), ("5min", 300), ("1.5h", 5400), (" 2 s ", 2), (2.5, 2.5)]
)
def test_budgets(text: str | float, wanted: float) -> None:
    assert audit_options.seconds(text) == wanted


def test_a_killed_command_goes_on(
    capsys: pytest.CaptureFixture[str], world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["audit", world / "bert", world / "good.csv", *LEAST, "-o", "out"]
    whole = Measurer.__call__

    def killed(self: Measurer, *rest: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Measurer, "__call__", killed)
    code, _, err = run(capsys, *given)
    assert code == 130 and "the same command resumes" in err
    assert err.strip().count("\n") == 0 and not Path("out").exists()
    monkeypatch.setattr(Measurer, "__call__", whole)
    assert run(capsys, *given)[0] == 0 and Path("out", "verdict.json").is_file()


# --- explain


def test_explain_scores_every_word(capsys: pytest.CaptureFixture[str], world: Path) -> None:
    given = ["explain", world / "bert", "a very good film", "--explanations"]
    code, out, _ = run(capsys, *given, "attention:layer=0,head=1,occlusion")
    assert code == 0
    assert out.splitlines()[0] in ("predicted: LABEL_0", "predicted: LABEL_1")
    names = [line for line in out.splitlines() if line.startswith(("attention", "occlusion"))]
    assert names == ["attention:layer=0,head=1", "occlusion"]
    assert [line.split()[0] for line in out.splitlines()[4:8]] == ["a", "very", "good", "film"]
    code, out, _ = run(capsys, *given, "attention,prior,random", "--json")
    found = json.loads(out)
    assert found["words"] == ["a", "very", "good", "film"]
    assert {len(scores) for scores in found["scores"].values()} == {4}
    code, out, _ = run(
        capsys, "explain", world / "bert", "good film", "--text-b", "a plot", "--json"
    )
    assert json.loads(out)["words"] == ["good", "film", "a", "plot"]


def test_explain_a_class_by_name(capsys: pytest.CaptureFixture[str], world: Path) -> None:
    given = ["explain", world / "bert", "a very good film", "--explanations", "gradient_input"]
    both = [run(capsys, *given, "--of", f"LABEL_{i}", "--json")[1] for i in (0, 1)]
    first, second = (json.loads(out) for out in both)
    assert first["probability"] + second["probability"] == pytest.approx(1)
    assert first["predicted"] == second["predicted"]
    one, other = (each["scores"]["gradient_input"] for each in (first, second))
    assert one == pytest.approx([-score for score in other], abs=1e-6)
    code, out, err = run(capsys, *given, "--of", "positive")
    assert (code, out) == (2, "")
    assert "no class 'positive': choose one of LABEL_0, LABEL_1" in err


def test_pairs_of_words_are_what_four_removals_give(
    capsys: pytest.CaptureFixture[str], world: Path
) -> None:
    given = ["explain", world / "bert", "a very good film", "--explanations", "occlusion"]
    code, out, _ = run(capsys, *given, "--pairs", "3", "--json")
    found = json.loads(out)["interactions"]
    assert code == 0 and len(found) == 3
    sizes = [abs(value) for _, _, value in found]
    assert sizes == sorted(sizes, reverse=True)
    assert all(one != other for one, other, _ in found)
    assert "together" in run(capsys, *given, "--pairs", "3")[1]
    assert "together" not in run(capsys, *given)[1]


def test_words_that_were_cut_off_say_so(capsys: pytest.CaptureFixture[str], world: Path) -> None:
    given = ["explain", world / "bert", "a very good film", "--max-length", "4"]
    code, out, _ = run(capsys, *given, "--explanations", "attention")
    assert code == 0 and out.count("(2 words cut off)") == 1
    assert json.loads(run(capsys, *given, "--json")[1])["scores"]["attention"][2:] == [None] * 2


# --- check


def test_check_passes_fails_and_refuses(
    capsys: pytest.CaptureFixture[str], world: Path, tmp_path: Path
) -> None:
    given = ["check", world / "bert", world / "good.csv", "--quick", "--n", "3"]
    code, out, err = run(capsys, *given, "--write-baseline", "base.json", "--junit", "junit.xml")
    assert code == 0 and out.startswith("ok      overall"), err
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert suite.get("failures") == "0" and len(suite) == int(suite.get("tests", "0")) == 1
    code, out, _ = run(capsys, *given, "--at-least", "use=2", "--junit", "junit.xml")
    assert code == 1 and "FAILED  use at least 2" in out
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert suite.get("failures") == "1" and suite.find(".//failure") is not None
    code, out, _ = run(capsys, *given, "--baseline", "base.json", "--json")
    names = [each["name"] for each in json.loads(out)["outcomes"]]
    assert code == 0 and "importance no worse than it was" in names
    for other in (["--seed", "1"], []):
        changed = [*given, *other] if other else [each for each in given if each != "--quick"]
        code, out, err = run(capsys, *changed, "--baseline", "base.json")
        assert (code, out) == (2, "") and "was made with other settings" in err
    kept = json.loads(Path("base.json").read_text(encoding="utf8"))
    Path("base.json").write_text(json.dumps({**kept, "digest": "0" * 16}), encoding="utf8")
    code, out, err = run(capsys, *given, "--baseline", "base.json")
    assert (code, out) == (2, "") and "was made with other settings" in err


def test_operators_that_are_the_same_to_the_model_are_no_other_settings(
    capsys: pytest.CaptureFixture[str], world: Path
) -> None:
    """A GPT-2 has no mask token: mask and unk are one operator."""
    given = ["check", world / "gpt2", world / "good.csv", *LEAST, "--n", "2"]
    given += ["--label-words", "1= good,0= bad", "--perturbations"]
    code, _, err = run(capsys, *given, "delete,mask,unk", "--write-baseline", "base.json")
    assert code == 0, err
    for same in ("delete,mask,unk", "delete,mask"):
        code, _, err = run(capsys, *given, same, "--baseline", "base.json")
        assert code == 0, err
    code, out, err = run(capsys, *given, "mask,zero", "--baseline", "base.json")
    assert (code, out) == (2, "") and "was made with other settings" in err


def test_check_takes_what_an_audit_takes(capsys: pytest.CaptureFixture[str], world: Path) -> None:
    both = [inspect.signature(each).parameters for each in (audit_verb.audit, audit_verb.check)]
    ours = {"out", "card", "every", "budget", "seed_model", "by_token", "dry_run"}
    ours |= {"reader", "goal"}
    assert set(both[0]) - set(both[1]) == ours
    assert {"label", "label_words", "template", "dtype", "rationale_column"} < set(both[1])
    table(why=lambda i: "[[0, 2]]").to_csv("why.csv", index=False)
    asked = ["--label-words", "1= good,0= bad", "--template", "{text} is", "--dtype", "float64"]
    given = ["check", world / "gpt2", "why.csv", *FAST, "--only", "plausibility,interventions"]
    wanted = ["--rationale-column", "why", "--at-least", "plausibility=-1", "--alpha", "0.1"]
    code, out, err = run(capsys, *given, *asked, *wanted, "--write-baseline", "base.json")
    assert code == 0 and "ok      plausibility at least -1" in out, err
    code, out, err = run(capsys, *given, *asked, *wanted[:-1], "0.2", "--baseline", "base.json")
    assert (code, out) == (2, "") and "was made with other settings" in err


# --- bad input


AUDIT = ["audit", "WORLD/bert", "WORLD/good.csv"]
CHECK = ["check", "WORLD/bert", "WORLD/good.csv", "--quick"]
EXPLAIN = ["explain", "WORLD/bert", "good film"]
BAD: dict[str, tuple[list[str], str]] = {
    "no data": (["audit", "WORLD/bert"], "there are no texts"),
    "label column missing": ([*AUDIT, "--label-column", "stars"], "its columns are text, label"),
    "text column missing": ([*AUDIT, "--text-column", "review"], "its columns are text, label"),
    "text column of numbers": (
        ["audit", "WORLD/bert", "WORLD/numbers.jsonl"],
        "row 1 of numbers.jsonl has no text in column 'text', but a int",
    ),
    "pair column missing": ([*AUDIT, "--text-b-column", "b"], "no column 'b'"),
    "id column missing": ([*AUDIT, "--id-column", "b"], "no column 'b'"),
    "other labels": (
        ["audit", "WORLD/bert", "WORLD/named.csv"],
        "the data has 'neg', 'pos', the model has 'LABEL_0', 'LABEL_1'",
    ),
    "a map that leads nowhere": (
        ["audit", "WORLD/bert", "WORLD/named.csv", "--label-map", "pos=YES,neg=NO"],
        "does not lead from the data's labels",
    ),
    "a map that is none": ([*AUDIT, "--label-map", "pos"], "write name=value,name=value"),
    "no labels in rows": (["audit", "WORLD/bert", "WORLD/unlabelled.csv"], "has no label"),
    "attention that pools": (
        ["audit", "WORLD/own", "WORLD/good.csv", *LEAST], "does not weigh each token"
    ),
    "not a number": (["audit", "WORLD/nan", "WORLD/good.csv"], "is not a number"),
    "explain not a number": (["explain", "WORLD/nan", "good film"], "is not a number"),
    "pickle": (["audit", "WORLD/pickle", "WORLD/good.csv"], "pickle file"),
    "a pickle by name": (["audit", "WORLD/x.pt", "WORLD/good.csv"], "pickle file"),
    "remote code": (["audit", "WORLD/remote", "WORLD/good.csv"], "trust_remote_code"),
    "unreachable": (["audit", "nobody/nothing", "WORLD/good.csv"], "could not be had"),
    "no such folder": (["audit", "./none", "WORLD/good.csv"], "there is no folder"),
    "an empty folder": (["audit", "WORLD/nothing", "WORLD/good.csv"], "no config.json"),
    "a file for a model": (["audit", "WORLD/good.csv", "WORLD/good.csv"], "is a file"),
    "no such run": (["audit", "model-0123456789abcdef"], "name the store"),
    "all texts blank": (["audit", "WORLD/bert", "WORLD/blank.csv"], "check the text column"),
    "data a folder": (["audit", "WORLD/bert", "WORLD/full"], ""),
    "data missing": (["audit", "WORLD/bert", "WORLD/none.csv"], "none.csv"),
    "data of unknown kind": (["audit", "WORLD/bert", "WORLD/unknown.xyz"], "unknown.xyz"),
    "binary data": (["audit", "WORLD/bert", "WORLD/noise.csv"], "noise.csv"),
    "binary parquet": (["audit", "WORLD/bert", "WORLD/noise.parquet"], "noise.parquet"),
    "empty data": (["audit", "WORLD/bert", "WORLD/empty.csv"], "empty"),
    "half a character": (["audit", "WORLD/bert", "WORLD/half.jsonl"], "line 1 of"),
    "explain half a character": (["explain", "WORLD/bert", "good \ud83d"], "half of a"),
    "unknown corpus": (["audit", "WORLD/bert", "imbd"], "unknown corpus 'imbd'"),
    "ids twice": (["audit", "WORLD/bert", "WORLD/twice.csv", "--id-column", "id"], "ids occur"),
    "span outside": (
        ["audit", "WORLD/bert", "WORLD/spans.csv", "--rationale-column", "why"],
        "[0, 999)",
    ),
    "no texts": ([*AUDIT, "--n", "0"], "--n"),
    "unknown explanation": ([*AUDIT, "--explanations", "magic"], "effective_attention, "),
    "unknown parameter": (
        [*AUDIT, "--explanations", "attention:depth=1"],
        "parameter of explanation attention",
    ),
    "parameter in words": ([*AUDIT, "--also", "attention:layer=top"], "give a value like -1"),
    "unknown layer": ([*AUDIT, *LEAST[:-3], "attention:layer=9"], "choose one from 0 to 1"),
    "unknown head": ([*AUDIT, *LEAST[:-3], "attention:head=99"], "choose one from 0 to 1"),
    "empty name": ([*AUDIT, "--also", "lime,,lrp"], "separate names by one comma"),
    "unknown operator": ([*AUDIT, "--perturbations", "burn,delete"], "choose one of"),
    "one operator": ([*AUDIT, "--perturbations", "delete"], "at least two"),
    "operator twice": ([*AUDIT, "--perturbations", "delete,delete"], "twice"),
    "unknown inner operator": ([*AUDIT, "--also", "occlusion:operator=burn"], "unknown"),
    "unknown group": ([*AUDIT, "--only", "magic"], "choose one of agreement"),
    "alpha too large": ([*AUDIT, "--alpha", "0.7"], "above 0 and below 0.5"),
    "alpha in words": ([*AUDIT, "--alpha", "small"], "--alpha"),
    "smallest unknown": ([*AUDIT, "--min-effect", "beauty=1"], "choose one of agreement, baseline"),
    "smallest of what is reported": ([*AUDIT, "--min-effect", "stability=1"], "choose one of"),
    "smallest no number": ([*AUDIT, "--min-effect", "importance"], "write property=number"),
    "smallest nan": ([*AUDIT, "--min-effect", "importance=nan"], "finite"),
    "smallest nothing": ([*AUDIT, "--min-effect", "importance=0", "--dry-run"], "above 0"),
    "cluster column missing": ([*AUDIT, "--cluster-column", "who"], "no column 'who'"),
    "check, alpha too large": ([*CHECK, "--alpha", "0.5"], "above 0 and below 0.5"),
    "check, a label of none": ([*CHECK, "--label", "x"], "leave label out"),
    "out is full": ([*AUDIT, "-o", "WORLD/full"], "is there already"),
    "out is a file": ([*AUDIT, "-o", "WORLD/good.csv"], "is there already"),
    "out below a file": ([*AUDIT, "-o", "WORLD/good.csv/out"], "can"),
    "out where nothing can be": ([*AUDIT, "-o", "/proc/heedful/out"], "cannot be written"),
    "card where nothing is": ([*AUDIT, "--card", "none/card.md"], "a folder that is there"),
    "card is a folder": ([*AUDIT, "--card", "WORLD/full"], "cannot be written"),
    "store is a file": ([*AUDIT, "--store", "WORLD/good.csv"], "is a file"),
    "long label words": (
        ["audit", "WORLD/gpt2", "WORLD/good.csv", "--label-words", "1= wonderful,0= bad"],
        "tokens",
    ),
    "one label word": (
        ["audit", "WORLD/gpt2", "WORLD/good.csv", "--label-words", "1= good"],
        "at least two",
    ),
    "label words of a classifier": ([*AUDIT, "--label-words", "1= a,0= b"], "leave them out"),
    "template without text": ([*AUDIT, "--template", "It was"], "must hold {text} once"),
    "template of a classifier": ([*AUDIT, "--template", "{text}!"], "leave it out"),
    "a label of none": ([*AUDIT, "--label", "x"], "leave label out"),
    "no threads": ([*AUDIT, "--threads", "0"], "--threads is 0"),
    "too many threads": ([*AUDIT, "--threads", "99999"], "--threads is 99999"),
    "soon": ([*AUDIT, "--budget", "soon"], "90s, 5min or 2h"),
    "no time": ([*AUDIT, "--budget", "0s"], "90s, 5min or 2h"),
    "unknown device": ([*AUDIT, "--device", "tpu"], "unknown device"),
    "unknown dtype": ([*AUDIT, "--dtype", "int8"], "unknown dtype"),
    "too short": ([*AUDIT, "--max-length", "2"], "at least 3"),
    "negative seed": ([*AUDIT, "--seed", "-1"], "--seed"),
    "data dir missing": ([*AUDIT, "--data-dir", "none"], "--data-dir"),
    "a parameter of no corpus": (["audit", "WORLD/bert", "planted", "--param", "x=1"], "'x'"),
    "a corpus for generation": (["audit", "WORLD/bert", "multi30k"], "is for generation"),
    "a column of a corpus": (
        ["audit", "WORLD/bert", "planted", "--cluster-column", "who"],
        "leave cluster_column out",
    ),
    "a parameter of a table": ([*AUDIT, "--param", "seed=1"], "no parameter 'seed'"),
    "no such split": (["audit", "WORLD/bert", "planted", "--split", "best"], "unknown split"),
    "explain nothing": (["explain", "WORLD/bert", "  "], "the text is empty"),
    "explain no word": (["explain", "WORLD/bert", "\u200b"], "has a word in it"),
    "explain the unknown": ([*EXPLAIN, "--explanations", "magic"], "effective_attention, "),
    "explain no target": ([*EXPLAIN, "--target", "odds"], "unknown target"),
    "explain no layer": ([*EXPLAIN, "--explanations", "attention:layer=9"], "from 0 to 1"),
    "explain one of a pair": (
        [*EXPLAIN, "--pairs", "1"],
        "pairs is 1: give 2 or more words, or 0.",
    ),
    "explain an empty name": ([*EXPLAIN, "--explanations", "attention,,lrp"], "one comma"),
    "explain, no threads": ([*EXPLAIN, "--threads", "0"], "--threads is 0"),
    "check no number": ([*CHECK, "--at-least", "importance"], "write property=number"),
    "check in words": ([*CHECK, "--at-least", "importance=high"], "write property=number"),
    "check nan": ([*CHECK, "--at-least", "importance=nan"], "finite"),
    "check the unknown": ([*CHECK, "--at-least", "beauty=1"], "choose one of agreement"),
    "no baseline": ([*CHECK, "--baseline", "none.json"], "there is no baseline"),
    "no verdict": ([*CHECK, "--baseline", "WORLD/verdict.json"], "it says no schema version"),
    "a csv for a verdict": ([*CHECK, "--baseline", "WORLD/good.csv"], "this is no verdict"),
    "bytes for a verdict": ([*CHECK, "--baseline", "WORLD/latin.json"], "is no verdict"),
    "junit nowhere": ([*CHECK, "--junit", "none/junit.xml"], "a folder that is there"),
    "baseline nowhere": ([*CHECK, "--write-baseline", "none/x.json"], "a folder that is there"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(
    name: str, capsys: pytest.CaptureFixture[str], world: Path, tmp_path: Path
) -> None:
    """Exit code 2, one sentence on standard error, nothing on standard output, nothing left."""
    arguments, match = BAD[name]
    before = sorted(world.rglob("*"))
    code, out, err = run(capsys, *(each.replace("WORLD", str(world)) for each in arguments))
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ") and err.count("\n") == 1 and "Traceback" not in err
    assert match in err
    assert err.rstrip().endswith((".", "…"))
    assert sorted(world.rglob("*")) == before
    assert not list(tmp_path.glob("**/verdict.json")) + list(tmp_path.glob("**/*.writing"))
    assert {path.name for path in tmp_path.iterdir()} <= {"heedful-store"}
    assert not Store(tmp_path / "heedful-store").keys()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu(capsys: pytest.CaptureFixture[str], world: Path) -> None:
    code, _, err = run(capsys, "audit", world / "bert", world / "good.csv", "--device", "cuda")
    assert code == 2 and "use the device cpu" in err
