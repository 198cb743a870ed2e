"""Simulated Argo CD: installs Applications on clusters that are registered by Secrets.

It really connects: a namespace, a Deployment and a Service per source are applied on the target, so
that a wrong Secret fails here as it would there. A chart or path named `does-not-exist` cannot be
rendered and shows Argo CD's trap: Healthy, Unknown, and a ComparisonError.

Faults: comparison-error, sync-failed, degraded, missing, flap, hang-delete.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.apis.core.config import Secret
from quarterdeck.kit import json, rfc3339
from quarterdeck.kit.redaction import redact
from quarterdeck.meta.objects import get_raw
from quarterdeck.operators.experiments.argocd import IN_CLUSTER
from quarterdeck.operators.experiments.foreign import ArgoApplication
from quarterdeck.operators.experiments.kubeconfig import Connection
from quarterdeck.operators.experiments.ports import TargetRefused, TargetUnreachable
from quarterdeck.operators.experiments.simulators.behavior import (
    Behavior,
    Delays,
    Timeline,
    read_behavior,
)
from quarterdeck.operators.experiments.simulators.installer import Installer
from quarterdeck.runtime import Context, RequeueAfter, Result, Waiting

MISSING = "does-not-exist"
_CLUSTERS = "argocd.argoproj.io/secret-type=cluster"
_HANG_S = 3600.0


class ArgoSimulator:
    """Syncs Applications."""

    def __init__(
        self, installer: Installer, *, namespace: str, delays: Delays, timeline: Timeline
    ) -> None:
        self._installer = installer
        self._namespace = namespace
        self._delays = delays
        self._timeline = timeline

    async def reconcile(self, app: ArgoApplication, ctx: Context[ArgoApplication]) -> Result | None:
        """Report Missing, Progressing, then Healthy; or the fault that an annotation requests."""
        behavior = await read_behavior(app, ctx, "application", self._delays.application)
        spec = _read_spec(app)
        connection = await self._find_connection(ctx, app.spec.destination.server)
        if connection is None:
            message = f"cluster {app.spec.destination.server} is not known"
            state = _State("Unknown", "Unknown", error=("InvalidSpecError", message))
            await self._write(ctx, app, state)
            return None
        if behavior.fault == "comparison-error" or _cannot_render(spec):
            message = "failed to generate manifest: path does not exist"
            state = _State("Healthy", "Unknown", error=("ComparisonError", message))
            await self._write(ctx, app, state)
            return None
        if behavior.fault == "missing":
            await self._write(ctx, app, _State("Missing", "OutOfSync"))
            return None
        elapsed_s = self._timeline.elapsed_s(app.metadata.uid)
        if elapsed_s < behavior.delay_s / 2:
            state = _State("Missing", "OutOfSync", operation=("Running", ""))
            await self._write(ctx, app, state)
            return RequeueAfter(behavior.delay_s / 2 - elapsed_s)
        return await self._sync(ctx, app, connection, spec, behavior)

    async def _sync(
        self,
        ctx: Context[Any],
        app: ArgoApplication,
        connection: Connection | str,
        spec: Mapping[str, Any],
        behavior: Behavior,
    ) -> Result | None:
        failed = "one or more objects failed to apply" if behavior.fault == "sync-failed" else ""
        try:
            resources = await self._installer.install(connection, app.metadata.name, spec)
        except (TargetRefused, TargetUnreachable) as error:
            failed, resources = redact(str(error)), []
        if failed:
            state = _State("Missing", "OutOfSync", operation=("Failed", failed))
            await self._write(ctx, app, state)
            return None
        elapsed_s = self._timeline.elapsed_s(app.metadata.uid)
        health = "Progressing" if elapsed_s < behavior.delay_s else "Healthy"
        again: Result | None = None
        if health == "Progressing":
            again = RequeueAfter(behavior.delay_s - elapsed_s)
        elif behavior.fault == "degraded":
            health = "Degraded"
        elif behavior.fault == "flap" and elapsed_s < 2 * behavior.delay_s:
            health, again = "Degraded", RequeueAfter(2 * behavior.delay_s - elapsed_s)
        state = _State(health, "Synced", operation=("Succeeded", ""), resources=resources)
        await self._write(ctx, app, state)
        return again

    async def delete(self, app: ArgoApplication, ctx: Context[ArgoApplication]) -> None:
        """Remove what was installed; a missing or unknown cluster is skipped."""
        behavior = await read_behavior(app, ctx, "application", self._delays.application)
        if behavior.fault == "hang-delete":
            raise Waiting("Deleting", "resources are not deleted", after_s=_HANG_S)
        connection = await self._find_connection(ctx, app.spec.destination.server)
        if connection is not None:
            try:
                await self._installer.uninstall(connection, _read_spec(app))
            except (TargetRefused, TargetUnreachable) as error:
                ctx.log.debug("the destination is gone", reason=str(error))
        self._timeline.forget(app.metadata.uid)

    async def _find_connection(self, ctx: Context[Any], server: str) -> Connection | str | None:
        """Find the connection of a destination: the hub by its URL, others by their Secret."""
        if server == IN_CLUSTER:
            return IN_CLUSTER
        for secret in await ctx.api.list(Secret, namespace=self._namespace, labels=_CLUSTERS):
            data = {name: base64.b64decode(value) for name, value in secret.data.items()}
            if data.get("server", b"").decode() == server:
                return _to_connection(server, json.decode(data["config"]))
        return None

    async def _write(self, ctx: Context[Any], app: ArgoApplication, state: "_State") -> None:
        """Write the status, which is not a subresource, if it changed."""
        status = _build_status(app, state, rfc3339.format_time(ctx.now()))
        if _differs(status, json.decode(get_raw(app) or b"{}").get("status") or {}):
            await ctx.api.merge(ArgoApplication, app.key, {"status": status})


class _State(NamedTuple):
    """What to write into the status of an Application."""

    health: str
    sync: str
    operation: tuple[str, str] | None = None
    """Phase and message of the last sync."""
    error: tuple[str, str] | None = None
    """Type and message of a condition."""
    resources: Sequence[Mapping[str, str]] = ()


def _build_status(app: ArgoApplication, state: _State, now: str) -> dict[str, Any]:
    before, operation, error = app.status, state.operation, state.error
    same = before.health.status == state.health
    since = (before.health.last_transition_time if same else "") or now
    status: dict[str, Any] = {
        "health": {"status": state.health, "lastTransitionTime": since},
        "sync": {"status": state.sync},
        "conditions": None,
    }
    if error is not None:
        old = next((each for each in before.conditions if each.type == error[0]), None)
        began = old.last_transition_time if old is not None else now
        status["conditions"] = [
            {"type": error[0], "message": error[1], "lastTransitionTime": began}
        ]
    if operation is not None:
        done = operation[0] != "Running"
        finished = (before.operation_state.finished_at or now) if done else None
        status["operationState"] = {
            "phase": operation[0],
            "message": operation[1] or None,
            "finishedAt": finished,
        }
    if state.resources:
        status["resources"] = list(state.resources)
    return status


def _differs(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    for name, value in wanted.items():
        there = found.get(name)
        if isinstance(value, dict) and isinstance(there, dict):
            if _differs(value, there):
                return True
        elif value != there:
            return True
    return False


def _read_spec(app: ArgoApplication) -> dict[str, Any]:
    found: dict[str, Any] = json.decode(get_raw(app) or b"{}").get("spec") or {}
    return found


def _cannot_render(spec: Mapping[str, Any]) -> bool:
    return any(
        MISSING in str(source.get("path") or source.get("chart") or "")
        for source in spec.get("sources") or ()
    )


def _to_connection(server: str, config: Mapping[str, Any]) -> Connection:
    tls = config.get("tlsClientConfig") or {}
    return Connection(
        server=server,
        ca_data=tls.get("caData", ""),
        cert_data=tls.get("certData", ""),
        key_data=tls.get("keyData", ""),
        token=config.get("bearerToken", ""),
        username=config.get("username", ""),
        password=config.get("password", ""),
        insecure=bool(tls.get("insecure")),
        server_name=tls.get("serverName", ""),
    )
