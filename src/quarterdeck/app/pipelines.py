"""Attaches the pipelines operator; in `up` with a fleet server of its own, and agents in a demo."""

import functools
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.apis.fleetmanagement.v1alpha1 import FleetConnection
from quarterdeck.app.errors import NotConfigured, StartError
from quarterdeck.app.host import Endpoint, Host, shorten_path
from quarterdeck.app.pipelines_samples import DEMO_SAMPLES, SAMPLE_FILES, SAMPLES
from quarterdeck.client.config.locate import is_in_cluster
from quarterdeck.kit import http
from quarterdeck.operators import pipelines
from quarterdeck.operators.pipelines import Address
from quarterdeck.operators.pipelines.address import BASE_URL, VARIABLES, InvalidAddress
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.wire.status import NotFound

if TYPE_CHECKING:
    from quarterdeck.agents.collector_sim import CollectorSim

__all__ = ["DEMO_SAMPLES", "NAME", "SAMPLES", "SAMPLE_FILES", "attach", "declare_controllers"]

NAME = "pipelines"
_LOCAL_RATE = 500.0
_LOCAL_INTERVAL_S = 10.0
_DEMO_POLL_S = 2.0
_AGENTS = {
    "edge-1": {"team": "team-a", "env": "prod"},
    "edge-2": {"team": "team-b", "env": "prod"},
    "edge-3": {"team": "team-c", "env": "test"},
}
_FIELD = {f"field-{number:02}": {"env": "field"} for number in range(1, 11)}
"""Collectors of the demo's set and rollout; too many to print what each of them receives."""


async def attach(host: Host) -> None:
    """Register the controllers; without FLEET_MANAGEMENT_*, `up` starts its own fleet server."""
    settings = host.settings
    has_own_fleet = host.is_embedded and not _list_given_variables()
    default = await (_start_fleet(host) if has_own_fleet else _read_address(host))
    pipelines.register(
        host.manager,
        default=default,
        namespaces=tuple(filter(None, settings.namespace.split(","))),
        workers=settings.workers,
    )
    if host.webhooks is not None:
        pipelines.add_webhooks(host.webhooks, host.client)
    if has_own_fleet and settings.demo and default is not None:
        _start_agents(host, default)


def declare_controllers() -> Sequence[Controller[Any]]:
    """The declarations of its controllers."""
    return pipelines.declare_controllers()


def _list_given_variables() -> list[str]:
    return [name for name in VARIABLES if os.environ.get(name, "").strip()]


async def _start_fleet(host: Host) -> Address:
    """Start the fleet server of `up` and return its address."""
    from quarterdeck.app.fleet import LIMITS, open_fleet

    settings = host.settings
    folder = host.folder or settings.data_dir
    fleet = await open_fleet(folder, host.stack, in_memory=settings.in_memory, clock=host.clock)
    listener = await host.serve(
        fleet.server.handle,
        port=settings.fleet_port,
        flag="--fleet-port",
        name="fleet",
        purpose=f"fleet server for collectors; token in {shorten_path(fleet.token_file)}",
        limits=LIMITS,
    )
    host.manager.add_runnable("fleet-server", fleet.tasks.wait_failed, needs_leader_election=False)
    return Address(
        "default",
        listener.url,
        "operator",
        fleet.token,
        rate=_LOCAL_RATE,
        burst=int(_LOCAL_RATE),
        interval_s=_LOCAL_INTERVAL_S,
    )


async def _read_address(host: Host) -> Address | None:
    """The fleet server of the FLEET_MANAGEMENT_* environment.

    Raises:
        NotConfigured: outside a cluster, if --operators names pipelines and no fleet server is set.
            Inside a cluster it is not raised: the pod would be restarted forever, and its webhooks
            would not answer. It runs, and Pipelines have the condition reason NoConnection.
        StartError: if the address is invalid, or some of the variables are missing.
    """
    try:
        found = pipelines.read_environment(os.environ)
    except InvalidAddress as error:
        raise StartError(str(error)) from error
    if found is not None:
        what = f"fleet server of {BASE_URL}, as user {found.username}"
        host.endpoints.append(Endpoint("fleet", found.url, what))
        return found
    given = _list_given_variables()
    missing = ", ".join(pipelines.list_missing_variables(os.environ))
    if given:
        raise StartError(
            f"the credentials of the fleet server are incomplete: {', '.join(given)} set, but not "
            f"{missing}; set {missing}, or unset {', '.join(given)}"
        )
    is_asked_for = NAME in host.settings.operators and not is_in_cluster()
    if is_asked_for and not await _has_connection(host):
        raise NotConfigured(
            f"the pipelines operator has no fleet server: set {missing}, "
            "or create a FleetConnection with default: true in each namespace"
        )
    get_logger(NAME).info(
        "no default fleet server; pipelines without a FleetConnection are not synced",
        missing=missing,
    )
    return None


async def _has_connection(host: Host) -> bool:
    try:
        return bool(await host.client.list(FleetConnection))
    except NotFound:
        return False


def _start_agents(host: Host, fleet: Address) -> None:
    """Start simulated collectors that poll their configuration, for `up --demo`."""

    async def run() -> None:
        from quarterdeck.agents.collector_sim import CollectorSim
        from quarterdeck.kit.tasks import Supervisor

        await host.clock.sleep(_DEMO_POLL_S)  # after the summary is printed
        async with http.Client() as client, Supervisor("agents") as tasks:
            for identity, attributes in {**_AGENTS, **_FIELD}.items():
                agent = CollectorSim(
                    identity, attributes, url=fleet.url, token=fleet.password, client=client
                )
                work = agent.run(
                    host.clock,
                    changed=functools.partial(_print_change, host),
                    failed=functools.partial(_print_failure, host),
                    poll_s=_DEMO_POLL_S,
                )
                tasks.spawn(work, name=f"agent-{identity}")
            await tasks.wait_failed()

    host.manager.add_runnable("agents", run)


def _print_change(host: Host, agent: "CollectorSim") -> None:
    """Print the pipelines of a configuration that an agent received."""
    if agent.id in _FIELD:
        return
    names = re.findall(r"^//   (\S+) revision", agent.config, re.MULTILINE)
    _print_line(host, f"agent {agent.id} received {', '.join(names) or 'no pipelines'}")


def _print_failure(host: Host, agent: "CollectorSim", error: Exception) -> None:
    _print_line(host, f"agent {agent.id} cannot reach the fleet server: {error}")


def _print_line(host: Host, text: str) -> None:
    if host.print_line is not None:
        host.print_line(f"  {host.clock.now():%H:%M:%S}  {text}")
