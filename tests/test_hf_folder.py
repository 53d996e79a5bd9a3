"""A model is read from the files that were checked, and from nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import huggingface_hub
import torch

from heedful.errors import HeedfulError
from heedful.models import (
    ModelFolder,
    check_tokenizer,
    find_folder,
    opened,
    read_folder,
    tokenizing,
)
from heedful.targets import Loading, load
from tiny_hf import tiny_hf
from tiny_tokenizers import saved, word_pieces

INDEX = "model.safetensors.index.json"
TOKENIZER = {"tokenizer.json", "tokenizer_config.json"}
ON_CPU = Loading(device="cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "bert")


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    tiny_hf().save_pretrained(tmp_path / "shards", max_shard_size="10KB")
    word_pieces().save_pretrained(tmp_path / "shards")
    return tmp_path / "shards"


def in_cache(model: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The snapshot of a model as the hub's cache has it: files in `blobs`, and links to them."""
    place = cache / "models--somebody--tiny"
    snapshot = place / "snapshots" / ("0" * 40)
    for each in (snapshot, place / "blobs", place / "refs"):
        each.mkdir(parents=True)
    (place / "refs" / "main").write_text(snapshot.name)
    for number, file in enumerate(sorted(model.iterdir())):
        shutil.copyfile(file, place / "blobs" / str(number))
        (snapshot / file.name).symlink_to(Path("..", "..", "blobs", str(number)))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    return snapshot


def weights(module: Any) -> torch.Tensor:
    return torch.cat([each.flatten() for each in module.state_dict().values()])


def test_the_files_that_are_read_are_named_and_hashed(folder: Path) -> None:
    before = read_folder(folder).digests()
    assert set(before) == {"config.json", "model.safetensors", *TOKENIZER}
    for other in ("pytorch_model.bin", "code.py", "other.safetensors", "generation_config.json"):
        (folder / other).write_bytes(b"{}")
    assert read_folder(folder).digests() == before
    tiny_hf(seed=1).save_pretrained(folder)
    after = read_folder(folder).digests()
    assert {name for name in after if after[name] != before[name]} == {"model.safetensors"}


def test_weights_in_several_files_are_all_read(sharded: Path) -> None:
    files = {each.name for each in sharded.glob("*.safetensors")}
    assert len(files) > 1 and set(read_folder(sharded).digests()) == {
        "config.json", INDEX, *files, *TOKENIZER,
    }  # fmt: skip
    found = load(sharded, ON_CPU)
    torch.testing.assert_close(weights(found.module), weights(tiny_hf()))


def test_a_model_of_the_hub_is_held_to_the_same_rule(
    sharded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = in_cache(sharded, tmp_path / "cache", monkeypatch)
    by_id, by_path = load("somebody/tiny", ON_CPU), load(snapshot, ON_CPU)
    assert by_id.name == "somebody/tiny" == by_id.module.config.name_or_path
    torch.testing.assert_close(weights(by_id.module), weights(tiny_hf()))
    torch.testing.assert_close(weights(by_path.module), weights(tiny_hf()))
    (snapshot / INDEX).unlink()
    (snapshot / INDEX).write_text(json.dumps({"weight_map": {"x": "pytorch_model.bin"}}))
    with pytest.raises(HeedfulError, match="is a pickle file"):
        find_folder("somebody/tiny")


def test_links_out_of_a_folder_are_refused(folder: Path) -> None:
    """Also to the weights of another model in the same cache."""
    other = saved(folder.parent / "other", seed=1)
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").symlink_to(other / "tokenizer.json")
    with pytest.raises(HeedfulError, match="tokenizer.json is a link that leads out"):
        read_folder(folder)
    linked = folder.parent / "linked"
    linked.symlink_to(other)
    assert read_folder(linked).digests() == read_folder(other).digests()


def test_transformers_sees_nothing_else(folder: Path) -> None:
    """Neither files nor names that would lead it elsewhere."""
    (folder / "code.py").write_text("raise SystemExit\n")
    (folder / "generation_config.json").write_text("{}")
    put(folder / "config.json", _name_or_path="x/y", attn_implementation="x/kernels", dim=3)
    put(folder / "config.json", auto_map={"AutoConfig": "code.Config"}, fusion_config={})
    put(folder / "tokenizer_config.json", tokenizer_file="/x", fast_tokenizer_files=["../x"])
    with opened(read_folder(folder)) as place:
        there = {each.name for each in place.path.iterdir()}
        config = json.loads((place.path / "config.json").read_text())
        settings = json.loads((place.path / "tokenizer_config.json").read_text())
    assert there == {"config.json", "model.safetensors", *TOKENIZER}
    own = {"_name_or_path", "attn_implementation", "auto_map", "fusion_config"}
    assert not own & set(config) and config["dim"] == 3
    assert not {"tokenizer_file", "fast_tokenizer_files"} & set(settings)
    assert not place.path.exists()
    found = load(folder, ON_CPU)
    torch.testing.assert_close(weights(found.module), weights(tiny_hf()))
    assert found.tokenizer.name_or_path == str(folder)


def put(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_model_larger_than_its_weights_is_refused_while_it_is_built(folder: Path) -> None:
    put(folder / "config.json", num_hidden_layers=900)
    with pytest.raises(HeedfulError, match="far larger than its weights"):
        load(folder, ON_CPU)
    torch.nn.Linear(10_000, 10_000, device="meta")  # nobody counts any more


GPT2 = r"'s|'t|'re| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA = r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
POSSESSIVE = r"'(?i:[sdmt]|ll)|[^\r\n\p{L}]?+\p{L}++|\p{N}{1,3}+| ?[^\s]++[\r\n]*+|\s++$|\s"
THREES = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
CLASSES = r" ?[^(\s|[.,!?…。，、।۔،])]+|[\p{Lu}&&[^\p{Han}]]*[\p{Ll}&&[^\p{Han}]]+(?i:'s|'t)?"


@pytest.mark.parametrize("pattern", [GPT2, LLAMA, POSSESSIVE, THREES, CLASSES, r"(?:[a-z]|[0-9])+"])
def test_regular_expressions_of_known_tokenizers_are_allowed(pattern: str) -> None:
    check_tokenizer({}, split_by(pattern), "it")


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|ab)*c", r"(?:\w+\s?)*x", r"(x{1,9})+", "a*" * 9]
)
def test_regular_expressions_that_never_end_are_refused(pattern: str) -> None:
    with pytest.raises(HeedfulError, match="may never end"):
        check_tokenizer({}, split_by(pattern), "it")


def split_by(pattern: str) -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": pattern}}
    return {"normalizer": None, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split]}}


def test_a_tokenizer_that_panics_is_one_sentence() -> None:
    class PanicException(BaseException):
        """As libraries in Rust raise it."""

    said = "tokenizer of it failed on a text .too many"
    with pytest.raises(HeedfulError, match=said), tokenizing("it"):
        raise PanicException("too many ways. And more.")
    with pytest.raises(KeyboardInterrupt), tokenizing("it"):
        raise KeyboardInterrupt


def test_folders_are_values(folder: Path) -> None:
    found = read_folder(folder)
    assert isinstance(found, ModelFolder) and found.has_tokenizer and found.index is None
    assert sum(found.shards["model.safetensors"].values()) == len(weights(tiny_hf()))


def test_only_safe_files_are_downloaded(
    sharded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def download(name: str, allow_patterns: list[str], revision: str) -> str:
        assert (name, revision) == ("somebody/tiny", "abc")
        asked.extend(allow_patterns)
        return str(sharded)

    known = huggingface_hub.hf_api.ModelInfo(id="somebody/tiny", sha="abc")
    monkeypatch.setattr(huggingface_hub, "model_info", lambda name, timeout: known)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    found = find_folder("somebody/tiny")
    assert set(found.shards) <= set(asked)
    put(sharded / INDEX, weight_map={"x": "pytorch_model.bin", "y": "../y.safetensors"})
    with pytest.raises(HeedfulError, match="pickle"):
        find_folder("somebody/tiny")
    assert not [each for each in asked if each.endswith(".bin") or "/" in each]
