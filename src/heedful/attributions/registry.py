"""The names of all saliency, each with the module that defines it."""

from heedful.entries import Attribution
from heedful.errors import HeedfulError, unknown_name
from heedful.parameters import parameters_of
from heedful.registry import OpenRegistry, places


def check_uses(piece: Attribution) -> None:
    """Refuse a saliency that does not say which perturbations it uses."""
    from heedful.perturbations import REMOVALS  # needs torch, and a list of names does not

    origin = piece.origin.partition(" sha256 ")[0]
    saliency = f"the saliency {piece.name!r}" + f" from {origin}" * bool(origin)
    if piece.uses is None:
        raise HeedfulError(
            f"{saliency} does not say which perturbations it uses: set the field uses of its "
            f'Attribution, such as uses=("delete",), or uses=() if it uses none.'
        )
    if not isinstance(piece.uses, tuple) or not all(isinstance(name, str) for name in piece.uses):
        raise HeedfulError(
            f"the field uses of {saliency} is {piece.uses!r}: give a tuple of names, such as "
            f'uses=("delete",).'
        )
    made = parameters_of(piece.make)
    known = [name for name, each in made.items() if isinstance(each.default, str)]
    for name in piece.uses:
        if name[:1] != "=" and name not in REMOVALS:
            raise unknown_name(f"perturbation in the field uses of {saliency}", name, [*REMOVALS])
        if name[:1] == "=" and name[1:] not in known:
            what = f"parameter in the field uses of {saliency}"
            raise unknown_name(what, name[1:], known or ["(none)"])


SALIENCIES = OpenRegistry(
    "saliency",
    Attribution,
    places(
        "heedful.attributions",
        {
            "attention": "attention rollout value_norm gradient_attention effective_attention",
            "attention_flow": "attention_flow",
            "gradient": "gradient gradient_input smoothgrad",
            "decomposition": "decompx globenc alti value_zeroing",
            "alti_logit": "alti_logit",
            "occlusion": "leave_one_out occlusion",
            "linear_models": "lime kernel_shap",
            "contextcite": "contextcite",
            "diffmask": "diffmask",
            "integrated_gradients": "integrated_gradients",
            "lrp": "lrp",
            "attnlrp": "attnlrp",
            "baselines": "prior random",
        },
    ),
    check=check_uses,
)
