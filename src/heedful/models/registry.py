"""The names of all models, each with the module, and the value in it, that defines it."""

from heedful.catalogue import Catalogue

FAMILIES = Catalogue(
    "family",
    {
        name: f"heedful.models.{name}"
        for name in ("one_sequence", "hierarchical", "pair", "seq2seq", "transformer")
    },
)

ENCODERS = Catalogue(
    "encoder",
    {
        "bilstm": "heedful.models.encoders.recurrent:BILSTM_PIECE",
        "lstm": "heedful.models.encoders.recurrent:LSTM_PIECE",
        "cnn": "heedful.models.encoders.convolution:CNN_PIECE",
        "average": "heedful.models.encoders.tokenwise:AVERAGE_PIECE",
        "bigru": "heedful.models.encoders.recurrent:BIGRU_PIECE",
        "conv": "heedful.models.encoders.convolution:CONV_PIECE",
        "none": "heedful.models.encoders.tokenwise:NONE_PIECE",
        "orthogonal": "heedful.models.encoders.recurrent:ORTHOGONAL_PIECE",
    },
)

WRAPPERS = Catalogue(
    "wrapper",
    {
        "concat": "heedful.models.encoders.wrapped:CONCAT_PIECE",
        "residual": "heedful.models.encoders.wrapped:RESIDUAL_PIECE",
    },
)

ATTENTIONS = Catalogue(
    "attention",
    {
        "additive": "heedful.models.attention.additive:ADDITIVE_PIECE",
        "dot": "heedful.models.attention.dot:DOT_PIECE",
        "plain_dot": "heedful.models.attention.dot:PLAIN_DOT_PIECE",
        "gate": "heedful.models.attention.additive:GATE_PIECE",
        "sparsemax": "heedful.models.attention.additive:SPARSEMAX_PIECE",
        "entmax": "heedful.models.attention.additive:ENTMAX_PIECE",
        "hard": "heedful.models.attention.hard:HARD_PIECE",
    },
)
