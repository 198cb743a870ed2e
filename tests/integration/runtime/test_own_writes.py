"""Read your own writes: a history of reads and writes is checked for its order.

Reconciles write and read the same few objects at once while a stranger does too, and the watch that
feeds the cache lags by a time that a seed chooses. The server's answers give every write its place
in history; a read must then never be older than what its reconcile knew before.
"""

import asyncio
import random
from typing import Any, NamedTuple

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, InterceptingApi
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.objects import ObjectMeta, replace
from quarterdeck.runtime import Context, Controller, Manager, WatchSettings
from quarterdeck.testing import faults
from quarterdeck.testing.poll import eventually
from quarterdeck.wire.status import AlreadyExists, Conflict, NotFound

NAMES = ("x", "y", "z")
ROUNDS = 12


class Known(NamedTuple):
    """What one reconcile knows of a name: nothing may be older."""

    version: int = 0
    deleted: frozenset[str] = frozenset()
    """UIDs that it deleted: they must not come back."""


class History:
    """What reconciles saw; `violations` tells where the order was broken."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.reads = 0
        self.writes = 0
        self.stale_cache_was_possible = 0

    def check(self, who: str, known: Known, found: ConfigMap | None) -> Known:
        self.reads += 1
        if found is None:
            return known
        version = int(found.resource_version)
        if found.metadata.uid in known.deleted:
            self.violations.append(f"{who}: {found.key} is back after its deletion")
        if version < known.version:
            self.violations.append(f"{who}: {found.key} at {version} after {known.version}")
        return known._replace(version=max(version, known.version))


def shared(name: str, text: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data={"text": text})


def scribbler(history: History, rng: random.Random) -> Any:
    """A reconciler that writes and reads at random, and remembers what it must see."""

    async def reconcile(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
        if config.metadata.labels.get("role") != "scribbler":
            return
        who, known = ctx.key.name, dict.fromkeys(NAMES, Known())
        for number in range(ROUNDS):
            name = rng.choice(NAMES)
            known[name] = await _act(ctx, history, rng, f"{who}-{number}", name, known[name])
            for other in NAMES:
                found = await ctx.find(ConfigMap, other)
                known[other] = history.check(who, known[other], found)

    return reconcile


async def _act(
    ctx: Context[ConfigMap],
    history: History,
    rng: random.Random,
    text: str,
    name: str,
    known: Known,
) -> Known:
    """One write of a random kind; returns what must be seen from now on."""
    before = await ctx.find(ConfigMap, name)
    written: ConfigMap | None = None
    try:
        match rng.choice(("apply", "create", "update", "delete")):
            case "apply":
                written = await ctx.apply(shared(name, text), owned=False)
            case "create":
                written = await ctx.create(shared(name, text), owned=False)
            case "update" if before is not None:
                written = await ctx.update(replace(before, data={"text": text}))
            case "delete" if before is not None:
                await ctx.delete(before)
                history.writes += 1
                return known._replace(deleted=known.deleted | {before.metadata.uid})
    except (Conflict, AlreadyExists, NotFound):
        return known
    if written is None:
        return known
    history.writes += 1
    cached = await ctx.find(ConfigMap, name)
    if cached is not None and cached.resource_version == written.resource_version:
        history.stale_cache_was_possible += 1  # the answer was shown before its event came
    return known._replace(version=int(written.resource_version))


async def disturb(client: Client, rng: random.Random, times: int) -> None:
    """A stranger who writes the same objects."""
    for number in range(times):
        name = rng.choice(NAMES)
        try:
            if rng.random() < 0.2:
                await client.delete(ConfigMap, name, "default")
            else:
                await client.apply(shared(name, f"stranger-{number}"), manager="s", force=True)
        except (NotFound, Conflict):
            continue
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(1, 7))
async def test_reads_are_never_older_than_own_writes(seed: int) -> None:
    rng, history = random.Random(seed), History()
    async with Cluster() as cluster:
        eye = cluster.client
        lag = faults.lag_watch(seed, 0.02, SystemClock())
        api = InterceptingApi(eye.raw, [lag])
        manager = Manager(
            Client.from_api(api, eye.config),
            watch=WatchSettings(watch_list=False),
            events="off",
            graceful_shutdown_timeout_s=2,
        )
        controller = Controller(
            reconcile=scribbler(history, rng), for_=ConfigMap, workers=6, ready=None
        )
        manager.add(controller)
        async with manager.running():
            for number in range(6):
                labels = {"role": "scribbler"}
                metadata = ObjectMeta(name=f"s{number}", namespace="default", labels=labels)
                await eye.create(ConfigMap(metadata=metadata))
            await disturb(eye, rng, 60)
            total = 6 * ROUNDS * len(NAMES)
            await eventually(lambda: history.reads >= total)
            cache = manager.informers.ensure(ConfigMap).cache

            async def agrees() -> bool:
                server = {c.key: c.resource_version for c in await eye.list(ConfigMap)}
                held = {key: cache.get(key) for key in cache}
                return server == {k: c.resource_version for k, c in held.items() if c}

            await eventually(agrees)
            errors = manager.metrics.registry.get_value(
                "controller_runtime_reconcile_errors_total", "configmap"
            )
    assert history.violations == []
    assert errors == 0
    assert history.writes > 20
    assert history.stale_cache_was_possible > 10
