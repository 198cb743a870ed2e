"""A whole operator program in one call: logs, client, manager, signals.

    if __name__ == "__main__":
        asyncio.run(run_operator("hello", controller))

What needs more than this builds its own `Client` and `Manager`, as this does.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from quarterdeck.client.client import Client
from quarterdeck.client.config.locate import load_config
from quarterdeck.meta.builtins import is_builtin
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.manager.definitions import apply_definitions
from quarterdeck.runtime.manager.manager import LeaderElection, Manager
from quarterdeck.runtime.observability import logging
from quarterdeck.runtime.recorder.recorder import EventApi

if TYPE_CHECKING:
    from quarterdeck.runtime.endpoints.server import BindAddress, MetricsEndpoint
    from quarterdeck.runtime.informer.watch_settings import WatchSettings
    from quarterdeck.runtime.webhooks import Webhooks


class ManagerOptions(TypedDict, total=False):
    """What `run_operator` passes on to its `Manager`, so that type checkers know the names."""

    namespaces: Iterable[str]
    field_manager: str
    service_name: str
    election: LeaderElection | None
    health: "BindAddress | None"
    metrics: "MetricsEndpoint | None"
    webhooks: "Webhooks | None"
    events: EventApi | Literal["off"]
    graceful_shutdown_timeout_s: float
    watch: "WatchSettings | None"


async def run_operator(
    name: str,
    *controllers: Controller[Any],
    kubeconfig: Path | str | None = None,
    context: str = "",
    apply_crds: bool = False,
    **options: Unpack[ManagerOptions],
) -> None:
    """Run controllers against the cluster kubectl would use, until a signal.

    `options` are those of `Manager`: an election, pages, namespaces. `apply_crds` applies the
    definitions of the controllers' own kinds first, which suits development: in production
    definitions change by hand, and the operator needs no right to change them.

    Raises:
        ConfigError: if there is no configuration; the message lists the places searched.
        LostLeadership: when the lease is lost; the process should exit.
    """
    logging.configure()
    async with Client(load_config(kubeconfig, context=context)) as client:
        manager = Manager(client, name=name, watch_loop=True, **options)
        for controller in controllers:
            manager.add(controller)
        if apply_crds:
            kinds = [each.for_ for each in controllers if not is_builtin(each.for_.KIND.gvk)]
            await apply_definitions(client.raw, kinds)
        await manager.run()
