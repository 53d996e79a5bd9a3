"""The names of all models, each with the module, and the value in it, that defines it."""

from heedful.entries import ModelFamily, ModelPart
from heedful.registry import Registry

FAMILIES = Registry(
    "family",
    ModelFamily,
    {
        name: f"heedful.models.{name}"
        for name in ("one_sequence", "hierarchical", "pair", "seq2seq", "transformer")
    },
)

ENCODERS = Registry(
    "encoder",
    ModelPart,
    {
        "bilstm": "heedful.models.encoders.recurrent:BILSTM_ENTRY",
        "lstm": "heedful.models.encoders.recurrent:LSTM_ENTRY",
        "cnn": "heedful.models.encoders.convolution:CNN_ENTRY",
        "average": "heedful.models.encoders.tokenwise:AVERAGE_ENTRY",
        "bigru": "heedful.models.encoders.recurrent:BIGRU_ENTRY",
        "conv": "heedful.models.encoders.convolution:CONV_ENTRY",
        "none": "heedful.models.encoders.tokenwise:NONE_ENTRY",
        "orthogonal": "heedful.models.encoders.recurrent:ORTHOGONAL_ENTRY",
    },
)

WRAPPERS = Registry(
    "wrapper",
    ModelPart,
    {
        "concat": "heedful.models.encoders.wrapped:CONCAT_ENTRY",
        "residual": "heedful.models.encoders.wrapped:RESIDUAL_ENTRY",
    },
)

ATTENTIONS = Registry(
    "attention",
    ModelPart,
    {
        "additive": "heedful.models.attention.additive:ADDITIVE_ENTRY",
        "dot": "heedful.models.attention.dot:DOT_ENTRY",
        "plain_dot": "heedful.models.attention.dot:PLAIN_DOT_ENTRY",
        "gate": "heedful.models.attention.additive:GATE_ENTRY",
        "sparsemax": "heedful.models.attention.additive:SPARSEMAX_ENTRY",
        "entmax": "heedful.models.attention.additive:ENTMAX_ENTRY",
        "hard": "heedful.models.attention.hard:HARD_ENTRY",
    },
)
