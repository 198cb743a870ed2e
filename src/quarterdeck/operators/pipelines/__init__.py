"""The pipelines operator: syncs each Pipeline to a pipeline of a fleet server.

Imports `runtime`, `telemetry`, `apis`, `meta`, `kit`. Start at `pipeline` (the steps), then
`desired` (what is sent), `plan` (which action is needed) and `fleets` (the servers and their cached
state). `drivers` is the only code that talks to a server.
"""

from quarterdeck.operators.pipelines.address import (
    Address,
    list_missing_variables,
    read_environment,
)
from quarterdeck.operators.pipelines.admission import add_webhooks
from quarterdeck.operators.pipelines.register import declare_controllers, register

__all__ = [
    "Address",
    "add_webhooks",
    "declare_controllers",
    "list_missing_variables",
    "read_environment",
    "register",
]
