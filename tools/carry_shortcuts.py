"""`python -m tools.carry_shortcuts OUT`: what MiniLM's cells of the benchmark of shortcuts need on
another machine, in 60 MB.

OUT/data has the texts that the cells draw from each corpus, cut after the words they read. Other
rows stay as empty texts, so that splits and samples are the same. OUT/minilm is MiniLM in half
precision. Rows made from these files are found again by

    heedful benchmark --part shortcuts --models minilm --data-dir OUT/data \\
        --pretrained OUT/minilm -o reproduction/shortcuts.csv

Several processes that are started with this command share the cells.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from safetensors.torch import load_file, save_file

from heedful.benchmark import SETTINGS, Cell, ShortcutPlan
from heedful.benchmark.shortcuts import MINILM, corpus_of, minilm
from heedful.data import CORPORA, STRAY, SYNTHETIC, RawCorpus

PLAN = ShortcutPlan()
WORDS = int(SETTINGS[MINILM].corpus["max_words"])
WEIGHTS = "model.safetensors"
READ = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.carry_shortcuts", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("HEEDFUL_DATA"))
    options = parser.parse_args()
    if options.data_dir is None:
        parser.error("name the data folder with --data-dir or HEEDFUL_DATA.")
    _carry_weights(minilm(PLAN), options.out / "minilm")
    for corpus in PLAN.corpora:
        count = _carry_corpus(corpus, Path(options.data_dir), options.out / "data")
        sys.stdout.write(f"{corpus}: {count} texts\n")


def _carry_weights(folder: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    weights = load_file(folder / WEIGHTS)
    halved = {name: t.half() if t.is_floating_point() else t for name, t in weights.items()}
    save_file(halved, out / WEIGHTS, {"format": "pt"})
    for name in READ:
        shutil.copyfile(folder / name, out / name)


def _carry_corpus(corpus: str, data_dir: Path, out: Path) -> int:
    drawn = list(_drawn(corpus, data_dir))
    ids = {re.sub(rf"({re.escape(SYNTHETIC)}|{re.escape(STRAY)})$", "", each) for each, _ in drawn}
    raw: RawCorpus = CORPORA[corpus].make(data_dir)
    texts = {each.id: _beginning(each.texts["a"]) for each in raw.examples if each.id in ids}
    find = CORPORA[corpus].find
    assert find is not None
    for name, path in find(data_dir).items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".csv":
            _carry_comments(path, out / name, texts)
        elif corpus == "imdb":
            _carry_reviews(path, out / name, texts)
        else:
            shutil.copyfile(path, out / name)
    if list(_drawn(corpus, out)) != drawn:
        sys.exit(f"{corpus}: other texts would be drawn from what is carried.")
    return len(texts)


def _drawn(corpus: str, data_dir: Path) -> Iterator[tuple[str, str]]:
    """The ids and texts of all cells; every shortcut is planted in the same texts."""
    for seed in PLAN.seeds:
        spec = corpus_of(Cell(PLAN.shortcuts[0], corpus, MINILM, seed), SETTINGS[MINILM])
        made: RawCorpus = CORPORA["shortcuts"].make(data_dir, **spec.params)
        yield from ((each.id, each.texts["a"]) for each in made.examples)


def _beginning(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower())[:WORDS])


def _carry_reviews(path: Path, to: Path, texts: Mapping[str, str]) -> None:
    """Not compressed, for the same bytes wherever they are written."""
    with gzip.open(path, "rt", encoding="utf8") as source:
        rows = [json.loads(line) for line in source]
    split = path.name.partition(".")[0]
    kept = [
        {"id": row["id"], "text": texts.get(f"imdb-{split}-{row['id']}", ""), "label": row["label"]}
        for row in rows
    ]
    lines = "".join(f"{json.dumps(row)}\n" for row in kept)
    to.write_bytes(gzip.compress(lines.encode(), compresslevel=0, mtime=0))


def _carry_comments(path: Path, to: Path, texts: Mapping[str, str]) -> None:
    with path.open(encoding="utf8", newline="") as source:
        rows = list(csv.DictReader(source))
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(("is_offensive", "text"))
    for number, row in enumerate(rows):
        writer.writerow((row["is_offensive"], texts.get(f"toxicity-{number:06d}", "")))
    to.write_text(lines.getvalue(), encoding="utf8")


if __name__ == "__main__":
    main()
