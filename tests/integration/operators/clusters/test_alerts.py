"""Alert rules are judged at every visit: since when they hold is kept in the store."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.hubstate import alert_states, keys
from quarterdeck.hubstate.alert_states import AlertKey
from quarterdeck.meta.objects import ObjectMeta

Make = Callable[[], AbstractAsyncContextManager[Any]]
MAPS = tuple(f"map-{number}" for number in range(4))
SOURCE = {
    "source": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "labelSelector": {"matchLabels": {"counted": "yes"}},
    },
    "fields": [{"name": "name", "path": ".metadata.name", "type": "string"}],
    "aggregations": [{"name": "maps", "function": "count"}],
    "alerts": [
        {"name": "Many", "expression": "maps > 3", "forSeconds": 60},
        {"name": "None", "expression": "maps == 0"},
    ],
    "rbac": {"resourceTypeName": "maps"},
}


async def read_states(w: Any) -> dict[AlertKey, str]:
    data = await w.state.get(alert_states.get_key("east"))
    return {key: each.since for key, each in alert_states.decode_states(data).items()}


async def test_a_rule_keeps_its_moment_while_it_holds_and_loses_it_after(world: Make) -> None:
    async with world() as w:
        spoke = await w.spoke("east")
        for name in MAPS:
            metadata = ObjectMeta(name=name, namespace="default", labels={"counted": "yes"})
            await spoke.client.create(ConfigMap(metadata=metadata))
        await w.secret("east")
        await w.connect("east")
        await w.create("MetricSource", "maps", SOURCE)
        key = AlertKey("default/maps", "Many", "")
        async with w.operator():

            async def holds() -> bool:
                return set(await read_states(w)) == {key}

            await w.until(holds)
            since = (await read_states(w))[key]
            await w.advance(120)
            assert await read_states(w) == {key: since}
            told = await w.state.get_items(keys.events("east"), limit=100)
            assert sum(b'"cluster.alerts"' in each for each in told) == 1
            for name in MAPS:
                await spoke.client.delete(ConfigMap, name, "default")

            async def is_empty() -> bool:
                return {each.rule for each in await read_states(w)} == {"None"}

            await w.until(is_empty)


async def test_a_source_with_a_wrong_rule_says_where_it_is_wrong(world: Make) -> None:
    async with world() as w:
        rule = {"name": "Typo", "expression": "map > 3"}
        await w.create("MetricSource", "maps", SOURCE | {"alerts": [rule]})
        async with w.operator():

            async def is_refused() -> bool:
                found = await w.source("maps")
                return "spec.alerts[0].expression (Typo)" in found.status.message

            await w.until(is_refused)
