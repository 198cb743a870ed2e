"""The caches of one manager: one shared informer per kind."""

import asyncio
import random
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.labels import parse_selector
from quarterdeck.runtime.informer.informer import ALL_OBJECTS, CacheScope, Informer, ListerWatcher
from quarterdeck.runtime.informer.watch_settings import WatchSettings
from quarterdeck.runtime.observability.logging import Logger

T = TypeVar("T", bound=Object)


class NotWatched(LookupError):
    """Raised when a cache is read of a kind that no controller declares to watch."""


class InformerFactory:
    """Creates informers, runs them, and answers synchronous reads from their caches."""

    def __init__(
        self,
        api: ListerWatcher,
        *,
        clock: Clock,
        rng: random.Random,
        settings: WatchSettings,
        namespaces: tuple[str, ...] = (),
        field_manager: str = "",
        log: Logger | None = None,
    ) -> None:
        """`namespaces` limits every namespaced kind that has no scope of its own."""
        self._api = api
        self._clock = clock
        self._random = rng
        self._settings = settings
        self._namespaces = namespaces
        self._field_manager = field_manager
        self._log = log
        self._informers: dict[type[Object], Informer[Any]] = {}
        self._scopes: dict[type[Object], CacheScope] = {}
        self._tasks: Supervisor | None = None

    def __iter__(self) -> Iterator[Informer[Any]]:
        return iter(tuple(self._informers.values()))

    def set_cache_scope(self, kind: type[Object], scope: CacheScope) -> None:
        """Set which objects of a kind are watched, before its informer is made."""
        if kind in self._informers:
            raise ValueError(
                f"{kind.__name__} is already watched: set its scope before adding a controller"
            )
        if scope.namespaces and not kind.KIND.is_namespaced:
            raise ValueError(f"{kind.__name__} is cluster-scoped: its scope cannot name namespaces")
        self._scopes[kind] = scope

    def ensure(self, kind: type[T]) -> Informer[T]:
        """The informer of a kind, made now if need be; started at once if the others run."""
        informer = self._informers.get(kind)
        if informer is None:
            default = msgspec.structs.replace(
                ALL_OBJECTS, namespaces=self._namespaces if kind.KIND.is_namespaced else ()
            )
            informer = self._informers[kind] = Informer(
                self._api,
                kind,
                scope=self._scopes.get(kind, default),
                clock=self._clock,
                rng=self._random,
                settings=self._settings,
                field_manager=self._field_manager,
                log=self._log,
            )
            self._start(informer)
        return cast("Informer[T]", informer)

    def find(self, kind: type[T]) -> Informer[T] | None:
        """The informer of a kind; None if the kind is not watched."""
        return cast("Informer[T] | None", self._informers.get(kind))

    def start(self, tasks: Supervisor) -> None:
        """Run what is there, and what will be added later."""
        self._tasks = tasks
        for informer in self:
            self._start(informer)

    async def wait_for_cache_sync(self) -> None:
        """Wait until every cache has its first state."""
        await asyncio.gather(*(informer.wait_for_cache_sync() for informer in self))

    def _start(self, informer: Informer[Any]) -> None:
        if self._tasks is not None:
            self._tasks.spawn(informer.run(), name=f"informer-{informer.kind.__name__}")

    # --- synchronous reads, for mappings

    def get(self, kind: type[T], key: Key) -> T | None:
        """The newest known state; None if absent."""
        return self._watched(kind).cache.get(key)

    def list(
        self,
        kind: type[T],
        *,
        namespace: str | None = None,
        labels: str = "",
        index: tuple[str, str] | None = None,
    ) -> list[T]:
        """Objects from the cache."""
        selector = parse_selector(labels) if labels else None
        return self._watched(kind).cache.list(namespace=namespace, selector=selector, index=index)

    def _watched(self, kind: type[T]) -> Informer[T]:
        informer = self.find(kind)
        if informer is None:
            known = ", ".join(sorted(each.__name__ for each in self._informers)) or "none"
            raise NotWatched(
                f"cannot read {kind.__name__} from a cache: no controller watches it "
                f"(watched: {known}); add it to `owns`, `watches` or `reads` of a controller"
            )
        return informer
