"""`quarterdeck pipelines`: pipelines in files, and pipelines of a fleet server."""

COMMANDS = {
    "lint": "Check manifests, Alloy and OpenTelemetry configuration",
    "import": "Print manifests for the pipelines of a fleet server",
    "plan": "Print which collectors a change concerns, before it is applied",
    "effective": "Print the merged configuration of a collector",
    "promote": "End a rollout, or one step of it",
    "rollback": "Go back to an earlier revision",
}
