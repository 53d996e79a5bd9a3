"""Model families. Each names its sites and honours the contract of `heedful.types.Model`."""

from heedful.catalogue import Catalogue

ENCODERS = Catalogue(
    "encoder",
    {
        "bilstm": "heedful.models.encoders.bilstm",
        "lstm": "heedful.models.encoders.lstm",
        "cnn": "heedful.models.encoders.cnn",
        "average": "heedful.models.encoders.average",
    },
)

ATTENTIONS = Catalogue(
    "attention",
    {
        "additive": "heedful.models.attention.additive",
        "dot": "heedful.models.attention.dot",
    },
)
