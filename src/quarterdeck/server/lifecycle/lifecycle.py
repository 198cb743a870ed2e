"""The life cycle of one server: its controllers on an engine."""

from collections.abc import Iterator

from quarterdeck.server.core import Core
from quarterdeck.server.lifecycle.controllers.account_tokens import AccountTokens
from quarterdeck.server.lifecycle.controllers.certificate_signing import CertificateSigning
from quarterdeck.server.lifecycle.controllers.endpoints import ServiceEndpoints
from quarterdeck.server.lifecycle.controllers.event_expiry import EventExpiry
from quarterdeck.server.lifecycle.controllers.garbage_collector import GarbageCollector
from quarterdeck.server.lifecycle.controllers.namespace_contents import NamespaceContents
from quarterdeck.server.lifecycle.controllers.namespace_termination import NamespaceTermination
from quarterdeck.server.lifecycle.controllers.pod_termination import PodTermination
from quarterdeck.server.lifecycle.controllers.policy_status import PolicyStatus
from quarterdeck.server.lifecycle.controllers.role_aggregation import RoleAggregation
from quarterdeck.server.lifecycle.controllers.volume_protection import VolumeProtection
from quarterdeck.server.lifecycle.engine.controller import Controller
from quarterdeck.server.lifecycle.engine.engine import Engine


class Lifecycle:
    """The controllers of one server, run by `run`."""

    def __init__(self, core: Core) -> None:
        chosen = core.options.controllers
        self.engine = Engine(
            core,
            tuple(
                controller
                for controller in _build_controllers(core)
                if _is_chosen(controller.name, chosen)
            ),
        )

    async def run(self) -> None:
        """Follow the store until cancelled."""
        await self.engine.run()

    async def wait_until_idle(self) -> None:
        """Wait until the queue is empty and only timers are left."""
        await self.engine.wait_until_idle()


def _is_chosen(name: str, chosen: frozenset[str] | None) -> bool:
    """Whether a controller runs, by kube-controller-manager's rules for `--controllers`."""
    if chosen is None:
        return True
    return f"-{name}" not in chosen and (name in chosen or "*" in chosen)


def _build_signing(core: Core) -> Iterator[Controller]:
    """Build the signing controller, if a certificate authority is configured."""
    files = core.options.cluster_signing
    if files is not None:
        yield CertificateSigning(*files, core.clock)


def _build_controllers(core: Core) -> Iterator[Controller]:
    yield NamespaceContents(core.options.certificate_authority)
    yield NamespaceTermination()
    yield GarbageCollector()
    yield RoleAggregation()
    yield PolicyStatus(core.registry)
    yield AccountTokens(core.accounts.key, core.options.certificate_authority)
    yield from _build_signing(core)
    yield EventExpiry(core.clock)
    yield ServiceEndpoints()
    yield VolumeProtection()
    if core.options.simulate_workloads:
        from quarterdeck.server.lifecycle.workloads import build_simulation

        yield from build_simulation(core.options.simulated_nodes)
        return
    yield PodTermination()
    if core.options.controllers_without_kubelet:
        from quarterdeck.server.lifecycle.workloads import build_control_plane

        yield from build_control_plane()
