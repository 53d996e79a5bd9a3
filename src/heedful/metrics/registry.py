"""The names of all metrics, each with the module that defines it."""

from heedful.entries import Metric
from heedful.registry import Registry, places

_METRICS = "heedful.metrics"
METRICS = Registry(
    "metric",
    Metric,
    places(
        _METRICS,
        {
            "distances": "tvd jsd kl entropy",
            "correlation": "kendall top_k",
            "labels": "f1 accuracy roc_auc",
            "rationales": "auprc precision_at_k token_f1 iou_f1 mass_inside",
        },
    )
    | {"flips": f"{_METRICS}.flips:ENTRIES"}
    | places(_METRICS, {"translation": "bleu aligned", "labels": "cohen_kappa krippendorff"})
    | places(_METRICS, {"retraining": "racu"}),
)
