"""`quarterdeck pipelines`: pipelines in files, and pipelines of a fleet server."""

COMMANDS = {
    "lint": "Check manifests, Alloy and OpenTelemetry configuration",
    "import": "Print manifests for the pipelines of a fleet server",
    "plan": "Print which collectors a change concerns, before it is applied",
}
