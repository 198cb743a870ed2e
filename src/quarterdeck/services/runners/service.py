"""The HTTP handler for GitHub's deliveries: verifies signatures, and records the jobs."""

from collections.abc import Callable, Sequence

from quarterdeck.apis.core.config import Secret as KubeSecret
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.client.client import Client
from quarterdeck.client.errors import ClientError
from quarterdeck.kit import http, json, rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Secret
from quarterdeck.services.runners import events
from quarterdeck.services.runners.events import InvalidDelivery, JobEvent
from quarterdeck.services.runners.matching import can_serve
from quarterdeck.services.runners.record import has_job, write_job
from quarterdeck.wire.status import ApiError, NotFound

PATH = "/webhooks/github"
LIMITS = http.Limits(body_bytes=1 << 20)
Count = Callable[[str, str], None]
_KINDS = ("ping", "workflow_job")
_KEEP_S = 2.0


class RunnerWebhooks:
    """Handles deliveries; the signature is checked with the secret of every pool."""

    def __init__(
        self, client: Client, clock: Clock, *, count: Count = lambda action, result: None
    ) -> None:
        """`count` is called with the action and the result of each delivery."""
        self._client = client
        self._clock = clock
        self._count = count
        self._pools: list[tuple[RunnerPool, Secret[str]]] = []
        self._read_at = float("-inf")

    async def handle(self, request: http.Request) -> http.Response:
        """Answer one request."""
        if request.path in ("/healthz", "/readyz") and request.method == "GET":
            return _answer(200, "ok")
        if request.path.rstrip("/") != PATH:
            return _answer(404, f"path not found: send deliveries to {PATH}")
        if request.method != "POST":
            return _answer(405, "method not allowed: send deliveries with POST")
        try:
            body = await request.read(LIMITS.body_bytes)
        except http.BodyTooLarge as error:
            return _answer(413, str(error))
        try:
            return await self._deliver(request, body)
        except (ApiError, ClientError) as error:
            self._count("unknown", "unavailable")
            return _answer(503, f"request to the API server failed: {type(error).__name__}")

    async def _deliver(self, request: http.Request, body: bytes) -> http.Response:
        kind = request.headers.get(events.EVENT) or ""
        signature = request.headers.get(events.SIGNATURE) or ""
        trusted = []
        if events.is_signature(signature):  # others cost us no request
            known = await self._read_pools()
            trusted = [pool for pool, secret in known if _is_from(secret, body, signature)]
        if not trusted:
            # anybody may send any event: its name must not become a series of a metric
            self._count(kind if kind in _KINDS else "unknown", "refused")
            return _answer(401, "no runner pool accepts the signature")
        if kind == "ping":
            return _answer(200, "pong")
        if kind != "workflow_job":
            self._count(kind or "unknown", "ignored")
            return _answer(202, f"{kind or 'an unnamed event'} is ignored")
        try:
            event = events.parse_event(body, rfc3339.format_time(self._clock.now()))
        except InvalidDelivery as error:
            self._count(kind, "invalid")
            return _answer(400, f"not a workflow_job delivery: {error}")
        if event is None:
            self._count(kind, "ignored")
            return _answer(202, "the action is ignored")
        return await self._record_job(event, trusted)

    async def _record_job(self, event: JobEvent, trusted: Sequence[RunnerPool]) -> http.Response:
        pool = await self._choose_pool(event, trusted)
        if pool is None:
            self._count(event.job.status, "unmatched")
            return _answer(202, "no runner pool serves the labels of the job")
        is_new = await write_job(self._client, pool, event.job, self._clock.now())
        self._count(event.job.status, "noted" if is_new else "known")
        return _answer(202, f"recorded for {pool.key}" if is_new else "already recorded")

    async def _choose_pool(
        self, event: JobEvent, trusted: Sequence[RunnerPool]
    ) -> RunnerPool | None:
        """Choose the first pool, by namespace and name, that serves a job.

        A job that has begun or ended stays with the pool that recorded it before, also if another
        one would be chosen now, or if that pool is being deleted.
        """
        pools = sorted(trusted, key=lambda pool: pool.key)
        serving = [pool for pool in pools if can_serve(pool, event)]
        if event.job.status != "queued":
            for pool in (*serving, *(each for each in pools if each not in serving)):
                if await has_job(self._client, pool, event.job.id):
                    return pool
        return serving[0] if serving else None

    async def _read_pools(self) -> list[tuple[RunnerPool, Secret[str]]]:
        """Pools with an enabled webhook, and their secrets; cached briefly, against floods."""
        now = self._clock.monotonic()
        if now >= self._read_at + _KEEP_S:
            listening = [each for each in await self._client.list(RunnerPool) if _listens(each)]
            self._pools = [(pool, await self._read_secret(pool)) for pool in listening]
            self._read_at = now
        return self._pools

    async def _read_secret(self, pool: RunnerPool) -> Secret[str]:
        """Read the secret of a pool; empty if it cannot be read: every delivery is refused."""
        webhook = pool.spec.webhook
        reference = webhook.secret_ref if webhook is not None else None
        namespace = pool.metadata.namespace
        if reference is None or reference.namespace not in ("", namespace):
            return Secret("")
        try:
            found = await self._client.get(KubeSecret, reference.name, namespace)
            return Secret((found.read(reference.key) or b"").decode().strip())
        except (NotFound, ValueError):
            return Secret("")


def _is_from(secret: Secret[str], body: bytes, signature: str) -> bool:
    return events.is_signed(body, signature, secret.reveal())


def _listens(pool: RunnerPool) -> bool:
    return pool.spec.webhook is not None and pool.spec.webhook.enabled


def _answer(status: int, message: str) -> http.Response:
    body = json.encode({"message": message})
    return http.Response(status, [("Content-Type", "application/json")], body)
