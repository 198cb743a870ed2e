"""Flags with which `quarterdeck up` listens on free ports only."""

PORT_FLAGS = (
    "--port",
    "--http-port",
    "--health-port",
    "--metrics-port",
    "--dashboard-port",
    "--ingester-port",
    "--fleet-port",
    "--webhook-port",
    "--runner-webhook-port",
    "--bootstrap-port",
)
FREE_PORTS = tuple(word for flag in PORT_FLAGS for word in (flag, "0"))
"""Each flag with 0, for any free port."""
