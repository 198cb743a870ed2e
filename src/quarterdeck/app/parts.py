"""The operators, and how a new one is attached.

To attach an operator called `clusters`:

1. Add a `Part` to `PARTS` below. That alone adds it to `--operators`, `up`, `run`, `crds`,
   `manifests` (permissions included) and `config/`.
2. Write `app/clusters.py`, named in `Part.module`:
   - `async def attach(host: Host) -> None` registers the controllers with `host.manager` and starts
     services with `host.serve`. `host.is_embedded` tells `up` from `run`.
   - `def declare_controllers() -> Sequence[Controller]` declares them, the source of permissions.
   - `SAMPLES`: manifests for `up --demo` and `config/samples`; optionally `DEMO_SAMPLES`, those of
     the demo, `OUTSIDE_SAMPLES`, those that need something outside, and `SAMPLE_FILES`, names of
     files by object name.
3. Ports: `app/settings.py` has a setting for each documented port (`dashboard_port`,
   `ingester_port`, ...). List the ones the operator listens on in `Part.ports`: `up` checks that
   they are free before it starts.
4. Settings of this operator alone: declare a struct `Settings` in `app/clusters_settings.py`, in
   the form of `app/settings.py` (a frozen, keyword-only `msgspec.Struct`, every field
   `Annotated[type, Option(...)]` with a default; secrets are `Secret[str]`; names must be unique
   over all operators), and name the module in `Part.settings`. Flags, environment, config file,
   `doctor` and the reference page follow from it. `attach` reads it with
   `host.get_settings(Settings)`. Keep this module free of other imports: `--help` loads it.
5. Commands: `cli/commands/clusters/`, see `cli/commands/__init__.py`.
6. Run `make update`; it rewrites `config/` and `docs/reference/`.

Modules are named here, not imported: a process loads only the operators it runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.app.errors import SettingError

if TYPE_CHECKING:
    from quarterdeck.app.host import Host
    from quarterdeck.meta.objects import Object
    from quarterdeck.runtime import Controller


class Part(NamedTuple):
    """One operator and what belongs to it."""

    name: str
    """Its name in `--operators`."""
    summary: str
    apis: str
    """The module whose `KINDS` need a CRD."""
    module: str
    """The module that attaches it."""
    ports: tuple[str, ...] = ()
    """Names of settings: the ports its services listen on in `up`."""
    service_name: str = ""
    """Its name in traces when it runs alone, where existing dashboards expect one."""
    settings: str = ""
    """The module whose `Settings` struct declares settings of this operator alone."""
    quiet_kinds: tuple[str, ...] = ()
    """Kinds that come as a catalog: `up` prints no line when one of them is created."""

    def kinds(self) -> "Sequence[type[Object]]":
        """The kinds whose CRDs it needs."""
        kinds: Sequence[type[Object]] = import_module(self.apis).KINDS
        return kinds

    def declare_controllers(self) -> "Sequence[Controller[Any]]":
        """The declarations of its controllers."""
        found: Sequence[Controller[Any]] = import_module(self.module).declare_controllers()
        return found

    def samples(self) -> Sequence[Mapping[str, Any]]:
        """Sample objects."""
        found: Sequence[Mapping[str, Any]] = import_module(self.module).SAMPLES
        return found

    def demo_samples(self) -> Sequence[Mapping[str, Any]]:
        """Sample objects that `up --demo` applies: all of them unless the module names some."""
        module = import_module(self.module)
        found: Sequence[Mapping[str, Any]] = getattr(module, "DEMO_SAMPLES", module.SAMPLES)
        return found

    def outside_samples(self) -> Sequence[Mapping[str, Any]]:
        """Sample objects that need something outside, such as a hypervisor: files only."""
        found: Sequence[Mapping[str, Any]] = getattr(
            import_module(self.module), "OUTSIDE_SAMPLES", ()
        )
        return found

    def sample_files(self) -> Mapping[str, str]:
        """Names of sample files that guides mention, by the name of the object."""
        found: Mapping[str, str] = getattr(import_module(self.module), "SAMPLE_FILES", {})
        return found

    async def attach(self, host: "Host") -> None:
        """Register its controllers and start its services."""
        await import_module(self.module).attach(host)


PARTS: tuple[Part, ...] = (
    Part(
        "applications",
        "keeps container images running",
        "quarterdeck.apis.applications.v1",
        "quarterdeck.app.applications",
        ports=("http_port",),
    ),
    Part(
        "pipelines",
        "configures fleets of telemetry collectors",
        "quarterdeck.apis.fleetmanagement.v1alpha1",
        "quarterdeck.app.pipelines",
        ports=("fleet_port", "webhook_port"),
        quiet_kinds=("PipelineRevision", "Collector"),
    ),
    Part(
        "clusters",
        "watches clusters and image registries",
        "quarterdeck.apis.clusterpulse.v1alpha1",
        "quarterdeck.app.clusters",
        ports=("dashboard_port", "ingester_port"),
        settings="quarterdeck.app.clusters_settings",
    ),
    Part(
        "experiments",
        "provisions clusters, deploys, runs workflows and cleans up",
        "quarterdeck.apis.experiments.v1alpha1",
        "quarterdeck.app.experiments",
        settings="quarterdeck.app.experiments_settings",
        quiet_kinds=("Component",),
    ),
    Part(
        "machines",
        "keeps fleets of virtual machines on hypervisors",
        "quarterdeck.apis.hypervisor.v1alpha1",
        "quarterdeck.app.machines",
        ports=("runner_webhook_port", "bootstrap_port"),
        service_name="hyperfleet-operator",
        settings="quarterdeck.app.machines_settings",
    ),
)


def choose(names: Sequence[str]) -> tuple[Part, ...]:
    """The operators of these names; all of them if no name is given.

    Raises:
        SettingError: for an unknown name.
    """
    known = {part.name: part for part in PARTS}
    for name in names:
        if name not in known:
            raise SettingError(
                f"unknown operator {name!r} (--operators); valid names: {', '.join(known)}"
            )
    return tuple(part for part in PARTS if not names or part.name in names)


def list_kinds(parts: Sequence[Part]) -> "Iterator[type[Object]]":
    """Every kind that these operators need."""
    for part in parts:
        yield from part.kinds()


def choose_service_name(parts: Sequence[Part]) -> str:
    """The name in traces: that of the one operator that runs, if it has one of its own."""
    alone = parts[0].service_name if len(parts) == 1 else ""
    return alone or "quarterdeck"
