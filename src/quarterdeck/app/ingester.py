"""The ingester of this process: it listens from the first ClusterConnection in push mode on.

Nobody who only pulls pays for gRPC: neither the start nor the memory nor the port. What keeps it
from listening is logged and ends nothing: the hub goes on reading those clusters itself.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.host import Host
from quarterdeck.hubstate.lifetimes import Lifetimes
from quarterdeck.hubstate.ports import History, StateStore
from quarterdeck.operators.clusters import Hub
from quarterdeck.runtime.observability.logging import get_logger

if TYPE_CHECKING:
    from quarterdeck.services.ingester.options import IngesterOptions

_LOOPBACK = "127.0.0.1"
_ALL_INTERFACES = "0.0.0.0"


class IngesterAddress:
    """Where the ingester listens, once it does."""

    def __init__(self) -> None:
        self.port = 0
        self.listening = asyncio.Event()


def add_ingester(
    host: Host, settings: Settings, hub: Hub, *, state: StateStore, history: History
) -> IngesterAddress:
    """Serve collectors as long as the manager runs."""
    address, log = IngesterAddress(), get_logger("ingester")

    async def run() -> None:
        await hub.push_wanted.wait()
        await asyncio.to_thread(_load)
        from quarterdeck.services.ingester.server import Ingester, ListenFailed

        options = build_options(host, settings)
        ingester = Ingester(state, history, options=options, clock=host.clock)
        try:
            async with ingester.running():
                address.port = ingester.port
                address.listening.set()
                log.info("serving collectors", address=f"{options.host}:{ingester.port}")
                await asyncio.Event().wait()
        except ListenFailed as error:
            log.error(
                "collectors cannot connect; check --ingester-port, INGESTER_TLS_CERT and "
                "INGESTER_TLS_KEY, or set INGESTER_TLS_ENABLED=false",
                reason=str(error),
            )
            await asyncio.Event().wait()

    if settings.ingester_enabled:
        host.manager.add_runnable("ingester", run)
    return address


def build_options(host: Host, settings: Settings) -> "IngesterOptions":
    """What the ingester is told; in `up` it shows the API server's certificate."""
    from quarterdeck.client.config.locate import is_in_cluster
    from quarterdeck.services.ingester.options import IngesterOptions, TlsFiles

    tls = TlsFiles(
        certificate=Path(settings.ingester_tls_cert), key=Path(settings.ingester_tls_key)
    )
    if host.serving_files is not None:
        tls = TlsFiles(certificate=host.serving_files[0], key=host.serving_files[1])
    return IngesterOptions(
        host=_ALL_INTERFACES if is_in_cluster() else _LOOPBACK,
        port=host.settings.ingester_port,
        tls=tls if settings.ingester_tls_enabled else None,
        interval_s=settings.reconciliation_interval,
        scan_interval_s=settings.operator_scan_interval,
        lifetimes=Lifetimes(cache_s=settings.cache_ttl, retention_s=settings.metrics_retention),
    )


def _load() -> None:
    """Import gRPC beside the loop: it takes a tenth of a second."""
    import grpc.aio  # noqa: F401
