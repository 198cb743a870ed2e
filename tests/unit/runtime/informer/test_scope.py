"""Which objects are watched, and how stale a cache is."""

import random
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.core import ConfigMap, Namespace
from quarterdeck.client.interfaces import ListPage
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.identity import Key
from quarterdeck.runtime import CacheScope, WatchSettings
from quarterdeck.runtime.cache.delta import Replace
from quarterdeck.runtime.informer.factory import InformerFactory, NotWatched
from quarterdeck.runtime.informer.failure import Failure

SETTINGS = WatchSettings(silence_s=60.0)


def factory(clock: VirtualClock | None = None, **options: Any) -> InformerFactory:
    nowhere: Any = None
    return InformerFactory(
        nowhere,
        clock=clock or VirtualClock(),
        rng=random.Random(1),
        settings=SETTINGS,
        **options,
    )


def written(namespace: str, **labels: str) -> bytes:
    metadata = {"name": "a", "namespace": namespace, "uid": "u", "resourceVersion": "12"}
    return msgspec.json.encode({"metadata": {**metadata, "labels": labels}})


@pytest.mark.parametrize(
    ("namespace", "app", "is_visible"),
    [("one", "x", True), ("two", "x", True), ("three", "x", False), ("one", "y", False)],
)
def test_an_object_that_we_wrote_is_visible_if_it_is_in_the_scope(
    namespace: str, app: str, *, is_visible: bool
) -> None:
    informers = factory()
    informers.set_cache_scope(ConfigMap, CacheScope(namespaces=("one", "two"), labels="app=x"))
    cache = informers.ensure(ConfigMap).cache
    for each in ("one", "two"):
        cache.apply(Replace((), 10, is_reset=False), each)
    cache.record_write(written(namespace, app=app))
    assert (Key(namespace, "a") in cache) is is_visible


def test_a_scope_that_cannot_be_is_refused() -> None:
    informers = factory()
    with pytest.raises(ValueError, match="Namespace is cluster-scoped: its scope cannot name"):
        informers.set_cache_scope(Namespace, CacheScope(namespaces=("one",)))
    informers.ensure(ConfigMap)
    with pytest.raises(ValueError, match="ConfigMap is already watched: set its scope before"):
        informers.set_cache_scope(ConfigMap, CacheScope(labels="app=x"))


def test_a_limit_to_namespaces_leaves_cluster_scoped_kinds_whole() -> None:
    informers = factory(namespaces=("one", "two"))
    assert informers.ensure(ConfigMap).scope.namespaces == ("one", "two")
    assert informers.ensure(Namespace).scope.namespaces == ()


def test_a_kind_that_nobody_watches_cannot_be_read() -> None:
    informers = factory()
    with pytest.raises(NotWatched, match=r"cannot read ConfigMap .* \(watched: none\)"):
        informers.get(ConfigMap, Key("ns", "a"))
    informers.ensure(Namespace)
    with pytest.raises(NotWatched, match=r"\(watched: Namespace\); add it to `owns`"):
        informers.list(ConfigMap)


def test_what_is_kept_can_be_shrunk_further() -> None:
    def drop_data(raw: bytes) -> bytes:
        document = msgspec.json.decode(raw)
        document.pop("data", None)
        return msgspec.json.encode(document)

    informers = factory()
    informers.set_cache_scope(ConfigMap, CacheScope(transform=drop_data))
    cache = informers.ensure(ConfigMap).cache
    cache.apply(Replace((), 10, is_reset=False))
    document = msgspec.json.decode(written("one"))
    cache.record_write(msgspec.json.encode({**document, "data": {"large": "x" * 100}}))
    found = cache.get(Key("one", "a"))
    assert found is not None and found.data == {}


async def test_a_cache_says_why_it_may_be_stale() -> None:
    clock = VirtualClock()
    informer = factory(clock).ensure(ConfigMap)
    (reflector,) = informer._reflectors.values()
    assert informer.describe_staleness() == "ConfigMap in all namespaces: starting"
    reflector.on_failure(Failure(403, "Forbidden", "no list"), clock.monotonic())
    assert informer.describe_staleness() == "ConfigMap in all namespaces: forbidden no list"
    reflector.on_page(ListPage((), "10", ""), clock.monotonic())
    assert informer.describe_staleness() == ""
    await clock.advance(2 * SETTINGS.silence_s)
    assert informer.describe_staleness() == ""
    await clock.advance(1)
    assert "no event or bookmark received for 121 s" in informer.describe_staleness()
