"""The objects of one MetricSource on one cluster: paged, streamed, several namespaces at a time."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from quarterdeck.client.errors import ClientError, ConnectionFailed, InvalidResponse, RequestTimeout
from quarterdeck.client.interfaces import Api, ListPage
from quarterdeck.engine.results import AggregationValue, Resource
from quarterdeck.engine.target import guess_resource
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import (
    ApiError,
    Expired,
    InternalError,
    NotFound,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)

if TYPE_CHECKING:
    from quarterdeck.engine.collector import Collector
    from quarterdeck.engine.source import CompiledSource

T = TypeVar("T")
_TRANSIENT = (
    *(InternalError, ServerTimeout, ServiceUnavailable, Timeout, TooManyRequests),
    *(ConnectionFailed, RequestTimeout),
)
_FIRST_PAUSE_S = 0.25
_MAX_PAUSE_S = 5.0


class SourceResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of collecting a source from one cluster."""

    at: datetime
    duration_ms: int
    resource: str
    resources: list[Resource]
    values: dict[str, AggregationValue]
    truncated: bool
    errors: tuple[str, ...]
    """Namespaces that could not be read, and why."""
    count: int
    found: frozenset[str]
    """Fields that at least one object had."""
    converted: frozenset[str]
    """Fields and computed fields that had a value for at least one object."""


class _Listed(msgspec.Struct, frozen=True):
    gvr: GVR
    is_namespaced: bool


class SourceCollector:
    """Reads the objects of a source from one cluster."""

    def __init__(self, api: Api, source: "CompiledSource", *, clock: Clock) -> None:
        self._api = api
        self._source = source
        self._clock = clock
        self._limits = source.spec.collection
        self._is_cut = False

    async def collect(self) -> SourceResult:
        """Read all objects up to the source's limit.

        Raises:
            ApiError, ClientError: if nothing at all could be read.
        """
        began, at = self._clock.monotonic(), self._clock.now()
        listed = await self._find_resource()
        collector = self._source.collector(now=at)
        rows: list[Resource] = []
        errors: list[str] = []
        namespaces = self._source.target.namespaces.names if listed.is_namespaced else None
        if namespaces is None:
            await self._read(listed.gvr, "", collector, rows)
        else:
            await self._read_each(listed.gvr, namespaces, collector, rows=rows, errors=errors)
        values = collector.finish()
        return SourceResult(
            at=at,
            duration_ms=int((self._clock.monotonic() - began) * 1000),
            resource=listed.gvr.resource,
            resources=rows,
            values=values,
            truncated=collector.is_truncated or self._is_cut,
            errors=tuple(errors),
            count=collector.count,
            found=frozenset(collector.found),
            converted=frozenset(collector.converted),
        )

    async def _find_resource(self) -> _Listed:
        """The resource that the source names, else that of its kind by discovery, else a guess."""
        target = self._source.target
        if target.resource:
            gvr = GVR(target.group, target.version, target.resource)
            return _Listed(gvr, target.is_namespaced)
        try:
            found = await self._retry(
                lambda: self._api.discover_resource(GVK(target.group, target.version, target.kind))
            )
        except NotFound:
            raise
        except ApiError:
            guessed = guess_resource(target.kind)
            return _Listed(GVR(target.group, target.version, guessed), target.is_namespaced)
        return _Listed(found.gvr, found.namespaced)

    async def _read_each(
        self,
        gvr: GVR,
        namespaces: Iterable[str],
        collector: "Collector",
        *,
        rows: list[Resource],
        errors: list[str],
    ) -> None:
        """Read several namespaces concurrently; one that fails does not stop the others."""
        gate = asyncio.Semaphore(self._limits.parallelism)
        failures: list[ApiError | ClientError] = []

        async def read(namespace: str) -> None:
            async with gate:
                if collector.is_full:
                    self._is_cut = True
                    return
                try:
                    await self._read(gvr, namespace, collector, rows)
                except (ApiError, ClientError) as error:
                    failures.append(error)
                    errors.append(f"namespace {namespace}: {error}")

        names = list(namespaces)
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(read(name), name=f"collect-{name}")
        if failures and len(failures) == len(names):
            raise failures[0]

    async def _read(
        self, gvr: GVR, namespace: str, collector: "Collector", rows: list[Resource]
    ) -> None:
        path = ResourcePath(*gvr, namespace)
        async with contextlib.aclosing(self._iterate_pages(path)) as pages:
            async for page in pages:
                rows.extend(collector.feed(_decode(page)).resources())
                if collector.is_full and page.continue_:
                    self._is_cut = True
                    return
                await asyncio.sleep(0)  # a big page must not keep other clusters waiting

    async def _iterate_pages(self, path: ResourcePath) -> AsyncGenerator[ListPage, None]:
        options = ListOptions(
            limit=self._limits.batch_size, label_selector=self._source.target.label_selector
        )
        while True:
            page = await self._retry(functools.partial(self._api.list, path, options))
            yield page
            if not page.continue_:
                return
            options = msgspec.structs.replace(options, continue_=page.continue_)

    async def _retry(self, call: Callable[[], Awaitable[T]]) -> T:
        """Retry transient failures, as often as the source allows."""
        pause_s = _FIRST_PAUSE_S
        for left in range(self._limits.retry_attempts, -1, -1):
            try:
                return await call()
            except Expired:
                raise
            except _TRANSIENT:
                if left == 0:
                    raise
            await self._clock.sleep(pause_s)
            pause_s = min(_MAX_PAUSE_S, pause_s * 2)
        raise AssertionError("unreachable")


def _decode(page: ListPage) -> list[dict[str, Any]]:
    try:
        return [msgspec.json.decode(item) for item in page.items]
    except json.UNREADABLE as error:
        raise InvalidResponse(f"cannot decode an object of the list: {error}") from error
