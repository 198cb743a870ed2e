"""Creates the library's client for an address; the only module that configures it."""

from typing import Any

from quarterdeck.hubstate.errors import StoreUnavailable
from quarterdeck.hubstate.redis.address import Mode, RedisAddress

POOL = 50
_SPARE = 14
TIMEOUT_S = 5.0
RETRIES = 3
HEALTH_CHECK_S = 15


def connect(address: RedisAddress, *, max_connections: int | None = POOL + _SPARE) -> Any:
    """A client of the library; it connects when it is first used. None sets no limit.

    Raises:
        StoreUnavailable: if the library is not installed.
    """
    try:
        import redis.asyncio as library
        from redis.asyncio.cluster import ClusterNode
        from redis.asyncio.retry import Retry
        from redis.asyncio.sentinel import Sentinel
        from redis.backoff import ExponentialBackoff
    except ImportError as error:
        raise StoreUnavailable(
            "the Redis driver is not installed: pip install 'quarterdeck[redis]'"
        ) from error
    options = _build_options(address)
    retry = Retry(ExponentialBackoff(cap=1.0, base=0.05), RETRIES)
    match address.mode:
        case Mode.SINGLE:
            host, port = address.hosts[0]
            return library.Redis(
                host=host,
                port=port,
                db=address.db,
                retry=retry,
                max_connections=max_connections,
                health_check_interval=HEALTH_CHECK_S,
                **options,
            )
        case Mode.SENTINEL:
            sentinel = Sentinel(address.hosts, sentinel_kwargs=options, **options)
            return sentinel.master_for(
                address.master, db=address.db, retry=retry, max_connections=max_connections
            )
        case Mode.CLUSTER:
            nodes = [ClusterNode(host, port) for host, port in address.hosts]
            return library.RedisCluster(startup_nodes=nodes, retry=retry, **options)


async def close(client: Any) -> None:
    """Close every connection of a client, those to sentinels included."""
    await client.aclose()
    pool = getattr(client, "connection_pool", None)
    if pool is None:
        return
    await pool.disconnect()
    manager = getattr(pool, "sentinel_manager", None)
    for sentinel in manager.sentinels if manager is not None else ():
        await close(sentinel)


def _build_options(address: RedisAddress) -> dict[str, Any]:
    options: dict[str, Any] = {
        "username": address.username or None,
        "password": address.password.reveal() or None,
        "socket_timeout": TIMEOUT_S,
        "socket_connect_timeout": TIMEOUT_S,
    }
    if address.tls is not None:
        options |= {
            "ssl": True,
            "ssl_ca_certs": address.tls.ca or None,
            "ssl_certfile": address.tls.cert or None,
            "ssl_keyfile": address.tls.key or None,
            "ssl_cert_reqs": "required" if address.tls.verify else "none",
            "ssl_check_hostname": address.tls.verify,
        }
    return options
