"""What a worker does: one job, from the store into the store."""

from __future__ import annotations

from pathlib import Path

from heedful.errors import HeedfulError
from heedful.progress import Progress, silent
from heedful.runner.claim import claimed
from heedful.runner.jobs import Job
from heedful.runner.machine import Machine, machine
from heedful.runner.probe import Reading, probed
from heedful.runner.recipe import Recipe
from heedful.runner.train import trained
from heedful.store import Place, Run, Store, store_at


def work(job: Job, place: Place, where: Machine, progress: Progress = silent) -> str:
    """Results travel through the store alone; what comes back is the job's name."""
    where = machine(where.device, where.threads, where.batch_size)
    store = store_at(place)
    corpus = _corpus(store, job)

    def run_of(recipe: Recipe) -> Run:
        return trained(store, corpus, recipe, where, progress)

    if job.recipe is not None:
        run_of(job.recipe)
    cell = job.cell
    if cell is not None:
        reading = Reading(cell.seed, precision=job.precision)
        with claimed(store, job.name):
            for _ in probed(store, cell.recipe, cell.probes, reading, where, run_of, progress):
                pass  # each is in the store now
    return job.name


def _corpus(store: Store, job: Job) -> Run:
    if isinstance(store.place, Path) and not (store.place / "runs").is_dir():
        raise HeedfulError(
            f"the store {store.place} is not to be seen by this worker: it must be a folder that "
            f"all machines share, or a URL."
        )
    return store.open(job.corpus)
