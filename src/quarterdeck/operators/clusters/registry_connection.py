"""The reconciler of RegistryConnection: checks a registry, stores and reports the result."""

import base64
import math
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.apis.clusterpulse.registry_connection import (
    HEALTH_CHECK_PATHS,
    RegistryConnection,
)
from quarterdeck.hubstate import registry_writes
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.registry_writes import RegistryFacts, RegistrySpec
from quarterdeck.inventory.health import Health
from quarterdeck.kit import json, rfc3339
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.clusters import plan, report
from quarterdeck.operators.clusters.conditions import READY, Reason
from quarterdeck.operators.clusters.credentials import AUTHORITY, find_secret_key
from quarterdeck.operators.clusters.endpoints import (
    find_endpoint_problem,
    find_path_problem,
    hide_credentials,
)
from quarterdeck.operators.clusters.hub import Hub
from quarterdeck.operators.clusters.namesakes import ensure_only_one, has_rival
from quarterdeck.operators.clusters.ports import (
    Registry,
    RegistryAddress,
    RegistryCheck,
    RegistryReport,
)
from quarterdeck.operators.clusters.secrets import read_secret_values
from quarterdeck.runtime import Context, RequeueAfter, Waiting

_CATALOG = 100
_ERROR_S = 60.0
_SLOW_MS = 2000
_DOCKER_CONFIG = ".dockerconfigjson"
_DOCKER_HUB = ("index.docker.io", "registry-1.docker.io")
"""Hosts that mean docker.io: `docker login` writes one of them, images name another."""
_RETRY_DELETION_S = 10.0
_CHECK_STEP_S = 300
"""How old lastCheckTime may get while nothing else changes, so that most checks write nothing."""

RegistryContext = Context[RegistryConnection]


class Registries:
    """Reconciles RegistryConnections."""

    def __init__(self, hub: Hub, registry: Registry) -> None:
        self._hub = hub
        self._registry = registry

    async def reconcile(self, connection: RegistryConnection, ctx: RegistryContext) -> RequeueAfter:
        """Check the registry, store the result, and set its health in the status."""
        await ensure_only_one(connection, ctx)
        monitoring = connection.spec.monitoring
        interval_s = plan.get_interval(monitoring.interval, 60)
        address, note = await self._resolve_address(connection, ctx)
        limit = (monitoring.max_catalog_entries or _CATALOG) if monitoring.check_catalog else None
        wanted = RegistryCheck(
            paths=connection.spec.health_check_paths or HEALTH_CHECK_PATHS,
            timeout_s=float(max(5, monitoring.timeout)),
            catalog_limit=limit,
        )
        found = await self._check(address, wanted)
        facts = msgspec.structs.replace(found.facts, last_check=rfc3339.format_time(ctx.now()))
        health = plan.assess_registry(
            available=facts.available,
            response_ms=facts.response_time,
            authenticated=found.authenticated,
        )
        problem = await self._store(connection, facts, health, interval_s)
        self._report(found, facts, health, note=note, ctx=ctx)
        report.set_stored(problem, ctx)
        self._hub.metrics.observe_collection("registry", facts.response_time / 1000)
        return RequeueAfter(float(interval_s) if facts.available else min(interval_s, _ERROR_S))

    async def delete(self, connection: RegistryConnection, ctx: RegistryContext) -> None:
        """The finalizer: remove every key of the registry, unless they are of another one."""
        if await has_rival(connection, ctx):
            return
        name = connection.metadata.name
        try:
            found = await self._hub.state.list_keys(f"registry:{name}:")
            writes = registry_writes.plan_deletion(name, found, ctx.now())
            await self._hub.state.commit(list(writes))
        except HubStateError as error:
            reason = Reason.STORE_UNAVAILABLE
            raise Waiting(reason, str(error), after_s=_RETRY_DELETION_S) from error

    async def _check(self, address: RegistryAddress, wanted: RegistryCheck) -> RegistryReport:
        """Check the registry; nothing is sent if its address or a health check path is invalid."""
        problem = find_endpoint_problem(address.url) or find_path_problem(wanted.paths)
        if problem:
            return RegistryReport(
                facts=RegistryFacts(available=False, response_time=0, error=problem)
            )
        return await self._registry.check(address, wanted)

    async def _resolve_address(
        self, connection: RegistryConnection, ctx: RegistryContext
    ) -> tuple[RegistryAddress, str]:
        """Resolve the address; the text names missing credentials, which do not stop the check."""
        spec = connection.spec
        url = build_url(spec.endpoint, insecure=spec.insecure)
        address = RegistryAddress(url=url, skip_tls_verify=spec.skip_tls_verify)
        key = find_secret_key(connection)
        if key is None:
            return address, ""
        values = await read_secret_values(key, ctx)
        if values is None:
            return address, f"Secret {key} not found: connecting without credentials"
        username, password = read_credentials(values, url)
        address = msgspec.structs.replace(
            address,
            username=username,
            password=Secret(password),
            certificate_authority=values.get(AUTHORITY, b""),
        )
        if not address.has_credentials and not address.certificate_authority:
            return address, f"Secret {key} has no keys username and password"
        return address, ""

    async def _store(
        self, connection: RegistryConnection, facts: RegistryFacts, health: Health, interval_s: int
    ) -> Any:
        name, spec, now = connection.metadata.name, build_spec(connection), self._hub.clock.now()
        return await self._hub.store(
            [
                *registry_writes.plan_spec(name, spec),
                *registry_writes.plan_check(
                    name,
                    facts,
                    at=now,
                    lifetimes=self._hub.options.lifetimes,
                    interval_s=interval_s,
                ),
                *registry_writes.plan_notice(name, facts, health=health, spec=spec, at=now),
            ]
        )

    def _report(
        self,
        found: RegistryReport,
        facts: RegistryFacts,
        health: Health,
        *,
        note: str,
        ctx: RegistryContext,
    ) -> None:
        """Set the status; times and counts only if they changed enough, or are old."""
        before = ctx.obj.status
        reason, message = explain(found, facts, health)
        if note:
            message = f"{message}; {note}"
        values: dict[str, Any] = {
            "phase": "Connected" if facts.available else "Error",
            "health": str(health),
            "available": facts.available,
            "version": facts.version,
            "features": facts.features,
        }
        is_new = any(getattr(before, name) != value for name, value in values.items())
        is_new = is_new or plan.is_time_changed(before.response_time, facts.response_time)
        is_new = is_new or plan.is_count_changed(before.repository_count, facts.repository_count)
        is_new = is_new or _compute_age_s(before.last_check_time, ctx.now()) >= _CHECK_STEP_S
        if is_new or _drop_time(before.message) != _drop_time(message):
            values["message"] = message
            values["response_time"] = facts.response_time
            values["repository_count"] = facts.repository_count
            values["last_check_time"] = facts.last_check
        ctx.status.set(**values)
        status = FALSE if health is Health.UNHEALTHY or not found.authenticated else TRUE
        ctx.status.set_condition(READY, status, reason, ctx.status.current.message)
        old, new = ctx.status.get_transition(READY)
        if new is not None and (old is None or (old.status, old.reason) != (status, reason)):
            ctx.event(reason, message, warning=health is not Health.HEALTHY)
        if health is not Health.HEALTHY:
            self._hub.metrics.count_failure("registry", reason)


def build_url(endpoint: str, *, insecure: bool) -> str:
    """The address with a scheme and without a slash at its end."""
    if "://" not in endpoint:
        endpoint = f"{'http' if insecure else 'https'}://{endpoint}"
    return endpoint.rstrip("/")


def read_credentials(values: dict[str, bytes], url: str) -> tuple[str, str]:
    """User and password, from keys of their own or from Docker's configuration."""
    username = values.get("username", b"").decode(errors="replace").strip()
    password = values.get("password", b"").decode(errors="replace").strip()
    if username or _DOCKER_CONFIG not in values:
        return username, password
    try:
        entries = json.decode(values[_DOCKER_CONFIG])["auths"]
        entry: dict[str, Any] = next(
            (each for name, each in entries.items() if _get_host(name) == _get_host(url)), {}
        )
        if entry.get("username"):
            return str(entry["username"]), str(entry.get("password", ""))
        pair = base64.b64decode(entry.get("auth", "")).decode()
        username, _, password = pair.partition(":")
        return username, password
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", ""


def _get_host(address: str) -> str:
    """Host and port of an address with or without scheme and path.

    Entries of Docker's configuration are matched by it, so that a password goes only to its host.
    """
    host = address.rpartition("://")[2].partition("/")[0].lower()
    return "docker.io" if host in _DOCKER_HUB else host


def explain(found: RegistryReport, facts: RegistryFacts, health: Health) -> tuple[Reason, str]:
    """Reason and message of the condition Ready."""
    took = f"(response time: {facts.response_time}ms)"
    if not facts.available:
        return Reason.UNAVAILABLE, f"Registry unavailable: {facts.error}"
    if not found.authenticated:
        return Reason.AUTHENTICATION_FAILED, f"authentication failed {took}: renew the credentials"
    if health is Health.DEGRADED:
        return Reason.SLOW, f"Registry is slow {took}"
    count = f", {facts.repository_count} repositories" if facts.repository_count else ""
    note = f"; {found.note}" if found.note else ""
    return Reason.HEALTHY, f"Registry is healthy {took}{count}{note}"


def _compute_age_s(time: str, now: datetime) -> float:
    """Seconds since a time, or until it: it is ahead after the clock was set back."""
    return abs((now - rfc3339.parse(time)).total_seconds()) if time else math.inf


def _drop_time(message: str) -> str:
    head, _, rest = message.partition("(response time:")
    return head + rest.partition(")")[2]


def build_spec(connection: RegistryConnection) -> RegistrySpec:
    """The declared spec in the shape that the store keeps."""
    spec, monitoring = connection.spec, connection.spec.monitoring
    reference = spec.credentials_ref
    return RegistrySpec(
        display_name=spec.display_name or connection.metadata.name,
        endpoint=hide_credentials(spec.endpoint),
        type=spec.type,
        insecure=spec.insecure,
        skip_tls=spec.skip_tls_verify,
        labels=spec.labels,
        monitoring={
            "interval": plan.get_interval(monitoring.interval, 60),
            "timeout": monitoring.timeout,
            "check_catalog": monitoring.check_catalog,
            "max_catalog_entries": monitoring.max_catalog_entries,
        },
        credentials_ref={
            "name": reference.name,
            "namespace": reference.namespace or connection.metadata.namespace,
        }
        if reference is not None
        else msgspec.UNSET,
    )
