"""Saliency: from a model and a batch to one score per token or word. Attention is one of them."""

from heedful.open_catalogue import OpenCatalogue

SALIENCIES = OpenCatalogue(
    "saliency",
    {
        "attention": "heedful.saliency.attention",
        "rollout": "heedful.saliency.rollout",
        "value_norm": "heedful.saliency.value_norm",
        "gradient_attention": "heedful.saliency.gradient_attention",
        "effective_attention": "heedful.saliency.effective_attention",
        "gradient": "heedful.saliency.gradient",
        "gradient_input": "heedful.saliency.gradient_input",
        "integrated_gradients": "heedful.saliency.integrated_gradients",
        "smoothgrad": "heedful.saliency.smoothgrad",
        "lrp": "heedful.saliency.lrp",
        "leave_one_out": "heedful.saliency.leave_one_out",
        "occlusion": "heedful.saliency.occlusion",
        "lime": "heedful.saliency.lime",
        "kernel_shap": "heedful.saliency.kernel_shap",
        "prior": "heedful.saliency.prior",
        "random": "heedful.saliency.random",
    },
)
