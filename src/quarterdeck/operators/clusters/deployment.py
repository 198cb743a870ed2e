"""Deploys collectors on clusters in push mode, and removes them in pull mode.

Each collector has its own token: the hub issues it, keeps only its hash, and stores the token on
the managed cluster. The hub's credentials of that cluster never leave the hub.
"""

import contextlib
from collections.abc import Awaitable, Callable

import msgspec

import quarterdeck
from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.client.client import Client
from quarterdeck.client.errors import ClientError
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.push import leases, tokens
from quarterdeck.hubstate.writes import DeleteKeys, Write
from quarterdeck.inventory.push.address import find_address_problem
from quarterdeck.kit import rfc3339
from quarterdeck.kit.deadline import run_within
from quarterdeck.kit.redaction import Secret, redact
from quarterdeck.meta.conditions import FALSE, TRUE, find
from quarterdeck.operators.clusters import collector, plan
from quarterdeck.operators.clusters.authority import AuthorityMap
from quarterdeck.operators.clusters.collector import TOKEN_HASH
from quarterdeck.operators.clusters.collector_objects import (
    CollectorPlan,
    choose_image,
    find_resources,
    hash_plan,
)
from quarterdeck.operators.clusters.conditions import COLLECTOR_READY, Reason
from quarterdeck.operators.clusters.drivers import collector as driver
from quarterdeck.operators.clusters.failures import CredentialsUnavailable, describe, find_reason
from quarterdeck.operators.clusters.hub import Hub, Problem, Seen
from quarterdeck.runtime import Context, Waiting
from quarterdeck.wire.status import ApiError

RETRY_S = 60.0
"""Seconds between two deployments while the collector is not connected."""
_RETRY_REMOVAL_S = 10.0
_REMOVAL_LIMIT_S = 300.0
"""How long a deletion waits for a cluster that does not answer."""
_LIMIT_S = 60.0
_MAX_TEXT = 300

ClusterContext = Context[ClusterConnection]
Connect = Callable[[], Awaitable[Client]]
"""Connects to the managed cluster; raises `CredentialsUnavailable`."""


class Deployments:
    """Deploys, updates and removes the collectors of managed clusters."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def ensure(
        self, connection: ClusterConnection, seen: Seen, ctx: ClusterContext, connect: Connect
    ) -> None:
        """Deploy what is missing or outdated, and set the collector's status and condition."""
        seen.is_token_revoked = False
        if self._deploys(connection):
            seen.collector_problem = await self._deploy(connection, seen, ctx, connect)
        else:
            seen.collector_problem, seen.deployed_hash = None, ""
        image = seen.deployed_image or _get_image(connection)
        if TOKEN_HASH in connection.metadata.annotations:
            image = ""  # applied from a printed manifest: the user deletes it, not the hub
        before = connection.status.collector_status
        ctx.status.set(collector_status=collector.describe(seen.lease, image, before))
        status = TRUE if seen.lease is not None else FALSE
        reason, message = self._describe(connection, seen)
        ctx.status.set_condition(COLLECTOR_READY, status, reason, message)
        _send_event(ctx, seen)

    async def leave(
        self, connection: ClusterConnection, seen: Seen, ctx: ClusterContext, connect: Connect
    ) -> None:
        """Remove the collector of a cluster that is in pull mode again."""
        was_pushed = connection.status.collector_status is not None
        if not was_pushed and find(connection.status.conditions, COLLECTOR_READY) is None:
            return
        problem = seen.failure if _get_image(connection) else ""
        if not problem:
            try:
                await self._remove(connection, connect)
            except (ApiError, ClientError, TimeoutError, CredentialsUnavailable) as error:
                problem = describe(error)
        if problem:  # the next visit tries again
            text = f"the collector could not be removed: {problem}"
            ctx.status.set_condition(COLLECTOR_READY, FALSE, Reason.REMOVAL_FAILED, text)
            return
        ctx.status.set(collector_status=None)
        ctx.status.remove_condition(COLLECTOR_READY)

    async def remove(
        self, connection: ClusterConnection, ctx: ClusterContext, connect: Connect
    ) -> None:
        """Remove the collector of a connection that is deleted.

        A cluster that does not answer delays the deletion for a few minutes at most: the token of
        its collector is refused in any case.

        Raises:
            Waiting: if the cluster may answer later.
        """
        if connection.status.collector_status is None:
            return
        try:
            await self._remove(connection, connect)
        except (ApiError, ClientError, TimeoutError, CredentialsUnavailable) as error:
            deleted_at = connection.metadata.deletion_timestamp
            waited_s = (ctx.now() - rfc3339.parse(deleted_at)).total_seconds() if deleted_at else 0
            text = f"the collector could not be removed from the cluster: {describe(error)}"
            if isinstance(error, CredentialsUnavailable) or waited_s >= _REMOVAL_LIMIT_S:
                ctx.event(Reason.REMOVAL_FAILED, f"{text}; delete it there", warning=True)
                return
            raise Waiting(Reason.REMOVAL_FAILED, text, after_s=_RETRY_REMOVAL_S) from error

    @staticmethod
    def plan_revocation(cluster: str) -> list[Write]:
        """Plan to revoke the token of a cluster in pull mode, and to end its lease."""
        return [DeleteKeys((tokens.get_key(cluster), leases.get_key(cluster)))]

    # --- the steps

    def _deploys(self, connection: ClusterConnection) -> bool:
        """Whether the hub deploys this collector; `clusters join` leaves it to the user."""
        joined = TOKEN_HASH in connection.metadata.annotations
        return bool(self._hub.options.collector.image) and not joined

    async def _deploy(
        self, connection: ClusterConnection, seen: Seen, ctx: ClusterContext, connect: Connect
    ) -> Problem | None:
        if seen.failure:  # what keeps the hub from reading keeps it from deploying
            return Problem(seen.failure_reason, seen.failure)
        if problem := find_address_problem(connection.spec.ingester_address):
            return Problem(Reason.INVALID, f"spec.ingesterAddress {problem}")
        try:
            wanted = await self._build_plan(connection, ctx)
            hashed = hash_plan(wanted)
            if not self._is_due(seen, hashed):
                return seen.collector_problem
            seen.deployed_at = self._hub.clock.monotonic()
            seen.pod_problem = await run_within(
                self._hub.clock, _LIMIT_S, self._apply(wanted, ctx, connect)
            )
        except _AuthorityMissing as error:
            return Problem(Reason.AUTHORITY_UNAVAILABLE, str(error))
        except HubStateError as error:
            return Problem(Reason.STORE_UNAVAILABLE, str(error))
        except (ApiError, ClientError, TimeoutError, CredentialsUnavailable) as error:
            return Problem(find_reason(error), describe(error, time_limit_s=_LIMIT_S))
        if seen.deployed_hash != hashed:
            ctx.log.info("collector deployed", image=wanted.image)
        seen.deployed_hash, seen.deployed_image = hashed, wanted.image
        return None

    def _is_due(self, seen: Seen, hashed: str) -> bool:
        if seen.deployed_at is None or seen.deployed_hash != hashed:
            return (
                seen.deployed_at is None or seen.collector_problem is None or self._may_retry(seen)
            )
        limit_s = RETRY_S if seen.lease is None else float(self._hub.options.scan_interval_s)
        return self._hub.clock.monotonic() - seen.deployed_at >= limit_s

    def _may_retry(self, seen: Seen) -> bool:
        assert seen.deployed_at is not None
        return self._hub.clock.monotonic() - seen.deployed_at >= RETRY_S

    async def _build_plan(
        self, connection: ClusterConnection, ctx: ClusterContext
    ) -> CollectorPlan:
        hub, options = self._hub.options, self._hub.options.collector
        return CollectorPlan(
            cluster=connection.metadata.name,
            image=choose_image(
                options.image, connection.spec.collector_version, default=quarterdeck.__version__
            ),
            ingester_address=connection.spec.ingester_address,
            token=Secret(""),
            authority=await self._read_authority(ctx) if options.tls else "",
            server_name=options.server_name,
            tls=options.tls,
            client_secret=options.client_secret,
            interval_s=plan.get_interval(connection.spec.monitoring.interval, hub.interval_s),
            scan_interval_s=hub.scan_interval_s,
            sources=tuple(find_resources(await ctx.list(MetricSource))),
        )

    async def _read_authority(self, ctx: ClusterContext) -> str:
        options = self._hub.options.collector
        if options.authority or options.authority_map is None:
            return options.authority
        namespace, name = options.authority_map
        found = await ctx.find(AuthorityMap, name, namespace)
        text = found.data.get(options.authority_key, "") if found is not None else ""
        if not text:
            raise _AuthorityMissing(
                f"ConfigMap {namespace}/{name} has no key {options.authority_key!r}; collectors "
                "could not verify the hub: create it, set COLLECTOR_CA_CONFIGMAP to another, or "
                "set INGESTER_TLS_USE_SYSTEM_CA=true"
            )
        return text

    async def _apply(self, wanted: CollectorPlan, ctx: ClusterContext, connect: Connect) -> str:
        """Apply everything; returns what keeps the pod from running, if that is known."""
        client = await connect()
        sources = await driver.discover_resources(client, await ctx.list(MetricSource))
        token = await self._ensure_token(wanted.cluster, client, ctx)
        complete = msgspec.structs.replace(wanted, sources=sources, token=token)
        await driver.apply_objects(client, complete)
        with contextlib.suppress(ApiError):  # listing pods may be forbidden
            return redact(await driver.find_pod_problem(client))[:_MAX_TEXT]
        return ""

    async def _ensure_token(self, cluster: str, client: Client, ctx: ClusterContext) -> Secret[str]:
        """The collector's token if the hub still accepts it, else a new one."""
        found = await driver.read_token(client)
        state = self._hub.state
        if found is not None and await tokens.check_token(state, cluster, found.reveal()):
            return found
        return await tokens.issue_token(state, cluster, at=ctx.now())

    async def _remove(self, connection: ClusterConnection, connect: Connect) -> None:
        if not _get_image(connection):
            return
        client = await connect()
        await run_within(self._hub.clock, _LIMIT_S, driver.delete_objects(client))

    def _describe(self, connection: ClusterConnection, seen: Seen) -> tuple[Reason, str]:
        """Reason and message of the condition CollectorReady."""
        problem = seen.collector_problem
        if seen.lease is not None:
            text = f"collector {seen.lease.version} is connected"
            if problem is not None:
                text += f"; it could not be updated: {problem.message}"
            return Reason.CONNECTED, text
        fallback = "until then the hub reads the cluster itself"
        if problem is not None:
            return problem.reason, f"the collector is not deployed: {problem.message}"
        if self._hub.ingester_problem:
            return Reason.INGESTER_UNAVAILABLE, f"{self._hub.ingester_problem}; {fallback}"
        name = connection.metadata.name
        if not self._deploys(connection) and TOKEN_HASH not in connection.metadata.annotations:
            return (
                Reason.IMAGE_NOT_SET,
                f"the hub has no collector image: set COLLECTOR_IMAGE, or run `quarterdeck "
                f"clusters join {name}` and apply what it prints; {fallback}",
            )
        address = connection.spec.ingester_address
        text = f"no collector has connected to {address}"
        if seen.pod_problem:
            text += f": {seen.pod_problem}"
        return Reason.NOT_CONNECTED, f"{text}; {fallback}"


def _get_image(connection: ClusterConnection) -> str:
    """The collector image that the hub deployed; empty if it deployed none."""
    status = connection.status.collector_status
    return status.image if status is not None else ""


class _AuthorityMissing(Exception):
    """Raised when the ConfigMap with the CA for collectors, or its key, does not exist."""


def _send_event(ctx: ClusterContext, seen: Seen) -> None:
    """Record an event when the reason of the condition CollectorReady changes."""
    before, after = ctx.status.get_transition(COLLECTOR_READY)
    if after is None or (before is not None and before.reason == after.reason):
        return
    is_loss = before is not None and before.status == TRUE and after.status == FALSE
    warning = is_loss or seen.collector_problem is not None
    ctx.event(f"Collector{after.reason}", after.message, warning=warning)
