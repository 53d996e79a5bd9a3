"""Which kinds of words have the attention, punctuation above all? (mohankumar2020)"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Int
from torch import Tensor

from heedful.catalogue import SHARE, Measure, Piece
from heedful.corpora import KINDS
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings, Pass
from heedful.probes.parts_of_speech_taggers import LEXICON, TAGS, Tagger, version_of
from heedful.probes.parts_of_speech_taggers import tagger as named_tagger
from heedful.types import AttentionRows

_NOBODY = -1  # of tokens outside the text


def parts_of_speech(evidence: Evidence, tagger: str = LEXICON) -> Findings:
    """The share of attention on each kind of word, and the kind's share of the tokens: that is
    what even attention gives it. `tagger` is `lexicon`, or a spaCy pipeline by its name; the
    version of what is installed is part of what names the result."""
    tags = named_tagger(tagger)
    collector = Collector(evidence.data.ids)
    place = {example: number for number, example in enumerate(evidence.data.ids)}
    for each in evidence.passes("parts_of_speech"):
        places = [place[example] for example in each.batch.ids]
        codes = _codes(tags, [evidence.data.surface(number) for number in places], each)
        for site in evidence.sites:
            view = each.rows(site)
            collector.add(each, site, view, _measures(tags, view, codes[view.example]))
    version = {"tagger_version": tags.version} if tags.version else {}
    return Findings(collector.rows(), notes={"tagger": tags.name, **version})


def _depends(tagger: str = LEXICON) -> Mapping[str, str]:
    return {"tagger": version_of(tagger)} if tagger != LEXICON else {}


def _codes(tagger: Tagger, texts: list[list[str]], each: Pass) -> Int[Tensor, "b t"]:
    """The number of each token's tag; a tag is there for each real token."""
    real = each.batch.texts["a"].mask
    codes = torch.full(real.shape, _NOBODY, device=real.device)
    names = tagger.tags or KINDS
    for row, tags in enumerate(tagger.tag(texts)):
        numbers = torch.tensor([names.index(tag) for tag in tags], dtype=codes.dtype)
        codes[row, real[row]] = numbers.to(real.device)
    return codes


def _measures(tagger: Tagger, view: AttentionRows, codes: Tensor) -> dict[str, Tensor]:
    weights = view.weights.double().masked_fill(~view.mask, 0.0)
    even = view.mask.double()
    found: dict[str, Tensor] = {}
    for name, numbers in _groups(tagger).items():
        among = torch.isin(codes, torch.tensor(numbers, device=codes.device)) & view.mask
        found[f"mass:{name}"] = (weights * among).sum(-1) / weights.sum(-1)
        found[f"share:{name}"] = (even * among).sum(-1) / even.sum(-1)
    return found


def _groups(tagger: Tagger) -> dict[str, list[int]]:
    """The three kinds and, from a tagger, each tag."""
    names = tagger.tags or KINDS
    kinds = {
        kind: [number for number, name in enumerate(names) if tagger.kind(name) == kind]
        for kind in KINDS
    }
    return kinds | {tag: [number] for number, tag in enumerate(tagger.tags)}


PIECE = Piece(
    name="parts_of_speech",
    description="attention on punctuation, on function words and on the rest",
    make=parts_of_speech,
    paper="mohankumar2020",
    needs=("tokens",),
    depends=_depends,
    measures={
        **{
            f"mass:{kind}": Measure(f"share of attention on {kind} words", range=SHARE)
            for kind in KINDS
        },
        **{
            f"share:{kind}": Measure(
                f"share of {kind} words among the tokens: even attention", range=SHARE
            )
            for kind in KINDS
        },
        **{
            f"mass:{tag}": Measure(f"share of attention on {tag}, by a tagger", range=SHARE)
            for tag in TAGS
        },
        **{
            f"share:{tag}": Measure(f"share of {tag} among the tokens, by a tagger", range=SHARE)
            for tag in TAGS
        },
    },
    formula="mass:kind = Σ_{t of kind} α_t / Σ_t α_t; share:kind = |kind| / n",
    higher="more attention on this kind of word; even attention has `share`",
    cost="one pass over the texts; a tagger's time where one is named",
    limits=(
        "The built-in lexicon knows English function words alone. That punctuation is attended "
        "to does not show that it is not used."
    ),
)
