"""Random trouble on both sides, by seed: in the end the server has what the objects say."""

import random
from typing import Any

import pytest

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.client.intercept import InterceptingApi
from quarterdeck.testing import faults
from quarterdeck.wire.status import ApiError

NAMES = ("a", "b", "c", "d")
OBJECTS = tuple(f"p{number}" for number in range(6))


class Trouble:
    """Faults of the fleet server, at random."""

    def __init__(self, world: Any, rng: random.Random) -> None:
        self._rng = rng
        self._faults = [
            world.answer(503, "unavailable"),
            world.answer(500, "internal"),
            world.answer(429, "resource_exhausted", retry_after="2"),
            world.html(404),
            world.html(200),
            world.html(502),
            world.lose_reply,
        ]

    async def __call__(self, request: Any, proceed: Any) -> Any:
        if self._rng.random() < 0.6:
            return await proceed()
        return await self._rng.choice(self._faults)(request, proceed)


class Chaotic:
    """A client whose writes go wrong now and then, until it is mended."""

    def __init__(self, client: Any, seed: int) -> None:
        rules = [each for each in faults.chaos(seed, 0.2) if each.verb == "patch"]
        self.raw = InterceptingApi(client.raw, rules)
        self.rules = rules

    def mend(self) -> None:
        for rule in self.rules:
            rule.left = 0


async def _change_something(at: Any, rng: random.Random) -> None:
    name = rng.choice(OBJECTS)
    try:
        match rng.choice(("create", "create", "change", "rename", "delete", "edit", "remove")):
            case "create":
                await at.create(name, **{"name": rng.choice(NAMES)})
            case "change":
                await at.patch({"spec": {"matchers": [f"n={rng.randrange(100)}"]}}, name)
            case "rename":
                await at.patch({"spec": {"name": rng.choice(NAMES)}}, name)
            case "delete":
                await at.delete(name)
            case "edit":
                if at.fleet.names:
                    found = at.fleet.server.pipelines.find_by_name(rng.choice(at.fleet.names))
                    changes = {"metadata": found.metadata, "source": found.source}
                    at.fleet.put(found.name, matchers=["x=y"], **changes)
            case _:
                if at.fleet.names and rng.random() < 0.2:
                    found = at.fleet.server.pipelines.find_by_name(rng.choice(at.fleet.names))
                    at.fleet.server.pipelines.remove(found.id, "2026-01-01T00:00:00Z")
    except ApiError:
        pass  # it is there already, or not there: another thing to try next time


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(5, 40))]
)
async def test_whatever_goes_wrong_both_sides_agree_in_the_end(world: Any, seed: int) -> None:
    rng = random.Random(seed)
    async with world() as at:
        api = Chaotic(at.client, seed)
        async with at.operator(api=api, interval_s=30.0, rate=50.0, burst=10):
            at.fleet.always = Trouble(at, rng)
            for _ in range(40):
                await _change_something(at, rng)
                await at.advance(rng.choice((0.0, 0.1, 1.0, 5.0)))
            at.fleet.always = None
            api.mend()
            await at.until(lambda: _agree(at), within_s=2000)
            for each in await at.client.list(Pipeline, "default"):
                await at.delete(each.metadata.name)
            await at.until(lambda: _is_empty(at), within_s=700)
            assert at.fleet.names == []


async def _is_empty(at: Any) -> bool:
    return not await at.client.list(Pipeline, "default")


async def _agree(at: Any) -> bool:
    owners: dict[str, Any] = {}
    held = []
    for pipeline in await at.client.list(Pipeline, "default"):
        said = at.condition(pipeline)
        assert not pipeline.is_deleting
        if said.reason == "NameConflict":  # it keeps the name it has until it gets another
            held += [pipeline.status.name] if pipeline.status.id else []
            continue
        assert said.reason == "Synced", (pipeline.key, said)
        assert pipeline.spec.name not in owners
        owners[pipeline.spec.name] = pipeline
    assert sorted([*owners, *held]) == at.fleet.names
    for name, pipeline in owners.items():
        remote = at.fleet.server.pipelines.find_by_name(name)
        assert remote.id == pipeline.status.id
        assert remote.matchers == pipeline.spec.matchers
    return True
