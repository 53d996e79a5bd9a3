"""The names of all saliency, each with the module that defines it."""

from heedful.catalogue import OpenCatalogue, Piece
from heedful.errors import HeedfulError, unknown_name
from heedful.parameters import parameters_of
from heedful.removal import REMOVALS


def check_uses(piece: Piece) -> None:
    """Refuse a saliency that does not say which perturbations it uses."""
    origin = piece.origin.partition(" sha256 ")[0]
    saliency = f"the saliency {piece.name!r}" + f" from {origin}" * bool(origin)
    if piece.uses is None:
        raise HeedfulError(
            f"{saliency} does not say which perturbations it uses: set the field uses of its "
            f'Piece, such as uses=("delete",), or uses=() if it uses none.'
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
    check=check_uses,
)
