"""The machines operator: fleets of virtual machines on hypervisors.

Imports `runtime`, `apis`, `meta`, `kit`. Start at `ports` (the calls of a hypervisor), then
`plan` (pure decisions) and the reconcilers, one module per kind. `drivers` is the only code that
talks to a hypervisor.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.operators.machines.registration import declare_controllers, register
    from quarterdeck.operators.machines.shared_parts import Machines

__all__ = ["Machines", "declare_controllers", "register"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(
        __name__,
        {"registration": ("declare_controllers", "register"), "shared_parts": ("Machines",)},
    )
