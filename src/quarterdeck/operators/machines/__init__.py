"""The machines operator: fleets of virtual machines on hypervisors.

Imports `runtime`, `apis`, `meta`, `kit`. Start at `ports` (the calls of a hypervisor), then
`plan` (pure decisions) and the reconcilers, one module per kind. `drivers` is the only code that
talks to a hypervisor.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.operators.machines.registration import controllers, register
    from quarterdeck.operators.machines.shared_parts import Machines

__all__ = ["Machines", "controllers", "register"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(
        __name__, {"registration": ("controllers", "register"), "shared_parts": ("Machines",)}
    )
