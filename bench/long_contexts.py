"""`python -m bench.long_contexts`: time and memory of explanations of a long context, by sentences.

Each explanation has a process of its own, so the peak is that of loading the model and explaining
one text, as `heedful explain` does it. Prints a table.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from heedful.store import markdown_table

MODEL = Path(".pretrained/smollm2")
EXPLANATIONS = ("attention", "gradient", "contextcite")
THINGS = ("lamp", "letter", "coat", "map", "violin", "basket", "clock", "ring")
PEOPLE = ("Anna", "Boris", "Clara", "David", "Emma", "Felix")
COLUMNS = ("tokens", "sentences", "explanation", "seconds", "CPU seconds", "peak MB")


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    if options.alone:
        print(json.dumps(explained(options.model, options.tokens[0], options.explanations[0])))
        return
    lines = list(_measured(options))
    print(markdown_table(list(COLUMNS), lines, ["---:"] * len(COLUMNS)))


def _measured(options: argparse.Namespace) -> Iterator[list[str]]:
    for tokens in options.tokens:
        for name in options.explanations:
            command = [sys.executable, "-m", "bench.long_contexts", "--alone"]
            command += ["--model", options.model, "--tokens", str(tokens), "--explanations", name]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            found = json.loads(done.stdout) if done.returncode == 0 else {}
            cells = [found.get(column, "") for column in COLUMNS[3:]]
            size = [f"{tokens:,}", str(found.get("sentences", ""))]
            yield [*size, name, *(map(str, cells) if found else ("failed", "", ""))]


def explained(model: str, tokens: int, explanation: str) -> dict[str, Any]:
    """What one explanation takes, the model's loading included in the memory."""
    import heedful
    from heedful.targets import Loading, load

    pair = load(model, Loading(max_length=2 * tokens))
    text, sentences = context(pair.tokenizer, tokens)
    started, worked = time.perf_counter(), time.process_time()
    heedful.explain(
        (pair.module, pair.tokenizer),
        text,
        explanations=explanation,
        unit="sentence",
        max_length=2 * tokens,
        template="{text} All of them are in the",
    )
    return {
        "sentences": sentences,
        "seconds": round(time.perf_counter() - started, 1),
        "CPU seconds": round(time.process_time() - worked, 1),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def context(tokenizer: Any, tokens: int) -> tuple[str, int]:
    """As many sentences as have at most so many tokens, and how many these are."""
    text, place = "", 0
    while True:
        who, what = PEOPLE[place % len(PEOPLE)], THINGS[place % len(THINGS)]
        longer = f"{text} On day {place + 1}, {who} carried the {what} to the old house.".strip()
        if len(tokenizer(longer)["input_ids"]) > tokens:
            return text, place
        text, place = longer, place + 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.long_contexts", description=__doc__)
    parser.add_argument("--model", default=str(MODEL), help="a folder of a language model")
    parser.add_argument("--tokens", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--explanations", nargs="+", default=list(EXPLANATIONS))
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
