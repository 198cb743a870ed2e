"""Clients of clusters: kept while they are used, closed when they are not."""

from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.operators.clusters.pool import IDLE_S, SWEEP_S, ClientPool

closed: list[str] = []


class Observed(Client):
    """A client that records that it was closed."""

    async def aclose(self) -> None:
        """Close it."""
        closed.append(self.config.server)
        await super().aclose()


def build_config(name: str) -> ClusterConfig:
    return ClusterConfig(server=f"https://{name}.example.com")


def build_pool(clock: VirtualClock) -> ClientPool:
    closed.clear()
    return ClientPool(clock=clock, make_client=Observed)


async def test_a_client_is_kept_until_its_address_changes() -> None:
    pool = build_pool(VirtualClock())
    first = await pool.get("1", build_config("a"))
    assert await pool.get("1", build_config("a")) is first
    moved = await pool.get("1", build_config("b"))
    assert moved is not first
    assert pool.find("1") is moved
    assert closed == ["https://a.example.com"]
    await pool.aclose()
    assert pool.statistics() == {"clients": 0}


async def test_clients_that_nobody_used_for_half_an_hour_are_closed() -> None:
    clock = VirtualClock()
    pool = build_pool(clock)
    await pool.get("1", build_config("idle"))
    await pool.get("2", build_config("busy"))
    for _ in range(int(IDLE_S // SWEEP_S) + 1):
        await clock.advance(SWEEP_S)
        await pool.get("2", build_config("busy"))
    assert closed == ["https://idle.example.com"]
    assert pool.find("1") is None
    assert pool.statistics() == {"clients": 1}
    await pool.aclose()
