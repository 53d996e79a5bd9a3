"""Options that say where jobs run: of sweeps and studies, audits, checks and repair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heedful.cli.help import MACHINE
from heedful.cli.options import option

if TYPE_CHECKING:
    from heedful.runner import EngineRequest

ENGINE = "local (processes) or ray; without one, this process."


@dataclass(frozen=True)
class EngineOptions:
    """An engine and its workers, as they were typed."""

    engine: str | None = option(ENGINE, panel=MACHINE)
    workers: int | None = option(
        "Parallel jobs. [default: as cores and memory allow]", panel=MACHINE
    )
    address: str | None = option("host:port of a running Ray cluster, or auto.", panel=MACHINE)
    gpu_fraction: float | None = option("Share of a GPU per worker. [default: 0.25]", panel=MACHINE)

    def asked(self, device: str, threads: int | None) -> EngineRequest:
        from heedful.runner import EngineRequest

        return EngineRequest(
            self.engine, self.workers, self.address, self.gpu_fraction, device, threads
        )

    def given(self, threads: int | None = None) -> dict[str, Any]:
        """As `heedful.audit` takes them; threads are those of a worker."""
        request = self.asked("auto", threads)
        request.check()
        return request.keywords()
