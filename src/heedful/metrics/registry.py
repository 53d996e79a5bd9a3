"""The names of all metrics, each with the module that defines it."""

from heedful.catalogue import Catalogue

METRICS = Catalogue(
    "metric",
    {
        "tvd": "heedful.metrics.tvd",
        "jsd": "heedful.metrics.jsd",
        "kl": "heedful.metrics.kl",
        "entropy": "heedful.metrics.entropy",
        "kendall": "heedful.metrics.kendall",
        "top_k": "heedful.metrics.top_k",
        "f1": "heedful.metrics.f1",
        "accuracy": "heedful.metrics.accuracy",
        "roc_auc": "heedful.metrics.roc_auc",
        "auprc": "heedful.metrics.auprc",
        "precision_at_k": "heedful.metrics.precision_at_k",
        "token_f1": "heedful.metrics.token_f1",
        "iou_f1": "heedful.metrics.iou_f1",
        "mass_inside": "heedful.metrics.mass_inside",
        "flips": "heedful.metrics.flips",
        "bleu": "heedful.metrics.bleu",
        "aligned": "heedful.metrics.aligned",
        "cohen_kappa": "heedful.metrics.cohen_kappa",
        "krippendorff": "heedful.metrics.krippendorff",
    },
)
