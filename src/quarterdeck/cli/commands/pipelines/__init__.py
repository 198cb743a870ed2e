"""`quarterdeck pipelines`: pipelines in files, and pipelines of a fleet server."""

COMMANDS = {
    "lint": "Check manifests, Alloy and OpenTelemetry configuration",
    "import": "Print manifests for the pipelines of a fleet server",
    "plan": "Show which collectors a change affects, before it is applied",
    "effective": "Print the merged configuration of a collector",
    "promote": "Promote a rollout to all collectors, or by one step",
    "rollback": "Roll back to an earlier revision",
}
