"""Two appliers of an object that neither finds."""

import asyncio

from tests.integration.server.conftest import CONFIG_MAPS, Serving

APPLY = "application/apply-patch+yaml"


async def test_appliers_that_race_both_land(serving: Serving) -> None:
    """Large ones wait for a thread, so that each finds the object absent."""
    async with serving() as api:
        path = f"{CONFIG_MAPS}/shared"
        answers = await asyncio.gather(
            *(
                api(
                    "PATCH",
                    f"{path}?fieldManager={name}",
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": "shared"},
                        "data": {name: "x" * 100_000},
                    },
                    media=APPLY,
                )
                for name in ("first", "second", "third")
            )
        )
        assert sorted(answer.status for answer in answers) == [200, 200, 201]
        found = (await api("GET", path)).body
        assert sorted(found["data"]) == ["first", "second", "third"]
