"""The names of all models, each with the module that defines it."""

from heedful.catalogue import Catalogue

FAMILIES = Catalogue(
    "family",
    {
        "one_sequence": "heedful.models.one_sequence",
        "hierarchical": "heedful.models.hierarchical",
        "pair": "heedful.models.pair",
        "seq2seq": "heedful.models.seq2seq.family",
        "transformer": "heedful.models.transformer.family",
    },
)

ENCODERS = Catalogue(
    "encoder",
    {
        "bilstm": "heedful.models.encoders.bilstm",
        "lstm": "heedful.models.encoders.lstm",
        "cnn": "heedful.models.encoders.cnn",
        "average": "heedful.models.encoders.average",
        "bigru": "heedful.models.encoders.bigru",
        "conv": "heedful.models.encoders.conv",
        "none": "heedful.models.encoders.none",
        "orthogonal": "heedful.models.encoders.orthogonal",
    },
)

WRAPPERS = Catalogue(
    "wrapper",
    {
        "concat": "heedful.models.encoders.concat",
        "residual": "heedful.models.encoders.residual",
    },
)

ATTENTIONS = Catalogue(
    "attention",
    {
        "additive": "heedful.models.attention.additive",
        "dot": "heedful.models.attention.dot",
        "plain_dot": "heedful.models.attention.plain_dot",
        "gate": "heedful.models.attention.gate",
        "sparsemax": "heedful.models.attention.sparsemax",
        "entmax": "heedful.models.attention.entmax",
        "hard": "heedful.models.attention.hard",
    },
)
