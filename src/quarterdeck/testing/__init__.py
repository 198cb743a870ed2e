"""The test kit we ship: a pytest plugin, clusters, clocks, fault rules, an intercepting client.

Nothing in Quarterdeck imports it; it may import everything below `cli`. Start at `plugin` for the
fixtures, `server_faults` and `faults` for what can go wrong.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.testing.background import BackgroundCluster
    from quarterdeck.testing.clocks import SkewedClock, VirtualClock
    from quarterdeck.testing.convergence import assert_converges
    from quarterdeck.testing.poll import eventually
    from quarterdeck.testing.server_faults import ServerFaults, ServerRule
    from quarterdeck.testing.simulation import SimulationFailed, World, simulate
    from quarterdeck.testing.webhooks import AdmissionWebhook, WebhookSettings

__all__ = [
    "AdmissionWebhook",
    "BackgroundCluster",
    "ServerFaults",
    "ServerRule",
    "SimulationFailed",
    "SkewedClock",
    "VirtualClock",
    "WebhookSettings",
    "World",
    "assert_converges",
    "eventually",
    "simulate",
]

_HOMES = {
    "background": ("BackgroundCluster",),
    "clocks": ("SkewedClock", "VirtualClock"),
    "convergence": ("assert_converges",),
    "faults": (),
    "server_faults": ("ServerFaults", "ServerRule"),
    "poll": ("eventually",),
    "simulation": ("SimulationFailed", "World", "simulate"),
    "webhooks": ("AdmissionWebhook", "WebhookSettings"),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)
