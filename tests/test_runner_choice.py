"""What a user chooses instead of a study's settings, and what a study makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from heedful.cli import Options, plan_study
from heedful.data import default_spec
from heedful.errors import HeedfulError
from heedful.models import FAMILIES, check
from heedful.runner import FAMILY_OF, USUAL, Choice, Machine, corpus_kind, grid, run_study, usual
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Store
from heedful.studies import STUDIES, Setting, Small, Study

MODELS = (ModelSpec("bilstm"), ModelSpec("cnn", hidden=8))
PROBES = (ProbeSpec("score"), ProbeSpec("permutation", {"permutations": 3}))
STUDY = Study("made-up", 1, (Setting("single", ("sst",), MODELS, PROBES, TrainSpec(epochs=3)),))


def test_parts_replace_those_of_every_model_and_equal_models_are_one() -> None:
    chosen = Choice(["lstm"], ["dot"], (("layers", 2),)).models(MODELS)
    assert [(each.encoder, each.attention, each.layers, each.hidden) for each in chosen] == [
        ("lstm", "dot", 2, None),
        ("lstm", "dot", 2, 8),
    ]
    assert Choice(["lstm"]).models((ModelSpec("bilstm"), ModelSpec("cnn"))) == [ModelSpec("lstm")]
    assert Choice().models(MODELS) == list(MODELS)


def test_the_users_epochs_count_more_than_those_of_the_small_size() -> None:
    small = Small(epochs=2)
    spec = TrainSpec(epochs=9)
    assert Choice().training(spec, small).epochs == 9
    assert Choice(size="small").training(spec, small).epochs == 2
    assert Choice(size="small").training(spec, None).epochs == 9
    assert Choice(size="small", train=(("epochs", 5),)).training(spec, small).epochs == 5
    with pytest.raises(HeedfulError, match="unknown size 'tiny': choose one of full, small"):
        Choice(size="tiny").training(spec, small)


def test_probes_keep_the_studys_parameters() -> None:
    asked = Choice(probes=["permutation", "erasure"]).asked(PROBES)
    assert asked == (PROBES[1], ProbeSpec("erasure"))
    assert Choice().asked(PROBES) == PROBES
    with pytest.raises(HeedfulError, match="unknown probe 'permutations'"):
        Choice(probes=["permutations"]).asked(PROBES)


def test_parameters_of_probes_take_the_place_of_the_studys() -> None:
    own = (ProbeSpec("adversarial", {"epsilon": 0.05, "k": 2}), ProbeSpec("score"))
    given = {"adversarial": {"epsilon": 0.1, "curve": 0.2}}
    changed, score = Choice(probe_params=given).asked(own)
    assert dict(changed.params) == {"epsilon": 0.1, "k": 2, "curve": (0.2,)}
    assert score == own[1]
    wrong: list[tuple[dict[str, dict[str, object]], str]] = [
        ({"adversarial": {"epsilno": 0.1}}, "epsilno"),
        ({"adversarial": {"k": (1, 2)}}, "give a value like 1"),
        ({"adversarial": {"curve": (0.1, "much")}}, "'curve' .* is 'much'"),
        ({"adversarial": {"epsilon": 3}}, "from 0 to 1"),
    ]
    for params, said in wrong:
        with pytest.raises(HeedfulError, match=said):
            Choice(probe_params=params).asked(own)


def test_parameters_of_a_probe_that_nobody_asks_for_are_refused() -> None:
    plan = plan_study(
        "wiegreffe2019", Options(["planted"], probe_params=["frontier.divergence=jsd"])
    )
    asked = [probe for cell in plan.cells for probe in cell.probes if probe.name == "frontier"]
    assert asked and all(probe.params["divergence"] == "jsd" for probe in asked)
    with pytest.raises(HeedfulError, match="'frontier'"):
        plan_study("jain2019", Options(["planted"], probe_params=["frontier.weights=1"]))


def test_a_corpus_is_treated_as_the_study_says_else_by_its_kind() -> None:
    first, second = (
        Setting("pair", corpora, MODELS, PROBES, TrainSpec(epochs=epochs), also)
        for corpora, epochs, also in ((("snli",), 1, ()), (("babi1",), 2, ("babi",)))
    )
    study = replace(STUDY, settings=(first, second))
    for corpus, epochs in (("snli", 1), ("babi1", 2), ("babi", 2), ("mnli", 1)):
        assert study.setting(corpus, "pair").train.epochs == epochs
    assert study.corpora == ("snli", "babi1")
    with pytest.raises(HeedfulError, match="no models for 'sst', a corpus of the kind single"):
        study.setting("sst", "single")


def test_ties_between_epochs_are_broken_as_the_paper_did_on_its_corpora_alone() -> None:
    """A study's settings keep it, whatever paper; a corpus that is not the paper's does not."""
    for name in STUDIES:
        study = STUDIES[name].make()
        assert {setting.train.ties for setting in study.settings} == {"first"}
        for setting in study.settings:
            assert {setting.training(corpus).ties for corpus in setting.corpora} == {"first"}
            assert {setting.training(corpus).ties for corpus in (*setting.also, "file")} == {"loss"}
    jain = STUDIES["jain2019"].make()
    for corpus, ties in (("sst", "first"), ("planted", "loss")):
        assert {cell.train.ties for cell in grid(jain, [default_spec(corpus)]).cells} == {ties}
    papers = Choice(train=(("ties", "first"),))
    assert grid(jain, [default_spec("planted")], papers).cells[0].train.ties == "first"


def test_a_family_and_a_corpus_must_be_of_one_kind() -> None:
    pairs = replace(STUDY.settings[0], models=(USUAL["pair"],))
    with pytest.raises(HeedfulError, match="family pair is for corpora of the kind pair, and"):
        grid(replace(STUDY, settings=(pairs,)), [default_spec("planted")])
    assert corpus_kind(default_spec("file", path="x.csv", text_b_column="question")) == "pair"
    assert corpus_kind(default_spec("file", path="x.csv")) == "single"


def test_a_study_may_be_of_another_family() -> None:
    """With the family's usual attention and decoder, and the study's encoders."""
    jain = STUDIES["jain2019"].make()
    cells = grid(jain, [default_spec("aspects")], Choice(family="biattention")).cells
    assert {cell.model.encoder for cell in cells} == {"bilstm", "cnn", "average"}
    found = {(cell.model.family, cell.model.attention, cell.model.decoder) for cell in cells}
    assert found == {("biattention", "trilinear", "")}
    assert len(cells) == len({cell.name for cell in cells})
    with pytest.raises(HeedfulError, match="unknown family 'biatention'.*biattention"):
        grid(jain, [default_spec("aspects")], Choice(family="biatention"))


def test_every_family_has_its_usual_parts() -> None:
    assert set(USUAL) == set(FAMILIES)
    for family, spec in USUAL.items():
        check(spec)
        assert spec.family == family
    for kind, family in FAMILY_OF.items():
        assert usual(kind, None) == USUAL[family] and FAMILIES[family].kind == kind
    assert usual("single", "hierarchical") == USUAL["hierarchical"]


@pytest.mark.parametrize("name", list(STUDIES))
def test_every_model_of_a_study_can_be_built_for_its_corpora(name: str) -> None:
    study = STUDIES[name].make()
    for setting in study.settings:
        for model in setting.models:
            check(model)
            assert FAMILIES[model.family].kind == setting.kind
    models = [model for setting in study.settings for model in setting.models]
    names = {replace(model, layers=layers).name for model in models for layers in (1, 2, 3)}
    assert set(study.names) <= names


def test_a_study_left_to_its_own_corpora_passes_over_those_that_are_not_there(
    tmp_path: Path,
) -> None:
    store, said = Store(tmp_path), list[str]()
    run = run_study(grid(STUDY), store, Machine(), announce=said.append)
    assert len(run.table("cells")) == 0
    skipped = run.table("skipped")
    assert len(skipped) == 4 and skipped["reason"].str.contains("no data folder was given").all()
    assert "is left out: no data folder was given" in said[0]
    with pytest.raises(HeedfulError, match="no data folder was given"):
        run_study(grid(STUDY, [default_spec("sst")]), store, Machine())


def test_what_is_left_out_names_the_run(tmp_path: Path) -> None:
    """Else a second start would show the reasons of the first."""
    store, empty = Store(tmp_path / "store"), tmp_path / "data"
    runs = [run_study(grid(STUDY, data_dir=place), store, Machine()) for place in (None, empty)]
    reasons = [run.table("skipped")["reason"] for run in runs]
    assert reasons[0].str.contains("no data folder was given").all()
    assert reasons[1].str.contains("is missing").all()
