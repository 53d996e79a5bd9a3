"""Pairs of texts: natural language inference (SNLI, with e-SNLI's highlights or counterfactual, and
MultiNLI), and CNN's news questions (Hermann et al. 2015): which anonymous entity fills the gap?

A cell of `Sentence1_Highlighted_1` in e-SNLI's tables lists positions of words (the sentence cut
at blanks), as in `3,4,7`, or is `{}`. The training tables have one annotator, dev and test three.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from heedful.data.example import Example, RawCorpus, Spans, matched_tokens
from heedful.data.files import MissingData, Row, Source, by_split, digests
from heedful.entries import Corpus
from heedful.errors import HeedfulError, unknown_name
from heedful.specs import PrepareSpec

# jain2019 numbers the classes in this order: its Table 1 has 3219, 3237 and 3368 test pairs of
# the classes 0, 1 and 2, which are SNLI's counts of these three.
LABELS = ("neutral", "contradiction", "entailment")
NO_GOLD = "-"
COLUMNS = ("premise", "hypothesis", "label")
SNLI = Source(
    "the Stanford Natural Language Inference corpus",
    "https://nlp.stanford.edu/projects/snli",
    by_split("snli/*.jsonl.gz"),
)
SNLI_CAD = Source(
    "the counterfactually augmented SNLI",
    "https://github.com/acmi-lab/counterfactually-augmented-data",
    by_split("snli_cad/*.jsonl.gz"),
)
MNLI = Source(
    "MultiNLI",
    "https://cims.nyu.edu/~sbowman/multinli",
    {"train": "mnli/train.jsonl.gz", "test": "mnli/dev_matched.jsonl.gz"},
)
MNLI_NOTE = "tested on the published dev set (matched), dev is cut from train"
ESNLI_FILES = {
    "esnli/esnli_train_1.csv": "train", "esnli/esnli_train_2.csv": "train",
    "esnli/esnli_dev.csv": "dev", "esnli/esnli_test.csv": "test",
}  # fmt: skip
ESNLI = Source(
    "e-SNLI",
    "https://github.com/OanaMariaCamburu/e-SNLI",
    {Path(name).stem: name for name in ESNLI_FILES},
)
PARTS = ("all", "original", "revised")
SENTENCES = {"a": "Sentence1", "b": "Sentence2"}
ANNOTATORS = (1, 2, 3)
NEEDED = ("gold_label", *SENTENCES.values(), *(f"{s}_Highlighted_1" for s in SENTENCES.values()))
MISFIT = "side whose highlights fit no word"


def read_snli(data_dir: Path | None, highlights: bool = False) -> RawCorpus:
    """Pairs without a gold label are dropped. The files differ in how they are tokenised
    (train is raw), so one tokeniser goes over all of them.

    With `highlights` the pairs come from e-SNLI's tables instead, which hold all of SNLI, and
    the words its annotators highlighted are the rationales of both sides.
    """
    return _highlighted(data_dir) if highlights else _pairs(data_dir, "snli", SNLI)


def read_mnli(data_dir: Path | None) -> RawCorpus:
    """The published test set has no labels, so the matched dev set is tested on, and
    `prepare` cuts a dev set from train."""
    raw = _pairs(data_dir, "mnli", MNLI)
    return replace(raw, note="; ".join(filter(None, (raw.note, MNLI_NOTE))))


def _pairs(data_dir: Path | None, corpus: str, whole: Source) -> RawCorpus:
    source = whole.with_train(data_dir)
    return source.read(data_dir, LABELS, COLUMNS, partial(_pair, corpus, source), "no gold label")


def _find(whole: Source, data_dir: Path | None) -> dict[str, Path]:
    return whole.with_train(data_dir).find(data_dir)


def read_snli_cad(data_dir: Path | None, part: str = "all") -> RawCorpus:
    """Pairs that people changed until the label changed. `part` is all pairs, the original ones,
    or the revised ones. The originals of dev and test are also in SNLI's dev and test sets."""
    if part not in PARTS:
        raise unknown_name("part", part, list(PARTS))
    columns, make = (*COLUMNS, "source"), partial(_pair_of_part, part)
    return SNLI_CAD.read(data_dir, LABELS, columns, make, "of the other part")


def _pair_of_part(part: str, split: str, number: int, row: Row) -> Example | None:
    if part not in ("all", row["source"]):
        return None
    return _pair("snli_cad", SNLI_CAD, split, number, row)


def _pair(corpus: str, source: Source, split: str, number: int, row: Row) -> Example | None:
    """Names are places in the file, so leaving some pairs out renames none."""
    where = Path(source.files[split]).name
    return _labelled(f"{corpus}-{split}-{number:06d}", split, row, where)


def _labelled(name: str, split: str, row: Row, where: str) -> Example | None:
    """The premise is attended: side a. The hypothesis asks: side b. None without a gold label."""
    texts, label = {"a": row["premise"], "b": row["hypothesis"]}, row["label"]
    if label in (NO_GOLD, None, ""):
        return None
    if not all(isinstance(text, str) for text in texts.values()):
        raise HeedfulError(f"{name} of {where} lacks a text: give it a premise and a hypothesis.")
    if label not in LABELS:
        known = ", ".join(LABELS)
        raise HeedfulError(f"{name} of {where} has label {label!r}, the classes are {known}.")
    return Example(name, split, texts, LABELS.index(label))


def _highlighted(data_dir: Path | None) -> RawCorpus:
    """All pairs of e-SNLI's four tables. A side where a position fits no word has no rationale;
    such sides are counted."""
    examples: list[Example] = []
    dropped = {"no gold label": 0, MISFIT: 0}
    files = ESNLI.find(data_dir)
    for table, number, row in ESNLI.rows(files, NEEDED):
        file = ESNLI.files[table]
        split = ESNLI_FILES[file]
        pair = _labelled(f"{table}-{split}-{number:06d}", split, _plain(row), file)
        if pair is None:
            dropped["no gold label"] += 1
        else:
            marked, misfits = _marked(pair, row)
            examples.append(marked)
            dropped[MISFIT] += misfits
    return RawCorpus(LABELS, examples, digests(files), dropped=dropped)


def positions(cell: str | None) -> set[int] | None:
    """The positions in a cell; None where nobody annotated or it is no list of them."""
    text = (cell or "").strip()
    if text == "{}":
        return set()
    if not re.fullmatch(r"\d{1,6}(\s*,\s*\d{1,6})*", text, re.ASCII):
        return None
    return {int(number) for number in text.split(",")}


def highlighted(text: str, annotations: Sequence[set[int]]) -> Spans | None:
    """The words that more than half of the annotators marked; None where a position fits none."""
    words = matched_tokens(r"\S+", text)
    if any(position >= len(words) for marks in annotations for position in marks):
        return None
    votes = [sum(i in marks for marks in annotations) for i in range(len(words))]
    return [word[1:] for word, n in zip(words, votes, strict=True) if 2 * n > len(annotations)]


def _marked(pair: Example, row: Row) -> tuple[Example, int]:
    """The pair with its rationales, and how many of its sides had misfitting highlights."""
    found = {side: _side(pair.texts[side], row, name) for side, name in SENTENCES.items()}
    rationales = {side: spans for side, spans in found.items() if spans}
    misfits = sum(spans is None for spans in found.values())
    return replace(pair, rationales=rationales or None), misfits


def _side(text: str, row: Row, sentence: str) -> Spans | None:
    cells = [row.get(f"{sentence}_Highlighted_{n}") for n in ANNOTATORS]
    given = [cell for cell in cells if cell is not None and cell.strip()]
    marks = [positions(cell) for cell in given]
    fitting = [each for each in marks if each is not None]
    return highlighted(text, fitting) if len(fitting) == len(marks) else None


def _plain(row: Row) -> Row:
    return {"premise": row["Sentence1"], "hypothesis": row["Sentence2"], "label": row["gold_label"]}


FOLDERS = {"train": "training", "dev": "validation", "test": "test"}
CNN = Source("the CNN questions", "https://cs.nyu.edu/~kcho/DMQA", FOLDERS)
ENTITY = re.compile(r"@entity\d+")
LETTERS = str.maketrans("0123456789", "abcdefghij")


@dataclass(frozen=True)
class Question:
    """One `.question` file: an article, a sentence about it with a gap, and what fills it."""

    id: str
    split: str
    passage: str
    question: str
    answer: str


def read_cnn(data_dir: Path | None) -> RawCorpus:
    """The classes are the entities of the training articles. Only entities of the passage can
    be the answer, so a question whose answer is not among them cannot be learned or tested
    and is dropped."""
    questions: list[Question] = []
    sources: dict[str, str] = {}
    for split, (name, folder) in zip(FOLDERS, find_cnn(data_dir).items(), strict=True):
        found, sources[name] = _read_folder(folder, split)
        questions += found
    labels = _entities(q.passage for q in questions if q.split == "train")
    places = {name: number for number, name in enumerate(labels)}
    made = [_question(each, places) for each in questions]
    examples = [example for example in made if example is not None]
    dropped = {"answer is no entity of the passage, or of train": len(made) - len(examples)}
    return RawCorpus(labels, examples, sources, dropped=dropped)


def find_cnn(data_dir: Path | None) -> dict[str, Path]:
    """The folder of each split, with questions in it."""
    return {f"cnn/questions/{name}": _folder(data_dir, name) for name in FOLDERS.values()}


def parse(text: str, name: str, split: str) -> Question:
    """Address, passage, question, answer and the entities' names, with empty lines between."""
    parts = [part.strip() for part in re.split(r"\n\s*\n", text.strip())]
    if len(parts) < 4 or not ENTITY.fullmatch(parts[3]) or "@placeholder" not in parts[2]:
        raise HeedfulError(
            f"{name} is no CNN question: it needs an address, a passage, a question with "
            f"@placeholder and an answer like @entity1, with empty lines between."
        )
    return Question(f"cnn-{split}-{Path(name).stem}", split, *parts[1:4])


def spelled(text: str) -> str:
    """Entities with letters for digits (@entity15 becomes @entitybf): words with digits in
    them are all made one later. Nothing moves, so offsets into the original stay right."""
    return ENTITY.sub(lambda match: match.group().translate(LETTERS), text)


def _question(one: Question, places: dict[str, int]) -> Example | None:
    inside = {places[name] for name in ENTITY.findall(one.passage) if name in places}
    label = places.get(one.answer)
    if label is None or label not in inside:
        return None
    texts = {"a": spelled(one.passage), "b": spelled(one.question)}
    return Example(one.id, one.split, texts, label, candidates=tuple(sorted(inside)))


def _entities(passages: Iterable[str]) -> tuple[str, ...]:
    names = {name for passage in passages for name in ENTITY.findall(passage)}
    return tuple(sorted(names, key=lambda name: (len(name), name)))


def _folder(data_dir: Path | None, name: str) -> Path:
    wanted = f"cnn/questions/{name}"
    if data_dir is None or not (data_dir / wanted).is_dir():
        raise MissingData(
            f"the folder {wanted} is not in the data folder: get {CNN.title} from "
            f"{CNN.homepage}, unpack them there, and name the data folder with --data-dir "
            f"or HEEDFUL_DATA."
        )
    folder = data_dir / wanted
    if next(folder.glob("*.question"), None) is None:
        raise MissingData(f"{folder} holds no .question files: unpack {CNN.title} there.")
    return folder


def _read_folder(folder: Path, split: str) -> tuple[list[Question], str]:
    """All questions by name, and one digest over names and bytes: there are very many files."""
    questions, digest = [], hashlib.sha256()
    for path in sorted(folder.glob("*.question")):
        body = path.read_bytes()
        digest.update(f"{path.name}\x1f{len(body)}\x1f".encode() + body)
        questions.append(parse(_decoded(body, path), path.name, split))
    return questions, digest.hexdigest()


def _decoded(body: bytes, path: Path) -> str:
    try:
        return body.decode("utf8")
    except UnicodeDecodeError as error:
        raise HeedfulError(f"{path} is not UTF-8 text: get it again.") from error


_inference = partial(Corpus, needs=("data",), kind="pair")
_PREPARE = PrepareSpec(tokenizer="spacy", min_df=3, vectors="glove")
ENTRIES = {
    "snli": _inference(
        name="snli",
        description="A premise and a hypothesis: entailment, contradiction or neither",
        make=read_snli,
        find=partial(_find, SNLI),
        paper="jain2019",
        licence="CC BY-SA 4.0; e-SNLI: MIT",
        citation="Bowman et al. 2015, A Large Annotated Corpus for Learning NLI; "
        "highlights: Camburu et al. 2018, e-SNLI",
        prepare=_PREPARE,
    ),
    "snli_cad": _inference(
        name="snli_cad",
        description="SNLI pairs and their counterfactual revisions",
        make=read_snli_cad,
        find=SNLI_CAD.find,
        paper="kaushik2020",
        licence="Apache 2.0; SNLI: CC BY-SA 4.0",
        citation="Kaushik et al. 2020, Learning the Difference That Makes a Difference",
        prepare=_PREPARE,
    ),
    "mnli": _inference(
        name="mnli",
        description="A premise from one of several genres and a hypothesis",
        make=read_mnli,
        find=partial(_find, MNLI),
        paper="vashishth2019",
        licence="OANC terms; parts CC BY or CC BY-SA",
        citation="Williams et al. 2018, A Broad-Coverage Challenge Corpus for Sentence "
        "Understanding",
        prepare=replace(_PREPARE, dev_fraction=0.1),
    ),
    "cnn": _inference(
        name="cnn",
        description="News articles and a sentence with a gap; the answer is an entity of the "
        "article",
        make=read_cnn,
        find=find_cnn,
        paper="jain2019",
        licence="as published by DeepMind; the articles are CNN's",
        citation="Hermann et al. 2015, Teaching Machines to Read and Comprehend",
        prepare=PrepareSpec(tokenizer="whitespace", min_df=8, vectors="glove"),
    ),
}
