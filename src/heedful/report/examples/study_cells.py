"""The cells of a study: one for each corpus, model and seed that has maps."""

from __future__ import annotations

import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.examples.cell import Cell
from heedful.report.examples.known import SORTINGS, means_of
from heedful.report.examples.study_maps import shown_maps
from heedful.report.examples.study_model import StudyModel
from heedful.report.examples.study_texts import StudyTexts

SEVERAL = "Of several heads or queries the first is shown."


def study_cells(evidence: Evidence) -> list[Cell]:
    """In the order of the study. Nothing is trained or measured again."""
    cells = evidence.cells
    whose = cells["model_run"].where(cells["model_run"].astype(bool), cells["label"])
    texts: dict[str, StudyTexts] = {}
    found = []
    for _, part in cells.groupby([cells["corpus"], whose, cells["seed"]], sort=False):
        corpus = str(part["corpus_run"].iloc[0])
        known = texts.setdefault(corpus, StudyTexts(evidence, corpus))
        model = _model(evidence, part, known)
        if model.names:
            found.append(_cell(model, part, _alone(cells, part)))
    return found


def _model(evidence: Evidence, part: pd.DataFrame, texts: StudyTexts) -> StudyModel:
    once = part.drop_duplicates("probe")
    runs = {
        str(probe): evidence.store.open(str(run))
        for probe, run in zip(once["probe"], once["run"], strict=True)
    }
    spec = evidence.model_facts(str(part["model_run"].iloc[0])).get("model") or {}
    return StudyModel(runs, texts, bool(spec.get("blind", False)))


def _cell(model: StudyModel, part: pd.DataFrame, alone: bool) -> Cell:
    means = {each.sorting.key: float(values.mean()) for each, values in model.measured}
    return Cell(
        corpus=str(part["corpus"].iloc[0]),
        classes=model.texts.classes,
        model=str(part["model" if alone else "label"].iloc[0]),
        seed=str(part["seed"].iloc[0]),
        source="study",
        names=model.names,
        maps=shown_maps(model.scanned.maps, model.exact),
        measures=[*(each.sorting for each, _ in model.measured), *SORTINGS],
        means=means | means_of(model.facts),
        documents=model.documents,
        readings=model.readings,
        logits=model.scanned.logits,
        note=SEVERAL if model.scanned.several else "",
    )


def _alone(cells: pd.DataFrame, part: pd.DataFrame) -> bool:
    """Whether a model's name says which it is: no other setting on the corpus has it."""
    keys = ["corpus", "model", "seed"]
    same = (cells[keys] == part[keys].iloc[0]).all(axis=1)
    return int(cells.loc[same, "model_run"].nunique()) == 1
