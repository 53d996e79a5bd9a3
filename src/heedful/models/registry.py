"""The names of all models and of their parts, each with the module that defines it."""

from heedful.entries import ModelFamily, ModelPart
from heedful.registry import Registry

_MODELS = "heedful.models"
FAMILIES = Registry(
    "family",
    ModelFamily,
    {
        name: f"{_MODELS}.{name}"
        for name in ("one_sequence", "hierarchical", "pair", "seq2seq", "transformer")
    },
)

ENCODERS = Registry(
    "encoder",
    ModelPart,
    {
        "bilstm": f"{_MODELS}.recurrent:ENTRIES",
        "lstm": f"{_MODELS}.recurrent:ENTRIES",
        "cnn": f"{_MODELS}.convolution:ENTRIES",
        "average": f"{_MODELS}.encoders:ENTRIES",
        "bigru": f"{_MODELS}.recurrent:ENTRIES",
        "conv": f"{_MODELS}.convolution:ENTRIES",
        "none": f"{_MODELS}.encoders:ENTRIES",
        "orthogonal": f"{_MODELS}.recurrent:ENTRIES",
    },
)

WRAPPERS = Registry(
    "wrapper", ModelPart, dict.fromkeys(("concat", "residual"), f"{_MODELS}.encoders:ENTRIES")
)

ATTENTIONS = Registry(
    "attention",
    ModelPart,
    dict.fromkeys(
        ("additive", "dot", "plain_dot", "gate", "sparsemax", "entmax", "hard"),
        f"{_MODELS}.attention:ENTRIES",
    ),
)
