"""The machines operator: fleets of virtual machines on hypervisors.

Imports `runtime`, `apis`, `meta`, `kit`. Start at `ports` (what is asked of a hypervisor), then
`plan` (what decides) and the reconcilers, one module per kind. `drivers` is the only code that
talks to a hypervisor.
"""
