"""What the page says of each section. Numbers are for the tables, which are measured."""

from __future__ import annotations

from dataclasses import dataclass

TITLE = "# Benchmarks"
INTRODUCTION = """\
`make bench` writes this page. Theirs and ours were measured by one command in the same process, on
the same texts and the same weights. Seconds are the best of several runs. MB are the peak of the
first run beyond what was held before it: the process's on a CPU, the allocator's on a card. The
ratio is their seconds over ours. Every part has a process of its own. Times vary between runs, and
more under load, so compare within a row: a ratio near one means no difference."""
REPEAT = """\
## To measure again

<!-- needs: hours -->
```console
$ make bench                                     # all parts on the CPU, and this page
$ python -m bench --only captum training-sst     # some sections or parts; the others stay
$ python -m bench --device cuda                  # the same on a card
$ python -m bench --quick                        # does it run at all? keeps nothing
$ python -m bench.page                           # this page from what is kept
```

Results are kept in `bench/measured/`, part by part: a run that was stopped goes on where it was.
`--out FOLDER` keeps results and page elsewhere. What a package is missing for is skipped, and the
page says so."""


@dataclass(frozen=True)
class Section:
    """With `by_size` the section has a table for each size."""

    name: str
    title: str
    text: str
    by_size: bool = False


SECTIONS = (
    Section(
        "papers",
        "The papers' procedures",
        """\
jain2019's experiments restated as they were published: plain tensor operations in small batches,
a re-run per deletion, permutations one after the other, adversaries by AMSGrad, all on a packed
LSTM. The model, a BiLSTM with additive attention, was trained on generated texts as long as SST's
and IMDb's. All parts start from the passes through the model; a battery makes them and runs
everything. The gradient and leave-one-out share one encoding of each text, so `correlation` costs
less than its two parts. The entropy-matched search is not in the paper. The reference's seconds
are added up from its parts, and its MB in a battery are the largest part's. Small batches leave
most of a card idle, so ratios are larger there.""",
        by_size=True,
    ),
    Section(
        "reach",
        "Search beside the exact solver",
        """\
How long Heedful's own search with a single candidate needs to come close to the furthest attention,
which the exact solver knows. A search that ends in a local optimum never arrives.""",
    ),
    Section(
        "deletions",
        "Leave-one-out by length",
        """\
A text of T random tokens. The naive way deletes each token and runs the model again; for long texts
it is timed on deletions spread over the text, and scaled. Ours is `model.without_each`: recurrent
encoders walk on from cached states, convolutions recompute a window, and where states do not depend
on their neighbours nothing but the sum changes. Hugging Face models are run again, so they gain
nothing. Growth is the slope of log time over log T between the two longest texts.""",
    ),
    Section(
        "training",
        "A training epoch",
        """\
Heedful's training loop beside the loop a tutorial writes: shuffled batches padded to the longest
text of each, a packed BiLSTM of the same size with additive attention, Adam, binary cross-entropy.
Both make the same number of updates and are scored on the dev split after each epoch, which counts.
Ours also buckets texts by length, keeps the best epoch, and has AMSGrad and weight decay.""",
    ),
    Section(
        "captum",
        "Beside Captum",
        """\
Every method that both have, on a BERT with random weights and texts of random tokens. *Documented*
is Captum as its tutorials run it, one text at a time; *best* is the fastest of some settings:
padded batches, several steps or perturbations at once. Captum keeps transformers' fast attention;
Heedful's stays open to edits. Methods that do not sample must give the same scores, or the part
fails. Integrated gradients are compared at an equal completeness gap: every text within what Captum
left in its worst; for *best* Captum takes as few steps as bring every text within Heedful's
tolerance. Methods that sample are compared at an equal number of samples, with Captum's kernel,
removal and noise set to Heedful's. Captum has no deletion that shortens a text.""",
        by_size=True,
    ),
    Section(
        "inseq",
        "Beside inseq",
        """\
Decoders: for each token that a GPT-2 with random weights wrote after a prompt, scores of all tokens
before it. *Documented* is inseq given the written text, which it explains one text at a time with
eager attention; *best* is the fastest of some settings: fast attention, several steps or
perturbations at once, and inseq writing the text itself, which lets it take several texts at once.
Scores must be the same, or the part fails; integrated gradients are compared at an equal
completeness gap.""",
    ),
    Section(
        "attach",
        "Attention that can be edited",
        """\
The forward pass of a Hugging Face model attached to Heedful, all weights kept, beside the module
itself with eager attention and `output_attentions`.""",
    ),
    Section(
        "long",
        "Long texts",
        """\
Time and memory of the probes where texts are long; memory is beyond the passes, which are made
before.""",
    ),
)
