"""The default admission plugins of Kubernetes, in the order in which Kubernetes calls them."""

import random

from quarterdeck.server.admission.plugin import Plugin
from quarterdeck.server.admission.plugins.default_tolerations import DefaultTolerations
from quarterdeck.server.admission.plugins.node_taint import NodeTaint
from quarterdeck.server.admission.plugins.priority import Priority
from quarterdeck.server.admission.plugins.service_account import ServiceAccount
from quarterdeck.server.admission.plugins.service_addresses import ServiceAddresses
from quarterdeck.server.admission.plugins.storage_protection import StorageProtection
from quarterdeck.storage import Store


def default_plugins(store: Store, rng: random.Random) -> tuple[Plugin, ...]:
    """Build the default plugins of one server."""
    return (
        NodeTaint(),
        ServiceAccount(store, rng),
        Priority(store),
        DefaultTolerations(),
        StorageProtection(store),
        ServiceAddresses(store),
    )
