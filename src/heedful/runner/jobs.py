"""Jobs: what one worker does in one go, from the store into the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from heedful.data import MissingData
from heedful.errors import HeedfulError
from heedful.experiments import Evidence
from heedful.progress import Progress, silent
from heedful.runner.cost import Paces
from heedful.runner.fit import unfit
from heedful.runner.grid import Cell, Grid, check_terms
from heedful.runner.machine import Machine, machine
from heedful.runner.probe import Reading, compared, has_probe, probed
from heedful.runner.recipe import Recipe
from heedful.runner.train import claimed, model_key, trained, untrained
from heedful.store import Place, Run, Store, canonical, run_key, store_at

Announce = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """What one worker does in one go. `name` is the run that it leaves (of probes, which leave
    several, a hash of the cell); it may begin once all that it `needs` is done. `cost` is in
    seconds, of what is not `done` yet."""

    kind: str
    name: str
    title: str
    corpus: str
    needs: tuple[str, ...] = ()
    recipe: Recipe | None = None
    cell: Cell | None = None
    precision: str = "float32"
    cost: float = 0.0
    done: bool = False


def jobs(
    plans: Iterable[Grid],
    store: Store,
    machine: Machine,
    timed: bool = True,
    announce: Announce = lambda line: None,
) -> list[Job]:
    """Cell by cell, so that what is stopped has whole cells: its corpus, which is prepared now,
    its models, teachers first, and its probes. What several cells need is there once."""
    planner = _Planner(store, Paces(machine) if timed else None)
    for plan in plans:
        check_terms(plan, store)
        for cell in plan.cells:
            try:
                corpus = plan.corpus(cell, store)
            except MissingData as missing:
                if not plan.lenient:
                    raise
                announce(f"{cell.title} is left out: {missing}")
                continue
            planner.add(plan, cell, corpus)
    return list(planner.found.values())


@dataclass(frozen=True)
class Cost:
    """Seconds of one cell that are still to be spent; 0 where the store has the run."""

    title: str
    train_seconds: float
    probe_seconds: float


def estimate(plan: Grid, cell: Cell, store: Store, machine: Machine) -> Cost:
    """Time one small epoch and the probes on a sample of typical length, and extrapolate."""
    planner = _Planner(store, Paces(machine))
    planner.add(plan, cell, plan.corpus(cell, store))
    spent = dict.fromkeys(("model", "probes", "corpus"), 0.0)
    for job in planner.found.values():
        spent[job.kind] += job.cost
    return Cost(cell.title, spent["model"], spent["probes"])


def probes_name(cell: Cell, precision: str) -> str:
    """Names the probes of a cell, whatever machine and study it is on."""
    return run_key("probes", {"cell": cell.name, "precision": precision})


@dataclass
class _Planner:
    store: Store
    paces: Paces | None
    found: dict[str, Job] = field(default_factory=dict)
    shapes: dict[str, Evidence] = field(default_factory=dict)

    def add(self, plan: Grid, cell: Cell, corpus: Run) -> None:
        """A cell's corpus, its model and those it is compared with, and its probes."""
        if probes_name(cell, plan.precision) in self.found:
            return
        title = f"{cell.corpus.title} prepared"
        self.found.setdefault(corpus.key, Job("corpus", corpus.key, title, corpus.key, done=True))
        wanted = self._wanted(cell, corpus)
        roles = [recipe for others in wanted.values() for recipe in others.values()]
        models = list(_teachers_first([cell.recipe, *roles]))
        for recipe in models:
            self._add_model(cell, corpus, recipe)
        self._add_probes(plan, cell, corpus, wanted, models)

    def _add_model(self, cell: Cell, corpus: Run, recipe: Recipe) -> None:
        key = model_key(corpus, recipe)
        if key in self.found:
            return
        done = self.store.has(key)
        cost = 0.0 if done or self.paces is None else self.paces.training(corpus, cell, recipe)
        teacher = (model_key(corpus, recipe.teacher),) if recipe.teacher else ()
        title = f"{cell.corpus.title} {recipe.model.name} seed {recipe.seed}"
        job = Job("model", key, title, corpus.key, (corpus.key, *teacher), recipe)
        self.found[key] = replace(job, cost=cost, done=done)

    def _add_probes(
        self,
        plan: Grid,
        cell: Cell,
        corpus: Run,
        wanted: Mapping[int, Mapping[str, Recipe]],
        models: list[Recipe],
    ) -> None:
        name = probes_name(cell, plan.precision)
        missing = self._missing(plan, cell, corpus, wanted)
        cost = 0.0
        if missing and self.paces is not None:
            cost = self.paces.probing(corpus, cell, [cell.probes[number] for number in missing])
        needs = tuple(model_key(corpus, recipe) for recipe in models)
        job = Job("probes", name, f"{cell.title}, probes", corpus.key, needs, cell=cell)
        self.found[name] = replace(job, precision=plan.precision, cost=cost, done=not missing)

    def _missing(
        self, plan: Grid, cell: Cell, corpus: Run, wanted: Mapping[int, Mapping[str, Recipe]]
    ) -> list[int]:
        """The probes that fit and are not in the store, by their place."""
        reading = Reading(cell.seed, precision=plan.precision)

        def lacks(number: int, others: Mapping[str, Recipe]) -> bool:
            keys = {role: model_key(corpus, each) for role, each in others.items()}
            if not all(self.found[key].done for key in keys.values()):
                return True
            runs = {role: self.store.open(key) for role, key in keys.items()}
            return not has_probe(self.store, runs, cell.probes[number], reading)

        return [n for n, some in wanted.items() if lacks(n, {**some, "base": cell.recipe})]

    def _wanted(self, cell: Cell, corpus: Run) -> dict[int, dict[str, Recipe]]:
        """Of every probe that fits, the other models it will be shown."""
        evidence = self._evidence(cell, corpus)
        return {
            number: compared(cell.recipe, probe, evidence)
            for number, probe in enumerate(cell.probes)
            if unfit(probe.name, evidence) is None
        }

    def _evidence(self, cell: Cell, corpus: Run) -> Evidence:
        """Only the latest is kept: cells of one model follow each other, seed by seed."""
        shape = canonical({"corpus": corpus.key, "model": cell.model})
        if shape not in self.shapes:
            self.shapes.clear()
            self.shapes[shape] = untrained(corpus, cell.model)
        return self.shapes[shape]


def _teachers_first(recipes: Iterable[Recipe]) -> Iterator[Recipe]:
    seen: dict[Recipe, None] = {}
    for recipe in recipes:
        chain = [recipe]
        while chain[-1].teacher is not None:
            chain.append(chain[-1].teacher)
        seen.update(dict.fromkeys(reversed(chain)))
    return iter(seen)


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
