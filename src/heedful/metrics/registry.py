"""The names of all metrics, each with the module that defines it."""

from heedful.entries import Metric
from heedful.registry import Registry

METRICS = Registry(
    "metric",
    Metric,
    {
        "tvd": "heedful.metrics.distances:TVD",
        "jsd": "heedful.metrics.distances:JSD",
        "kl": "heedful.metrics.distances:KL",
        "entropy": "heedful.metrics.distances:ENTROPY",
        "kendall": "heedful.metrics.correlation:KENDALL",
        "top_k": "heedful.metrics.correlation:TOP_K",
        "f1": "heedful.metrics.labels:F1",
        "accuracy": "heedful.metrics.labels:ACCURACY",
        "roc_auc": "heedful.metrics.labels:ROC_AUC",
        "auprc": "heedful.metrics.rationales:AUPRC",
        "precision_at_k": "heedful.metrics.rationales:PRECISION_AT_K",
        "token_f1": "heedful.metrics.rationales:TOKEN_F1",
        "iou_f1": "heedful.metrics.rationales:IOU_F1",
        "mass_inside": "heedful.metrics.rationales:MASS_INSIDE",
        "flips": "heedful.metrics.flips",
        "bleu": "heedful.metrics.translation:BLEU",
        "aligned": "heedful.metrics.translation:ALIGNED",
        "cohen_kappa": "heedful.metrics.labels:COHEN_KAPPA",
        "krippendorff": "heedful.metrics.labels:KRIPPENDORFF",
    },
)
