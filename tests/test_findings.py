"""The page of findings: its bytes, its numbers, its words, and the compact audits behind it."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from heedful.auditing import VERSION, Audit, store_audit
from heedful.cli import main
from heedful.data import default_spec
from heedful.errors import HeedfulError
from heedful.report import WIDTH, Estimate, Picture, Row, difference, estimate
from heedful.report.figures.dots import Panel
from heedful.specs import ModelSpec, ProbeSpec
from heedful.store import Store
from heedful.studies import DATASETS, QUICK, TRAINING
from heedful.verdict import judge
from paper_tables.audits import COLUMNS as AUDITED
from paper_tables.audits import collect_audits, merged_audits, no_audits, read_audits
from paper_tables.compact import write_compact
from paper_tables.findings.evidence import (
    CHECKPOINTS,
    Evidence,
    counted,
    listed,
    said,
    tallied,
    titled,
)
from paper_tables.findings.page import FINDINGS, page
from paper_tables.rows import COLUMNS, collect, read_rows
from paper_tables.settings import digest
from probe_runs import put, put_model, put_probe

HERE = Path(__file__).parent.parent
PICTURES = HERE / "docs/figures/findings"
NUMBER = re.compile(r"(?<![\w.])−?\d+(?:\.\d+)?")
NAMES = sorted((*DATASETS.values(), *CHECKPOINTS.values()), key=len, reverse=True)
FORMS = {
    "exact-and-search": ((1, 2),),
    "fixed-decisions": ((100, 1),),
    "query-in-decoder": ((100, 1),),
    "adversary-and-seeds": ((1, 3),),
    "faithful-methods": ((1, 2), (100, 1)),
    "human-rationales": ((1, 2), (100, 1)),
    "pretrained": ((1, 2), (100, 1)),
}
"""How a section shows its numbers: times what, and how many decimals."""


@pytest.fixture(scope="module")
def kept() -> Evidence:
    rows = read_rows(HERE / "reproduction/rows.csv")
    return Evidence(rows, read_audits(HERE / "reproduction/audits.csv"))


def test_the_committed_page_is_what_the_committed_rows_say(kept: Evidence) -> None:
    assert (HERE / "docs/findings.md").read_text(encoding="utf8") == page(kept)


def test_the_committed_pictures_are_too(kept: Evidence) -> None:
    told = {each.name: each.tell(kept) for each in FINDINGS}
    made = {f"{name}.svg": each.picture.svg() for name, each in told.items() if each}
    found = {path.name: path.read_text(encoding="utf8") for path in PICTURES.iterdir()}
    assert found == made


@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_words_end_inside_the_picture(picture: Path) -> None:
    """By the widths of letters in DejaVu Sans, which Linux takes, twelve pixels high."""
    drawn = picture.read_text(encoding="utf8")
    texts = re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="(\w+)"[^>]*>([^<]*)<', drawn)
    assert len(texts) > 10
    for x, anchor, words in texts:
        wide = sum(_width(letter) for letter in html.unescape(words))
        begin = float(x) - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        assert begin >= 0 and begin + wide <= WIDTH, words


def _width(letter: str) -> float:
    sizes = {" ijl.,'": 3.8, "frt()-": 4.8, "mwMW": 11.0}
    return next((size for letters, size in sizes.items() if letter in letters), 7.5)


def numbers(text: str) -> list[str]:
    """Those of the sentences: not of commands, pictures' addresses, or names of corpora."""
    for pattern in (r"`[^`]*`", r"!\[.*?\]\(.*?\)"):
        text = re.sub(pattern, "", text)
    for name in NAMES:
        text = text.replace(name, "")
    return NUMBER.findall(text)


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def backing(foot: str, title: str) -> list[tuple[str, dict[str, list[str]]]]:
    """The files and values that the page itself names for a section."""
    line = next(line for line in foot.splitlines() if line.startswith(f"- {title}"))
    found = re.findall(r"`reproduction/(\w+\.csv)`: `([^`]*)`", line)
    return [
        (file, {k: v.split(", ") for k, _, v in (x.partition(" = ") for x in where.split("; "))})
        for file, where in found
    ]


def shown(value: float, form: tuple[int, int]) -> str:
    scale, digits = form
    return f"{round(scale * value, digits) + 0.0:.{digits}f}".replace("-", "−")


def pool(kept: Evidence, where: Any, forms: Sequence[tuple[int, int]]) -> set[str]:
    """Everything that the named rows can say, worked out anew: means and intervals over seeds,
    counts, and what two measures of one model are apart."""
    found: set[str] = set()
    for file, wanted in where:
        table = kept.rows if file == "rows.csv" else kept.audits
        for column, values in wanted.items():
            table = table[table[column].isin(values)]
        table = table[table["group"] == "all"] if "group" in table else table
        assert len(table), (file, wanted)
        seeded = ["paper", "corpus", "model", "size", "probe"]
        by = [*seeded, "measure"] if "seed" in table else ["weights", "run", "explanation"]
        by += [] if "seed" in table else ["measure", "kind"]
        groups = [part for _, part in table.groupby(by, dropna=False)]
        if "seed" not in table:
            scored = table[table["kind"] == "score"]
            groups += [part for _, part in scored.groupby(["weights", "measure"])]
        for part in groups:
            found |= {str(int(part["n"].min())), str(len(part))}
            found |= {str(value) for name in ("texts", "seeds") for value in part.get(name, ())}
            found |= {shown(x, form) for x in _three(part) for form in forms}
            found |= {one for why in part.get("why", ()) for one in numbers(why)}
        if "seed" in table:
            for _, part in table.groupby(seeded):
                wide = part.pivot(index="seed", columns="measure", values="mean")
                for one in wide:
                    for other in wide:
                        apart = [float(x) for x in wide[one] - wide[other]]
                        found |= {shown(x, form) for x in _student(apart) for form in forms}
    return found


def _three(part: pd.DataFrame) -> list[float]:
    if len(part) > 1:
        mean, low, high = _student([float(x) for x in part["mean"]])
        return [mean, low, high, max(low, 0.0), min(high, 1.0)]
    return [float(part[name].iloc[0]) for name in ("mean", "low", "high")]


def _student(values: list[float]) -> list[float]:
    if len(values) < 2:
        return values
    low, high = stats.t.interval(
        0.95, len(values) - 1, np.mean(values), stats.sem(values) or np.finfo(float).tiny
    )
    return [float(np.mean(values)), float(low), float(high)]


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda each: each.name)
def test_every_number_is_in_the_rows_that_its_section_names(kept: Evidence, finding: Any) -> None:
    parts = sections((HERE / "docs/findings.md").read_text(encoding="utf8"))
    text = parts[finding.title]
    if "Not measured yet." in text:
        assert not numbers(text)
        return
    where = backing(parts["What this page is made of"], finding.title)
    known = pool(kept, where, FORMS[finding.name])
    assert numbers(text) and set(numbers(text)) <= known, set(numbers(text)) - known


def test_no_number_is_typed_in(kept: Evidence) -> None:
    """Other rows, other numbers: all of them, but for counts and what is zero in any unit."""
    ends = ["mean", "low", "high"]
    rows, audits = kept.rows.copy(), kept.audits.copy()
    for table in (rows, audits):
        table[ends] *= 3.7
        table["n"] += 70
    audits["texts"] += 70
    old, new = (numbers(page(each)) for each in (kept, Evidence(rows, audits)))
    assert len(old) == len(new) > 50
    same = {one for one, other in zip(old, new, strict=True) if one == other}
    assert all(float(one.replace("−", "-")) == 0 or re.fullmatch(r"\d", one) for one in same), same


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda each: each.name)
def test_a_section_answers_first_and_in_one_sentence(kept: Evidence, finding: Any) -> None:
    text = sections(page(kept))[finding.title]
    if "Not measured yet." in text:
        return
    (answer,) = re.findall(r"\A\n\*\*(.+)\*\*\n", text)
    assert len(answer.split()) <= 25 and answer.endswith(".") and not re.search(r"\w\. ", answer)
    shown_ = numbers(re.sub(r" \[[^\]]*\]", "", answer))
    assert len(shown_) <= 2, shown_
    parts = ("**", "![", "<details", "| --- |", "</details>", "*What this does not show.*")
    order = [text.index(part) for part in parts]
    assert order == sorted(order) and text.rindex("| --- |") < text.rindex("</details>")
    assert not re.search(r"\b(shuffled|even weights|texts)\b", text)


def lines(probe: str, measure: str, values: Sequence[float], **other: Any) -> pd.DataFrame:
    one = {"paper": "jain2019", "corpus": "sst", "model": "bilstm-additive", "size": "full"}
    one |= {"probe": probe, "measure": measure, "group": "all", "n": 50, "undefined": 0, "run": "r"}
    made = [
        {**one, **other, "seed": seed, "mean": value, "low": value - 0.01, "high": value + 0.01}
        for seed, value in enumerate(values)
    ]
    return pd.DataFrame(made).reindex(columns=COLUMNS)


def told(name: str, *parts: pd.DataFrame, audits: pd.DataFrame | None = None) -> str:
    rows = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
    found = next(each for each in FINDINGS if each.name == name)
    said_ = found.tell(Evidence(rows, no_audits() if audits is None else audits))
    if said_ is None:
        return ""
    rows = (" | ".join(row) for table in said_.tables for row in table.rows)
    return "\n".join([said_.answer, *rows, *said_.sentences])


def test_corpora_of_which_a_part_is_at_hand_are_called_so() -> None:
    assert titled("LSTM", "snli") == "LSTM on SNLI (a part of it)"
    assert titled("LSTM", "sst", "small") == "LSTM on SST (small run)"


@pytest.mark.parametrize(
    ("longest", "words"),
    [((0.6, 0.61, 0.62), "larger"), ((0.2, 0.21, 0.22), "smaller"), ((0.1, 0.7, 0.4), "no diff")],
)
def test_length_has_a_direction_where_seeds_agree(longest: tuple[float, ...], words: str) -> None:
    seeds = (0.4, 0.41, 0.42)
    parts = [
        lines("adversarial", measure, values, group=group)
        for measure in ("jsd_exact", "jsd_entropy_matched")
        for group, values in (("all", seeds), ("length=1", seeds), ("length=4", longest))
    ]
    last = told("exact-and-search", *parts).splitlines()[-1]
    assert words in last and sum(each in last for each in ("larger", "smaller", "no diff")) == 1


def test_the_authors_search_stands_beside_the_other() -> None:
    full = [lines("adversarial", name, (0.5, 0.6)) for name in ("jsd_exact", "jsd_entropy_matched")]
    trial = [
        lines("adversarial", name, (value, value), run="s", paper="jain2019-search")
        for name, value in (("jsd_exact", 0.5), ("jsd_search", 0.25), ("jsd_entropy_matched", 0.1))
    ]
    alone = told("exact-and-search", *full)
    assert "as sharp" in alone and "Wallace" not in alone
    found = told("exact-and-search", *full, *trial).splitlines()
    assert re.fullmatch(
        r"LSTM on SST \| 0\.50 \[.*\] \| 0\.25 \[.*\] \| 0\.40 \[0\.40, 0\.40\] \| 50 \| 2",
        found[1],
    )
    assert (
        found[2] == "Jain and Wallace's search finds less than the exact distance for LSTM on SST."
    )
    assert "as sharp finds less than the exact distance" in found[3]


@pytest.mark.parametrize(
    ("values", "words"),
    [((0.6, 0.61), "very different"), ((0.1, 0.11), "only a little"), ((0.1, 0.6), "not always")],
)
def test_distances_are_read_against_half_the_largest(values: tuple[float, ...], words: str) -> None:
    parts = [lines("adversarial", name, values) for name in ("jsd_exact", "jsd_search")]
    assert words in told("exact-and-search", *parts).splitlines()[0].lower()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.1, 0.11, 0.12), "Attention can change most decisions: all but 11.0% ["),
        ((0.9, 0.91, 0.92), "Attention can change fewer than half: all but 91.0% ["),
        ((0.2, 0.8, 0.5), "Not clearly most decisions everywhere: all but 50.0% ["),
    ],
)
def test_which_side_of_a_half(values: tuple[float, ...], words: str) -> None:
    assert words in told("fixed-decisions", lines("reachability", "fixed", values))


def test_models_on_different_sides_of_a_half_are_named() -> None:
    parts = [
        lines("reachability", "fixed", (mean, mean + 0.01), corpus=corpus)
        for corpus, mean in (("sst", 0.1), ("imdb", 0.9), ("20news", 0.5))
    ]
    found = told("fixed-decisions", *parts).splitlines()
    assert found[0].startswith("Not clearly most decisions everywhere: all but 10.5% [")
    assert found[-3:] == [
        "In most examples some other attention would change the decision: LSTM on SST.",
        "In most examples the decision was made before attention: LSTM on IMDB.",
        "It cannot be told on which side of a half the share lies: LSTM on 20News.",
    ]


@pytest.mark.parametrize(
    ("without", "words", "start"),
    [
        ((-0.3, -0.31, -0.32), "without it", "Yes for LSTM on bAbI 1: every"),
        ((-0.01, -0.0, -0.01), "with the question", "Not clearly: no model"),
        ((-0.3, 0.2, -0.1), "cannot be told", "Not clearly: no model"),
    ],
)
def test_the_query_in_the_decoder(without: tuple[float, ...], words: str, start: str) -> None:
    place = {"paper": "vashishth2019", "corpus": "babi1"}
    parts = [
        lines("substitution", "delta:uniform:infer", values, model=model, **place)
        for model, values in (
            ("bahdanau", without),
            ("pair-bilstm-additive-query", (-0.1, -0.11, -0.1)),
        )
    ]
    found = told("query-in-decoder", *parts)
    answer, row, _ = found.splitlines()
    assert answer.startswith(start) and f" | −10.3 [−11.8, −8.9] | {words} | 50 | 3" in row
    assert told("query-in-decoder", parts[0]) == ""


@pytest.mark.parametrize(
    ("jsd", "tvd", "words"),
    [
        (0.6, 0.05, "Yes, it is further away: the furthest adversary is 0.600 ["),
        (0.1, 0.05, "No, it is nearer: the furthest adversary is 0.100 ["),
        (0.205, 0.05, "That cannot be told: the furthest adversary is 0.205 ["),
        (0.6, 0.5, "Every adversary clearly changed the answers more"),
    ],
)
def test_adversaries_are_read_against_seeds(jsd: float, tvd: float, words: str) -> None:
    wanted = {"jsd_seeds": 0.1, "jsd_seeds_max": 0.2, "delta_seeds": 0.06}
    place = {"paper": "wiegreffe2019"}
    parts = [lines("seeds", name, (value,), **place) for name, value in wanted.items()]
    parts += [
        lines("frontier", f"{kind}:0.01", (value,), **place)
        for kind, value in (("jsd", jsd), ("tvd", tvd))
    ]
    answer, *rest = told("adversary-and-seeds", *parts).splitlines()
    assert answer.startswith(words)
    assert any(row.startswith("furthest adversary | ") for row in rest) == ("adversary is" in words)
    assert rest[0] == "other seeds, median | 0.100 [0.090, 0.110] | 0.060 [0.050, 0.070] | 50 | 1"


def test_adversaries_of_several_models_are_told_one_by_one() -> None:
    place = {"paper": "wiegreffe2019"}
    parts = [
        lines(probe, name, (value,), corpus=corpus, **place)
        for corpus, jsd, tvd in (("sst", 0.6, 0.05), ("imdb", 0.1, 0.05), ("20news", 0.6, 0.5))
        for probe, name, value in (
            ("seeds", "jsd_seeds", 0.1),
            ("seeds", "jsd_seeds_max", 0.2),
            ("seeds", "delta_seeds", 0.06),
            ("frontier", "jsd:0.01", jsd),
            ("frontier", "tvd:0.01", tvd),
        )
    ]
    assert told("adversary-and-seeds", *parts).splitlines()[0] == (
        "Further for LSTM on SST; nearer for LSTM on IMDB; not comparable for LSTM on 20News."
    )


def audited(**given: Any) -> dict[str, Any]:
    one = {"model": "bilstm-additive", "weights": "w", "data": "sst, test split", "texts": 60}
    one |= {
        "seeds": 1,
        "explanation": "attention",
        "operator": "",
        "n": 60,
        "decision": "",
        "why": "",
    }
    mean = given.pop("mean", math.nan)
    ends = {"mean": mean, "low": mean - 0.05, "high": mean + 0.05, "run": "audit-0"}
    return {**one, **ends, **given}


@pytest.mark.parametrize(
    ("importance", "decision", "words"),
    [
        (0.6, "SUPPORTED", "better"),
        (0.05, "NOT SUPPORTED", "worse"),
        (0.35, "INCONCLUSIVE", "cannot be told"),
    ],
)
def test_methods_are_read_against_none(importance: float, decision: str, words: str) -> None:
    table = [
        audited(model=model, weights=model, kind=kind, measure=measure, mean=mean, **more)
        for model, rank, more in (
            ("bilstm-additive", 0.3, {"decision": "NOT SUPPORTED"}),
            ("bilstm-additive+tying0.03", importance, {"decision": decision}),
        )
        for kind, measure, mean in (("verdict", "importance", rank), ("score", "accuracy", 0.8))
    ]
    found = told("faithful-methods", audits=pd.DataFrame(table, columns=AUDITED))
    assert f"] | {words} | 80.0 [75.0, 85.0] | cannot be told | 60 | 60 | 1" in found
    assert found.startswith(
        "Tying clearly makes attention more faithful "
        "(0.60 [0.55, 0.65] against 0.30 [0.25, 0.35]); "
        "no change of accuracy can be told."
        if words == "better"
        else "No method's attention can be told to be more faithful than without one."
    )
    assert ("reached by tying" in found) == (decision == "SUPPORTED")
    assert told("faithful-methods", audits=pd.DataFrame(table[:2], columns=AUDITED)) == ""


@pytest.mark.parametrize(
    ("apart", "words"), [(0.2, "does better"), (-0.2, "does worse"), (0.01, "cannot be told apart")]
)
def test_saliency_is_read_against_attention_text_by_text(apart: float, words: str) -> None:
    means = {"attention": 0.5, "lrp": 0.5 + apart, "random": 0.2}
    table = [
        audited(kind="measure", measure="auprc", explanation=name, mean=mean)
        for name, mean in means.items()
    ]
    table.append(audited(kind="minus_attention", measure="auprc", explanation="lrp", mean=apart))
    found = told("human-rationales", audits=pd.DataFrame(table, columns=AUDITED)).splitlines()
    assert found[-1] == f"Against attention, for LSTM on SST: LRP {words}."
    assert found[0].startswith("It clearly beats chance for no model; ")
    assert ("another explanation beats it for LSTM on SST" in found[0]) == (apart == 0.2)
    table.append(audited(kind="minus_attention", measure="auprc", explanation="random", mean=-0.3))
    again = told("human-rationales", audits=pd.DataFrame(table, columns=AUDITED))
    assert again.startswith("It beats chance for LSTM on SST; ")


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ((0.5, 0.51), "more attention than uniform weights give for LSTM on bAbI 1"),
        ((0.1, 0.11), "less for LSTM on bAbI 1"),
        ((0.1, 0.4), "neither clearly more nor less for LSTM on bAbI 1"),
    ],
)
def test_stories_are_read_against_uniform_weights(inside: tuple[float, ...], words: str) -> None:
    parts = [
        lines("rationale", name, values, corpus="babi1")
        for name, values in (("mass_inside", inside), ("share_inside", (0.2, 0.2)))
    ]
    audits = pd.DataFrame([audited(kind="measure", measure="auprc", mean=0.5)], columns=AUDITED)
    last = told("human-rationales", *parts, audits=audits).splitlines()[-1]
    assert last == f"The sentences that decide a story get {words}."


def test_pretrained_models_are_told_by_their_weights() -> None:
    known = next(iter(CHECKPOINTS))
    table = [
        audited(weights=weights, kind="verdict", measure=measure, mean=mean, decision=decision)
        for weights in (known, "another")
        for measure, mean, decision in (
            ("overall", math.nan, "NOT SUPPORTED"),
            ("importance", 0.31, "NOT SUPPORTED"),
            ("baseline", math.nan, "NOT MEASURED"),
        )
    ]
    table.append(
        audited(weights=known, kind="verdict", measure="agreement", decision="UNUSABLE")
        | {"why": "unusable here: nothing to find."}
    )
    table.append(
        audited(weights=known, kind="verdict", measure="use", mean=0.1)
        | {"decision": "INCONCLUSIVE", "why": "two ways disagree."}
    )
    table += [
        audited(weights=known, kind="fact", measure=measure, mean=mean)
        for measure, mean in (("accuracy", 0.61), ("majority", 0.52))
    ]
    found = told("pretrained", audits=pd.DataFrame(table, columns=AUDITED)).splitlines()
    name = f"{CHECKPOINTS[known]} on SST"
    assert found[0] == (
        f"By the audit's rule, attention should not be shown as an explanation for {name}."
    )
    assert found[6:] == [
        f"{name} | use | 0.10 [0.05, 0.15] | cannot be told (two ways disagree) | 60 | 1",
        f"{name} | importance | 0.31 [0.26, 0.36] | no | 60 | 1",
        f"{name} | baseline |  | was not measured |  | ",
        f"{name} | agreement |  | unusable here: nothing to find | 60 | 1",
        f"{name} | uniqueness |  | was not measured |  | ",
        f"{name} is right on 61.0% of these examples, where the most common class makes up 52.0%.",
        "Not measured yet: SmolLM2.",
    ]


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        ("SUPPORTED", "attention may be shown as an explanation"),
        ("NOT SUPPORTED", "attention should not be shown as an explanation"),
        ("INCONCLUSIVE", "that cannot be told"),
    ],
)
def test_the_audits_rule_answers(decision: str, words: str) -> None:
    known = next(iter(CHECKPOINTS))
    table = [
        audited(weights=known, kind="verdict", measure=measure, mean=mean, decision=decision)
        for measure, mean in (("overall", math.nan), ("importance", 0.31))
    ]
    found = told("pretrained", audits=pd.DataFrame(table, columns=AUDITED))
    assert found.startswith(f"By the audit's rule, {words} for {CHECKPOINTS[known]} on SST.\n")


def test_what_is_missing_names_the_command() -> None:
    text = page(Evidence(pd.DataFrame(columns=COLUMNS), no_audits()))
    assert text.count("Not measured yet. To measure it:\n\n- `heedful ") == len(FINDINGS)
    assert not numbers(text)


def test_intervals_by_hand() -> None:
    """Of 1, 2, 3: mean 2, sd 1, t 4.302653; of one training its own interval over texts."""
    found = estimate(lines("p", "m", (1.0, 2.0, 3.0)))
    half = 4.302653 / math.sqrt(3)
    assert (found.mean, found.seeds, found.texts) == (2.0, 3, 50)
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half), rel=1e-6)
    assert estimate(lines("p", "m", (0.5,))) == Estimate(0.5, 0.49, 0.51, 50, 1)
    assert estimate(lines("p", "m", (0.0, 0.1)), share=True).low == 0.0


def test_differences_by_hand() -> None:
    """Seeds in common are paired: 1, 1, 1 apart is no spread at all, however they spread."""
    one, other = (lines("p", "m", values) for values in ((2.0, 5.0, 9.0), (1.0, 4.0, 8.0)))
    assert difference(one, other) == Estimate(1.0, 1.0, 1.0, 50, 3)
    alone = difference(lines("p", "m", (0.5,)), lines("p", "m", (0.3,)))
    assert (alone.low, alone.high) == pytest.approx((0.18, 0.22))
    assert [
        Estimate(0.0, *ends, 1, 1).sign for ends in ((0.1, 1.0), (-1.0, -0.1), (-1.0, 1.0))
    ] == [1, -1, 0]
    assert Estimate(0.0, math.nan, math.nan, 1, 1).sign == 0


def test_words() -> None:
    assert said(Estimate(-0.0249, -0.1, 0.05, 1, 1), 1, 100.0, "%") == "−2.5% [−10.0, 5.0]"
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")
    assert (counted(0), counted(20), counted(21)) == ("none", "twenty", "21")
    assert tallied({"a": 1, "b": 0, "c": 1}, "up", "down", "open") == "up for a and c; open for b"
    assert tallied(dict.fromkeys("abc", -1), "up", "down", "open") == "down for all three"


def test_a_picture_escapes_and_keeps_everything_inside() -> None:
    dots = tuple((name, Estimate(0.2, -0.1, 0.93, 1, 1)) for name in ("a", "<b>"))
    drawn = Picture("<says>", ("a", "<b>"), (Panel("t&t", "x", (Row("r", dots),)),)).svg()
    assert "<b>" not in drawn and "&lt;says&gt;" in drawn and "t&amp;t" in drawn
    assert [float(x.replace("−", "-")) for x in re.findall(r">(−?\d\.\d+)</text>", drawn)] == [
        pytest.approx(-0.25 + 0.25 * i) for i in range(6)
    ]
    places = [float(x) for x in re.findall(r'(?:cx|x1|x2)="([\d.]+)"', drawn)]
    assert min(places) >= 0 and max(places) <= 720


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def trained(store: Store, seed: int = 0, limit: int | None = None) -> tuple[str, str]:
    """wiegreffe2019's base model."""
    return put_model(store, seed, ModelSpec(), TRAINING, limit)


def probed(store: Store, probe: ProbeSpec, *measures: tuple[str, str]) -> None:
    put_probe(store, trained(store), probe, measures)


def test_rows_that_findings_need_are_kept_and_no_others(store: Store) -> None:
    groups = ("all", "class=0", "length=2", "confidence=1")
    names = ("jsd_exact", "jsd_exact_ratio", "entropy_adversary")
    probed(store, ProbeSpec("adversarial"), *((name, group) for name in names for group in groups))
    rows = collect(store)
    places = {tuple(each) for each in rows[["measure", "group"]].itertuples(index=False)}
    assert places == {("jsd_exact", "all"), ("jsd_exact", "length=2")}
    assert set(rows["paper"]) == {"jain2019", "wiegreffe2019"}


@pytest.mark.parametrize(("probe", "size"), [(QUICK[0], ["small"]), (ProbeSpec("seeds"), ["full"])])
def test_probes_of_the_small_size_say_so(store: Store, probe: ProbeSpec, size: list[str]) -> None:
    probed(store, probe, ("jsd_seeds", "all"))
    assert collect(store)["size"].tolist() == size
    probed(store, ProbeSpec("seeds", {"count": 5}), ("jsd_seeds", "all"))
    assert len(collect(store)) == 1


def an_audit(seed: int) -> Audit:
    """Made-up numbers: AUPRC of attention 0.5, of LRP 0.25 more on every text."""
    random = np.random.default_rng(seed)
    ids = [f"text-{number}" for number in range(20)]
    base = 0.5 + 0.1 * random.standard_normal(len(ids))
    facts = {"cluster": ids, "label": 1, "predicted": 1, "confidence": 0.9, "length": 4}
    rows = [
        pd.DataFrame({"model": "base", "example": ids, **facts, "explanation": name})
        .assign(operator="", measure="auprc", value=value)
        .astype({"value": float})
        for name, value in (("attention", base), ("lrp", base + 0.25), ("random", 0.1))
    ]
    table = pd.concat(rows, ignore_index=True)
    known = {"model": "bilstm-additive", "data": "sst, test split", "texts": len(ids)}
    known |= {"classes": ["bad", "good"]}
    maps = {"example": ids, "explanation": "attention", "scores": [[0.25] * 4] * len(ids)}
    costs = pd.DataFrame(columns=["explanation", "milliseconds_per_text", "passes_per_text"])
    documents = pd.DataFrame({"example": ids})
    return Audit.of(
        judge(table), known, rows=table, maps=pd.DataFrame(maps), costs=costs, documents=documents
    )


def stored(store: Store, seed: int, version: int = VERSION, limit: int | None = None) -> Audit:
    base, corpus = trained(store, seed, limit)
    made = an_audit(seed)
    store_audit(store, {"run": base, "weights": f"w{seed}", "version": version}, made)
    score = {"piece": "score", "params": {}, "seed": seed, "version": 2}
    upstream = {"base": base, "corpus": corpus}
    scores = (("accuracy", "all"), ("f1", "all"))
    put(store, "probe", {**score, "upstream": upstream}, scores, 0.8)
    return made


def test_seeds_of_one_model_are_one_audit(store: Store) -> None:
    made = [stored(store, seed) for seed in (0, 1)]
    stored(store, 2, version=VERSION - 1)
    table = collect_audits(store)
    assert set(table["seeds"]) == {2} and set(table["weights"]) == {"w0"}
    measured = table[table["kind"] == "measure"].set_index("explanation")["mean"]
    attention = [each.rows[each.rows["explanation"] == "attention"]["value"] for each in made]
    assert measured["attention"] == pytest.approx(np.mean(attention))
    apart = table[table["kind"] == "minus_attention"].set_index("explanation")
    assert apart.loc["lrp", ["mean", "low", "high"]].tolist() == pytest.approx([0.25] * 3)
    assert (table["kind"] == "score").sum() == 4
    assert (table["measure"] == "overall").sum() == 1
    assert set(table["data"]) == {"sst, test split"}


def test_what_stood_in_the_way_of_a_decision_is_kept(store: Store) -> None:
    made = stored(store, 0).verdict.statements
    table = collect_audits(store).query("kind == 'verdict'").set_index("measure")["why"]
    assert {each.property: each.blocked for each in made} | {"overall": ""} == table.to_dict()
    assert table["agreement"]


def test_a_model_of_a_part_of_its_corpus_says_so(store: Store) -> None:
    stored(store, 0, limit=500)
    table = collect_audits(store)
    assert set(table["data"]) == {"sst, test split, learned from at most 500 texts"}
    assert "LSTM on SST (a part of it) | attention | " in told("human-rationales", audits=table)


def test_audits_are_written_and_read_back(store: Store, tmp_path: Path) -> None:
    stored(store, 0)
    table, path = collect_audits(store), tmp_path / "audits.csv"
    write_compact(table, path)
    once = path.read_bytes()
    back = read_audits(path)
    write_compact(merged_audits(back, collect_audits(store)), path)
    assert path.read_bytes() == once
    with pytest.raises(HeedfulError, match="compact audits"):
        read_audits(tmp_path / "nowhere.csv")
    spoilt = {
        "a,b\n1,2\n": "columns of compact audits",
        once.decode().replace("measure,lrp", "guess,lrp"): "kind in line .* is 'guess'",
        once.decode().replace("INCONCLUSIVE", "MAYBE"): "decision in line .* is 'MAYBE'",
    }
    for text, words in spoilt.items():
        assert text.encode() != once
        path.write_text(text)
        with pytest.raises(HeedfulError, match=words):
            read_audits(path)


@pytest.mark.parametrize("data", ["planted", "mine.csv", "planted, test split", ""])
def test_audits_of_ones_own_texts_are_nobodys_finding(store: Store, data: str) -> None:
    made = an_audit(0)
    own = replace(made, facts={**made.facts, "data": data})
    store_audit(store, {"weights": "w", "version": VERSION}, own)
    assert len(collect_audits(store)) == 0


def test_the_command_writes_page_and_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("reproduction", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "reproduction/reasons.csv").write_text(
        "paper,table,dataset,model,metric,trial,text\n"
    )
    asked = digest(ModelSpec("bilstm"), TRAINING, {}, default_spec("sst").prepare)
    kept = lines("reachability", "fixed", (0.25, 0.5), setting=asked)
    write_compact(kept, tmp_path / "reproduction/rows.csv")
    stored(Store(tmp_path / "store"), 0)
    assert main(["study", "all", "--report", "--store", "store"]) == 0
    text = (tmp_path / "docs/findings.md").read_text(encoding="utf8")
    assert "| LSTM on SST | 37.5% [0.0, 100.0] | 50 | 2 |" in text
    assert "LRP does better." in text
    drawn = {path.name for path in (tmp_path / "docs/figures/findings").iterdir()}
    assert drawn == {"fixed-decisions.svg", "human-rationales.svg"}
    assert main(["study", "all", "--report"]) == 0
    assert (tmp_path / "docs/findings.md").read_text(encoding="utf8") == text
