"""The I/O shell of the reflector: performs its requests and feeds the cache.

One informer per kind and scope, shared by every controller; with several namespaces there is one
reflector for each. The reflector decides what to do; no failure is fatal.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Form, Reader, Watcher
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.cache import Cache
from quarterdeck.runtime.cache.labels import parse_selector
from quarterdeck.runtime.cache.retention import RetentionPolicy
from quarterdeck.runtime.cache.snapshot import Metadata
from quarterdeck.runtime.cache.transform import Transform, keep_all, keep_managed_fields_of
from quarterdeck.runtime.informer.absence import describe_absence
from quarterdeck.runtime.informer.action import FetchPage, OpenStream, Wait
from quarterdeck.runtime.informer.failure import StreamBroken, classify_failure
from quarterdeck.runtime.informer.reflector import Health, Reflector
from quarterdeck.runtime.informer.watch_settings import WatchSettings
from quarterdeck.runtime.observability.logging import Logger, get_logger
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError

T = TypeVar("T", bound=Object)


class CacheScope(msgspec.Struct, frozen=True):
    """Which objects of a kind are watched."""

    namespaces: tuple[str, ...] = ()
    """Empty means all; for cluster-scoped kinds it must be empty."""
    labels: str = ""
    """A label selector, applied by the server."""
    fields: str = ""
    """A field selector, applied by the server."""
    form: Form = Form.FULL
    managed_fields: bool = False
    """Keep all of `metadata.managedFields`, not only the fields that we applied."""
    transform: Callable[[bytes], bytes] | None = None
    """Shrinks what is kept of an object further, given its JSON; metadata must survive."""
    is_optional: bool = False
    """Whether another system installs the kind: its absence is normal, and no warning."""


ALL_OBJECTS = CacheScope()
DEFAULT_SETTINGS = WatchSettings()


class ListerWatcher(Reader, Watcher, Protocol):
    """The part of a client that an informer uses."""


class SourceState(msgspec.Struct, frozen=True):
    """The state of one reflector, for health checks, metrics and the JSON summary."""

    namespace: str
    health: Health
    trouble: str
    version: int
    silent_s: float
    lists: int
    streams: int
    resets: int


class Informer(Generic[T]):
    """Keeps a cache equal to the server, across failures of the connection."""

    def __init__(
        self,
        api: ListerWatcher,
        kind: type[T],
        *,
        scope: CacheScope = ALL_OBJECTS,
        clock: Clock,
        rng: random.Random,
        settings: WatchSettings = DEFAULT_SETTINGS,
        field_manager: str = "",
        log: Logger | None = None,
    ) -> None:
        """`field_manager` is the manager of our writes: its managed fields are kept."""
        self.kind = kind
        self.scope = scope
        self._api = api
        self._clock = clock
        self._labels = parse_selector(scope.labels) if scope.labels else None
        self._settings = settings
        retention = RetentionPolicy(_make_transform(scope, field_manager))
        self.cache: Cache[T] = Cache(kind, in_scope=self._is_in_scope, retention=retention)
        self._reflectors = {
            namespace: Reflector(settings, rng, retention)
            for namespace in scope.namespaces or ("",)
        }
        self._synced_event = asyncio.Event()
        self._log = log if log is not None else get_logger("runtime")
        self._was_absent = False

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for namespace in self._reflectors:
                name = f"informer-{self.kind.__name__}-{namespace or 'all'}"
                group.create_task(self._run_reflector(namespace), name=name)

    async def wait_for_cache_sync(self) -> None:
        """Wait until the cache is complete, or the server does not serve the kind."""
        await self._synced_event.wait()

    def states(self) -> Sequence[SourceState]:
        """The state of each reflector."""
        now = self._clock.monotonic()
        return [
            SourceState(
                namespace,
                reflector.health,
                reflector.trouble,
                reflector.version,
                now - reflector.last_heard_at,
                reflector.lists,
                reflector.streams,
                reflector.resets,
            )
            for namespace, reflector in self._reflectors.items()
        ]

    def describe_staleness(self) -> str:
        """Why the cache may be out of date; empty if it is not."""
        for state in self.states():
            where = f"{self.kind.__name__} in {state.namespace or 'all namespaces'}"
            if state.health in (Health.STARTING, Health.FORBIDDEN, Health.FAILING):
                return f"{where}: {state.health.value} {state.trouble}".rstrip()
            if state.health is Health.SYNCED and state.silent_s > 2 * self._settings.silence_s:
                return f"{where}: no event or bookmark received for {state.silent_s:.0f} s"
        return ""

    def describe_absence(self) -> str:
        """Which kind the server does not serve, and how to install it; empty if it is served."""
        return describe_absence(self.kind) if self._is_absent() else ""

    def _is_absent(self) -> bool:
        return any(each.health is Health.ABSENT for each in self._reflectors.values())

    def _log_absence(self) -> None:
        """Log once when the kind turns out to be missing, and once when it appears."""
        resource = self.kind.KIND.gvr.group_resource
        if self._is_absent() and not self._was_absent:
            self._was_absent = True
            report = self._log.debug if self.scope.is_optional else self._log.warning
            report(
                "kind is not served; its controllers start when it appears",
                kind=resource,
                reason=describe_absence(self.kind),
            )
        elif self._was_absent and all(
            each.health is Health.SYNCED for each in self._reflectors.values()
        ):
            self._was_absent = False
            self._log.info("kind is served now", kind=resource)

    async def _run_reflector(self, namespace: str) -> None:
        reflector = self._reflectors[namespace]
        while True:
            match reflector.next_action(self._clock.monotonic()):
                case Wait(seconds):
                    self._check_synced()
                    await self._clock.sleep(seconds)
                case FetchPage(options):
                    await self._fetch(reflector, options, namespace)
                case OpenStream(options):
                    await self._stream(reflector, options, namespace)

    async def _fetch(self, reflector: Reflector, options: ListOptions, namespace: str) -> None:
        try:
            page = await self._api.list(
                self._build_path(namespace), self._limit_to_scope(options), form=self.scope.form
            )
            replaced = reflector.on_page(page, self._clock.monotonic())
        except (ApiError, ClientError, OSError, *json.UNREADABLE) as error:
            replaced = reflector.on_failure(classify_failure(error), self._clock.monotonic())
        if replaced is not None:
            self.cache.apply(replaced, namespace)
            self._check_synced()

    async def _stream(self, reflector: Reflector, options: ListOptions, namespace: str) -> None:
        clock, replaced = self._clock, None
        silent = asyncio.Event()
        failures: list[Exception] = []

        async def read() -> None:
            # a failed child would hide from the group that this task was cancelled
            try:
                await self._read(reflector, options, namespace)
            except (StreamBroken, ApiError, ClientError, OSError) as error:
                failures.append(error)

        async with asyncio.TaskGroup() as group:
            guard = group.create_task(self._watch_silence(reflector, silent), name="silence-guard")
            reader = group.create_task(read(), name="watch-reader")
            guard.add_done_callback(lambda _: reader.cancel())
            reader.add_done_callback(lambda _: guard.cancel())
        if failures:
            replaced = reflector.on_failure(classify_failure(failures[0]), clock.monotonic())
        elif silent.is_set():
            reflector.on_silence(clock.monotonic())
        else:
            reflector.on_closed(clock.monotonic())
        if replaced is not None:
            self.cache.apply(replaced, namespace)

    async def _read(self, reflector: Reflector, options: ListOptions, namespace: str) -> None:
        clock, cache = self._clock, self.cache
        path = self._build_path(namespace)
        async with self._api.watch(
            path, self._limit_to_scope(options), form=self.scope.form
        ) as lines:
            reflector.on_opened(clock.monotonic())
            async for line in lines:
                delta = reflector.on_line(line, clock.monotonic())
                if delta is not None:
                    cache.apply(delta, namespace)
                    if self._was_absent or not self._synced_event.is_set():
                        self._check_synced()

    async def _watch_silence(self, reflector: Reflector, silent: asyncio.Event) -> None:
        """End when the stream has been silent for too long (R7)."""
        started = self._clock.monotonic()
        while True:
            heard = max(reflector.last_heard_at, started)
            left_s = heard + reflector.silence_s - self._clock.monotonic()
            if left_s <= 0:
                silent.set()
                return
            # the limit of a stream changes once, when the initial events are complete
            await self._clock.sleep(min(left_s, self._settings.silence_s))

    def _check_synced(self) -> None:
        self._log_absence()
        if all(r.health in (Health.SYNCED, Health.ABSENT) for r in self._reflectors.values()):
            self._synced_event.set()

    def _build_path(self, namespace: str) -> ResourcePath:
        group, version, resource = self.kind.KIND.gvr
        return ResourcePath(group, version, resource, namespace)

    def _limit_to_scope(self, options: ListOptions) -> ListOptions:
        if not self.scope.labels and not self.scope.fields:
            return options
        return msgspec.structs.replace(
            options, label_selector=self.scope.labels, field_selector=self.scope.fields
        )

    def _is_in_scope(self, metadata: Metadata) -> bool | None:
        """Whether an object that we wrote matches the scope; None if only the server can say."""
        if self.scope.namespaces and metadata.namespace not in self.scope.namespaces:
            return False
        if self._labels is not None and not self._labels.matches(metadata.labels or {}):
            return False
        return _match_fields(self.scope.fields, metadata) if self.scope.fields else True


def _match_fields(selector: str, metadata: Metadata) -> bool | None:
    """Whether a field selector matches; None if it asks for more than the name and namespace."""
    from quarterdeck.wire.field_selector import FieldSelector

    values = {"metadata.name": metadata.name, "metadata.namespace": metadata.namespace}
    requirements = FieldSelector.parse(selector).requirements
    known = [each for each in requirements if each.field in values]
    if not all(each.matches(values[each.field]) for each in known):
        return False
    return True if len(known) == len(requirements) else None


def _make_transform(scope: CacheScope, field_manager: str) -> Transform:
    managed = keep_all if scope.managed_fields else keep_managed_fields_of(field_manager)
    transform = scope.transform
    if transform is None:
        return managed
    return lambda raw, metadata: transform(managed(raw, metadata))
