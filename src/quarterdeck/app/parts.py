"""Which operators there are. Adding one is one entry here and one module that attaches it.

The module has

- `async def attach(host: Host) -> None`: registers controllers with `host.manager` and, where the
  operator has a service for people or agents, starts it by `host.serve`;
- `controllers() -> Sequence[Controller]`: the declarations alone, for the permissions they need;
- `SAMPLES`: manifests for `up --demo` and `config/samples`.

Modules are named, not imported: a process pays only for the operators it runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from quarterdeck.app.host import Host
from quarterdeck.app.resolution import SettingError
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.controller.controller import Controller


class Part(NamedTuple):
    """One operator and what belongs to it."""

    name: str
    """What `--operators` calls it."""
    summary: str
    apis: str
    """The module whose `KINDS` need a CRD."""
    module: str
    """The module that attaches it."""
    ports: tuple[str, ...] = ()
    """Settings that name the ports its services listen on in `up`."""

    def kinds(self) -> Sequence[type[Object]]:
        """The kinds whose CRDs it needs."""
        kinds: Sequence[type[Object]] = import_module(self.apis).KINDS
        return kinds

    def controllers(self) -> Sequence[Controller[Any]]:
        """The declarations of its controllers."""
        found: Sequence[Controller[Any]] = import_module(self.module).controllers()
        return found

    def samples(self) -> Sequence[Mapping[str, Any]]:
        """Manifests to try it with."""
        found: Sequence[Mapping[str, Any]] = import_module(self.module).SAMPLES
        return found

    def sample_files(self) -> Mapping[str, str]:
        """Names of sample files that guides mention, by the name of the object."""
        found: Mapping[str, str] = getattr(import_module(self.module), "SAMPLE_FILES", {})
        return found

    async def attach(self, host: Host) -> None:
        """Register its controllers and start its services."""
        await import_module(self.module).attach(host)


PARTS: tuple[Part, ...] = (
    Part(
        "applications",
        "container images kept running",
        "quarterdeck.apis.applications.v1",
        "quarterdeck.app.applications",
        ports=("http_port",),
    ),
    Part(
        "pipelines",
        "configuration for fleets of telemetry collectors",
        "quarterdeck.apis.fleetmanagement.v1alpha1",
        "quarterdeck.app.pipelines",
        ports=("fleet_port",),
    ),
)


def choose(names: Sequence[str]) -> tuple[Part, ...]:
    """The operators of these names, all of them if none is named.

    Raises:
        SettingError: naming the ones there are.
    """
    known = {part.name: part for part in PARTS}
    for name in names:
        if name not in known:
            raise SettingError(
                f"there is no operator {name!r} (--operators); there are: {', '.join(known)}"
            )
    return tuple(part for part in PARTS if not names or part.name in names)


def kinds_of(parts: Sequence[Part]) -> Iterator[type[Object]]:
    """Every kind that these operators need."""
    for part in parts:
        yield from part.kinds()
