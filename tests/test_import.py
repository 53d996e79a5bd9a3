"""`heedful import`: ONNX and GGUF files become folders that say the same, or are refused."""

from __future__ import annotations

import json
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tools.pretrained import SOURCES
from tools.pretrained import made as made_from
from torch import nn

from heedful import HeedfulError, explain, head_view, import_model, open_target
from heedful.cli import main
from heedful.types import Keep
from tiny_tokenizers import byte_pairs, word_pieces

transformers = pytest.importorskip("transformers")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
gguf = pytest.importorskip("gguf")

WIDTH, TEXT = 48, "a very good film"
BERT = {
    "vocab_size": 30,
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,  # of 16 dimensions: neither 64 nor 32
    "intermediate_size": 40,
    "max_position_embeddings": 40,
    "num_labels": 3,
}
DISTILBERT = {
    "vocab_size": 30,
    "dim": WIDTH,
    "n_layers": 2,
    "n_heads": 6,
    "hidden_dim": 40,
    "max_position_embeddings": 40,
    "num_labels": 5,
}
MODELS = {
    "bert": ("BertForSequenceClassification", "BertConfig", BERT),
    "roberta": ("RobertaForSequenceClassification", "RobertaConfig",
                {**BERT, "pad_token_id": 1, "layer_norm_eps": 1e-5}),
    "distilbert": ("DistilBertForSequenceClassification", "DistilBertConfig", DISTILBERT),
    "tags": ("DistilBertForTokenClassification", "DistilBertConfig", DISTILBERT),
}  # fmt: skip


def made(kind: str) -> Any:
    """A random model whose weights are larger than usual, so that every head counts."""
    model, config, sizes = MODELS[kind]
    torch.manual_seed(3)
    module = getattr(transformers, model)(getattr(transformers, config)(**sizes)).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return module


def exported(module: nn.Module, file: Path, names: tuple[str, ...]) -> Path:
    file.parent.mkdir(exist_ok=True)
    tokens = torch.randint(5, 30, (2, 7))
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    inputs["token_type_ids"] = torch.zeros_like(tokens)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            tuple(inputs[name] for name in names),
            str(file),
            dynamo=False,
            input_names=list(names),
            output_names=["logits"],
            dynamic_axes={name: {0: "b", 1: "s"} for name in names},
            opset_version=17,
        )
    word_pieces().save_pretrained(file.parent)
    return file


def file_of(kind: str, folder: Path) -> Path:
    three = ("input_ids", "attention_mask", "token_type_ids")
    return exported(made(kind), folder / "model.onnx", three if kind == "bert" else three[:2])


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return file_of("bert", tmp_path_factory.mktemp("bert"))


@pytest.mark.parametrize("kind", ["roberta", "distilbert", "tags"])
def test_every_weight_comes_back_under_its_name(kind: str, tmp_path: Path) -> None:
    done = import_model(file_of(kind, tmp_path / "from"), tmp_path / "to")
    assert done.architecture == MODELS[kind][0]
    assert done.difference < 1e-4 and done.agreement == 1.0 and not done.notes
    model = getattr(transformers, done.architecture).from_pretrained(tmp_path / "to")
    before, after = made(kind).state_dict(), model.state_dict()
    assert set(before) == set(after)
    for name, weight in before.items():
        torch.testing.assert_close(after[name], weight, rtol=0, atol=0, msg=name)


def test_the_folder_is_explained_and_the_command_says_what_was_compared(
    bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "to"
    assert main(["import", str(bert), "-o", str(out), "--labels", "no, maybe ,yes"]) == 0
    told = capsys.readouterr().out
    assert "BertForSequenceClassification" in told and "onnxruntime on the file" in told
    config = transformers.AutoConfig.from_pretrained(out)
    assert config.num_attention_heads == 3 and config.id2label[2] == "yes"
    found = explain(str(out), TEXT, explanations=["attention"])
    tokens = word_pieces()(TEXT, return_tensors="pt")
    with torch.no_grad():
        p = made("bert")(**tokens).logits.softmax(-1)[0]
    assert found.probability == pytest.approx(float(p.max()), abs=1e-5)


def test_eight_bits_are_dequantised_and_it_is_said(bert: Path, tmp_path: Path) -> None:
    from onnxruntime.quantization import quantize_dynamic

    small = tmp_path / "from" / "model.onnx"
    small.parent.mkdir()
    quantize_dynamic(str(bert), str(small))
    word_pieces().save_pretrained(small.parent)
    done = import_model(small, tmp_path / "to")
    assert any("8 bits" in note for note in done.notes)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "to")
    for name, weight in made("bert").state_dict().items():
        step = float(weight.max() - weight.min()) / 255  # one scale for a matrix
        assert float((model.state_dict()[name] - weight).abs().max()) <= step


def test_activations_that_are_rounded_too_are_left_out_of_the_comparison(
    bert: Path, tmp_path: Path
) -> None:
    """A statically quantised file: its weights are exact, and it is said how far its rounding
    takes the logits."""
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            draw = np.random.default_rng(0)
            self.left = [
                {
                    "input_ids": draw.integers(5, 30, (4, 12)),
                    "attention_mask": np.ones((4, 12), dtype=np.int64),
                    "token_type_ids": np.zeros((4, 12), dtype=np.int64),
                }
                for _ in range(8)
            ]

        def get_next(self) -> Any:
            return self.left.pop() if self.left else None

    small = tmp_path / "from" / "model.onnx"
    small.parent.mkdir()
    quantization.quantize_static(
        str(bert), str(small), Reader(), op_types_to_quantize=["MatMul", "Gather"]
    )
    word_pieces().save_pretrained(small.parent)
    done = import_model(small, tmp_path / "to")
    rounding = next(note for note in done.notes if "rounds activations" in note)
    assert float(rounding.rpartition(" ")[2].rstrip(".")) < 1e-4 < done.difference


class Pooled(nn.Module):
    """A head that transformers does not have, on a `kind` of encoder."""

    def __init__(self, kind: str = "bert", activation: type[nn.Module] = nn.ReLU) -> None:
        super().__init__()
        whole = made(kind)
        self.encoder = getattr(whole, whole.base_model_prefix)
        self.classifier = nn.Sequential(nn.Linear(WIDTH, 8), activation(), nn.Linear(8, 3))

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        states = self.encoder(input_ids, attention_mask).last_hidden_state
        return self.classifier(self.pooled(states, attention_mask))

    def pooled(self, states: Any, mask: Any) -> Any:
        whole = mask.unsqueeze(-1).expand(states.shape).float()
        return (states * whole).sum(1) / whole.sum(1).clamp(min=1e-9)


class First(Pooled):
    """It reads the first token."""

    def pooled(self, states: Any, mask: Any) -> Any:
        return states[:, 0]


class Padded(Pooled):
    """It averages padding, too."""

    def pooled(self, states: Any, mask: Any) -> Any:
        return states.mean(1)


BOTH = ("input_ids", "attention_mask")


@pytest.mark.parametrize(
    ("kind", "pooled", "activation"),
    [("bert", Pooled, nn.ReLU), ("distilbert", Pooled, nn.GELU), ("roberta", First, nn.Tanh)],
)
def test_linear_layers_on_pooled_states_are_a_head(
    kind: str, pooled: type[Pooled], activation: type[nn.Module], tmp_path: Path
) -> None:
    module = pooled(kind, activation).eval()
    file = exported(module, tmp_path / "from" / "model.onnx", BOTH)
    done = import_model(file, tmp_path / "to", labels=["a", "b", "c"])
    assert done.architecture == "PooledForSequenceClassification"
    assert done.difference < 1e-4 and done.agreement == 1.0
    words = word_pieces()
    tokens = words([TEXT, "good"], return_tensors="pt", padding=True)
    with torch.no_grad():
        p = module(tokens["input_ids"], tokens["attention_mask"]).softmax(-1)
    # decompx adds its parts up to the logits, the head's among them, or refuses
    found = explain(str(tmp_path / "to"), TEXT, explanations=["attention", "decompx", "lrp"])
    assert found.probability == pytest.approx(float(p[0].max()), abs=1e-5)
    assert found.predicted == "abc"[int(p[0].argmax())]
    rows = [{"text": TEXT}, {"text": "good"}]
    with open_target(str(tmp_path / "to"), rows, label_column=None) as subject:
        trace = subject.model(subject.encode([0, 1]), keep=Keep(readout_weights=True))
        torch.testing.assert_close(trace.logits.softmax(-1), p, rtol=0, atol=1e-5)
        read = trace.readout_weights[subject.model.sites[-1].name][0]
        assert int((read > 0).sum()) == (1 if pooled is First else len(tokens["input_ids"][0]))
    encoder = transformers.AutoModel.from_pretrained(tmp_path / "to")
    for name, weight in module.encoder.state_dict().items():
        if "pooler" not in name:
            torch.testing.assert_close(encoder.state_dict()[name], weight, rtol=0, atol=0, msg=name)


def test_token_types_of_pairs_are_told_where_the_file_reads_them(
    bert: Path, tmp_path: Path
) -> None:
    file = exported(Pooled().eval(), tmp_path / "from" / "model.onnx", BOTH)
    for source, told in ((bert, True), (file, False)):
        place = tmp_path / str(told)
        import_model(source, place)
        tokenizer = transformers.AutoTokenizer.from_pretrained(place)
        assert ("token_type_ids" in tokenizer(TEXT, "good")) is told


class Scaled(nn.Module):
    """All weights of a BERT, and its second token read."""

    def __init__(self) -> None:
        super().__init__()
        whole = made("bert")
        self.bert, self.classifier = whole.bert, whole.classifier

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        return self.classifier(self.bert(input_ids, attention_mask).last_hidden_state[:, 1])


@pytest.mark.parametrize("module", [Padded, Scaled])
def test_a_head_that_is_not_known_is_refused_and_nothing_is_left(
    module: type[nn.Module], tmp_path: Path
) -> None:
    file = exported(module().eval(), tmp_path / "from" / "model.onnx", BOTH)
    with pytest.raises(HeedfulError, match="save_pretrained"):
        import_model(file, tmp_path / "to")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["from"]


def test_a_changed_weight_is_noticed(bert: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """What is written is compared with what the file does, not with what was read from it."""
    from heedful.models.hf.onnx_weights import OnnxGraph

    read = OnnxGraph.weights

    def spoilt(self: OnnxGraph) -> dict[str, torch.Tensor]:
        found = read(self)
        found["bert.encoder.layer.1.attention.self.key.weight"].neg_()
        return found

    monkeypatch.setattr(OnnxGraph, "weights", spoilt)
    with pytest.raises(HeedfulError, match="give other logits"):
        import_model(bert, tmp_path / "to")


def test_bad_files_are_one_sentence(bert: Path, tmp_path: Path) -> None:
    def refused(match: str, file: Path, out: str = "to", **options: Any) -> None:
        with pytest.raises(HeedfulError, match=match):
            import_model(file, tmp_path / out, **options)
        assert not (tmp_path / "to").exists()

    (tmp_path / "noise.onnx").write_bytes(b"\x08\x01noise")
    (tmp_path / "noise.gguf").write_bytes(b"GGUF noise")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "alone.onnx").write_bytes(bert.read_bytes())
    refused("no file", tmp_path / "none.onnx")
    refused("neither .onnx nor .gguf", tmp_path / "full" / "mine.txt")
    refused("is no ONNX file|holds no graph", tmp_path / "noise.onnx", tokenizer=bert.parent)
    refused("cannot read noise.gguf", tmp_path / "noise.gguf")
    refused("brings its tokenizer", tmp_path / "noise.gguf", labels=["a"])
    refused("without a tokenizer", tmp_path / "alone.onnx")
    refused("is no tokenizer.json", bert, tokenizer=_written(tmp_path / "tokenizer.json", "{}"))
    refused("2 labels were given and the model has 3", bert, labels=["a", "b"])
    refused("is there already", bert, out="full")
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def llama(file: Path) -> Any:
    """A tiny Llama and the same as a GGUF file, 32-bit, as llama.cpp lays weights out: rows of
    queries and keys are in another order."""
    torch.manual_seed(0)
    tokenizer = byte_pairs()
    size, heads, width = len(tokenizer), 2, 16
    module = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=size, hidden_size=width, intermediate_size=24, num_hidden_layers=2,
            num_attention_heads=heads, num_key_value_heads=heads, max_position_embeddings=64,
        )
    ).eval()  # fmt: skip
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(24)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(module.config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(size)
    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(vocabulary)
    writer.add_token_types([3 if token == "<|end|>" else 1 for token in vocabulary])
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    names = {
        "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }  # fmt: skip
    for name, weight in module.state_dict().items():
        array = weight.numpy()
        if "layers." in name:
            _, _, number, rest = name.split(".", 3)
            part = names[rest.removesuffix(".weight")]
            if part in ("attn_q", "attn_k"):
                halves = array.reshape(heads, 2, width // heads // 2, width)
                array = np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(array.shape)
            writer.add_tensor(f"blk.{number}.{part}.weight", array)
        else:
            place = {"model.embed_tokens": "token_embd", "model.norm": "output_norm"}
            writer.add_tensor(f"{place.get(name.removesuffix('.weight'), 'output')}.weight", array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return module


def test_a_gguf_file_becomes_a_language_model_with_gradients(tmp_path: Path) -> None:
    module = llama(tmp_path / "model.gguf")
    done = import_model(tmp_path / "model.gguf", tmp_path / "to")
    assert done.architecture == "LlamaForCausalLM"
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "to", dtype=torch.float32)
    tokens = torch.tensor([[3, 7, 11, 2, 9]])
    with torch.no_grad():
        torch.testing.assert_close(again(tokens).logits, module(tokens).logits, rtol=0, atol=5e-3)
    assert getattr(again.config, "quantization_config", None) is None
    again(tokens).logits.sum().backward()
    assert float(again.get_input_embeddings().weight.grad.abs().sum()) > 0


@pytest.mark.pretrained
@pytest.mark.parametrize(
    ("name", "kind", "off"),
    [
        ("bert-tiny", "BertForSequenceClassification", 1e-4),
        ("cloneguard", "PooledForSequenceClassification", 1e-4),
        ("quire", "DistilBertForTokenClassification", 10.0),  # its activations are rounded
        ("mpnet", "MPNetForMaskedLM", None),  # a bare encoder
    ],
)
def test_models_of_packages(name: str, kind: str, off: float | None, tmp_path: Path) -> None:
    """`make pretrained-more` makes these; each is compared with its file while it is made."""
    source, place = SOURCES[name], tmp_path / name
    for package in source.packages:
        if find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed: make pretrained-more")
    done = made_from(source, place)
    assert transformers.AutoConfig.from_pretrained(place).architectures == [kind]
    if done is None:
        assert len(head_view(str(place), TEXT).weights) == 12
        return
    assert off is not None and done.difference < off and done.agreement == 1.0
    exact = [note.split()[-1] for note in done.notes if "rounds activations" in note]
    assert all(float(number.rstrip(".")) < 1e-4 for number in exact)
    if "Sequence" in kind:
        found = explain(str(place), TEXT, explanations=["attention", "decompx", "lrp"])
        assert len(found.words) == 4
