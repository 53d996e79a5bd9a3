"""What `docs/cost.md` says between its tables; no numbers."""

from __future__ import annotations

INTRO = """# What it costs

Written by `python -m bench.cost --page` from `bench/measured/cost.json` (made by
`python -m bench.cost --device cuda --out FILE`) and `bench/measured/gpu.json` (by
`python -m bench.gpu --out FILE`). How work is spread over machines is in [scale.md](scale.md)."""

MODEL = """## The model

Costs are sums of products with constants that are measured and never negative. An update: once,
per step of a text, per token of the batch, per number of the vectors (the optimiser visits all of
them), and for models that write per token and word of the vocabulary. A probe: once, per step,
text, token and pair of tokens. An audit: per text, token and pair of tokens. Constants come from
small sizes, from models like those of the grid on made-up texts of even lengths; this is what they
say of two larger sizes that they have not seen, beside what was measured there."""

GRID = """## All studies in full

Every study with all its corpora, models, seeds and probes, as `heedful.studies` has them. Teachers
and models that probes compare with are counted; what several studies need is counted once, at
whoever asks first. Epochs are counted whole: where a training stops early it costs less. Corpora
are as large as published (below), with all texts of one length on the mean: pairs of tokens cost
more where lengths differ."""

BILLION = "## A billion short texts"

BREAKS = """## What would break first

The number of texts at which something ends on the machine that was measured, by what each further
text adds. Memory and files are of an audit of next to nothing (attention's map alone), so that
there can be very many texts; they say what grows, not what a wave of the default audit holds."""

ANSWERS = """What the design does about it:

- **Texts are measured in random order, so whatever has been measured is a random sample.**
  Intervals narrow with the square root of the texts; the table above says how many are enough, and
  `--n` and `--budget` stop there. A billion texts say no more about attention than these do: the
  reason to measure all of them would be to have the maps of all of them.
- **Whoever wants the maps cuts the data into files, each an audit of its own**: audits share
  nothing but the store, and each may have a store of its own. The parts of an unfinished audit are
  small files in one folder; a finished audit is one run of a few.
- **Nothing travels between workers but through the store**: no driver holds results, Ray's object
  store is given jobs and no tables, and a worker that dies costs its own job.
- **Bootstraps are over test examples**, which the table of corpora counts, and never over tokens
  or training texts.
- **A grid ends with its longest job**, since a training is one job on one device: more devices than
  are said above would wait for it."""
