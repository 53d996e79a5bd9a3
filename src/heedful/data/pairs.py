"""Pairs of texts: natural language inference (SNLI, with e-SNLI's highlights or counterfactual, and
MultiNLI), and CNN's news questions (Hermann et al. 2015): which anonymous entity fills the gap?

A cell of `Sentence1_Highlighted_1` in e-SNLI's tables lists positions of words (the sentence cut
at blanks), as in `3,4,7`, or is `{}`. The training tables have one annotator, dev and test three.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from heedful.data.example import Example, RawCorpus, Spans, matched_tokens, numbered
from heedful.data.files import MissingData, Row, Source, by_split
from heedful.entries import Corpus, by_name
from heedful.errors import HeedfulError, unknown_name
from heedful.specs import PrepareSpec

# jain2019 numbers the classes in this order: its Table 1 has 3219, 3237 and 3368 test pairs of
# the classes 0, 1 and 2, which are SNLI's counts of these three.
LABELS = ("neutral", "contradiction", "entailment")
NO_GOLD, UNLABELLED = "-", "no gold label"
COLUMNS = ("premise", "hypothesis", "label")
SNLI = Source(
    "the Stanford Natural Language Inference corpus",
    "https://nlp.stanford.edu/projects/snli",
    by_split("snli/*.jsonl.gz"),
    part=by_split("snli/*.jsonl.gz") | {"train": "snli/train_subset.jsonl.gz"},
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
    part={"train": "mnli/train_subset.jsonl.gz", "test": "mnli/dev_matched.jsonl.gz"},
)
MNLI_NOTE = "tested on the published dev set (matched), dev is cut from train"
ESNLI = Source(
    "e-SNLI",
    "https://github.com/OanaMariaCamburu/e-SNLI",
    by_split("esnli/esnli_*.csv", ("train_1", "train_2", "dev", "test")),
)
PARTS = ("all", "original", "revised")
REVISIONS = 4
SENTENCES = {"a": "Sentence1", "b": "Sentence2"}
ANNOTATORS = (1, 2, 3)
GOLD = (*SENTENCES.values(), "gold_label")
NEEDED = (*GOLD, *(f"{sentence}_Highlighted_1" for sentence in SENTENCES.values()))
MISFIT = "side whose highlights fit no word"


def read_snli(data_dir: Path | None, highlights: bool = False) -> RawCorpus:
    """Pairs without a gold label are dropped. The files differ in how they are tokenised
    (train is raw), so one tokeniser goes over all of them.

    With `highlights` the pairs come from e-SNLI's tables instead, which hold all of SNLI, and
    the words its annotators highlighted are the rationales of both sides.
    """
    if highlights:
        return _highlighted(data_dir)
    example = partial(_pair, "snli", SNLI.at(data_dir))
    return SNLI.read(data_dir, LABELS, COLUMNS, example, UNLABELLED)


def read_mnli(data_dir: Path | None) -> RawCorpus:
    """The published test set has no labels, so the matched dev set is tested on, and
    `prepare` cuts a dev set from train."""
    example, note = partial(_pair, "mnli", MNLI.at(data_dir)), MNLI_NOTE
    return MNLI.read(data_dir, LABELS, COLUMNS, example, UNLABELLED, note)


def read_snli_cad(data_dir: Path | None, part: str = "all") -> RawCorpus:
    """Pairs that people changed until the label changed. `part` is all pairs, the original ones,
    or the revised ones. The originals of dev and test are also in SNLI's dev and test sets.

    A file has all originals and then four revisions of each, in the same order. The revision and
    its original share the premise or the hypothesis: where they do not, they are not linked."""
    if part not in PARTS:
        raise unknown_name("part", part, list(PARTS))
    originals: dict[str, list[tuple[str, Row]]] = {"train": [], "dev": [], "test": []}

    def example(split: str, number: int, row: Row) -> Example | None:
        own, firsts = f"snli_cad-{split}-{number:06d}", originals[split]
        if row["source"] == "original":
            firsts.append((own, row))
            revises = None
        else:
            place = (number - len(firsts)) // REVISIONS
            first = firsts[place] if place < len(firsts) else None
            revises = first[0] if first is not None and _share_a_text(row, first[1]) else None
        if part not in ("all", row["source"]):
            return None
        pair = _labelled(own, split, row, SNLI_CAD.files[split])
        return pair and replace(pair, cluster=revises or own, revises=revises)

    return SNLI_CAD.read(data_dir, LABELS, (*COLUMNS, "source"), example, "of the other part")


def _share_a_text(one: Row, other: Row) -> bool:
    """But for blanks."""
    return any(str(one[side]).split() == str(other[side]).split() for side in COLUMNS[:2])


def _pair(corpus: str, source: Source, split: str, number: int, row: Row) -> Example | None:
    """Names are places in the file, so leaving some pairs out renames none."""
    return _labelled(f"{corpus}-{split}-{number:06d}", split, row, source.files[split])


def _labelled(name: str, split: str, row: Row, file: str) -> Example | None:
    """The premise is attended: side a. The hypothesis asks: side b. None without a gold label."""
    texts, label = {"a": row["premise"], "b": row["hypothesis"]}, row["label"]
    if label in (NO_GOLD, None, ""):
        return None
    where = f"{name} of {Path(file).name}"
    if not all(isinstance(text, str) for text in texts.values()):
        raise HeedfulError(f"{where} lacks a text: give it a premise and a hypothesis.")
    if label not in LABELS:
        raise HeedfulError(f"{where} has label {label!r}, the classes are {', '.join(LABELS)}.")
    return Example(name, split, texts, LABELS.index(label))


def _highlighted(data_dir: Path | None) -> RawCorpus:
    """All pairs of e-SNLI's four tables. A side where a position fits no word has no rationale;
    such sides are counted."""
    misfits: list[str] = []

    def marked(table: str, number: int, row: Row) -> Example | None:
        split = table.partition("_")[0]
        own = dict(zip(COLUMNS, (row[name] for name in GOLD), strict=True))
        pair = _labelled(f"esnli_{table}-{split}-{number:06d}", split, own, ESNLI.files[table])
        if pair is None:
            return None
        spans = {side: _side(pair.texts[side], row, name) for side, name in SENTENCES.items()}
        misfits.extend(side for side in spans if spans[side] is None)
        rationales = {side: found for side, found in spans.items() if found}
        return replace(pair, rationales=rationales or None)

    raw = ESNLI.read(data_dir, LABELS, NEEDED, marked, UNLABELLED)
    return replace(raw, dropped={**raw.dropped, MISFIT: len(misfits)})


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


def _side(text: str, row: Row, sentence: str) -> Spans | None:
    cells = [row.get(f"{sentence}_Highlighted_{n}") for n in ANNOTATORS]
    given = [cell for cell in cells if cell is not None and cell.strip()]
    marks = [positions(cell) for cell in given]
    fitting = [each for each in marks if each is not None]
    return highlighted(text, fitting) if len(fitting) == len(marks) else None


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
        digest = hashlib.sha256()  # one over names and bytes: there are very many files
        for path in sorted(folder.glob("*.question")):
            body = path.read_bytes()
            digest.update(f"{path.name}\x1f{len(body)}\x1f".encode() + body)
            try:
                text = body.decode("utf8")
            except UnicodeDecodeError as error:
                raise HeedfulError(f"{path} is not UTF-8 text: get it again.") from error
            questions.append(parse(text, path.name, split))
        sources[name] = digest.hexdigest()
    passages = (question.passage for question in questions if question.split == "train")
    names = {name for passage in passages for name in ENTITY.findall(passage)}
    labels = tuple(sorted(names, key=lambda name: (len(name), name)))
    places = numbered(labels)
    examples = [_question(question, places) for question in questions]
    kept = [example for example in examples if example is not None]
    dropped = {"answer is no entity of the passage, or of train": len(examples) - len(kept)}
    return RawCorpus(labels, kept, sources, dropped=dropped)


def find_cnn(data_dir: Path | None) -> dict[str, Path]:
    """The folder of each split, with questions in it."""
    folders = {}
    for name in (f"cnn/questions/{folder}" for folder in FOLDERS.values()):
        if data_dir is None or not (data_dir / name).is_dir():
            raise MissingData(
                f"the folder {name} is not in the data folder: get {CNN.title} from "
                f"{CNN.homepage}, unpack them there, and name the data folder with --data-dir "
                f"or HEEDFUL_DATA."
            )
        folders[name] = data_dir / name
        if next(folders[name].glob("*.question"), None) is None:
            raise MissingData(
                f"{folders[name]} holds no .question files: unpack {CNN.title} there."
            )
    return folders


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


_inference = partial(Corpus, needs=("data",), kind="pair")
_PREPARE = PrepareSpec(tokenizer="spacy", min_df=3, vectors="glove")
ENTRIES = by_name(
    _inference(
        name="snli",
        description="A premise and a hypothesis: entailment, contradiction or neither",
        make=read_snli,
        find=SNLI.find,
        paper="jain2019",
        licence="CC BY-SA 4.0; e-SNLI: MIT",
        citation="Bowman et al. 2015, A Large Annotated Corpus for Learning NLI; "
        "highlights: Camburu et al. 2018, e-SNLI",
        prepare=_PREPARE,
    ),
    _inference(
        name="snli_cad",
        description="SNLI pairs and their counterfactual revisions",
        make=read_snli_cad,
        version=2,
        find=SNLI_CAD.find,
        paper="kaushik2020",
        licence="Apache 2.0; SNLI: CC BY-SA 4.0",
        citation="Kaushik et al. 2020, Learning the Difference That Makes a Difference",
        prepare=_PREPARE,
    ),
    _inference(
        name="mnli",
        description="A premise from one of several genres and a hypothesis",
        make=read_mnli,
        find=MNLI.find,
        paper="vashishth2019",
        licence="OANC terms; parts CC BY or CC BY-SA",
        citation="Williams et al. 2018, A Broad-Coverage Challenge Corpus for Sentence "
        "Understanding",
        prepare=replace(_PREPARE, dev_fraction=0.1),
    ),
    _inference(
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
)
