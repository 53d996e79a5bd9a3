"""Keywords of the Python functions: one declaration, the same names as on the command line."""

from __future__ import annotations

import inspect
import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tools.public_api import commands

import heedful
from heedful.auditing import USUAL, AuditSpec, Measuring, Running
from heedful.cli import MeasureOptions, main
from heedful.data import default_spec, prepare
from heedful.errors import HeedfulError
from heedful.keywords import ELSEWHERE
from heedful.progress import progress_bar, silent
from heedful.runner import Machine, Recipe, trained
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store
from heedful.verdict import Settings

TAKING = {"audit": heedful.audit, "check": heedful.check, "explain": heedful.explain}
FAST: dict[str, Any] = {"explanations": "attention", "only": "interventions", "quick": True}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def run(store: Store) -> Run:
    spec = default_spec("planted", n_train=60, n_dev=10, n_test=12, dimension=8)
    recipe = Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 0)
    return trained(store, prepare(spec, store), recipe, Machine(threads=1))


@pytest.mark.parametrize("verb", TAKING)
def test_every_option_of_a_verb_is_a_keyword(verb: str) -> None:
    known = inspect.signature(TAKING[verb]).parameters
    found = re.findall(rf"^heedful {verb} --([\w-]+)", commands(), re.MULTILINE)
    options = {name.replace("-", "_") for name in found} - {"help"}
    options -= {f"no_{name}" for name in options}  # what turns one off
    assert len(options) > 10
    assert sorted(options - set(known) - set(ELSEWHERE)) == []
    assert not set(ELSEWHERE) & set(known)


@pytest.mark.parametrize("name", ["audit", "check", "estimate", "explain", "open_target"])
def test_a_signature_can_be_read(name: str) -> None:
    function = getattr(heedful, name)
    found = inspect.signature(function)
    kinds = {each.kind for each in found.parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    defaults = (
        "'text'", "'label'", "'auto'", "'{text}'", "'probability'", "'word'", "'mean'",
        repr("\n\n"),
    )  # fmt: skip
    shown = str(found).replace(str(USUAL), "")
    for default in defaults:
        shown = shown.replace(default, "")
    assert "'" not in shown
    for each in found.parameters.values():
        if each.kind is inspect.Parameter.KEYWORD_ONLY:
            assert re.search(rf"^    {each.name}: .+ = .+\n {{8}}\S", function.__doc__, re.M)


def test_what_is_left_out_is_as_on_the_command_line() -> None:
    typed = Measuring(**MeasureOptions().given())
    assert typed.spec() == Measuring().spec() == AuditSpec()
    assert typed.settings() == Settings() and typed.must == frozenset()
    verbs = (Path(heedful.__file__).parent / "cli" / "audit.py").read_text(encoding="utf8")
    assert f'"{",".join(USUAL)}"' in verbs


def test_keywords_come_on_top_of_the_spec() -> None:
    base = AuditSpec(ceiling=10, target="logit")
    asked = Measuring(quick=True, also=["lime"], perturbations="delete,zero", exact_words=3)
    spec = asked.spec(base, seed=4)
    assert (spec.ceiling, spec.search_steps, spec.exact, spec.seed) == (10, 20, 3, 4)
    assert spec.explanations == (*base.explanations, "lime") and spec.target == "logit"
    assert spec.operators == ("delete", "zero") and asked.must == {"lime"}
    chosen = Measuring(alpha=0.01, min_effect={"use": 0.1}).settings(Settings(resamples=100))
    assert (chosen.alpha, chosen.effects, chosen.resamples) == (0.01, {"use": 0.1}, 100)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "near": ({"pertubations": "delete,mask"}, "did you mean 'perturbations'?"),
    "far": ({"zzz": 1}, r"help\(heedful.audit\) lists them all"),
    "of the command line": ({"out": "x"}, "has no keyword 'out': call audit.save"),
    "of other libraries": ({"limit": 20}, "its name is n."),
    "of 0.1": ({"operators": "x"}, "its name is perturbations"),
    "one perturbation": ({"perturbations": ["delete"]}, "at least two"),
    "an empty name": ({"only": "erasure,"}, "an empty name"),
    "twice": ({"extra": "eraser,eraser"}, "names something twice"),
    "no time": ({"budget": 0}, "90s, 5min or 2h"),
    "seeds and a budget": ({"budget": 3, "seed_model": "x"}, "either --seed-model or --budget"),
    "all and a budget": ({"budget": 3, "all": True}, "either --all or --budget"),
    "every": ({"every": True}, "its name is all"),
    "no effect": ({"min_effect": {"importance": 0}}, "above 0"),
    "threads": ({"threads": 0}, "threads is 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_keyword_is_one_sentence(name: str) -> None:
    options, sentence = WRONG[name]
    with pytest.raises(HeedfulError, match=sentence) as caught:
        heedful.audit("model", [{"text": "a film"}], **options)
    assert str(caught.value).count(". ") == 0 and "\n" not in str(caught.value)


def test_only_public_names_are_offered() -> None:
    assert dir(heedful) == heedful.__all__
    assert not {"face", "keep_quiet", "lazy", "auditing"} & set(dir(heedful))


def test_a_store_keeps_the_audit_and_the_command_finds_it(
    run: Run, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    before, told = torch.get_num_threads(), list[str]()

    def listen(label: str, done: int, total: int) -> None:
        told.append(label)

    first = heedful.audit(run.key, store=store, threads=1, progress=listen, **FAST)
    assert "audit" in told and torch.get_num_threads() == before
    told.clear()
    again = heedful.audit(run.key, store=store, seed=0, progress=listen, **FAST)
    assert told == [] and again.facts["key"] == first.facts["key"]
    typed = ["--explanations", "attention", "--only", "interventions", "--quick"]
    assert main(["audit", run.key, *typed, "--store", str(store.root)]) == 0
    assert str(first.verdict["use"].n) in capsys.readouterr().out
    assert list(store.keys("audit")) == [first.facts["key"]]


def test_a_check_holds_a_verdict_against_another(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    found = heedful.check(run, write_baseline=file, at_least={"use": 2.0}, **FAST)
    assert not found.passed and "FAILED  use at least 2  " in str(found)
    against = heedful.check(run, baseline=file, junit=tmp_path / "junit.xml", **FAST)
    assert against.passed and against.verdict.to_json() == file.read_text(encoding="utf8")
    assert (tmp_path / "junit.xml").is_file()
    with pytest.raises(HeedfulError, match="made with other settings"):
        heedful.check(run, baseline=found.verdict, explanations="gradient", only="erasure")
    with pytest.raises(HeedfulError, match="did you mean 'importance'"):
        heedful.check(run, at_least={"importanse": 0.4}, **FAST)


def test_several_trainings_are_one_audit(run: Run, store: Store) -> None:
    recipe = Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 1)
    corpus = store.open(next(iter(store.keys("corpus"))))
    other = trained(store, corpus, recipe, Machine(threads=1))
    found = heedful.audit(run, seed_model=other, **FAST)
    assert found.facts["checkpoints"] == 2
    assert Running(seed_model=[other]).others == (other,) and Running().others == ()


# The bar: in terminals and notebooks, and nowhere else.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a notebook is told to show."""
    cells: list[dict[str, Any]] = []
    publisher = SimpleNamespace(publish=lambda data, **changes: cells.append({**data, **changes}))
    shell = SimpleNamespace(kernel=object(), display_pub=publisher)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return cells


def test_nobody_watches_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar() as listener:
        assert listener is silent


@pytest.mark.parametrize("wanted", [None, True])
def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch, wanted: bool | None) -> None:
    screen = Terminal() if wanted is None else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar(wanted) as listener:
        listener("audit", 3, 10)
        assert listener is not silent
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar(False) as listener:
        assert listener is silent


def test_a_notebook_shows_a_bar_and_keeps_nothing_of_it(published: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="broken"), progress_bar() as listener:
        listener("<b>audit", 3, 10)
        raise ValueError("broken")
    first, then, last = published
    assert "loading" in first["text/html"] and last["text/html"] == ""
    assert then["text/html"] == '<progress value="3" max="10"></progress> &lt;b&gt;audit 3 of 10'
    assert first["transient"] == then["transient"] == last["transient"]
    assert "update" not in first and then["update"] and last["update"]
    with progress_bar(False) as listener:
        assert listener is silent and len(published) == 3
