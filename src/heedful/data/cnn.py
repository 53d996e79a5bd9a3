"""CNN news questions (Hermann et al. 2015): which anonymous entity fills the gap?"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from heedful.data.example import Example, RawCorpus
from heedful.data.files import MissingData, Source
from heedful.entries import Corpus
from heedful.errors import HeedfulError
from heedful.specs import PrepareSpec

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


def read(data_dir: Path | None) -> RawCorpus:
    """The classes are the entities of the training articles. Only entities of the passage can
    be the answer, so a question whose answer is not among them cannot be learned or tested
    and is dropped."""
    questions: list[Question] = []
    sources: dict[str, str] = {}
    for split, (name, folder) in zip(FOLDERS, find(data_dir).items(), strict=True):
        found, sources[name] = _read_folder(folder, split)
        questions += found
    labels = _entities(q.passage for q in questions if q.split == "train")
    places = {name: number for number, name in enumerate(labels)}
    made = [_example(each, places) for each in questions]
    examples = [example for example in made if example is not None]
    dropped = {"answer is no entity of the passage, or of train": len(made) - len(examples)}
    return RawCorpus(labels, examples, sources, dropped=dropped)


def find(data_dir: Path | None) -> dict[str, Path]:
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


def _example(one: Question, places: dict[str, int]) -> Example | None:
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
        questions.append(parse(_text(body, path), path.name, split))
    return questions, digest.hexdigest()


def _text(body: bytes, path: Path) -> str:
    try:
        return body.decode("utf8")
    except UnicodeDecodeError as error:
        raise HeedfulError(f"{path} is not UTF-8 text: get it again.") from error


ENTRY = Corpus(
    name="cnn",
    description="News articles and a sentence with a gap; the answer is an entity of the article",
    make=read,
    find=find,
    paper="jain2019",
    needs=("data",),
    kind="pair",
    licence="as published by DeepMind; the articles are CNN's",
    citation="Hermann et al. 2015, Teaching Machines to Read and Comprehend",
    prepare=PrepareSpec(tokenizer="whitespace", min_df=8, vectors="glove"),
)
