"""`hypervisor.hyperfleet.io/v1alpha1`: every kind of the group at this version.

The version is the hub of conversions, see `conversion`.
"""

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.names import GROUP
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.meta.objects import Object

__all__ = [
    "GROUP",
    "KINDS",
    "Fleet",
    "HypervisorCluster",
    "HypervisorMachineTemplate",
    "MachineClaim",
    "RunnerPool",
]

KINDS: tuple[type[Object], ...] = (
    HypervisorCluster,
    HypervisorMachineTemplate,
    MachineClaim,
    Fleet,
    RunnerPool,
)
